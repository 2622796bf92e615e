//! Policies that name no target: other objects bind them to placements.

use smol_str::SmolStr;

use super::{KindName, Pattern};
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
    /// A field, and the value with which the setting counts.
    pub struct Restriction {
        /// The field.
        #[field("field", required)]
        pub field: Path,

        /// The value.
        #[field("value", required)]
        pub value: SmolStr,
    }
}

document! {
    /// Objects that choose targets: by their decisions if there are any, else by what they demand of targets.
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

        /// The field of a decision with the names of the targets.
        #[field("decided", required)]
        pub decided: Pattern,

        /// The kind of the targets.
        #[field("targets", required)]
        pub targets: KindName,

        /// The sets to which targets belong.
        #[field("sets", required)]
        pub sets: TargetSets,

        /// The field of a placement that lists predicates. A target must fulfil one of them.
        #[field("predicates", required)]
        pub predicates: Path,

        /// The field of a predicate with a selector of labels.
        #[field("labelSelector", required)]
        pub label_selector: Path,

        /// The field of a predicate with a selector of claims.
        #[field("claimSelector")]
        pub claim_selector: Option<Path>,

        /// The field of a predicate with conditions that cannot be evaluated here: such a predicate chooses nothing, which is a
        /// warning.
        #[field("unknownSelector")]
        pub unknown_selector: Option<Path>,

        /// The field of a target that lists its claims, each with `name` and `value`.
        #[field("claims")]
        pub claims: Option<Path>,

        /// The field of a target that lists its taints, each with `key`, `value` and `effect`.
        #[field("taints")]
        pub taints: Option<Path>,

        /// The effects of taints that do not keep a placement away.
        #[field("harmlessEffects")]
        pub harmless_effects: Vec<SmolStr>,

        /// The field of a placement that lists the taints it tolerates.
        #[field("tolerations")]
        pub tolerations: Option<Path>,

        /// The field of a placement with the number of targets that it chooses. The first by name are assumed, with a warning.
        #[field("number")]
        pub number: Option<Path>,
    }
}

document! {
    /// Sets of targets. A placement chooses from the sets that objects of `bindings` open to its namespace.
    pub struct TargetSets {
        /// The kind of the sets.
        #[field("kind", required)]
        pub kind: KindName,

        /// The kind of the objects that open the set of the same name to the placements in a namespace.
        #[field("bindings", required)]
        pub bindings: KindName,

        /// The field of a placement that lists the sets it is limited to.
        #[field("wanted", required)]
        pub wanted: Path,

        /// The label of a target that names its set.
        #[field("label", required)]
        pub label: SmolStr,

        /// The field of a set with a selector of targets. It counts if `byLabels` says so.
        #[field("selector", required)]
        pub selector: Path,

        /// The field of a set, and the value with which its targets are selected by labels.
        #[field("byLabels", required)]
        pub by_labels: Restriction,

        /// Sets that always exist. Their members have the label.
        #[field("builtIn")]
        pub built_in: Vec<SmolStr>,

        /// The set that always exists and has all targets.
        #[field("everything")]
        pub everything: Option<SmolStr>,
    }
}
