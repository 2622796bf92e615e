//! One file for each view: documents → HTML.

pub mod changes;
pub mod object;
pub mod overview;
pub mod plan;
pub mod policies;
pub mod policy;
pub mod problems;
pub mod request;
pub mod search;
pub mod topology;
