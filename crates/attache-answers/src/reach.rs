use attache_engine::model::Scope;
use attache_engine::policy::PolicyId;
use attache_engine::reach::Reach;
use serde::Serialize;

use crate::list::API_VERSION;
use crate::snapshot::Snapshot;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReachDocument {
    api_version: &'static str,
    kind: &'static str,
    policy: String,
    affected: Vec<String>,
    parts: Vec<OfPart>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfPart {
    scopes: usize,
    targets: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ways: Vec<Way>,
    in_force: Vec<String>,
    lost: Vec<Lost>,
}

/// A scope with one answer, where scopes with others end at the same target.
#[derive(Debug, Serialize)]
pub struct Way {
    scope: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
}

#[derive(Debug, Serialize)]
struct Lost {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    reason: &'static str,
}

impl Way {
    pub fn new(input: &Snapshot, scope: &Scope) -> Way {
        Way {
            scope: scope.nodes.iter().map(|node| input.name(*node)).collect(),
            from: scope.from.map(|namespace| input.name(namespace)),
        }
    }
}

pub fn reach_document(input: &Snapshot, policy: PolicyId, reach: &Reach) -> ReachDocument {
    ReachDocument {
        api_version: API_VERSION,
        kind: "Reach",
        policy: input.policy(policy),
        affected: reach.affected.iter().map(|node| input.name(*node)).collect(),
        parts: parts(input, reach),
    }
}

pub fn parts(input: &Snapshot, reach: &Reach) -> Vec<OfPart> {
    let is_divided = |scope: &&Scope| scope.end().is_some_and(|end| reach.divided.contains(&end));
    let parts = reach.parts.iter().map(|part| OfPart {
        scopes: part.scopes.len(),
        targets: part.ends().into_iter().map(|node| input.name(node)).collect(),
        ways: part.scopes.iter().filter(is_divided).map(|scope| Way::new(input, scope)).collect(),
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
