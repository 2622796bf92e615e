//! Kinds of a cluster that could not be read, and what that could hide.

use attache_answers::scopes::cut;
use attache_cluster::{ObjectRole, Unseen, UnseenReason};
use attache_engine::Problem;
use serde::Serialize;

use super::problem;

/// The number of kinds that are named before the rest is only counted.
const MOST: usize = 5;

/// A kind of which not all objects could be read.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnseenDocument<'u> {
    resource: &'u str,
    kind: &'u str,
    reason: &'static str,
    message: String,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    seen_in: &'u [String],
}

pub fn documents(unseen: &[Unseen]) -> Vec<UnseenDocument<'_>> {
    unseen.iter().map(UnseenDocument::new).collect()
}

impl UnseenDocument<'_> {
    fn new(unseen: &Unseen) -> UnseenDocument<'_> {
        UnseenDocument {
            resource: &unseen.resource,
            kind: &unseen.kind,
            reason: match unseen.reason {
                UnseenReason::Forbidden => "Forbidden",
                UnseenReason::Failed(_) => "Failed",
            },
            message: unseen.to_string(),
            seen_in: &unseen.seen_in,
        }
    }
}

/// Prints after an answer what could not be read: policies first, which may change it most.
pub fn show(unseen: &[Unseen]) {
    let mut unseen: Vec<&Unseen> = unseen.iter().collect();
    unseen.sort_by_key(|it| it.role != ObjectRole::Policies);
    let shown = cut(unseen.len(), MOST);
    for it in &unseen[..shown] {
        problem::show(&Problem::warning(it.to_string()));
    }
    if shown < unseen.len() {
        let message = format!("{} more kinds could not be read, or not everywhere", unseen.len() - shown);
        problem::show(&Problem::warning(message).help("`-o json` names them all under `unseen`"));
    }
}
