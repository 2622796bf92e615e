//! Policies that must be in force, as documents.

use smol_str::SmolStr;

use crate::document::{Diagnostics, DocumentReader, Location, OrderedMap, document, words};
use crate::object::Object;
use crate::problem::Problem;

/// The kind of PolicyRequirement documents.
pub const POLICY_REQUIREMENT: &str = "PolicyRequirement";

document! {
    /// A policy, or a rule of one, that must be in force.
    ///
    /// It is data: a `PolicyRequirement` document, in a file for `attache audit` or in a cluster for `attache controller`.
    ///
    /// ```
    /// use attache_engine::kinds::PolicyRequirement;
    /// use attache_engine::text;
    ///
    /// let document = "
    /// apiVersion: attache.dev/v1alpha1
    /// kind: PolicyRequirement
    /// metadata: {name: authentication}
    /// spec:
    ///   require: AuthPolicy:rules.authentication
    ///   level: Route
    ///   exceptions:
    ///   - {object: HTTPRoute/shop/health, reason: has nothing to hide}
    /// ";
    /// let objects = text::read(&"authentication.yaml".into(), document).objects;
    /// let requirement = PolicyRequirement::read(&objects[0]).expect("no mistakes");
    /// assert_eq!(requirement.exceptions[0].object, "HTTPRoute/shop/health");
    /// ```
    pub struct PolicyRequirement {
        /// The policy kind, or the kind and one of its rules: `AuthPolicy`, `AuthPolicy:rules.authentication`. If two systems
        /// have a kind of this name, with the group: `RateLimitPolicy.kuadrant.io`.
        #[field("require", required)]
        pub require: SmolStr,

        /// Where it must be in force.
        #[field("level", unset = "the effective targets of the kind")]
        pub level: Option<RequiredLevel>,

        /// The namespaces in which it must be in force.
        #[field("namespaces", unset = "all namespaces")]
        pub namespaces: Option<RequiredNamespaces>,

        /// Objects that need not have it.
        #[field("exceptions")]
        pub exceptions: Vec<RequirementException>,

        /// Whether the admission webhook refuses changes after which more objects lack it than before.
        #[field("enforce")]
        pub enforce: bool,
    }
}

document! {
    /// The namespaces in which a policy must be in force. With both fields, those that either of them names.
    pub struct RequiredNamespaces {
        /// By name.
        #[field("names")]
        pub names: Vec<SmolStr>,

        /// By labels, all of which a namespace must have.
        #[field("matchLabels")]
        pub match_labels: OrderedMap<SmolStr, SmolStr>,
    }
}

document! {
    /// An object that need not have a required policy.
    pub struct RequirementException {
        /// The object: `KIND/NAMESPACE/NAME`, with `#SECTION` for a section.
        #[field("object", required)]
        pub object: SmolStr,

        /// Why it need not have the policy.
        #[field("reason", required)]
        pub reason: SmolStr,

        /// The last day on which it need not: `YYYY-MM-DD`.
        #[field("until", unset = "it has no end")]
        pub until: Option<SmolStr>,
    }
}

words! {
    /// Where a policy must be in force.
    pub enum RequiredLevel {
        /// on Gateways.
        Gateway = "Gateway",
        /// on listeners.
        Listener = "Listener",
        /// on routes.
        Route = "Route",
        /// on rules of routes.
        Rule = "Rule",
        /// on backends.
        Backend = "Backend",
        /// on workloads.
        Workload = "Workload",
    }
}

impl PolicyRequirement {
    /// Reads a PolicyRequirement document, or reports everything that is wrong with it.
    pub fn read(document: &Object) -> Result<PolicyRequirement, Vec<Problem>> {
        let mut diagnostics = Diagnostics::default();
        let requirement =
            DocumentReader::read(document.spec(), &Location::top("spec"), &mut diagnostics, Self::read_fields);
        let problems = diagnostics.into_problems(document);
        requirement.filter(|_| problems.is_empty()).ok_or(problems)
    }
}
