//! The layers of a chain, which are the input of the fold.

use super::Model;
use crate::attachment::Attachment;
use crate::chain::{ChainId, Link};
use crate::engine_view::EngineView;
use crate::fold::{
    EffectivePolicy, FoldInput, FoldTrace, Inheritance, Layer, ReportedOrigin, fold, outline, reported, trace,
};
use crate::kinds::DictatedBy;
use crate::policy::{PolicyId, check_target};
use crate::topology::{Level, NodeId};
use crate::value::Value;

impl Model {
    pub(super) fn fold(&self, view: EngineView<'_>, chain: ChainId, own: Option<&Value>) -> EffectivePolicy {
        if let (None, Some(target)) = (own, self.chains.target(chain)) {
            return self.fold_over_target(view, target, |own| self.fold(view, chain, Some(own)));
        }
        let effective = fold(self.fold_input(view, chain, &self.layers(view, chain), own));
        if self.is_valid(view, chain, &effective) { effective } else { effective.refused() }
    }

    /// Whether the merged policies are valid for the lowest target. A single policy is checked when it is attached.
    fn is_valid(&self, view: EngineView<'_>, chain: ChainId, effective: &EffectivePolicy) -> bool {
        if self.kind.acceptance.validations.iter().all(|it| it.targets.is_empty()) {
            return true;
        }
        let is_merged = effective.outcomes.iter().filter(|(_, outcome)| outcome.contributes).count() > 1;
        let lowest = self.chains.links(chain).find_map(Link::node);
        let (Some(spec), Some(lowest)) = (&effective.spec, lowest.filter(|_| is_merged)) else { return true };
        check_target(spec, &self.kind, view.topology.id(view.objects, lowest)).is_none()
    }

    /// How the effective policy of a chain is merged, block by block. `own` is a value that the target itself sets.
    pub fn trace(&self, view: EngineView<'_>, chain: ChainId, own: Option<&Value>) -> FoldTrace {
        let model = self.with_chain(chain);
        trace(model.fold_input(view, chain, &model.layers(view, chain), own))
    }

    /// The blocks that the effective policy of a chain is merged from, without the effect of each block.
    pub fn outline(&self, view: EngineView<'_>, chain: ChainId, own: Option<&Value>) -> FoldTrace {
        let model = self.with_chain(chain);
        outline(model.fold_input(view, chain, &model.layers(view, chain), own))
    }

    /// What the controller reports of the policies of a chain, and is not among the values in force.
    pub fn reported(&self, view: EngineView<'_>, chain: ChainId) -> Vec<ReportedOrigin> {
        if self.kind.merging.per_port.is_none() {
            return Vec::new();
        }
        let model = self.with_chain(chain);
        reported(model.fold_input(view, chain, &model.layers(view, chain), None), model.effective(view, chain))
    }

    fn fold_input<'a>(
        &'a self,
        view: EngineView<'a>,
        chain: ChainId,
        layers: &'a [Layer<'a>],
        own: Option<&'a Value>,
    ) -> FoldInput<'a> {
        let context = self.chains.context(chain);
        let unhandled = self.chains.unhandled(chain);
        FoldInput { kind: &self.kind, units: &self.units, policies: view.policies, layers, context, own, unhandled }
    }

    /// The layers of a chain, lowest first: one for each node that has policies. After an update, a chain without
    /// scopes may still contain removed nodes, which have no layer.
    pub fn layers(&self, view: EngineView<'_>, chain: ChainId) -> Vec<Layer<'_>> {
        let chains = &self.with_chain(chain).chains;
        let from = chains.consumer(chain);
        let nodes = chains.links(chain).filter_map(Link::node);
        let mut layers = Vec::new();
        let mut excluded: Vec<PolicyId> = Vec::new();
        for node in nodes {
            let Some(mut layer) = self.layer(view, node, from) else { continue };
            if !excluded.is_empty() {
                layer.accepted.retain(|it| !excluded.contains(&it.policy));
            }
            let stack = self.stacks.get(node).into_iter().flat_map(|stack| &stack.accepted);
            excluded.extend(stack.filter(|it| it.is_excluded()).map(|it| it.policy));
            layers.push(layer);
        }
        layers
    }

    fn layer(&self, view: EngineView<'_>, node: NodeId, from: Option<NodeId>) -> Option<Layer<'_>> {
        let it = view.topology.node(node)?;
        let mut layer = Layer {
            level: it.level,
            owner: it.owner,
            accepted: Vec::new(),
            rejected: Vec::new(),
            yields: &[],
            inheritance: self.inheritance(view, node),
        };
        if let Some(stack) = self.stacks.get(node) {
            let applies = |attachment: &Attachment| attachment.from.is_none() || attachment.from == from;
            layer.accepted.extend(stack.accepted.iter().filter(|it| applies(it) && !it.is_claim()));
            layer.yields = &stack.yields;
            layer.rejected.extend(stack.rejected.iter().filter(|it| applies(&it.attachment)));
        }
        Some(layer)
    }

    /// How policies of a route are inherited, according to its annotation.
    fn inheritance(&self, view: EngineView<'_>, node: NodeId) -> Option<Inheritance> {
        let DictatedBy::Annotation(annotation) = &self.kind.merging.dictated_by else { return None };
        let it = &view.topology[node];
        if !matches!(it.level, Level::Route | Level::RouteRule) {
            return None;
        }
        let (inherit, except) = annotation.preference_on(&view.objects[it.owner.object()?]);
        Some(Inheritance { inherit: inherit.clone(), except })
    }
}
