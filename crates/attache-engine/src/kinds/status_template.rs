//! The conditions by which a system reports the status of its policies.

use smol_str::SmolStr;

use super::LevelName;
use crate::document::{OneOrMany, OrderedMap, document, words};

document! {
    /// The conditions that report the status of policies.
    ///
    /// A reason or message can contain placeholders: `{kind}`, `{policy}`, `{reason}`, `{message}`, `{errors}`, `{by}` (the
    /// policies that override it), `{with}` (the higher policies that it is merged with), `{places}`, `{sections}`,
    /// `{targetKind}`, `{targetNamespace}`, `{target}`, `{section}`.
    pub struct StatusTemplate {
        /// The conditions of a policy. Of each type the first one that holds counts. `[]`: policies have no status.
        #[field("conditions", default = default_conditions(), unset = "`Accepted` and `Enforced`")]
        pub conditions: Vec<ConditionTemplate>,

        /// Levels whose policies are reported as if no policies were attached at other levels, and vice versa.
        #[field("apart")]
        pub apart: Vec<LevelName>,

        /// The condition of a target while policies are in force there.
        #[field("affected", default = AffectedTemplate::default(), unset = "type `attache.dev/{kind}Affected`")]
        pub affected: AffectedTemplate,
    }
}

document! {
    /// A condition of a policy.
    pub struct ConditionTemplate {
        /// The states of the policy, any of which must hold.
        #[field("when", required)]
        pub when: OneOrMany<PolicyState>,

        /// What the target must be: a kind, `Section`, `Listener`, `ListenerSetListener`, `RouteRule`, `BackendPort`, or `Chosen`
        /// (by labels or by its Namespace).
        #[field("target", unset = "any target")]
        pub targets: OneOrMany<SmolStr>,

        /// The type of the condition.
        #[field("type", required)]
        pub r#type: SmolStr,

        /// The status of the condition.
        #[field("status", default = ConditionStatus::True)]
        pub status: ConditionStatus,

        /// The reason of the condition.
        #[field("reason", required)]
        pub reason: SmolStr,

        /// The message of the condition.
        #[field("message")]
        pub message: SmolStr,

        /// What nodes are called in `{places}`: from what they are, as in `target`, to a name. Without any such node the
        /// condition does not hold.
        #[field("places")]
        pub places: OrderedMap<SmolStr, SmolStr>,
    }
}

document! {
    /// The condition of a target while policies are in force there.
    pub struct AffectedTemplate {
        /// The type of the condition.
        #[field("type", required)]
        pub r#type: SmolStr,

        /// The reason of the condition.
        #[field("reason", required)]
        pub reason: SmolStr,

        /// The message of the condition.
        #[field("message")]
        pub message: SmolStr,
    }
}

words! {
    /// The status of a condition.
    pub enum ConditionStatus {
        /// the condition holds.
        True = "True",
        /// it does not hold.
        False = "False",
    }
}

words! {
    /// A state of a policy. Several can hold at once.
    pub enum PolicyState {
        /// the policy is accepted.
        Accepted = "Accepted",
        /// it conflicts with another policy.
        Conflicted = "Conflicted",
        /// it is invalid.
        Invalid = "Invalid",
        /// a target does not exist.
        TargetNotFound = "TargetNotFound",
        /// a target is in a namespace that the policy must not refer to.
        RefNotPermitted = "RefNotPermitted",
        /// all of it is in force in every scope.
        Enforced = "Enforced",
        /// a part of it is in force.
        PartiallyEnforced = "PartiallyEnforced",
        /// other policies override all of it.
        Overridden = "Overridden",
        /// it is not in force, and no other policy overrides it.
        NotEnforced = "NotEnforced",
        /// other policies override all of it in at least one scope.
        OverriddenSomewhere = "OverriddenSomewhere",
        /// it is in force together with others in at least one scope.
        Merged = "Merged",
        /// it is in force together with a higher policy in at least one scope.
        MergedWithHigher = "MergedWithHigher",
        /// it is in force together with a lower policy in at least one scope.
        MergedWithLower = "MergedWithLower",
    }
}

impl Default for AffectedTemplate {
    fn default() -> Self {
        AffectedTemplate {
            r#type: "attache.dev/{kind}Affected".into(),
            reason: "Accepted".into(),
            message: "affected by {kind} [{by}]".into(),
        }
    }
}

fn default_conditions() -> Vec<ConditionTemplate> {
    use ConditionStatus::{False, True};
    use PolicyState::*;
    let condition = |when: &[PolicyState], r#type: &str, status, reason: &str, message: &str| ConditionTemplate {
        when: OneOrMany(when.to_vec()),
        targets: OneOrMany::default(),
        r#type: r#type.into(),
        status,
        reason: reason.into(),
        message: message.into(),
        places: OrderedMap::default(),
    };
    let refused = [Conflicted, Invalid, TargetNotFound, RefNotPermitted];
    vec![
        condition(&[Accepted], "Accepted", True, "Accepted", "{message}"),
        condition(&refused, "Accepted", False, "{reason}", "{errors}"),
        condition(&[Enforced], "Enforced", True, "Enforced", ""),
        condition(&[PartiallyEnforced], "Enforced", True, "PartiallyEnforced", "partly overridden by [{by}]"),
        condition(&[Overridden], "Enforced", False, "Overridden", "fully overridden by [{by}]"),
        condition(&[NotEnforced], "Enforced", False, "NotEnforced", "{message}"),
    ]
}
