//! The part of the topology that one hierarchy looks at: each node with its nearest parents that belong to it.

use std::sync::Arc;

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::kinds::{Class, InheritancePaths, KindHierarchy, KindName, LevelName, PolicyKind, Waypoints};
use crate::object::Objects;
use crate::topology::{Level, Node, NodeId, NodeMap, NodeVec, Topology};

use super::Levels;

/// How requests arrive at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ParentEdge {
    /// By way of this node; or from outside of the hierarchy.
    pub parent: Option<NodeId>,
    /// Only those from this Namespace: a route that a consumer of a Service made for it is for nobody else.
    pub from: Option<NodeId>,
}

/// Kinds with the same hierarchy share it.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    shape: Arc<Shape>,
    /// The levels whose nodes belong to it, whatever their kinds.
    levels: Levels,
    places: NodeMap<HierarchyEntry>,
    has_namespaces: bool,
    /// The nodes that it looks at, in the order of the topology; all of them if there is none.
    only: Option<Arc<[NodeId]>>,
}

/// What of a kind makes its hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    levels: Vec<LevelName>,
    by_namespace: bool,
    waypoints: Option<Waypoints>,
}

/// How a hierarchy sees a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HierarchyEntry {
    member: bool,
    /// What holds for its Namespaces does not hold for it.
    apart: bool,
    arrivals: Arrivals,
    /// Whether some arrive here from outside of its Namespaces.
    pub is_entrance: bool,
    /// The Service of a port or of a frontend, whose policies hold for it, too.
    pub service: Option<NodeId>,
    /// Whether the same arrive at the Service, on the same ways.
    pub is_like_service: bool,
}

/// There is always one, and mostly no other.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Arrivals {
    One(ParentEdge),
    Several(Arc<[ParentEdge]>),
}

/// So many nodes are worth a task of their own.
const MANY: usize = 512;

/// From outside of the hierarchy.
const OUTSIDE: ParentEdge = ParentEdge { parent: None, from: None };

impl Default for HierarchyEntry {
    fn default() -> Self {
        let arrivals = Arrivals::One(OUTSIDE);
        HierarchyEntry {
            member: false,
            apart: false,
            arrivals,
            is_entrance: true,
            service: None,
            is_like_service: false,
        }
    }
}

impl HierarchyEntry {
    pub fn arrivals(&self) -> &[ParentEdge] {
        match &self.arrivals {
            Arrivals::One(one) => std::slice::from_ref(one),
            Arrivals::Several(several) => several,
        }
    }
}

impl PolicyKind {
    pub(crate) fn shape(&self) -> Shape {
        let KindHierarchy { levels, paths, waypoints, .. } = &self.hierarchy;
        Shape {
            levels: levels.to_vec(),
            by_namespace: *paths == InheritancePaths::Namespaces,
            waypoints: waypoints.clone(),
        }
    }
}

impl Hierarchy {
    pub fn new(objects: &Objects, topology: &Topology, shape: Shape) -> Hierarchy {
        Hierarchy::build(objects, topology, shape, None)
    }

    /// The same as far as it concerns these nodes, which are in the order of the topology.
    pub fn only(objects: &Objects, topology: &Topology, shape: Shape, nodes: Arc<[NodeId]>) -> Hierarchy {
        Hierarchy::build(objects, topology, shape, Some(nodes))
    }

    fn build(objects: &Objects, topology: &Topology, shape: Shape, only: Option<Arc<[NodeId]>>) -> Hierarchy {
        let has_namespaces = shape.levels.contains(&LevelName::Level(Level::Namespace));
        let levels = Levels::matching(|level| shape.levels.iter().any(|name| name.includes_object(level, |_| false)));
        let places = NodeMap::default();
        let mut hierarchy = Hierarchy { shape: Arc::new(shape), levels, places, has_namespaces, only };
        let mut places = NodeVec::new(topology, &hierarchy.places);
        let (mut rest, deepest) = (hierarchy.order(topology), topology.deepest());
        while let Some(first) = rest.first() {
            // Those of one rank do not look at each other.
            let rank = topology.rank(deepest, *first);
            let (alike, others) = rest.split_at(rest.partition_point(|node| topology.rank(deepest, *node) <= rank));
            let look = |found: &mut Vec<ParentEdge>, node: &NodeId| {
                hierarchy.look(objects, topology, *node, |above| Some(&places[above]), found)
            };
            let seen: Vec<HierarchyEntry> = alike.par_iter().with_min_len(MANY).map_init(Vec::new, look).collect();
            alike.iter().zip(seen).for_each(|(node, place)| places[*node] = place);
            rest = others;
        }
        hierarchy.places = places.into();
        hierarchy
    }

    /// Looks at these nodes from now on, unless it looks at all of them.
    pub fn keep_to(&mut self, nodes: &Arc<[NodeId]>) {
        self.only = self.only.take().map(|_| Arc::clone(nodes));
    }

    /// The nodes that it looks at, parents before children.
    pub fn order<'o>(&'o self, topology: &'o Topology) -> &'o [NodeId] {
        self.only.as_deref().unwrap_or_else(|| topology.order())
    }

    /// The nodes that it looks at and that may be at some levels.
    pub fn among<'o>(&'o self, levels: Levels, topology: &'o Topology) -> &'o [NodeId] {
        self.only.as_deref().unwrap_or_else(|| levels.span(topology))
    }

    /// Looks at a node again, after its parents, and tells whether anything about it is different. What is `found` on the
    /// way is of no use to anybody.
    pub fn settle(
        &mut self,
        objects: &Objects,
        topology: &Topology,
        node: NodeId,
        found: &mut Vec<ParentEdge>,
    ) -> bool {
        let place = self.look(objects, topology, node, |above| self.places.get(above), found);
        let changed = self.places.get(node) != Some(&place);
        if changed {
            *self.places.entry(node) = place;
        }
        changed
    }

    /// Forgets a node that is not there any more.
    pub fn forget(&mut self, node: NodeId) {
        if self.places.get(node).is_some_and(|place| *place != HierarchyEntry::default()) {
            *self.places.entry(node) = HierarchyEntry::default();
        }
    }

    /// Each node stands for itself, but for Services behind waypoints.
    pub fn has_waypoints(&self) -> bool {
        self.shape.waypoints.is_some()
    }

    /// What a node is, if those above it are `known`.
    fn look<'p>(
        &self,
        objects: &Objects,
        topology: &Topology,
        node: NodeId,
        known: impl Fn(NodeId) -> Option<&'p HierarchyEntry>,
        found: &mut Vec<ParentEdge>,
    ) -> HierarchyEntry {
        let it = &topology[node];
        let is = |name: &KindName| {
            let id = topology.id(objects, node);
            name.is(&id.group, &id.kind)
        };
        let is_copy = self.shape.by_namespace && it.level == Level::Frontend;
        let is_named = || self.shape.levels.iter().any(|name| name.includes_object(it.level, is));
        let member = !is_copy && (self.levels.has(it.level) || is_named());
        let mut place = match self.shape.by_namespace {
            true => self.stand_alone(objects, topology, node, member),
            false => {
                HierarchyEntry { member, arrivals: arrive(topology, it, &known, found), ..HierarchyEntry::default() }
            }
        };
        let is_neighbour = |above: NodeId| {
            topology.namespace(above) == it.namespace() && known(above).is_some_and(|above| above.apart == place.apart)
        };
        place.is_entrance = !place.arrivals().iter().all(|it| it.parent.is_some_and(is_neighbour));
        place.service = match it.level {
            Level::Frontend => Some(it.whole(node)),
            Level::BackendPort => Some(it.whole(node)).filter(|it| known(*it).is_some_and(|it| it.member)),
            _ => None,
        };
        let service = place.service.filter(|_| it.level == Level::BackendPort).and_then(&known);
        if let Some(service) = service.filter(|it| it.arrivals == place.arrivals && it.apart == place.apart) {
            place.arrivals = service.arrivals.clone();
            place.is_like_service = true;
        }
        place
    }

    /// Each node for itself, but for Services behind waypoints; those that have none are left out.
    fn stand_alone(&self, objects: &Objects, topology: &Topology, node: NodeId, member: bool) -> HierarchyEntry {
        let alone = HierarchyEntry { member, ..HierarchyEntry::default() };
        let Some(waypoints) = &self.shape.waypoints else { return alone };
        if !waypoints.needs_reference(objects, topology, node) {
            return alone;
        }
        let parent = match topology[node].level {
            Level::GatewayClass => return HierarchyEntry { apart: true, ..alone },
            Level::Gateway => topology.parents(node).first().copied(),
            _ => waypoints.in_front_of(objects, topology, node),
        };
        let member = member && parent.is_some();
        let parent = parent.filter(|_| member);
        let arrivals = Arrivals::One(ParentEdge { parent, from: None });
        HierarchyEntry { member, apart: true, arrivals, ..alone }
    }

    pub fn has(&self, node: NodeId) -> bool {
        self.place(node).is_some()
    }

    /// How it sees a node that belongs to it.
    pub fn place(&self, node: NodeId) -> Option<&HierarchyEntry> {
        self.places.get(node).filter(|place| place.member)
    }

    /// Whether its Namespace stands above a node.
    pub fn in_namespace(&self, node: NodeId) -> bool {
        self.has_namespaces && !self.places.get(node).is_some_and(|place| place.apart)
    }

    pub fn arrivals(&self, node: NodeId) -> &[ParentEdge] {
        self.places.get(node).map_or(&[OUTSIDE], HierarchyEntry::arrivals)
    }
}

/// How requests arrive at a node: from its parents, or from above those that are not members.
fn arrive<'p>(
    topology: &Topology,
    node: &Node,
    known: &impl Fn(NodeId) -> Option<&'p HierarchyEntry>,
    found: &mut Vec<ParentEdge>,
) -> Arrivals {
    found.clear();
    // Through its Service alone every rule would reach every port.
    let parents = if node.level == Level::BackendPort { node.across() } else { node.parents() };
    for &id in parents {
        let parent = &topology[id];
        // Nothing arrives by way of a parent that nothing arrives at.
        if node.is_live() && !parent.is_live() {
            continue;
        }
        let from = consumer(parent, node);
        match known(id) {
            Some(above) if above.member => found.push(ParentEdge { parent: Some(id), from }),
            above => {
                let above = above.map_or(&[OUTSIDE][..], HierarchyEntry::arrivals).iter();
                found.extend(above.map(|it| ParentEdge { parent: it.parent, from: it.from.or(from) }));
            }
        }
    }
    match found[..] {
        [] => Arrivals::One(OUTSIDE),
        [one] => Arrivals::One(one),
        _ => {
            found.sort_unstable();
            found.dedup();
            if let [one] = found[..] { Arrivals::One(one) } else { Arrivals::Several(found.as_slice().into()) }
        }
    }
}

/// The Namespace of a route that attaches to a Service of another one.
fn consumer(parent: &Node, node: &Node) -> Option<NodeId> {
    node.namespace().filter(|_| parent.level == Level::Frontend && parent.namespace() != node.namespace())
}

/// Whether effective policies of the kind are for this node.
pub fn is_effective_target(kind: &PolicyKind, objects: &Objects, topology: &Topology, node: NodeId) -> bool {
    let it = &topology[node];
    let has_sections = it.sections().len() > 0;
    let is = |name: &KindName| {
        let id = topology.id(objects, node);
        name.is(&id.group, &id.kind)
    };
    let takes = |name: &LevelName, level| name.includes_object(level, is);
    match kind.class {
        // A Direct policy is for the very thing it targets.
        Class::Direct => {
            let targeted = kind.targets.allowed.iter().any(|name| takes(name, it.level)) || it.level.is_section();
            targeted
                && !(has_sections
                    && kind.targets.sections
                    && kind.hierarchy.levels.iter().any(|name| name.level().is_section()))
        }
        Class::Inherited => {
            kind.hierarchy.effective_targets.iter().any(|target| {
                takes(target, it.level) && it.level.is_section() == target.level().is_section()
                    // An object without the sections that are meant stands for them.
                    || target.level().is_section_of(it.level) && !has_sections
            })
        }
    }
}
