//! The part of the topology that one hierarchy looks at: each node with its nearest parents that belong to it.

use crate::kinds::{Class, LevelName, PolicyKind, Waypoints};
use crate::object::Objects;
use crate::topology::{Level, NodeId, Topology};

/// How requests arrive at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// By way of this node; or from outside of the hierarchy.
    pub parent: Option<NodeId>,
    /// Only those from this Namespace: a route that a consumer of a Service made for it is for nobody else.
    pub from: Option<NodeId>,
}

/// Kinds with the same hierarchy share it.
#[derive(Debug)]
pub struct Hierarchy {
    member: Vec<bool>,
    /// The arrivals at node `n` are `arrivals[start[n]..][..length[n]]`. There is always one.
    start: Vec<u32>,
    length: Vec<u32>,
    arrivals: Vec<Arrival>,
    has_namespaces: bool,
    /// The nodes for which what holds for their Namespaces does not; none of them if it is empty.
    apart: Vec<bool>,
}

/// What of a kind makes its hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape<'k> {
    levels: &'k [LevelName],
    by_namespace: bool,
    waypoints: Option<&'k Waypoints>,
}

impl PolicyKind {
    pub fn shape(&self) -> Shape<'_> {
        Shape { levels: &self.hierarchy, by_namespace: self.by_namespace, waypoints: self.waypoints.as_ref() }
    }
}

impl Hierarchy {
    pub fn new(objects: &Objects, topology: &Topology, shape: Shape<'_>) -> Hierarchy {
        let levels = shape.levels;
        let count = topology.nodes().len();
        let member: Vec<bool> = topology
            .nodes()
            .map(|(node, it)| {
                let is_copy = shape.by_namespace && it.level == Level::Frontend;
                let id = topology.id(objects, node);
                !is_copy && levels.iter().any(|name| name.takes(it.level, &id.group, &id.kind))
            })
            .collect();
        let mut hierarchy = Hierarchy {
            member,
            start: vec![0; count],
            length: vec![0; count],
            arrivals: Vec::new(),
            has_namespaces: levels.contains(&LevelName::Level(Level::Namespace)),
            apart: Vec::new(),
        };
        if shape.by_namespace {
            hierarchy.stand_alone(objects, topology, shape.waypoints);
            return hierarchy;
        }
        let mut found = Vec::new();
        for &node in topology.order() {
            found.clear();
            let live = topology.live(node);
            let mut add = |parent: NodeId| {
                let from = consumer(topology, parent, node);
                if hierarchy.has(parent) {
                    found.push(Arrival { parent: Some(parent), from });
                } else {
                    let above = hierarchy.arrivals(parent).iter();
                    found.extend(above.map(|it| Arrival { parent: it.parent, from: it.from.or(from) }));
                }
            };
            if topology.node(node).level == Level::BackendPort {
                // Through its Service alone every rule would reach every port.
                topology.rules_naming(node).iter().filter(|&&it| topology.live(it)).for_each(|it| add(*it));
            } else {
                // Nothing arrives by way of a parent that nothing arrives at.
                topology.parents(node).iter().filter(|&&it| !live || topology.live(it)).for_each(|it| add(*it));
            }
            match found.len() {
                0 => found.push(Arrival { parent: None, from: None }),
                1 => {}
                _ => {
                    found.sort_unstable();
                    found.dedup();
                }
            }
            let at = node.0 as usize;
            hierarchy.start[at] = hierarchy.arrivals.len() as u32;
            hierarchy.length[at] = found.len() as u32;
            hierarchy.arrivals.extend_from_slice(&found);
        }
        hierarchy
    }

    pub fn has(&self, node: NodeId) -> bool {
        self.member[node.0 as usize]
    }

    /// Each node for itself, but for Services behind waypoints; those that have none are left out.
    fn stand_alone(&mut self, objects: &Objects, topology: &Topology, waypoints: Option<&Waypoints>) {
        self.arrivals = vec![Arrival { parent: None, from: None }];
        self.length.fill(1);
        let Some(waypoints) = waypoints else { return };
        self.apart = topology.nodes().map(|(node, _)| waypoints.is_apart(objects, topology, node)).collect();
        for (node, it) in topology.nodes().filter(|(node, _)| self.apart[node.0 as usize]) {
            let parent = match it.level {
                Level::GatewayClass => continue,
                Level::Gateway => topology.parents(node).first().copied(),
                _ => waypoints.before(objects, topology, node),
            };
            let at = node.0 as usize;
            self.member[at] &= parent.is_some();
            if self.member[at] {
                self.start[at] = self.arrivals.len() as u32;
                self.arrivals.push(Arrival { parent, from: None });
            }
        }
    }

    /// Whether Namespaces stand above what lives in them.
    pub fn has_namespaces(&self) -> bool {
        self.has_namespaces
    }

    /// Whether its Namespace stands above a node.
    pub fn in_namespace(&self, node: NodeId) -> bool {
        self.has_namespaces && !self.apart.get(node.0 as usize).is_some_and(|apart| *apart)
    }

    pub fn arrivals(&self, node: NodeId) -> &[Arrival] {
        let at = node.0 as usize;
        &self.arrivals[self.start[at] as usize..][..self.length[at] as usize]
    }
}

/// The Namespace of a route that attaches to a Service of another one.
fn consumer(topology: &Topology, parent: NodeId, node: NodeId) -> Option<NodeId> {
    if topology.node(parent).level != Level::Frontend {
        return None;
    }
    topology.namespace(node).filter(|_| topology.namespace(parent) != topology.namespace(node))
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
            kind.effective_targets.iter().any(|target| {
                takes(target, it.level) && it.level.is_section() == target.level().is_section()
                    // An object without the sections that are meant stands for them.
                    || target.level().is_section_of(it.level) && topology.sections(node).next().is_none()
            })
        }
    }
}
