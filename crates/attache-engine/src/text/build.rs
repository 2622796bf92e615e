//! Builds a value and the places in it from the events of a reader, without recursion and within budgets.

use hashbrown::HashMap;
use smol_str::SmolStr;

use super::Fault;
use crate::object::{SourceLocation, SourceMap, count};
use crate::value::{Map, Path, Value};

/// The deepest real documents are CRDs, some 60 levels. Values are walked recursively; this many levels fit any stack.
pub const MAX_DEPTH: usize = 200;

/// How many values a document's anchors and aliases may stand for: an alias bomb has billions, real ones hundreds.
pub const MAX_ALIASED: usize = 100_000;

#[derive(Debug, Default)]
pub struct Builder {
    /// What has been closed under the frames that are open, each frame's own after those of the frame around it.
    nodes: Vec<Node>,
    frames: Vec<Frame>,
    locations: Vec<SourceLocation>,
    scratch: Vec<SourceLocation>,
    anchors: HashMap<usize, Anchor>,
    aliased: usize,
    /// Where the entries that `<<` brought into the open maps start in `locations`.
    merged: Vec<usize>,
    repeated: Vec<Repeated>,
    /// How many collections there are around all of it.
    depth: usize,
}

/// A finished value that waits for the end of what it is in.
#[derive(Debug)]
struct Node {
    key: SmolStr,
    value: Value,
    /// Its part of `locations`.
    first: usize,
    len: usize,
}

/// A key that a map has more than once.
#[derive(Debug)]
pub struct Repeated {
    pub map: Path,
    pub key: SmolStr,
    /// The first value, which is lost.
    pub lost: SourceLocation,
    /// The last one, which counts.
    pub kept: SourceLocation,
}

/// A whole value, and what was found on the way.
#[derive(Debug)]
pub struct Built {
    pub value: Value,
    pub locations: SourceMap,
    pub repeated: Vec<Repeated>,
}

#[derive(Debug)]
struct Frame {
    kind: Collection,
    slot: Slot,
    anchor: usize,
    /// Its first child in `nodes`.
    children: usize,
    /// Its own place in `locations`.
    first: usize,
    /// How many levels there are below it.
    height: usize,
    pending: Pending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collection {
    List,
    Map,
}

/// The key that waits for its value.
#[derive(Debug)]
enum Pending {
    None,
    Key(SmolStr, SourceLocation),
    Merge(SourceLocation),
}

/// Where a value goes in the collection around it.
#[derive(Debug)]
enum Slot {
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
    /// For the items of a document, one after the other.
    pub fn for_items() -> Builder {
        Builder { depth: 2, ..Builder::default() }
    }

    /// Whether what comes next is one of the items of the document.
    pub fn within_items(&self) -> bool {
        let is_items = |slot: &Slot| matches!(slot, Slot::Entry(key) if key == "items");
        matches!(self.frames.as_slice(), [_, Frame { kind: Collection::List, slot, .. }] if is_items(slot))
    }

    /// Whether what comes next is the key of a map.
    pub fn wants_key(&self) -> bool {
        matches!(self.frames.last(), Some(Frame { kind: Collection::Map, pending: Pending::None, .. }))
    }

    /// Whether the document is complete.
    pub fn has_root(&self) -> bool {
        self.frames.is_empty() && !self.nodes.is_empty()
    }

    /// The collection that is open.
    pub fn within(&self) -> Option<Collection> {
        self.frames.last().map(|frame| frame.kind)
    }

    /// The place of the key that waits for a value.
    pub fn key_location(&self) -> Option<SourceLocation> {
        match self.frames.last()?.pending {
            Pending::Key(_, location) | Pending::Merge(location) => Some(location),
            Pending::None => None,
        }
    }

    pub fn key(&mut self, key: SmolStr, location: SourceLocation) {
        if let Some(frame) = self.frames.last_mut() {
            frame.pending = Pending::Key(key, location);
        }
    }

    /// The key `<<`: the entries of the value that follows join this map.
    pub fn merge_key(&mut self, location: SourceLocation) {
        if let Some(frame) = self.frames.last_mut() {
            frame.pending = Pending::Merge(location);
        }
    }

    pub fn scalar(&mut self, value: Value, location: SourceLocation, anchor: usize) -> Result<(), Fault> {
        let first = self.locations.len();
        self.locations.push(location);
        self.define(anchor, &value, first, 0, location)?;
        let slot = self.slot();
        self.add(slot, value, first, 0)
    }

    pub fn open(&mut self, kind: Collection, location: SourceLocation, anchor: usize) -> Result<(), Fault> {
        check_depth(self.depth + self.frames.len() + 1, location)?;
        let slot = self.slot();
        let (children, first) = (self.nodes.len(), self.locations.len());
        self.locations.push(location);
        self.frames.push(Frame { kind, slot, anchor, children, first, height: 0, pending: Pending::None });
        Ok(())
    }

    pub fn close(&mut self) -> Result<(), Fault> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        let value = match frame.kind {
            Collection::List => Value::List(self.nodes.drain(frame.children..).map(|node| node.value).collect()),
            Collection::Map => {
                self.sort(&frame);
                Value::Map(Map::sorted(self.nodes.drain(frame.children..).map(|node| (node.key, node.value))))
            }
        };
        let location = self.locations.get(frame.first).copied().unwrap_or_default();
        self.define(frame.anchor, &value, frame.first, frame.height + 1, location)?;
        self.add(frame.slot, value, frame.first, frame.height + 1)
    }

    /// Another occurrence of the value that `anchor` names; `None` if it is not complete yet.
    pub fn alias(&mut self, anchor: usize, location: SourceLocation) -> Result<Option<()>, Fault> {
        let Some(Anchor { value, locations, height }) = self.anchors.get(&anchor).cloned() else { return Ok(None) };
        check_depth(self.depth + self.frames.len() + height, location)?;
        self.charge(locations.len(), location)?;
        let first = self.locations.len();
        self.locations.extend_from_slice(&locations);
        let slot = self.slot();
        self.add(slot, value, first, height)?;
        Ok(Some(()))
    }

    pub fn anchored(&self, anchor: usize) -> Option<&Value> {
        self.anchors.get(&anchor).map(|anchor| &anchor.value)
    }

    /// Remembers a value that is not in the document by itself: an anchored key.
    pub fn define_key(&mut self, anchor: usize, value: Value, location: SourceLocation) {
        if anchor != 0 {
            self.anchors.insert(anchor, Anchor { value, locations: Box::new([location]), height: 0 });
        }
    }

    /// The value that is complete, if there was one; the next one can follow.
    pub fn take(&mut self) -> Option<Built> {
        let root = self.nodes.pop()?;
        let locations = SourceMap::new(&self.locations);
        self.locations.clear();
        Some(Built { value: root.value, locations, repeated: std::mem::take(&mut self.repeated) })
    }

    fn slot(&mut self) -> Slot {
        match self.frames.last_mut().map(|frame| std::mem::replace(&mut frame.pending, Pending::None)) {
            Some(Pending::Key(key, _)) => Slot::Entry(key),
            Some(Pending::Merge(location)) => Slot::Merge(location),
            Some(Pending::None) | None => Slot::Item,
        }
    }

    fn add(&mut self, slot: Slot, value: Value, first: usize, height: usize) -> Result<(), Fault> {
        if let Some(frame) = self.frames.last_mut() {
            frame.height = frame.height.max(height);
        }
        let len = self.locations.len() - first;
        match slot {
            Slot::Item => self.nodes.push(Node { key: SmolStr::default(), value, first, len }),
            Slot::Entry(key) => self.nodes.push(Node { key, value, first, len }),
            Slot::Merge(location) => self.merge(&value, first).ok_or_else(|| {
                Fault::new(location, "`<<` needs an object or a list of objects to merge")
                    .help("quote it if it is an ordinary key: `\"<<\"`")
            })?,
        }
        Ok(())
    }

    /// Adds the entries of `value`, whose places start at `first`. kubectl lets a later entry win, also if it is
    /// merged, and of several merged objects the first.
    fn merge(&mut self, value: &Value, first: usize) -> Option<()> {
        let sources: Vec<(&Map, usize)> = match value {
            Value::Map(map) => vec![(map, first)],
            Value::List(items) => {
                let mut at = first + 1;
                let mut sources = Vec::with_capacity(items.len());
                for item in items.iter() {
                    sources.push((item.as_map()?, at));
                    at += count(item);
                }
                sources
            }
            _ => return None,
        };
        for (map, first) in sources.into_iter().rev() {
            let mut first = first + 1;
            for (key, value) in map.entries() {
                let len = count(value);
                self.merged.push(first);
                self.nodes.push(Node { key: key.clone(), value: value.clone(), first, len });
                first += len;
            }
        }
        Some(())
    }

    /// Brings the children of a map into the order of its value, each key once, and their places with them.
    fn sort(&mut self, frame: &Frame) {
        let children = self.nodes.get_mut(frame.children..).unwrap_or_default();
        let mut next = frame.first + 1;
        let packed = children.iter().all(|node| {
            let here = node.first == next;
            next += node.len;
            here
        });
        if packed && next == self.locations.len() && children.is_sorted_by(|a, b| a.key < b.key) {
            return;
        }
        children.sort_by(|a, b| a.key.cmp(&b.key));
        let mut kept = frame.children;
        for i in frame.children..self.nodes.len() {
            let last = self.nodes.get(i + 1).is_none_or(|next| next.key != self.nodes[i].key);
            if last {
                self.nodes.swap(kept, i);
                kept += 1;
            } else {
                self.repeat(frame, i);
            }
        }
        self.nodes.truncate(kept);
        let own = self.merged.iter().rposition(|first| *first < frame.first).map_or(0, |at| at + 1);
        self.merged.truncate(own);
        self.scratch.clear();
        for node in &self.nodes[frame.children..] {
            self.scratch.extend_from_slice(&self.locations[node.first..node.first + node.len]);
        }
        self.locations.truncate(frame.first + 1);
        self.locations.append(&mut self.scratch);
    }

    /// Takes note that a child of a map has the key of the next one, unless one of them is merged: that is what merging is for.
    fn repeat(&mut self, frame: &Frame, child: usize) {
        let (lost, kept) = (&self.nodes[child], &self.nodes[child + 1]);
        if self.merged.contains(&lost.first) || self.merged.contains(&kept.first) {
            return;
        }
        let (key, lost, kept) = (lost.key.clone(), self.locations[lost.first], self.locations[kept.first]);
        let map = self.path(frame);
        match self.repeated.last_mut() {
            Some(before) if before.key == key && before.map == map => before.kept = kept,
            _ => self.repeated.push(Repeated { map, key, lost, kept }),
        }
    }

    /// The way to a collection that has just been closed.
    fn path(&self, frame: &Frame) -> Path {
        let mut around: Option<&Frame> = None;
        let mut path = Path::default();
        for frame in self.frames.iter().chain([frame]) {
            path = match (&frame.slot, around) {
                (Slot::Entry(key), _) => path.key(key.clone()),
                (Slot::Merge(_), _) => path.key("<<"),
                (Slot::Item, Some(list)) => path.index(frame.children - list.children),
                (Slot::Item, None) => path,
            };
            around = Some(frame);
        }
        path
    }

    fn define(
        &mut self,
        anchor: usize,
        value: &Value,
        first: usize,
        height: usize,
        location: SourceLocation,
    ) -> Result<(), Fault> {
        if anchor == 0 {
            return Ok(());
        }
        let locations: Box<[SourceLocation]> = self.locations[first..].into();
        self.charge(locations.len(), location)?;
        self.anchors.insert(anchor, Anchor { value: value.clone(), locations, height });
        Ok(())
    }

    fn charge(&mut self, values: usize, location: SourceLocation) -> Result<(), Fault> {
        self.aliased += values;
        if self.aliased <= MAX_ALIASED {
            return Ok(());
        }
        Err(Fault::new(location, format!("the aliases of this document stand for more than {MAX_ALIASED} values"))
            .help("write the values out, or split the document"))
    }
}

fn check_depth(depth: usize, location: SourceLocation) -> Result<(), Fault> {
    if depth <= MAX_DEPTH { Ok(()) } else { Err(too_deep(location)) }
}

pub fn too_deep(location: SourceLocation) -> Fault {
    Fault::new(location, format!("values are nested more than {MAX_DEPTH} levels deep"))
}
