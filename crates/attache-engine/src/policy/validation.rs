//! The validations of a kind, applied to a policy.

use super::{Block, BlockKind, block_path};
use crate::kinds::{PolicyKind, Validation};
use crate::object::{Object, ObjectRef};
use crate::value::{Map, Path, Value};

/// Reports a name or a `spec` that the kind does not allow. A rule that cannot be evaluated counts as false.
pub fn check(object: &Object, kind: &PolicyKind, report: &mut impl FnMut(Path, String)) {
    if let Some(name) = kind.acceptance.only_name.as_ref().filter(|name| **name != object.id.name) {
        report(Path::parse("metadata.name"), format!("a {} must be called `{name}`", kind.kind));
    }
    for validation in kind.acceptance.validations.iter().filter(|it| it.targets.is_empty()) {
        if let Some(message) = failure(object.spec(), validation) {
            report(Path::parse("spec"), message);
        }
    }
}

/// Reports blocks without rules, or that there are no blocks.
pub fn check_rules(
    object: &Object,
    kind: &PolicyKind,
    blocks: &[Block],
    empty: &[BlockKind],
    report: &mut impl FnMut(Path, String),
) {
    let missing = empty.first().copied().or_else(|| blocks.is_empty().then_some(BlockKind::Bare));
    if let Some(block) = missing {
        let path = block_path(object, kind, block);
        report(path.clone(), format!("`{path}` must have at least one rule"));
    }
}

/// What is wrong with a `spec` on a target of this kind.
pub fn check_target(spec: &Value, kind: &PolicyKind, target: &ObjectRef) -> Option<String> {
    let is_for_target = |it: &&Validation| it.targets.iter().any(|name| name.is(&target.group, &target.kind));
    kind.acceptance.validations.iter().filter(is_for_target).find_map(|validation| failure(spec, validation))
}

/// What is wrong with a `spec`, if a validation fails.
fn failure(spec: &Value, validation: &Validation) -> Option<String> {
    let empty = Value::Map(Map::default());
    let spec = if spec.is_null() { &empty } else { spec };
    match validation.rule.holds(spec) {
        Ok(true) => None,
        Ok(false) => Some(validation.message.to_string()),
        Err(error) => Some(format!("{} ({error})", validation.message)),
    }
}
