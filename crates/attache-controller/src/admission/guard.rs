//! Guarded objects: a change that affects many routes must be confirmed.

use attache_engine::{Object, ObjectRef, Objects};

use super::words::counted;

/// The annotation with the number of routes that a change may affect without confirmation.
const GUARD: &str = "attache.dev/guard";
/// The annotation that confirms a change: the number of routes that it affects.
const CONFIRM: &str = "attache.dev/confirm";

/// What guards an object.
#[derive(Debug, Default)]
pub(super) struct Guard {
    /// The number of routes that a change may affect, and the object with the annotation. `None` if there is no guard.
    limit: Option<(usize, ObjectRef)>,
    /// Annotations that are not valid.
    pub problems: Vec<String>,
}

impl Guard {
    /// The guard of an object: its own or that of its Namespace, whichever is lower. A change that removes a guard must be
    /// confirmed, too.
    pub fn find(versions: [Option<&Object>; 2], objects: &Objects) -> Guard {
        let id = versions.iter().flatten().map(|object| &object.id).next();
        let namespace = id.filter(|id| !id.namespace.is_empty());
        let namespace = namespace.and_then(|id| objects.find(&ObjectRef::new("", "Namespace", "", &id.namespace)));
        let namespace = namespace.and_then(|id| objects.get(id));
        let mut guard = Guard::default();
        for object in versions.into_iter().flatten().chain(namespace) {
            guard.add(object);
        }
        guard.problems.dedup();
        guard
    }

    fn add(&mut self, object: &Object) {
        let Some(text) = object.annotation(GUARD) else { return };
        match text.parse::<usize>() {
            Ok(limit) if self.limit.as_ref().is_none_or(|(lowest, _)| limit < *lowest) => {
                self.limit = Some((limit, object.id.clone()));
            }
            Ok(_) => {}
            Err(_) => self.problems.push(format!(
                "{} is not guarded: its annotation {GUARD} is `{text}`, which is not a number of routes",
                object.id
            )),
        }
    }

    /// Why a change that affects this number of routes is refused. `confirming` is the object that can confirm the change.
    pub fn refusal(&self, routes: usize, confirming: Option<&Object>, is_deleted: bool) -> Option<String> {
        let (limit, by) = self.limit.as_ref().filter(|(limit, _)| routes > *limit)?;
        if confirming.and_then(|object| object.annotation(CONFIRM)) == Some(routes.to_string().as_str()) {
            return None;
        }
        let when = if is_deleted { "first annotate it" } else { "annotate it" };
        let affected = counted(routes, "route");
        let allowed = counted(*limit, "route");
        Some(format!(
            "this change affects {affected}, and {by} is guarded: changes that affect more than {allowed} must be confirmed; to confirm, {when} with {CONFIRM}=\"{routes}\""
        ))
    }
}
