//! The engine of Attaché: which policies are in force on Kubernetes objects, and why.
//!
//! It is pure: no I/O, no clock, no randomness, no panic on any input. The same input gives the same output.
//!
//! ```text
//! text ─→ objects ─→ topology ─→ attachments ─→ chains ─→ effective policies ─→ status · changes · lint · request
//!                       ↑             ↑                          ↑
//!                 kinds (PolicyKind documents: built in, given, or inferred from CRDs)
//! ```
//!
//! Start with [`Engine::builder`]. [`Engine::effective_policies`] answers for one node, [`Engine::all_effective_policies`]
//! for all of them. [`IncrementalEngine`] takes edits and reports what they change. [`kinds`] has policy kinds and merge
//! strategies, [`text`] reads manifests, [`request`] follows a request, [`lint`] finds problems, and [`policytest`] runs
//! tests of policies.
//!
//! ```
//! use attache_engine::{Engine, text};
//!
//! let manifests = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}";
//! let reading = text::read(&"shop.yaml".into(), manifests);
//! let engine = Engine::builder().objects(reading.objects).build();
//! assert_eq!(engine.all_effective_policies().count(), 0);
//! ```

#![deny(missing_docs)]

mod attachment;
mod audit;
mod cel;
mod chain;
mod change;
mod conditions;
mod document;
mod engine;
mod engine_parts;
mod engine_view;
#[cfg(test)]
mod fixture;
mod fold;
mod handling;
mod incremental;
pub mod kinds;
mod level;
pub mod lint;
mod model;
mod models;
mod names;
mod object;
mod object_merge;
mod order;
mod pattern;
mod persistent;
mod plan;
mod policy;
pub mod policytest;
mod problem;
mod reach;
pub mod request;
mod selector;
mod serialize;
mod status;
mod tally;
pub mod text;
mod topology;
mod unknown;
mod value;

pub use attachment::{
    Attached, Attachment, AttachmentError, Attachments, Refusal, RejectionReason, Standing, TargetSuggestion,
};
pub use audit::{Audited, Requirement, can_be_on};
pub use cel::{CelCondition, CompileError, EvalError};
pub use chain::{ChainId, Link};
pub use change::{
    ChangedTargets, EffectiveChange, EffectiveOutline, Impact, Leaf, LeafChange, LeafPath, StatusChange, TargetChange,
};
pub use conditions::{PolicyReport, StatusCondition, StatusNote, TargetReport};
pub use engine::{Engine, EngineBuilder, ScopedPolicy, SpecError, TypedEffective, TypedPolicy};
pub use engine_view::EngineView;
pub use fold::{
    Applied, BlockTrace, EffectivePolicy, FoldOutcome, FoldTrace, FoldWarning, Loss, ReportedOrigin, Superseded,
    ValueOrigin,
};
pub use handling::UnhandledRoot;
pub use incremental::{Edit, IncrementalEngine, NeedsRebuild, Report};
pub use level::Level;
pub use model::{Model, Scope, ScopeRef, TargetsWithChains};
pub use names::{KindQuery, known_kinds, nearest, plural, qualified};
pub use object::{GroupKind, Object, ObjectError, ObjectId, ObjectRef, Objects, Source, SourceLocation, SourceMap};
pub use object_merge::Merged;
pub use order::{Rejected, Stack};
pub use persistent::hash;
pub use plan::Changes;
pub use policy::{Block, BlockKind, Policy, PolicyId, PolicyTarget, TargetSpec, block_path};
pub use problem::{Problem, ProblemCode, Severity};
pub use reach::{Reach, ReachPart};
pub use selector::selects;
pub use status::{
    AncestorStatus, Enforcement, MAX_ANCESTORS, PolicyDetails, PolicyStatus, ScopeCounts, StatusExplanation,
    SupersededParts, TargetStatus,
};
pub use topology::{
    AllowedNamespaces, BackendRefusal, CertificateRefusal, ClosedListener, DelegationQuery, DelegationRefusal,
    LinkFault, ListenerClaim, ListenerConflict, ListenerHostname, ListenerPort, ListenerRefusal, MissingGrant,
    MissingObject, MissingPort, Node, NodeId, NodeRef, ParentRefusal, PortName, RefusalCause, RefusalReason,
    RefusedLink, RouteKind, RouteKinds, Shortlist, Topology,
};
pub use unknown::{Unknown, UnknownPolicy};
pub use value::{Map, Path, Segment, SharedValues, Value};
