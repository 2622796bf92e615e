//! The kinds of objects, and the kinds that they refer to.

use std::collections::HashSet;

use attache_engine::{Object, Value};
use smol_str::SmolStr;

/// Fields that refer to objects by kind and name. References to Secrets and ConfigMaps are in other fields. Secrets are
/// never read.
const REFERENCES: [&str; 7] =
    ["targetRef", "targetRefs", "parentRef", "parentRefs", "backendRef", "backendRefs", "extensionRef"];

/// Group and kind.
type Kind = (SmolStr, SmolStr);

/// The kinds of some objects, and the kinds that they refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mentions {
    kinds: HashSet<Kind>,
    references: HashSet<Kind>,
}

impl Mentions {
    pub(crate) fn new<'o>(objects: impl IntoIterator<Item = &'o Object>) -> Mentions {
        let mut kinds: HashSet<(&str, &str)> = HashSet::new();
        let mut references = HashSet::new();
        for object in objects {
            kinds.insert((&object.id.group, &object.id.kind));
            // Core kinds have no such fields, and the schemas of CRDs only describe them.
            if !matches!(&*object.id.group, "" | "apiextensions.k8s.io") {
                collect_references(object.spec(), &mut references);
            }
        }
        Mentions { kinds: owned(kinds), references: owned(references) }
    }

    pub(crate) fn add(&mut self, other: Mentions) {
        self.kinds.extend(other.kinds);
        self.references.extend(other.references);
    }

    /// Whether one of the objects is of this kind.
    pub(crate) fn has(&self, group: &str, kind: &str) -> bool {
        self.kinds.contains(&(group.into(), kind.into()))
    }

    /// Group and kind of the objects that are referred to.
    pub(crate) fn references(&self) -> impl Iterator<Item = (&str, &str)> {
        self.references.iter().map(|(group, kind)| (group.as_str(), kind.as_str()))
    }
}

fn owned(kinds: HashSet<(&str, &str)>) -> HashSet<Kind> {
    kinds.into_iter().map(|(group, kind)| (group.into(), kind.into())).collect()
}

/// The kinds that the references in a value name.
fn collect_references<'v>(value: &'v Value, found: &mut HashSet<(&'v str, &'v str)>) {
    for (key, child) in value.entries() {
        if REFERENCES.contains(&key.as_str()) {
            for reference in std::iter::once(child).chain(child.items()) {
                if let Some(kind) = reference.get_str("kind") {
                    found.insert((reference.get_str("group").unwrap_or_default(), kind));
                }
            }
        }
        collect_references(child, found);
    }
    for item in value.items() {
        collect_references(item, found);
    }
}
