//! Merges blocks into a tree as their strategies decide, and notes what is lost.

use smol_str::SmolStr;

use super::incoming::Incoming;
use super::tree::{Source, Tree};
use crate::kinds::{Decision, MergeStrategy, Overlap, OverlapSide, PolicyKind, Units};
use crate::value::{Segment, Value};

/// A value of a block at a path that is not, or no longer, part of the result.
#[derive(Clone, Debug)]
pub struct Lost {
    pub path: Vec<Segment>,
    pub loser: Source,
    pub winner: Source,
    /// The winner removed it instead of setting it.
    pub removed: bool,
}

/// Who decides where two values meet.
#[derive(Clone, Copy, Debug)]
pub struct Arbiter<'s> {
    pub strategy: &'s dyn MergeStrategy,
    /// Whether what comes later has precedence.
    pub prefers_incoming: bool,
}

#[derive(Debug)]
pub struct Merge<'k> {
    pub kind: &'k PolicyKind,
    pub units: &'k Units,
    pub lost: Vec<Lost>,
}

impl Merge<'_> {
    /// Merges a block.
    pub fn block(&mut self, arbiter: Arbiter<'_>, tree: &mut Tree, spec: &Value, source: Source) {
        if tree.is_empty() && !spec.entries().is_empty() {
            *tree = Tree::Piece(spec.clone(), source);
        } else {
            self.overlap(arbiter, tree, Incoming::Value(spec, source), &mut Vec::new());
        }
    }

    /// Merges a value at a path of keys. A value above the path that is no map is in the way, and is decided on.
    pub fn at(&mut self, arbiter: Arbiter<'_>, tree: &mut Tree, path: &[Segment], incoming: Incoming<'_>) {
        self.at_depth(arbiter, tree, path, 0, incoming);
    }

    /// The first `depth` steps of `path` lead to `tree`.
    fn at_depth(
        &mut self,
        arbiter: Arbiter<'_>,
        tree: &mut Tree,
        path: &[Segment],
        depth: usize,
        incoming: Incoming<'_>,
    ) {
        let Some(Segment::Key(key)) = path.get(depth) else {
            return self.overlap(arbiter, tree, incoming, &mut path.to_vec());
        };
        match tree.split() {
            Some(fields) => match fields.binary_search_by(|(name, _)| name.cmp(key)) {
                Ok(at) => self.at_depth(arbiter, &mut fields[at].1, path, depth + 1, incoming),
                Err(at) => fields.insert(at, (key.clone(), nested(&path[depth + 1..], incoming.to_tree()))),
            },
            None => {
                let incoming = nested(&path[depth..], incoming.to_tree());
                self.overlap(arbiter, tree, Incoming::Tree(&incoming), &mut path[..depth].to_vec());
            }
        }
    }

    /// Carries out what the strategy decides where two values meet.
    fn overlap(&mut self, arbiter: Arbiter<'_>, held: &mut Tree, incoming: Incoming<'_>, path: &mut Vec<Segment>) {
        let overlap = Overlap {
            kind: self.kind,
            units: self.units,
            path,
            held,
            incoming: &incoming,
            prefers_incoming: arbiter.prefers_incoming,
        };
        let preferred = overlap.preferred();
        let decision = match arbiter.strategy.decide(&overlap) {
            Decision::Fields if !overlap.both_maps() => preferred,
            Decision::MatchItems(_) if !overlap.both_lists() => preferred,
            // An effective policy is a map.
            Decision::Combine(value) if overlap.path().is_empty() && value.as_map().is_none() => preferred,
            decision => decision,
        };
        match decision {
            Decision::Keep => self.keep(held, incoming, path),
            Decision::Take => self.take(held, incoming, path),
            Decision::Combine(value) => combine(held, incoming, value),
            Decision::Fields => self.fields(arbiter, held, incoming, path),
            Decision::MatchItems(key) => self.items(arbiter, held, incoming, &key, path),
            Decision::Concatenate { incoming_first } => concatenate(held, incoming, incoming_first),
        }
    }

    /// What is incoming is lost, each unit to who holds its path.
    fn keep(&mut self, held: &mut Tree, incoming: Incoming<'_>, path: &mut Vec<Segment>) {
        let Some(lowest) = held.lowest_source() else {
            *held = incoming.to_tree();
            return;
        };
        let (removed, depth) = (held.is_removal(), path.len());
        let (units, lost) = (self.units, &mut self.lost);
        incoming.each_piece(path, &mut |path, value, loser| {
            each_loss(units, value, path, &mut |path| {
                let holder = held.get(&path[depth..]).and_then(|holding| holding.first_source());
                lost.push(Lost { path: path.to_vec(), loser, winner: holder.unwrap_or(lowest), removed });
            });
        });
    }

    /// What is held is lost.
    fn take(&mut self, held: &mut Tree, incoming: Incoming<'_>, path: &mut Vec<Segment>) {
        if let Some(winner) = incoming.first_source() {
            self.lose_tree(held, path, winner, incoming.is_removal());
        }
        *held = incoming.to_tree();
    }

    fn fields(&mut self, arbiter: Arbiter<'_>, held: &mut Tree, incoming: Incoming<'_>, path: &mut Vec<Segment>) {
        if incoming.is_empty_map() {
            return;
        }
        let Some(fields) = held.split() else { return };
        incoming.each_field(|key, child| match fields.binary_search_by(|(name, _)| name.cmp(key)) {
            Err(at) => fields.insert(at, (key.clone(), child.to_tree())),
            Ok(at) => {
                path.push(Segment::Key(key.clone()));
                self.overlap(arbiter, &mut fields[at].1, child, path);
                path.pop();
            }
        });
    }

    fn items(
        &mut self,
        arbiter: Arbiter<'_>,
        held: &mut Tree,
        incoming: Incoming<'_>,
        key: &SmolStr,
        path: &mut Vec<Segment>,
    ) {
        let Some(items) = held.split_list() else { return };
        for item in incoming.to_tree().into_items() {
            let same = |other: &Tree| item.field(key).is_some() && other.field(key) == item.field(key);
            match items.iter().position(same) {
                Some(at) => {
                    path.push(Segment::Index(at));
                    self.overlap(arbiter, &mut items[at], Incoming::Tree(&item), path);
                    path.pop();
                }
                None => items.push(item),
            }
        }
    }

    /// All of a block is lost, each unit to who holds its path, or else to `winner`. A block without units is lost, too.
    pub fn lose_block(&mut self, tree: &Tree, spec: &Value, loser: Source, winner: Source) {
        if spec.entries().is_empty() {
            self.lost.push(Lost { path: Vec::new(), loser, winner, removed: false });
            return;
        }
        let lost = &mut self.lost;
        self.units.each(spec, &mut Vec::new(), &mut |path, _| {
            let holder = tree.get(path).and_then(|holding| holding.first_source());
            lost.push(Lost { path: path.to_vec(), loser, winner: holder.unwrap_or(winner), removed: false });
        });
    }

    /// Every unit of a tree is lost.
    pub fn lose_tree(&mut self, tree: &Tree, path: &mut Vec<Segment>, winner: Source, removed: bool) {
        tree.each_piece(path, &mut |path, value, loser| self.lose_value(value, path, loser, winner, removed));
    }

    /// Every unit of a value is lost.
    pub fn lose_value(&mut self, value: &Value, path: &mut Vec<Segment>, loser: Source, winner: Source, removed: bool) {
        let lost = &mut self.lost;
        each_loss(self.units, value, path, &mut |path| {
            lost.push(Lost { path: path.to_vec(), loser, winner, removed });
        });
    }
}

/// Calls `lose` for each unit of a value. An empty value at the root has none.
fn each_loss(units: &Units, value: &Value, path: &mut Vec<Segment>, lose: &mut impl FnMut(&[Segment])) {
    units.each(value, path, &mut |path, unit| {
        if !(path.is_empty() && unit.entries().is_empty()) {
            lose(path);
        }
    });
}

fn combine(held: &mut Tree, incoming: Incoming<'_>, value: Value) {
    let mut sources = Vec::new();
    held.each_piece(&mut Vec::new(), &mut |_, _, source| sources.push(source));
    incoming.each_piece(&mut Vec::new(), &mut |_, _, source| sources.push(source));
    sources.sort_unstable();
    sources.dedup();
    *held = Tree::Combined(value, sources.into());
}

fn concatenate(held: &mut Tree, incoming: Incoming<'_>, incoming_first: bool) {
    let (held_items, incoming_items) = (std::mem::take(held).into_items(), incoming.to_tree().into_items());
    let (before, after) = if incoming_first { (incoming_items, held_items) } else { (held_items, incoming_items) };
    *held = Tree::Items(before.into_iter().chain(after).collect());
}

/// A tree that has nothing but `unit`, at `path`.
fn nested(path: &[Segment], unit: Tree) -> Tree {
    match path {
        [Segment::Key(key), rest @ ..] => Tree::Split(vec![(key.clone(), nested(rest, unit))]),
        _ => unit,
    }
}
