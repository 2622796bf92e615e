//! The part of a cluster that can matter to one object.
//!
//! Objects refer to each other by name. An object *names* another if it contains the other's name, and is in the same
//! namespace or contains the other's namespace too. Whatever can matter to an object is connected to it by such names: its
//! parents and backends, the other routes of its Gateways, the policies of all these, and so on. Names that only look like
//! references connect more than is needed, which costs time and changes no answer.
//!
//! Where objects are connected by something else than names, such as labels, [`select`] finds no part: all objects are parsed.

use attache_engine::{Object, Value};
use hashbrown::{HashMap, HashSet};

use crate::Discovery;
use crate::list::Parsed;
use crate::mentions::{Mentions, references_of};
use crate::raw::RawPage;
use crate::scan::{Scanner, Token};

/// Kinds whose selectors choose namespaces or Pods, and no objects that are kept as text.
const HARMLESS_SELECTORS: [(&str, &str); 5] = [
    ("", "Service"),
    ("gateway.networking.k8s.io", "Gateway"),
    ("gateway.networking.k8s.io", "ListenerSet"),
    ("gateway.networking.x-k8s.io", "XListenerSet"),
    ("gateway.networking.k8s.io", "ReferenceGrant"),
];

/// What is known about a cluster when its part is selected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'r> {
    /// The objects that always matter: Namespaces, classes, grants, descriptions of kinds.
    pub(crate) objects: &'r [Object],
    pub(crate) mentions: &'r Mentions,
    pub(crate) discovery: &'r Discovery,
}

/// Parses the objects that can matter to the objects with these names, in any namespace.
pub(crate) fn parse(pages: &[RawPage], names: &[String], around: Surroundings<'_>) -> Parsed {
    let Some(selected) = select(pages, names, around) else { return parse_some(pages, |_, _| true) };
    let mut parsed = parse_some(pages, |page, item| selected[page][item]);
    // For a reference to an object that does not exist, the names of others are suggested.
    if has_dangling_references(around.objects, &parsed.objects) {
        let others = parse_some(pages, |page, item| !selected[page][item]);
        parsed.objects.extend(others.objects);
        parsed.problems.extend(others.problems);
    }
    parsed
}

fn parse_some(pages: &[RawPage], is_wanted: impl Fn(usize, usize) -> bool) -> Parsed {
    let mut parsed = Parsed::default();
    for (number, page) in pages.iter().enumerate() {
        let of_page = page.parse(|item| is_wanted(number, item));
        parsed.objects.extend(of_page.objects);
        parsed.problems.extend(of_page.problems);
    }
    parsed
}

/// Whether an object refers to a name that no object has.
fn has_dangling_references(around: &[Object], selected: &[Object]) -> bool {
    let known: HashSet<&str> = around.iter().chain(selected).map(|object| object.id.name.as_str()).collect();
    let mut references = selected.iter().flat_map(references_of);
    references.any(|reference| reference.get_str("name").is_some_and(|name| !known.contains(name)))
}

/// Which objects of each page can matter to the objects with these names, in any namespace. `None` if all can, or if there is
/// no such object.
pub(crate) fn select(pages: &[RawPage], names: &[String], around: Surroundings<'_>) -> Option<Vec<Vec<bool>>> {
    if !around.is_connected_by_names() || has_kinds_of_one_name(pages) {
        return None;
    }
    let index = Index::new(pages);
    let mut parts = Components::new(index.items.len() + index.words.len());
    let mut whole = HashSet::new();
    let mut item = 0..;
    for page in pages {
        let text = page.text();
        for (at, item) in (0..page.len()).zip(&mut item) {
            index.connect(item, text.get(at), &mut parts, &mut whole)?;
        }
    }
    for object in around.objects.iter().filter(|it| it.id.group.is_empty() && it.id.kind == "Namespace") {
        index.connect_namespace(object, &mut parts, &mut whole);
    }
    for (number, item) in index.items.iter().enumerate().filter(|(_, item)| whole.contains(&item.namespace)) {
        parts.join(number, index.namespace(item.namespace));
    }
    let roots: HashSet<usize> = index.items_named(names).map(|item| parts.find(item)).collect();
    if roots.is_empty() {
        return None;
    }
    let mut item = 0..;
    let mut is_selected = |_| item.next().is_some_and(|item| roots.contains(&parts.find(item)));
    Some(pages.iter().map(|page| (0..page.len()).map(&mut is_selected).collect()).collect())
}

impl Surroundings<'_> {
    /// Whether there are no other links than those by name.
    fn is_connected_by_names(&self) -> bool {
        let is_target_kind = |object: &Object| object.id.group == "attache.dev" && object.id.kind == "TargetKind";
        // A reference to a kind that has no objects stands for something else, such as all routes with a label.
        let is_served = |(group, kind): (&str, &str)| {
            self.discovery.find(group, kind, &[""; 0]).is_some()
                || group.is_empty() && self.discovery.of_kind(kind).next().is_some()
        };
        !self.objects.iter().any(is_target_kind) && self.mentions.references().all(is_served)
    }
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
        let mut words = HashMap::new();
        let mut word = |text: &'p str| {
            let next = words.len() as Word;
            *words.entry(text).or_insert(next)
        };
        word("");
        let mut items = Vec::new();
        let mut named: HashMap<(Word, Word), Vec<u32>> = HashMap::new();
        for (page, at) in pages.iter().flat_map(|page| (0..page.len()).map(move |at| (page, at))) {
            let (namespace, name) = (word(page.namespace(at)), word(page.name(at)));
            named.entry((namespace, name)).or_insert_with(|| Vec::with_capacity(1)).push(items.len() as u32);
            items.push(Item { page, namespace, name });
        }
        let namespaces = items.iter().map(|item: &Item<'_>| item.namespace).collect();
        Index { items, words, named, namespaces }
    }

    fn items_named(&self, names: &[String]) -> impl Iterator<Item = usize> {
        let words: HashSet<Word> = names.iter().filter_map(|name| self.words.get(name.as_str()).copied()).collect();
        (0..self.items.len()).filter(move |item| words.contains(&self.items[*item].name))
    }

    /// The component that stands for a namespace.
    fn namespace(&self, word: Word) -> usize {
        self.items.len() + word as usize
    }

    /// Connects an object to those that it names, and to the namespaces that it is for as a whole. `None` if it can be
    /// connected to others in another way.
    fn connect(&self, item: usize, text: &str, parts: &mut Components, whole: &mut HashSet<Word>) -> Option<()> {
        let Item { page, namespace, .. } = self.items[item];
        let mut found = Found { words: vec![NO_NAMESPACE, namespace], ..Found::default() };
        let mut key = "";
        for token in Scanner::new(text) {
            match token {
                Token::Key(text) => {
                    key = text;
                    found.selects |= text.contains("elector");
                    found.has_targets |= matches!(text, "targetRef" | "targetRefs");
                }
                Token::Text("*") if key == "name" => return None,
                Token::Text(text) if text.eq_ignore_ascii_case("GatewayClass") => return None,
                Token::Text(text) => {
                    found.namespaces |= text.eq_ignore_ascii_case("Namespace");
                    self.collect_words(text, &mut found.words);
                }
                Token::OpenMap | Token::OpenList | Token::Close => {}
            }
        }
        let resource = page.resource();
        let is_harmless = || HARMLESS_SELECTORS.contains(&(&*resource.group, &*resource.kind));
        if found.selects && !is_harmless() || page.is_policies && !found.has_targets {
            return None;
        }
        self.named_by(&found.words).for_each(|other| parts.join(item, other));
        if found.namespaces {
            for word in self.namespaces_in(&found.words).filter(|word| *word != NO_NAMESPACE) {
                parts.join(item, self.namespace(word));
                whole.insert(word);
            }
        }
        Some(())
    }

    /// Connects a namespace to the objects that its labels and annotations name.
    fn connect_namespace(&self, object: &Object, parts: &mut Components, whole: &mut HashSet<Word>) {
        let Some(namespace) = self.words.get(object.id.name.as_str()).copied() else { return };
        let mut words = vec![namespace];
        for field in ["labels", "annotations"] {
            let values = object.body.at(&["metadata", field]).map_or(&[][..], Value::entries);
            let values = values.iter().filter(|(key, _)| key != "kubernetes.io/metadata.name");
            values.filter_map(|(_, value)| value.as_str()).for_each(|text| self.collect_words(text, &mut words));
        }
        for item in self.named_by(&words) {
            parts.join(item, self.namespace(namespace));
            whole.insert(namespace);
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

/// Which things are connected: a union-find structure.
struct Components {
    parents: Vec<usize>,
}

impl Components {
    fn new(size: usize) -> Components {
        Components { parents: (0..size).collect() }
    }

    /// The thing that stands for all that are connected with this one.
    fn find(&mut self, mut thing: usize) -> usize {
        while self.parents[thing] != thing {
            self.parents[thing] = self.parents[self.parents[thing]];
            thing = self.parents[thing];
        }
        thing
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a] = b;
    }
}

#[cfg(test)]
mod tests;
