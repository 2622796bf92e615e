//! The rules: what can be found, how bad it is, and what to do about it.

use crate::problem::Severity::{self, Error, Info, Warning};

#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    pub id: &'static str,
    pub severity: Severity,
    /// Completes the sentence "here …".
    pub title: &'static str,
    /// What to do, where nothing better is known of the case.
    pub fix: &'static str,
    /// Markdown: what it means, an example, and the same without the mistake.
    pub explanation: &'static str,
}

impl Rule {
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

        /// Every rule, in the order of ids.
        pub static RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    BAD_SUPPRESSION "bad-suppression" Warning
        "a finding is ignored without a reason, or under a name that does not exist"
        "write `ID: REASON`, several separated by `;`"
    CONDITION_ERROR "condition-error" Warning
        "a condition cannot be evaluated, and counts as false"
        "test with `has(…)` for each step of the way to a field that may be missing"
    CONDITION_NEVER_TRUE "condition-never-true" Warning
        "a condition holds for nothing that is there"
        "correct the condition, or delete the block"
    CONFLICTED_POLICY "conflicted-policy" Error
        "a policy is not accepted, because an older one is on the same target"
        "put both into one policy, or target something else"
    CONFLICTED_ROUTE "conflicted-route" Error
        "an HTTPRoute and a GRPCRoute want the same hostname on one listener"
        "give each its own hostname or its own listener"
    DANGLING_BACKEND "dangling-backend" Error
        "a backend, or its port, does not exist: requests for it are answered with 500"
        "correct the name or the port, or add the Service"
    DANGLING_PARENT "dangling-parent" Error
        "a route or ListenerSet names a parent, listener or port that does not exist"
        "correct the parentRef, or add the Gateway to the input"
    DANGLING_SECTION "dangling-section" Error
        "a policy targets a listener, rule or port that its target does not have"
        "correct `sectionName`, or leave it out to target the whole object"
    DANGLING_TARGET "dangling-target" Error
        "a policy targets an object that does not exist"
        "correct the reference, or add the object to the input"
    DECIDED_BY_AGE "decided-by-age" Info
        "two policies on one target disagree, and only their age decides"
        "put both into one policy: whoever creates one of them anew changes who wins"
    DECIDED_BY_NAME "decided-by-name" Warning
        "two policies on one target disagree, and only their names decide"
        "put both into one policy: nothing but the alphabet tells them apart"
    DUBIOUS_INPUT "dubious-input" Warning
        "part of the input is used in another way than it is written"
        "correct the file"
    FOREIGN_TARGET "foreign-target" Error
        "a policy targets something out of its reach: another namespace, or a cluster-scoped object"
        "move the policy to the namespace of its target"
    INVALID_CERTIFICATE "invalid-certificate" Warning
        "a certificate of a listener does not exist, or is none"
        "correct the reference, or add the Secret to the input"
    INVALID_FIELD "invalid-field" Error
        "a field is not as the Gateway API wants it: the API server refuses the object"
        "correct the field"
    INVALID_POLICY "invalid-policy" Error
        "a policy cannot be used as it is written"
        "correct the field"
    INVALID_POLICY_KIND "invalid-policy-kind" Error
        "a PolicyKind document cannot be used as it is written"
        "correct the field"
    INVALID_ROUTE_KINDS "invalid-route-kinds" Warning
        "a listener allows kinds of route that its protocol cannot serve"
        "remove them from `allowedRoutes.kinds`"
    LISTENER_CONFLICT "listener-conflict" Error
        "listeners claim the same port and hostname, and are not served"
        "give each its own port or hostname"
    LISTENER_SET_NOT_ALLOWED "listener-set-not-allowed" Error
        "a Gateway does not let in the listeners of a ListenerSet"
        "allow its namespace in `spec.allowedListeners` of the Gateway"
    MISSING_GRANT "missing-grant" Error
        "something in another namespace is referred to without a ReferenceGrant"
        "add a ReferenceGrant to the namespace of what is referred to"
    NEVER_WINS "never-wins" Warning
        "a policy is accepted, and others take all of it everywhere"
        "delete it, or change what takes it"
    NO_COMMON_HOSTNAME "no-common-hostname" Error
        "the hostnames of a route have nothing in common with those of the listeners"
        "correct the hostnames of the route, or attach it to another listener"
    NO_LISTENERS "no-listeners" Error
        "a Gateway or ListenerSet has no listeners"
        "add a listener"
    REACHES_NOTHING "reaches-nothing" Warning
        "a policy is accepted, and nothing that it could affect is below its target"
        "attach routes to its target, or delete it"
    REFUSED_DELEGATION "refused-delegation" Error
        "a route delegates to one that does not exist or does not let itself be delegated to"
        "let the parentRefs and matches of the child fit, and let nobody delegate in a circle"
    REMOVES_NOTHING "removes-nothing" Warning
        "a policy removes a rule that no policy above sets as a default"
        "correct the name of the rule, or delete the entry"
    ROUTE_NOT_ALLOWED "route-not-allowed" Error
        "no listener lets in a route of this kind from this namespace"
        "let the listener's `allowedRoutes` allow it, or attach it to another listener"
    SELECTS_NOTHING "selects-nothing" Warning
        "the selector of a policy selects nothing"
        "correct the labels, or the kind"
    SHADOWED_BY_OWN_BLOCK "shadowed-by-own-block" Warning
        "a rule of a policy never counts, because another block of the same policy has it too"
        "keep one of the two"
    STALE_STATUS "stale-status" Warning
        "the status in the manifest is not the one that was worked out"
        "look at what its controller does; a status in files of one's own can be deleted"
    UNATTACHED_ROUTE "unattached-route" Warning
        "no request can come to a route"
        "give it a parentRef, or delegate to it"
    UNKNOWN_POLICY_KIND "unknown-policy-kind" Warning
        "an object looks like a policy and is of no known kind"
        "add its CRD, with the policy label, or a PolicyKind document to the input"
    UNKNOWN_VERSION "unknown-version" Warning
        "a policy is of a version that is not known"
        "use a known version"
    UNLABELLED_CRD "unlabelled-crd" Info
        "a CRD looks like that of a policy and has no policy label"
        "label it `gateway.networking.k8s.io/policy`, describe it with a PolicyKind, or run with `--infer-unlabelled`"
    UNREACHABLE_RULE "unreachable-rule" Warning
        "no request can come to a rule of a route that is delegated to"
        "let a match of it lie within those of the rule that delegates, or delete it"
    UNSUPPORTED_PROTOCOL "unsupported-protocol" Error
        "a listener has a protocol that the Gateway API does not know"
        "use HTTP, HTTPS, TLS, TCP or UDP"
    UNUSABLE_INPUT "unusable-input" Error
        "part of the input cannot be used"
        "correct the file"
    UNUSED_HOSTNAME "unused-hostname" Warning
        "a hostname of a route is ignored: no listener of it has one in common"
        "correct the hostname, or add it to a listener"
    UNUSED_SUPPRESSION "unused-suppression" Info
        "a finding is ignored that is not there"
        "remove it from the annotation"
    WRONG_BACKEND_KIND "wrong-backend-kind" Error
        "a route sends requests to something that cannot be a backend"
        "send them to a Service"
}
