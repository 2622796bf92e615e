use attache_core::policy::PolicyId;
use attache_core::reach::Reach;
use serde::Serialize;

use super::API_VERSION;
use crate::input::Input;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReachDocument {
    api_version: &'static str,
    kind: &'static str,
    policy: String,
    felt: Vec<String>,
    parts: Vec<OfPart>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfPart {
    scopes: u64,
    targets: Vec<String>,
    in_force: Vec<String>,
    lost: Vec<Lost>,
}

#[derive(Debug, Serialize)]
struct Lost {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    reason: &'static str,
}

pub fn reach_document(input: &Input, policy: PolicyId, reach: &Reach) -> ReachDocument {
    ReachDocument {
        api_version: API_VERSION,
        kind: "Reach",
        policy: input.policy(policy),
        felt: reach.felt.iter().map(|node| input.name(*node)).collect(),
        parts: parts(input, reach),
    }
}

pub fn parts(input: &Input, reach: &Reach) -> Vec<OfPart> {
    let parts = reach.parts.iter().map(|part| OfPart {
        scopes: part.scopes,
        targets: part.ends.iter().map(|node| input.name(*node)).collect(),
        in_force: part.in_force.iter().map(ToString::to_string).collect(),
        lost: part
            .lost
            .iter()
            .map(|lost| Lost {
                path: lost.path.to_string(),
                by: lost.by.map(|by| input.policy(by)),
                reason: lost.reason.name(),
            })
            .collect(),
    });
    parts.collect()
}
