//! The differences between two engines, by naming and comparing everything: slow, but obviously right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use attache_engine::lint::{Finding, FindingKey, lint};
use attache_engine::{EffectivePolicy, Engine, Leaf, LeafPath, Report, ScopeRef};
use attache_engine::{
    GroupKind, NodeRef, ObjectRef, Path, PolicyReport, PolicyStatus, Segment, StatusCondition, Value,
};

/// Everything that a report covers, by name.
#[derive(Debug, Default)]
pub struct Facts {
    /// Several if nodes share a name.
    scopes: BTreeMap<ScopeKey, BTreeSet<InForce>>,
    policies: BTreeMap<ObjectRef, String>,
    /// The conditions of each policy, over all ancestors and for each.
    reports: BTreeMap<ObjectRef, String>,
    targets: BTreeMap<NodeRef, BTreeSet<ObjectRef>>,
    /// With the number of occurrences.
    findings: BTreeMap<FindingKey, usize>,
}

/// The kind, the nodes, and the namespace that requests come from.
type ScopeKey = (GroupKind, Vec<NodeRef>, Option<NodeRef>);

/// Every leaf with its value and the policies that set it; for kinds whose policies all apply, the policies in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct InForce {
    leaves: BTreeMap<Path, (Value, Vec<ObjectRef>)>,
    applied: Vec<(ObjectRef, Value)>,
}

impl Facts {
    pub fn new(engine: &Engine) -> Facts {
        let mut facts = Facts::default();
        let name = |node| engine.topology().node_ref(engine.objects(), node);
        for model in engine.models() {
            for target in model.effective_targets(engine.view()) {
                model.scopes(engine.view(), target, &mut |scope| {
                    let nodes = scope.nodes.iter().map(|node| name(*node)).collect();
                    let key = (model.group_kind(), nodes, scope.from.map(name));
                    let it = in_force(engine, model.effective(engine.view(), scope.chain));
                    facts.scopes.entry(key).or_default().insert(it);
                });
            }
        }
        // A scope without effective policies is equivalent to none.
        let nothing = BTreeSet::from([InForce::default()]);
        facts.scopes.retain(|_, it| *it != nothing);
        let statuses = engine.policy_statuses();
        for (status, report) in statuses.iter().zip(engine.policy_reports(&statuses)) {
            let policy = engine.policy_id(status.policy).clone();
            let alone = engine.policy_reports(std::slice::from_ref(status)).remove(0);
            assert_eq!(alone, report, "the report of {policy} alone, and among those of all policies");
            facts.policies.insert(policy.clone(), show(engine, status));
            facts.reports.insert(policy, show_report(report));
        }
        for status in engine.target_statuses() {
            let policies = status.affected_by.iter().map(|policy| engine.policy_id(*policy).clone());
            facts.targets.entry(name(status.target)).or_default().extend(policies);
        }
        for finding in lint(engine, &[]).iter().filter(|finding| finding.suppressed.is_none()) {
            *facts.findings.entry(finding.key()).or_default() += 1;
        }
        facts
    }
}

fn in_force(engine: &Engine, effective: &EffectivePolicy) -> InForce {
    let name = |policy| engine.policy_id(policy).clone();
    let mut found = InForce::default();
    if let Some(spec) = &effective.spec {
        leaves(spec, &mut Vec::new(), &mut |path, value| {
            let whole = effective.origins.iter().filter(|origin| path.starts_with(&origin.path)).take(1);
            let parts = effective.origins.iter().filter(|origin| origin.path.starts_with(&path));
            let names: BTreeSet<ObjectRef> = whole.chain(parts).map(|origin| name(origin.policy)).collect();
            found.leaves.insert(path, (value.clone(), Vec::from_iter(names)));
        });
    }
    found.applied = effective.applied.iter().map(|it| (name(it.policy), it.spec.clone())).collect();
    found
}

fn leaves(value: &Value, path: &mut Vec<Segment>, found: &mut impl FnMut(Path, &Value)) {
    if value.entries().is_empty() {
        found(Path::new(path.clone()), value);
    }
    for (key, child) in value.entries() {
        path.push(Segment::Key(key.clone()));
        leaves(child, path, found);
        path.pop();
    }
}

fn show(engine: &Engine, it: &PolicyStatus) -> String {
    let mut by: Vec<String> = it.by.iter().map(|policy| engine.policy_id(*policy).to_string()).collect();
    by.sort();
    format!("{:?} {:?} {:?} by {by:?}: {}", it.refused, it.enforcement, it.scopes, it.message())
}

fn show_report(report: PolicyReport) -> String {
    // The generation of a policy changes with its content, or without.
    let conditions = |conditions: Vec<StatusCondition>| -> Vec<StatusCondition> {
        conditions.into_iter().map(|it| StatusCondition { observed_generation: None, ..it }).collect()
    };
    let ancestors = report.ancestors.into_iter().map(|(ancestor, of)| (ancestor.ancestor.to_string(), conditions(of)));
    format!("{:?} {:?}", conditions(report.conditions), ancestors.collect::<Vec<_>>())
}

/// Compares a report with the actual differences.
pub fn compare(report: &Report, before: &Facts, after: &Facts) -> Result<(), String> {
    scopes(report, before, after)?;
    policies(report, before, after)?;
    if let Some(told) = report.reported_policies() {
        let differing = changed(&before.reports, &after.reports);
        if let Some((policy, was, is)) = differing.into_iter().find(|(policy, ..)| !told.contains(policy)) {
            return Err(format!("the report of {policy} differs, but is not announced:\n  {was:?}\n  {is:?}"));
        }
    }
    let changes = report.changes();
    findings("new findings", &changes.new_findings, &after.findings, &before.findings)?;
    findings("fixed findings", &changes.fixed_findings, &before.findings, &after.findings)?;
    let changed = changed(&before.targets, &after.targets);
    let expected: Vec<_> = changed
        .into_iter()
        .map(|(target, before, after)| (target, before.unwrap_or_default(), after.unwrap_or_default()))
        .collect();
    let reported = report.targets().into_iter().map(|it| {
        (it.target, it.before.into_iter().collect::<BTreeSet<_>>(), it.after.into_iter().collect::<BTreeSet<_>>())
    });
    same("targets", &reported.collect::<Vec<_>>(), &expected)?;
    let nothing = report.effective().is_empty() && report.policies().is_empty() && report.targets().is_empty();
    same("whether nothing changed", &report.is_empty(), &nothing)
}

/// Findings that occur more often than on the other side.
fn findings(
    what: &str,
    reported: &[Finding],
    here: &BTreeMap<FindingKey, usize>,
    elsewhere: &BTreeMap<FindingKey, usize>,
) -> Result<(), String> {
    let mut told: Vec<FindingKey> = reported.iter().map(Finding::key).collect();
    told.sort();
    let more = |(key, count): (&FindingKey, &usize)| {
        vec![key.clone(); count.saturating_sub(elsewhere.get(key).copied().unwrap_or(0))]
    };
    same(what, &told, &here.iter().flat_map(more).collect())
}

fn scopes(report: &Report, before: &Facts, after: &Facts) -> Result<(), String> {
    let changes = report.effective();
    let mut reported = Vec::new();
    for change in &changes {
        let key = |scope: &ScopeRef| {
            let nodes = scope.nodes.iter().map(|node| NodeRef::clone(node)).collect();
            (change.policy_kind.clone(), nodes, scope.from.as_deref().cloned())
        };
        reported.extend(change.scopes.iter().map(|scope| (key(scope), change)));
    }
    reported.sort_by(|(a, _), (b, _)| a.cmp(b));
    // If an object has two sections with one name, their scopes cannot be distinguished by name.
    let alike: BTreeSet<&ScopeKey> = [before, after]
        .into_iter()
        .flat_map(|facts| facts.scopes.iter().filter(|(_, alike)| alike.len() > 1).map(|(key, _)| key))
        .collect();
    reported.retain(|(key, _)| !alike.contains(key));
    let mut expected = changed(&before.scopes, &after.scopes);
    expected.retain(|(key, ..)| !alike.contains(key));
    let keys: Vec<&ScopeKey> = reported.iter().map(|(key, _)| key).collect();
    same("scopes", &keys, &expected.iter().map(|(key, ..)| key).collect())?;
    for ((key, change), (_, was, is)) in reported.iter().zip(&expected) {
        let (was, is) = (the_only(was), the_only(is));
        let at = |what: &str| format!("{what} at {key:?}");
        if was.applied.is_empty() && is.applied.is_empty() {
            let leaf = |it: &Leaf| (it.value.clone(), it.policies.clone());
            let told = change
                .leaves
                .iter()
                .map(|it| (it.path.clone(), it.before.as_ref().map(leaf), it.after.as_ref().map(leaf)));
            let expected = changed(&was.leaves, &is.leaves).into_iter();
            let expected = expected.map(|(path, was, is)| (LeafPath::Field(path), was, is));
            same(&at("leaves"), &told.collect::<Vec<_>>(), &expected.collect())?;
        }
        let side = |engine: &Engine, effective: &Option<Arc<EffectivePolicy>>| {
            effective.as_ref().map(|it| in_force(engine, it)).unwrap_or_default()
        };
        let told = (side(&report.before, &change.before), side(&report.after, &change.after));
        same(&at("what is in force"), &told, &(was, is))?;
    }
    Ok(())
}

fn the_only(of: &Option<BTreeSet<InForce>>) -> InForce {
    of.iter().flatten().next().cloned().unwrap_or_default()
}

fn policies(report: &Report, before: &Facts, after: &Facts) -> Result<(), String> {
    let reported = report.policies().into_iter().map(|it| {
        let was = it.before.map(|status| show(&report.before, &status));
        let is = it.after.map(|status| show(&report.after, &status));
        (it.policy, was, is)
    });
    same("policies", &reported.collect::<Vec<_>>(), &changed(&before.policies, &after.policies))
}

/// The entries that differ.
fn changed<K: Ord + Clone, V: PartialEq + Clone>(
    before: &BTreeMap<K, V>,
    after: &BTreeMap<K, V>,
) -> Vec<(K, Option<V>, Option<V>)> {
    let keys: BTreeSet<&K> = before.keys().chain(after.keys()).collect();
    let sides = keys.into_iter().map(|key| (key.clone(), before.get(key).cloned(), after.get(key).cloned()));
    sides.filter(|(_, before, after)| before != after).collect()
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, reported: &T, expected: &T) -> Result<(), String> {
    if reported == expected {
        return Ok(());
    }
    Err(format!("{what} as reported:\n  {reported:?}\nas they are:\n  {expected:?}"))
}
