//! Kinds of policies that are not known, or not as they are written.

use super::subject::Subject;
use super::{Finding, Findings, rule};
use crate::kinds::{CRD_GROUP, CRD_KIND, GROUP};
use crate::names::qualified;
use crate::object::Object;
use crate::topology::{Level, api};
use crate::value::{Path, Value};

/// Objects that look like policies and are of no kind that is known: once for each kind.
pub fn unknown(subject: Subject<'_>, findings: &mut Findings) {
    let engine = subject.engine;
    let (objects, kinds) = (engine.objects(), engine.kinds());
    let unlabelled: Vec<&Value> = kinds.unlabelled().iter().map(|crd| objects[*crd].spec()).collect();
    let is_unlabelled = |group: &str, kind: &str| {
        unlabelled.iter().any(|crd| {
            crd.get_str("group") == Some(group) && crd.at(&["names", "kind"]).and_then(Value::as_str) == Some(kind)
        })
    };
    for (group, kind) in subject.kinds() {
        let is_known = api::level(group, kind) != Level::Other || kinds.find(group, kind).is_some();
        if is_known || group == GROUP || is_unlabelled(group, kind) {
            continue;
        }
        let mut alike = objects.each_of_kind(group, kind).filter_map(|(_, object)| Some((object, target(object)?)));
        let Some((first, path)) = alike.next() else { continue };
        let more = match alike.count() {
            0 => String::new(),
            1 => ", as does another of its kind".to_owned(),
            more => format!(", as do {more} others of its kind"),
        };
        let message =
            format!("it looks like a policy{more}, and `{}` is no known kind of policy", qualified(group, kind));
        findings.push(rule::UNKNOWN_POLICY_KIND.at(first, path, message));
    }
}

/// Where an object names what it targets in the way of policies. An `apiVersion` is how others name things.
fn target(object: &Object) -> Option<Path> {
    let names_one = |value: &Value| {
        let named = value.get_str("kind").is_some() && (value.get("name").is_some() || value.get("selector").is_some());
        named && value.get("apiVersion").is_none()
    };
    let spec = object.spec();
    if spec.get("targetRef").is_some_and(names_one) {
        return Some(Path::parse("spec.targetRef"));
    }
    spec.list_at("targetRefs").iter().any(names_one).then(|| Path::parse("spec.targetRefs"))
}

/// CRDs whose schema is that of a policy, and whose labels do not say so.
pub fn unlabelled(subject: Subject<'_>, findings: &mut Findings) {
    for crd in subject.engine.kinds().unlabelled() {
        let crd = &subject.engine.objects()[*crd];
        let kind = crd.spec().at(&["names", "kind"]).and_then(Value::as_str).unwrap_or_default();
        let message = format!("`{kind}` looks like a policy kind, but its CRD has no policy label");
        findings.push(rule::UNLABELLED_CRD.at(crd, Path::parse("metadata.labels"), message));
    }
}

/// What was wrong with documents that describe kinds, and with the versions of policies.
pub fn problems(subject: Subject<'_>, findings: &mut Findings) {
    for problem in subject.engine.problems() {
        let rule = match &problem.object {
            Some(object) if (&*object.group, &*object.kind) == (CRD_GROUP, CRD_KIND) => continue,
            Some(object) if object.group == GROUP => &rule::INVALID_POLICY_KIND,
            _ => &rule::UNKNOWN_VERSION,
        };
        let mut problem = problem.clone();
        problem.severity = rule.severity;
        problem.help.get_or_insert_with(|| rule.fix.to_owned());
        findings.push(Finding { rule, problem, suppressed: None });
    }
}
