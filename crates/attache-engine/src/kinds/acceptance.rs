//! When a policy is accepted.

use smol_str::SmolStr;

use super::{KindName, PolicyState};
use crate::cel::CelCondition;
use crate::document::{Diagnostics, FieldValue, Location, OneOrMany, Schema, ValueType, document};
use crate::value::{Path, Value};

document! {
    /// When a policy is accepted.
    pub struct KindAcceptance {
        /// The field that switches a policy off.
        #[field("disabled")]
        pub disabled: Option<Path>,

        /// The annotation that makes a policy a dry run if it is true: the policy is accepted, but not enforced.
        #[field("dryRun")]
        pub dry_run: Option<SmolStr>,

        /// Fields that the API server sets if a policy leaves them out. Of several for one field the first counts whose
        /// condition holds.
        #[field("serverDefaults")]
        pub server_defaults: Vec<ServerDefault>,

        /// The only name that a policy can have.
        #[field("onlyName", unset = "any name")]
        pub only_name: Option<SmolStr>,

        /// Whether a policy is invalid that has no rules, or a block without rules.
        #[field("rulesRequired")]
        pub rules_required: bool,

        /// Conditions on the `spec` of a policy. A policy for which one is false is invalid.
        #[field("validations")]
        pub validations: Vec<Validation>,

        /// What the controller does with some policies where it does not do what it documents. It is shown as a note: the
        /// answers stay as documented.
        #[field("notes")]
        pub notes: Vec<KindNote>,
    }
}

document! {
    /// What the controller does with some policies where it does not do what it documents.
    pub struct KindNote {
        /// The condition, a CEL expression over `spec`. The note is shown for policies for which it is true.
        #[field("rule", unset = "all policies")]
        pub rule: Option<CelCondition>,

        /// The states of the policy, any of which must hold.
        #[field("when", unset = "any state")]
        pub when: OneOrMany<PolicyState>,

        /// What the controller does.
        #[field("message", required)]
        pub message: SmolStr,
    }
}

document! {
    /// A field that the API server sets if a policy leaves it out, or has an empty list there.
    pub struct ServerDefault {
        /// The field of the settings.
        #[field("field", required)]
        pub field: SmolStr,

        /// The list that it gets.
        #[field("values", required)]
        pub values: Vec<SmolStr>,

        /// The condition, a CEL expression over `spec`.
        #[field("when", unset = "always")]
        pub when: Option<CelCondition>,
    }
}

document! {
    /// A condition on the `spec` of a policy.
    pub struct Validation {
        /// A CEL expression over `spec`.
        #[field("rule", required)]
        pub rule: CelCondition,

        /// What is wrong with a policy for which the condition is false.
        #[field("message", required)]
        pub message: SmolStr,

        /// Kinds of targets. A policy for which the condition is false is refused on targets of these kinds only.
        #[field("targets", unset = "the whole policy is invalid")]
        pub targets: Vec<KindName>,
    }
}

/// It is compiled when it is first used, or when the document is checked.
impl FieldValue for CelCondition {
    const TYPE: ValueType = ValueType::String;

    fn schema() -> Schema {
        Schema::String("CEL expression")
    }

    fn read(value: &Value, at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        diagnostics.text(value, at).map(CelCondition::trusted)
    }
}
