//! Blocks of policies that have no effect: empty blocks, shadowed rules, removals of nothing, conditions that are never true.

use std::collections::BTreeMap;
use std::fmt;

use smol_str::SmolStr;

use super::finding::{Finding, FindingCause, Findings, any_scope, scopes};
use super::fold_facts::FoldFacts;
use super::rule::{self, Rule};
use crate::kinds::PolicyKind;
use crate::policy::{Block, BlockKind, PolicyId, block_path};
use crate::value::{Path, Segment};

/// Why a block, or a part of it, has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockFinding {
    /// Another block of the same policy sets the same fields.
    Shadowed {
        /// The fields.
        paths: Vec<Path>,
        /// The block that wins.
        by: BlockKind,
    },
    /// `remove` lists a rule that no policy above sets as a default.
    RemovesNothing {
        /// The rule as it is written.
        name: SmolStr,
    },
    /// The block has no rules.
    Empty {
        /// The block.
        block: BlockKind,
    },
    /// The condition is false in all scopes.
    ConditionFalse {
        /// The block.
        block: BlockKind,
        /// The number of scopes.
        scopes: u64,
    },
    /// The condition cannot be evaluated.
    ConditionError {
        /// The block.
        block: BlockKind,
        /// The number of scopes in which it cannot be evaluated.
        scopes: u64,
        /// The first error.
        error: String,
    },
}

impl fmt::Display for BlockFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockFinding::Shadowed { paths, by } => {
                let paths: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
                write!(f, "{} has no effect: {} of the same policy sets it too", paths.join(", "), name(*by))
            }
            BlockFinding::RemovesNothing { name } => {
                write!(f, "`{name}` is removed, but no policy above sets it as a default")
            }
            BlockFinding::Empty { block: BlockKind::Bare } => f.write_str("it has no rules, and so sets nothing"),
            BlockFinding::Empty { block } => {
                write!(f, "{} has no rules: it sets nothing, and takes nothing from other policies", name(*block))
            }
            BlockFinding::ConditionFalse { block, scopes } => {
                write!(f, "the condition of {} is not true in {}", name(*block), any_scope(*scopes))
            }
            BlockFinding::ConditionError { block, scopes: count, error } => {
                write!(f, "the condition of {} counts as false in {}: {error}", name(*block), scopes(*count))
            }
        }
    }
}

fn name(block: BlockKind) -> &'static str {
    match block {
        BlockKind::Defaults => "`defaults`",
        BlockKind::Bare => "the bare rules",
        BlockKind::Overrides => "`overrides`",
    }
}

fn push(
    facts: &FoldFacts<'_>,
    policy: PolicyId,
    rule: &'static Rule,
    path: Path,
    finding: BlockFinding,
    findings: &mut Findings,
) {
    let object = facts.engine.policy_object(policy);
    findings.push(Finding::new(rule, object, path, FindingCause::Block(finding)));
}

fn kind<'f>(facts: &'f FoldFacts<'_>, policy: PolicyId) -> &'f PolicyKind {
    facts.engine.kinds().get(facts.engine.policy(policy).kind)
}

/// The path of a block in its policy.
fn path(facts: &FoldFacts<'_>, policy: PolicyId, block: BlockKind) -> Path {
    block_path(facts.engine.policy_object(policy), kind(facts, policy), block)
}

/// Rules of a block that lose to another block of the same policy in every scope.
pub fn shadowed_by_own_block(facts: &FoldFacts<'_>, findings: &mut Findings) {
    let mut by_block: BTreeMap<(PolicyId, BlockKind, BlockKind), Vec<&Path>> = BTreeMap::new();
    for (&(policy, block, path), by) in &facts.shadowed {
        by_block.entry((policy, block, *by)).or_default().push(path);
    }
    for ((policy, block, by), paths) in by_block {
        let first = paths.first().into_iter().flat_map(|path| path.segments());
        let at = first.fold(path(facts, policy, block), joined);
        let finding = BlockFinding::Shadowed { paths: paths.into_iter().cloned().collect(), by };
        push(facts, policy, &rule::SHADOWED_BY_OWN_BLOCK, at, finding, findings);
    }
}

fn joined(path: Path, segment: &Segment) -> Path {
    match segment {
        Segment::Key(key) => path.key(key.clone()),
        Segment::Index(index) => path.index(*index),
    }
}

/// Blocks that are written but have no rules.
pub fn empty(facts: &FoldFacts<'_>, findings: &mut Findings) {
    for (status, policy) in facts.policies() {
        for &block in &policy.empty_blocks {
            let at = path(facts, status.policy, block);
            push(facts, status.policy, &rule::EMPTY_BLOCK, at, BlockFinding::Empty { block }, findings);
        }
    }
}

/// Entries of `remove` for which no default of a policy above is dropped.
pub fn removes_nothing(facts: &FoldFacts<'_>, findings: &mut Findings) {
    for (status, policy) in facts.policies().filter(|(status, _)| status.scopes.total > 0) {
        let removed = facts.removed.get(&status.policy);
        for block in policy.blocks.iter().filter(|block| !is_inactive(facts, status.policy, block)) {
            for name in &block.removes {
                if removed.is_some_and(|paths| paths.iter().any(|path| is_part_of(path, name))) {
                    continue;
                }
                let block = path(facts, status.policy, block.kind);
                let fields = kind(facts, status.policy).fields.remove.iter();
                let object = facts.engine.policy_object(status.policy);
                let at = fields.map(|field| block.key(field.clone())).find(|at| at.resolve(&object.body).is_some());
                let finding = BlockFinding::RemovesNothing { name: name.clone() };
                push(facts, status.policy, &rule::REMOVES_NOTHING, at.unwrap_or_default(), finding, findings);
            }
        }
    }
}

/// Whether the rule called `name`, or the value at that dotted path, is `path` or contains it.
fn is_part_of(path: &Path, name: &str) -> bool {
    let segments = path.segments();
    (1..=segments.len()).any(|end| {
        let above = Path::new(segments[..end].to_vec());
        matches!(segments.get(end - 1), Some(Segment::Key(key)) if key == name) || above.to_string() == name
    })
}

/// Whether the condition of a block is false in all scopes.
fn is_inactive(facts: &FoldFacts<'_>, policy: PolicyId, block: &Block) -> bool {
    block.when.is_some() && facts.inactive.get(&(policy, block.kind)) == Some(&facts.status(policy).scopes.total)
}

/// Conditions that are false in all scopes.
pub fn condition_never_true(facts: &FoldFacts<'_>, findings: &mut Findings) {
    for (&(policy, block), &inactive) in &facts.inactive {
        let scopes = facts.status(policy).scopes.total;
        if inactive == scopes && !facts.errors.contains_key(&(policy, block)) {
            let finding = BlockFinding::ConditionFalse { block, scopes };
            let at = condition_path(facts, policy, block);
            push(facts, policy, &rule::CONDITION_NEVER_TRUE, at, finding, findings);
        }
    }
}

/// Conditions that cannot be evaluated, and so count as false.
pub fn condition_error(facts: &FoldFacts<'_>, findings: &mut Findings) {
    for (&(policy, block), &(error, scopes)) in &facts.errors {
        let finding = BlockFinding::ConditionError { block, scopes, error: error.to_owned() };
        let at = condition_path(facts, policy, block);
        push(facts, policy, &rule::CONDITION_ERROR, at, finding, findings);
    }
}

fn condition_path(facts: &FoldFacts<'_>, policy: PolicyId, block: BlockKind) -> Path {
    path(facts, policy, block).key(kind(facts, policy).fields.when.clone())
}
