//! The fold of a chain: the effective policy, who set each part of it, and what lost to whom.
//!
//! ```text
//! layers (policies on each node, lowest first) ─→ blocks, one by one ─→ tree of values with sources ─→ EffectivePolicy
//!                                                       ↓      ↑
//!                                       MergeStrategy::decide, where a block meets what is held
//! ```

mod accumulate;
mod by_level;
mod incoming;
mod merge;
mod most_specific;
mod removal;
mod result;
mod trace;
mod tree;
mod yields;

use smol_str::SmolStr;

use crate::attachment::Attachment;
use crate::chain::MergeContext;
use crate::kinds::{MergePreference, Participation, Pattern, PolicyKind, SameLevel, Units};
use crate::policy::{Block, BlockKind, Policies, Policy};
use crate::topology::{Level, Owner};
use crate::value::Value;

use merge::{Arbiter, Merge};
use tree::{Source, Tree};

pub use result::{Applied, EffectivePolicy, FoldOutcome, FoldWarning, Loss, Superseded, ValueOrigin};
pub use trace::{BlockTrace, FoldTrace, trace};

/// What a fold is made from.
#[derive(Clone, Copy, Debug)]
pub struct FoldInput<'a> {
    /// The kind of the policies.
    pub kind: &'a PolicyKind,
    /// What counts as one part of a policy of the kind.
    pub units: &'a Units,
    /// Every policy.
    pub policies: &'a Policies,
    /// The policies of the chain, lowest first.
    pub layers: &'a [Layer<'a>],
    /// How policies merge on this chain, where that is not as the kind says.
    pub context: MergeContext,
    /// What the target object itself has at the place that the policies merge into.
    pub own: Option<&'a Value>,
}

/// The policies on one node of a chain.
#[derive(Debug)]
pub struct Layer<'a> {
    /// The level of the node.
    pub level: Level,
    /// The object of the node. Layers of one object can count as one level.
    pub owner: Owner,
    /// The accepted policies, the first in order first: mostly the oldest.
    pub accepted: Vec<&'a Attachment>,
    /// The policies that were rejected, each with the one that it conflicts with.
    pub rejected: Vec<(&'a Attachment, &'a Attachment)>,
    /// Policies of other kinds, with the fields in which the accepted ones yield to them.
    pub yields: &'a [(Attachment, Vec<Pattern>)],
    /// What the route of the node says about inheritance.
    pub inheritance: Option<Inheritance>,
}

/// How a route merges its policies into those below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inheritance {
    /// The preference and the strategy.
    pub inherit: MergePreference,
    /// The fields in which the lower policy is preferred nevertheless.
    pub except: Vec<SmolStr>,
}

/// One block that was folded.
#[derive(Clone, Copy, Debug)]
struct FoldStep<'a> {
    attachment: &'a Attachment,
    block: BlockKind,
    /// The lowest layer is 0.
    layer: usize,
    /// Whether it is not part of the chain, but has taken something from a policy that is.
    foreign: bool,
}

/// Folds a chain.
pub fn fold(input: FoldInput<'_>) -> EffectivePolicy {
    Fold::new(input, usize::MAX).run()
}

struct Fold<'a> {
    kind: &'a PolicyKind,
    policies: &'a Policies,
    layers: &'a [Layer<'a>],
    context: MergeContext,
    merge: Merge<'a>,
    tree: Tree,
    steps: Vec<FoldStep<'a>>,
    /// The rules that lower policies remove from higher ones, each with who removes it.
    removed: Vec<(&'a str, Source)>,
    /// Blocks whose condition did not hold.
    inactive: Vec<(Source, &'a Value)>,
    /// Blocks of rejected policies, each with who they conflict with.
    conflicted: Vec<(Source, Source, &'a Value)>,
    /// Whether one policy counts alone. It is in force even if it sets nothing.
    is_single: bool,
    warnings: Vec<FoldWarning>,
    /// How many more blocks are folded.
    remaining: usize,
    /// The block that was folded last.
    last: Option<FoldStep<'a>>,
}

impl<'a> Fold<'a> {
    /// A fold of the first `remaining` blocks.
    fn new(input: FoldInput<'a>, remaining: usize) -> Self {
        let FoldInput { kind, units, policies, layers, context, own } = input;
        Fold {
            kind,
            policies,
            layers,
            context,
            merge: Merge { kind, units, lost: Vec::new() },
            tree: own.map_or_else(Tree::default, |own| Tree::Piece(own.clone(), result::OWN)),
            steps: Vec::new(),
            removed: Vec::new(),
            inactive: Vec::new(),
            conflicted: Vec::new(),
            is_single: false,
            warnings: Vec::new(),
            remaining,
            last: None,
        }
    }

    fn run(&mut self) -> EffectivePolicy {
        match self.kind.participation() {
            Participation::Merged => self.each_layer(),
            Participation::MostSpecific => self.most_specific(),
            Participation::MergedByLevel => self.by_level(),
            Participation::All => return self.accumulate(),
        }
        self.yield_to_kinds();
        self.yield_to_rule();
        self.finish()
    }

    /// Folds block by block, the lowest layer first.
    fn each_layer(&mut self) {
        for (i, layer) in self.layers.iter().enumerate() {
            let (counting, ignored) = self.split_layer(layer);
            match self.kind.same_level() {
                SameLevel::OldestIsHigher => {
                    for &attachment in counting.iter().rev() {
                        self.policy_blocks(i, attachment, |_| true);
                    }
                }
                // The older wins as a default if it comes first, as an override if it comes last.
                SameLevel::OldestWins | SameLevel::OldestAlone | SameLevel::RejectNewer => {
                    for &attachment in counting {
                        self.policy_blocks(i, attachment, |block| block != BlockKind::Overrides);
                    }
                    for &attachment in counting.iter().rev() {
                        self.policy_blocks(i, attachment, |block| block == BlockKind::Overrides);
                    }
                }
            }
            self.lose_ignored(i, counting, ignored);
        }
    }

    /// The policies on one node that count, and those that are ignored beside them.
    fn split_layer(&self, layer: &'a Layer<'a>) -> (&'a [&'a Attachment], &'a [&'a Attachment]) {
        let accepted = layer.accepted.as_slice();
        let counting = match (accepted.first(), self.kind.same_level()) {
            (Some(_), SameLevel::OldestAlone) => 1,
            (Some(first), _) if self.kind.targets.hosts.is_some() => accepted.partition_point(|it| it.via == first.via),
            _ => accepted.len(),
        };
        accepted.split_at(counting)
    }

    /// Notes that ignored policies lost everything to the first of those that count.
    fn lose_ignored(&mut self, layer: usize, counting: &[&'a Attachment], ignored: &[&'a Attachment]) {
        let Some(winner) = counting.first().filter(|_| !ignored.is_empty()) else { return };
        let winner = self.step(layer, winner, BlockKind::Bare);
        for &attachment in ignored {
            for block in &self.policy(attachment).blocks {
                let Some(source) = self.next_block(layer, attachment, block.kind) else { return };
                self.merge.lose_block(&Tree::default(), &block.spec, source, winner);
            }
        }
    }

    /// Folds those blocks of a policy that `is_wanted` accepts.
    fn policy_blocks(&mut self, layer: usize, attachment: &'a Attachment, is_wanted: impl Fn(BlockKind) -> bool) {
        let mut removed = Vec::new();
        for block in self.policy(attachment).blocks.iter().filter(|block| is_wanted(block.kind)) {
            let Some(source) = self.next_block(layer, attachment, block.kind) else { break };
            if self.holds(block, source) {
                self.block(block, source);
                removed.extend(block.removes.iter().map(|name| (name.as_str(), source)));
            }
        }
        // A policy does not remove its own rules.
        self.removed.extend(removed);
    }

    fn block(&mut self, block: &'a Block, source: Source) {
        let prefers_incoming = block.kind == BlockKind::Overrides;
        let arbiter = Arbiter { strategy: &*block.strategy, prefers_incoming };
        if prefers_incoming || self.removed.is_empty() {
            if prefers_incoming || !block.spec.entries().is_empty() {
                self.merge.block(arbiter, &mut self.tree, &block.spec, source);
            }
            return;
        }
        let spec = self.without_removed(&block.spec, source);
        if !spec.entries().is_empty() {
            self.merge.block(arbiter, &mut self.tree, &spec, source);
        }
    }

    /// Whether the condition of a block holds for what is folded so far. A block without condition always counts.
    fn holds(&mut self, block: &'a Block, source: Source) -> bool {
        let Some(condition) = &block.when else { return true };
        let holds = match condition.holds(&self.tree.value()) {
            Ok(holds) => holds,
            Err(error) => {
                let FoldStep { attachment, block, .. } = self.steps[source.0 as usize];
                self.warnings.push(FoldWarning { policy: attachment.policy, block, message: error.to_string() });
                false
            }
        };
        if !holds {
            self.inactive.push((source, &block.spec));
        }
        holds
    }

    fn policy(&self, attachment: &Attachment) -> &'a Policy {
        &self.policies[attachment.policy]
    }

    /// The source of the next block; `None` if as many blocks as are wanted are folded.
    fn next_block(&mut self, layer: usize, attachment: &'a Attachment, block: BlockKind) -> Option<Source> {
        self.remaining = self.remaining.checked_sub(1)?;
        let source = self.step(layer, attachment, block);
        self.last = self.steps.last().copied();
        Some(source)
    }

    fn step(&mut self, layer: usize, attachment: &'a Attachment, block: BlockKind) -> Source {
        self.steps.push(FoldStep { attachment, block, layer, foreign: false });
        Source(self.steps.len() as u32 - 1)
    }
}
