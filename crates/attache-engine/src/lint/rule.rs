//! The lint rules, each with its severity and fix.

use crate::problem::Severity::{self, Error, Info, Warning};

/// A rule that lint checks.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// `dangling-target`. Ids are stable: annotations use them.
    pub id: &'static str,
    /// How serious a finding is.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub title: &'static str,
    /// How to fix it, if the finding has no more specific advice.
    pub fix: &'static str,
    /// Markdown: what the rule means, an example that breaks it, and the same example without the mistake.
    pub explanation: &'static str,
}

impl Rule {
    /// The rule with this id.
    pub fn named(id: &str) -> Option<&'static Rule> {
        RULES.iter().find(|rule| rule.id == id).copied()
    }
}

macro_rules! rules {
    ($($name:ident $id:literal $severity:ident $title:literal $fix:literal)*) => {
        $(pub static $name: Rule = Rule {
            id: $id,
            severity: $severity,
            title: $title,
            fix: $fix,
            explanation: include_str!(concat!("rules/", $id, ".md")),
        };)*

        /// All rules, sorted by id.
        pub static RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    BAD_SUPPRESSION "bad-suppression" Warning
        "an ignore annotation has no reason, or names a rule that does not exist"
        "write `ID: REASON`, and separate several by `;`"
    CONDITION_ERROR "condition-error" Warning
        "the condition of a block cannot be evaluated and counts as false"
        "use `has(…)` for every field on the path that may be missing"
    CONDITION_NEVER_TRUE "condition-never-true" Info
        "the condition of a block is not true in any scope at present"
        "nothing to do if the block is a constraint that all policies meet; otherwise correct the condition"
    CONFLICTED_POLICY "conflicted-policy" Error
        "a policy is not accepted because an older one has the same target"
        "merge the policies, or change the target of one"
    CONFLICTED_ROUTE "conflicted-route" Error
        "an HTTPRoute and a GRPCRoute have the same hostname on one listener"
        "give each route its own hostname or listener"
    DANGLING_BACKEND "dangling-backend" Error
        "a backend or its port does not exist: requests to it get status 500"
        "correct the name or port, or add the backend to the input"
    DANGLING_BINDING "dangling-binding" Warning
        "an object that binds policies refers to a policy, a set or a placement that does not exist"
        "correct the name, or add the object to the input"
    DANGLING_PARENT "dangling-parent" Error
        "a route or ListenerSet refers to a parent, listener or port that does not exist"
        "correct the parentRef, or add the parent to the input"
    DANGLING_SECTION "dangling-section" Error
        "a policy targets a listener, rule or port that does not exist"
        "correct `sectionName`, or remove it to target the whole object"
    DANGLING_TARGET "dangling-target" Error
        "a policy targets an object that does not exist"
        "correct the reference, or add the object to the input"
    DECIDED_BY_AGE "decided-by-age" Info
        "two policies on one target set the same field, and their age decides"
        "merge the policies: recreating one of them changes which one wins"
    DECIDED_BY_NAME "decided-by-name" Warning
        "two policies on one target set the same field, and their names decide"
        "merge the policies: only the alphabetical order decides which one wins"
    DUBIOUS_INPUT "dubious-input" Warning
        "part of the input is not used as it is written"
        "correct the file"
    EMPTY_BLOCK "empty-block" Warning
        "a block of a policy has no rules"
        "add rules, or delete the block"
    EQUAL_PRIORITY "equal-priority" Warning
        "two policies have the same priority, and their order is undefined"
        "give them different priorities"
    FOREIGN_TARGET "foreign-target" Error
        "a policy targets an object in another namespace, or a cluster-scoped one, and its kind does not allow that"
        "move the policy into the namespace of its target"
    INVALID_CERTIFICATE "invalid-certificate" Warning
        "a certificate of a listener does not exist or is not valid"
        "correct the reference, or add the Secret to the input"
    INVALID_FIELD "invalid-field" Error
        "a field of a Gateway API object is not valid: the API server rejects the object"
        "correct the field"
    INVALID_POLICY "invalid-policy" Error
        "a policy is not valid"
        "correct the field"
    INVALID_POLICY_KIND "invalid-policy-kind" Error
        "a PolicyKind document is not valid"
        "correct the field"
    INVALID_ROUTE_KINDS "invalid-route-kinds" Warning
        "a listener allows kinds of routes that its protocol does not support"
        "remove them from `allowedRoutes.kinds`"
    LISTENER_CONFLICT "listener-conflict" Error
        "listeners have the same port and hostname, and are not served"
        "give each listener its own port or hostname"
    LISTENER_SET_NOT_ALLOWED "listener-set-not-allowed" Error
        "a Gateway does not allow a ListenerSet"
        "allow its namespace in `spec.allowedListeners` of the Gateway"
    MISSING_GRANT "missing-grant" Error
        "a reference to another namespace needs a ReferenceGrant"
        "add a ReferenceGrant to the namespace of the referenced object"
    MISSPELT_CLASS "misspelt-class" Warning
        "a Gateway refers to an unknown GatewayClass, and a known one has a similar name"
        "correct `gatewayClassName`, or add the GatewayClass to the input"
    NEVER_WINS "never-wins" Warning
        "a policy is accepted, but other policies keep it from having an effect"
        "change the policies that override it, or with which it is invalid; delete it if it is not needed"
    NO_COMMON_HOSTNAME "no-common-hostname" Error
        "no hostname of a route matches a hostname of the listeners"
        "correct the hostnames of the route, or attach it to another listener"
    NO_LISTENERS "no-listeners" Error
        "a Gateway or ListenerSet has no listeners"
        "add a listener"
    OTHER_CONTROLLER "other-controller" Warning
        "a policy is on Gateways whose controller does not handle policies of its kind"
        "use a Gateway of a class that handles the policy, or a policy of that controller"
    REACHES_NOTHING "reaches-nothing" Warning
        "a policy is accepted, but nothing below its target receives traffic"
        "check that the target is in use, or delete the policy"
    REFUSED_DELEGATION "refused-delegation" Error
        "a rule delegates to a route that does not exist or does not accept the delegation"
        "correct the reference, or the parentRefs, hostnames and matches of the child route; remove cycles"
    REMOVES_NOTHING "removes-nothing" Warning
        "a policy removes a rule that no policy above it sets as a default"
        "correct the name of the rule, or delete the entry"
    ROUTE_NOT_ALLOWED "route-not-allowed" Error
        "no listener allows routes of this kind from this namespace"
        "allow the route in `allowedRoutes` of the listener, or attach it to another listener"
    SELECTS_NOTHING "selects-nothing" Warning
        "the selector of a policy matches no object"
        "correct the labels or the kind"
    SHADOWED_BY_OWN_BLOCK "shadowed-by-own-block" Warning
        "a rule has no effect because another block of the same policy sets it too"
        "keep one of the two"
    STALE_STATUS "stale-status" Warning
        "the status in the manifest differs from the computed one"
        "check the controller; delete the status from files that you write yourself"
    UNATTACHED_ROUTE "unattached-route" Warning
        "a route receives no requests"
        "add a parentRef, or delegate to the route"
    UNKNOWN_FIELD "unknown-field" Warning
        "a field is unknown, and looks like a misspelling of a known one"
        "correct the name of the field"
    UNKNOWN_POLICY_KIND "unknown-policy-kind" Warning
        "an object looks like a policy, but its kind is unknown"
        "add its CRD with the policy label, or a PolicyKind document, to the input"
    UNKNOWN_VERSION "unknown-version" Warning
        "the API version of a policy is unknown"
        "use a known version"
    UNLABELLED_CRD "unlabelled-crd" Info
        "a CRD looks like that of a policy, but has no policy label"
        "label it `gateway.networking.k8s.io/policy`, describe it with a PolicyKind, or run with `--infer-unlabelled`"
    UNREACHABLE_RULE "unreachable-rule" Warning
        "a rule of a delegated route receives no requests"
        "narrow a match of the rule to the matches of the delegating rule, or delete the rule"
    UNSUPPORTED_PROTOCOL "unsupported-protocol" Error
        "the Gateway API does not define the protocol of a listener"
        "use HTTP, HTTPS, TLS, TCP or UDP"
    UNUSABLE_INPUT "unusable-input" Error
        "part of the input cannot be read"
        "correct the file"
    UNUSED_HOSTNAME "unused-hostname" Warning
        "a hostname of a route matches no listener"
        "correct the hostname, or add it to a listener"
    UNUSED_SUPPRESSION "unused-suppression" Info
        "an ignore annotation matches no finding"
        "remove it from the annotation"
    WRONG_BACKEND_KIND "wrong-backend-kind" Error
        "a route refers to an object that cannot be a backend"
        "use a Service"
}
