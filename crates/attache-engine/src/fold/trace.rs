//! The fold of a chain, block by block, with the effect of each block.
//!
//! For the effect of a block, all blocks up to it are folded again: slow, but the same code as the fold.

use hashbrown::{HashMap, HashSet};

use super::{EffectivePolicy, Fold, FoldInput, FoldStep, Layer, Superseded, ValueOrigin};
use crate::kinds::Strategy;
use crate::policy::{BlockKind, Policy, PolicyId};
use crate::topology::NodeId;
use crate::value::{Path, Segment, Value};

/// The blocks of a chain, in folding order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoldTrace {
    /// Every block, in the order in which they are folded.
    pub blocks: Vec<BlockTrace>,
    /// Positions in `blocks`, the strongest block first.
    pub by_strength: Vec<usize>,
}

/// One block and its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockTrace {
    /// The policy.
    pub policy: PolicyId,
    /// The block.
    pub block: BlockKind,
    /// The node that the policy targets.
    pub target: NodeId,
    /// How the block merges.
    pub strategy: Strategy,
    /// Values that were not set before. For kinds whose policies all apply, the empty path stands for the whole spec.
    pub filled: Vec<Path>,
    /// Values that it combined with values of other blocks: both contribute.
    pub combined: Vec<Path>,
    /// Values of other blocks that it replaced.
    pub replaced: Vec<Path>,
    /// Values of other blocks that it removed.
    pub removed: Vec<Path>,
    /// Its own values that did not count, and why.
    pub lost: Vec<Superseded>,
    /// Why its condition could not be evaluated.
    pub warning: Option<String>,
    /// The result so far: with this block, without the blocks that follow.
    pub after: Option<Value>,
}

/// Like [`fold`](super::fold), block by block.
pub fn trace(input: FoldInput<'_>) -> FoldTrace {
    let mut trace = outline(input);
    let mut before = Fold::new(input, 0).run();
    for (at, block) in trace.blocks.iter_mut().enumerate() {
        let after = Fold::new(input, at + 1).run();
        block.compare(&before, &after);
        before = after;
    }
    trace
}

/// The blocks of a chain, without the effect of each block. The chain is folded only once.
pub fn outline(input: FoldInput<'_>) -> FoldTrace {
    let FoldInput { kind, policies, layers, .. } = input;
    let mut fold = Fold::new(input, usize::MAX);
    let effective = fold.run();
    let mut warnings = effective.warnings.into_iter().peekable();
    let mut trace = FoldTrace::default();
    for (at, step) in fold.folded.iter().enumerate() {
        let place = strength(step, &fold.folded, &trace.by_strength, layers);
        trace.by_strength.insert(place, at);
        let mut block = BlockTrace::new(*step, layers, &policies[step.attachment.policy]);
        let own = warnings.next_if(|warning| (warning.policy, warning.block) == (block.policy, block.block));
        block.warning = own.map(|warning| warning.message);
        trace.blocks.push(block);
    }
    if kind.accumulates() {
        let applied = effective.applied.iter().enumerate().map(|(at, it)| ((it.policy, it.target), at));
        let applied: HashMap<_, _> = applied.collect();
        let place = |block: &BlockTrace| applied.get(&(block.policy, block.target)).copied().unwrap_or(usize::MAX);
        trace.by_strength.sort_by_key(|at| place(&trace.blocks[*at]));
    }
    trace
}

impl BlockTrace {
    /// A block, without its effect.
    fn new(step: FoldStep<'_>, layers: &[Layer<'_>], policy: &Policy) -> BlockTrace {
        let FoldStep { attachment, block, layer, .. } = step;
        let written = policy.blocks.iter().find(|it| it.kind == block);
        let by_route = layers.get(layer).and_then(|layer| layer.inheritance.as_ref()).map(|it| &it.inherit.strategy);
        BlockTrace {
            policy: attachment.policy,
            block,
            target: attachment.node,
            strategy: by_route.or(written.map(|it| &it.strategy)).cloned().unwrap_or(Strategy::NONE),
            filled: Vec::new(),
            combined: Vec::new(),
            replaced: Vec::new(),
            removed: Vec::new(),
            lost: Vec::new(),
            warning: None,
            after: None,
        }
    }

    /// Adds the effect of the block: the difference between the results before and after it.
    fn compare(&mut self, before: &EffectivePolicy, after: &EffectivePolicy) {
        self.after = after.spec.clone();
        self.warning = after.warnings.get(before.warnings.len()).map(|warning| warning.message.clone());
        let lost_before: HashSet<_> = before.superseded.iter().map(same_value).collect();
        for lost in after.superseded.iter().filter(|lost| !lost_before.contains(&same_value(lost))) {
            let is_there = after.spec.as_ref().is_some_and(|spec| lost.path.resolve(spec).is_some());
            match (self.is_loser(lost), is_there) {
                (true, _) => self.lost.push(lost.clone()),
                (false, true) => self.replaced.push(lost.path.clone()),
                (false, false) => self.removed.push(lost.path.clone()),
            }
        }
        // The replaced value may have been larger than the new one.
        let set = after.origins.iter().filter(|it| self.is_origin(it)).map(|it| &it.path);
        let set: Vec<&Path> = set.filter(|path| !self.replaced.iter().any(|it| path.starts_with(it))).collect();
        let (replaced, filled): (Vec<&Path>, Vec<&Path>) = set.into_iter().partition(|path| is_own(path, before));
        self.replaced.extend(replaced.into_iter().cloned());
        for path in filled {
            match combined_path(path, before) {
                Some(path) if self.combined.contains(&path) => {}
                Some(path) => self.combined.push(path),
                None => self.filled.push(path.clone()),
            }
        }
        if after.applied.len() > before.applied.len() {
            self.filled.push(Path::default());
        }
    }

    /// Whether this block is the origin.
    pub fn is_origin(&self, origin: &ValueOrigin) -> bool {
        (origin.policy, origin.block, origin.target) == (self.policy, self.block, self.target)
    }

    /// Whether this block is the one that lost.
    pub fn is_loser(&self, lost: &Superseded) -> bool {
        (lost.policy, lost.block, lost.target) == (self.policy, self.block, self.target)
    }
}

/// Whether the value at a path was set by no policy: it is the object's own.
fn is_own(path: &Path, before: &EffectivePolicy) -> bool {
    before.spec.as_ref().is_some_and(|spec| path.resolve(spec).is_some())
        && !before.origins.iter().any(|origin| origin.path.starts_with(path) || path.starts_with(&origin.path))
}

/// The existing value that a new value became part of: the list around an item, or the value itself.
fn combined_path(path: &Path, before: &EffectivePolicy) -> Option<Path> {
    let segments = path.segments();
    let end = segments.iter().position(|it| matches!(it, Segment::Index(_))).unwrap_or(segments.len());
    let whole = Path::new(segments[..end].to_vec());
    let had = before.spec.as_ref().and_then(|spec| whole.resolve(spec)).is_some_and(|value| value.as_map().is_none());
    Some(whole).filter(|_| had)
}

/// The value of a block that lost, whichever policy it lost to.
fn same_value(lost: &Superseded) -> (&Path, PolicyId, BlockKind, NodeId) {
    (&lost.path, lost.policy, lost.block, lost.target)
}

/// The position of a block among the earlier ones, by strength. Overrides are stronger than all earlier blocks, and so
/// are the blocks of a route that prefers its own policies over those below. All other blocks only fill in missing
/// values.
fn strength(step: &FoldStep<'_>, had: &[FoldStep<'_>], by_strength: &[usize], layers: &[Layer<'_>]) -> usize {
    let is_rejected = |layer: &Layer<'_>| layer.rejected.iter().any(|it| std::ptr::eq(&it.attachment, step.attachment));
    let layer = &layers[step.layer];
    if is_rejected(layer) {
        by_strength.len()
    } else if step.block == BlockKind::Overrides {
        0
    } else if layer.inheritance.as_ref().is_some_and(|it| it.inherit.prefers_higher()) {
        let beside = |at: &&usize| layers[had[**at].layer].owner == layer.owner;
        by_strength.iter().take_while(beside).count()
    } else {
        by_strength.len()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::engine::Engine;
    use crate::kinds::{Settings, built_in};
    use crate::object::Objects;
    use crate::text;

    use super::*;

    /// Traces two policies of a kind with every strategy: first the one on the Gateway, then the one on the HTTPRoute.
    fn traced(on_gateway: &str, on_route: &str) -> (Vec<String>, Vec<String>) {
        let yaml = format!(
            "
apiVersion: attache.dev/v1alpha1
kind: PolicyKind
metadata: {{name: colorpolicies.example.io}}
spec:
  group: example.io
  kind: ColorPolicy
  class: Inherited
  targets: [Gateway, HTTPRoute]
  strategies: [atomic, merge, patch]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: g, namespace: default}}
spec: {{gatewayClassName: c, listeners: [{{name: http, port: 80, protocol: HTTP}}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: r, namespace: default}}
spec: {{parentRefs: [{{name: g}}], rules: [{{}}]}}
---
apiVersion: example.io/v1
kind: ColorPolicy
metadata: {{name: high, namespace: default}}
spec: {{targetRef: {{group: gateway.networking.k8s.io, kind: Gateway, name: g}}, {on_gateway}}}
---
apiVersion: example.io/v1
kind: ColorPolicy
metadata: {{name: low, namespace: default}}
spec: {{targetRef: {{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}}, {on_route}}}
"
        );
        let reading = text::read(&Arc::from("test.yaml"), &yaml);
        assert!(reading.problems.is_empty(), "{:?}", reading.problems);
        let engine = Engine::new(Objects::new(reading.objects), &built_in().0, Settings::default());
        let model = &engine.models()[0];
        let (chain, _) = model.scope_counts(engine.view())[0];
        let trace = model.trace(engine.view(), chain, None);
        let effective = model.effective(engine.view(), chain);
        assert_eq!(trace.blocks.last().and_then(|block| block.after.as_ref()), effective.spec.as_ref());
        let name = |block: &BlockTrace| format!("{} {}", engine.policy_id(block.policy).name, block.block.name());
        let steps = trace.blocks.iter().map(|block| format!("{}: {}", name(block), effects(block)));
        (steps.collect(), trace.by_strength.iter().map(|at| name(&trace.blocks[*at])).collect())
    }

    fn effects(block: &BlockTrace) -> String {
        let paths = |paths: &[Path]| paths.iter().map(Path::to_string).collect::<Vec<_>>().join(" ");
        let lost = block.lost.iter().map(|lost| format!("{} {}", lost.path, lost.reason.name()));
        let lost = lost.collect::<Vec<_>>().join(" ");
        let effects = [
            ("filled", &block.filled),
            ("combined", &block.combined),
            ("replaced", &block.replaced),
            ("removed", &block.removed),
        ];
        let effects = effects.map(|(word, list)| (word, paths(list))).into_iter().chain([("lost", lost)]);
        effects
            .filter(|(_, list)| !list.is_empty())
            .map(|(word, list)| format!("{word} {list}"))
            .collect::<Vec<_>>()
            .join(", ")
    }

    #[test]
    fn defaults_fill_what_is_missing_from_the_lowest_up() {
        let (steps, strength) = traced("defaults: {strategy: patch, a: 1, b: 2}", "a: 3");
        assert_eq!(steps, ["low bare: filled a", "high defaults: filled b, lost a MoreSpecific"]);
        assert_eq!(strength, ["low bare", "high defaults"]);
    }

    #[test]
    fn an_override_replaces_and_an_atomic_one_removes_the_rest() {
        let (steps, strength) = traced("overrides: {a: 1}", "defaults: {a: 3, b: 4}");
        assert_eq!(steps, ["low defaults: filled a b", "high overrides: replaced a, removed b"]);
        assert_eq!(strength, ["high overrides", "low defaults"]);
    }

    #[test]
    fn a_patch_removes_by_null() {
        let (steps, _) = traced("overrides: {strategy: patch, b: null}", "defaults: {a: 3, b: 4}");
        assert_eq!(steps, ["low defaults: filled a b", "high overrides: removed b"]);
    }

    #[test]
    fn what_a_lower_policy_removes_is_lost() {
        let (steps, _) = traced("defaults: {strategy: merge, a: 1, b: 2}", "defaults: {c: 3, remove: [b]}");
        assert_eq!(steps, ["low defaults: filled c", "high defaults: filled a, lost b Removed"]);
    }

    #[test]
    fn a_condition_that_does_not_hold_leaves_everything_as_it_was() {
        let (steps, strength) = traced("overrides: {when: spec.a > 5, a: 1}", "a: 3");
        assert_eq!(steps, ["low bare: filled a", "high overrides: lost a ConditionFalse"]);
        assert_eq!(strength, ["high overrides", "low bare"]);
    }

    #[test]
    fn both_blocks_of_one_policy_have_their_turn() {
        let (steps, strength) = traced("defaults: {strategy: patch, b: 1}, overrides: {strategy: patch, a: 2}", "a: 3");
        assert_eq!(steps, ["low bare: filled a", "high defaults: filled b", "high overrides: replaced a"]);
        assert_eq!(strength, ["high overrides", "low bare", "high defaults"]);
    }
}
