//! What differs between two states of the same objects.
//!
//! ```text
//! two engines ─→ effective   which scopes have another effective policy
//!             │     └ leaves   which of its values differ, and who sets them
//!             │     └ impact   how many routes and backends are in those scopes
//!             └→ status      which policies have another status, and which targets are affected by other policies
//! ```
//!
//! Ids of nodes and policies belong to one engine. Changes therefore hold references ([`NodeRef`], [`ObjectRef`]), which
//! mean the same on both sides. They are written as text only where they are shown.

mod effective;
mod impact;
mod leaves;
mod status;

use std::fmt;
use std::sync::Arc;

use crate::fold::EffectivePolicy;
use crate::object::{GroupKind, ObjectRef};
use crate::status::PolicyStatus;
use crate::topology::{NodeId, NodeRef};
use crate::value::{Path, Value};

pub use crate::model::ScopeRef;
pub(crate) use effective::{changes_at, changes_of_targets, effective_changes};
pub(crate) use impact::AffectedObjects;
pub use impact::Impact;
pub(crate) use leaves::leaf_changes;
pub(crate) use status::{AffectedTargets, same_status, status_changes, target_changes};

/// Scopes whose effective policy changed.
#[derive(Clone, Debug)]
pub struct EffectiveChange {
    /// The kind of the policies.
    pub policy_kind: GroupKind,
    /// The scopes, sorted. Each leads from its root to its effective target.
    pub scopes: Vec<ScopeRef>,
    /// The effective policy before the change. `None` where the scope did not exist, or had no policy.
    pub before: Option<Arc<EffectivePolicy>>,
    /// The effective policy after the change. `None` where the scope no longer exists, or has no policy.
    pub after: Option<Arc<EffectivePolicy>>,
    /// The values that differ, sorted by path. Empty if the same policies apply in a different order.
    pub leaves: Vec<LeafChange>,
}

/// The same changes as a list of [`EffectiveChange`], as far as possible by target and not by scope: a target can have very
/// many scopes, and most targets change as a whole.
#[derive(Clone, Debug, Default)]
pub struct EffectiveOutline {
    /// Targets that have the same scopes before and after the change, and whose effective policy changed in all of them.
    /// No target occurs twice.
    pub targets: Vec<ChangedTargets>,
    /// The scopes that end at other targets.
    pub scopes: Vec<EffectiveChange>,
}

/// Effective targets whose effective policy changed in the same way.
#[derive(Clone, Debug)]
pub struct ChangedTargets {
    /// The kind of the policies.
    pub policy_kind: GroupKind,
    /// The targets. Their ids mean the same before and after the change.
    pub targets: Vec<NodeId>,
    /// The number of scopes that end at them.
    pub scopes: u64,
    /// The values that differ, sorted by path. Empty if the same policies apply in a different order.
    pub leaves: Vec<LeafChange>,
}

/// A value of an effective policy, before and after the change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeafChange {
    /// Where the value is.
    pub path: LeafPath,
    /// The value before the change. `None` means that it was not set.
    pub before: Option<Leaf>,
    /// The value after the change. `None` means that it is not set.
    pub after: Option<Leaf>,
}

/// Where a value of an effective policy is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeafPath {
    /// A field of the merged spec.
    Field(Path),
    /// The spec of one policy, for kinds whose policies all apply.
    Policy(ObjectRef),
}

impl fmt::Display for LeafPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeafPath::Field(path) => path.fmt(f),
            LeafPath::Policy(policy) => Path::default().key(policy.to_string()).fmt(f),
        }
    }
}

/// A value and the policies that set it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leaf {
    /// The value.
    pub value: Value,
    /// The policies that set the value. Several, sorted, if each sets a part of it; none if no policy sets it.
    pub policies: Vec<ObjectRef>,
}

/// A policy whose status changed, or that exists on one side only.
#[derive(Clone, Debug)]
pub struct StatusChange {
    /// The policy.
    pub policy: ObjectRef,
    /// Its status before the change. `None` if the policy is new.
    pub before: Option<PolicyStatus>,
    /// Its status after the change. `None` if the policy was deleted.
    pub after: Option<PolicyStatus>,
}

impl StatusChange {
    /// Whether the refusal or the enforcement of the policy changed. If not, only the number of scopes or the message
    /// differs.
    pub fn is_significant(&self) -> bool {
        let summary = |status: &Option<PolicyStatus>| status.as_ref().map(|it| (it.refused, it.enforcement));
        summary(&self.before) != summary(&self.after)
    }
}

/// A target whose affecting policies changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetChange {
    /// The target.
    pub target: NodeRef,
    /// The policies that affected the target before the change, sorted.
    pub before: Vec<ObjectRef>,
    /// The policies that affect the target after the change, sorted.
    pub after: Vec<ObjectRef>,
}
