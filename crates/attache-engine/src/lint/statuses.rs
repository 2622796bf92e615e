//! Statuses in the manifests that differ from the computed ones.

use std::fmt;

use hashbrown::{HashMap, HashSet};
use smol_str::SmolStr;

use super::finding::{Finding, FindingCause, Findings};
use super::fold_facts::FoldFacts;
use super::rule;
use super::subject::LintSubject;
use crate::object::{Object, ObjectId};
use crate::status::{Enforcement, PolicyStatus};
use crate::topology::reference::Reference;
use crate::topology::{Level, NodeId, RefusalCause};
use crate::value::{Path, Value};

/// How a status differs from the computed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusFinding {
    /// A condition differs.
    Condition {
        /// The listener, if the condition is one of a listener.
        listener: Option<SmolStr>,
        /// The condition in the manifest.
        written: WrittenCondition,
        /// The computed status.
        is_true: bool,
        /// The computed reason.
        reason: &'static str,
        /// The computed message; empty if there is none.
        message: String,
    },
    /// The number of routes attached to a listener differs.
    AttachedRoutes {
        /// The listener.
        listener: SmolStr,
        /// The number in the manifest.
        written: i64,
        /// The computed number.
        actual: usize,
    },
}

/// A condition in a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenCondition {
    /// `Accepted`.
    pub r#type: SmolStr,
    /// Whether its status is `True`.
    pub is_true: bool,
    /// The reason.
    pub reason: SmolStr,
}

impl fmt::Display for StatusFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |is_true: bool| if is_true { "True" } else { "False" };
        match self {
            StatusFinding::Condition { listener, written, is_true, reason, message } => {
                if let Some(listener) = listener {
                    write!(f, "listener `{listener}`: ")?;
                }
                let WrittenCondition { r#type, is_true: was, reason: written } = written;
                let (was, is) = (word(*was), word(*is_true));
                write!(f, "the status says {type}={was} ({written}), but it should be {is} ({reason})")?;
                if message.is_empty() { Ok(()) } else { write!(f, ": {message}") }
            }
            StatusFinding::AttachedRoutes { listener, written, actual } => {
                write!(f, "listener `{listener}`: the status says attachedRoutes={written}, but it should be {actual}")
            }
        }
    }
}

/// A condition in a manifest, and where it is.
struct Condition<'o> {
    path: Path,
    r#type: &'o str,
    is_true: bool,
    reason: &'o str,
}

/// A computed condition.
#[derive(Clone, Copy)]
struct Computed {
    r#type: &'static str,
    is_true: bool,
    reason: &'static str,
}

impl Condition<'_> {
    /// A finding about this condition.
    fn finding(&self, object: &Object, computed: Computed, message: String, listener: Option<&str>) -> Finding {
        let finding = StatusFinding::Condition {
            listener: listener.map(SmolStr::new),
            written: WrittenCondition { r#type: self.r#type.into(), is_true: self.is_true, reason: self.reason.into() },
            is_true: computed.is_true,
            reason: computed.reason,
            message,
        };
        Finding::new(&rule::STALE_STATUS, object, self.path.clone(), FindingCause::Status(finding))
    }
}

/// Policies whose `Accepted` or `Enforced` differs.
pub fn policies(facts: &FoldFacts<'_>, findings: &mut Findings) {
    for (status, _) in facts.policies() {
        let object = facts.engine.policy_object(status.policy);
        let Some(body) = object.body.get("status") else { continue };
        let mut written = conditions(body, Path::parse("status"));
        for (i, ancestor) in body.list_at("ancestors").iter().enumerate() {
            written.extend(conditions(ancestor, Path::parse("status.ancestors").index(i)));
        }
        for computed in policy_conditions(status) {
            let mut of_type = written.iter().filter(|condition| condition.r#type == computed.r#type).peekable();
            let Some(first) = of_type.peek().copied() else { continue };
            // Ancestors have their own conditions: the status is wrong if all of them differ.
            if of_type.all(|condition| condition.is_true != computed.is_true) {
                findings.push(first.finding(object, computed, status.message(), None));
            }
        }
    }
}

fn policy_conditions(status: &PolicyStatus) -> Vec<Computed> {
    let reason = status.refused.map_or("Accepted", |reason| reason.name());
    let accepted = Computed { r#type: "Accepted", is_true: status.refused.is_none(), reason };
    let is_enforced = matches!(status.enforcement, Enforcement::Enforced | Enforcement::PartiallyEnforced);
    let enforced = Computed { r#type: "Enforced", is_true: is_enforced, reason: status.enforcement.name() };
    if status.refused.is_some() { vec![accepted] } else { vec![accepted, enforced] }
}

/// Routes whose `Accepted` differs for one of their parents.
pub fn routes(subject: LintSubject<'_>, findings: &mut Findings) {
    let objects = subject.engine.objects();
    let refused = subject.refused();
    let refused: HashMap<(ObjectId, &Path), &RefusalCause> =
        refused.iter().map(|it| ((it.by, &it.path), &it.cause)).collect();
    let conflicted: HashSet<ObjectId> =
        refused.keys().filter(|(_, path)| **path == Path::parse("spec.hostnames")).map(|(by, _)| *by).collect();
    for id in subject.routes().map(|(_, route)| route).filter(|id| !conflicted.contains(id)) {
        let route = &objects[id];
        let Some(parents) = route.body.at(&["status", "parents"]) else { continue };
        for (i, parent) in parents.items().iter().enumerate() {
            let Some(parent_ref) = parent_ref(route, parent) else { continue };
            let cause = refused.get(&(id, &parent_ref)).copied();
            let written = conditions(parent, Path::parse("status.parents").index(i));
            let computed = accepted(cause);
            if let Some(condition) = differing(&written, computed) {
                findings.push(condition.finding(route, computed, message(cause), None));
            }
        }
    }
}

/// Gateways and ListenerSets whose `Accepted`, or the status of whose listeners, differs.
pub fn gateways(subject: LintSubject<'_>, findings: &mut Findings) {
    let topology = subject.engine.topology();
    let refused = subject.refused();
    for (id, owner) in subject.objects() {
        let node = NodeId::whole(id);
        if !matches!(topology[node].level, Level::Gateway | Level::ListenerSet) {
            continue;
        }
        let Some(status) = owner.body.get("status") else { continue };
        let of_whole = [Path::parse("spec.listeners"), Path::parse("spec.parentRef")];
        let of_it = if topology.is_refused(id) { &*refused } else { &[] };
        let refused = of_it.iter().find(|refused| refused.by == id && of_whole.contains(&refused.path));
        let cause = refused.map(|refused| &refused.cause);
        let computed = accepted(cause);
        if let Some(condition) = differing(&conditions(status, Path::parse("status")), computed) {
            findings.push(condition.finding(owner, computed, message(cause), None));
        }
        for (i, entry) in status.list_at("listeners").iter().enumerate() {
            let Some(name) = entry.get_str("name") else { continue };
            let Some(listener) = topology.section(node, name) else { continue };
            let path = Path::parse("status.listeners").index(i);
            listener_status(subject, owner, (listener, name), (entry, path), findings);
        }
    }
}

/// Compares an entry of `status.listeners`.
fn listener_status(
    subject: LintSubject<'_>,
    owner: &Object,
    (listener, name): (NodeId, &str),
    (entry, path): (&Value, Path),
    findings: &mut Findings,
) {
    let topology = subject.engine.topology();
    let cause = topology.why_unserved(subject.engine.objects(), listener).map(|refused| &refused.cause);
    let no_conflicts = Computed { r#type: "Conflicted", is_true: false, reason: "NoConflicts" };
    let computed = match cause {
        // Implementations disagree on whether such a listener is accepted.
        Some(RefusalCause::Listener(refusal)) if refusal.is_conflict() => {
            vec![Computed { r#type: "Conflicted", is_true: true, reason: refusal.reason().as_str() }]
        }
        cause => vec![no_conflicts, accepted(cause)],
    };
    let written = conditions(entry, path.clone());
    for computed in computed {
        if let Some(condition) = differing(&written, computed) {
            findings.push(condition.finding(owner, computed, message(cause), Some(name)));
        }
    }
    let routes = topology.children(listener).iter().filter(|child| topology[**child].level == Level::Route);
    let (written, actual) = (entry.get("attachedRoutes").and_then(Value::as_int), routes.count());
    if let Some(written) = written.filter(|written| usize::try_from(*written) != Ok(actual)) {
        let cause = StatusFinding::AttachedRoutes { listener: name.into(), written, actual };
        let path = path.key("attachedRoutes");
        findings.push(Finding::new(&rule::STALE_STATUS, owner, path, FindingCause::Status(cause)));
    }
}

fn differing<'w, 'o>(written: &'w [Condition<'o>], computed: Computed) -> Option<&'w Condition<'o>> {
    written.iter().find(|condition| condition.r#type == computed.r#type && condition.is_true != computed.is_true)
}

/// The `Accepted` condition for a refusal, or for none.
fn accepted(cause: Option<&RefusalCause>) -> Computed {
    let reason = cause.map_or("Accepted", |cause| cause.reason().as_str());
    Computed { r#type: "Accepted", is_true: cause.is_none(), reason }
}

fn message(cause: Option<&RefusalCause>) -> String {
    cause.map(ToString::to_string).unwrap_or_default()
}

/// The path of the parentRef that an entry of a route's status refers to.
fn parent_ref(route: &Object, status: &Value) -> Option<Path> {
    let namespace = &route.id.namespace;
    let parent = Reference::parent(status.get("parentRef")?, namespace)?;
    let refs = route.spec().list_at("parentRefs");
    let position = refs.iter().position(|other| Reference::parent(other, namespace) == Some(parent))?;
    Some(Path::parse("spec.parentRefs").index(position))
}

fn conditions(status: &Value, path: Path) -> Vec<Condition<'_>> {
    let list = status.list_at("conditions").iter().enumerate();
    list.filter_map(|(i, condition)| {
        let is_true = match condition.get_str("status")? {
            "True" => true,
            "False" => false,
            _ => return None,
        };
        let reason = condition.get_str("reason").unwrap_or_default();
        Some(Condition { path: path.key("conditions").index(i), r#type: condition.get_str("type")?, is_true, reason })
    })
    .collect()
}
