//! Documents that tell the engine what policies are: refused if they cannot be used.

use attache_answers::Snapshot;
use attache_answers::audit::AuditRequirement;
use attache_engine::kinds::{GatewayController, KindOrigin, PolicyKind, StrategyRegistry, TargetKind};
use attache_engine::text::described_kind;
use attache_engine::{Object, Problem};

use super::words::object_name;

/// Why a document cannot be used.
pub(super) fn refusal(snapshot: &Snapshot, object: &Object) -> Option<String> {
    if object.id.group != "attache.dev" || object.deletion_timestamp().is_some() {
        return None;
    }
    let problems = match object.id.kind.as_str() {
        "PolicyKind" => {
            let read = PolicyKind::read(object, KindOrigin::Program, &StrategyRegistry::default());
            read.err().or_else(|| described_before(snapshot, object).map(|problem| vec![problem]))
        }
        "TargetKind" => TargetKind::read(object).err(),
        "GatewayController" => GatewayController::read(object).err(),
        "PolicyRequirement" => {
            let read = AuditRequirement::from_object(object);
            read.err().map(|error| vec![Problem::error(error.to_string())])
        }
        _ => None,
    }?;
    Some(format!("{} is not valid: {}", object_name(&object.id), sentences(&problems)))
}

/// The problem that another document describes the same policy kind.
fn described_before(snapshot: &Snapshot, object: &Object) -> Option<Problem> {
    let kind = described_kind(object)?;
    let documents = snapshot.engine.objects().each_of_kind(&object.id.group, &object.id.kind);
    let mut others = documents.map(|(_, it)| it).filter(|it| it.id != object.id);
    let other = others.find(|it| described_kind(it) == Some(kind))?;
    Some(Problem::error(format!("{} describes `{}.{}` already", object_name(&other.id), kind.1, kind.0)))
}

/// Problems as one line: where, what, and what to do.
fn sentences(problems: &[Problem]) -> String {
    let sentence = |problem: &Problem| {
        let place = problem.path.as_ref().map(|path| format!("{path}: ")).unwrap_or_default();
        let help = problem.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        format!("{place}{}{help}", problem.message)
    };
    problems.iter().map(sentence).collect::<Vec<_>>().join("; ")
}
