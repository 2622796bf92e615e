//! The kinds of objects, and the kinds that they refer to.

use std::collections::HashSet;

use attache_engine::{Object, Value};
use smol_str::SmolStr;

use crate::scan::Token;

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
            let found = references_of(object).into_iter();
            references
                .extend(found.filter_map(|it| Some((it.get_str("group").unwrap_or_default(), it.get_str("kind")?))));
        }
        Mentions { kinds: owned(kinds), references: owned(references) }
    }

    pub(crate) fn add_kind(&mut self, group: &str, kind: &str) {
        self.kinds.insert((group.into(), kind.into()));
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

/// The references of an object: maps with a kind and a name.
pub(crate) fn references_of(object: &Object) -> Vec<&Value> {
    let mut found = Vec::new();
    // Core kinds have no such fields, and the schemas of CRDs only describe them.
    if !matches!(&*object.id.group, "" | "apiextensions.k8s.io") {
        collect_references(object.spec(), &mut found);
    }
    found
}

fn collect_references<'v>(value: &'v Value, found: &mut Vec<&'v Value>) {
    for (key, child) in value.entries() {
        if REFERENCES.contains(&key.as_str()) {
            found.extend(std::iter::once(child).chain(child.items()).filter(|it| it.as_map().is_some()));
        }
        collect_references(child, found);
    }
    for item in value.items() {
        collect_references(item, found);
    }
}

/// Finds the kinds that references name in the tokens of objects.
#[derive(Debug, Default)]
pub(crate) struct MentionScan<'t> {
    depth: usize,
    key: &'t str,
    /// The depth of the value of a field with references, before it starts.
    expected: Option<usize>,
    /// The depths of the lists of references around this place.
    lists: Vec<usize>,
    /// The references around this place.
    references: Vec<OpenReference<'t>>,
    found: HashSet<(&'t str, &'t str)>,
}

#[derive(Debug)]
struct OpenReference<'t> {
    depth: usize,
    group: &'t str,
    kind: Option<&'t str>,
}

impl<'t> MentionScan<'t> {
    pub(crate) fn token(&mut self, token: Token<'t>) {
        match token {
            Token::Key(key) => {
                self.key = key;
                self.expected = REFERENCES.contains(&key).then_some(self.depth + 1);
                return;
            }
            Token::Text(text) => self.text(text),
            Token::OpenList => {
                self.depth += 1;
                if self.expected == Some(self.depth) {
                    self.lists.push(self.depth);
                }
            }
            Token::OpenMap => {
                let is_item = self.lists.last() == Some(&self.depth);
                self.depth += 1;
                if is_item || self.expected == Some(self.depth) {
                    self.references.push(OpenReference { depth: self.depth, group: "", kind: None });
                }
            }
            Token::Close => self.close(),
        }
        self.expected = None;
    }

    fn text(&mut self, text: &'t str) {
        let depth = self.depth;
        let Some(reference) = self.references.last_mut().filter(|it| it.depth == depth) else { return };
        match self.key {
            "group" => reference.group = text,
            "kind" => reference.kind = Some(text),
            _ => {}
        }
    }

    fn close(&mut self) {
        let depth = self.depth;
        self.lists.pop_if(|list| *list == depth);
        if let Some(OpenReference { group, kind: Some(kind), .. }) = self.references.pop_if(|it| it.depth == depth) {
            self.found.insert((group, kind));
        }
        self.depth = depth.saturating_sub(1);
    }

    /// What was found.
    pub(crate) fn finish(self) -> Mentions {
        Mentions { kinds: HashSet::new(), references: owned(self.found) }
    }
}
