//! The desired status of PolicyKinds and PolicyRequirements.

use std::collections::BTreeMap;

use attache_answers::audit::{AuditQuery, AuditRequirement, RequirementResult, audit};
use attache_engine::kinds::{GROUP, POLICY_REQUIREMENT, PolicyKind, ResourceScope, StatusWrite};
use attache_engine::{Engine, Object, ObjectRef, ProblemCode, StatusCondition, Value};
use serde_json::{Map, Value as Json, json};

use super::desired::{DesiredDocument, SATISFIED, status_write};
use crate::state::State;

/// The number of targets without a required policy that are named.
const MOST: usize = 20;

const POLICY_KIND: &str = "PolicyKind";

/// The desired status of every PolicyKind.
pub fn desired_policy_kinds(engine: &Engine) -> BTreeMap<ObjectRef, DesiredDocument> {
    let documents = engine.objects().each_of_kind(GROUP, POLICY_KIND);
    documents
        .map(|(_, document)| {
            let (accepted, matches) = (is_accepted(engine, document), matches_crd(engine, document));
            let conditions = [accepted, matches].into_iter().flatten().collect();
            (document.id.clone(), DesiredDocument { conditions, fields: Map::new() })
        })
        .collect()
}

/// Whether a PolicyKind is used.
fn is_accepted(engine: &Engine, document: &Object) -> Option<StatusCondition> {
    let is_about = |it: &&attache_engine::Problem| it.is_error() && it.object.as_deref() == Some(&document.id);
    let mut problems = engine.problems().iter().filter(is_about).peekable();
    let reason = match problems.peek() {
        None => "Accepted",
        Some(problem) if problem.code == Some(ProblemCode::DuplicatePolicyKind) => "Conflicted",
        Some(_) => "Invalid",
    };
    let messages: Vec<String> = problems
        .map(|problem| match &problem.path {
            Some(path) => format!("{path}: {}", problem.message),
            None => problem.message.clone(),
        })
        .collect();
    Some(condition(document, "Accepted", messages.is_empty(), reason, messages.join("; ")))
}

/// Whether a PolicyKind agrees with the CRD of its kind.
fn matches_crd(engine: &Engine, document: &Object) -> Option<StatusCondition> {
    let text = |field: &str| document.spec().get_str(field);
    let (group, name) = (text("group")?, text("kind")?);
    let kind = engine.kinds().get(engine.kinds().find(group, name)?);
    let found =
        |reason: &str, message: String| Some(condition(document, "MatchesCRD", message.is_empty(), reason, message));
    let crds = engine.objects().each_of_kind("apiextensions.k8s.io", "CustomResourceDefinition");
    let defines = |crd: &Value| {
        crd.get_str("group") == Some(group) && crd.at(&["names", "kind"]).and_then(Value::as_str) == Some(name)
    };
    let Some(crd) = crds.map(|(_, crd)| crd.spec()).find(|crd| defines(crd)) else {
        return found("NotInstalled", format!("there is no CRD of {name} in {group}, or it may not be read"));
    };
    match contradiction(kind, crd) {
        Some((reason, message)) => found(reason, message),
        None => found("Matches", String::new()),
    }
}

/// A difference between a PolicyKind and the CRD, as reason and message.
fn contradiction(kind: &PolicyKind, crd: &Value) -> Option<(&'static str, String)> {
    let scope = crd.get_str("scope").unwrap_or("Namespaced");
    let is_namespaced = scope == "Namespaced";
    if (kind.scope == ResourceScope::Namespaced) != is_namespaced {
        return Some(("OtherScope", format!("the scope of the CRD is `{scope}`, that of the PolicyKind is not")));
    }
    let versions: Vec<&Value> = crd.list_at("versions").iter().filter(|it| is_true(it.get("served"))).collect();
    let names: Vec<&str> = versions.iter().filter_map(|it| it.get_str("name")).collect();
    let is_known = |name: &&str| kind.versions.iter().any(|known| known == name);
    if !kind.versions.is_empty() && !names.iter().any(is_known) {
        let known: Vec<&str> = kind.versions.iter().map(AsRef::as_ref).collect();
        let message = format!("the CRD serves {}, but the PolicyKind lists {}", names.join(", "), known.join(", "));
        return Some(("OtherVersions", message));
    }
    let has_status = |version: &&Value| version.at(&["subresources", "status"]).is_some();
    let writes = matches!(status_write(kind), StatusWrite::All | StatusWrite::Policies);
    if writes && !versions.iter().any(has_status) {
        return Some(("NoStatus", "the CRD has no subresource `status`: the status of policies is not written".into()));
    }
    None
}

fn is_true(value: Option<&Value>) -> bool {
    value.and_then(Value::as_bool) == Some(true)
}

/// The desired status of every PolicyRequirement on a day, and the number of targets that lack the policy.
pub fn desired_requirements(state: &State, today: &str) -> BTreeMap<ObjectRef, (DesiredDocument, usize)> {
    let documents = state.snapshot.engine.objects().each_of_kind(GROUP, POLICY_REQUIREMENT);
    documents.map(|(_, document)| (document.id.clone(), desired_requirement(state, document, today))).collect()
}

fn desired_requirement(state: &State, document: &Object, today: &str) -> (DesiredDocument, usize) {
    let result = AuditRequirement::from_object(document).and_then(|requirement| {
        let query = AuditQuery {
            requirements: vec![requirement],
            date: today.to_owned(),
            namespace: None,
            counts_unknown: false,
        };
        audit(&state.snapshot, &query)
    });
    let accepted = |message: String, reason: &str| condition(document, "Accepted", message.is_empty(), reason, message);
    match result.map(|audit| audit.items.into_iter().next()) {
        Ok(Some(mut result)) => {
            result.missing.retain(|missing| state.is_responsible(&missing.target.object));
            let missing = result.missing.len();
            let message = if missing == 0 { String::new() } else { lacking(&result).join(", ") };
            let reason = if missing == 0 { "InForce" } else { "Missing" };
            let satisfied = condition(document, SATISFIED, missing == 0, reason, message);
            let conditions = vec![accepted(String::new(), "Accepted"), satisfied];
            (DesiredDocument { conditions, fields: counts(&result) }, missing)
        }
        Ok(None) => (DesiredDocument::default(), 0),
        Err(error) => {
            let conditions = vec![accepted(error.to_string(), "Invalid")];
            (DesiredDocument { conditions, fields: Map::new() }, 0)
        }
    }
}

/// The first targets that lack a policy.
fn lacking(result: &RequirementResult) -> Vec<String> {
    result.missing.iter().take(MOST).map(|missing| missing.target.to_string()).collect()
}

fn counts(result: &RequirementResult) -> Map<String, Json> {
    let fields = [
        ("checked", json!(result.checked)),
        ("missing", json!(result.missing.len())),
        ("excepted", json!(result.excepted.len())),
        ("lacking", json!(lacking(result))),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn condition(document: &Object, r#type: &str, is_true: bool, reason: &str, message: String) -> StatusCondition {
    StatusCondition {
        r#type: r#type.to_owned(),
        is_true,
        reason: reason.to_owned(),
        message,
        observed_generation: document.generation(),
    }
}
