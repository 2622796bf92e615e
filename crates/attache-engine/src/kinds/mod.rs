//! Policy kinds: what is known of each kind of policy, as data.
//!
//! ```text
//! kinds/*.yaml ─────────┐
//! PolicyKind documents ─┼→ PolicyKind ─→ Registry
//! CRDs ──→ inference ───┘
//! kinds/controllers.yaml, GatewayController documents ─→ Controllers
//! ```
//!
//! [`PolicyKind`] is the one definition of a PolicyKind document: its reader, its CustomResourceDefinition
//! ([`custom_resource_definition`]) and its documentation ([`field_reference`]) are made from it.

mod acceptance;
mod bindings;
mod built_in;
mod controller_setting;
mod controllers;
mod crd_defaults;
mod dictated_by;
mod fields;
mod gateway_controller;
mod hierarchy;
mod infer;
mod kind_controllers;
mod level_name;
mod merging;
mod order;
mod pattern;
mod policy_kind;
mod policy_requirement;
mod registry;
mod related_kinds;
mod schema;
mod selection;
mod status_template;
mod strategy;
mod target_kind;
mod targets;
mod units;
mod written;

pub use acceptance::{KindAcceptance, KindNote, ServerDefault, Validation};
pub use bindings::{Bindings, Escalation, Placements, PolicySets, Restriction, TargetSets};
pub use built_in::built_in;
pub use controller_setting::{ControllerSetting, ResolvedSetting, SettableField, SettingObject, SettingPlace};
pub use controllers::{ClassOwner, Controllers};
pub use crd_defaults::CrdDefaults;
pub use dictated_by::{
    AnnotationValue, DictatedBy, LowerPolicyField, MergePreference, PreferredPolicy, RouteAnnotation,
};
pub use fields::PolicyFields;
pub use gateway_controller::{
    ControllerFeatures, ControllerPattern, GATEWAY_CONTROLLER, GatewayController, ListenerIsolation,
};
pub use hierarchy::{GatewayPods, InheritancePaths, KindHierarchy, WaypointListener, Waypoints, WorkloadFilter};
pub(crate) use infer::{CRD_GROUP, CRD_KIND, Crd};
pub use kind_controllers::{ControllerReference, KindControllers};
pub use level_name::{KindName, LevelName, LevelNames};
pub use merging::{Concatenate, ItemList, KindMerging, MergesInto, OverrideOfRule, PerPort, YieldToKind, YieldToRule};
pub use order::{
    Conflicts, KindOrder, MissingNumber, NamespaceOrder, NumberSource, Priority, RejectedFrom, SameLevel, SortOrder,
};
pub use pattern::{Pattern, PatternFit, PatternStep};
pub use policy_kind::{Class, KindOrigin, PolicyKind, ResourceScope};
pub use policy_requirement::{
    POLICY_REQUIREMENT, PolicyRequirement, RequiredLevel, RequiredNamespaces, RequirementException,
};
pub use registry::{KindId, Registry, Settings, UnreadKind};
pub use schema::GROUP;
pub(crate) use schema::KIND;
pub use schema::{
    custom_resource_definition, field_reference, gateway_controller_definition, gateway_controller_reference,
    policy_requirement_definition, policy_requirement_reference, target_kind_definition, target_kind_reference,
};
pub use selection::{HostTargets, RootSelection, SelectionRule, SelectorField};
pub use status_template::{
    AffectedTemplate, ConditionStatus, ConditionTemplate, PolicyRelations, PolicyState, RouteAncestors, StatusTemplate,
    StatusWrite,
};
pub use strategy::{
    Decision, Granularity, MergeStrategy, Overlap, Participation, Strategy, StrategyNameTaken, StrategyRegistry,
};
pub(crate) use strategy::{OneLevelStrategy, OverlapSide};
pub use target_kind::{ParentLink, TARGET_KIND, TargetKind, TargetLinks};
pub use targets::{CrossNamespace, KindTargets, WithoutTarget};
pub use units::Units;

pub use crate::document::{OneOrMany, OrderedMap};
