//! The part of a cluster that can matter to one object.
//!
//! Objects refer to each other by name. An object *names* another if it contains the other's name, and is in the same
//! namespace or contains the other's namespace too. Whatever can matter to an object is connected to it by such names: its
//! parents and backends, the other routes of its Gateways, the policies of all these, and so on. Names that only look like
//! references connect more than is needed, which costs time and changes no answer.
//!
//! Where objects are connected in other ways, such as by labels, [`select`] finds no part: all objects are parsed.

use attache_engine::kinds::{GROUP, PolicyKind, Registry, TARGET_KIND};
use attache_engine::{Object, Path, Problem, Value};
use hashbrown::{HashMap, HashSet};

use crate::Discovery;
use crate::list::Parsed;
use crate::mentions::{Mentions, references_of};
use crate::raw::RawPage;
use crate::scan::{Scanner, Token};
use crate::subject::Subject;

/// Kinds whose selectors choose namespaces or Pods, and no objects that are kept as text.
const HARMLESS_SELECTORS: [(&str, &str); 4] = [
    ("", "Service"),
    ("gateway.networking.k8s.io", "Gateway"),
    ("gateway.networking.k8s.io", "ListenerSet"),
    ("gateway.networking.x-k8s.io", "XListenerSet"),
];

/// What is known about a cluster when its part is selected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'r> {
    /// The objects that always matter: Namespaces, classes, grants, descriptions of kinds.
    pub(crate) objects: &'r [Object],
    pub(crate) kinds: &'r Registry,
    pub(crate) mentions: &'r Mentions,
    pub(crate) discovery: &'r Discovery,
    /// Whether everything could be read.
    pub(crate) is_complete: bool,
}

/// The part of a cluster.
#[derive(Debug, Default)]
pub(crate) struct Region {
    pub(crate) objects: Vec<Object>,
    pub(crate) problems: Vec<Problem>,
    /// The number of policies outside of the part.
    pub(crate) policies_left_out: usize,
}

/// Parses the objects that can matter to an object.
pub(crate) fn parse(pages: &[RawPage], about: Option<&Subject>, frame: Frame<'_>) -> Region {
    let mut region = Region::default();
    let Some(selected) = about.and_then(|subject| select(pages, subject, frame)) else {
        region.add(pages, |_, _| true);
        return region;
    };
    region.add(pages, |page, item| selected[page][item]);
    // For a reference to an object that does not exist, the names of others are suggested.
    if has_dangling_references(frame.objects, &region.objects) {
        region.add(pages, |page, item| !selected[page][item]);
        return region;
    }
    let policies = pages.iter().zip(&selected).filter(|(page, _)| page.is_policies);
    region.policies_left_out = policies.flat_map(|(_, selected)| selected).filter(|is_selected| !**is_selected).count();
    region
}

impl Region {
    fn add(&mut self, pages: &[RawPage], is_wanted: impl Fn(usize, usize) -> bool) {
        for (number, page) in pages.iter().enumerate() {
            let Parsed { objects, problems } = page.parse(|item| is_wanted(number, item));
            self.objects.extend(objects);
            self.problems.extend(problems);
        }
    }
}

/// Whether an object refers to one that does not exist.
fn has_dangling_references(frame: &[Object], selected: &[Object]) -> bool {
    let ids = frame.iter().chain(selected).map(|object| &object.id);
    let known: HashSet<(&str, &str, &str)> = ids.map(|id| (&*id.namespace, &*id.kind, &*id.name)).collect();
    let is_known = |object: &Object, reference: &Value| {
        let Some(name) = reference.get_str("name") else { return true };
        let kind = reference.get_str("kind").unwrap_or_default();
        let namespace = reference.get_str("namespace").unwrap_or(&object.id.namespace);
        known.contains(&(namespace, kind, name)) || known.contains(&("", kind, name))
    };
    selected.iter().any(|object| references_of(object).into_iter().any(|reference| !is_known(object, reference)))
}

/// Which objects of each page can matter to an object. `None` if all can, or if there is no such object.
fn select(pages: &[RawPage], subject: &Subject, frame: Frame<'_>) -> Option<Vec<Vec<bool>>> {
    if !frame.is_connected_by_names(pages) || has_kinds_of_one_name(pages) {
        return None;
    }
    let index = Index::new(pages);
    let mut parts = Components::new(index.items.len() + index.words.len());
    let mut joined = HashSet::new();
    let mut item = 0..;
    for page in pages {
        let text = page.text();
        for (at, item) in (0..page.len()).zip(&mut item) {
            index.connect(item, text.get(at), &mut parts, &mut joined)?;
        }
    }
    for object in frame.objects.iter().filter(|it| it.id.group.is_empty() && it.id.kind == "Namespace") {
        index.connect_namespace(object, &mut parts, &mut joined);
    }
    for (number, item) in index.items.iter().enumerate().filter(|(_, item)| joined.contains(&item.namespace)) {
        parts.join(number, index.namespace(item.namespace));
    }
    let roots: HashSet<usize> = index.items_meant(subject).map(|item| parts.find(item)).collect();
    if roots.is_empty() {
        return None;
    }
    let mut item = 0..;
    let mut is_selected = |_| item.next().is_some_and(|item| roots.contains(&parts.find(item)));
    Some(pages.iter().map(|page| (0..page.len()).map(&mut is_selected).collect()).collect())
}

impl Frame<'_> {
    /// Whether there are no other connections than those by name.
    fn is_connected_by_names(&self, pages: &[RawPage]) -> bool {
        let is_target_kind = |object: &Object| object.id.group == GROUP && object.id.kind == TARGET_KIND;
        // A reference to a kind that has no objects stands for something else, such as all routes with a label.
        let is_served = |(group, kind): (&str, &str)| {
            self.discovery.find(group, kind, &[""; 0]).is_some()
                || group.is_empty() && self.discovery.of_kind(kind).next().is_some()
        };
        let is_in_use = |kind: &PolicyKind| {
            let is_of_kind = |page: &RawPage| page.resource().group == kind.group && page.resource().kind == kind.kind;
            pages.iter().any(|page| page.len() > 0 && is_of_kind(page))
        };
        self.is_complete
            && !self.objects.iter().any(is_target_kind)
            && self.mentions.references().all(is_served)
            && self.kinds.iter().all(|(_, kind)| names_its_targets(kind) || !is_in_use(kind))
    }
}

/// Whether policies of a kind matter only to what they name, and are independent of policies that name something else.
fn names_its_targets(kind: &PolicyKind) -> bool {
    let ends_in = |paths: &[Path], is_known: fn(&str) -> bool| {
        paths.iter().all(|path| path.to_string().rsplit('.').next().is_some_and(is_known))
    };
    let (targets, fields) = (&kind.targets, &kind.fields);
    kind.hierarchy.root_namespace.is_none()
        && targets.virtual_targets.is_empty()
        && targets.selects.is_empty()
        && targets.hosts.is_none()
        && targets.bindings.is_none()
        && !kind.order.ties_undefined
        && ends_in(&fields.target_refs, |name| TARGET_FIELDS.contains(&name))
        && ends_in(&fields.target_selectors, is_selector)
}

/// Fields with references to targets.
const TARGET_FIELDS: [&str; 2] = ["targetRef", "targetRefs"];

fn is_selector(key: &str) -> bool {
    key.contains("elector")
}

/// Whether there are policies of two kinds with the same name: then they are shown with their group.
fn has_kinds_of_one_name(pages: &[RawPage]) -> bool {
    let policies = pages.iter().filter(|page| page.is_policies && page.len() > 0).map(RawPage::resource);
    let mut groups: HashMap<&str, &str> = HashMap::new();
    policies.into_iter().any(|it| *groups.entry(&it.kind).or_insert(&it.group) != it.group)
}

/// The number of a name or namespace.
type Word = u32;

/// The namespace of cluster-scoped objects.
const NO_NAMESPACE: Word = 0;

/// The depth of the fields of `spec` in an object.
const IN_SPEC: i32 = 2;

struct Item<'p> {
    page: &'p RawPage,
    namespace: Word,
    name: Word,
}

/// All objects, by namespace and name.
struct Index<'p> {
    items: Vec<Item<'p>>,
    /// The names and namespaces of objects.
    words: HashMap<&'p str, Word>,
    /// By namespace and name.
    named: HashMap<(Word, Word), Vec<u32>>,
    namespaces: HashSet<Word>,
}

impl<'p> Index<'p> {
    fn new(pages: &'p [RawPage]) -> Index<'p> {
        let size = pages.iter().map(RawPage::len).sum();
        let mut words = HashMap::with_capacity(size);
        let mut word = |text: &'p str| {
            let next = words.len() as Word;
            *words.entry(text).or_insert(next)
        };
        word("");
        let mut items = Vec::with_capacity(size);
        let mut named: HashMap<(Word, Word), Vec<u32>> = HashMap::with_capacity(size);
        for (page, at) in pages.iter().flat_map(|page| (0..page.len()).map(move |at| (page, at))) {
            let (namespace, name) = (word(page.namespace(at)), word(page.name(at)));
            named.entry((namespace, name)).or_insert_with(|| Vec::with_capacity(1)).push(items.len() as u32);
            items.push(Item { page, namespace, name });
        }
        let namespaces = items.iter().map(|item: &Item<'_>| item.namespace).collect();
        Index { items, words, named, namespaces }
    }

    /// The objects that a question can concern.
    fn items_meant(&self, subject: &Subject) -> impl Iterator<Item = usize> {
        let name = subject.name.as_ref().and_then(|name| self.words.get(name.as_str()).copied());
        let is_meant = move |item: &Item<'_>| Some(item.name) == name && subject.is_of_kind(item.page.resource());
        self.items.iter().enumerate().filter(move |(_, item)| is_meant(item)).map(|(number, _)| number)
    }

    /// The component that stands for a namespace.
    fn namespace(&self, word: Word) -> usize {
        self.items.len() + word as usize
    }

    /// Connects an object to those that it names, and to the namespaces that it is for as a whole. `None` if it can be
    /// connected to others in another way.
    fn connect(&self, item: usize, text: &str, parts: &mut Components, joined: &mut HashSet<Word>) -> Option<()> {
        let Item { page, namespace, .. } = self.items[item];
        let mut found = Found { words: vec![NO_NAMESPACE, namespace], ..Found::default() };
        let (mut key, mut depth, mut at_targets) = ("", 0, false);
        for token in Scanner::new(text) {
            match token {
                Token::Key(text) => {
                    key = text;
                    found.selects |= is_selector(text);
                    at_targets = depth == IN_SPEC && TARGET_FIELDS.contains(&text);
                }
                Token::Text("*") if key == "name" => return None,
                Token::Text(text) if text.eq_ignore_ascii_case("GatewayClass") => return None,
                Token::Text(text) => {
                    found.namespaces |= text.eq_ignore_ascii_case("Namespace");
                    self.collect_words(text, &mut found.words);
                }
                Token::OpenMap => {
                    depth += 1;
                    found.has_targets |= at_targets;
                }
                Token::OpenList => depth += 1,
                Token::Close => {
                    depth -= 1;
                    at_targets = false;
                }
            }
        }
        found.words.sort_unstable();
        found.words.dedup();
        let resource = page.resource();
        let is_harmless = || HARMLESS_SELECTORS.contains(&(&*resource.group, &*resource.kind));
        if found.selects && !is_harmless() || page.is_policies && !found.has_targets {
            return None;
        }
        self.named_by(&found.words).for_each(|other| parts.join(item, other));
        if found.namespaces {
            for word in self.namespaces_in(&found.words).filter(|word| *word != NO_NAMESPACE) {
                parts.join(item, self.namespace(word));
                joined.insert(word);
            }
        }
        Some(())
    }

    /// Connects a namespace to the objects that its labels and annotations name.
    fn connect_namespace(&self, object: &Object, parts: &mut Components, joined: &mut HashSet<Word>) {
        let Some(namespace) = self.words.get(object.id.name.as_str()).copied() else { return };
        let mut words = vec![namespace];
        for field in ["labels", "annotations"] {
            let values = object.body.at(&["metadata", field]).map_or(&[][..], Value::entries);
            let values = values.iter().filter(|(key, _)| key != "kubernetes.io/metadata.name");
            values.filter_map(|(_, value)| value.as_str()).for_each(|text| self.collect_words(text, &mut words));
        }
        for item in self.named_by(&words) {
            parts.join(item, self.namespace(namespace));
            joined.insert(namespace);
        }
    }

    fn namespaces_in<'w>(&'w self, words: &'w [Word]) -> impl Iterator<Item = Word> + 'w {
        words.iter().copied().filter(|word| self.namespaces.contains(word))
    }

    /// The objects with one of these names in one of these namespaces.
    fn named_by<'w>(&'w self, words: &'w [Word]) -> impl Iterator<Item = usize> + 'w {
        let named = move |near| words.iter().filter_map(move |name| self.named.get(&(near, *name)));
        self.namespaces_in(words).flat_map(named).flatten().map(|item| *item as usize)
    }

    /// The names and namespaces in a text: the whole text, or parts of it, as in `namespace/name` and in host names.
    fn collect_words(&self, text: &str, words: &mut Vec<Word>) {
        words.extend(self.words.get(text));
        if text.contains(['.', '/', ':']) {
            let parts = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            words.extend(parts.filter(|part| !part.is_empty()).filter_map(|part| self.words.get(part)));
        }
    }
}

/// What the text of an object contains.
#[derive(Default)]
struct Found {
    words: Vec<Word>,
    /// Whether it mentions Namespaces.
    namespaces: bool,
    /// Whether it has a selector.
    selects: bool,
    /// Whether it names its targets.
    has_targets: bool,
}

/// Which items and namespaces are connected: a union-find structure.
struct Components {
    parents: Vec<usize>,
}

impl Components {
    fn new(size: usize) -> Components {
        Components { parents: (0..size).collect() }
    }

    /// The item or namespace that stands for all that are connected with this one.
    fn find(&mut self, mut number: usize) -> usize {
        while self.parents[number] != number {
            self.parents[number] = self.parents[self.parents[number]];
            number = self.parents[number];
        }
        number
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a] = b;
    }
}

#[cfg(test)]
mod tests;
