//! Makes large pictures readable by merging nodes that differ only in their names.

use std::collections::HashMap;

use attache_engine::NodeRef;

use super::{Picture, PictureLink, PictureNode};

/// The appearance of a node: its kind, the kinds of its policies, its neighbours above or below, and whether they were
/// refused.
type Look<'p> = (Kind<'p>, Vec<&'p str>, Vec<(usize, Option<&'static str>)>, usize);

/// The kind of a node: that of its object, and whether it is a section.
type Kind<'p> = (&'p str, &'p str, bool);

/// What nodes must have in common to be drawn as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Similarity {
    /// Their kind, their parents, their kinds of policies, and everything below them.
    Shape,
    /// Their kind, their namespace, and whether they have policies.
    Namespace,
    /// Their kind, and whether they have policies.
    Kind,
}

/// Merges similar nodes.
pub fn collapse(picture: &Picture, similarity: Similarity) -> Picture {
    match similarity {
        Similarity::Shape => collapse_shapes(picture),
        Similarity::Namespace => collapse_by(picture, |node| node.node.id.object.namespace.as_str()),
        Similarity::Kind => collapse_by(picture, |_| ""),
    }
}

fn collapse_by<'p>(picture: &'p Picture, place: impl Fn(&'p PictureNode) -> &'p str) -> Picture {
    let mut known: HashMap<(Kind<'_>, &str, bool), usize> = HashMap::new();
    let mut small = Picture::default();
    let mut groups: Vec<usize> = Vec::with_capacity(picture.nodes.len());
    for node in &picture.nodes {
        let has_policies = !node.node.policies.is_empty();
        let group = *known.entry((kind(node), place(node), has_policies)).or_insert(small.nodes.len());
        small.add(group, node);
        groups.push(group);
    }
    small.connect(picture, &groups);
    small
}

/// Merges nodes of one kind with the same parents, the same kinds of policies, and the same nodes below them.
fn collapse_shapes(picture: &Picture) -> Picture {
    let (above, below) = picture.both_ways();
    let shapes = shapes(picture, &below);
    let mut groups: Vec<usize> = Vec::with_capacity(picture.nodes.len());
    let mut known: HashMap<Look, usize> = HashMap::new();
    let mut small = Picture::default();
    for (i, node) in picture.nodes.iter().enumerate() {
        let parents = above[i].iter().filter_map(|link| Some((*groups.get(link.parent)?, reason(link))));
        let mut parents: Vec<_> = parents.collect();
        parents.sort_unstable();
        parents.dedup();
        let next = small.nodes.len();
        let group = *known.entry((kind(node), policy_kinds(node), parents, shapes[i])).or_insert(next);
        small.add(group, node);
        groups.push(group);
    }
    small.connect(picture, &groups);
    small
}

impl Picture {
    /// Adds a node to a group, or as a new one.
    fn add(&mut self, group: usize, node: &PictureNode) {
        match self.nodes.get_mut(group) {
            Some(first) => {
                first.node.policies.extend(node.node.policies.iter().cloned());
                first.count += node.count;
            }
            None => self.nodes.push(node.clone()),
        }
    }

    /// Connects groups of nodes as their nodes are connected.
    fn connect(&mut self, picture: &Picture, groups: &[usize]) {
        let links = picture.links.iter();
        self.links = links
            .map(|link| PictureLink { parent: groups[link.parent], child: groups[link.child], ..link.clone() })
            .collect();
        self.links.sort();
        self.links.dedup_by_key(|link| (link.parent, link.child, reason(link)));
    }
}

/// A number for each node. Nodes with the same number have the same nodes below them.
fn shapes(picture: &Picture, below: &[Vec<&PictureLink>]) -> Vec<usize> {
    let mut known: HashMap<Look, usize> = HashMap::new();
    let mut shapes = vec![0; picture.nodes.len()];
    for (i, node) in picture.nodes.iter().enumerate().rev() {
        let mut children: Vec<_> = below[i].iter().map(|link| (shapes[link.child], reason(link))).collect();
        children.sort_unstable();
        let next = known.len() + 1;
        shapes[i] = *known.entry((kind(node), policy_kinds(node), children, 0)).or_insert(next);
    }
    shapes
}

fn kind(node: &PictureNode) -> Kind<'_> {
    let NodeRef { object, section, .. } = &node.node.id;
    (&object.group, &object.kind, section.is_some())
}

fn reason(link: &PictureLink) -> Option<&'static str> {
    link.refused.as_ref().map(|refused| refused.reason)
}

fn policy_kinds(node: &PictureNode) -> Vec<&str> {
    let mut kinds: Vec<&str> = node.node.policies.iter().map(|policy| policy.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds
}

#[cfg(test)]
mod tests {
    use attache_engine::{Level, ObjectRef};

    use crate::topology::{GraphNode, TopologyGraph};

    use super::*;

    fn node(kind: &str, name: &str, policies: &[&str]) -> GraphNode {
        let group = if kind == "Service" { "" } else { "gateway.networking.k8s.io" };
        GraphNode {
            policies: policies.iter().map(|policy| ObjectRef::new("example.io", "ColorPolicy", "a", policy)).collect(),
            level: Some(Level::Route),
            ..GraphNode::missing(NodeRef::from(ObjectRef::new(group, kind, "a", name)))
        }
    }

    #[test]
    fn nodes_that_differ_only_in_name_become_one_with_all_that_is_below() {
        let graph = TopologyGraph {
            nodes: vec![
                node("Gateway", "g", &[]),
                node("HTTPRoute", "r1", &[]),
                node("HTTPRoute", "r2", &[]),
                node("HTTPRoute", "special", &["p"]),
                node("Service", "s1", &[]),
                node("Service", "s2", &[]),
                node("Service", "s3", &[]),
            ],
            edges: vec![(0, 1), (0, 2), (0, 3), (1, 4), (2, 5), (3, 6)],
            refused: vec![],
        };
        let small = collapse(&Picture::new(graph), Similarity::Shape);
        let counts: Vec<(String, usize)> = small.nodes.iter().map(|it| (it.node.id.to_string(), it.count)).collect();
        assert_eq!(
            counts.iter().map(|(name, count)| (name.as_str(), *count)).collect::<Vec<_>>(),
            [
                ("Gateway/a/g", 1),
                ("HTTPRoute/a/r1", 2),
                ("HTTPRoute/a/special", 1),
                ("Service/a/s1", 2),
                ("Service/a/s3", 1)
            ]
        );
        let links: Vec<(usize, usize)> = small.links.iter().map(|link| (link.parent, link.child)).collect();
        assert_eq!(links, [(0, 1), (0, 2), (1, 3), (2, 4)]);
    }
}
