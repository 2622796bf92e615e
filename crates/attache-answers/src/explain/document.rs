use attache_engine::fold::{BlockTrace, Superseded};
use attache_engine::value::{Path, Value};
use serde::Serialize;

use super::{Answer, block, place};
use crate::effective::Origin;
use crate::list::API_VERSION;
use crate::scopes::from;
use crate::snapshot::Snapshot;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    api_version: &'static str,
    kind: &'static str,
    object: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    items: Vec<OfAnswer>,
}

/// Scopes with the same answer, for one field or for everything.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OfAnswer {
    policy_kind: String,
    scopes: u64,
    /// Where the scopes end.
    targets: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merges_into: Option<String>,
    /// The path of the field that is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    candidates: Vec<Candidate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    origins: Vec<Origin>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<Step>,
}

#[derive(Debug, Serialize)]
struct Candidate {
    policy: String,
    block: &'static str,
    target: String,
    strategy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    when: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    value: Value,
    lost: Vec<Lost>,
}

#[derive(Debug, Serialize)]
struct Lost {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    reason: &'static str,
}

#[derive(Debug, Serialize)]
struct Step {
    policy: String,
    block: &'static str,
    target: String,
    strategy: String,
    filled: Vec<String>,
    replaced: Vec<String>,
    removed: Vec<String>,
    lost: Vec<Lost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    after: Option<Value>,
}

/// `answers` with the paths that are meant in each.
pub fn explanation(
    input: &Snapshot,
    object: String,
    field: Option<&Path>,
    answers: &[(Answer, Vec<Path>)],
    steps: bool,
) -> Explanation {
    let items = answers.iter().flat_map(|(answer, fields)| {
        fields.iter().map(move |field| OfAnswer {
            policy_kind: answer.model.kind.full_name(),
            scopes: answer.group.scopes,
            targets: answer.group.ends.iter().map(|end| input.name(*end)).collect(),
            from: from(answer.model, answer.group.chain).map(|namespace| input.name(namespace)),
            merges_into: answer.merged.as_ref().map(|(_, merged)| merged.path.to_string()),
            path: (!field.is_empty()).then(|| field.to_string()),
            candidates: answer.candidates().filter_map(|turn| candidate(input, answer, turn, field)).collect(),
            value: answer.spec().and_then(|spec| field.resolve(spec)).cloned(),
            origins: {
                let origins = answer.effective().origins.iter().filter(|it| it.path.overlaps(field));
                origins.map(|it| Origin::new(input, &it.path, it.policy, it.block, it.target)).collect()
            },
            steps: answer.trace.blocks.iter().filter(|_| steps).map(|turn| step(input, turn, field)).collect(),
        })
    });
    Explanation {
        api_version: API_VERSION,
        kind: "Explanation",
        object,
        field: field.map(ToString::to_string),
        items: items.collect(),
    }
}

fn candidate(input: &Snapshot, answer: &Answer, turn: &BlockTrace, field: &Path) -> Option<Candidate> {
    let block = block(input, turn)?;
    let place = place(input, turn, field);
    Some(Candidate {
        policy: input.policy(turn.policy),
        block: turn.block.name(),
        target: input.name(turn.target),
        strategy: turn.strategy.name().to_owned(),
        when: block.when.as_ref().map(ToString::to_string),
        created: input.engine.policy_object(turn.policy).created.map(|created| created.to_string()),
        file: place.map(|(file, _)| file.to_owned()),
        line: place.and_then(|(_, place)| place).map(|place| place.line),
        value: field.resolve(&block.spec)?.clone(),
        lost: answer.lost(turn).filter(|it| it.path.overlaps(field)).map(|it| lost(input, it)).collect(),
    })
}

fn step(input: &Snapshot, turn: &BlockTrace, field: &Path) -> Step {
    let paths = |paths: &[Path]| paths.iter().filter(|path| path.overlaps(field)).map(ToString::to_string).collect();
    Step {
        policy: input.policy(turn.policy),
        block: turn.block.name(),
        target: input.name(turn.target),
        strategy: turn.strategy.name().to_owned(),
        filled: paths(&turn.filled),
        replaced: paths(&turn.replaced),
        removed: paths(&turn.removed),
        lost: turn.lost.iter().filter(|it| it.path.overlaps(field)).map(|it| lost(input, it)).collect(),
        warning: turn.warning.clone(),
        after: turn.after.as_ref().and_then(|spec| field.resolve(spec)).cloned(),
    }
}

fn lost(input: &Snapshot, lost: &Superseded) -> Lost {
    Lost { path: lost.path.to_string(), by: lost.by.map(|by| input.policy(by)), reason: lost.reason.name() }
}
