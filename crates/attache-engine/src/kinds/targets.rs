//! What policies of a kind can target, and how they find it.

use smol_str::SmolStr;

use super::{Bindings, HostTargets, KindName, LevelNames, SelectionRule};
use crate::document::{document, words};

document! {
    /// What policies can target.
    pub struct KindTargets {
        /// The levels and kinds that can be targeted. What can be targeted as a whole can be targeted by section.
        #[field("targets", unset = "every level of the hierarchy")]
        pub allowed: LevelNames,

        /// Whether a policy can target a section of an object.
        #[field("sections", default = true)]
        pub sections: bool,

        /// Whether a policy can target a rule without a name by its number: `rule-1` is the first rule of a route.
        #[field("numberedRules")]
        pub numbered_rules: bool,

        /// Kinds that a policy can target only if it targets no other kind.
        #[field("unmixed")]
        pub unmixed: LevelNames,

        /// Whether a policy on a listener is invalid if a plain HTTP listener of the same Gateway has the same port.
        #[field("ownPort")]
        pub own_port: bool,

        /// Whether a policy on a route is refused (TargetConflict) if a route that it does not target has the same hostname and
        /// path on the same listener.
        #[field("ownPaths")]
        pub own_paths: bool,

        /// Whether a policy can target objects in other namespaces.
        #[field("crossNamespace", default = CrossNamespace::Never)]
        pub cross_namespace: CrossNamespace,

        /// The namespace whose policies can select targets in all namespaces.
        #[field("globalNamespace")]
        pub global_namespace: Option<SmolStr>,

        /// Whether a namespaced policy can target a cluster-scoped object.
        #[field("clusterTargets")]
        pub cluster_targets: bool,

        /// Kinds of targets that need no object: they exist because a policy names them.
        #[field("virtualTargets")]
        pub virtual_targets: Vec<KindName>,

        /// Whether an `ExtensionRef` filter in a rule of a route attaches a policy to that rule.
        #[field("extensionRef")]
        pub extension_ref: bool,

        /// What a policy targets that names no target.
        #[field("withoutTarget", default = WithoutTarget::Refused)]
        pub without_target: WithoutTarget,

        /// Fields that select targets by labels. They count for policies that name no target.
        #[field("selects")]
        pub selects: Vec<SelectionRule>,

        /// The field that names targets by host. The policy nearest to the client counts, then the most specific host.
        #[field("hosts")]
        pub hosts: Option<HostTargets>,

        /// Objects that bind policies to placements, for kinds whose policies name no target themselves.
        #[field("bindings")]
        pub bindings: Option<Bindings>,
    }
}

words! {
    /// Whether policies can target objects in other namespaces.
    pub enum CrossNamespace {
        /// no.
        Never = "Never",
        /// with a ReferenceGrant in the namespace of the target.
        Granted = "Granted",
        /// yes, but the policy holds only for requests from its own namespace (mesh).
        Consumer = "Consumer",
    }
}

words! {
    /// What a policy targets that names no target.
    pub enum WithoutTarget {
        /// nothing, and the policy is not accepted.
        Refused = "Refused",
        /// nothing, until another object uses the policy.
        Nothing = "Nothing",
        /// its Namespace.
        Namespace = "Namespace",
    }
}
