//! Policies that name no target: other objects bind them to placements.

use smol_str::SmolStr;

use super::KindName;
use crate::document::document;
use crate::value::Path;

document! {
    /// Objects that bind policies to placements. All are in the namespace of the policies.
    pub struct Bindings {
        /// The kind of the objects that bind policies.
        #[field("kind", required)]
        pub kind: KindName,

        /// The field of a binding that lists what it binds: policies and sets of policies.
        #[field("subjects", required)]
        pub subjects: Path,

        /// The field of a binding that refers to the placement.
        #[field("placement", required)]
        pub placement: Path,

        /// Sets of policies that can be bound as a whole.
        #[field("sets")]
        pub sets: Option<PolicySets>,

        /// A setting of the policies that a binding can change.
        #[field("escalation")]
        pub escalation: Option<Escalation>,

        /// The setting of a binding that places nothing: it only escalates what other bindings place.
        #[field("restricted")]
        pub restricted: Option<Restriction>,

        /// The objects that choose targets.
        #[field("placements", required)]
        pub placements: Placements,
    }
}

document! {
    /// Sets of policies.
    pub struct PolicySets {
        /// The kind of the sets.
        #[field("kind", required)]
        pub kind: KindName,

        /// The field that lists the names of the policies in a set.
        #[field("members", required)]
        pub members: Path,
    }
}

document! {
    /// A setting of the policies that a binding can change, but only to one value.
    pub struct Escalation {
        /// The field of the binding.
        #[field("field", required)]
        pub field: Path,

        /// The only value that counts.
        #[field("value", required)]
        pub value: SmolStr,

        /// The setting of the policy that gets the value.
        #[field("sets", required)]
        pub sets: SmolStr,
    }
}

document! {
    /// A field of a binding and the value that makes it restricted.
    pub struct Restriction {
        /// The field of the binding.
        #[field("field", required)]
        pub field: Path,

        /// The value that makes the binding restricted.
        #[field("value", required)]
        pub value: SmolStr,
    }
}

document! {
    /// Objects that choose targets: by their decisions if there are any, else by labels.
    pub struct Placements {
        /// The kind of the placements.
        #[field("kind", required)]
        pub kind: KindName,

        /// The kind of the objects with the decisions of a placement.
        #[field("decisions", required)]
        pub decisions: KindName,

        /// The label of a decision that names its placement.
        #[field("label", required)]
        pub label: SmolStr,

        /// The kind of the targets.
        #[field("targets", required)]
        pub targets: KindName,

        /// The label of a target that names the set it belongs to.
        #[field("setLabel", required)]
        pub set_label: SmolStr,

        /// The kind of the objects that open a set of targets to the placements in a namespace.
        #[field("setBindings", required)]
        pub set_bindings: KindName,
    }
}
