//! Merges blocks into a tree as their strategies decide, and records losses.

use smol_str::SmolStr;

use super::incoming::Incoming;
use super::tree::{BlockSource, Sources, Tree};
use crate::kinds::{Decision, MergeStrategy, Overlap, OverlapSide, PatternFit, PolicyKind, Units};
use crate::value::{Segment, Value};

/// A value of a block that is not, or no longer, part of the result.
#[derive(Clone, Debug)]
pub struct Lost {
    pub path: Vec<Segment>,
    pub loser: BlockSource,
    /// The blocks that caused the loss, at the step where it happened. The value loses as long as one of them exists.
    pub winners: Sources,
    /// The winner that sets the same value, or else the lowest.
    pub winner: BlockSource,
    /// The winner removed it instead of setting it.
    pub removed: bool,
}

/// Decides between two values.
#[derive(Clone, Copy, Debug)]
pub struct Arbiter<'s> {
    pub strategy: &'s dyn MergeStrategy,
    /// Whether the incoming value has precedence.
    pub prefers_incoming: bool,
}

#[derive(Debug)]
pub struct Merge<'k> {
    pub kind: &'k PolicyKind,
    pub units: &'k Units,
    pub lost: Vec<Lost>,
}

impl<'k> Merge<'k> {
    /// Merges a block.
    pub fn block(&mut self, arbiter: Arbiter<'_>, tree: &mut Tree, spec: &Value, source: BlockSource) {
        if tree.is_empty() && !spec.entries().is_empty() {
            *tree = Tree::Piece(spec.clone(), source);
        } else {
            self.overlap(arbiter, tree, Incoming::Value(spec, source), &mut Vec::new());
        }
    }

    /// Merges a value at a path of keys. If a value above the path is not a map, the two conflict and the arbiter
    /// decides.
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

    /// Applies the decision of the strategy about two values.
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

    /// Keeps the held value: the incoming one is lost to all of it.
    fn keep(&mut self, held: &mut Tree, incoming: Incoming<'_>, path: &mut Vec<Segment>) {
        let Some(winners) = held.sources() else {
            *held = incoming.to_tree();
            return;
        };
        let (removed, depth) = (held.is_removal(), path.len());
        let (units, lost) = (self.units, &mut self.lost);
        incoming.each_piece(path, &mut |path, value, loser| {
            each_loss(units, value, path, &mut |path| {
                let holder = held.get(&path[depth..]).and_then(|holding| holding.first_source());
                let winner = holder.unwrap_or(winners.first());
                lost.push(Lost { path: path.to_vec(), loser, winners: winners.clone(), winner, removed });
            });
        });
    }

    /// Takes the incoming value: the held one is lost to all of it.
    fn take(&mut self, held: &mut Tree, incoming: Incoming<'_>, path: &mut Vec<Segment>) {
        if let Some(winners) = incoming.sources() {
            self.lose_tree(held, path, &winners, incoming.is_removal());
        }
        *held = incoming.to_tree();
    }

    fn fields(&mut self, arbiter: Arbiter<'_>, held: &mut Tree, incoming: Incoming<'_>, path: &mut Vec<Segment>) {
        if incoming.is_empty_map() {
            return;
        }
        let Some(fields) = held.split() else { return };
        let item_key = self.item_key(path);
        incoming.each_field(|key, child| match fields.binary_search_by(|(name, _)| name.cmp(key)) {
            // Items with the same key are merged: neither of them loses it.
            Ok(_) if item_key == Some(key) => {}
            Err(at) => fields.insert(at, (key.clone(), child.to_tree())),
            Ok(at) => {
                path.push(Segment::Key(key.clone()));
                self.overlap(arbiter, &mut fields[at].1, child, path);
                path.pop();
            }
        });
    }

    /// The field by which the kind matches the item at a path with others.
    fn item_key(&self, path: &[Segment]) -> Option<&'k SmolStr> {
        let [list @ .., Segment::Index(_)] = path else { return None };
        let found = self.kind.merging.keys.iter().find(|(pattern, _)| pattern.fit(list.iter()) == PatternFit::Exact);
        found.map(|(_, key)| key)
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

    /// All of a block is lost. A block without units is lost, too.
    pub fn lose_block(&mut self, spec: &Value, loser: BlockSource, winners: &Sources) {
        if spec.entries().is_empty() {
            self.lost.push(Lost::new(&[], loser, winners, false));
            return;
        }
        self.units.each(spec, &mut Vec::new(), &mut |path, _| {
            self.lost.push(Lost::new(path, loser, winners, false));
        });
    }

    /// Every unit of a tree is lost.
    pub fn lose_tree(&mut self, tree: &Tree, path: &mut Vec<Segment>, winners: &Sources, removed: bool) {
        tree.each_piece(path, &mut |path, value, loser| self.lose_value(value, path, loser, winners, removed));
    }

    /// Every unit of a value is lost.
    pub fn lose_value(
        &mut self,
        value: &Value,
        path: &mut Vec<Segment>,
        loser: BlockSource,
        winners: &Sources,
        removed: bool,
    ) {
        each_loss(self.units, value, path, &mut |path| self.lost.push(Lost::new(path, loser, winners, removed)));
    }
}

impl Lost {
    fn new(path: &[Segment], loser: BlockSource, winners: &Sources, removed: bool) -> Lost {
        Lost { path: path.to_vec(), loser, winners: winners.clone(), winner: winners.first(), removed }
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
    let both = [held.sources(), incoming.sources()];
    let mut sources: Vec<BlockSource> = both.iter().flatten().flat_map(|it| it.as_slice()).copied().collect();
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
