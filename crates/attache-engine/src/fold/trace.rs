//! The fold of a chain, block by block: what each one did.
//!
//! The first blocks are folded again for each that follows. Slow, and obviously what the fold does.

use super::{EffectivePolicy, Fold, FoldInput, FoldStep, Layer, Superseded, ValueOrigin};
use crate::kinds::Strategy;
use crate::policy::{BlockKind, Policy, PolicyId};
use crate::topology::NodeId;
use crate::value::{Path, Value};

/// The blocks of a chain, in folding order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoldTrace {
    /// Every block, in the order in which they are folded.
    pub blocks: Vec<BlockTrace>,
    /// Positions in `blocks`, the strongest block first.
    pub by_strength: Vec<usize>,
}

/// One block, and what it did.
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
    /// What nobody had set before. An empty path is all of it, for kinds whose policies all apply.
    pub filled: Vec<Path>,
    /// What it set in place of what others had.
    pub replaced: Vec<Path>,
    /// What others had set, and nobody has any more.
    pub removed: Vec<Path>,
    /// What of it did not count, and why not.
    pub lost: Vec<Superseded>,
    /// Why its condition could not be evaluated.
    pub warning: Option<String>,
    /// What was in force with it, and without all that follow.
    pub after: Option<Value>,
}

/// As [`fold`](super::fold), block by block.
pub fn trace(input: FoldInput<'_>) -> FoldTrace {
    let FoldInput { kind, policies, layers, .. } = input;
    let mut trace = FoldTrace::default();
    let mut steps: Vec<FoldStep<'_>> = Vec::new();
    let mut before = Fold::new(input, 0).run();
    loop {
        let mut fold = Fold::new(input, trace.blocks.len() + 1);
        let after = fold.run();
        let Some(step) = fold.last.filter(|_| fold.remaining == 0) else { break };
        trace.blocks.push(block_trace(step, layers, &policies[step.attachment.policy], &before, &after));
        let at = strength(&step, &steps, &trace.by_strength, layers);
        trace.by_strength.insert(at, steps.len());
        steps.push(step);
        before = after;
    }
    if kind.accumulates() {
        let applies = |turn: &BlockTrace| {
            before.applied.iter().position(|it| (it.policy, it.target) == (turn.policy, turn.target))
        };
        trace.by_strength.sort_by_key(|at| applies(&trace.blocks[*at]).unwrap_or(usize::MAX));
    }
    trace
}

fn block_trace(
    step: FoldStep<'_>,
    layers: &[Layer<'_>],
    policy: &Policy,
    before: &EffectivePolicy,
    after: &EffectivePolicy,
) -> BlockTrace {
    let FoldStep { attachment, block, layer, .. } = step;
    let said = policy.blocks.iter().find(|said| said.kind == block);
    let by_route = layers.get(layer).and_then(|layer| layer.inheritance.as_ref()).map(|it| &it.inherit.strategy);
    let mut turn = BlockTrace {
        policy: attachment.policy,
        block,
        target: attachment.node,
        strategy: by_route.or(said.map(|block| &block.strategy)).cloned().unwrap_or(Strategy::NONE),
        filled: Vec::new(),
        replaced: Vec::new(),
        removed: Vec::new(),
        lost: Vec::new(),
        warning: after.warnings.get(before.warnings.len()).map(|warning| warning.message.clone()),
        after: after.spec.clone(),
    };
    let lost_before = |lost: &Superseded| before.superseded.iter().any(|it| same(it, lost));
    for lost in after.superseded.iter().filter(|lost| !lost_before(lost)) {
        let is_there = after.spec.as_ref().is_some_and(|spec| lost.path.resolve(spec).is_some());
        match (turn.is_loser(lost), is_there) {
            (true, _) => turn.lost.push(lost.clone()),
            (false, true) => turn.replaced.push(lost.path.clone()),
            (false, false) => turn.removed.push(lost.path.clone()),
        }
    }
    // What it replaced may have been larger than what it put there.
    let set = after.origins.iter().filter(|it| turn.is_origin(it)).map(|it| &it.path);
    let set: Vec<&Path> = set.filter(|path| !turn.replaced.iter().any(|it| path.starts_with(it))).collect();
    let (replaced, filled): (Vec<&Path>, Vec<&Path>) = set.into_iter().partition(|path| is_own(path, before));
    turn.replaced.extend(replaced.into_iter().cloned());
    turn.filled.extend(filled.into_iter().cloned());
    if after.applied.len() > before.applied.len() {
        turn.filled.push(Path::default());
    }
    turn
}

impl BlockTrace {
    /// Whether this block is where something comes from.
    pub fn is_origin(&self, origin: &ValueOrigin) -> bool {
        (origin.policy, origin.block, origin.target) == (self.policy, self.block, self.target)
    }

    /// Whether this block is what lost.
    pub fn is_loser(&self, lost: &Superseded) -> bool {
        (lost.policy, lost.block, lost.target) == (self.policy, self.block, self.target)
    }
}

/// Whether something is there that no policy set: it is the object's own.
fn is_own(path: &Path, before: &EffectivePolicy) -> bool {
    before.spec.as_ref().is_some_and(|spec| path.resolve(spec).is_some())
        && !before.origins.iter().any(|origin| origin.path.starts_with(path) || path.starts_with(&origin.path))
}

/// The same value of the same block, whichever policy it lost to.
fn same(a: &Superseded, b: &Superseded) -> bool {
    (&a.path, a.policy, a.block, a.target) == (&b.path, b.policy, b.block, b.target)
}

/// Where a block belongs among those before it. Overrides beat what was there before; so does all that a route sets
/// which prefers its own over what is below. Everything else only fills.
fn strength(step: &FoldStep<'_>, had: &[FoldStep<'_>], by_strength: &[usize], layers: &[Layer<'_>]) -> usize {
    let is_rejected = |layer: &Layer<'_>| layer.rejected.iter().any(|(loser, _)| std::ptr::eq(*loser, step.attachment));
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

    /// Policies of a kind with every strategy: `spec` of each, first on the Gateway, then on the HTTPRoute.
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
        assert_eq!(trace.blocks.last().and_then(|turn| turn.after.as_ref()), effective.spec.as_ref());
        let name = |turn: &BlockTrace| format!("{} {}", engine.policy_id(turn.policy).name, turn.block.name());
        let steps = trace.blocks.iter().map(|turn| format!("{}: {}", name(turn), did(turn)));
        (steps.collect(), trace.by_strength.iter().map(|at| name(&trace.blocks[*at])).collect())
    }

    fn did(turn: &BlockTrace) -> String {
        let paths = |paths: &[Path]| paths.iter().map(Path::to_string).collect::<Vec<_>>().join(" ");
        let lost = turn.lost.iter().map(|lost| format!("{} {}", lost.path, lost.reason.name()));
        let lost = lost.collect::<Vec<_>>().join(" ");
        let did = [("filled", &turn.filled), ("replaced", &turn.replaced), ("removed", &turn.removed)];
        let did = did.map(|(word, list)| (word, paths(list))).into_iter().chain([("lost", lost)]);
        did.filter(|(_, list)| !list.is_empty())
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
