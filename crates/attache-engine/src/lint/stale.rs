//! Statuses in the manifests that say something else than what was worked out.

use hashbrown::{HashMap, HashSet};

use super::facts::Facts;
use super::subject::Subject;
use super::{Findings, rule};
use crate::object::{Object, ObjectId};
use crate::status::{Enforcement, PolicyStatus};
use crate::topology::reference::Reference;
use crate::topology::{Level, NodeId, RefusalCause};
use crate::value::{Path, Value};

/// A condition as somebody has written it.
struct Written<'o> {
    path: Path,
    r#type: &'o str,
    holds: bool,
    reason: &'o str,
}

/// Policies whose `Accepted` or `Enforced` is another.
pub fn policies(facts: &Facts<'_>, findings: &mut Findings) {
    for (status, _) in facts.policies() {
        let object = facts.engine.policy_object(status.policy);
        let Some(body) = object.body.get("status") else { continue };
        let mut written = conditions(body, Path::parse("status"));
        for (i, ancestor) in body.list_at("ancestors").iter().enumerate() {
            written.extend(conditions(ancestor, Path::parse("status.ancestors").index(i)));
        }
        for (r#type, holds, reason) in computed(status) {
            let mut of_type = written.iter().filter(|it| it.r#type == r#type).peekable();
            // Each ancestor has its own answer: only if all of them are wrong, one of them must be.
            let Some(first) = of_type.peek().copied() else { continue };
            if of_type.all(|it| it.holds != holds) {
                let message = said(first, holds, reason, Some(&status.message()));
                findings.push(rule::STALE_STATUS.at(object, first.path.clone(), message));
            }
        }
    }
}

fn computed(status: &PolicyStatus) -> Vec<(&'static str, bool, &'static str)> {
    let accepted = ("Accepted", status.refused.is_none(), status.refused.map_or("Accepted", |reason| reason.name()));
    let holds = matches!(status.enforcement, Enforcement::Enforced | Enforcement::PartiallyEnforced);
    let enforced = ("Enforced", holds, status.enforcement.name());
    if status.refused.is_some() { vec![accepted] } else { vec![accepted, enforced] }
}

/// Routes whose `Accepted` is another, parent by parent.
pub fn routes(subject: Subject<'_>, findings: &mut Findings) {
    let (topology, objects) = (subject.engine.topology(), subject.engine.objects());
    let refused = topology.refused(objects).iter().filter(|refused| subject.includes(refused.by));
    let refused: HashMap<(ObjectId, &Path), &RefusalCause> = refused.map(|it| ((it.by, &it.path), &it.cause)).collect();
    let contested: HashSet<ObjectId> =
        refused.keys().filter(|(_, path)| **path == Path::parse("spec.hostnames")).map(|(by, _)| *by).collect();
    for id in subject.routes().map(|(_, route)| route).filter(|id| !contested.contains(id)) {
        let route = &objects[id];
        let Some(parents) = route.body.at(&["status", "parents"]) else { continue };
        for (i, parent) in parents.items().iter().enumerate() {
            let Some(asked) = parent_ref(route, parent) else { continue };
            let computed = refused.get(&(id, &asked));
            let written = conditions(parent, Path::parse("status.parents").index(i));
            if let Some(wrong) = disagrees(&written, "Accepted", computed.is_none()) {
                let message = said(wrong, computed.is_none(), reason(computed.copied()), computed.copied());
                findings.push(rule::STALE_STATUS.at(route, wrong.path.clone(), message));
            }
        }
    }
}

/// Gateways and ListenerSets whose `Accepted` is another, or what they say of their listeners.
pub fn gateways(subject: Subject<'_>, findings: &mut Findings) {
    let (topology, objects) = (subject.engine.topology(), subject.engine.objects());
    for (id, owner) in subject.objects() {
        let node = NodeId::whole(id);
        if !matches!(topology[node].level, Level::Gateway | Level::ListenerSet) {
            continue;
        }
        let Some(status) = owner.body.get("status") else { continue };
        let of_whole = [Path::parse("spec.listeners"), Path::parse("spec.parentRef")];
        let refused = if topology.is_refused(id) { topology.refused(objects) } else { &[] };
        let refused = refused.iter().find(|it| it.by == id && of_whole.contains(&it.path));
        let cause = refused.map(|it| &it.cause);
        if let Some(wrong) = disagrees(&conditions(status, Path::parse("status")), "Accepted", refused.is_none()) {
            let message = said(wrong, cause.is_none(), reason(cause), cause);
            findings.push(rule::STALE_STATUS.at(owner, wrong.path.clone(), message));
        }
        for (i, entry) in status.list_at("listeners").iter().enumerate() {
            let Some(name) = entry.get_str("name") else { continue };
            let Some(listener) = topology.section(node, name) else { continue };
            for (path, message) in of_listener(subject, listener, entry, Path::parse("status.listeners").index(i)) {
                findings.push(rule::STALE_STATUS.at(owner, path, format!("listener `{name}`: {message}")));
            }
        }
    }
}

/// What is wrong with what a status says, at some path, of one listener.
fn of_listener(subject: Subject<'_>, listener: NodeId, entry: &Value, at: Path) -> Vec<(Path, String)> {
    let topology = subject.engine.topology();
    let cause = topology.why_unserved(subject.engine.objects(), listener).map(|it| &it.cause);
    let computed = match cause {
        None => vec![("Conflicted", false, "NoConflicts"), ("Accepted", true, "Accepted")],
        // Implementations do not agree on whether it is accepted then.
        Some(RefusalCause::Listener(refusal)) if refusal.is_conflict() => {
            vec![("Conflicted", true, refusal.reason().as_str())]
        }
        cause => vec![("Conflicted", false, "NoConflicts"), ("Accepted", false, reason(cause))],
    };
    let written = conditions(entry, at.clone());
    let wrong = computed.into_iter().filter_map(|(r#type, holds, reason)| {
        let wrong = disagrees(&written, r#type, holds)?;
        Some((wrong.path.clone(), said(wrong, holds, reason, cause)))
    });
    let mut wrong: Vec<(Path, String)> = wrong.collect();
    let routes = topology.children(listener).iter().filter(|child| topology[**child].level == Level::Route);
    let (counted, attached) = (entry.get("attachedRoutes").and_then(Value::as_int), routes.count());
    if let Some(counted) = counted.filter(|counted| usize::try_from(*counted) != Ok(attached)) {
        let message = format!("the status says attachedRoutes={counted}, and it should be {attached}");
        wrong.push((at.key("attachedRoutes"), message));
    }
    wrong
}

fn disagrees<'w, 'o>(written: &'w [Written<'o>], r#type: &str, holds: bool) -> Option<&'w Written<'o>> {
    written.iter().find(|it| it.r#type == r#type && it.holds != holds)
}

/// Which of a route's parentRefs an entry of its status is about.
fn parent_ref(route: &Object, status: &Value) -> Option<Path> {
    let home = &route.id.namespace;
    let wanted = Reference::parent(status.get("parentRef")?, home)?;
    let refs = route.spec().list_at("parentRefs");
    let position = refs.iter().position(|it| Reference::parent(it, home) == Some(wanted))?;
    Some(Path::parse("spec.parentRefs").index(position))
}

fn conditions(of: &Value, at: Path) -> Vec<Written<'_>> {
    let list = of.list_at("conditions").iter().enumerate();
    list.filter_map(|(i, condition)| {
        let holds = match condition.get_str("status")? {
            "True" => true,
            "False" => false,
            _ => return None,
        };
        let reason = condition.get_str("reason").unwrap_or_default();
        Some(Written { path: at.key("conditions").index(i), r#type: condition.get_str("type")?, holds, reason })
    })
    .collect()
}

/// The reason that belongs in `Accepted`.
fn reason(cause: Option<&RefusalCause>) -> &'static str {
    cause.map_or("Accepted", |cause| cause.reason().as_str())
}

fn said(written: &Written<'_>, holds: bool, reason: &str, why: Option<&impl ToString>) -> String {
    let word = |holds| if holds { "True" } else { "False" };
    let why = why.map(ToString::to_string).unwrap_or_default();
    let because = if why.is_empty() { String::new() } else { format!(": {why}") };
    format!(
        "the status says {}={} ({}), and it should be {} ({reason}){because}",
        written.r#type,
        word(written.holds),
        written.reason,
        word(holds)
    )
}
