//! The answers of Attaché as typed, serializable documents.
//!
//! ```text
//! Snapshot (engine, problems of the input) ─┐
//!                                           ├→ one module for each question ─→ a document
//! query (objects, kinds, namespaces) ───────┘
//! ```

pub mod audit;
pub mod describe;
pub mod effective;
pub mod explain;
pub mod get;
mod inline;
pub mod lint;
mod list;
mod object_query;
pub mod plan;
mod provenance;
pub mod reach;
pub mod request;
pub mod scopes;
mod snapshot;
pub mod status;
mod suggestions;
pub mod topology;
pub mod watch;

pub use inline::inline;
pub use list::{API_VERSION, List, Stream};
pub use object_query::{ObjectQuery, Target};
pub use provenance::{ManagedBy, managed_by};
pub use snapshot::{Snapshot, is_cluster_scoped};
pub use suggestions::{did_you_mean, either, listed, nearest_rules};
