//! Stage 2: what depends on the objects that change.
//!
//! ```text
//! dependencies      the keys that one object depends on: other objects, labels, grants, hostnames
//! index             all objects by the keys that they depend on
//! competing_routes  HTTPRoutes and GRPCRoutes with the same hostname depend on each other
//! affected          the routes, Gateways and policies that depend on what a batch changes
//! ```

mod affected;
mod competing_routes;
mod dependencies;
mod index;

pub(super) use affected::{Affected, policies_named_by_filters};
pub(super) use competing_routes::add_competing_routes;
pub(super) use index::{DependencyIndex, DependencyKey};
