//! The hierarchy of policy kinds: the nodes of the topology that belong to it, each with its nearest parents in the
//! hierarchy.

use std::sync::Arc;

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::kinds::{
    Class, GatewayPods, InheritancePaths, KindControllers, KindHierarchy, KindName, LevelName, PolicyKind, Waypoints,
    WorkloadFilter,
};
use crate::object::Objects;
use crate::topology::{Level, Node, NodeId, NodeMap, NodeVec, Topology, gateway_of_pods};

use super::Levels;

/// An edge by which requests reach a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ParentEdge {
    /// The parent. `None`: requests come from outside of the hierarchy.
    pub parent: Option<NodeId>,
    /// The requests that take this edge.
    pub traffic: EdgeTraffic,
}

/// The requests that reach a node by an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeTraffic {
    /// All requests.
    All,
    /// Only requests from this Namespace: a consumer's route for a Service applies to no other client.
    From(NodeId),
    /// Requests through this Gateway or mesh Service, whose controller does not handle policies of the kind.
    Unhandled(NodeId),
}

/// The members of a hierarchy and the edges between them. Kinds with the same levels share one.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    shape: Arc<HierarchyShape>,
    /// The levels whose nodes are members, of any kind.
    levels: Levels,
    entries: NodeMap<HierarchyEntry>,
    has_namespaces: bool,
    /// The nodes that it covers, in the order of the topology. `None`: all nodes.
    only: Option<Arc<[NodeId]>>,
}

/// The fields of a kind that determine its hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HierarchyShape {
    levels: Vec<LevelName>,
    by_namespace: bool,
    waypoints: Option<Waypoints>,
    controllers: KindControllers,
    gateway_pods: GatewayPods,
    leaves_out: Vec<WorkloadFilter>,
}

/// A node in a hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HierarchyEntry {
    member: bool,
    /// Policies of its Namespaces do not apply to it.
    outside_namespaces: bool,
    parent_edges: ParentEdges,
    /// Whether requests reach it from outside of its Namespace.
    pub is_entrance: bool,
    /// The Service of a port or of a frontend. Its policies apply to this node too.
    pub service: Option<NodeId>,
    /// Whether the Service has the same parent edges.
    pub is_like_service: bool,
}

/// At least one edge. Most nodes have exactly one.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ParentEdges {
    One(ParentEdge),
    Several(Arc<[ParentEdge]>),
}

/// The smallest number of nodes for which a parallel task pays off.
const MANY: usize = 512;

/// Requests from outside of the hierarchy.
const OUTSIDE: ParentEdge = ParentEdge { parent: None, traffic: EdgeTraffic::All };

impl Default for HierarchyEntry {
    fn default() -> Self {
        let parent_edges = ParentEdges::One(OUTSIDE);
        HierarchyEntry {
            member: false,
            outside_namespaces: false,
            parent_edges,
            is_entrance: true,
            service: None,
            is_like_service: false,
        }
    }
}

impl HierarchyEntry {
    pub fn parent_edges(&self) -> &[ParentEdge] {
        match &self.parent_edges {
            ParentEdges::One(one) => std::slice::from_ref(one),
            ParentEdges::Several(several) => several,
        }
    }
}

impl PolicyKind {
    pub(crate) fn shape(&self) -> HierarchyShape {
        let KindHierarchy { levels, paths, waypoints, gateway_pods, leaves_out, .. } = &self.hierarchy;
        HierarchyShape {
            levels: levels.to_vec(),
            by_namespace: *paths == InheritancePaths::Namespaces,
            waypoints: waypoints.clone(),
            controllers: self.controllers.clone(),
            gateway_pods: *gateway_pods,
            leaves_out: leaves_out.clone(),
        }
    }
}

impl Hierarchy {
    pub fn new(objects: &Objects, topology: &Topology, shape: HierarchyShape) -> Hierarchy {
        Hierarchy::build(objects, topology, shape, None)
    }

    /// A hierarchy that covers only these nodes, which are in the order of the topology.
    pub fn only(objects: &Objects, topology: &Topology, shape: HierarchyShape, nodes: Arc<[NodeId]>) -> Hierarchy {
        Hierarchy::build(objects, topology, shape, Some(nodes))
    }

    fn build(objects: &Objects, topology: &Topology, shape: HierarchyShape, only: Option<Arc<[NodeId]>>) -> Hierarchy {
        let has_namespaces = shape.levels.contains(&LevelName::Level(Level::Namespace));
        let levels = Levels::matching(|level| shape.levels.iter().any(|name| name.includes_object(level, |_| false)));
        let entries = NodeMap::default();
        let mut hierarchy = Hierarchy { shape: Arc::new(shape), levels, entries, has_namespaces, only };
        let mut entries = NodeVec::new(topology, &hierarchy.entries);
        let (mut rest, deepest) = (hierarchy.order(topology), topology.deepest());
        while let Some(first) = rest.first() {
            // Nodes of one rank do not depend on each other.
            let rank = topology.rank(deepest, *first);
            let (alike, others) = rest.split_at(rest.partition_point(|node| topology.rank(deepest, *node) <= rank));
            let entry_of = |found: &mut Vec<ParentEdge>, node: &NodeId| {
                hierarchy.compute_entry(objects, topology, *node, |above| Some(&entries[above]), found)
            };
            let computed: Vec<HierarchyEntry> =
                alike.par_iter().with_min_len(MANY).map_init(Vec::new, entry_of).collect();
            alike.iter().zip(computed).for_each(|(node, entry)| entries[*node] = entry);
            rest = others;
        }
        hierarchy.entries = entries.into();
        hierarchy
    }

    /// Covers these nodes from now on, unless it covers all nodes.
    pub fn restrict_to(&mut self, nodes: &Arc<[NodeId]>) {
        self.only = self.only.take().map(|_| Arc::clone(nodes));
    }

    /// The nodes that it covers, parents before children.
    pub fn order<'o>(&'o self, topology: &'o Topology) -> &'o [NodeId] {
        self.only.as_deref().unwrap_or_else(|| topology.order())
    }

    /// The nodes that it covers, without levels that contain none of `levels`.
    pub fn among<'o>(&'o self, levels: Levels, topology: &'o Topology) -> &'o [NodeId] {
        self.only.as_deref().unwrap_or_else(|| levels.span(topology))
    }

    /// Recomputes the entry of a node, after the entries of its parents. Returns whether it changed. `found` is a
    /// buffer.
    pub fn update(
        &mut self,
        objects: &Objects,
        topology: &Topology,
        node: NodeId,
        found: &mut Vec<ParentEdge>,
    ) -> bool {
        let entry = self.compute_entry(objects, topology, node, |above| self.entries.get(above), found);
        let changed = self.entries.get(node) != Some(&entry);
        if changed {
            *self.entries.entry(node) = entry;
        }
        changed
    }

    /// Removes a node that no longer exists.
    pub fn forget(&mut self, node: NodeId) {
        if self.entries.get(node).is_some_and(|entry| *entry != HierarchyEntry::default()) {
            *self.entries.entry(node) = HierarchyEntry::default();
        }
    }

    /// Whether nodes inherit from Gateways that labels name: Services from their waypoints, and Pods of waypoints.
    pub fn has_waypoints(&self) -> bool {
        self.shape.waypoints.is_some()
    }

    /// Whether the entry of a node depends on labels and fields of its object.
    pub fn depends_on_objects(&self) -> bool {
        self.has_waypoints() || self.shape.gateway_pods != GatewayPods::Workloads || !self.shape.leaves_out.is_empty()
    }

    /// The entry of a node, computed from the `known` entries of its parents.
    fn compute_entry<'p>(
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
        let mut entry = match self.shape.by_namespace {
            true => self.entry_by_namespace(objects, topology, node, member),
            false => HierarchyEntry {
                member,
                parent_edges: self.nearest_parents(topology, (node, it), &known, found),
                ..HierarchyEntry::default()
            },
        };
        if it.level == Level::Gateway && !self.is_handled(objects, topology, node) {
            let [.., last] = entry.parent_edges() else { return entry };
            let traffic = EdgeTraffic::Unhandled(node);
            entry.parent_edges = ParentEdges::One(ParentEdge { parent: last.parent, traffic });
        }
        let is_neighbour = |above: NodeId| {
            topology.namespace(above) == it.namespace()
                && known(above).is_some_and(|above| above.outside_namespaces == entry.outside_namespaces)
        };
        entry.is_entrance = !entry.parent_edges().iter().all(|it| it.parent.is_some_and(is_neighbour));
        entry.service = match it.level {
            Level::Frontend => Some(it.whole(node)),
            Level::BackendPort => Some(it.whole(node)).filter(|it| known(*it).is_some_and(|it| it.member)),
            _ => None,
        };
        let service = entry.service.filter(|_| it.level == Level::BackendPort).and_then(&known);
        if let Some(service) = service
            .filter(|it| it.parent_edges == entry.parent_edges && it.outside_namespaces == entry.outside_namespaces)
        {
            entry.parent_edges = service.parent_edges.clone();
            entry.is_like_service = true;
        }
        entry
    }

    /// The entry of a node that inherits only from Namespaces, or from the waypoint that it belongs to. A Service without a
    /// waypoint is no member.
    fn entry_by_namespace(&self, objects: &Objects, topology: &Topology, node: NodeId, member: bool) -> HierarchyEntry {
        let alone = HierarchyEntry { member, ..HierarchyEntry::default() };
        let (level, object) = (topology[node].level, topology[node].owner.object());
        let outside = HierarchyEntry { member: false, ..HierarchyEntry::default() };
        if let Some(workload) = object.filter(|_| member && level == Level::Workload) {
            let gateway = match self.shape.gateway_pods {
                GatewayPods::Workloads => None,
                GatewayPods::Gateway | GatewayPods::Nothing => gateway_of_pods(objects, &objects[workload]),
            };
            let is_left_out = self.shape.leaves_out.iter().any(|it| it.matches(&objects[workload]));
            if is_left_out || gateway.is_some() && self.shape.gateway_pods == GatewayPods::Nothing {
                return outside;
            }
            return match (gateway, &self.shape.waypoints) {
                (Some(gateway), Some(waypoints)) if waypoints.is_waypoint(&objects[gateway]) => {
                    below(Some(NodeId::whole(gateway)), waypoints)
                }
                _ => alone,
            };
        }
        let Some(waypoints) = &self.shape.waypoints else { return alone };
        match (level, object) {
            _ if !member => HierarchyEntry { outside_namespaces: level != Level::Namespace, ..outside },
            (Level::GatewayClass, _) => HierarchyEntry { outside_namespaces: true, ..alone },
            (Level::Gateway, Some(gateway)) if waypoints.is_waypoint(&objects[gateway]) => {
                let class = topology.parents(node).first().copied();
                below(class.filter(|_| self.levels.has(Level::GatewayClass)), waypoints)
            }
            (Level::Namespace | Level::Gateway, _) => alone,
            (_, object) => match object.and_then(|service| waypoints.in_front_of(objects, service)) {
                None => HierarchyEntry { outside_namespaces: true, ..outside },
                Some(gateway)
                    if waypoints.across_namespaces || topology.namespace(gateway) == topology.namespace(node) =>
                {
                    below(Some(gateway), waypoints)
                }
                Some(gateway) => below(topology.namespace(gateway), waypoints),
            },
        }
    }

    #[inline]
    pub fn has(&self, node: NodeId) -> bool {
        self.entry(node).is_some()
    }

    /// The entry of a member.
    #[inline]
    pub fn entry(&self, node: NodeId) -> Option<&HierarchyEntry> {
        self.entries.get(node).filter(|entry| entry.member)
    }

    /// Whether a node inherits from its Namespace.
    pub fn in_namespace(&self, node: NodeId) -> bool {
        self.has_namespaces && !self.entries.get(node).is_some_and(|entry| entry.outside_namespaces)
    }

    pub fn parent_edges(&self, node: NodeId) -> &[ParentEdge] {
        self.entries.get(node).map_or(&[OUTSIDE], HierarchyEntry::parent_edges)
    }

    /// Whether the controller of a Gateway handles policies of the kind.
    fn is_handled(&self, objects: &Objects, topology: &Topology, gateway: NodeId) -> bool {
        let controllers = &self.shape.controllers;
        controllers.references.is_empty()
            || topology
                .gateway_owner(objects, gateway)
                .is_none_or(|owner| topology.controllers().handle(controllers, owner))
    }

    /// The edges to the nearest parents that are members.
    fn nearest_parents<'p>(
        &self,
        topology: &Topology,
        (node_id, node): (NodeId, &Node),
        known: &impl Fn(NodeId) -> Option<&'p HierarchyEntry>,
        found: &mut Vec<ParentEdge>,
    ) -> ParentEdges {
        found.clear();
        // Through the Service, every rule would reach every port.
        let parents = if node.level == Level::BackendPort { node.across() } else { node.parents() };
        for &id in parents {
            let parent = &topology[id];
            // Requests do not pass through a parent that receives none.
            if node.is_live() && (!parent.is_live() || topology.is_idle(id, node_id)) {
                continue;
            }
            let traffic = match consumer(parent, node) {
                _ if parent.level == Level::Frontend && !self.shape.controllers.mesh => EdgeTraffic::Unhandled(id),
                _ if parent.level == Level::ListenerSet && !self.shape.controllers.listener_sets => {
                    EdgeTraffic::Unhandled(id)
                }
                Some(namespace) => EdgeTraffic::From(namespace),
                None => EdgeTraffic::All,
            };
            match known(id) {
                Some(above) if above.member => found.push(ParentEdge { parent: Some(id), traffic }),
                above => {
                    let above = above.map_or(&[OUTSIDE][..], HierarchyEntry::parent_edges).iter();
                    found.extend(above.map(|it| ParentEdge { parent: it.parent, traffic: it.traffic.and(traffic) }));
                }
            }
        }
        match found[..] {
            [] => ParentEdges::One(OUTSIDE),
            [one] => ParentEdges::One(one),
            _ => {
                found.sort_unstable();
                // A node is handled if a controller handles it on one of several equal paths.
                found.dedup_by(|later, first| {
                    let is_unhandled = matches!(later.traffic, EdgeTraffic::Unhandled(_));
                    later.parent == first.parent && (is_unhandled || later.traffic == first.traffic)
                });
                match found[..] {
                    [one] => ParentEdges::One(one),
                    _ => ParentEdges::Several(found.as_slice().into()),
                }
            }
        }
    }
}

impl EdgeTraffic {
    /// The requests that take this edge and then the edge `below`.
    fn and(self, below: EdgeTraffic) -> EdgeTraffic {
        match (self, below) {
            (EdgeTraffic::Unhandled(_), _) | (_, EdgeTraffic::All) => self,
            (EdgeTraffic::All, _) | (_, EdgeTraffic::Unhandled(_)) => below,
            (EdgeTraffic::From(_), EdgeTraffic::From(_)) => self,
        }
    }
}

/// The entry of a member that inherits from a waypoint, from its class, or from the Namespace of a waypoint.
fn below(parent: Option<NodeId>, waypoints: &Waypoints) -> HierarchyEntry {
    HierarchyEntry {
        member: true,
        outside_namespaces: !waypoints.namespaces,
        parent_edges: ParentEdges::One(ParentEdge { parent, traffic: EdgeTraffic::All }),
        ..HierarchyEntry::default()
    }
}

/// The Namespace of a route that attaches to a Service of another one.
fn consumer(parent: &Node, node: &Node) -> Option<NodeId> {
    node.namespace().filter(|_| parent.level == Level::Frontend && parent.namespace() != node.namespace())
}

/// Whether the kind computes effective policies for this node.
pub fn is_effective_target(kind: &PolicyKind, objects: &Objects, topology: &Topology, node: NodeId) -> bool {
    let it = &topology[node];
    let has_sections = it.sections().len() > 0;
    let is = |name: &KindName| {
        let id = topology.id(objects, node);
        name.is(&id.group, &id.kind)
    };
    let takes = |name: &LevelName, level| name.includes_object(level, is);
    match kind.class {
        // A Direct policy affects exactly its target.
        Class::Direct => {
            let targeted = kind.targets.allowed.iter().any(|name| takes(name, it.level)) || it.level.is_section();
            targeted
                && !(has_sections
                    && kind.targets.sections
                    && kind.hierarchy.levels.iter().any(|name| name.level().is_section()))
        }
        Class::Inherited => {
            let kinds = &kind.hierarchy.effective_kinds;
            (kinds.is_empty() || kinds.iter().any(is))
                && kind.hierarchy.effective_targets.iter().any(|target| {
                    takes(target, it.level) && it.level.is_section() == target.level().is_section()
                    // An object without sections is the target itself.
                    || target.level().is_section_of(it.level) && !has_sections
                })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::fixture;

    fn hierarchy(engine: &Engine, levels: &[Level]) -> Hierarchy {
        let levels = levels.iter().copied().map(LevelName::Level).collect();
        let controllers = KindControllers { references: Vec::new(), mesh: true, listener_sets: true };
        let shape = HierarchyShape {
            levels,
            by_namespace: false,
            waypoints: None,
            gateway_pods: GatewayPods::Workloads,
            leaves_out: Vec::new(),
            controllers,
        };
        Hierarchy::new(engine.objects(), engine.topology(), shape)
    }

    fn parents(engine: &Engine, hierarchy: &Hierarchy, node: &str) -> Vec<Option<String>> {
        let name = |node: NodeId| engine.topology().name(engine.objects(), node);
        hierarchy.parent_edges(fixture::node(engine, node)).iter().map(|edge| edge.parent.map(name)).collect()
    }

    #[test]
    fn the_parent_of_a_member_is_the_nearest_member_above_it() {
        let engine = fixture::engine(fixture::ROUTED_SERVICE);
        let hierarchy = hierarchy(&engine, &[Level::Gateway, Level::RouteRule]);
        assert_eq!(parents(&engine, &hierarchy, "HTTPRoute/default/r#rule-1"), [Some("Gateway/default/g".to_owned())]);
        assert_eq!(parents(&engine, &hierarchy, "Gateway/default/g"), [None]);
        assert!(!hierarchy.has(fixture::node(&engine, "HTTPRoute/default/r")));
    }

    #[test]
    fn a_port_is_reached_from_the_rules_that_refer_to_it() {
        let engine = fixture::engine(fixture::ROUTED_SERVICE);
        let hierarchy = hierarchy(&engine, &[Level::RouteRule, Level::Backend, Level::BackendPort]);
        let rule = [Some("HTTPRoute/default/r#rule-1".to_owned())];
        assert_eq!(parents(&engine, &hierarchy, "Service/default/s"), rule);
        assert_eq!(parents(&engine, &hierarchy, "Service/default/s#80"), rule);
        let port = hierarchy.entry(fixture::node(&engine, "Service/default/s#80")).expect("a port is a member");
        assert!(port.is_like_service);
        assert_eq!(port.service, Some(fixture::node(&engine, "Service/default/s")));
    }

    #[test]
    fn requests_enter_a_namespace_where_the_parent_is_outside_of_it() {
        let engine = fixture::engine(fixture::ROUTED_SERVICE);
        let hierarchy = hierarchy(&engine, &[Level::Namespace, Level::Gateway, Level::Route]);
        let is_entrance =
            |name: &str| hierarchy.entry(fixture::node(&engine, name)).is_some_and(|entry| entry.is_entrance);
        assert!(is_entrance("Gateway/default/g"));
        assert!(!is_entrance("HTTPRoute/default/r"));
    }

    #[test]
    fn an_update_reports_whether_the_entry_changed() {
        let engine = fixture::engine(fixture::ROUTED_SERVICE);
        let mut hierarchy = hierarchy(&engine, &[Level::Gateway, Level::Route]);
        let route = fixture::node(&engine, "HTTPRoute/default/r");
        let update =
            |hierarchy: &mut Hierarchy| hierarchy.update(engine.objects(), engine.topology(), route, &mut Vec::new());
        assert!(!update(&mut hierarchy));
        hierarchy.forget(route);
        assert!(!hierarchy.has(route));
        assert!(update(&mut hierarchy));
        assert!(hierarchy.has(route));
    }
}
