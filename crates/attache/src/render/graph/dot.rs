use std::fmt::Write;

use attache_answers::picture::Picture;
use attache_answers::topology::TopologyGraph;

/// For Graphviz.
pub fn dot(graph: TopologyGraph) -> String {
    let picture = Picture::new(graph);
    let mut out = String::from("digraph topology {\n  rankdir=LR\n  node [shape=box fontname=monospace]\n");
    for node in &picture.nodes {
        let node = &node.node;
        let policies = node.policies.iter().map(ToString::to_string);
        let label: Vec<String> = [node.id.to_string()].into_iter().chain(policies).collect();
        let style = if node.policies.is_empty() { "" } else { " color=purple" };
        let _ = writeln!(out, "  {} [label={}{style}]", quoted(&node.id.to_string()), quoted(&label.join("\n")));
    }
    let id = |node: usize| picture.nodes[node].node.id.to_string();
    for link in &picture.links {
        let (parent, child) = (quoted(&id(link.parent)), quoted(&id(link.child)));
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
