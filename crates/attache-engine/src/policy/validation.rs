//! What a kind demands of its policies.

use crate::kinds::PolicyKind;
use crate::object::Object;
use crate::value::{Map, Path, Value};

/// Complains of everything that a kind's own rules do not allow. A rule that cannot be evaluated is not fulfilled.
pub fn check(object: &Object, kind: &PolicyKind, complain: &mut impl FnMut(Path, String)) {
    if let Some(name) = kind.acceptance.only_name.as_ref().filter(|name| **name != object.id.name) {
        complain(Path::parse("metadata.name"), format!("a {} must be called `{name}`", kind.kind));
    }
    let empty = Value::Map(Map::default());
    let spec = if object.spec().is_null() { &empty } else { object.spec() };
    for validation in &kind.acceptance.validations {
        match validation.rule.holds(spec) {
            Ok(true) => {}
            Ok(false) => complain(Path::parse("spec"), validation.message.to_string()),
            Err(error) => complain(Path::parse("spec"), format!("{} ({error})", validation.message)),
        }
    }
}
