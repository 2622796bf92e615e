//! The scopes that an expectation about effective policies selects.

use super::{CheckError, Checker};
use crate::engine_view::EngineView;
use crate::kinds::Class;
use crate::model::{Model, Scope};
use crate::policytest::expectations::ExpectedEffective;
use crate::topology::NodeId;

/// How many scopes a message lists.
const SHOWN: usize = 3;

/// The scopes that contain the expected nodes in the expected order; at least one. If no scope of an effective target
/// contains them, the scopes that end at the last of the nodes.
pub fn select(checker: &Checker<'_>, model: &Model, expected: &ExpectedEffective) -> Result<Vec<Scope>, CheckError> {
    let view = checker.engine.view();
    let path: Vec<Vec<NodeId>> =
        expected.scope.iter().map(|query| checker.nodes(query, "scope")).collect::<Result<_, _>>()?;
    let from = expected.from.as_ref().map(|query| checker.nodes(query, "from")).transpose()?;
    let mut found = Vec::new();
    for target in model.effective_targets(view) {
        model.scopes(view, target, &mut |scope| found.push(scope));
    }
    found.retain(|scope| {
        contains(scope, &path) && (model.kind.class == Class::Inherited || ends_at(view, scope, &path))
    });
    let mut ending = Vec::new();
    if found.is_empty() {
        for &node in path.last().into_iter().flatten() {
            model.scopes(view, node, &mut |scope| ending.push(scope));
        }
        found.extend(ending.iter().filter(|scope| contains(scope, &path)).cloned());
    }
    let found = for_clients(found, from.as_deref());
    if found.is_empty() {
        let names: Vec<String> = expected.scope.iter().map(ToString::to_string).collect();
        let about = format!("{} in {}", model.kind.kind, names.join(" > "));
        return Err(CheckError::missing(about, no_scope(checker, &ending, &names)));
    }
    Ok(found)
}

/// `Gateway/default/g > HTTPRoute/default/r`.
pub fn describe(checker: &Checker<'_>, scope: &Scope) -> String {
    let name = |node: &NodeId| checker.engine.topology().name(checker.engine.objects(), *node);
    let nodes: Vec<String> = scope.nodes.iter().map(name).collect();
    let from = scope.from.map_or_else(String::new, |from| format!(" from {}", name(&from)));
    nodes.join(" > ") + &from
}

/// Whether a scope contains nodes in this order. Each query of a test can match several nodes.
fn contains(scope: &Scope, path: &[Vec<NodeId>]) -> bool {
    let mut nodes = scope.nodes.iter();
    path.iter().all(|matching| nodes.any(|node| matching.contains(node)))
}

/// Whether a scope ends at the last node, or at a section of it. A Direct policy does not apply to anything below.
fn ends_at(view: EngineView<'_>, scope: &Scope, path: &[Vec<NodeId>]) -> bool {
    let object = |node: &NodeId| view.topology.whole(*node);
    let end = scope.nodes.last().map(object);
    path.last().is_some_and(|last| last.iter().any(|node| Some(object(node)) == end))
}

/// The scopes of requests from a Namespace, or, without one, of requests from anywhere. If all scopes are those of
/// consumers, "from anywhere" selects all of them.
fn for_clients(scopes: Vec<Scope>, from: Option<&[NodeId]>) -> Vec<Scope> {
    let is_from = |scope: &Scope| scope.from.is_some_and(|client| from.is_some_and(|from| from.contains(&client)));
    let selected: Vec<Scope> = match from {
        // A client without consumer policies of its own has the scopes of all other clients.
        Some(_) => {
            let has_own = |other: &Scope| scopes.iter().any(|scope| is_from(scope) && scope.nodes == other.nodes);
            let applies = |scope: &&Scope| is_from(scope) || scope.from.is_none() && !has_own(scope);
            scopes.iter().filter(applies).cloned().collect()
        }
        None => scopes.iter().filter(|scope| scope.from.is_none()).cloned().collect(),
    };
    if selected.is_empty() && from.is_none() { scopes } else { selected }
}

fn no_scope(checker: &Checker<'_>, ending: &[Scope], names: &[String]) -> String {
    let last = names.last().map_or("", String::as_str);
    if ending.is_empty() {
        return format!("no scope ends at {last}");
    }
    let shown: Vec<String> = ending.iter().take(SHOWN).map(|scope| describe(checker, scope)).collect();
    let more = if ending.len() > SHOWN { ", …" } else { "" };
    format!("no scope contains these nodes in this order; the scopes of {last} are {}{more}", shown.join(", "))
}
