//! From objects to answers: everything that is worked out, in one place.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::attachment::{self, Attachments, Reason, Refusal};
use crate::chain::{Hierarchy, Shape};
use crate::kinds::{DictatedBy, KindId, PolicyKind, Registry, Settings};
use crate::model::{Model, World};
use crate::object::{Object, ObjectRef, Objects};
use crate::order::{self, stacks};
use crate::policy::{self, Policy, PolicyId};
use crate::problem::Problem;
use crate::topology::Topology;

#[derive(Debug)]
pub struct Engine {
    objects: Objects,
    kinds: Registry,
    policies: Vec<Policy>,
    topology: Topology,
    attachments: Attachments,
    models: Vec<Model>,
    problems: Vec<Problem>,
}

impl Engine {
    /// Works out the topology and all chains. What the chains come to is worked out when somebody asks.
    pub fn new(objects: Objects, built_in: &[PolicyKind], settings: Settings) -> Engine {
        let (kinds, mut problems) = Registry::new(built_in, &objects, settings);
        let policies = policy::read_all(&objects, &kinds);
        let virtual_targets = attachment::virtual_targets(&objects, &kinds, &policies);
        let topology = Topology::build(&objects, &virtual_targets);
        let mut attachments = attachment::attach(&objects, &topology, &kinds, &policies);
        problems.append(&mut attachments.problems);
        problems.extend(order::ties(&objects, &kinds, &policies));
        let mut engine = Engine { objects, kinds, policies, topology, attachments, models: Vec::new(), problems };
        engine.models = engine.build_models();
        let warnings = engine.bad_annotations();
        engine.problems.extend(warnings);
        let rejected = engine.rejected();
        engine.attachments.refused.extend(rejected);
        engine
    }

    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    pub fn kinds(&self) -> &Registry {
        &self.kinds
    }

    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    pub fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    /// What is wrong with the documents that describe kinds, and the like. What is wrong with a policy is in its status.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    pub fn policies(&self) -> impl ExactSizeIterator<Item = (PolicyId, &Policy)> {
        self.policies.iter().enumerate().map(|(i, policy)| (PolicyId(i as u32), policy))
    }

    pub fn policy(&self, id: PolicyId) -> &Policy {
        &self.policies[id.0 as usize]
    }

    /// The object that a policy is.
    pub fn policy_object(&self, id: PolicyId) -> &Object {
        self.objects.get(self.policy(id).object)
    }

    pub fn policy_id(&self, id: PolicyId) -> &ObjectRef {
        &self.policy_object(id).id
    }

    /// The kinds of which there are policies, sorted.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    pub fn model(&self, kind: KindId) -> Option<&Model> {
        let leader = self.kinds.leader(kind);
        self.models.iter().find(|model| model.id == leader)
    }

    pub fn world(&self) -> World<'_> {
        World { objects: &self.objects, topology: &self.topology, policies: &self.policies }
    }

    /// Works out every effective policy there is.
    pub fn fold_all(&self) {
        for model in &self.models {
            model.fold_all(self.world());
        }
    }

    fn build_models(&self) -> Vec<Model> {
        let led: HashSet<KindId> = self.policies.iter().map(|policy| self.kinds.leader(policy.kind)).collect();
        let mut hierarchies: HashMap<Shape<'_>, Arc<Hierarchy>> = HashMap::new();
        let kinds = self.kinds.iter().filter(|(id, _)| led.contains(id));
        let kinds: Vec<(KindId, &PolicyKind, Arc<Hierarchy>)> = kinds
            .map(|(id, kind)| {
                let hierarchy = hierarchies
                    .entry(kind.shape())
                    .or_insert_with_key(|shape| Arc::new(Hierarchy::new(&self.objects, &self.topology, *shape)));
                (id, kind, Arc::clone(hierarchy))
            })
            .collect();
        let model = |(id, kind, hierarchy)| {
            let stacks = stacks(&self.objects, &self.kinds, id, &self.policies, &self.attachments.attached);
            Model::new(self.world(), id, kind, hierarchy, stacks)
        };
        kinds.into_par_iter().map(model).collect()
    }

    /// The routes that should say how policies are inherited, and say something else.
    fn bad_annotations(&self) -> Vec<Problem> {
        let mut found: Vec<Problem> = Vec::new();
        for model in &self.models {
            if let DictatedBy::Annotation(annotation) = &model.kind.dictated_by {
                let routes = self.objects.each("gateway.networking.k8s.io", "HTTPRoute");
                found.extend(routes.filter_map(|(_, route)| annotation.check(route)));
            }
        }
        found
    }

    /// The policies that are not accepted because of another one.
    fn rejected(&self) -> Vec<Refusal> {
        let mut refused = Vec::new();
        for model in &self.models {
            for (loser, winner) in model.stacks().values().flat_map(|stack| &stack.rejected) {
                let target = self.topology.name(&self.objects, loser.node);
                let message = format!("{} has attached to {target} before it", self.policy_id(winner.policy));
                refused.push(Refusal { policy: loser.policy, target: None, reason: Reason::Conflicted, message });
            }
        }
        refused.sort_by(|a, b| (a.policy, &a.message).cmp(&(b.policy, &b.message)));
        refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::built_in;
    use crate::text;

    fn engine(yaml: &str) -> Engine {
        let reading = text::read(&Arc::from("test.yaml"), yaml);
        assert!(reading.problems.is_empty(), "{:?}", reading.problems);
        Engine::new(Objects::new(reading.objects), &built_in().0, Settings::default())
    }

    #[test]
    fn a_route_inherits_from_its_gateway() {
        let engine = engine(
            "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: default}
spec: {gatewayClassName: c, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: default}
spec: {parentRefs: [{name: gw}], rules: [{}]}
---
apiVersion: kuadrant.io/v1
kind: RateLimitPolicy
metadata: {name: p, namespace: default}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: gw}
  limits: {a: {rates: [{limit: 5, window: 10s}]}}
",
        );
        let model = &engine.models()[0];
        let mut scopes = Vec::new();
        for node in model.effective_targets(engine.world()) {
            model.scopes(engine.world(), node, &mut |scope| scopes.push(scope));
        }
        let names: Vec<Vec<String>> = scopes
            .iter()
            .map(|scope| scope.nodes.iter().map(|node| engine.topology().name(engine.objects(), *node)).collect())
            .collect();
        let rule = "HTTPRoute/default/r#rule-1";
        assert_eq!(
            names,
            [["GatewayClass/c", "Gateway/default/gw", "Gateway/default/gw#http", "HTTPRoute/default/r", rule]]
        );
        let effective = model.effective(engine.world(), scopes[0].chain);
        assert_eq!(effective.origins[0].path.to_string(), "limits.a");
        assert_eq!(engine.policy_statuses()[0].enforcement.name(), "Enforced");
        assert_eq!(engine.target_statuses().len(), 4);
    }
}
