//! When a policy is accepted.

use smol_str::SmolStr;

use crate::cel::CelCondition;
use crate::document::{Diagnostics, FieldValue, Location, Schema, ValueType, document};
use crate::value::{Path, Value};

document! {
    /// When a policy is accepted.
    pub struct KindAcceptance {
        /// The field that switches a policy off.
        #[field("disabled")]
        pub disabled: Option<Path>,

        /// The only name that a policy can have.
        #[field("onlyName", unset = "any name")]
        pub only_name: Option<SmolStr>,

        /// Conditions on the `spec` of a policy. A policy for which one is false is invalid.
        #[field("validations")]
        pub validations: Vec<Validation>,
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
