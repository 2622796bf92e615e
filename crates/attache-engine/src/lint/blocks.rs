//! Parts of policies that do nothing: shadowed rules, removals without effect, conditions that never hold.

use std::collections::BTreeMap;

use super::facts::Facts;
use super::{Findings, any_scope, rule, scopes};
use crate::kinds::PolicyKind;
use crate::object::Object;
use crate::policy::{Block, BlockKind, Policy, PolicyId, block_path};
use crate::value::{Path, Segment};

/// Rules that another block of the same policy takes, wherever the policy is met.
pub fn shadowed_by_own_block(facts: &Facts<'_>, findings: &mut Findings) {
    let mut by_block: BTreeMap<(PolicyId, BlockKind, BlockKind), Vec<&Path>> = BTreeMap::new();
    for (&(policy, which, path), holder) in &facts.shadowed {
        by_block.entry((policy, which, *holder)).or_default().push(path);
    }
    for ((policy, which, holder), paths) in by_block {
        let (object, kind) = (facts.engine.policy_object(policy), kind_of(facts, policy));
        let names: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
        let message = format!("{} never counts: {} of the same policy says it too", names.join(", "), words(holder));
        let path = paths.first().into_iter().flat_map(|path| path.segments());
        let path = path.fold(block_path(object, kind, which), joined);
        findings.push(rule::SHADOWED_BY_OWN_BLOCK.at(object, path, message));
    }
}

fn joined(path: Path, segment: &Segment) -> Path {
    match segment {
        Segment::Key(key) => path.key(key.clone()),
        Segment::Index(index) => path.index(*index),
    }
}

/// Entries of `remove` that no default of a policy above is dropped for.
pub fn removes_nothing(facts: &Facts<'_>, findings: &mut Findings) {
    for (status, policy) in facts.policies().filter(|(status, _)| status.scopes.total > 0) {
        let removed = facts.removed.get(&status.policy);
        for block in policy.blocks.iter().filter(|block| !is_idle(facts, status.policy, block)) {
            let (object, kind) = (facts.engine.policy_object(status.policy), kind_of(facts, status.policy));
            for name in &block.removes {
                if removed.is_some_and(|paths| paths.iter().any(|path| is_part_of(path, name))) {
                    continue;
                }
                let field =
                    kind.fields.remove.iter().map(|field| block_path(object, kind, block.kind).key(field.clone()));
                let path = field.clone().find(|path| path.resolve(&object.body).is_some()).unwrap_or_default();
                let message = format!("`{name}` is removed, and no default of a policy above has it");
                findings.push(rule::REMOVES_NOTHING.at(object, path, message));
            }
        }
    }
}

/// Whether the rule called `name`, or the value at that dotted path, is `path` or holds it.
fn is_part_of(path: &Path, name: &str) -> bool {
    let segments = path.segments();
    (1..=segments.len()).any(|end| {
        let above = Path::new(segments[..end].to_vec());
        matches!(segments.get(end - 1), Some(Segment::Key(key)) if key == name) || above.to_string() == name
    })
}

/// Whether the condition of a block holds nowhere.
fn is_idle(facts: &Facts<'_>, policy: PolicyId, block: &Block) -> bool {
    block.when.is_some() && facts.inactive.get(&(policy, block.kind)) == Some(&facts.status(policy).scopes.total)
}

/// Conditions that hold for nothing that is there.
pub fn condition_never_true(facts: &Facts<'_>, findings: &mut Findings) {
    for (&(policy, which), &inactive) in &facts.inactive {
        let total = facts.status(policy).scopes.total;
        if inactive == total && !facts.errors.contains_key(&(policy, which)) {
            let (object, path) = condition(facts, policy, which);
            let message = format!("the condition of {} does not hold in {}", words(which), any_scope(total));
            findings.push(rule::CONDITION_NEVER_TRUE.at(object, path, message));
        }
    }
}

/// Conditions that fail where they are evaluated, and so count as false.
pub fn condition_error(facts: &Facts<'_>, findings: &mut Findings) {
    for (&(policy, which), &(error, count)) in &facts.errors {
        let (object, path) = condition(facts, policy, which);
        let message = format!("the condition of {} counts as false in {}: {error}", words(which), scopes(count));
        findings.push(rule::CONDITION_ERROR.at(object, path, message));
    }
}

fn condition<'f>(facts: &'f Facts<'_>, policy: PolicyId, which: BlockKind) -> (&'f Object, Path) {
    let (object, kind) = (facts.engine.policy_object(policy), kind_of(facts, policy));
    (object, block_path(object, kind, which).key(kind.fields.when.clone()))
}

fn words(which: BlockKind) -> &'static str {
    match which {
        BlockKind::Defaults => "`defaults`",
        BlockKind::Bare => "the bare rules",
        BlockKind::Overrides => "`overrides`",
    }
}

fn kind_of<'f>(facts: &'f Facts<'_>, policy: PolicyId) -> &'f PolicyKind {
    let Policy { kind, .. } = facts.engine.policy(policy);
    facts.engine.kinds().get(*kind)
}
