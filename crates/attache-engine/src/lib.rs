//! The engine of Attaché: which policies are in force on Kubernetes objects, and why.
//!
//! Pure: no I/O, no clock, no randomness. Data flows one way, each module knows only those before it.
//!
//! ```text
//! text ─→ objects ─→ topology ─→ attachments ─→ chains ─→ effective policies ─→ status · change · lint · request · incremental
//!                       ↑             ↑                          ↑
//!                 kinds (PolicyKind documents: built in, given, or inferred from CRDs)
//! ```

pub mod attachment;
pub mod audit;
pub mod cel;
pub mod chain;
pub mod change;
pub mod conditions;
mod document;
pub mod engine;
mod engine_parts;
pub mod engine_view;
#[cfg(test)]
mod fixture;
pub mod fold;
pub mod incremental;
pub mod kinds;
pub mod level;
pub mod lint;
pub mod model;
mod models;
pub mod names;
pub mod object;
pub mod object_merge;
pub mod order;
mod pattern;
pub mod persistent;
pub mod plan;
pub mod policy;
pub mod policytest;
pub mod problem;
pub mod reach;
pub mod request;
pub mod selector;
mod serialize;
pub mod status;
mod tally;
pub mod text;
pub mod topology;
pub mod value;
