//! How policies of a kind merge.

use smol_str::SmolStr;

use super::{DictatedBy, KindName, Pattern, Strategy};
use crate::document::{OrderedMap, document, words};

document! {
    /// How policies merge.
    pub struct KindMerging {
        /// The strategies that a block of a policy can name. The first one is assumed for blocks that name none.
        #[field("strategies", unset = "`atomic`; for Direct kinds `none`")]
        pub strategies: Vec<Strategy>,

        /// What `merge` and `shallow` treat as one rule.
        #[field("rules", unset = "each top-level field, and each entry of a map there")]
        pub rules: Vec<Pattern>,

        /// Maps that are replaced whole.
        #[field("whole", unset = "the string maps of the CRD")]
        pub whole: Vec<Pattern>,

        /// Lists whose items are matched by a field: from the path of the list to the name of the field.
        #[field("keys")]
        pub keys: OrderedMap<Pattern, SmolStr>,

        /// Lists that `deep` and `strategic` concatenate: from the path of the list to the order.
        #[field("concatenate")]
        pub concatenated: OrderedMap<Pattern, Concatenate>,

        /// Fields that policies at one level merge as `deep` does. In other fields the first policy wins.
        #[field("deepAtOneLevel")]
        pub deep_at_one_level: Vec<Pattern>,

        /// Fields that win over all fields beside them, whichever policy sets them.
        #[field("decisive")]
        pub decisive: Vec<Pattern>,

        /// Who says how two policies merge.
        #[field("dictatedBy", default = DictatedBy::Higher, unset = "the higher policy")]
        pub dictated_by: DictatedBy,

        /// How policies merge on routes of some kinds: from the kind to the strategy.
        #[field("strategyOn")]
        pub strategy_on: OrderedMap<KindName, Strategy>,

        /// Fields that do not count if a policy of another kind is attached to the same target.
        #[field("yieldsTo")]
        pub yields_to_kind: Vec<YieldToKind>,

        /// Fields that do not count if a rule of a route has a value of its own.
        #[field("yieldsToRule")]
        pub yields_to_rule: Vec<YieldToRule>,

        /// Paths of objects that have the same fields as the policies. The effective policy is merged into the object.
        #[field("mergesInto")]
        pub merges_into: Vec<MergesInto>,

        /// Values that count as if the field were missing: from the path of the field to the value.
        #[field("absent")]
        pub absent: OrderedMap<Pattern, SmolStr>,

        /// The list whose items apply one by one, for `accumulate`.
        #[field("items")]
        pub items: Option<ItemList>,
    }
}

words! {
    /// The order in which lists are concatenated.
    pub enum Concatenate {
        /// the items of the policy that wins first.
        PreferredFirst = "PreferredFirst",
        /// the items of the policy that wins last.
        PreferredLast = "PreferredLast",
    }
}

document! {
    /// Fields that do not count if a policy of another kind is attached to the same target.
    pub struct YieldToKind {
        /// The other kind.
        #[field("kind", required)]
        pub kind: KindName,

        /// The fields that do not count.
        #[field("fields")]
        pub fields: Vec<Pattern>,
    }
}

document! {
    /// Fields that do not count if a rule of a route has a value of its own.
    pub struct YieldToRule {
        /// The path of the value in the rule.
        #[field("path", required)]
        pub path: Pattern,

        /// The fields that do not count.
        #[field("fields")]
        pub fields: Vec<Pattern>,
    }
}

document! {
    /// A path in an object that has the same fields as the policies.
    pub struct MergesInto {
        /// The kind of the object.
        #[field("kind", required)]
        pub kind: SmolStr,

        /// The path in the object.
        #[field("path", required)]
        pub path: Pattern,
    }
}

document! {
    /// A list whose items apply one by one.
    pub struct ItemList {
        /// The field with the list.
        #[field("list", required)]
        pub list: SmolStr,

        /// The field by which the items are sorted.
        #[field("sortedBy", required)]
        pub sorted_by: SmolStr,
    }
}
