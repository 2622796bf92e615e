//! The conditions by which a system reports the status of its policies.

use smol_str::SmolStr;

use super::LevelName;
use crate::document::{OneOrMany, OrderedMap, document, words};

document! {
    /// The conditions that report the status of policies.
    ///
    /// A type, reason or message can contain placeholders: `{kind}`, `{policy}`, `{reason}`, `{message}`, `{errors}`, `{by}`
    /// (the policies that override it), `{gateways}` (those whose controllers do not handle it), `{superseded}` (which parts of it, by which policies), `{with}` (the higher policies
    /// that it is merged with), `{places}`, `{sections}`, `{targetKind}`, `{targetNamespace}`, `{target}`, `{section}`, `{targetRef}` (the target with its section), `{otherRoute}` (for `TargetConflict`),
    /// `{domain}` (that of `controllerName`).
    pub struct StatusTemplate {
        /// The conditions of a policy. Of each type the first one that holds counts. `[]`: policies have no status.
        #[field("conditions", default = default_conditions(), unset = "`Accepted` and `Enforced`")]
        pub conditions: Vec<ConditionTemplate>,

        /// The name of the controller in `status.ancestors`. Its domain is that of the condition of targets.
        #[field("controllerName", unset = "that of the GatewayClass; the domain is `attache.dev`")]
        pub controller_name: Option<SmolStr>,

        /// Levels whose nodes are ancestors themselves if a policy targets them.
        #[field("ancestors", unset = "the ancestors are the Gateways and mesh Services above a target")]
        pub ancestors: Vec<LevelName>,

        /// What the ancestors of a policy are that targets a route or a rule.
        #[field("routeAncestors", default = RouteAncestors::Gateways)]
        pub route_ancestors: RouteAncestors,

        /// Whether one refused target makes the policy not accepted for an ancestor, even if another target below the same
        /// ancestor is accepted.
        #[field("refusedByOneTarget")]
        pub refused_by_one_target: bool,

        /// What `Overridden` and `Merged` are reported for.
        #[field("relations", default = PolicyRelations::Scopes)]
        pub relations: PolicyRelations,

        /// Levels whose policies are reported as if no policies were attached at other levels, and vice versa.
        #[field("apart")]
        pub apart: Vec<LevelName>,

        /// Whose status `attache controller` writes.
        #[field("write", unset = "`All` for a PolicyKind in the cluster, `None` for a built-in one")]
        pub write: Option<StatusWrite>,

        /// The condition of a target while policies are in force there.
        #[field("affected", default = AffectedTemplate::default(), unset = "type `{domain}/{kind}Affected`")]
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

        /// Whether the condition of an ancestor is reported for each of its listeners on which it holds.
        #[field("perListener")]
        pub per_listener: bool,

        /// What nodes are called in `{places}`: from what they are, as in `target`, to a name. Without any such node the
        /// condition does not hold.
        #[field("places")]
        pub places: OrderedMap<SmolStr, SmolStr>,
    }
}

words! {
    /// What the ancestors of a policy are that targets a route or a rule.
    pub enum RouteAncestors {
        /// the Gateways that the route is attached to.
        Gateways = "Gateways",
        /// what the parentRefs of the route name: Gateways, ListenerSets and listeners, even if the route is not attached.
        ParentRefs = "ParentRefs",
    }
}

words! {
    /// What `Overridden` and `Merged` are reported for.
    pub enum PolicyRelations {
        /// for policies that meet in a scope.
        Scopes = "Scopes",
        /// for policies whose targets are below each other, even if no request meets both.
        Targets = "Targets",
    }
}

words! {
    /// Whose status `attache controller` writes.
    pub enum StatusWrite {
        /// that of policies, and of what they affect.
        All = "All",
        /// that of policies.
        Policies = "Policies",
        /// that of what policies affect.
        Targets = "Targets",
        /// nobody's.
        Nothing = "None",
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

        /// Whether only targets of policies have the condition, and not what is below them.
        #[field("targetsOnly")]
        pub targets_only: bool,
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
        /// it is accepted, but not on all of its targets.
        PartlyAccepted = "PartlyAccepted",
        /// it conflicts with another policy.
        Conflicted = "Conflicted",
        /// it is invalid.
        Invalid = "Invalid",
        /// a target does not exist.
        TargetNotFound = "TargetNotFound",
        /// a target is in a namespace that the policy must not refer to.
        RefNotPermitted = "RefNotPermitted",
        /// a target has the same hostname and path as another route: see `ownPaths`.
        TargetConflict = "TargetConflict",
        /// all of it is in force in every scope.
        Enforced = "Enforced",
        /// a part of it is in force.
        PartiallyEnforced = "PartiallyEnforced",
        /// other policies override all of it.
        Overridden = "Overridden",
        /// it is not in force, and no other policy overrides it.
        NotEnforced = "NotEnforced",
        /// the Gateways of the policy belong to controllers that do not handle it. It then has no other conditions.
        NotHandled = "NotHandled",
        /// it is not in force because its condition holds nowhere.
        ConditionFalse = "ConditionFalse",
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

impl StatusTemplate {
    /// The domain of conditions on targets: that of the controller's name.
    pub fn domain(&self) -> &str {
        let domain = self.controller_name.as_deref().and_then(|name| name.split('/').next());
        domain.filter(|domain| !domain.is_empty()).unwrap_or("attache.dev")
    }
}

impl Default for AffectedTemplate {
    fn default() -> Self {
        AffectedTemplate {
            r#type: "{domain}/{kind}Affected".into(),
            reason: "Accepted".into(),
            message: "affected by {kind} [{by}]".into(),
            targets_only: false,
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
        per_listener: false,
        places: OrderedMap::default(),
    };
    let refused = [Conflicted, Invalid, TargetNotFound, RefNotPermitted, TargetConflict];
    vec![
        condition(&[Accepted, NotHandled], "Accepted", True, "Accepted", "{message}"),
        condition(&refused, "Accepted", False, "{reason}", "{errors}"),
        condition(&[Enforced], "Enforced", True, "Enforced", ""),
        condition(&[PartiallyEnforced], "Enforced", True, "PartiallyEnforced", "{superseded}"),
        condition(&[Overridden], "Enforced", False, "Overridden", "fully overridden by [{by}]"),
        condition(&[NotEnforced, NotHandled], "Enforced", False, "NotEnforced", "{message}"),
    ]
}
