//! The part of the topology that one hierarchy looks at: each node with its nearest parents that belong to it.

use crate::kinds::{Class, LevelName, PolicyKind};
use crate::object::Objects;
use crate::topology::{Level, NodeId, Topology};
use crate::value::Value;

/// Kinds with the same hierarchy share it.
#[derive(Debug)]
pub struct Hierarchy {
    member: Vec<bool>,
    /// The parents of node `n` are `parents[start[n]..][..length[n]]`.
    start: Vec<u32>,
    length: Vec<u32>,
    parents: Vec<NodeId>,
    has_namespaces: bool,
}

impl Hierarchy {
    pub fn new(objects: &Objects, topology: &Topology, levels: &[LevelName]) -> Hierarchy {
        let count = topology.nodes().len();
        let member: Vec<bool> = topology
            .nodes()
            .map(|(node, it)| {
                it.level != Level::Namespace && {
                    let id = topology.id(objects, node);
                    levels.iter().any(|name| name.takes(it.level, &id.group, &id.kind))
                }
            })
            .collect();
        let mut hierarchy = Hierarchy {
            member,
            start: vec![0; count],
            length: vec![0; count],
            parents: Vec::new(),
            has_namespaces: levels.contains(&LevelName::Level(Level::Namespace)),
        };
        let ports = if levels.iter().any(|name| name.level() == Level::BackendPort) {
            named_ports(objects, topology)
        } else {
            Vec::new()
        };
        let mut found = Vec::new();
        for &node in topology.order() {
            found.clear();
            let live = topology.live(node);
            let mut add = |parent: NodeId| {
                if hierarchy.has(parent) {
                    found.push(parent);
                } else {
                    found.extend_from_slice(hierarchy.parents(parent));
                }
            };
            if topology.node(node).level == Level::BackendPort {
                let first = ports.partition_point(|(port, _)| *port < node);
                ports[first..].iter().take_while(|(port, _)| *port == node).for_each(|(_, rule)| add(*rule));
            } else {
                // Nothing arrives by way of a parent that nothing arrives at.
                topology.parents(node).iter().filter(|&&it| !live || topology.live(it)).for_each(|it| add(*it));
            }
            if found.len() > 1 {
                found.sort_unstable();
                found.dedup();
            }
            let at = node.0 as usize;
            hierarchy.start[at] = hierarchy.parents.len() as u32;
            hierarchy.length[at] = found.len() as u32;
            hierarchy.parents.extend_from_slice(&found);
        }
        hierarchy
    }

    pub fn has(&self, node: NodeId) -> bool {
        self.member[node.0 as usize]
    }

    /// Whether Namespaces stand above what lives in them.
    pub fn has_namespaces(&self) -> bool {
        self.has_namespaces
    }

    pub fn parents(&self, node: NodeId) -> &[NodeId] {
        let at = node.0 as usize;
        &self.parents[self.start[at] as usize..][..self.length[at] as usize]
    }
}

/// Which port is named by which live rule, sorted. A port is reached by way of the rules that name it, and its Service
/// stands between them: through the Service alone every rule would reach every port.
fn named_ports(objects: &Objects, topology: &Topology) -> Vec<(NodeId, NodeId)> {
    let mut named = Vec::new();
    for (rule, _) in topology.nodes().filter(|(_, node)| node.level == Level::RouteRule) {
        let Some(value) = topology.section_value(objects, rule).filter(|_| topology.live(rule)) else { continue };
        for backend in topology.children(rule) {
            let id = topology.id(objects, *backend);
            for reference in value.list_at("backendRefs") {
                let is_it = reference.get_str("name") == Some(&id.name)
                    && reference.get_str("kind").unwrap_or("Service") == id.kind
                    && reference.get_str("namespace").is_none_or(|namespace| namespace == id.namespace);
                let port = reference.get("port").and_then(Value::as_int).filter(|_| is_it);
                named.extend(port.and_then(|port| topology.port(objects, *backend, port)).map(|port| (port, rule)));
            }
        }
    }
    named.sort_unstable();
    named
}

/// Whether effective policies of the kind are for this node.
pub fn is_effective_target(kind: &PolicyKind, objects: &Objects, topology: &Topology, node: NodeId) -> bool {
    let it = topology.node(node);
    let id = topology.id(objects, node);
    let takes = |name: &LevelName, level| name.takes(level, &id.group, &id.kind);
    match kind.class {
        // A Direct policy is for the very thing it targets.
        Class::Direct => {
            let sections = topology.sections(node).next().is_some();
            let targeted = kind.targets.iter().any(|name| takes(name, it.level)) || it.level.is_section();
            targeted && !(sections && kind.sections && kind.hierarchy.iter().any(|name| name.level().is_section()))
        }
        Class::Inherited => {
            takes(&kind.effective_target, it.level)
                // An object without the sections that are meant stands for them.
                || kind.effective_target.level().is_section_of(it.level) && topology.sections(node).next().is_none()
        }
    }
}
