//! The validations of a kind, applied to a policy.

use crate::kinds::PolicyKind;
use crate::object::Object;
use crate::value::{Map, Path, Value};

/// Reports a name and a `spec` that the kind does not allow. A rule that cannot be evaluated counts as false.
pub fn check(object: &Object, kind: &PolicyKind, report: &mut impl FnMut(Path, String)) {
    if let Some(name) = kind.acceptance.only_name.as_ref().filter(|name| **name != object.id.name) {
        report(Path::parse("metadata.name"), format!("a {} must be called `{name}`", kind.kind));
    }
    let empty = Value::Map(Map::default());
    let spec = if object.spec().is_null() { &empty } else { object.spec() };
    for validation in &kind.acceptance.validations {
        match validation.rule.holds(spec) {
            Ok(true) => {}
            Ok(false) => report(Path::parse("spec"), validation.message.to_string()),
            Err(error) => report(Path::parse("spec"), format!("{} ({error})", validation.message)),
        }
    }
}
