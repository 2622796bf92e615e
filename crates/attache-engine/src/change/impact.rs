//! How many routes and backends a change affects.

use std::sync::Arc;

use hashbrown::HashSet;

use super::EffectiveChange;
use crate::engine_view::EngineView;
use crate::model::Model;
use crate::object::ObjectRef;
use crate::topology::{DistinctNodes, Level, NodeId, NodeRef, api};

/// How many objects are in scopes whose effective policy changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Impact {
    /// The objects at which the scopes end, or in a section of which they do.
    pub targets: usize,
    /// The routes.
    pub routes: usize,
    /// The backends.
    pub backends: usize,
    /// The backends that are Services.
    pub services: usize,
    /// The namespaces of those routes and backends.
    pub namespaces: usize,
}

impl Impact {
    /// The impact of some changes.
    pub fn new(changes: &[EffectiveChange]) -> Impact {
        let mut affected = AffectedObjects::default();
        affected.add_changes(changes);
        affected.count(None)
    }
}

/// The number of targets from which on their scopes are listed on two cores.
const MANY_TARGETS: usize = 2_000;

/// The objects in scopes whose effective policy changes.
#[derive(Debug, Default)]
pub(crate) struct AffectedObjects {
    /// As nodes of one engine.
    nodes: Members<DistinctNodes>,
    /// By name.
    named: Members<HashSet<ObjectRef>>,
}

/// The members of scopes.
#[derive(Debug, Default)]
struct Members<S> {
    /// The objects at which the scopes end.
    targets: S,
    /// All objects in the scopes.
    all: S,
}

impl Members<DistinctNodes> {
    /// The objects in all scopes that end at some targets.
    fn in_scopes(view: EngineView<'_>, model: &Model, targets: &[NodeId]) -> Members<DistinctNodes> {
        let mut found: Members<DistinctNodes> = Members::default();
        let mut nodes = Vec::new();
        // A frontend belongs to its Service.
        let whole = |node: NodeId| view.topology[node].section.is_none().then(|| view.topology.whole(node));
        for &target in targets {
            found.targets.push(view.topology.whole(target));
            // Most targets have one scope, which is found faster.
            if model.single_path(view, target, &mut nodes) {
                nodes.iter().copied().filter_map(whole).for_each(|node| _ = found.all.push(node));
            } else {
                model.scopes(view, target, &mut |scope| {
                    scope.nodes.into_iter().filter_map(whole).for_each(|node| _ = found.all.push(node));
                });
            }
        }
        found
    }

    fn add(&mut self, more: &Members<DistinctNodes>) {
        more.targets.iter().for_each(|node| _ = self.targets.push(*node));
        more.all.iter().for_each(|node| _ = self.all.push(*node));
    }
}

impl AffectedObjects {
    pub fn add_changes(&mut self, changes: &[EffectiveChange]) {
        // Scopes of one change share the references of their nodes.
        let mut known: HashSet<*const NodeRef> = HashSet::new();
        for scope in changes.iter().flat_map(|change| &change.scopes) {
            self.named.targets.extend(scope.target().map(|target| target.object.clone()));
            let wholes = scope.nodes.iter().filter(|node| node.section.is_none());
            let new = wholes.filter(|node| known.insert(Arc::as_ptr(node)));
            self.named.all.extend(new.map(|node| node.object.clone()));
        }
    }

    /// Adds the objects in all scopes that end at some targets. All calls are about the same engine.
    pub fn add_scopes(&mut self, view: EngineView<'_>, model: &Model, targets: &[NodeId]) {
        if targets.len() >= MANY_TARGETS {
            let (first, second) = targets.split_at(targets.len() / 2);
            let find = |targets| Members::in_scopes(view, model, targets);
            let (first, second) = rayon::join(|| find(first), || find(second));
            self.nodes.add(&first);
            self.nodes.add(&second);
        } else {
            self.nodes.add(&Members::in_scopes(view, model, targets));
        }
    }

    /// Counts the objects. `view` is that of the engine whose nodes were added, if any were.
    pub fn count(&self, view: Option<EngineView<'_>>) -> Impact {
        let is_among = |nodes: &DistinctNodes, id: &ObjectRef| {
            let node = view.and_then(|view| view.topology.find(view.objects, id));
            node.is_some_and(|node| nodes.contains(node))
        };
        let more_targets = self.named.targets.iter().filter(|id| !is_among(&self.nodes.targets, id)).count();
        let mut impact = Impact { targets: self.nodes.targets.len() + more_targets, ..Impact::default() };
        let mut namespaces: HashSet<&str> = HashSet::new();
        let mut namespace_nodes: HashSet<NodeId> = HashSet::new();
        let mut backends: Vec<&ObjectRef> = Vec::new();
        for (view, &node) in view.iter().flat_map(|view| self.nodes.all.iter().map(move |node| (view, node))) {
            // The levels of most nodes are known without looking at their objects, which takes longer.
            match view.topology[node].level {
                Level::Route => {
                    impact.routes += 1;
                    namespace_nodes.extend(view.topology.namespace(node));
                }
                Level::Backend => backends.push(view.topology.id(view.objects, node)),
                _ => {}
            }
        }
        let names = view.iter().flat_map(|view| namespace_nodes.iter().map(|it| view.topology.id(view.objects, *it)));
        namespaces.extend(names.map(|id| id.name.as_str()));
        let named = self.named.all.iter().filter(|id| !is_among(&self.nodes.all, id));
        for object in backends.into_iter().chain(named) {
            match api::level(&object.group, &object.kind) {
                Level::Route => impact.routes += 1,
                Level::Backend => {
                    impact.backends += 1;
                    impact.services += usize::from(object.group.is_empty() && object.kind == "Service");
                }
                _ => continue,
            }
            namespaces.insert(&object.namespace);
        }
        namespaces.remove("");
        Impact { namespaces: namespaces.len(), ..impact }
    }
}
