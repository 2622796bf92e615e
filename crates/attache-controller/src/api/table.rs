//! Objects as a `Table`: what `kubectl get` prints.

use std::time::{SystemTime, UNIX_EPOCH};

use attache_answers::in_force::{InForceDocument, ScopeInForce};
use attache_answers::inline;
use attache_answers::reach::ReachSummary;
use attache_engine::{Object, Path};
use serde::Serialize;
use serde_json::{Value, json};

use super::resource::{ApiObject, Resource, Spec, Status};

/// The number of settings or policies in a cell.
const MOST: usize = 4;

/// The length of a value in a cell.
const LONGEST_VALUE: usize = 40;

/// A row of a table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    cells: Vec<Value>,
    #[serde(skip_serializing_if = "Value::is_null")]
    object: Value,
}

/// What rows contain beside the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncludeObject {
    /// The metadata of the object.
    Metadata,
    /// The whole object.
    Object,
    /// Nothing.
    None,
}

/// The columns of a resource.
pub fn columns(resource: Resource) -> Value {
    let column = |name: &str, format: &str, description: &str, priority: u8| json!({"name": name, "type": "string", "format": format, "description": description, "priority": priority});
    let name = column("Name", "name", "The name of the API object.", 1);
    let age = column("Age", "", "The age of the object or policy.", 0);
    match resource {
        Resource::EffectivePolicies => json!([
            column("Object", "", "The object that policies are in force on.", 0),
            column("Policy Kind", "", "The kind of the policies.", 0),
            column("Settings", "", "What is in force.", 0),
            column("From", "", "The policies that set it.", 0),
            age,
            column("Scopes", "", "The number of scopes.", 1),
            name,
        ]),
        Resource::PolicyReaches => json!([
            column("Policy", "", "The policy.", 0),
            column("Enforcement", "", "How much of it is in force.", 0),
            column("Scopes", "", "The number of scopes in which some of it is in force.", 0),
            column("Overridden By", "", "The policies that override it, or a part of it.", 0),
            age,
            name,
        ]),
    }
}

impl Row {
    /// The row of an object of the API, which is about `about`.
    pub fn new(object: &ApiObject, about: &Object, include: IncludeObject) -> Row {
        let name = Value::from(object.metadata.name.clone());
        let age = Value::from(about.created.map_or("<unknown>".to_owned(), |created| age(created.as_second())));
        let of = format!("{}/{}", about.id.kind, about.id.name);
        let cells = match (&object.spec, &object.status) {
            (Spec::Effective { policy_kind, .. }, Status::Effective(document)) => {
                let (settings, from) = (settings(document), policies(document));
                let scopes = scope_count(document);
                vec![of.into(), policy_kind.to_string().into(), settings.into(), from.into(), age, scopes.into(), name]
            }
            (_, Status::Reach(summary)) => reach_cells(of, summary, age, name),
            (Spec::Reach { .. }, Status::Effective(_)) => Vec::new(),
        };
        let object = match include {
            IncludeObject::Metadata => partial_metadata(object),
            IncludeObject::Object => serde_json::to_value(object).unwrap_or_default(),
            IncludeObject::None => Value::Null,
        };
        Row { cells, object }
    }
}

/// The metadata of an object as `PartialObjectMetadata`.
pub fn partial_metadata(object: &ApiObject) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object.metadata})
}

fn reach_cells(policy: String, summary: &ReachSummary, age: Value, name: Value) -> Vec<Value> {
    let word = match summary.accepted.refused {
        Some(reason) => reason.name(),
        None => summary.enforcement.name(),
    };
    let scopes = &summary.scopes;
    let in_force = format!("{} of {}", scopes.enforced + scopes.partial, scopes.total);
    let by = first(summary.by.iter().map(ToString::to_string).collect());
    vec![policy.into(), word.into(), in_force.into(), by.into(), age, name]
}

fn scope_count(document: &InForceDocument) -> String {
    let more = if document.scope_count_is_minimum { "+" } else { "" };
    format!("{}{more}", document.scope_count)
}

/// `retry.attempts: 5, timeout: 10s`. A setting whose value differs between scopes is listed several times.
fn settings(document: &InForceDocument) -> String {
    let mut all = Vec::new();
    for scope in &document.scopes {
        let effective = &scope.effective;
        let values = effective.origins.iter().filter_map(|origin| {
            let value = origin.path.resolve(effective.spec.as_ref()?)?;
            Some(setting(&origin.path, value))
        });
        let applied = effective.policies.iter().flatten().map(|it| setting(&Path::default(), &it.spec));
        for text in values.chain(applied) {
            if !all.contains(&text) {
                all.push(text);
            }
        }
    }
    if all.is_empty() { "<none>".to_owned() } else { first(all) }
}

fn setting(path: &Path, value: &attache_engine::Value) -> String {
    let mut text = inline(value);
    if text.chars().count() > LONGEST_VALUE {
        text = text.chars().take(LONGEST_VALUE - 1).chain(['…']).collect();
    }
    if path.is_empty() { text } else { format!("{path}: {text}") }
}

fn policies(document: &InForceDocument) -> String {
    let of = |scope: &ScopeInForce| -> Vec<String> {
        let origins = scope.effective.origins.iter().map(|origin| origin.policy.to_string());
        let applied = scope.effective.policies.iter().flatten().map(|applied| applied.policy.to_string());
        origins.chain(applied).collect()
    };
    let mut all = Vec::new();
    for policy in document.scopes.iter().flat_map(of) {
        if !all.contains(&policy) {
            all.push(policy);
        }
    }
    first(all)
}

/// The first texts, and the number of the others.
fn first(texts: Vec<String>) -> String {
    match texts.len() {
        0 => "<none>".to_owned(),
        count if count <= MOST => texts.join(", "),
        count => format!("{}, and {} more", texts[..MOST].join(", "), count - MOST),
    }
}

/// The time since a second, as kubectl writes it.
fn age(created: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    duration(i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(created).max(0))
}

/// The largest unit, and for small numbers of it the second largest, too.
fn duration(seconds: i64) -> String {
    let two = |large: i64, unit: &str, small: i64, smaller: &str| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{smaller}"),
    };
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two(days, "d", hours % 24, "h"),
        () if years < 2 => format!("{days}d"),
        () if years < 8 => two(years, "y", days % 365, "d"),
        () => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_written_as_kubectl_writes_them() {
        let minute = 60;
        let (hour, day) = (60 * minute, 24 * 60 * minute);
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (2 * minute, "2m"),
            (9 * minute + 5, "9m5s"),
            (179 * minute, "179m"),
            (7 * hour + 30 * minute, "7h30m"),
            (47 * hour, "47h"),
            (7 * day + hour, "7d1h"),
            (400 * day, "400d"),
            (3 * 365 * day + day, "3y1d"),
            (9 * 365 * day, "9y"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }
}
