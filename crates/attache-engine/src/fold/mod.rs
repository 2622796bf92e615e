//! Folds a chain into its effective policy, with the origin of each part, and what lost to which policy.
//!
//! ```text
//! layers (policies on each node, lowest first) ─→ blocks, one by one ─→ tree of values with sources ─→ EffectivePolicy
//!                                                       ↓      ↑
//!                                       MergeStrategy::decide, where a block meets a held value
//! ```

mod accumulate;
mod by_level;
mod incoming;
mod merge;
mod most_specific;
mod per_port;
mod removal;
mod result;
mod trace;
mod tree;
mod unhandled;
mod yields;

use smol_str::SmolStr;

use crate::attachment::Attachment;
use crate::chain::MergeContext;
use crate::kinds::{MergePreference, Participation, Pattern, PolicyKind, SameLevel, Units};
use crate::order::Rejected;
use crate::policy::{Block, BlockKind, Policies, Policy, PolicyId};
use crate::topology::{Level, NodeId, Owner};
use crate::value::Value;

use merge::{Arbiter, Merge};
use tree::{BlockSource, Sources, Tree};

pub use per_port::{ReportedOrigin, reported};
pub use result::{Applied, EffectivePolicy, FoldOutcome, FoldWarning, Loss, Superseded, ValueOrigin};
pub use trace::{BlockTrace, FoldTrace, outline, trace};

/// The input of a fold.
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
    /// How policies merge on this chain, if it differs from the kind.
    pub context: MergeContext,
    /// The value of the target object itself at the path that the policies merge into.
    pub own: Option<&'a Value>,
    /// The Gateway or mesh Service of the chain whose controller does not handle the policies. None of them is in force.
    pub unhandled: Option<NodeId>,
}

/// The policies on one node of a chain.
#[derive(Debug)]
pub struct Layer<'a> {
    /// The level of the node.
    pub level: Level,
    /// The object of the node. Layers of one object can count as one level.
    pub owner: Owner,
    /// The accepted policies in order: mostly the oldest first.
    pub accepted: Vec<&'a Attachment>,
    /// The policies that were rejected.
    pub rejected: Vec<&'a Rejected>,
    /// Policies of other kinds, with the fields in which the accepted ones yield to them.
    pub yields: &'a [(Attachment, Vec<Pattern>)],
    /// What the route of the node says about inheritance: its annotation.
    pub inheritance: Option<Inheritance>,
}

/// How a route merges its policies into those below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inheritance {
    /// The preference and the strategy.
    pub inherit: MergePreference,
    /// The fields in which the lower policy is preferred all the same.
    pub except: Vec<SmolStr>,
}

/// One block that was folded.
#[derive(Clone, Copy, Debug)]
struct FoldStep<'a> {
    attachment: &'a Attachment,
    block: BlockKind,
    /// The lowest layer is 0.
    layer: usize,
    /// Whether the block is not part of the chain, but overrides a policy that is.
    foreign: bool,
    /// Whether the block has settings for the port of the listener, which are more specific than others.
    for_port: bool,
}

/// A block of a policy that is rejected, because the policy conflicts with others.
#[derive(Debug)]
struct ConflictedBlock<'a> {
    loser: BlockSource,
    by: PolicyId,
    also_by: Vec<PolicyId>,
    spec: &'a Value,
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
    unhandled: Option<NodeId>,
    merge: Merge<'a>,
    tree: Tree,
    steps: Vec<FoldStep<'a>>,
    /// The rules that lower policies remove from higher ones, each with the policy that removes it.
    removed: Vec<(&'a str, BlockSource)>,
    /// Blocks whose condition did not hold.
    inactive: Vec<(BlockSource, &'a Value)>,
    /// Blocks of policies that are refused and keep their place.
    void: Vec<(BlockSource, &'a Value)>,
    /// Blocks of rejected policies.
    conflicted: Vec<ConflictedBlock<'a>>,
    /// Whether one policy counts alone. It is in force even if it sets nothing.
    is_single: bool,
    warnings: Vec<FoldWarning>,
    /// How many more blocks are folded.
    remaining: usize,
    /// The blocks that were folded.
    folded: Vec<FoldStep<'a>>,
}

impl<'a> Fold<'a> {
    /// A fold of the first `remaining` blocks.
    fn new(input: FoldInput<'a>, remaining: usize) -> Self {
        let FoldInput { kind, units, policies, layers, context, own, unhandled } = input;
        Fold {
            kind,
            policies,
            layers,
            context,
            unhandled,
            merge: Merge { kind, units, lost: Vec::new() },
            tree: own.map_or_else(Tree::default, |own| Tree::Piece(own.clone(), result::OWN)),
            steps: Vec::new(),
            removed: Vec::new(),
            inactive: Vec::new(),
            void: Vec::new(),
            conflicted: Vec::new(),
            is_single: false,
            warnings: Vec::new(),
            remaining,
            folded: Vec::new(),
        }
    }

    fn run(&mut self) -> EffectivePolicy {
        if let Some(root) = self.unhandled {
            return self.lose_unhandled(root);
        }
        match self.kind.participation() {
            Participation::Merged => self.each_layer(),
            Participation::MostSpecific => self.most_specific(),
            Participation::MergedByLevel => self.by_level(),
            Participation::All => return self.accumulate(),
        }
        self.replace_by_port();
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

    /// The policies on one node that count, and those that are ignored because of them.
    fn split_layer(&self, layer: &'a Layer<'a>) -> (&'a [&'a Attachment], &'a [&'a Attachment]) {
        let accepted = layer.accepted.as_slice();
        let counting = match accepted.first() {
            Some(_) if self.kind.order.is_oldest_alone(layer.level) => 1,
            Some(first) if self.kind.targets.hosts.is_some() => accepted.partition_point(|it| it.via == first.via),
            _ => accepted.len(),
        };
        accepted.split_at(counting)
    }

    /// Records that ignored policies lost everything to those that count.
    fn lose_ignored(&mut self, layer: usize, counting: &[&'a Attachment], ignored: &[&'a Attachment]) {
        if ignored.is_empty() {
            return;
        }
        let winners = counting.iter().map(|winner| self.step(layer, winner, BlockKind::Bare)).collect();
        let Some(winners) = Sources::new(winners) else { return };
        for &attachment in ignored {
            for block in &self.policy(attachment).blocks {
                let Some(source) = self.next_block(layer, attachment, block.kind) else { return };
                self.merge.lose_block(&block.spec, source, &winners);
            }
        }
    }

    /// Folds those blocks of a policy that `is_wanted` accepts.
    fn policy_blocks(&mut self, layer: usize, attachment: &'a Attachment, is_wanted: impl Fn(BlockKind) -> bool) {
        let mut removed = Vec::new();
        for block in self.policy(attachment).blocks.iter().filter(|block| is_wanted(block.kind)) {
            let Some(source) = self.next_block(layer, attachment, block.kind) else { break };
            if attachment.is_void() {
                self.void.push((source, &block.spec));
            } else if self.holds(block, source) {
                self.block(block, source);
                removed.extend(block.removes.iter().map(|name| (name.as_str(), source)));
            }
        }
        // A policy does not remove its own rules.
        self.removed.extend(removed);
    }

    fn block(&mut self, block: &'a Block, source: BlockSource) {
        let prefers_incoming = block.kind == BlockKind::Overrides;
        let arbiter = Arbiter { strategy: &*block.strategy, prefers_incoming };
        let selected = self.select_port(&block.spec);
        let spec = match prefers_incoming || self.removed.is_empty() {
            true => &*selected,
            false => &self.without_removed(&selected, source),
        };
        if !spec.entries().is_empty() {
            self.merge.block(arbiter, &mut self.tree, spec, source);
        }
    }

    /// Whether the condition of a block holds for the result so far. A block without a condition always counts.
    fn holds(&mut self, block: &'a Block, source: BlockSource) -> bool {
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

    /// The source of the next block; `None` if the wanted number of blocks is folded.
    fn next_block(&mut self, layer: usize, attachment: &'a Attachment, block: BlockKind) -> Option<BlockSource> {
        self.remaining = self.remaining.checked_sub(1)?;
        let source = self.step(layer, attachment, block);
        self.folded.extend(self.steps.last().copied());
        Some(source)
    }

    fn step(&mut self, layer: usize, attachment: &'a Attachment, block: BlockKind) -> BlockSource {
        self.steps.push(FoldStep { attachment, block, layer, foreign: false, for_port: false });
        BlockSource(self.steps.len() as u32 - 1)
    }
}
