//! What changes as it happens.

mod concern;
mod document;

pub use concern::{Changed, Concern};
pub use document::{ChangeDocument, change_documents};
