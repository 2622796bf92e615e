//! How one block meets what lower policies have said: filling what is missing, or replacing what is there.

use smol_str::SmolStr;

use super::tree::{Source, Tree};
use super::units::Units;
use crate::kinds::{Concatenate, Pattern, PatternFit};
use crate::value::{Segment, Value};

/// Somebody's value at a path that is not, or no longer, part of the result.
#[derive(Clone, Debug)]
pub struct Lost {
    pub path: Vec<Segment>,
    pub loser: Source,
    pub winner: Source,
    /// The winner took it away instead of setting it.
    pub removed: bool,
}

/// Whose value counts where two meet: the one that is held, for defaults, or the new one, for overrides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wins {
    Held,
    New,
}

#[derive(Debug)]
pub struct Merge<'u> {
    pub units: &'u Units,
    /// Lists whose items are matched by a field, and which.
    pub keys: &'u [(Pattern, SmolStr)],
    /// Lists that defaults are put behind or before, scalar by scalar.
    pub joined: &'u [(Pattern, Concatenate)],
    pub lost: Vec<Lost>,
}

impl Merge<'_> {
    /// As a default, whole: it counts only where nothing has been said.
    pub fn fill_whole(&mut self, tree: &mut Tree, value: &Value, source: Source) {
        if tree.is_empty() {
            *tree = Tree::Piece(value.clone(), source);
            return;
        }
        if let Some(lowest) = tree.lowest_source() {
            self.lose_whole(tree, value, source, lowest);
        }
    }

    /// Nothing of a value counts: each unit is lost to who has it, or else to `winner`.
    pub fn lose_whole(&mut self, tree: &Tree, value: &Value, source: Source, winner: Source) {
        if value.entries().is_empty() {
            self.lose(&[], source, winner, false);
        }
        self.each_unit(value, |merge, path, _| {
            let winner = tree.get(path).and_then(|held| held.source()).unwrap_or(winner);
            merge.lose(path, source, winner, false);
        });
    }

    /// As an override, whole: nothing of what was said remains.
    pub fn replace_whole(&mut self, tree: &mut Tree, value: &Value, source: Source) {
        self.lose_tree(tree, &mut Vec::new(), source, false);
        *tree = Tree::Piece(value.clone(), source);
    }

    /// As a default, unit by unit.
    pub fn fill_units(&mut self, tree: &mut Tree, value: &Value, source: Source) {
        self.each_unit(value, |merge, path, unit| merge.fill_at(tree, path, Tree::Piece(unit.clone(), source)));
    }

    /// As an override, unit by unit.
    pub fn replace_units(&mut self, tree: &mut Tree, value: &Value, source: Source) {
        self.each_unit(value, |merge, path, unit| merge.replace_at(tree, path, Tree::Piece(unit.clone(), source)));
    }

    /// Puts `unit` at `path`, unless something is there or in the way.
    pub fn fill_at(&mut self, tree: &mut Tree, path: &[Segment], unit: Tree) {
        self.unit(Wins::Held, tree, path, 0, unit);
    }

    /// Puts `unit` at `path`, whatever was there or in the way.
    pub fn replace_at(&mut self, tree: &mut Tree, path: &[Segment], unit: Tree) {
        self.unit(Wins::New, tree, path, 0, unit);
    }

    /// As a default, scalar by scalar: RFC 7386 with `value` as the target and `tree` as the patch.
    pub fn fill_patch(&mut self, tree: &mut Tree, value: &Value, source: Source) {
        self.fields(Wins::Held, tree, value, source, &mut Vec::new());
    }

    /// As an override, scalar by scalar: RFC 7386 with `tree` as the target and `value` as the patch.
    pub fn replace_patch(&mut self, tree: &mut Tree, value: &Value, source: Source) {
        self.fields(Wins::New, tree, value, source, &mut Vec::new());
    }

    fn fields(&mut self, wins: Wins, tree: &mut Tree, value: &Value, source: Source, path: &mut Vec<Segment>) {
        if value.entries().is_empty() {
            return;
        }
        if self.units.is_whole(path) {
            return self.contest(wins, tree, value, source, path);
        }
        let Some(fields) = tree.split() else { return };
        for (key, child) in value.entries() {
            path.push(Segment::Key(key.clone()));
            match fields.binary_search_by(|(name, _)| name.cmp(key)) {
                Err(at) => fields.insert(at, (key.clone(), Tree::Piece(child.clone(), source))),
                Ok(at) => self.field(wins, &mut fields[at].1, child, source, path),
            }
            path.pop();
        }
    }

    /// A field that both have.
    fn field(&mut self, wins: Wins, held: &mut Tree, value: &Value, source: Source, path: &mut Vec<Segment>) {
        let joined =
            self.joined.iter().find(|(list, _)| wins == Wins::Held && list.fit(path.iter()) == PatternFit::Exact);
        if held.is_map() && value.as_map().is_some() && !self.units.is_whole(path) {
            self.fields(wins, held, value, source, path);
        } else if let Some((items, key)) = self.keyed(held, value, path) {
            self.each_item(items, value, key, source, path, |merge, held, item, path| {
                merge.fields(wins, held, item, source, path);
            });
        } else if let Some((_, order)) = joined {
            join(held, Tree::Piece(value.clone(), source), *order == Concatenate::PreferredLast);
        } else {
            self.contest(wins, held, value, source, path);
        }
    }

    /// Two values of which only one can be.
    fn contest(&mut self, wins: Wins, held: &mut Tree, value: &Value, source: Source, path: &mut Vec<Segment>) {
        match held.first_source().filter(|_| wins == Wins::Held) {
            Some(winner) => {
                let removed = matches!(held, Tree::Piece(Value::Null, _));
                self.lose_value(value, path, source, winner, removed);
            }
            None => self.put(held, value, source, path),
        }
    }

    /// The items that are held and the field they are matched by, where two lists meet that have one.
    fn keyed<'t>(&self, held: &'t mut Tree, value: &Value, path: &[Segment]) -> Option<(&'t mut Vec<Tree>, SmolStr)> {
        let (_, key) = self.keys.iter().find(|(pattern, _)| pattern.fit(path.iter()) == PatternFit::Exact)?;
        matches!(value, Value::List(_)).then(|| held.split_list())?.map(|items| (items, key.clone()))
    }

    /// Lets each item of a list meet the held one that has the same key; others are added.
    fn each_item(
        &mut self,
        held: &mut Vec<Tree>,
        value: &Value,
        key: SmolStr,
        source: Source,
        path: &mut Vec<Segment>,
        meet: impl Fn(&mut Self, &mut Tree, &Value, &mut Vec<Segment>),
    ) {
        for item in value.items() {
            let same = |tree: &Tree| item.get(&key).is_some() && tree.field(&key) == item.get(&key);
            match held.iter().position(same) {
                Some(at) => {
                    path.push(Segment::Index(at));
                    meet(self, &mut held[at], item, path);
                    path.pop();
                }
                None => held.push(Tree::Piece(item.clone(), source)),
            }
        }
    }

    /// The first `depth` steps of `path` lead to `tree`.
    fn unit(&mut self, wins: Wins, tree: &mut Tree, path: &[Segment], depth: usize, unit: Tree) {
        if depth < path.len()
            && let Some(fields) = tree.split()
            && let Segment::Key(key) = &path[depth]
        {
            match fields.binary_search_by(|(name, _)| name.cmp(key)) {
                Ok(at) => self.unit(wins, &mut fields[at].1, path, depth + 1, unit),
                Err(at) => fields.insert(at, (key.clone(), nested(&path[depth + 1..], unit))),
            }
        } else if wins == Wins::New {
            if let Some(winner) = unit.first_source() {
                let removed = matches!(unit, Tree::Piece(Value::Null, _));
                self.lose_tree(tree, &mut path[..depth].to_vec(), winner, removed);
            }
            *tree = nested(&path[depth..], unit);
        } else if let Tree::Piece(value, source) = &unit
            && let Some((items, key)) = self.keyed(tree, value, path)
        {
            self.each_item(items, value, key, *source, &mut path.to_vec(), |merge, held, item, path| {
                merge.contest(Wins::Held, held, item, *source, path);
            });
        } else if let Some(winner) = tree.first_source() {
            let removed = matches!(tree, Tree::Piece(Value::Null, _));
            self.lose_tree(&unit, &mut path.to_vec(), winner, removed);
        } else {
            *tree = unit;
        }
    }

    fn each_unit(&mut self, value: &Value, mut found: impl FnMut(&mut Self, &[Segment], &Value)) {
        let units = self.units;
        let mut list = Vec::new();
        if !value.entries().is_empty() {
            units.each(value, &mut Vec::new(), &mut |path, unit| list.push((path.to_vec(), unit)));
        }
        for (path, unit) in list {
            found(self, &path, unit);
        }
    }

    pub fn lose_tree(&mut self, tree: &Tree, path: &mut Vec<Segment>, winner: Source, removed: bool) {
        match tree {
            Tree::Piece(value, loser) => self.lose_value(value, path, *loser, winner, removed),
            Tree::Split(fields) => {
                for (key, child) in fields {
                    path.push(Segment::Key(key.clone()));
                    self.lose_tree(child, path, winner, removed);
                    path.pop();
                }
            }
            Tree::Items(items) => {
                for (i, item) in items.iter().enumerate() {
                    path.push(Segment::Index(i));
                    self.lose_tree(item, path, winner, removed);
                    path.pop();
                }
            }
        }
    }

    /// Replaces what is at `path`.
    pub fn put(&mut self, tree: &mut Tree, value: &Value, source: Source, path: &mut Vec<Segment>) {
        self.lose_tree(tree, path, source, value.is_null());
        *tree = Tree::Piece(value.clone(), source);
    }

    /// Every unit of a value that `loser` set, as far as it set something.
    pub fn lose_value(&mut self, value: &Value, path: &mut Vec<Segment>, loser: Source, winner: Source, removed: bool) {
        let lost = &mut self.lost;
        self.units.each(value, path, &mut |path, unit| {
            if !(path.is_empty() && unit.entries().is_empty()) {
                lost.push(Lost { path: path.to_vec(), loser, winner, removed });
            }
        });
    }

    fn lose(&mut self, path: &[Segment], loser: Source, winner: Source, removed: bool) {
        self.lost.push(Lost { path: path.to_vec(), loser, winner, removed });
    }
}

/// A tree with nothing but `unit` at `path`.
fn nested(path: &[Segment], unit: Tree) -> Tree {
    match path {
        [Segment::Key(key), rest @ ..] => Tree::Split(vec![(key.clone(), nested(rest, unit))]),
        _ => unit,
    }
}

/// Puts the items of two lists behind each other. What is no list is a list of one.
pub fn join(held: &mut Tree, new: Tree, new_first: bool) {
    let (held_items, new_items) = (into_items(std::mem::take(held)), into_items(new));
    let (before, after) = if new_first { (new_items, held_items) } else { (held_items, new_items) };
    *held = Tree::Items(before.into_iter().chain(after).collect());
}

fn into_items(mut tree: Tree) -> Vec<Tree> {
    match tree.split_list() {
        Some(items) => std::mem::take(items),
        None => vec![tree],
    }
}
