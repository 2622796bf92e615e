//! Builds a value and its source map from the events of the YAML or JSON reader, without recursion and within limits.

use hashbrown::HashMap;
use smol_str::SmolStr;

use super::syntax_error::SyntaxError;
use crate::object::{SourceLocation, SourceMap, count_values};
use crate::problem::ProblemCode;
use crate::value::{MAX_DEPTH, Map, Path, Value};

/// The maximum number of values that the aliases of a document may expand to. Real documents need hundreds, an alias
/// bomb billions.
pub const MAX_ALIASED_VALUES: usize = 100_000;

/// A whole value, with the problems found while it was read.
#[derive(Debug)]
pub struct ParsedValue {
    pub value: Value,
    pub locations: SourceMap,
    pub repeated_keys: Vec<RepeatedKey>,
}

/// A key that a map has more than once.
#[derive(Debug)]
pub struct RepeatedKey {
    pub map: Path,
    pub key: SmolStr,
    /// The first value of the key, which has no effect.
    pub ignored: SourceLocation,
    /// The last value of the key, which counts.
    pub used: SourceLocation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collection {
    List,
    Map,
}

#[derive(Debug, Default)]
pub struct Builder {
    /// The finished children of all open collections, those of an outer collection before those of an inner one.
    finished: Vec<FinishedValue>,
    /// The open collections, outermost first.
    open: Vec<OpenCollection>,
    /// The locations of all values so far, in the order in which they were read.
    locations: Vec<SourceLocation>,
    /// Reused by `sort`.
    scratch: Vec<SourceLocation>,
    anchors: HashMap<usize, Anchor>,
    /// The number of values that have been anchored or copied by aliases.
    aliased: usize,
    /// Where in `locations` the entries start that `<<` merged into the open maps.
    merged: Vec<usize>,
    repeated_keys: Vec<RepeatedKey>,
    /// The number of collections around the value that is built.
    outer_depth: usize,
}

/// A complete value whose collection is still open.
#[derive(Debug)]
struct FinishedValue {
    key: SmolStr,
    value: Value,
    /// Its part of `locations`.
    first: usize,
    len: usize,
}

#[derive(Debug)]
struct OpenCollection {
    kind: Collection,
    destination: Destination,
    anchor: usize,
    /// The index of its first child in `finished`.
    children: usize,
    /// The index of its own location in `locations`.
    first: usize,
    /// The number of levels of values in it.
    height: usize,
    pending: PendingKey,
}

/// A key whose value has not been read yet.
#[derive(Debug)]
enum PendingKey {
    None,
    Key(SmolStr, SourceLocation),
    Merge(SourceLocation),
}

/// The place of a value in the collection around it.
#[derive(Debug)]
enum Destination {
    Item,
    Entry(SmolStr),
    Merge(SourceLocation),
}

#[derive(Clone, Debug)]
struct Anchor {
    value: Value,
    locations: Box<[SourceLocation]>,
    height: usize,
}

impl Builder {
    /// A builder for the items of a list of objects, which are in two collections.
    pub fn for_items() -> Builder {
        Builder { outer_depth: 2, ..Builder::default() }
    }

    /// Whether the next value is one of the document's `items`.
    pub fn is_in_items(&self) -> bool {
        let is_items = |it: &Destination| matches!(it, Destination::Entry(key) if key == "items");
        matches!(self.open.as_slice(), [_, OpenCollection { kind: Collection::List, destination, .. }] if is_items(destination))
    }

    /// Whether the next value is `metadata.managedFields[].fieldsV1` of an object or of one of the document's `items`.
    pub fn is_at_field_set(&self) -> bool {
        let is = |it: &OpenCollection, key: &str| matches!(&it.destination, Destination::Entry(name) if name == key);
        let is_item = |it: &OpenCollection| matches!(it.destination, Destination::Item);
        let [around @ .., metadata, list, entry] = self.open.as_slice() else { return false };
        matches!(&entry.pending, PendingKey::Key(key, _) if key == "fieldsV1")
            && (is_item(entry) && is(list, "managedFields") && is(metadata, "metadata"))
            && match around {
                [_] => true,
                [_, items, item] => is(items, "items") && is_item(item),
                _ => false,
            }
    }

    /// Whether the next event is the key of a map.
    pub fn wants_key(&self) -> bool {
        matches!(self.open.last(), Some(OpenCollection { kind: Collection::Map, pending: PendingKey::None, .. }))
    }

    /// Whether the document is complete.
    pub fn has_root(&self) -> bool {
        self.open.is_empty() && !self.finished.is_empty()
    }

    /// The innermost open collection.
    pub fn innermost(&self) -> Option<Collection> {
        self.open.last().map(|collection| collection.kind)
    }

    /// The location of the key whose value comes next.
    pub fn key_location(&self) -> Option<SourceLocation> {
        match self.open.last()?.pending {
            PendingKey::Key(_, location) | PendingKey::Merge(location) => Some(location),
            PendingKey::None => None,
        }
    }

    pub fn key(&mut self, key: SmolStr, location: SourceLocation) {
        if let Some(map) = self.open.last_mut() {
            map.pending = PendingKey::Key(key, location);
        }
    }

    /// The key `<<`: the entries of its value are merged into this map.
    pub fn merge_key(&mut self, location: SourceLocation) {
        if let Some(map) = self.open.last_mut() {
            map.pending = PendingKey::Merge(location);
        }
    }

    pub fn scalar(&mut self, value: Value, location: SourceLocation, anchor: usize) -> Result<(), SyntaxError> {
        let first = self.locations.len();
        self.locations.push(location);
        self.define_anchor(anchor, &value, first, 0, location)?;
        let destination = self.take_destination();
        self.add(destination, value, first, 0)
    }

    pub fn open(&mut self, kind: Collection, location: SourceLocation, anchor: usize) -> Result<(), SyntaxError> {
        check_depth(self.outer_depth + self.open.len() + 1, location)?;
        let destination = self.take_destination();
        let (children, first) = (self.finished.len(), self.locations.len());
        self.locations.push(location);
        let pending = PendingKey::None;
        self.open.push(OpenCollection { kind, destination, anchor, children, first, height: 0, pending });
        Ok(())
    }

    pub fn close(&mut self) -> Result<(), SyntaxError> {
        let Some(closed) = self.open.pop() else { return Ok(()) };
        let value = match closed.kind {
            Collection::List => Value::List(self.finished.drain(closed.children..).map(|item| item.value).collect()),
            Collection::Map => {
                self.sort_entries(&closed);
                Value::Map(Map::sorted(self.finished.drain(closed.children..).map(|entry| (entry.key, entry.value))))
            }
        };
        let location = self.locations.get(closed.first).copied().unwrap_or_default();
        self.define_anchor(closed.anchor, &value, closed.first, closed.height + 1, location)?;
        self.add(closed.destination, value, closed.first, closed.height + 1)
    }

    /// Copies the value that `anchor` names. `None` if it is not complete yet.
    pub fn alias(&mut self, anchor: usize, location: SourceLocation) -> Result<Option<()>, SyntaxError> {
        let Some(Anchor { value, locations, height }) = self.anchors.get(&anchor).cloned() else { return Ok(None) };
        check_depth(self.outer_depth + self.open.len() + height, location)?;
        self.count_aliased(locations.len(), location)?;
        let first = self.locations.len();
        self.locations.extend_from_slice(&locations);
        let destination = self.take_destination();
        self.add(destination, value, first, height)?;
        Ok(Some(()))
    }

    pub fn anchored(&self, anchor: usize) -> Option<&Value> {
        self.anchors.get(&anchor).map(|anchor| &anchor.value)
    }

    /// Remembers an anchored key, which is not a value of the document by itself.
    pub fn define_key(&mut self, anchor: usize, value: Value, location: SourceLocation) {
        if anchor != 0 {
            self.anchors.insert(anchor, Anchor { value, locations: Box::new([location]), height: 0 });
        }
    }

    /// Takes the complete value, if there is one. The builder is ready for the next value.
    pub fn take(&mut self) -> Option<ParsedValue> {
        let root = self.finished.pop()?;
        let locations = SourceMap::new(&self.locations);
        self.locations.clear();
        Some(ParsedValue { value: root.value, locations, repeated_keys: std::mem::take(&mut self.repeated_keys) })
    }

    fn take_destination(&mut self) -> Destination {
        match self.open.last_mut().map(|around| std::mem::replace(&mut around.pending, PendingKey::None)) {
            Some(PendingKey::Key(key, _)) => Destination::Entry(key),
            Some(PendingKey::Merge(location)) => Destination::Merge(location),
            Some(PendingKey::None) | None => Destination::Item,
        }
    }

    fn add(&mut self, destination: Destination, value: Value, first: usize, height: usize) -> Result<(), SyntaxError> {
        if let Some(around) = self.open.last_mut() {
            around.height = around.height.max(height);
        }
        let len = self.locations.len() - first;
        match destination {
            Destination::Item => self.finished.push(FinishedValue { key: SmolStr::default(), value, first, len }),
            Destination::Entry(key) => self.finished.push(FinishedValue { key, value, first, len }),
            Destination::Merge(location) => self.merge(&value, first).ok_or_else(|| {
                SyntaxError::new(location, "`<<` needs an object or a list of objects to merge")
                    .help("quote it if it is an ordinary key: `\"<<\"`")
            })?,
        }
        Ok(())
    }

    /// Adds the entries of `value`, whose locations start at `first`, to the open map. As in kubectl, the last entry of
    /// a key counts, also if it is merged, and of several merged objects the first. `None` if `value` cannot be merged.
    fn merge(&mut self, value: &Value, first: usize) -> Option<()> {
        let sources: Vec<(&Map, usize)> = match value {
            Value::Map(map) => vec![(map, first)],
            Value::List(items) => {
                let mut at = first + 1;
                let mut sources = Vec::with_capacity(items.len());
                for item in items.iter() {
                    sources.push((item.as_map()?, at));
                    at += count_values(item);
                }
                sources
            }
            _ => return None,
        };
        for (map, first) in sources.into_iter().rev() {
            let mut first = first + 1;
            for (key, value) in map.entries() {
                let len = count_values(value);
                self.merged.push(first);
                self.finished.push(FinishedValue { key: key.clone(), value: value.clone(), first, len });
                first += len;
            }
        }
        Some(())
    }

    /// Sorts the entries of a map by key, keeps the last one of each key, and reorders their locations accordingly.
    fn sort_entries(&mut self, map: &OpenCollection) {
        let entries = self.finished.get_mut(map.children..).unwrap_or_default();
        let mut next = map.first + 1;
        let is_packed = entries.iter().all(|entry| {
            let is_next = entry.first == next;
            next += entry.len;
            is_next
        });
        if is_packed && next == self.locations.len() && entries.is_sorted_by(|a, b| a.key < b.key) {
            return;
        }
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        let mut kept = map.children;
        for i in map.children..self.finished.len() {
            let is_last = self.finished.get(i + 1).is_none_or(|next| next.key != self.finished[i].key);
            if is_last {
                self.finished.swap(kept, i);
                kept += 1;
            } else {
                self.note_repeated_key(map, i);
            }
        }
        self.finished.truncate(kept);
        let outer_merged = self.merged.iter().rposition(|first| *first < map.first).map_or(0, |at| at + 1);
        self.merged.truncate(outer_merged);
        self.scratch.clear();
        for entry in &self.finished[map.children..] {
            self.scratch.extend_from_slice(&self.locations[entry.first..entry.first + entry.len]);
        }
        self.locations.truncate(map.first + 1);
        self.locations.append(&mut self.scratch);
    }

    /// Records that the entry at `index` and the next one have the same key. Replacing entries is the purpose of
    /// merging, so merged entries do not count.
    fn note_repeated_key(&mut self, map: &OpenCollection, index: usize) {
        let (ignored, used) = (&self.finished[index], &self.finished[index + 1]);
        if self.merged.contains(&ignored.first) || self.merged.contains(&used.first) {
            return;
        }
        let key = ignored.key.clone();
        let (ignored, used) = (self.locations[ignored.first], self.locations[used.first]);
        let map = self.path(map);
        match self.repeated_keys.last_mut() {
            Some(before) if before.key == key && before.map == map => before.used = used,
            _ => self.repeated_keys.push(RepeatedKey { map, key, ignored, used }),
        }
    }

    /// The path to a collection that has just been closed.
    fn path(&self, closed: &OpenCollection) -> Path {
        let mut around: Option<&OpenCollection> = None;
        let mut path = Path::default();
        for collection in self.open.iter().chain([closed]) {
            path = match (&collection.destination, around) {
                (Destination::Entry(key), _) => path.key(key.clone()),
                (Destination::Merge(_), _) => path.key("<<"),
                (Destination::Item, Some(list)) => path.index(collection.children - list.children),
                (Destination::Item, None) => path,
            };
            around = Some(collection);
        }
        path
    }

    fn define_anchor(
        &mut self,
        anchor: usize,
        value: &Value,
        first: usize,
        height: usize,
        location: SourceLocation,
    ) -> Result<(), SyntaxError> {
        if anchor == 0 {
            return Ok(());
        }
        let locations: Box<[SourceLocation]> = self.locations[first..].into();
        self.count_aliased(locations.len(), location)?;
        self.anchors.insert(anchor, Anchor { value: value.clone(), locations, height });
        Ok(())
    }

    fn count_aliased(&mut self, values: usize, location: SourceLocation) -> Result<(), SyntaxError> {
        self.aliased += values;
        if self.aliased <= MAX_ALIASED_VALUES {
            return Ok(());
        }
        let message = format!("the aliases of this document stand for more than {MAX_ALIASED_VALUES} values");
        let error = SyntaxError::new(location, message).help("write the values out, or split the document");
        Err(SyntaxError { code: ProblemCode::TooManyAliases, ..error })
    }
}

fn check_depth(depth: usize, location: SourceLocation) -> Result<(), SyntaxError> {
    if depth <= MAX_DEPTH { Ok(()) } else { Err(SyntaxError::too_deep(location)) }
}
