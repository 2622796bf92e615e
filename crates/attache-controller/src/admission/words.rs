//! Warnings in words.

use attache_engine::{Impact, ObjectRef, plural};

use super::review::Operation;

/// `1 route`, `2 routes`.
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {}", plural(what)) }
}

/// `RetryPolicy baker/be-patient`, as kubectl names objects in messages.
pub(super) fn object_name(id: &ObjectRef) -> String {
    match id.namespace.as_str() {
        "" => format!("{} {}", id.kind, id.name),
        namespace => format!("{} {namespace}/{}", id.kind, id.name),
    }
}

/// What a change affects, and the command that shows it. `None` if it affects nothing.
pub(super) fn impact_warning(operation: Operation, id: &ObjectRef, impact: Impact) -> Option<String> {
    let Impact { targets, routes, backends, services, namespaces } = impact;
    if targets == 0 {
        return None;
    }
    let backend = if services == backends { "service" } else { "backend" };
    let parts = [(routes, "route"), (backends, backend)].into_iter().filter(|(count, _)| *count > 0);
    let mut on: Vec<String> = parts.map(|(count, what)| counted(count, what)).collect();
    if on.is_empty() {
        on.push(counted(targets, "object"));
    }
    let within = if namespaces > 0 { format!(" in {}", counted(namespaces, "namespace")) } else { String::new() };
    let (doing, name, on) = (operation.doing(), object_name(id), on.join(" and "));
    Some(format!("{doing} {name} changes what is in force on {on}{within} ({})", plan_command(operation, id)))
}

/// The command that shows the effects of a change.
fn plan_command(operation: Operation, id: &ObjectRef) -> String {
    if operation != Operation::Delete {
        return "attache plan --apply FILE".to_owned();
    }
    let object = format!("attache plan --delete {}/{}", id.kind.to_lowercase(), id.name);
    if id.namespace.is_empty() { object } else { format!("{object} -n {}", id.namespace) }
}

/// The warning if the effects of a change are not computed.
pub(super) fn unknown_impact_warning(operation: Operation, id: &ObjectRef) -> String {
    let (doing, name, command) = (operation.doing(), object_name(id), plan_command(operation, id));
    format!("{doing} {name} may affect many objects; counting them here would take too long ({command})")
}
