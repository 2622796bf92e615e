//! The common questions, one call for each.

use std::sync::Arc;

use super::Engine;
use crate::chain::ChainId;
use crate::fold::EffectivePolicy;
use crate::model::{Model, ScopeRef};
use crate::object::GroupKind;
use crate::topology::{NodeId, NodeRef};

/// The effective policy of one kind in one scope.
#[derive(Clone, Debug)]
pub struct ScopedPolicy {
    /// The kind of the policies.
    pub policy_kind: GroupKind,
    /// The path from a root to the node that the effective policy is for.
    pub scope: ScopeRef,
    /// The effective policy, with the origin of each value. Scopes with the same policies share it.
    pub effective: Arc<EffectivePolicy>,
}

impl Engine {
    /// The node with this reference. For a Service that is also the parent of routes, it is the node of the backend.
    pub fn find_node(&self, node: &NodeRef) -> Option<NodeId> {
        let (objects, topology) = (self.objects(), self.topology());
        let whole = topology.find(objects, &node.object)?;
        match &node.section {
            None => Some(whole),
            Some(_) => topology.sections(whole).find(|section| topology[*section].section == node.section),
        }
    }

    /// The effective policies at a node: one for each policy kind and scope that ends at the node and has policies.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use attache_engine::{Engine, ObjectRef};
    /// use attache_engine::text;
    /// use attache_engine::NodeRef;
    ///
    /// let manifests = "
    /// apiVersion: gateway.networking.k8s.io/v1
    /// kind: Gateway
    /// metadata: {name: main, namespace: infra}
    /// spec: {gatewayClassName: c, listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}
    /// ---
    /// apiVersion: gateway.networking.k8s.io/v1
    /// kind: HTTPRoute
    /// metadata: {name: cakes, namespace: baker}
    /// spec: {parentRefs: [{name: main, namespace: infra}], rules: [{}]}
    /// ---
    /// apiVersion: attache.dev/v1alpha1
    /// kind: PolicyKind
    /// metadata: {name: timeoutpolicies.example.io}
    /// spec: {group: example.io, kind: TimeoutPolicy, class: Inherited, effectiveTarget: Route}
    /// ---
    /// apiVersion: example.io/v1
    /// kind: TimeoutPolicy
    /// metadata: {name: patient, namespace: infra}
    /// spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: main}, timeout: 10s}
    /// ";
    /// let reading = text::read(&Arc::from("manifests.yaml"), manifests);
    /// let engine = Engine::builder().objects(reading.objects).build();
    ///
    /// let cakes = NodeRef::from(ObjectRef::new("gateway.networking.k8s.io", "HTTPRoute", "baker", "cakes"));
    /// let policies = engine.effective_policies(&cakes);
    /// assert_eq!(policies.len(), 1);
    /// assert_eq!(policies[0].policy_kind.to_string(), "TimeoutPolicy.example.io");
    /// let origin = &policies[0].effective.origins[0];
    /// assert_eq!(origin.path.to_string(), "timeout");
    /// assert_eq!(engine.policy_id(origin.policy).to_string(), "TimeoutPolicy/infra/patient");
    ///
    /// // One path leads from the Gateway to the route.
    /// let gateway = NodeRef::from(ObjectRef::new("gateway.networking.k8s.io", "Gateway", "infra", "main"));
    /// let paths = engine.paths(&gateway, &cakes);
    /// let names: Vec<String> = paths[0].iter().map(ToString::to_string).collect();
    /// assert_eq!(names, ["Gateway/infra/main", "Gateway/infra/main#http", "HTTPRoute/baker/cakes"]);
    ///
    /// let patient = ObjectRef::new("example.io", "TimeoutPolicy", "infra", "patient");
    /// assert_eq!(engine.status(&patient).unwrap().enforcement.name(), "Enforced");
    /// ```
    pub fn effective_policies(&self, node: &NodeRef) -> Vec<ScopedPolicy> {
        let Some(node) = self.find_node(node) else { return Vec::new() };
        let nodes: Vec<NodeId> = [node].into_iter().chain(self.topology().same_named(node)).collect();
        let models = self.models().iter();
        models.flat_map(|model| nodes.iter().flat_map(|node| self.scoped_policies(model, *node))).collect()
    }

    /// The effective policies at the effective targets of all kinds, in all scopes that have policies. There can be very
    /// many scopes.
    pub fn all_effective_policies(&self) -> impl Iterator<Item = ScopedPolicy> + '_ {
        self.fold_all();
        self.models().iter().flat_map(move |model| {
            model.effective_targets(self.view()).flat_map(move |node| self.scoped_policies(model, node))
        })
    }

    fn scoped_policies(&self, model: &Model, node: NodeId) -> Vec<ScopedPolicy> {
        let mut found = Vec::new();
        model.scopes(self.view(), node, &mut |scope| {
            if scope.chain != ChainId::EMPTY {
                let effective = Arc::clone(model.effective(self.view(), scope.chain));
                let scope = scope.reference(self.view());
                found.push(ScopedPolicy { policy_kind: model.group_kind(), scope, effective });
            }
        });
        found
    }

    /// All paths from one node down to another along the links of the topology, both nodes included. Policy kinds can leave
    /// out nodes of a path: the scopes of one kind are in [`Engine::effective_policies`].
    pub fn paths(&self, from: &NodeRef, to: &NodeRef) -> Vec<Vec<NodeRef>> {
        let (Some(from), Some(to)) = (self.find_node(from), self.find_node(to)) else { return Vec::new() };
        let mut found = Vec::new();
        self.climb(from, &mut vec![to], &mut found);
        found
    }

    /// Extends a path, which is given from its end, up to the node `top`.
    fn climb(&self, top: NodeId, path: &mut Vec<NodeId>, found: &mut Vec<Vec<NodeRef>>) {
        let Some(&node) = path.last() else { return };
        if node == top {
            found.push(path.iter().rev().map(|node| self.view().node_ref(*node)).collect());
            return;
        }
        for &parent in self.topology().parents(node) {
            path.push(parent);
            self.climb(top, path, found);
            path.pop();
        }
    }
}
