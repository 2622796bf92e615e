//! Large graphs made small enough to look at: nodes that differ only in their names become one.

use std::collections::BTreeMap;

use super::{Graph, Vertex};

/// What makes two nodes look the same.
type Look<'g> = (String, Vec<&'g str>, Vec<usize>, usize);

/// Merges nodes of one kind with the same parents, the same kinds of policies, and the same below them.
pub fn collapse(graph: &Graph) -> Graph {
    let (parents, children) = (graph.parents(), graph.children());
    let shapes = shapes(graph, &children);
    let mut groups: Vec<usize> = Vec::with_capacity(graph.nodes.len());
    let mut known: BTreeMap<Look, usize> = BTreeMap::new();
    let mut collapsed = Graph::default();
    for (i, node) in graph.nodes.iter().enumerate() {
        let mut above: Vec<usize> = parents[i].iter().map(|parent| groups[*parent]).collect();
        above.sort_unstable();
        above.dedup();
        let next = collapsed.nodes.len();
        let group = *known.entry((node.what(), policy_kinds(node), above, shapes[i])).or_insert(next);
        if group == next {
            collapsed.nodes.push(Vertex { count: 0, ..node.clone() });
        } else {
            collapsed.nodes[group].policies.extend(node.policies.iter().cloned());
        }
        collapsed.nodes[group].count += node.count;
        groups.push(group);
    }
    collapsed.edges = graph.edges.iter().map(|(parent, child)| (groups[*parent], groups[*child])).collect();
    collapsed.edges.sort_unstable();
    collapsed.edges.dedup();
    collapsed
}

/// A number for each node; nodes with the same number have the same below them.
fn shapes(graph: &Graph, children: &[Vec<usize>]) -> Vec<usize> {
    let mut known: BTreeMap<Look, usize> = BTreeMap::new();
    let mut shapes = vec![0; graph.nodes.len()];
    for (i, node) in graph.nodes.iter().enumerate().rev() {
        let mut below: Vec<usize> = children[i].iter().map(|child| shapes[*child]).collect();
        below.sort_unstable();
        let next = known.len() + 1;
        shapes[i] = *known.entry((node.what(), policy_kinds(node), below, 0)).or_insert(next);
    }
    shapes
}

fn policy_kinds(node: &Vertex) -> Vec<&str> {
    let mut kinds: Vec<&str> = node.policies.iter().filter_map(|policy| policy.split('/').next()).collect();
    kinds.sort_unstable();
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vertex(id: &str, policies: &[&str]) -> Vertex {
        Vertex {
            id: id.into(),
            policies: policies.iter().map(|policy| policy.to_string()).collect(),
            count: 1,
            minor: false,
        }
    }

    #[test]
    fn nodes_that_differ_only_in_name_become_one_with_all_that_is_below() {
        let graph = Graph {
            nodes: vec![
                vertex("Gateway/a/g", &[]),
                vertex("HTTPRoute/a/r1", &[]),
                vertex("HTTPRoute/a/r2", &[]),
                vertex("HTTPRoute/a/special", &["ColorPolicy/a/p"]),
                vertex("Service/a/s1", &[]),
                vertex("Service/a/s2", &[]),
                vertex("Service/a/s3", &[]),
            ],
            edges: vec![(0, 1), (0, 2), (0, 3), (1, 4), (2, 5), (3, 6)],
            refused: vec![],
        };
        let small = collapse(&graph);
        let counts: Vec<(&str, usize)> = small.nodes.iter().map(|node| (node.id.as_str(), node.count)).collect();
        assert_eq!(
            counts,
            [
                ("Gateway/a/g", 1),
                ("HTTPRoute/a/r1", 2),
                ("HTTPRoute/a/special", 1),
                ("Service/a/s1", 2),
                ("Service/a/s3", 1)
            ]
        );
        assert_eq!(small.edges, [(0, 1), (0, 2), (1, 3), (2, 4)]);
    }
}
