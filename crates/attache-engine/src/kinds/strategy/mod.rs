//! Merge strategies: what happens if two policies set the same value.
//!
//! Policies are folded one after the other. If a block sets a value that the policies folded before it set as well, its
//! strategy decides:
//!
//! ```text
//! result so far  ─→ held     ┐
//!                            ├─→ Overlap ─→ MergeStrategy::decide ─→ Decision ─→ value, origins, losses
//! the next block ─→ incoming ┘                                       (applied by the engine)
//! ```
//!
//! A strategy never touches origins or losses: the engine derives both from the [`Decision`]. The built-in strategies
//! and those of embedding programs implement the same trait.

mod built_in;
mod overlap;
mod registry;

use std::fmt;

use smol_str::SmolStr;

use crate::value::Value;

pub(crate) use built_in::OneLevelStrategy;
pub use overlap::Overlap;
pub(crate) use overlap::OverlapSide;
pub use registry::{Strategy, StrategyNameTaken, StrategyRegistry};

/// How a block of a policy is merged into the policies that were folded before it.
///
/// A strategy is registered by name, in a [`StrategyRegistry`], and used by every PolicyKind that lists the name in
/// `strategies`.
///
/// # Example
///
/// A strategy that adds up numbers. The sum has two origins, one for each policy.
///
/// ```
/// use attache_engine::Engine;
/// use attache_engine::kinds::{Decision, MergeStrategy, Overlap, Settings};
/// use attache_engine::Objects;
/// use attache_engine::text;
/// use attache_engine::Value;
///
/// #[derive(Debug)]
/// struct Sum;
///
/// impl MergeStrategy for Sum {
///     fn name(&self) -> &str {
///         "sum"
///     }
///
///     fn decide(&self, overlap: &Overlap<'_>) -> Decision {
///         match (overlap.held(), overlap.incoming()) {
///             (Value::Map(_), Value::Map(_)) => Decision::Fields,
///             (Value::Int(held), Value::Int(incoming)) => Decision::Combine(Value::Int(held + incoming)),
///             _ => overlap.preferred(),
///         }
///     }
/// }
///
/// let mut settings = Settings::default();
/// settings.strategies.register(Sum)?;
/// let manifests = "
/// apiVersion: attache.dev/v1alpha1
/// kind: PolicyKind
/// metadata: {name: quotas.example.io}
/// spec: {group: example.io, kind: Quota, hierarchy: [Gateway, Route], strategies: [sum]}
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
/// ---
/// apiVersion: example.io/v1
/// kind: Quota
/// metadata: {name: for-all, namespace: shop}
/// spec: {targetRef: {kind: Gateway, name: web}, requests: 100}
/// ---
/// apiVersion: example.io/v1
/// kind: Quota
/// metadata: {name: for-cart, namespace: shop}
/// spec: {targetRef: {kind: HTTPRoute, name: cart}, requests: 20}
/// ";
/// let objects = Objects::new(text::read(&"shop.yaml".into(), manifests).objects);
/// let engine = Engine::new(objects, &[], settings);
/// let model = &engine.models()[0];
/// let (chain, _) = model.scope_counts(engine.view())[0];
/// let effective = model.effective(engine.view(), chain);
/// assert_eq!(serde_json::to_string(&effective.spec)?, r#"{"requests":120}"#);
/// let origins: Vec<&str> = effective.origins.iter().map(|it| engine.policy_id(it.policy).name.as_str()).collect();
/// assert_eq!(origins, ["for-cart", "for-all"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait MergeStrategy: fmt::Debug + Send + Sync {
    /// The name by which PolicyKinds and blocks of policies refer to the strategy.
    fn name(&self) -> &str;

    /// Decides what happens at a path where both sides have a value.
    ///
    /// The engine asks at the root first, and for parts if the decision is [`Decision::Fields`] or
    /// [`Decision::MatchItems`]. If only one side has a value, the engine takes it without asking.
    fn decide(&self, overlap: &Overlap<'_>) -> Decision;

    /// The unit in which origins and losses are reported, if the kind declares no `rules`.
    fn granularity(&self) -> Granularity {
        Granularity::Leaf
    }

    /// Which policies of a chain take part in the effective policy.
    fn participation(&self) -> Participation {
        Participation::Merged
    }

    /// Whether policies of a kind with this strategy have `defaults`, bare rules and `overrides`. If one strategy of a
    /// kind returns false, each policy of the kind is a single block.
    fn allows_blocks(&self) -> bool {
        true
    }
}

/// What happens at a path where both sides have a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The held value stays. The incoming one is superseded.
    Keep,
    /// The incoming value replaces the held one, which is superseded.
    Take,
    /// Both become this value. Its origins are those of both, and nothing is superseded. At the root the value must be
    /// a map; otherwise [`Overlap::preferred`] applies.
    Combine(Value),
    /// Both are maps and are merged field by field: the engine takes a field of one side, and asks about a field of
    /// both. If one is not a map, [`Overlap::preferred`] applies.
    Fields,
    /// Both are lists, whose items are matched by this field: the engine asks about items with the same value, and
    /// appends other incoming items. If one is not a list, [`Overlap::preferred`] applies.
    MatchItems(SmolStr),
    /// The lists are concatenated; any other value counts as a list of one. Each item keeps its origin.
    Concatenate {
        /// Whether the incoming items come first.
        incoming_first: bool,
    },
}

/// The unit in which origins and losses are reported, if a kind declares no `rules`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Granularity {
    /// Each scalar, list and empty map.
    Leaf,
    /// Each top-level field that is not a map, and each entry of a top-level map.
    Entry,
    /// Each top-level field.
    Field,
}

/// Which policies of a chain take part in the effective policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Participation {
    /// Each block is merged into those below it.
    Merged,
    /// Only the most specific policy, even if it sets nothing. For policies with `defaults` and `overrides` blocks,
    /// this is the same as [`Participation::Merged`].
    MostSpecific,
    /// The policies at one level are merged, and the result is merged into those below.
    MergedByLevel,
    /// Each policy applies separately, one after the other. Nothing is merged.
    All,
}
