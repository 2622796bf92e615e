use std::fmt::Write;

use attache_answers::picture::Picture;
use attache_answers::topology::TopologyGraph;

/// For Mermaid, which GitHub and GitLab draw in Markdown.
pub fn mermaid(graph: TopologyGraph) -> String {
    let picture = Picture::new(graph);
    let mut out = String::from("flowchart LR\n");
    for (i, node) in picture.nodes.iter().enumerate() {
        let node = &node.node;
        let policies = node.policies.iter().map(ToString::to_string);
        let label = [node.id.to_string()].into_iter().chain(policies).map(|text| escaped(&text));
        let label: Vec<String> = label.collect();
        let class = if node.policies.is_empty() { "" } else { ":::policy" };
        let _ = writeln!(out, "  n{i}[\"{}\"]{class}", label.join("<br/>"));
    }
    for link in &picture.links {
        let (parent, child) = (link.parent, link.child);
        let _ = match &link.refused {
            None => writeln!(out, "  n{parent} --> n{child}"),
            Some(refused) => writeln!(out, "  n{parent} -.-x|\"{}\"| n{child}", escaped(refused.reason)),
        };
    }
    if picture.nodes.iter().any(|node| !node.node.policies.is_empty()) {
        out.push_str("  classDef policy stroke:#a3f,stroke-width:2px\n");
    }
    out
}

/// Mermaid reads `#35;` as the character with that number.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for char in text.chars() {
        match char {
            '#' | '"' | '<' | '>' | '&' | ';' | '`' => {
                let _ = write!(out, "#{};", char as u32);
            }
            char if char.is_control() => out.push(' '),
            char => out.push(char),
        }
    }
    out
}
