//! An effective spec in the making: values that know which block they come from.

use smol_str::SmolStr;

use crate::value::{Map, Segment, Value};

/// Which block of which attachment a value comes from: an index into the blocks of the fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(pub u32);

/// Split only where sources meet: all of a value that comes from one block stays one piece. A `null` stays as a
/// mark that something was removed, so that nothing higher fills it again.
#[derive(Clone, Debug)]
pub enum Tree {
    Piece(Value, Source),
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
    pub fn is_empty(&self) -> bool {
        match self {
            Tree::Piece(Value::Map(map), _) => map.is_empty(),
            Tree::Piece(..) | Tree::Items(_) => false,
            Tree::Split(entries) => entries.is_empty(),
        }
    }

    /// Whether this is a map that may be merged into, field by field.
    pub fn is_map(&self) -> bool {
        matches!(self, Tree::Split(_) | Tree::Piece(Value::Map(_), _))
    }

    /// The fields of a map, split if it was one piece; `None` for any other value.
    pub fn split(&mut self) -> Option<&mut Vec<(SmolStr, Tree)>> {
        if let Tree::Piece(Value::Map(map), source) = self {
            let source = *source;
            let entries = map.entries().iter().map(|(key, value)| (key.clone(), Tree::Piece(value.clone(), source)));
            *self = Tree::Split(entries.collect());
        }
        match self {
            Tree::Split(entries) => Some(entries),
            Tree::Piece(..) | Tree::Items(_) => None,
        }
    }

    /// The items of a list, split if it was one piece; `None` for any other value.
    pub fn split_list(&mut self) -> Option<&mut Vec<Tree>> {
        if let Tree::Piece(Value::List(items), source) = self {
            *self = Tree::Items(items.iter().map(|item| Tree::Piece(item.clone(), *source)).collect());
        }
        match self {
            Tree::Items(items) => Some(items),
            Tree::Piece(..) | Tree::Split(_) => None,
        }
    }

    /// The value of a field, as far as it is one piece.
    pub fn field(&self, key: &str) -> Option<&Value> {
        match self {
            Tree::Piece(value, _) => value.get(key),
            Tree::Split(entries) => match entries.iter().find(|(name, _)| name == key) {
                Some((_, Tree::Piece(value, _))) => Some(value),
                _ => None,
            },
            Tree::Items(_) => None,
        }
    }

    pub fn get(&self, path: &[Segment]) -> Option<Holding<'_>> {
        let mut tree = self;
        for (depth, segment) in path.iter().enumerate() {
            match (tree, segment) {
                (Tree::Split(entries), Segment::Key(key)) => {
                    let at = entries.binary_search_by(|(name, _)| name.cmp(key)).ok()?;
                    tree = &entries[at].1;
                }
                (Tree::Items(items), Segment::Index(index)) => tree = items.get(*index)?,
                (Tree::Piece(value, source), _) => {
                    let value = path[depth..].iter().try_fold(value, |value, segment| match segment {
                        Segment::Key(key) => value.get(key),
                        Segment::Index(index) => value.items().get(*index),
                    });
                    return value.map(|_| Holding::Piece(*source));
                }
                _ => return None,
            }
        }
        Some(match tree {
            Tree::Piece(_, source) => Holding::Piece(*source),
            split => Holding::Split(split),
        })
    }

    /// The tree at a path of keys, split on the way.
    pub fn get_mut(&mut self, path: &[Segment]) -> Option<&mut Tree> {
        path.iter().try_fold(self, |tree, segment| {
            let Segment::Key(key) = segment else { return None };
            let fields = tree.split()?;
            let at = fields.binary_search_by(|(name, _)| name.cmp(key)).ok()?;
            Some(&mut fields[at].1)
        })
    }

    /// The source of the first piece, in the order of keys.
    pub fn first_source(&self) -> Option<Source> {
        match self {
            Tree::Piece(_, source) => Some(*source),
            Tree::Split(entries) => entries.iter().find_map(|(_, child)| child.first_source()),
            Tree::Items(items) => items.iter().find_map(Tree::first_source),
        }
    }

    /// The lowest source of all.
    pub fn lowest_source(&self) -> Option<Source> {
        match self {
            Tree::Piece(_, source) => Some(*source),
            Tree::Split(entries) => entries.iter().filter_map(|(_, child)| child.lowest_source()).min(),
            Tree::Items(items) => items.iter().filter_map(Tree::lowest_source).min(),
        }
    }

    /// Every piece, with its path.
    pub fn each_piece<'t>(
        &'t self,
        path: &mut Vec<Segment>,
        found: &mut impl FnMut(&mut Vec<Segment>, &'t Value, Source),
    ) {
        match self {
            Tree::Piece(value, source) => found(path, value, *source),
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

    /// Every piece and every list whose items have sources of their own, with its path.
    pub fn each_unit<'t>(&'t self, path: &mut Vec<Segment>, found: &mut impl FnMut(&[Segment], &'t Tree)) {
        let Tree::Split(fields) = self else { return found(path, self) };
        for (key, child) in fields {
            path.push(Segment::Key(key.clone()));
            child.each_unit(path, found);
            path.pop();
        }
    }

    /// The plain value, without what was removed.
    pub fn value(&self) -> Value {
        match self {
            Tree::Piece(value, _) => without_nulls(value),
            Tree::Split(entries) => {
                let present = entries.iter().filter(|(_, child)| !matches!(child, Tree::Piece(Value::Null, _)));
                Value::Map(Map::from_entries(present.map(|(key, child)| (key.clone(), child.value())).collect()))
            }
            Tree::Items(items) => Value::list(items.iter().map(Tree::value).collect()),
        }
    }
}

/// What a tree holds at a path.
#[derive(Debug)]
pub enum Holding<'t> {
    /// A value, or part of one, from one source.
    Piece(Source),
    Split(&'t Tree),
}

impl Holding<'_> {
    /// Who set all of it, if one did.
    pub fn only_source(&self) -> Option<Source> {
        match self {
            Holding::Piece(source) => Some(*source),
            Holding::Split(tree) => {
                let (mut first, mut is_only) = (None, true);
                tree.each_piece(&mut Vec::new(), &mut |_, _, source| is_only &= *first.get_or_insert(source) == source);
                first.filter(|_| is_only)
            }
        }
    }

    pub fn source(&self) -> Option<Source> {
        match self {
            Holding::Piece(source) => Some(*source),
            Holding::Split(tree) => tree.first_source(),
        }
    }
}

/// A field that is null is no field. Items of lists are left alone.
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
