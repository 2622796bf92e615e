//! What would change.

mod deletion;
pub(crate) mod document;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use attache_engine::change::{EffectiveChange, LeafChange, ScopeRef};
use attache_engine::object::GroupKind;
use attache_engine::topology::{Level, NodeRef};
use serde::Serialize;

pub use deletion::Deletion;
pub use document::{PlanDocument, plan_document, setters, word};

/// How much feels a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Touched {
    pub scopes: usize,
    pub routes: usize,
    pub backends: usize,
    pub namespaces: usize,
}

impl Touched {
    pub fn by(changes: &[EffectiveChange]) -> Touched {
        let (mut routes, mut backends, mut namespaces) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let scopes = changes.iter().flat_map(|change| &change.scopes);
        for node in scopes.clone().flat_map(|scope| &scope.nodes).filter(|node| node.section.is_none()) {
            match node.object_level() {
                Level::Route => _ = routes.insert(node),
                Level::Backend => _ = backends.insert(node),
                _ => continue,
            }
            namespaces.insert(&node.object.namespace);
        }
        namespaces.retain(|namespace| !namespace.is_empty());
        Touched { scopes: scopes.count(), routes: routes.len(), backends: backends.len(), namespaces: namespaces.len() }
    }
}

/// The changes with all scopes together in which the same leaves change, whatever else is in force there.
pub fn alike(changes: &[EffectiveChange]) -> Vec<EffectiveChange> {
    let mut groups: Vec<EffectiveChange> = Vec::new();
    let mut known: HashMap<(&GroupKind, &[LeafChange]), usize> = HashMap::new();
    for change in changes {
        match known.entry((&change.policy_kind, &change.leaves)) {
            Entry::Occupied(group) => groups[*group.get()].scopes.extend_from_slice(&change.scopes),
            Entry::Vacant(group) => {
                group.insert(groups.len());
                groups.push(change.clone());
            }
        }
    }
    groups
}

/// Where changes happen: the effective targets, each once. Of those that change in several ways, the way to them.
#[derive(Debug)]
pub struct Ends<'c> {
    /// In how many changes of a kind there is a target.
    changes: HashMap<(&'c GroupKind, Option<&'c NodeRef>), usize>,
}

impl<'c> Ends<'c> {
    pub fn new(changes: &'c [EffectiveChange]) -> Ends<'c> {
        let mut ends = Ends { changes: HashMap::new() };
        for change in changes {
            let targets: BTreeSet<Option<&NodeRef>> = change.scopes.iter().map(ScopeRef::target).collect();
            for target in targets {
                *ends.changes.entry((&change.policy_kind, target)).or_default() += 1;
            }
        }
        ends
    }

    pub fn of(&self, change: &EffectiveChange) -> Vec<String> {
        let name = |scope: &ScopeRef| {
            let several = self.changes.get(&(&change.policy_kind, scope.target())).is_some_and(|count| *count > 1);
            let name = if several { way(&scope.nodes) } else { end(scope) };
            match &scope.from {
                Some(from) => format!("{name} (from {from})"),
                None => name,
            }
        };
        let names: BTreeSet<String> = change.scopes.iter().map(name).collect();
        names.into_iter().collect()
    }
}

/// The effective target.
pub fn end(scope: &ScopeRef) -> String {
    scope.target().map(NodeRef::to_string).unwrap_or_default()
}

/// A path without what goes without saying: objects whose section follows, and Namespaces.
fn way(nodes: &[Arc<NodeRef>]) -> String {
    let follows = |at: usize, node: &NodeRef| {
        let next = nodes.get(at + 1);
        node.section.is_none() && next.is_some_and(|next| next.section.is_some() && next.object == node.object)
    };
    let is_namespace = |node: &NodeRef| node.object.kind == "Namespace";
    let said = nodes.iter().enumerate().filter(|(at, node)| !follows(*at, node) && !is_namespace(node));
    said.map(|(_, node)| node.to_string()).collect::<Vec<_>>().join(" > ")
}
