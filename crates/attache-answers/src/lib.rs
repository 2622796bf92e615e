//! The answers of Attaché as typed, serializable documents.
//!
//! An [`Engine`](attache_engine::Engine) computes which policies are in force. This crate answers the questions that
//! users have about them, and returns a document for each. A document owns its data and serializes to the JSON that
//! `attache -o json` prints. The command line, the web page and the API are front ends of these documents. Nothing here
//! prints, reads files or depends on a terminal.
//!
//! ```text
//! Snapshot: an engine, and ──┐
//!   what is wrong with its   │      effective   EffectivePolicyList      plan     Plan
//!   input                    │      explain     Explanation              watch    Change
//!                            ├─→    describe    Description         ─→   audit    Audit
//! a query: ObjectQuery, ─────┘      reach       Reach                    lint     FindingList
//!   kind, namespace, field          request     RequestTrace             get      PolicyList, PolicyKindList, ScopeList
//!                                   status      StatusList               topology Topology
//! ```
//!
//! There is a module for each question, with a function or a type that takes a [`Snapshot`] and a query. Names stay
//! typed ([`NodeRef`](attache_engine::NodeRef), [`ObjectRef`](attache_engine::ObjectRef)) until they are serialized. A
//! query for something that does not exist returns a [`QueryError`] with suggestions.
//!
//! ```
//! use std::sync::Arc;
//!
//! use attache_answers::Snapshot;
//! use attache_answers::effective::{EffectivePolicies, EffectiveQuery};
//! use attache_engine::Engine;
//! use attache_engine::kinds::{Settings, built_in};
//! use attache_engine::Objects;
//! use attache_engine::text;
//!
//! let manifests = "
//! apiVersion: gateway.networking.k8s.io/v1
//! kind: Gateway
//! metadata: {name: gw, namespace: default}
//! spec: {gatewayClassName: c, listeners: [{name: http, port: 80, protocol: HTTP}]}
//! ---
//! apiVersion: gateway.networking.k8s.io/v1
//! kind: HTTPRoute
//! metadata: {name: cakes, namespace: default}
//! spec: {parentRefs: [{name: gw}], rules: [{}]}
//! ---
//! apiVersion: kuadrant.io/v1
//! kind: RateLimitPolicy
//! metadata: {name: limits, namespace: default}
//! spec:
//!   targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: gw}
//!   limits: {a: {rates: [{limit: 5, window: 10s}]}}
//! ";
//! let reading = text::read(&Arc::from("manifests.yaml"), manifests);
//! let (kinds, _) = built_in();
//! let engine = Engine::new(Objects::new(reading.objects), &kinds, Settings::default());
//! let snapshot = Snapshot::new(Arc::new(engine), reading.problems);
//!
//! let query = EffectiveQuery { object: Some("httproute/cakes".parse()?), ..EffectiveQuery::default() };
//! EffectivePolicies::find(&snapshot, &query)?.for_each(&mut |policy| {
//!     let origin = &policy.effective.origins[0];
//!     assert_eq!(origin.path.to_string(), "limits.a");
//!     assert_eq!(origin.policy.to_string(), "RateLimitPolicy/default/limits");
//! });
//! # Ok::<(), attache_answers::QueryError>(())
//! ```

#![deny(missing_docs)]

pub mod audit;
pub mod change;
mod coverage;
mod descendants;
pub mod describe;
mod document;
pub mod effective;
mod error;
pub mod explain;
pub mod get;
pub mod in_force;
mod inline;
mod kind_summary;
pub mod lineage;
pub mod lint;
mod loss;
pub mod matrix;
mod object_query;
pub mod picture;
pub mod plan;
mod provenance;
pub mod reach;
mod redaction;
pub mod request;
pub mod samples;
pub mod scopes;
mod snapshot;
mod spec_lines;
pub mod status;
mod suggestions;
pub mod summary;
mod target_text;
pub mod topology;
mod unknown;
pub mod watch;

pub use coverage::{RuleCounts, TargetCounts};
pub use document::{API_VERSION, List, Stream};
pub use error::{ObjectNotFound, QueryError};
pub use inline::inline;
pub use loss::LossSentence;
pub use object_query::ObjectQuery;
pub use plan::is_cluster_scoped;
pub use provenance::{LastChangeDocument, ManagedBy};
pub use redaction::REDACTED;
pub use snapshot::Snapshot;
pub use spec_lines::{SpecLine, spec_lines, value_lines};
pub use suggestions::{did_you_mean, first_of, one_of};
pub use unknown::UnknownDocument;
