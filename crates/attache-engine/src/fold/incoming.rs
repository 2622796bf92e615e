//! Values that are merged into a tree.

use std::sync::Arc;

use smol_str::SmolStr;

use super::tree::{BlockSource, Sources, Tree};
use crate::kinds::OverlapSide;
use crate::value::{Map, Segment, Value};

/// A value that is merged into a tree.
#[derive(Clone, Copy, Debug)]
pub enum Incoming<'v> {
    /// From one block.
    Value(&'v Value, BlockSource),
    /// From the policies at one level, which are already merged.
    Tree(&'v Tree),
}

impl<'v> Incoming<'v> {
    pub fn to_tree(self) -> Tree {
        match self {
            Incoming::Value(value, source) => Tree::Piece(value.clone(), source),
            Incoming::Tree(tree) => tree.clone(),
        }
    }

    /// Whether this removes the value that it is merged into.
    pub fn is_removal(self) -> bool {
        match self {
            Incoming::Value(value, _) => value.is_null(),
            Incoming::Tree(tree) => tree.is_removal(),
        }
    }

    /// The sources of all pieces.
    pub fn sources(self) -> Option<Sources> {
        match self {
            Incoming::Value(_, source) => Some(Sources::One(source)),
            Incoming::Tree(tree) => tree.sources(),
        }
    }

    /// Calls `found` for every piece with its path, once for each of its sources.
    pub fn each_piece(
        self,
        path: &mut Vec<Segment>,
        found: &mut impl FnMut(&mut Vec<Segment>, &'v Value, BlockSource),
    ) {
        match self {
            Incoming::Value(value, source) => found(path, value, source),
            Incoming::Tree(tree) => tree.each_piece(path, found),
        }
    }

    /// Calls `found` for every field of a map.
    pub fn each_field(self, mut found: impl FnMut(&SmolStr, Incoming<'_>)) {
        match self {
            Incoming::Value(value, source) => {
                value.entries().iter().for_each(|(key, child)| found(key, Incoming::Value(child, source)));
            }
            Incoming::Tree(Tree::Piece(value, source)) => Incoming::Value(value, *source).each_field(found),
            Incoming::Tree(Tree::Split(fields)) => {
                fields.iter().for_each(|(key, child)| found(key, Incoming::Tree(child)));
            }
            Incoming::Tree(Tree::Combined(value, sources)) => {
                for (key, child) in value.entries() {
                    found(key, Incoming::Tree(&Tree::Combined(child.clone(), Arc::clone(sources))));
                }
            }
            Incoming::Tree(Tree::Items(_)) => {}
        }
    }
}

impl OverlapSide for Incoming<'_> {
    fn is_map(&self) -> bool {
        match self {
            Incoming::Value(value, _) => value.as_map().is_some(),
            Incoming::Tree(tree) => tree.is_map(),
        }
    }

    fn is_empty_map(&self) -> bool {
        match self {
            Incoming::Value(value, _) => value.as_map().is_some_and(Map::is_empty),
            Incoming::Tree(tree) => tree.is_empty(),
        }
    }

    fn is_list(&self) -> bool {
        match self {
            Incoming::Value(value, _) => matches!(value, Value::List(_)),
            Incoming::Tree(tree) => tree.is_list(),
        }
    }

    fn has_field(&self, key: &str) -> bool {
        match self {
            Incoming::Value(value, _) => value.get(key).is_some(),
            Incoming::Tree(tree) => tree.has_field(key),
        }
    }

    fn value(&self) -> Value {
        match self {
            Incoming::Value(value, _) => (*value).clone(),
            Incoming::Tree(tree) => tree.value(),
        }
    }
}
