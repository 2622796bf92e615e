//! Writes the status of policies and of their targets.
//!
//! ```text
//! states ─→ tracker ─ desired: the desired status of each object
//!              │    ─ shape:   where objects of a kind have their status
//!              │    ─ plan:    differences between the desired and the actual status
//!              └─→ queue (policies first, the newest change first) ─→ writer (limited, leader only) ─→ API server
//! ```

mod desired;
mod documents;
mod plan;
mod queue;
mod shape;
mod tracker;
mod writer;

pub use documents::desired_requirements;
pub use tracker::{run, withdraw};
