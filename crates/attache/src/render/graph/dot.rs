use std::fmt::Write;

use super::picture::Picture;
use attache_answers::topology::Graph;

/// For Graphviz.
pub fn dot(graph: Graph) -> String {
    let picture = Picture::new(graph);
    let mut out = String::from("digraph topology {\n  rankdir=LR\n  node [shape=box fontname=monospace]\n");
    for node in &picture.nodes {
        let label: Vec<&str> = [&node.id].into_iter().chain(&node.policies).map(String::as_str).collect();
        let style = if node.policies.is_empty() { "" } else { " color=purple" };
        let _ = writeln!(out, "  {} [label={}{style}]", quoted(&node.id), quoted(&label.join("\n")));
    }
    for link in &picture.links {
        let (parent, child) = (quoted(&picture.nodes[link.parent].id), quoted(&picture.nodes[link.child].id));
        let _ = match &link.refused {
            None => writeln!(out, "  {parent} -> {child}"),
            Some(refused) => {
                let (label, tip) = (quoted(refused.reason), quoted(&refused.message));
                writeln!(out, "  {parent} -> {child} [style=dashed color=red label={label} tooltip={tip}]")
            }
        };
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
