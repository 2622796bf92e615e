//! How policies of a kind merge.

use std::borrow::Cow;

use smol_str::SmolStr;

use super::{DictatedBy, KindName, Pattern, Strategy};
use crate::document::{OrderedMap, document, words};
use crate::value::{Map, Value};

document! {
    /// How policies merge.
    pub struct KindMerging {
        /// The strategies that a block of a policy can name. The first one is assumed for blocks that name none.
        #[field("strategies", unset = "`atomic`; for Direct kinds `none`")]
        pub strategies: Vec<Strategy>,

        /// What `merge` and `shallow` treat as one rule.
        #[field("rules", unset = "each top-level field, and each entry of a map there")]
        pub rules: Vec<Pattern>,

        /// Rules without which a block counts as empty: it sets nothing, whatever else it has.
        #[field("essential")]
        pub essential: Vec<Pattern>,

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

        /// Values of a rule of a route that do not count if a policy sets some fields.
        #[field("overridesRule")]
        pub overrides_rule: Vec<OverrideOfRule>,

        /// Paths of objects that have the same fields as the policies. The effective policy is merged into the object.
        #[field("mergesInto")]
        pub merges_into: Vec<MergesInto>,

        /// Values that count as if the field were missing: from the path of the field to the value, also of numbers as text.
        /// `{}` is an empty object.
        #[field("absent")]
        pub absent: OrderedMap<Pattern, SmolStr>,

        /// The list with settings for the listeners of one port. Items for other ports do not count on a listener.
        #[field("perPort")]
        pub per_port: Option<PerPort>,

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
    /// A value of a rule of a route that does not count if a policy sets some fields.
    pub struct OverrideOfRule {
        /// The path of the value in the rule.
        #[field("path", required)]
        pub path: Pattern,

        /// The fields of the policy.
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
    /// A list of settings, each for the listeners of one port. `keys` says how the items of two policies merge.
    pub struct PerPort {
        /// The field with the list.
        #[field("list", required)]
        pub list: SmolStr,

        /// The field of an item with the port.
        #[field("port", required)]
        pub port: SmolStr,

        /// The field with the settings that do not count on a listener if a policy has an item for its port.
        #[field("replaces", required)]
        pub replaces: SmolStr,

        /// The settings in `replaces` that count all the same.
        #[field("except")]
        pub except: Vec<SmolStr>,

        /// The name by which the controller reports the items: `perPortPolicy` for `perPortPolicy[80]`. It reports the
        /// settings for all ports on each listener, and so do the `origins` in JSON, with `inForce: false`.
        #[field("reportedAs")]
        pub reported_as: Option<SmolStr>,
    }
}

impl PerPort {
    /// The settings of a policy without those for other ports.
    pub fn select<'v>(&self, spec: &'v Value, port: u16) -> Cow<'v, Value> {
        let Some(items) = spec.get(&self.list).map(Value::items) else { return Cow::Borrowed(spec) };
        let is_for_port = |item: &&Value| item.get(&self.port).and_then(Value::as_int) == Some(i64::from(port));
        let selected: Vec<Value> = items.iter().filter(is_for_port).cloned().collect();
        let others = spec.entries().iter().filter(|(key, _)| *key != self.list);
        let mut entries: Vec<(SmolStr, Value)> = others.cloned().collect();
        if !selected.is_empty() {
            entries.push((self.list.clone(), Value::list(selected)));
        }
        Cow::Owned(Value::Map(Map::from_entries(entries)))
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
