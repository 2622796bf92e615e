//! Policy kinds: what is known of one kind of policy, as data. One `PolicyKind` document each.

mod annotation;
mod binding;
mod built_in;
mod document;
pub(crate) mod infer;
mod level;
mod pattern;
mod registry;
pub(crate) mod schema;
mod selection;
mod status_template;
mod strategy;
mod units;

use smol_str::SmolStr;

use crate::cel::CelCondition;
use crate::level::Level;
use crate::names;

pub use binding::{Bindings, Escalation, Placements};
pub use built_in::built_in;
pub(crate) use infer::{CRD_GROUP, CRD_KIND};
pub use pattern::{Pattern, PatternFit, PatternStep};
pub use registry::{KindId, Registry, Settings};
pub(crate) use schema::GROUP;
pub use selection::{HostTargets, RootSelection, SelectionRule, SelectorField, Waypoints};
pub use status_template::{AffectedTemplate, ConditionTemplate, PolicyState, StatusTemplate};
pub use strategy::{
    Decision, Granularity, MergeStrategy, Overlap, Participation, Strategy, StrategyNameTaken, StrategyRegistry,
};
pub(crate) use strategy::{OneLevelStrategy, OverlapSide};
pub use units::Units;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyKind {
    /// The plural with the group: `colorpolicies.example.io`.
    pub name: SmolStr,
    pub group: SmolStr,
    pub kind: SmolStr,
    pub short_names: Vec<SmolStr>,
    /// The API versions that are known; none means any.
    pub versions: Vec<SmolStr>,
    pub class: Class,
    pub hierarchy: Vec<LevelName>,
    pub targets: Vec<LevelName>,
    pub effective_targets: Vec<LevelName>,
    /// Whether a node inherits from its Namespaces alone, and not along the topology.
    pub by_namespace: bool,
    /// The namespace whose policies hold for all others: its Namespace stands on top of every path.
    pub root_namespace: Option<SmolStr>,
    pub waypoints: Option<Waypoints>,
    /// Levels whose policies meet as if they were on one node, the more specific first.
    pub one_level: Vec<LevelName>,
    /// Whether a section of an object can be targeted.
    pub sections: bool,
    /// What can be targeted only without anything of another kind beside it.
    pub unmixed: Vec<LevelName>,
    pub cluster_scoped: bool,
    /// Whether a namespaced policy may target a cluster-scoped object.
    pub cluster_targets: bool,
    pub same_level: SameLevel,
    pub conflicts: Conflicts,
    /// Whether a policy that is rejected on one of its targets is rejected on all of them.
    pub rejected_everywhere: bool,
    /// What decides before age, the first first; for kinds of which all apply also before the level.
    pub priority: Vec<Priority>,
    /// The first is assumed when a block names none.
    pub strategies: Vec<Strategy>,
    pub rules: Vec<Pattern>,
    pub whole: Vec<Pattern>,
    /// Lists whose items are matched by a field.
    pub keys: Vec<(Pattern, SmolStr)>,
    /// Lists that `deep` and `strategic` put one behind the other.
    pub concatenated: Vec<(Pattern, Concatenate)>,
    /// Fields that policies at one level merge as `deep` does, whoever comes first.
    pub deep_at_one_level: Vec<Pattern>,
    /// Fields that win over everything beside them, wherever they are set.
    pub decisive: Vec<Pattern>,
    pub dictated_by: DictatedBy,
    /// Fields that do not count where a policy of another kind is attached to the same target.
    pub yields: Vec<YieldToKind>,
    /// Fields that do not count where the rule of a route sets something itself.
    pub yields_to_rule: Vec<YieldToRule>,
    /// How policies meet on routes of some kinds, where that is not how they meet elsewhere.
    pub strategy_on: Vec<(KindName, Strategy)>,
    /// Whether a listener's policy is invalid where a plain HTTP listener beside its target has the same port.
    pub own_port: bool,
    pub merges_into: Vec<MergesInto>,
    pub cross_namespace: CrossNamespace,
    /// The namespace whose policies may select targets everywhere.
    pub global_namespace: Option<SmolStr>,
    pub virtual_targets: Vec<KindName>,
    pub extension_ref: bool,
    /// Fields that choose targets by labels alone.
    pub selects: Vec<SelectionRule>,
    /// The field that names hosts instead of objects.
    pub hosts: Option<HostTargets>,
    /// Whether a policy that names no target holds for its Namespace.
    pub without_target: bool,
    /// Values that count as if the field were missing.
    pub absent: Vec<(Pattern, SmolStr)>,
    /// The list whose items apply one by one, and the field they are sorted by.
    pub items: Option<(SmolStr, SmolStr)>,
    /// Where policies are placed, if they do not say so themselves.
    pub bindings: Option<Bindings>,
    /// The field by which a policy is switched off.
    pub disabled: Option<Vec<SmolStr>>,
    /// The only name that a policy may have.
    pub only_name: Option<SmolStr>,
    /// The kind with which policies of this one form one list.
    pub decides_with: Option<KindName>,
    /// Whether it is undefined who comes first of two policies with the same priority.
    pub ties_undefined: bool,
    /// What a policy must fulfil to be accepted.
    pub validations: Vec<Validation>,
    pub fields: PolicyFields,
    pub status: StatusTemplate,
    pub origin: KindOrigin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Direct,
    Inherited,
}

/// Who wins of two policies on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameLevel {
    OldestIsHigher,
    OldestWins,
    /// The others count for nothing.
    OldestAlone,
    RejectNewer,
}

/// When two policies on one node cannot both be accepted, under `RejectNewer`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflicts {
    Always,
    /// Both set the same leaf, whatever the values; or, if fields are given, both set one of these.
    SameField(Vec<Pattern>),
    Never,
}

/// Something that decides before age.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Priority {
    Number {
        at: NumberAt,
        highest_first: bool,
    },
    /// The words that a field can have, the first first; `default` is meant where it has none.
    Word {
        field: Vec<SmolStr>,
        words: Vec<SmolStr>,
        default: Option<SmolStr>,
    },
    /// The same for all policies of the kind.
    Rank(i64),
    /// Age, for kinds of which all apply: the oldest first whatever its level.
    Age,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NumberAt {
    Annotation(SmolStr),
    Field(Vec<SmolStr>),
}

/// A condition on a policy's own `spec`, and what to say where it does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validation {
    pub rule: CelCondition,
    pub message: SmolStr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concatenate {
    PreferredFirst,
    PreferredLast,
}

/// Who says how two policies merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DictatedBy {
    Higher,
    /// A field of the lower policy: it merges with the nearest policy above it at one of these levels, and with no other.
    Lower {
        field: Vec<SmolStr>,
        values: Vec<(SmolStr, Strategy)>,
        with: Vec<LevelName>,
    },
    /// An annotation on the route that owns the higher policy.
    Annotation(RouteAnnotation),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteAnnotation {
    /// The first that is set counts.
    pub names: Vec<SmolStr>,
    pub values: Vec<(SmolStr, MergePreference)>,
    /// What holds without the annotation, or with a value that is not known.
    pub default: MergePreference,
    /// Any other value lists the fields, or `*`, in which the lower policy wins.
    pub lists_fields: bool,
}

/// How a higher policy meets the lower ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergePreference {
    pub prefer_higher: bool,
    pub strategy: Strategy,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YieldToKind {
    pub to: KindName,
    pub fields: Vec<Pattern>,
}

/// What a rule sets itself, and the fields of policies that do not count then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YieldToRule {
    pub path: Pattern,
    pub fields: Vec<Pattern>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergesInto {
    pub kind: SmolStr,
    pub path: Pattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrossNamespace {
    Never,
    /// With a ReferenceGrant in the target's namespace.
    Granted,
    /// Only for requests from the policy's own namespace.
    Consumer,
}

/// A kind, with its group if that was given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KindName {
    pub kind: SmolStr,
    pub group: Option<SmolStr>,
}

impl KindName {
    pub fn parse(text: &str) -> KindName {
        match text.split_once('.') {
            Some((kind, group)) => KindName { kind: kind.into(), group: Some(group.into()) },
            None => KindName { kind: text.into(), group: None },
        }
    }

    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.kind == kind && self.group.as_ref().is_none_or(|g| g == group)
    }
}

impl std::fmt::Display for KindName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.group {
            Some(group) => write!(f, "{}.{group}", self.kind),
            None => f.write_str(&self.kind),
        }
    }
}

/// A level of the hierarchy, or one kind of object in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LevelName {
    Level(Level),
    Kind(KindName),
}

/// Where a policy of the kind keeps its parts. Every path is below the document's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFields {
    pub target_refs: Vec<Vec<SmolStr>>,
    pub target_selectors: Vec<Vec<SmolStr>>,
    /// The block that holds bare rules.
    pub settings: Vec<SmolStr>,
    /// The names of the other blocks inside `settings`.
    pub defaults: Vec<SmolStr>,
    pub overrides: Vec<SmolStr>,
    /// Inside a block.
    pub strategy: SmolStr,
    pub when: SmolStr,
    pub remove: Vec<SmolStr>,
    /// Fields of `settings` that are no rules.
    pub ignored: Vec<SmolStr>,
}

/// Where the description of a kind comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KindOrigin {
    /// A file of Attaché's own, by its name.
    BuiltIn(&'static str),
    Given(SmolStr),
    Inferred(SmolStr),
}

impl PolicyKind {
    /// Whether policies of this kind yield to those of another in some fields.
    pub fn yields_to(&self, other: &PolicyKind) -> bool {
        self.yields.iter().any(|it| it.to.is(&other.group, &other.kind))
    }

    /// `ColorPolicy.example.io`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.kind, self.group)
    }

    /// Whether somebody who writes `name` may mean this kind: by its kind, plural or short name, with or without the group.
    pub fn is_called(&self, name: &str) -> bool {
        let (word, group) = name.split_once('.').map_or((name, None), |(word, group)| (word, Some(group)));
        let is_short = self.short_names.iter().any(|short| short.eq_ignore_ascii_case(word));
        names::KindQuery::parse(name).matches(&self.group, &self.kind)
            || self.name.eq_ignore_ascii_case(name)
            || is_short && group.is_none_or(|group| group.eq_ignore_ascii_case(&self.group))
    }

    /// The strategy of blocks that name none.
    pub fn default_strategy(&self) -> &Strategy {
        static ATOMIC: Strategy = Strategy::ATOMIC;
        self.strategies.first().unwrap_or(&ATOMIC)
    }

    /// Whether policies of this kind have `defaults`, bare rules and `overrides`, each with a strategy of its own.
    pub fn has_blocks(&self) -> bool {
        let PolicyFields { defaults, overrides, .. } = &self.fields;
        self.class == Class::Inherited
            && self.dictated_by == DictatedBy::Higher
            && !(defaults.is_empty() && overrides.is_empty())
            && self.strategies.iter().all(|strategy| strategy.allows_blocks())
    }

    /// Which policies of a chain take part in the effective policy.
    pub fn participation(&self) -> Participation {
        let is_annotated = matches!(self.dictated_by, DictatedBy::Annotation(_));
        match self.default_strategy().participation() {
            _ if self.accumulates() => Participation::All,
            _ if is_annotated || !self.deep_at_one_level.is_empty() => Participation::MergedByLevel,
            Participation::MostSpecific if self.has_blocks() => Participation::Merged,
            participation => participation,
        }
    }

    /// Whether all policies apply, one after the other.
    pub fn accumulates(&self) -> bool {
        self.strategies.iter().any(|strategy| strategy.participation() == Participation::All)
    }
}
