//! A chain as the layers that the fold takes.

use super::Model;
use crate::attachment::Attachment;
use crate::chain::{ChainId, Link};
use crate::engine_view::EngineView;
use crate::fold::{EffectivePolicy, FoldInput, FoldTrace, Inheritance, Layer, fold, trace};
use crate::kinds::DictatedBy;
use crate::topology::{Level, NodeId};
use crate::value::Value;

impl Model {
    pub(super) fn fold(&self, view: EngineView<'_>, chain: ChainId, own: Option<&Value>) -> EffectivePolicy {
        fold(self.fold_input(view, chain, &self.layers(view, chain), own))
    }

    /// How the effective policy of a chain is merged, block by block. `own` is a value that the target itself sets.
    pub fn trace(&self, view: EngineView<'_>, chain: ChainId, own: Option<&Value>) -> FoldTrace {
        let model = self.with_chain(chain);
        trace(model.fold_input(view, chain, &model.layers(view, chain), own))
    }

    fn fold_input<'a>(
        &'a self,
        view: EngineView<'a>,
        chain: ChainId,
        layers: &'a [Layer<'a>],
        own: Option<&'a Value>,
    ) -> FoldInput<'a> {
        let context = self.chains.context(chain);
        FoldInput { kind: &self.kind, units: &self.units, policies: view.policies, layers, context, own }
    }

    /// The layers of a chain, lowest first: one for each node that has policies. After an update a chain may still name
    /// nodes that were removed: no scope has such a chain, and those nodes have no layer.
    pub fn layers(&self, view: EngineView<'_>, chain: ChainId) -> Vec<Layer<'_>> {
        let chains = &self.with_chain(chain).chains;
        let from = chains.from(chain);
        let nodes = chains.links(chain).filter_map(Link::node);
        nodes.filter_map(|node| self.layer(view, node, from)).collect()
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
            layer.accepted.extend(stack.accepted.iter().filter(|it| applies(it)));
            layer.yields = &stack.yields;
            layer.rejected.extend(stack.rejected.iter().filter(|(it, _)| applies(it)).map(|(a, b)| (a, b)));
        }
        Some(layer)
    }

    /// How the annotation of a route says that its policies are inherited.
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
