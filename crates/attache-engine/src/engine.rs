//! All objects with everything that is computed from them.
//!
//! ```text
//! builder  objects, policy kinds and settings ─→ an engine
//! queries  the common questions, one call for each
//! ```

mod builder;
mod queries;
mod typed;

use std::sync::{Arc, OnceLock};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::attachment::{self, Attachment, AttachmentError, Attachments, Refusal};
use crate::engine_parts::EngineParts;
use crate::engine_view::EngineView;
use crate::kinds::{DictatedBy, KindId, PolicyKind, Registry, Settings};
use crate::model::Model;
use crate::models::Models;
use crate::object::{Object, ObjectRef, Objects};
use crate::order::{self, Stack};
use crate::policy::{Policies, Policy, PolicyId};
use crate::problem::Problem;
use crate::topology::api::{GATEWAY_API, RouteKind};
use crate::topology::{Level, NodeId, Topology};

pub use builder::EngineBuilder;
pub use queries::ScopedPolicy;
pub use typed::{SpecError, TypedEffective, TypedPolicy};

/// All objects with everything that is computed from them. A clone shares everything and is cheap.
///
/// The topology and the attachments are computed at once. Effective policies are computed when they are first asked for.
#[derive(Clone, Debug)]
pub struct Engine {
    parts: EngineParts,
    models: Models,
    /// What is wrong with the documents that describe policy kinds.
    kind_problems: Arc<[Problem]>,
    problems: OnceLock<Arc<[Problem]>>,
}

impl Engine {
    /// A builder for an engine. Without further calls it has no objects and the built-in policy kinds.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// Reads policies, builds the topology and attaches the policies to it.
    pub fn new(mut objects: Objects, built_in: &[PolicyKind], settings: Settings) -> Engine {
        let (kinds, kind_problems) = Registry::new(built_in, &objects, &settings);
        kinds.qualify_ambiguous(&mut objects);
        let policies = Policies::read(&objects, &kinds);
        let virtual_targets = attachment::virtual_targets(&objects, &kinds, &policies);
        let topology = Topology::with_links(&objects, &virtual_targets, kinds.links(), kinds.controllers());
        let attachments = attachment::attach(&objects, &topology, &kinds, &policies);
        Engine {
            models: Models::new(&kinds, &policies),
            parts: EngineParts { objects, kinds: Arc::new(kinds), policies, topology, attachments },
            kind_problems: kind_problems.into(),
            problems: OnceLock::new(),
        }
    }

    /// An engine from other parts, whose models are the same. Its problems may have other locations.
    pub(crate) fn with_equivalent_parts(&self, parts: EngineParts) -> Engine {
        self.with_parts(parts, self.models.clone())
    }

    /// The same engine with other models of its kinds.
    pub(crate) fn with_models(&self, models: Models) -> Engine {
        Engine {
            parts: self.parts.clone(),
            models,
            kind_problems: Arc::clone(&self.kind_problems),
            problems: self.problems.clone(),
        }
    }

    /// An engine of the same kinds from other parts.
    pub(crate) fn with_parts(&self, parts: EngineParts, models: Models) -> Engine {
        Engine { parts, models, kind_problems: Arc::clone(&self.kind_problems), problems: OnceLock::new() }
    }

    pub(crate) fn parts(&self) -> &EngineParts {
        &self.parts
    }

    pub(crate) fn all_models(&self) -> &Models {
        &self.models
    }

    /// All objects.
    pub fn objects(&self) -> &Objects {
        &self.parts.objects
    }

    /// The policy kinds.
    pub fn kinds(&self) -> &Registry {
        &self.parts.kinds
    }

    /// The nodes that policies can target, and their links.
    pub fn topology(&self) -> &Topology {
        &self.parts.topology
    }

    /// Which policies are attached to which nodes, and why others are not.
    pub fn attachments(&self) -> &Attachments {
        &self.parts.attachments
    }

    /// Problems of documents that describe kinds, and of annotations. Problems of a policy are in its status.
    pub fn problems(&self) -> &[Problem] {
        self.problems.get_or_init(|| {
            let mut problems = self.kind_problems.to_vec();
            problems.extend(self.parts.attachments.problems().cloned());
            problems.extend(order::ties(&self.parts.objects, &self.parts.kinds, &self.parts.policies));
            problems.extend(self.bad_annotations());
            problems.extend(self.topology().link_faults().iter().map(|fault| fault.problem(self.objects())));
            problems.into()
        })
    }

    /// Every policy, in the order of names.
    pub fn policies(&self) -> impl ExactSizeIterator<Item = (PolicyId, &Policy)> {
        let mut policies: Vec<(PolicyId, &Policy)> = self.parts.policies.iter().collect();
        policies.sort_by(|(a, _), (b, _)| self.policy_id(*a).cmp(self.policy_id(*b)));
        policies.into_iter()
    }

    /// The policy with this reference.
    pub fn find_policy(&self, id: &ObjectRef) -> Option<PolicyId> {
        self.parts.objects.find(id).map(PolicyId).filter(|policy| self.parts.policies.get(*policy).is_some())
    }

    /// A policy as the engine reads it: its targets and blocks.
    pub fn policy(&self, id: PolicyId) -> &Policy {
        &self.parts.policies[id]
    }

    /// The object of a policy.
    pub fn policy_object(&self, id: PolicyId) -> &Object {
        &self.parts.objects[id.0]
    }

    /// The identity of a policy.
    pub fn policy_id(&self, id: PolicyId) -> &ObjectRef {
        &self.policy_object(id).id
    }

    /// The objects, the topology and the policies, for questions to a [`Model`].
    pub fn view(&self) -> EngineView<'_> {
        self.parts.view()
    }

    /// Computes every effective policy.
    pub fn fold_all(&self) {
        self.models().par_iter().for_each(|model| model.fold_all(self.view()));
    }

    /// The models of all kinds that have policies, sorted by kind.
    pub fn models(&self) -> &[Model] {
        self.models.all(&self.parts)
    }

    /// The model of a kind, or of the kind that leads it. `None` if it has no policies.
    pub fn model(&self, kind: KindId) -> Option<&Model> {
        self.models.get(&self.parts, kind)
    }

    /// All models, restricted to some nodes and their dependencies. This is faster than building them for all nodes.
    pub fn models_at(&self, nodes: impl IntoIterator<Item = NodeId>) -> Vec<Model> {
        let Some(built) = self.models.built() else { return self.models_with_targets(nodes) };
        let is_backend = |node: &NodeId| matches!(self.topology()[*node].level, Level::Backend | Level::BackendPort);
        let backends: Arc<[NodeId]> = nodes.into_iter().filter(is_backend).collect();
        built.iter().map(|model| model.with_backends_among(&backends)).collect()
    }

    /// All models. Those that are not built yet are restricted to some nodes and their dependencies.
    pub fn models_with_targets(&self, nodes: impl IntoIterator<Item = NodeId>) -> Vec<Model> {
        self.models.restricted_to(&self.parts, || self.topology().leading_to(nodes).into(), |_| true)
    }

    /// Problems of annotations: routes with an invalid annotation for inheritance, and Gateways with one that has no
    /// effect.
    fn bad_annotations(&self) -> Vec<Problem> {
        let EngineParts { kinds, objects, .. } = &self.parts;
        let has_policies = |kind: KindId| {
            kinds.iter().any(|(id, it)| kinds.leader(id) == kind && !objects.of_kind(&it.group, &it.kind).is_empty())
        };
        let mut found: Vec<Problem> = Vec::new();
        for (id, kind) in kinds.iter() {
            let DictatedBy::Annotation(annotation) = &kind.merging.dictated_by else { continue };
            // Restricted models do not show which kinds have policies.
            if kinds.leader(id) != id || !has_policies(id) {
                continue;
            }
            let routes = objects.each_of_kind(GATEWAY_API, RouteKind::Http.name());
            found.extend(routes.filter_map(|(_, route)| annotation.check(route)));
            let gateways = objects.each_of_kind(GATEWAY_API, "Gateway");
            found.extend(gateways.filter_map(|(_, gateway)| annotation.check_gateway(gateway)));
        }
        found
    }

    /// Why a policy, or one of its targets, is not accepted: first reasons of its own, then conflicts with other
    /// policies.
    pub fn refusals(&self, policy: PolicyId) -> Vec<Refusal> {
        let attached = self.parts.attachments.for_policy(policy);
        let mut conflicts: Vec<Refusal> = self
            .rejections(policy)
            .map(|(node, rival)| {
                let (target, at) = (self.view().node_ref(node), self.view().node_ref(rival.node));
                let error = AttachmentError::Conflicted { winner: self.policy_id(rival.policy).clone(), target, at };
                Refusal { policy, target: None, error: Box::new(error) }
            })
            .collect();
        conflicts.sort_by_cached_key(|refusal| refusal.error.to_string());
        attached.refused.iter().cloned().chain(conflicts).collect()
    }

    /// The nodes at which a policy is rejected because of another policy, and that policy.
    pub fn rivals(&self, policy: PolicyId) -> impl Iterator<Item = (NodeId, PolicyId)> {
        self.rejections(policy).map(|(node, rival)| (node, rival.policy))
    }

    /// The nodes at which a policy is rejected, and the policies that it conflicts with, there or at another target.
    pub(crate) fn rejections(&self, policy: PolicyId) -> impl Iterator<Item = (NodeId, &Attachment)> {
        let rejected = self.stacks_of(policy).flat_map(|stack| &stack.rejected);
        let own = rejected.filter(move |it| it.attachment.policy == policy);
        own.flat_map(|it| it.rivals.iter().map(|rival| (it.attachment.node, rival)))
    }

    /// The stacks that contain a policy, each once.
    pub(crate) fn stacks_of(&self, policy: PolicyId) -> impl Iterator<Item = &Stack> {
        let stacks = self.parts.policies.get(policy).and_then(|it| self.models.stacks(&self.parts, it.kind));
        let mut nodes: Vec<NodeId> = self.parts.attachments.for_policy(policy).to.iter().map(|it| it.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes.into_iter().filter_map(move |node| stacks?.get(node))
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture;

    #[test]
    fn a_route_inherits_from_its_gateway() {
        let kind = fixture::kind("class: Inherited, hierarchy: [GatewayClass, Gateway, Listener, Route, RouteRule]");
        let policy = fixture::policy("p", "Gateway/g", "color: red");
        let engine = fixture::engine(&[fixture::ROUTED_SERVICE, &kind, &policy].concat());
        let model = &engine.models()[0];
        let mut scopes = Vec::new();
        for node in model.effective_targets(engine.view()) {
            model.scopes(engine.view(), node, &mut |scope| scopes.push(scope));
        }
        let names: Vec<Vec<String>> = scopes
            .iter()
            .map(|scope| scope.nodes.iter().map(|node| engine.topology().name(engine.objects(), *node)).collect())
            .collect();
        let rule = "HTTPRoute/default/r#rule-1";
        assert_eq!(
            names,
            [["GatewayClass/c", "Gateway/default/g", "Gateway/default/g#http", "HTTPRoute/default/r", rule]]
        );
        let effective = model.effective(engine.view(), scopes[0].chain);
        assert_eq!(effective.origins[0].path.to_string(), "color");
        assert_eq!(engine.policy_statuses()[0].enforcement.name(), "Enforced");
        assert_eq!(engine.target_statuses().len(), 4);
    }
}
