//! A value during the fold: each part knows the blocks that it comes from.

use std::sync::Arc;

use smol_str::SmolStr;

use super::incoming::Incoming;
use crate::kinds::{OverlapSide, Units};
use crate::value::{Map, Segment, Value};

/// The block of an attachment that a value comes from: an index into the blocks of the fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockSource(pub u32);

/// One or several sources, sorted.
#[derive(Clone, Debug)]
pub enum Sources {
    One(BlockSource),
    Several(Arc<[BlockSource]>),
}

impl Sources {
    /// Some sources, in any order; `None` if there are none.
    pub fn new(mut sources: Vec<BlockSource>) -> Option<Sources> {
        sources.sort_unstable();
        sources.dedup();
        match sources.as_slice() {
            [] => None,
            [one] => Some(Sources::One(*one)),
            _ => Some(Sources::Several(sources.into())),
        }
    }

    pub fn as_slice(&self) -> &[BlockSource] {
        match self {
            Sources::One(source) => std::slice::from_ref(source),
            Sources::Several(sources) => sources,
        }
    }

    /// The lowest source.
    pub fn first(&self) -> BlockSource {
        self.as_slice()[0]
    }
}

/// A value with its sources. It is split only where its parts come from different blocks. A `null` marks a removed
/// value, so that no higher default fills it in again.
#[derive(Clone, Debug)]
pub enum Tree {
    /// A value from one block.
    Piece(Value, BlockSource),
    /// A value combined from several blocks, sorted.
    Combined(Value, Arc<[BlockSource]>),
    /// A map, sorted by key.
    Split(Vec<(SmolStr, Tree)>),
    /// A list whose items have sources of their own.
    Items(Vec<Tree>),
}

impl Default for Tree {
    fn default() -> Self {
        Tree::Split(Vec::new())
    }
}

impl Tree {
    /// Whether this is a map without fields.
    pub fn is_empty(&self) -> bool {
        match self {
            Tree::Piece(value, _) | Tree::Combined(value, _) => value.as_map().is_some_and(Map::is_empty),
            Tree::Split(fields) => fields.is_empty(),
            Tree::Items(_) => false,
        }
    }

    /// Whether this marks a removed value.
    pub fn is_removal(&self) -> bool {
        match self {
            Tree::Piece(value, _) | Tree::Combined(value, _) => value.is_null(),
            Tree::Split(_) | Tree::Items(_) => false,
        }
    }

    /// The fields of a map, split if it was one piece; `None` for any other value.
    pub fn split(&mut self) -> Option<&mut Vec<(SmolStr, Tree)>> {
        let fields = match self {
            Tree::Piece(Value::Map(map), source) => {
                map.entries().iter().map(|(key, value)| (key.clone(), Tree::Piece(value.clone(), *source))).collect()
            }
            Tree::Combined(Value::Map(map), sources) => {
                let part = |value: &Value| Tree::Combined(value.clone(), Arc::clone(sources));
                map.entries().iter().map(|(key, value)| (key.clone(), part(value))).collect()
            }
            Tree::Split(fields) => return Some(fields),
            Tree::Piece(..) | Tree::Combined(..) | Tree::Items(_) => return None,
        };
        *self = Tree::Split(fields);
        self.split()
    }

    /// The items of a list, split if it was one piece; `None` for any other value.
    pub fn split_list(&mut self) -> Option<&mut Vec<Tree>> {
        let items = match self {
            Tree::Piece(Value::List(items), source) => {
                items.iter().map(|item| Tree::Piece(item.clone(), *source)).collect()
            }
            Tree::Combined(Value::List(items), sources) => {
                items.iter().map(|item| Tree::Combined(item.clone(), Arc::clone(sources))).collect()
            }
            Tree::Items(items) => return Some(items),
            Tree::Piece(..) | Tree::Combined(..) | Tree::Split(_) => return None,
        };
        *self = Tree::Items(items);
        self.split_list()
    }

    /// The items of a list; any other value is a list of one.
    pub fn into_items(mut self) -> Vec<Tree> {
        match self.split_list() {
            Some(items) => std::mem::take(items),
            None => vec![self],
        }
    }

    /// The value of a field that was not split.
    pub fn field(&self, key: &str) -> Option<&Value> {
        match self {
            Tree::Piece(value, _) | Tree::Combined(value, _) => value.get(key),
            Tree::Split(fields) => match fields.iter().find(|(name, _)| name == key) {
                Some((_, Tree::Piece(value, _) | Tree::Combined(value, _))) => Some(value),
                _ => None,
            },
            Tree::Items(_) => None,
        }
    }

    /// The sources of the value at a path.
    pub fn get(&self, path: &[Segment]) -> Option<Holding<'_>> {
        let mut tree = self;
        for (depth, segment) in path.iter().enumerate() {
            match (tree, segment) {
                (Tree::Split(fields), Segment::Key(key)) => {
                    let at = fields.binary_search_by(|(name, _)| name.cmp(key)).ok()?;
                    tree = &fields[at].1;
                }
                (Tree::Items(items), Segment::Index(index)) => tree = items.get(*index)?,
                (Tree::Piece(value, source), _) => {
                    return part(value, &path[depth..]).map(|_| Holding::One(*source));
                }
                (Tree::Combined(value, _), _) => return part(value, &path[depth..]).map(|_| Holding::Tree(tree)),
                (Tree::Split(_), Segment::Index(_)) | (Tree::Items(_), Segment::Key(_)) => return None,
            }
        }
        Some(match tree {
            Tree::Piece(_, source) => Holding::One(*source),
            Tree::Combined(..) | Tree::Split(_) | Tree::Items(_) => Holding::Tree(tree),
        })
    }

    /// The tree at a path of keys. Pieces on the way are split.
    pub fn get_mut(&mut self, path: &[Segment]) -> Option<&mut Tree> {
        path.iter().try_fold(self, |tree, segment| {
            let Segment::Key(key) = segment else { return None };
            let fields = tree.split()?;
            let at = fields.binary_search_by(|(name, _)| name.cmp(key)).ok()?;
            Some(&mut fields[at].1)
        })
    }

    /// The source of the first piece, in the order of keys.
    pub fn first_source(&self) -> Option<BlockSource> {
        match self {
            Tree::Piece(_, source) => Some(*source),
            Tree::Combined(_, sources) => sources.first().copied(),
            Tree::Split(fields) => fields.iter().find_map(|(_, child)| child.first_source()),
            Tree::Items(items) => items.iter().find_map(Tree::first_source),
        }
    }

    /// The sources of all pieces; `None` if there are none.
    pub fn sources(&self) -> Option<Sources> {
        if let Tree::Piece(_, source) = self {
            return Some(Sources::One(*source));
        }
        let mut sources = Vec::new();
        self.each_source(&mut |source| sources.push(source));
        Sources::new(sources)
    }

    fn each_source(&self, found: &mut impl FnMut(BlockSource)) {
        match self {
            Tree::Piece(_, source) => found(*source),
            Tree::Combined(_, sources) => sources.iter().copied().for_each(found),
            Tree::Split(fields) => fields.iter().for_each(|(_, child)| child.each_source(found)),
            Tree::Items(items) => items.iter().for_each(|item| item.each_source(found)),
        }
    }

    /// Calls `found` for every piece with its path, once for each of its sources.
    pub fn each_piece<'t>(
        &'t self,
        path: &mut Vec<Segment>,
        found: &mut impl FnMut(&mut Vec<Segment>, &'t Value, BlockSource),
    ) {
        match self {
            Tree::Piece(value, source) => found(path, value, *source),
            Tree::Combined(value, sources) => sources.iter().for_each(|source| found(path, value, *source)),
            Tree::Split(fields) => {
                for (key, child) in fields {
                    path.push(Segment::Key(key.clone()));
                    child.each_piece(path, found);
                    path.pop();
                }
            }
            Tree::Items(items) => {
                for (i, item) in items.iter().enumerate() {
                    path.push(Segment::Index(i));
                    item.each_piece(path, found);
                    path.pop();
                }
            }
        }
    }

    /// Calls `found` for every unit with its path. A list whose items have sources of their own is one unit.
    pub fn each_unit<'t>(
        &'t self,
        units: &Units,
        path: &mut Vec<Segment>,
        found: &mut impl FnMut(&[Segment], Incoming<'t>),
    ) {
        match self {
            Tree::Piece(value, source) => {
                units.each(value, path, &mut |path, unit| found(path, Incoming::Value(unit, *source)));
            }
            Tree::Split(fields) => {
                for (key, child) in fields {
                    path.push(Segment::Key(key.clone()));
                    child.each_unit(units, path, found);
                    path.pop();
                }
            }
            Tree::Combined(..) | Tree::Items(_) => found(path, Incoming::Tree(self)),
        }
    }

    /// The plain value, without removal marks.
    pub fn value(&self) -> Value {
        match self {
            Tree::Piece(value, _) | Tree::Combined(value, _) => without_nulls(value),
            Tree::Split(fields) => {
                let present = fields.iter().filter(|(_, child)| !child.is_removal());
                Value::Map(Map::from_entries(present.map(|(key, child)| (key.clone(), child.value())).collect()))
            }
            Tree::Items(items) => Value::list(items.iter().map(Tree::value).collect()),
        }
    }
}

impl OverlapSide for Tree {
    fn is_map(&self) -> bool {
        matches!(self, Tree::Split(_) | Tree::Piece(Value::Map(_), _) | Tree::Combined(Value::Map(_), _))
    }

    fn is_empty_map(&self) -> bool {
        self.is_empty()
    }

    fn is_list(&self) -> bool {
        matches!(self, Tree::Items(_) | Tree::Piece(Value::List(_), _) | Tree::Combined(Value::List(_), _))
    }

    fn has_field(&self, key: &str) -> bool {
        self.field(key).is_some()
    }

    fn value(&self) -> Value {
        Tree::value(self)
    }
}

/// The sources of the value at a path of a tree.
#[derive(Debug)]
pub enum Holding<'t> {
    /// The value is a piece, or part of one, from one source.
    One(BlockSource),
    Tree(&'t Tree),
}

impl Holding<'_> {
    /// The source of the first piece.
    pub fn first_source(&self) -> Option<BlockSource> {
        match self {
            Holding::One(source) => Some(*source),
            Holding::Tree(tree) => tree.first_source(),
        }
    }
}

/// The value at a path within a value.
fn part<'v>(value: &'v Value, path: &[Segment]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, segment| match segment {
        Segment::Key(key) => value.get(key),
        Segment::Index(index) => value.items().get(*index),
    })
}

/// A value without fields that are null. Items of lists are not changed.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Map(map) if has_nulls(value) => Value::Map(Map::from_entries(
            map.entries()
                .iter()
                .filter(|(_, child)| !child.is_null())
                .map(|(key, child)| (key.clone(), without_nulls(child)))
                .collect(),
        )),
        other => other.clone(),
    }
}

fn has_nulls(value: &Value) -> bool {
    value.entries().iter().any(|(_, child)| child.is_null() || has_nulls(child))
}
