//! The `deep` strategy: inside a field, lists are put one behind the other and single values taken from the preferred.

use super::merge::Merge;
use super::tree::{Source, Tree};
use crate::kinds::{Concatenate, Fit, Pattern, PolicyKind};
use crate::value::{Path, Segment, Value};

/// What a higher policy says at `path`, on its way into `tree`.
pub struct Deep<'k> {
    pub kind: &'k PolicyKind,
    pub prefer_higher: bool,
}

impl Deep<'_> {
    /// Whether anything at `path` or inside can be merged deeply.
    pub fn reaches(&self, path: &[Segment]) -> bool {
        self.kind.concatenated.iter().any(|(pattern, _)| pattern.fit(path.iter()) != Fit::No)
    }

    pub fn merge(
        &self,
        merge: &mut Merge<'_>,
        tree: &mut Tree,
        value: &Value,
        source: Source,
        path: &mut Vec<Segment>,
    ) {
        if let Some(decided) = self.decided(tree, value, path) {
            match decided {
                Decided::Held => merge.lose_value(value, path, source, first(tree, source), false),
                Decided::New => merge.put(tree, value, source, path),
            }
        } else if let Some(order) = self.order(path) {
            join(tree, value, source, (order == Concatenate::PreferredFirst) == self.prefer_higher);
        } else if tree.is_map() && value.as_map().is_some() && !merge.units.is_whole(path) {
            for (key, child) in value.entries() {
                path.push(Segment::Key(key.clone()));
                let Some(fields) = tree.split() else { return };
                match fields.binary_search_by(|(name, _)| name.cmp(key)) {
                    Ok(at) => self.merge(merge, &mut fields[at].1, child, source, path),
                    Err(at) => fields.insert(at, (key.clone(), Tree::Piece(child.clone(), source))),
                }
                path.pop();
            }
        } else if self.prefer_higher {
            merge.put(tree, value, source, path);
        } else {
            merge.lose_value(value, path, source, first(tree, source), false);
        }
    }

    /// Who wins by a field that decides alone, if one of the two has it.
    fn decided(&self, tree: &Tree, value: &Value, path: &[Segment]) -> Option<Decided> {
        let fields = self.kind.decisive.iter().filter_map(|pattern| inside(pattern, path));
        let (mut held, mut new) = (false, false);
        for field in fields {
            held |= tree.field(&field).is_some();
            new |= value.get(&field).is_some();
        }
        match (held, new) {
            (false, false) => None,
            (true, true) if self.prefer_higher => Some(Decided::New),
            (true, _) => Some(Decided::Held),
            (false, true) => Some(Decided::New),
        }
    }

    fn order(&self, path: &[Segment]) -> Option<Concatenate> {
        let found = self.kind.concatenated.iter().find(|(pattern, _)| pattern.fit(path.iter()) == Fit::Exact);
        found.map(|(_, order)| *order)
    }
}

enum Decided {
    Held,
    New,
}

/// The last key of a pattern that names a field of what is at `path`.
fn inside(pattern: &Pattern, path: &[Segment]) -> Option<String> {
    let text = pattern.to_string();
    let (parent, field) = text.rsplit_once('.')?;
    Pattern::parse(parent).matches(&Path::new(path.to_vec())).then(|| field.to_string())
}

fn first(tree: &Tree, otherwise: Source) -> Source {
    tree.first_source().unwrap_or(otherwise)
}

/// Puts the items of two lists behind each other. What is no list is a list of one.
fn join(tree: &mut Tree, value: &Value, source: Source, new_first: bool) {
    let held = match std::mem::take(tree) {
        Tree::Items(items) => items,
        Tree::Piece(Value::List(items), source) => items.iter().map(|item| Tree::Piece(item.clone(), source)).collect(),
        one => vec![one],
    };
    let new: Vec<Tree> = match value {
        Value::List(items) => items.iter().map(|item| Tree::Piece(item.clone(), source)).collect(),
        one => vec![Tree::Piece(one.clone(), source)],
    };
    let (before, after) = if new_first { (new, held) } else { (held, new) };
    *tree = Tree::Items(before.into_iter().chain(after).collect());
}
