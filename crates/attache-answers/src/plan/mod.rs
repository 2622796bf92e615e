//! What would change.

mod deletion;
pub(crate) mod document;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use attache_engine::change::{Change, LeafChange, ScopeName};
use attache_engine::topology::Level;
use serde::Serialize;

pub use deletion::Deletion;
pub use document::{PlanDocument, plan_document, word};

/// How much feels a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Touched {
    pub scopes: usize,
    pub routes: usize,
    pub backends: usize,
    pub namespaces: usize,
}

impl Touched {
    pub fn by(changes: &[Change]) -> Touched {
        let (mut routes, mut backends, mut namespaces) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let scopes = changes.iter().flat_map(|change| &change.scopes);
        for node in scopes.clone().flat_map(|scope| &scope.nodes).filter(|node| !node.contains('#')) {
            let mut parts = node.split('/');
            let (kind, namespace, name) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
            match attache_engine::kinds::LevelName::parse(kind).level() {
                Level::Route => _ = routes.insert(node),
                Level::Backend => _ = backends.insert(node),
                _ => continue,
            }
            namespaces.extend(namespace.filter(|_| name.is_some()));
        }
        Touched { scopes: scopes.count(), routes: routes.len(), backends: backends.len(), namespaces: namespaces.len() }
    }
}

/// The changes with all scopes together in which the same leaves change, whatever else is in force there.
pub fn alike(changes: &[Change]) -> Vec<Change> {
    let mut groups: Vec<Change> = Vec::new();
    let mut known: HashMap<(&str, &[LeafChange]), usize> = HashMap::new();
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
    changes: HashMap<(&'c str, &'c str), usize>,
}

impl<'c> Ends<'c> {
    pub fn new(changes: &'c [Change]) -> Ends<'c> {
        let mut ends = Ends { changes: HashMap::new() };
        for change in changes {
            let targets: BTreeSet<&str> = change.scopes.iter().map(end).collect();
            for target in targets {
                *ends.changes.entry((&change.policy_kind, target)).or_default() += 1;
            }
        }
        ends
    }

    pub fn of(&self, change: &Change) -> Vec<String> {
        let name = |scope: &ScopeName| {
            let target = end(scope);
            let several = self.changes.get(&(change.policy_kind.as_str(), target)).is_some_and(|count| *count > 1);
            let name = if several { way(&scope.nodes) } else { target.to_owned() };
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
pub fn end(scope: &ScopeName) -> &str {
    scope.nodes.last().map(String::as_str).unwrap_or_default()
}

/// A path without what goes without saying: objects whose section follows, and Namespaces.
fn way(nodes: &[String]) -> String {
    let follows = |at: usize, node: &str| nodes.get(at + 1).is_some_and(|next| next.starts_with(&format!("{node}#")));
    let said = nodes.iter().enumerate().filter(|(at, node)| !follows(*at, node) && !node.starts_with("Namespace/"));
    said.map(|(_, node)| node.as_str()).collect::<Vec<_>>().join(" > ")
}
