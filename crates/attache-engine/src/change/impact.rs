//! How many routes and backends a change affects.

use std::sync::Arc;

use hashbrown::HashSet;

use super::EffectiveChange;
use crate::engine_view::EngineView;
use crate::model::Model;
use crate::object::ObjectRef;
use crate::topology::{Level, NodeId, NodeRef, api};

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
        affected.count()
    }
}

/// The objects in scopes whose effective policy changes.
#[derive(Debug, Default)]
pub(crate) struct AffectedObjects {
    targets: HashSet<ObjectRef>,
    /// All other objects in the scopes too.
    all: HashSet<ObjectRef>,
}

impl AffectedObjects {
    pub fn add_changes(&mut self, changes: &[EffectiveChange]) {
        // Scopes of one change share the references of their nodes.
        let mut known: HashSet<*const NodeRef> = HashSet::new();
        for scope in changes.iter().flat_map(|change| &change.scopes) {
            self.targets.extend(scope.target().map(|target| target.object.clone()));
            let wholes = scope.nodes.iter().filter(|node| node.section.is_none());
            let new = wholes.filter(|node| known.insert(Arc::as_ptr(node)));
            self.all.extend(new.map(|node| node.object.clone()));
        }
    }

    /// Adds the objects in all scopes that end at some targets.
    pub fn add_scopes(&mut self, view: EngineView<'_>, model: &Model, targets: &[NodeId]) {
        let (mut ends, mut all) = (HashSet::new(), HashSet::new());
        let mut nodes = Vec::new();
        let is_whole = |node: &NodeId| view.topology[*node].section.is_none();
        for &target in targets {
            ends.insert(view.topology.whole(target));
            // Most targets have one scope, which is found faster.
            if model.single_path(view, target, &mut nodes) {
                all.extend(nodes.iter().copied().filter(is_whole));
            } else {
                model.scopes(view, target, &mut |scope| all.extend(scope.nodes.into_iter().filter(is_whole)));
            }
        }
        let object = |node: NodeId| view.topology.id(view.objects, node).clone();
        self.targets.extend(ends.into_iter().map(object));
        self.all.extend(all.into_iter().map(object));
    }

    pub fn count(&self) -> Impact {
        let mut impact = Impact { targets: self.targets.len(), ..Impact::default() };
        let mut namespaces: HashSet<&str> = HashSet::new();
        for object in &self.all {
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
