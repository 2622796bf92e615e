//! The fold of a chain: what its policies say together, who said each part, and what lost to whom.

mod deep;
mod inherit;
mod merge;
mod result;
mod trace;
mod tree;
mod units;

use smol_str::SmolStr;

use crate::attachment::Attachment;
use crate::chain::MergeContext;
use crate::kinds::{DictatedBy, MergePreference, Pattern, PolicyKind, SameLevel, Strategy};
use crate::policy::{Block, BlockKind, Policies, Policy};
use crate::topology::{Level, Owner};
use crate::value::{Map, Path, Segment, Value};

use merge::Merge;
use tree::{Source, Tree};

pub use result::{Applied, EffectivePolicy, FoldOutcome, Loss, Superseded, ValueOrigin, Warning};
pub use trace::{BlockTrace, FoldTrace, trace};
pub use units::Units;

/// The policies on one node of a chain.
#[derive(Debug)]
pub struct Layer<'a> {
    pub level: Level,
    /// Layers of one owner can count as one level.
    pub owner: Owner,
    /// The first is the oldest, or whoever else comes first.
    pub stack: Vec<&'a Attachment>,
    /// Those that were not accepted because of one in the stack.
    pub rejected: Vec<(&'a Attachment, &'a Attachment)>,
    /// Policies of other kinds, with the fields in which these here yield to them.
    pub yields: &'a [(Attachment, Vec<Pattern>)],
    /// What the route above which it stands says about inheriting.
    pub inherit: Option<Inheritance>,
}

/// How what is above meets what is below, and in which fields it is the other way round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inheritance {
    pub inherit: MergePreference,
    pub except: Vec<SmolStr>,
}

/// One block on its way into the result.
#[derive(Clone, Copy, Debug)]
struct FoldStep<'a> {
    attachment: &'a Attachment,
    block: BlockKind,
    /// The lowest layer is 0.
    layer: usize,
    /// It is no part of the chain, but has taken something from one that is.
    foreign: bool,
}

/// Folds the layers of a chain, lowest first, on the terms that hold for it and over what the object itself says, if it says anything.
pub fn fold(
    kind: &PolicyKind,
    units: &Units,
    policies: &Policies,
    layers: &[Layer<'_>],
    terms: MergeContext,
    own: Option<&Value>,
) -> EffectivePolicy {
    Fold::new(kind, units, policies, terms, own).run(layers)
}

struct Fold<'a> {
    kind: &'a PolicyKind,
    policies: &'a Policies,
    terms: MergeContext,
    merge: Merge<'a>,
    tree: Tree,
    steps: Vec<FoldStep<'a>>,
    /// What lower policies do not want from above, and who.
    removed: Vec<(&'a str, Source)>,
    /// Blocks whose condition did not hold.
    inactive: Vec<(Source, &'a Value)>,
    conflicted: Vec<(Source, Source, &'a Value)>,
    /// A policy counts alone, though it may say nothing.
    taken: Option<Source>,
    warnings: Vec<Warning>,
    /// How many more blocks may have their turn.
    turns: usize,
    /// The last that had it.
    last: Option<FoldStep<'a>>,
}

impl<'a> Fold<'a> {
    fn new(
        kind: &'a PolicyKind,
        units: &'a Units,
        policies: &'a Policies,
        terms: MergeContext,
        own: Option<&Value>,
    ) -> Self {
        Fold {
            kind,
            policies,
            terms,
            merge: Merge { units, keys: &kind.keys, joined: &[], lost: Vec::new() },
            tree: own.map_or_else(Tree::default, |own| Tree::Piece(own.clone(), result::OWN)),
            steps: Vec::new(),
            removed: Vec::new(),
            inactive: Vec::new(),
            conflicted: Vec::new(),
            taken: None,
            warnings: Vec::new(),
            turns: usize::MAX,
            last: None,
        }
    }

    fn run(&mut self, layers: &[Layer<'a>]) -> EffectivePolicy {
        if self.kind.accumulates() {
            return self.accumulate(layers);
        }
        match &self.kind.dictated_by {
            DictatedBy::Annotation(_) => self.inherited(layers),
            _ if !self.kind.deep_at_one_level.is_empty() => self.inherited(layers),
            _ if self.kind.winner_takes_all() => self.nearest(layers),
            _ if self.kind.default_strategy() == Strategy::Deep => self.inherited(layers),
            _ => self.each_layer(layers),
        }
        self.give_way(layers);
        self.give_way_to_rule();
        self.finish(layers)
    }

    fn each_layer(&mut self, layers: &[Layer<'a>]) {
        for (i, layer) in layers.iter().enumerate() {
            let (stack, beaten) = self.contenders(layer);
            match self.kind.same_level {
                SameLevel::OldestIsHigher => {
                    for &attachment in stack.iter().rev() {
                        self.blocks(i, attachment, |_| true);
                    }
                }
                // The older wins as a default if it comes first, as an override if it comes last.
                SameLevel::OldestWins | SameLevel::OldestAlone | SameLevel::RejectNewer => {
                    for &attachment in stack {
                        self.blocks(i, attachment, |block| block != BlockKind::Overrides);
                    }
                    for &attachment in stack.iter().rev() {
                        self.blocks(i, attachment, |block| block == BlockKind::Overrides);
                    }
                }
            }
            self.beat(i, stack, beaten);
        }
    }

    /// The policies on one node that meet, and those that count for nothing beside them.
    fn contenders<'l>(&self, layer: &'l Layer<'a>) -> (&'l [&'a Attachment], &'l [&'a Attachment]) {
        let stack = layer.stack.as_slice();
        let first = match (stack.first(), self.kind.same_level) {
            (Some(_), SameLevel::OldestAlone) => 1,
            (Some(first), _) if self.kind.hosts.is_some() => stack.partition_point(|it| it.via == first.via),
            _ => stack.len(),
        };
        stack.split_at(first)
    }

    /// Notes that policies lost all they say to the first of those that count.
    fn beat(&mut self, at: usize, stack: &[&'a Attachment], beaten: &[&'a Attachment]) {
        let Some(winner) = stack.first().filter(|_| !beaten.is_empty()) else { return };
        let winner = self.step(at, winner, BlockKind::Bare);
        for &attachment in beaten {
            for block in &self.policy(attachment).blocks {
                let Some(source) = self.turn(at, attachment, block.which) else { return };
                self.merge.lose_whole(&Tree::default(), &block.spec, source, winner);
            }
        }
    }

    fn blocks(&mut self, at: usize, attachment: &'a Attachment, wanted: impl Fn(BlockKind) -> bool) {
        let mut removed = Vec::new();
        for block in self.policy(attachment).blocks.iter().filter(|block| wanted(block.which)) {
            let Some(source) = self.turn(at, attachment, block.which) else { break };
            if self.holds(block, source) {
                self.block(block, source);
                removed.extend(block.removes.iter().map(|name| (name.as_str(), source)));
            }
        }
        // What a policy removes are rules of others.
        self.removed.extend(removed);
    }

    fn block(&mut self, block: &'a Block, source: Source) {
        let (merge, tree) = (&mut self.merge, &mut self.tree);
        if block.which == BlockKind::Overrides {
            match block.strategy {
                Strategy::Merge | Strategy::Shallow => merge.replace_units(tree, &block.spec, source),
                Strategy::Patch | Strategy::Deep | Strategy::Strategic => {
                    merge.replace_patch(tree, &block.spec, source)
                }
                _ => merge.replace_whole(tree, &block.spec, source),
            }
            return;
        }
        let spec = if self.removed.is_empty() { block.spec.clone() } else { self.without_removed(&block.spec, source) };
        if spec.entries().is_empty() {
            return;
        }
        let (merge, tree) = (&mut self.merge, &mut self.tree);
        match block.strategy {
            Strategy::Merge | Strategy::Shallow => merge.fill_units(tree, &spec, source),
            Strategy::Patch | Strategy::Deep | Strategy::Strategic => merge.fill_patch(tree, &spec, source),
            _ => merge.fill_whole(tree, &spec, source),
        }
    }

    /// Whether the condition of a block, if it has one, holds for what there is so far.
    fn holds(&mut self, block: &'a Block, source: Source) -> bool {
        let Some(condition) = &block.when else { return true };
        let holds = match condition.holds(&self.tree.value()) {
            Ok(holds) => holds,
            Err(error) => {
                let FoldStep { attachment, block, .. } = self.steps[source.0 as usize];
                self.warnings.push(Warning { policy: attachment.policy, block, message: error.to_string() });
                false
            }
        };
        if !holds {
            self.inactive.push((source, &block.spec));
        }
        holds
    }

    /// What is left of a default when lower policies have removed some of its rules.
    fn without_removed(&mut self, spec: &Value, source: Source) -> Value {
        let mut left = spec.clone();
        for &(name, remover) in &self.removed.clone() {
            left = self.remove(&left, name, &mut Vec::new(), source, remover);
        }
        left
    }

    fn remove(&mut self, value: &Value, name: &str, path: &mut Vec<Segment>, source: Source, remover: Source) -> Value {
        let mut kept = Vec::new();
        for (key, child) in value.entries() {
            path.push(Segment::Key(key.clone()));
            let is_named =
                (key == name && self.merge.units.is_rule(path, child)) || Path::new(path.clone()).to_string() == name;
            if is_named {
                self.merge.lose_value(child, path, source, remover, true);
            } else if child.as_map().is_some() && !self.merge.units.is_unit(path, child) {
                let inner = self.remove(child, name, path, source, remover);
                // A map that had nothing else goes with its last rule.
                if !inner.entries().is_empty() || child.entries().is_empty() {
                    kept.push((key.clone(), inner));
                }
            } else {
                kept.push((key.clone(), child.clone()));
            }
            path.pop();
        }
        Value::Map(Map::from_entries(kept))
    }

    fn policy(&self, attachment: &Attachment) -> &'a Policy {
        &self.policies[attachment.policy]
    }

    /// Takes out the fields in which another kind's policy on the same target counts instead.
    fn give_way(&mut self, layers: &[Layer<'a>]) {
        for (i, layer) in layers.iter().enumerate() {
            for (other, fields) in layer.yields {
                let winner = self.step(i, other, BlockKind::Bare);
                self.steps[winner.0 as usize].foreign = true;
                self.take_out(fields, winner);
            }
        }
    }

    /// Takes out the fields in which the rule of the route counts instead.
    fn give_way_to_rule(&mut self) {
        for (i, yielding) in self.kind.yields_to_rule.iter().enumerate() {
            if self.terms.rule_sets(i) {
                self.take_out(&yielding.fields, result::OWN);
            }
        }
    }

    fn take_out(&mut self, fields: &[Pattern], winner: Source) {
        for field in fields {
            let mut path = field.keys();
            let Some(held) = self.tree.get_mut(&path) else { continue };
            self.merge.lose_tree(held, &mut path.clone(), winner, false);
            *held = Tree::Piece(Value::Null, winner);
            // An object of which nothing is left goes, too.
            while path.pop().is_some() && !path.is_empty() {
                let Some(Tree::Split(fields)) = self.tree.get_mut(&path) else { break };
                if !fields.iter().all(|(_, field)| matches!(field, Tree::Piece(Value::Null, _))) {
                    break;
                }
                if let Some(above) = self.tree.get_mut(&path) {
                    *above = Tree::Piece(Value::Null, winner);
                }
            }
        }
    }

    /// Notes the policies that are not accepted where others are.
    fn conflicts(&mut self, layers: &[Layer<'a>]) {
        for (i, layer) in layers.iter().enumerate() {
            for &(loser, winner) in &layer.rejected {
                self.conflict(i, loser, winner);
            }
        }
    }

    fn conflict(&mut self, at: usize, loser: &'a Attachment, winner: &'a Attachment) {
        let winner = self.step(at, winner, BlockKind::Bare);
        // It may have won on another node.
        self.steps[winner.0 as usize].foreign = true;
        for block in &self.policy(loser).blocks {
            let Some(loser) = self.turn(at, loser, block.which) else { return };
            self.conflicted.push((loser, winner, &block.spec));
        }
    }

    /// The next block, unless as many as are wanted had their turn.
    fn turn(&mut self, layer: usize, attachment: &'a Attachment, block: BlockKind) -> Option<Source> {
        self.turns = self.turns.checked_sub(1)?;
        let source = self.step(layer, attachment, block);
        self.last = self.steps.last().copied();
        Some(source)
    }

    fn step(&mut self, layer: usize, attachment: &'a Attachment, block: BlockKind) -> Source {
        self.steps.push(FoldStep { attachment, block, layer, foreign: false });
        Source(self.steps.len() as u32 - 1)
    }
}
