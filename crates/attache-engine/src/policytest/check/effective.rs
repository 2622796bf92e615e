//! What is in force in the scopes that a test names.

use std::borrow::Cow;
use std::sync::Arc;

use smol_str::SmolStr;

use super::{Checking, Comparison, Trouble, text};
use crate::chain::Hierarchy;
use crate::fold::{EffectivePolicy, ValueOrigin};
use crate::kinds::{Class, KindName, PolicyKind};
use crate::model::{Model, Scope, World};
use crate::order::Stacks;
use crate::policytest::{self as expected, PolicyName};
use crate::topology::NodeId;
use crate::value::{Map, Path, Value};

/// How many scopes a message lists.
const SHOWN: usize = 3;

pub fn check(checking: &Checking<'_>, line: &expected::Effective) -> Result<(), Trouble> {
    let model = model(checking, &line.policy_kind)?;
    let scopes = scopes(checking, &model, line)?;
    let compare = |scope: &Scope| compare(checking, &model, line, scope);
    let mut failed = scopes.iter().filter_map(|scope| compare(scope).err());
    let Some(mut first) = failed.next() else { return Ok(()) };
    if let (Trouble::Failed { about, .. }, more @ 1..) = (&mut first, failed.count()) {
        *about += &format!(", and {more} more {}", if more == 1 { "scope" } else { "scopes" });
    }
    Err(first)
}

/// The model of a kind, also of one of which there are no policies.
fn model<'e>(checking: &Checking<'e>, name: &str) -> Result<ModelOf<'e>, Trouble> {
    let (engine, wanted) = (checking.engine, KindName::parse(name));
    let is_wanted = |kind: &PolicyKind| wanted.is(&kind.group, &kind.kind);
    // Several groups can have kinds of one name: one of which there are policies is meant first.
    let mut kinds = engine.kinds().iter().filter(|(_, kind)| is_wanted(kind));
    if let Some(model) = kinds.clone().find_map(|(id, _)| engine.model(id)) {
        return Ok(ModelOf::Known(model));
    }
    let Some((id, kind)) = kinds.next() else {
        return Err(checking.unknown_policy_kind("policyKind", &wanted));
    };
    let hierarchy = Hierarchy::new(engine.objects(), engine.topology(), kind.shape());
    Ok(ModelOf::Empty(Box::new(Model::new(engine.world(), id, kind, Arc::new(hierarchy), Stacks::default()))))
}

enum ModelOf<'e> {
    Known(&'e Model),
    Empty(Box<Model>),
}

impl std::ops::Deref for ModelOf<'_> {
    type Target = Model;

    fn deref(&self) -> &Model {
        match self {
            ModelOf::Known(model) => model,
            ModelOf::Empty(model) => model,
        }
    }
}

/// The scopes that a line is about, at least one. Where none leads through the nodes to an effective target, those
/// that end at the last of them.
fn scopes(checking: &Checking<'_>, model: &Model, line: &expected::Effective) -> Result<Vec<Scope>, Trouble> {
    let world = checking.engine.world();
    let wanted: Vec<Vec<NodeId>> =
        line.scope.iter().map(|name| checking.nodes(name, "scope")).collect::<Result<_, _>>()?;
    let from = line.from.as_ref().map(|name| checking.nodes(name, "from")).transpose()?;
    let mut found = Vec::new();
    for target in model.effective_targets(world) {
        model.scopes(world, target, &mut |scope| found.push(scope));
    }
    found.retain(|scope| {
        passes(scope, &wanted) && (model.kind.class == Class::Inherited || ends(world, scope, &wanted))
    });
    let mut ending = Vec::new();
    if found.is_empty() {
        for &node in wanted.last().into_iter().flatten() {
            model.scopes(world, node, &mut |scope| ending.push(scope));
        }
        found.extend(ending.iter().filter(|scope| passes(scope, &wanted)).cloned());
    }
    let found = of_requests(found, from.as_deref());
    if found.is_empty() {
        let names: Vec<String> = line.scope.iter().map(ToString::to_string).collect();
        let about = format!("{} in {}", model.kind.kind, names.join(" > "));
        return Err(Trouble::nothing(about, no_scope(checking, &ending, &names)));
    }
    Ok(found)
}

/// Whether a scope contains these nodes in this order.
fn passes(scope: &Scope, wanted: &[Vec<NodeId>]) -> bool {
    let mut nodes = scope.nodes.iter();
    wanted.iter().all(|wanted| nodes.any(|node| wanted.contains(node)))
}

/// Whether a scope ends at the last of these nodes, or at a section of it. A Direct policy says nothing of what is below.
fn ends(world: World<'_>, scope: &Scope, wanted: &[Vec<NodeId>]) -> bool {
    let whole = |node: &NodeId| world.topology.whole(*node);
    let ends = scope.nodes.last().map(whole);
    wanted.last().is_some_and(|last| last.iter().any(|node| Some(whole(node)) == ends))
}

/// The scopes of requests from a Namespace, or of those from anywhere. Where nobody else's requests come, from
/// anywhere means from those that do.
fn of_requests(scopes: Vec<Scope>, from: Option<&[NodeId]>) -> Vec<Scope> {
    let from_there = |scope: &Scope| scope.from.is_some_and(|it| from.is_some_and(|from| from.contains(&it)));
    let meant: Vec<Scope> = match from {
        // Who has nothing of their own gets what all others get.
        Some(_) => {
            let apart = |other: &Scope| scopes.iter().any(|scope| from_there(scope) && scope.nodes == other.nodes);
            let is_meant = |scope: &&Scope| from_there(scope) || scope.from.is_none() && !apart(scope);
            scopes.iter().filter(is_meant).cloned().collect()
        }
        None => scopes.iter().filter(|scope| scope.from.is_none()).cloned().collect(),
    };
    if meant.is_empty() && from.is_none() { scopes } else { meant }
}

fn no_scope(checking: &Checking<'_>, ending: &[Scope], names: &[String]) -> String {
    let last = names.last().map_or("", String::as_str);
    if ending.is_empty() {
        return format!("no scope leads to {last}");
    }
    let shown: Vec<String> = ending.iter().take(SHOWN).map(|scope| describe(checking, scope)).collect();
    let more = if ending.len() > SHOWN { ", …" } else { "" };
    format!("no scope contains these nodes in this order; those to {last} are {}{more}", shown.join(", "))
}

fn describe(checking: &Checking<'_>, scope: &Scope) -> String {
    let name = |node: &NodeId| checking.engine.topology().name(checking.engine.objects(), *node);
    let nodes: Vec<String> = scope.nodes.iter().map(name).collect();
    let from = scope.from.map_or_else(String::new, |from| format!(" from {}", name(&from)));
    nodes.join(" > ") + &from
}

fn compare(checking: &Checking<'_>, model: &Model, line: &expected::Effective, scope: &Scope) -> Result<(), Trouble> {
    let effective = model.effective(checking.engine.world(), scope.chain);
    let mut comparison = Comparison::default();
    if let Some(spec) = &line.spec {
        comparison.add("spec", spec.clone(), effective.spec.clone().unwrap_or_default());
    }
    if !line.origins.is_empty() {
        let (expected, actual) = origins(checking, &line.origins, effective);
        comparison.add("origins", expected, actual);
    }
    if let Some(lost) = &line.superseded {
        let (expected, actual) = superseded(checking, lost, effective);
        comparison.add("superseded", expected, actual);
    }
    if let Some(policies) = &line.policies {
        let expected = policies.iter().map(|name| Value::str(checking.canonical(name))).collect();
        let actual = effective.applied.iter().map(|it| checking.policy_name(it.policy)).collect();
        comparison.add("policies", Value::list(expected), Value::list(actual));
    }
    if let Some(specs) = &line.specs {
        let actual = effective.applied.iter().map(|it| it.spec.clone()).collect();
        comparison.add("specs", specs.clone(), Value::list(actual));
    }
    if let Some(warnings) = &line.warnings {
        let (expected, actual) = self::warnings(warnings, effective);
        comparison.add("warnings", expected, actual);
    }
    comparison.result(|| format!("{} in {}", model.kind.kind, describe(checking, scope)))
}

fn origins(checking: &Checking<'_>, expected: &[(Path, PolicyName)], effective: &EffectivePolicy) -> (Value, Value) {
    let (mut left, mut right) = (Map::default(), Map::default());
    for (path, policy) in expected {
        let key = path.to_string();
        let mut names: Vec<Value> =
            origins_at(path, &effective.origins).iter().map(|it| checking.policy_name(it.policy)).collect();
        names.dedup();
        let actual = match names.as_slice() {
            [] => Value::Null,
            [one] => one.clone(),
            _ => Value::list(names),
        };
        left = left.with(&key, Value::str(checking.canonical(policy)));
        right = right.with(&key, actual);
    }
    (Value::Map(left), Value::Map(right))
}

/// The origins at a path or below it; if there are none, the nearest above it.
fn origins_at<'o>(path: &Path, origins: &'o [ValueOrigin]) -> Vec<&'o ValueOrigin> {
    let mut found: Vec<&ValueOrigin> = origins.iter().filter(|origin| origin.path.starts_with(path)).collect();
    if found.is_empty() {
        let above = origins.iter().filter(|origin| path.starts_with(&origin.path));
        found.extend(above.max_by_key(|origin| origin.path.segments().len()));
    }
    found
}

/// Everything that lost, compared as far as each expected item says.
fn superseded(
    checking: &Checking<'_>,
    expected: &[expected::Superseded],
    effective: &EffectivePolicy,
) -> (Value, Value) {
    let mut left: Vec<_> = effective.superseded.iter().collect();
    let (mut wanted, mut found) = (Vec::new(), Vec::new());
    for it in expected {
        let by_is = |by: &PolicyName, id| by.is(checking.engine.policy_id(id));
        let at = left.iter().position(|lost| {
            lost.path == it.path
                && it.policy.is(checking.engine.policy_id(lost.policy))
                && it.by.as_ref().is_none_or(|by| lost.by.is_some_and(|id| by_is(by, id)))
                && it.reason.as_ref().is_none_or(|reason| reason == lost.reason.name())
        });
        let mut entry = Map::default().with("path", text(&it.path));
        entry = entry.with("policy", Value::str(checking.canonical(&it.policy)));
        if let Some(by) = &it.by {
            entry = entry.with("by", Value::str(checking.canonical(by)));
        }
        if let Some(reason) = &it.reason {
            entry = entry.with("reason", Value::Str(reason.clone()));
        }
        if let Some(at) = at {
            left.remove(at);
            found.push(Value::Map(entry.clone()));
        }
        wanted.push(Value::Map(entry));
    }
    for lost in left {
        let mut entry = Map::default().with("path", text(&lost.path));
        entry = entry.with("policy", checking.policy_name(lost.policy));
        if let Some(by) = lost.by {
            entry = entry.with("by", checking.policy_name(by));
        }
        found.push(Value::Map(entry.with("reason", Value::str(lost.reason.name()))));
    }
    (Value::list(wanted), Value::list(found))
}

/// A part of each warning is enough.
fn warnings(expected: &[SmolStr], effective: &EffectivePolicy) -> (Value, Value) {
    let actual = effective.warnings.iter().enumerate().map(|(i, warning)| {
        let part = expected.get(i).filter(|part| warning.message.contains(part.as_str()));
        part.map_or_else(|| Cow::Borrowed(warning.message.as_str()), |part| Cow::Owned(part.to_string()))
    });
    let actual = actual.map(|text| Value::str(text.as_ref())).collect();
    (Value::list(expected.iter().cloned().map(Value::Str).collect()), Value::list(actual))
}
