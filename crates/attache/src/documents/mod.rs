//! What `-o json` prints. Scripts hold on to these: they grow, they do not change.

pub mod effective;
pub mod status;

use serde::Serialize;

pub const API_VERSION: &str = "attache.dev/v1alpha1";

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct List<T> {
    api_version: &'static str,
    kind: &'static str,
    pub items: Vec<T>,
}

impl<T> List<T> {
    pub fn new(kind: &'static str, items: Vec<T>) -> List<T> {
        List { api_version: API_VERSION, kind, items }
    }
}
