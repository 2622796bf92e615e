//! Checks expectations about effective policies: their specs, origins and superseded values.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use smol_str::SmolStr;

use super::comparison::FieldComparison;
use super::{CheckError, Checker, scopes};
use crate::chain::Hierarchy;
use crate::fold::{EffectivePolicy, ValueOrigin};
use crate::kinds::{KindName, PolicyKind};
use crate::model::{Model, Scope};
use crate::order::Stacks;
use crate::policytest::expectations::{ExpectedEffective, ExpectedLoss};
use crate::policytest::query::PolicyQuery;
use crate::value::{Map, Path, Value};

/// Compares every selected scope, and reports the first that differs.
pub fn check(checker: &Checker<'_>, expected: &ExpectedEffective) -> Result<(), CheckError> {
    let model = model(checker, &expected.policy_kind)?;
    let scopes = scopes::select(checker, &model, expected)?;
    let compare = |scope: &Scope| compare(checker, &model, expected, scope);
    let mut unmet = scopes.iter().filter_map(|scope| compare(scope).err());
    let Some(mut first) = unmet.next() else { return Ok(()) };
    if let (CheckError::Unmet { about, .. }, more @ 1..) = (&mut first, unmet.count()) {
        *about += &format!(", and {more} more {}", if more == 1 { "scope" } else { "scopes" });
    }
    Err(first)
}

/// The model of a kind. The engine has none for a kind without policies: then an empty one is built.
fn model<'e>(checker: &Checker<'e>, name: &str) -> Result<KindModel<'e>, CheckError> {
    let (engine, name) = (checker.engine, KindName::parse(name));
    let is_named = |kind: &PolicyKind| name.is(&kind.group, &kind.kind);
    // Several groups can have a kind of this name: prefer one that has policies.
    let mut kinds = engine.kinds().iter().filter(|(_, kind)| is_named(kind));
    if let Some(model) = kinds.clone().find_map(|(id, _)| engine.model(id)) {
        return Ok(KindModel::Built(model));
    }
    let Some((id, kind)) = kinds.next() else {
        return Err(checker.unknown_policy_kind("policyKind", &name));
    };
    let hierarchy = Hierarchy::new(engine.objects(), engine.topology(), kind.shape());
    Ok(KindModel::Empty(Box::new(Model::new(engine.view(), id, kind, Arc::new(hierarchy), Stacks::default()))))
}

enum KindModel<'e> {
    Built(&'e Model),
    Empty(Box<Model>),
}

impl Deref for KindModel<'_> {
    type Target = Model;

    fn deref(&self) -> &Model {
        match self {
            KindModel::Built(model) => model,
            KindModel::Empty(model) => model,
        }
    }
}

fn compare(
    checker: &Checker<'_>,
    model: &Model,
    expected: &ExpectedEffective,
    scope: &Scope,
) -> Result<(), CheckError> {
    let effective = model.effective(checker.engine.view(), scope.chain);
    let mut comparison = FieldComparison::default();
    if let Some(spec) = &expected.spec {
        comparison.add("spec", spec.clone(), effective.spec.clone().unwrap_or_default());
    }
    if !expected.origins.is_empty() {
        let (expected, actual) = origins(checker, &expected.origins, effective);
        comparison.add("origins", expected, actual);
    }
    if let Some(losses) = &expected.superseded {
        let (expected, actual) = superseded(checker, losses, effective);
        comparison.add("superseded", expected, actual);
    }
    if let Some(policies) = &expected.policies {
        let expected = policies.iter().map(|query| Value::str(checker.full_name(query))).collect();
        let actual = effective.applied.iter().map(|applied| checker.policy_name(applied.policy)).collect();
        comparison.add("policies", Value::list(expected), Value::list(actual));
    }
    if let Some(specs) = &expected.specs {
        let actual = effective.applied.iter().map(|applied| applied.spec.clone()).collect();
        comparison.add("specs", specs.clone(), Value::list(actual));
    }
    if let Some(parts) = &expected.warnings {
        let (expected, actual) = warnings(parts, effective);
        comparison.add("warnings", expected, actual);
    }
    comparison.result(|| format!("{} in {}", model.kind.kind, scopes::describe(checker, scope)))
}

fn origins(checker: &Checker<'_>, expected: &[(Path, PolicyQuery)], effective: &EffectivePolicy) -> (Value, Value) {
    let (mut left, mut right) = (Map::default(), Map::default());
    for (path, policy) in expected {
        let key = path.to_string();
        let mut names: Vec<Value> =
            origins_at(path, &effective.origins).iter().map(|origin| checker.policy_name(origin.policy)).collect();
        names.dedup();
        let actual = match names.as_slice() {
            [] => Value::Null,
            [one] => one.clone(),
            _ => Value::list(names),
        };
        left = left.with(&key, Value::str(checker.full_name(policy)));
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

/// Compares all superseded values. Of each, only the fields that the test gives are compared.
fn superseded(checker: &Checker<'_>, expected: &[ExpectedLoss], effective: &EffectivePolicy) -> (Value, Value) {
    let mut remaining: Vec<_> = effective.superseded.iter().collect();
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for loss in expected {
        let ExpectedLoss { path, policy, by, reason } = loss;
        let is_by = |by: &PolicyQuery, id| by.matches(checker.engine.policy_id(id));
        let at = remaining.iter().position(|actual| {
            actual.path == *path
                && policy.matches(checker.engine.policy_id(actual.policy))
                && by.as_ref().is_none_or(|by| actual.rivals().any(|id| is_by(by, id)))
                && reason.as_ref().is_none_or(|reason| reason == actual.reason.name())
        });
        let mut entry = Map::default().with("path", Value::str(path.to_string()));
        entry = entry.with("policy", Value::str(checker.full_name(policy)));
        if let Some(by) = by {
            entry = entry.with("by", Value::str(checker.full_name(by)));
        }
        if let Some(reason) = reason {
            entry = entry.with("reason", Value::Str(reason.clone()));
        }
        if let Some(at) = at {
            remaining.remove(at);
            right.push(Value::Map(entry.clone()));
        }
        left.push(Value::Map(entry));
    }
    for actual in remaining {
        let mut entry = Map::default().with("path", Value::str(actual.path.to_string()));
        entry = entry.with("policy", checker.policy_name(actual.policy));
        if let Some(by) = actual.by {
            entry = entry.with("by", checker.policy_name(by));
        }
        right.push(Value::Map(entry.with("reason", Value::str(actual.reason.name()))));
    }
    (Value::list(left), Value::list(right))
}

/// Compares warnings. The test gives a part of each.
fn warnings(expected: &[SmolStr], effective: &EffectivePolicy) -> (Value, Value) {
    let actual = effective.warnings.iter().enumerate().map(|(i, warning)| {
        let part = expected.get(i).filter(|part| warning.message.contains(part.as_str()));
        part.map_or_else(|| Cow::Borrowed(warning.message.as_str()), |part| Cow::Owned(part.to_string()))
    });
    let actual = actual.map(|text| Value::str(text.as_ref())).collect();
    (Value::list(expected.iter().cloned().map(Value::Str).collect()), Value::list(actual))
}
