use std::fmt::Write;

use super::Graph;

/// For Graphviz.
pub fn dot(graph: &Graph) -> String {
    let graph = graph.pictured();
    let mut out = String::from("digraph topology {\n  rankdir=LR\n  node [shape=box fontname=monospace]\n");
    for node in &graph.nodes {
        let label: Vec<&str> = [&node.id].into_iter().chain(&node.policies).map(String::as_str).collect();
        let style = if node.policies.is_empty() { "" } else { " color=purple" };
        let _ = writeln!(out, "  {} [label={}{style}]", quoted(&node.id), quoted(&label.join("\n")));
    }
    for (parent, child) in &graph.edges {
        let _ = writeln!(out, "  {} -> {}", quoted(&graph.nodes[*parent].id), quoted(&graph.nodes[*child].id));
    }
    for refused in &graph.refused {
        let (parent, child) = (quoted(&refused.parent), quoted(&refused.child));
        let (label, tip) = (quoted(refused.reason), quoted(&refused.message));
        let _ = writeln!(out, "  {parent} -> {child} [style=dashed color=red label={label} tooltip={tip}]");
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
