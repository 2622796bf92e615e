//! Policy kinds: what is known of each kind of policy, as data.
//!
//! ```text
//! kinds/*.yaml ─────────┐
//! PolicyKind documents ─┼→ PolicyKind ─→ Registry
//! CRDs ──→ inference ───┘
//! ```
//!
//! [`PolicyKind`] is the one definition of a PolicyKind document: its reader, its CustomResourceDefinition
//! ([`custom_resource_definition`]) and its documentation ([`field_reference`]) are made from it.

mod acceptance;
mod bindings;
mod built_in;
mod dictated_by;
mod fields;
mod hierarchy;
mod infer;
mod level_name;
mod merging;
mod order;
mod pattern;
mod policy_kind;
mod registry;
mod schema;
mod selection;
mod status_template;
mod strategy;
mod target_kind;
mod targets;
mod units;
mod written;

pub use acceptance::{KindAcceptance, Validation};
pub use bindings::{Bindings, Escalation, Placements, PolicySets, Restriction};
pub use built_in::built_in;
pub use dictated_by::{
    AnnotationValue, DictatedBy, LowerPolicyField, MergePreference, PreferredPolicy, RouteAnnotation,
};
pub use fields::PolicyFields;
pub use hierarchy::{InheritancePaths, KindHierarchy, Waypoints};
pub(crate) use infer::{CRD_GROUP, CRD_KIND, Crd};
pub use level_name::{KindName, LevelName, LevelNames};
pub use merging::{Concatenate, ItemList, KindMerging, MergesInto, YieldToKind, YieldToRule};
pub use order::{Conflicts, KindOrder, NumberSource, Priority, RejectedFrom, SameLevel, SortOrder};
pub use pattern::{Pattern, PatternFit, PatternStep};
pub use policy_kind::{Class, KindOrigin, PolicyKind, ResourceScope};
pub use registry::{KindId, Registry, Settings};
pub(crate) use schema::{GROUP, KIND};
pub use schema::{custom_resource_definition, field_reference, target_kind_definition, target_kind_reference};
pub use selection::{HostTargets, RootSelection, SelectionRule, SelectorField};
pub use status_template::{AffectedTemplate, ConditionStatus, ConditionTemplate, PolicyState, StatusTemplate};
pub use strategy::{
    Decision, Granularity, MergeStrategy, Overlap, Participation, Strategy, StrategyNameTaken, StrategyRegistry,
};
pub(crate) use strategy::{OneLevelStrategy, OverlapSide};
pub use target_kind::{ParentLink, TARGET_KIND, TargetKind, TargetLinks};
pub use targets::{CrossNamespace, KindTargets, WithoutTarget};
pub use units::Units;

pub use crate::document::{OneOrMany, OrderedMap};
