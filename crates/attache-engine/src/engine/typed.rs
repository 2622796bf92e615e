//! Policies as Rust types.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Engine, ScopedPolicy};
use crate::fold::EffectivePolicy;
use crate::object::{Object, ObjectError};
use crate::topology::NodeRef;

/// A policy as a Rust type: it goes into the engine as an [`Object`], and the effective policy comes out as its `Spec`.
///
/// Any type that serde writes as a whole Kubernetes object fits, such as one that kube's `CustomResource` derives.
///
/// ```
/// use attache_engine::{Engine, ObjectRef, TypedPolicy};
/// use attache_engine::text;
/// use attache_engine::NodeRef;
/// use serde::{Deserialize, Serialize};
/// use serde_json::{Value, json};
///
/// #[derive(Serialize)]
/// #[serde(rename_all = "camelCase")]
/// struct TimeoutPolicy {
///     api_version: &'static str,
///     kind: &'static str,
///     metadata: Value,
///     spec: TimeoutSpec,
/// }
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct TimeoutSpec {
///     #[serde(default, skip_deserializing)]
///     target_ref: Value,
///     seconds: u32,
/// }
///
/// impl TypedPolicy for TimeoutPolicy {
///     const GROUP: &'static str = "example.io";
///     const KIND: &'static str = "TimeoutPolicy";
///     type Spec = TimeoutSpec;
/// }
///
/// let manifests = "
/// apiVersion: attache.dev/v1alpha1
/// kind: PolicyKind
/// metadata: {name: timeoutpolicies.example.io}
/// spec: {group: example.io, kind: TimeoutPolicy, hierarchy: [Gateway, Route], effectiveTarget: Route}
/// ---
/// apiVersion: gateway.networking.k8s.io/v1
/// kind: Gateway
/// metadata: {name: web, namespace: shop}
/// spec: {gatewayClassName: c, listeners: [{name: http, port: 80, protocol: HTTP}]}
/// ---
/// apiVersion: gateway.networking.k8s.io/v1
/// kind: HTTPRoute
/// metadata: {name: cart, namespace: shop}
/// spec: {parentRefs: [{name: web}]}
/// ";
/// let policy = TimeoutPolicy {
///     api_version: "example.io/v1",
///     kind: TimeoutPolicy::KIND,
///     metadata: json!({"name": "patient", "namespace": "shop"}),
///     spec: TimeoutSpec {
///         target_ref: json!({"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "web"}),
///         seconds: 10,
///     },
/// };
/// let objects = text::read(&"shop.yaml".into(), manifests).objects;
/// let engine = Engine::builder().objects(objects).objects([policy.to_object()?]).build();
///
/// let cart = NodeRef::from(ObjectRef::new("gateway.networking.k8s.io", "HTTPRoute", "shop", "cart"));
/// let effective = engine.effective_policies_as::<TimeoutPolicy>(&cart)?;
/// assert_eq!(effective.len(), 1);
/// assert_eq!(effective[0].spec.as_ref().map(|spec| spec.seconds), Some(10));
/// assert_eq!(effective[0].policy.scope.target(), Some(&cart));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait TypedPolicy: Serialize + Sized {
    /// The API group of the policy kind.
    const GROUP: &'static str;
    /// The kind.
    const KIND: &'static str;
    /// The type of an effective spec. A merge can leave out values that a single policy must have, so its fields should
    /// be `Option`.
    type Spec: DeserializeOwned;

    /// The policy as an object for the engine.
    ///
    /// # Errors
    ///
    /// If the type does not serialize to a Kubernetes object.
    fn to_object(&self) -> Result<Object, ObjectError> {
        Object::from_serialize(self)
    }
}

/// An effective policy with its spec as a Rust type.
#[derive(Clone, Debug)]
pub struct TypedEffective<S> {
    /// The effective policy and its scope.
    pub policy: ScopedPolicy,
    /// The spec; `None` if nothing is in force.
    pub spec: Option<S>,
}

/// The effective spec does not fit the Rust type.
#[derive(Debug)]
pub struct SpecError(serde_json::Error);

impl std::fmt::Display for SpecError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the effective policy does not fit its type: {}", self.0)
    }
}

impl std::error::Error for SpecError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl EffectivePolicy {
    /// The effective spec as a Rust type; `None` if nothing is in force, or if all policies of the kind apply.
    ///
    /// # Errors
    ///
    /// If the spec does not fit the type.
    pub fn spec_as<T: DeserializeOwned>(&self) -> Result<Option<T>, SpecError> {
        let spec = self.spec.as_ref().map(|spec| serde_json::to_value(spec).and_then(serde_json::from_value));
        spec.transpose().map_err(SpecError)
    }
}

impl Engine {
    /// The effective policies of one kind at a node, as [`Engine::effective_policies`], with their specs as Rust types.
    ///
    /// # Errors
    ///
    /// If one of the specs does not fit the type.
    pub fn effective_policies_as<P: TypedPolicy>(
        &self,
        node: &NodeRef,
    ) -> Result<Vec<TypedEffective<P::Spec>>, SpecError> {
        let policies = self.effective_policies(node).into_iter();
        let of_kind = policies.filter(|it| it.policy_kind.group == P::GROUP && it.policy_kind.kind == P::KIND);
        of_kind.map(|policy| Ok(TypedEffective { spec: policy.effective.spec_as()?, policy })).collect()
    }
}
