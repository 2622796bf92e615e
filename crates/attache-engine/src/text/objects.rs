//! From a document to the objects in it: who they are, when they were made, and what of them is kept.

use std::sync::Arc;

use jiff::Timestamp;
use smol_str::SmolStr;

use super::{Document, Reading, repeated, secret};
use crate::object::{Object, ObjectRef, Source, SourceMap, count, position};
use crate::problem::Problem;
use crate::value::{Path, Value};

/// The objects of a document: one, or the items of a list.
pub(super) fn objects(file: &Arc<str>, document: Document) -> Reading {
    let mut reader = Reader { file, document: document.number, reading: Reading::default() };
    reader.document(document.body, document.locations, None);
    let Reading { objects, problems } = &mut reader.reading;
    let object = if let [object] = objects.as_slice() { Some(&object.id) } else { None };
    let repeated = repeated::problems(document.number, &document.repeated).map(|problem| problem.in_file(file));
    problems.extend(repeated.map(|problem| Problem { object: object.cloned().map(Box::new), ..problem }));
    reader.reading
}

/// The objects that items of a list are.
pub(super) fn items(
    file: &Arc<str>,
    document: u32,
    items: Vec<(Value, SourceMap)>,
    assumed: Option<&Assumed>,
) -> Reading {
    let mut reader = Reader { file, document, reading: Reading::default() };
    for (body, locations) in items {
        reader.document(body, locations, assumed);
    }
    reader.reading
}

/// The objects written inside another, as the items of the list at `path`.
pub fn nested(object: &Object, path: &Path) -> Reading {
    let Source { file, document, locations } = &object.source;
    let mut reader = Reader { file, document: *document, reading: Reading::default() };
    if let Some((at, list)) = position(&object.body, path) {
        reader.items(list.items(), locations, at + 1, None);
    }
    reader.reading
}

struct Reader<'f> {
    file: &'f Arc<str>,
    document: u32,
    reading: Reading,
}

/// What the items of a typed list are when they do not say so themselves, as in an answer of the API server.
pub(super) struct Assumed {
    api_version: SmolStr,
    kind: SmolStr,
}

impl Reader<'_> {
    fn document(&mut self, body: Value, locations: SourceMap, assumed: Option<&Assumed>) {
        let Some(items_are) = list_of(&body) else { return self.object(body, locations, assumed) };
        if let Some((at, items)) = position(&body, &Path::default().key("items")) {
            self.items(items.items(), &locations, at + 1, items_are.as_ref());
        }
    }

    fn items(&mut self, items: &[Value], locations: &SourceMap, first: usize, assumed: Option<&Assumed>) {
        let mut at = first;
        for item in items {
            let len = count(item);
            self.document(item.clone(), locations.slice(at, len), assumed);
            at += len;
        }
    }

    fn object(&mut self, body: Value, locations: SourceMap, assumed: Option<&Assumed>) {
        let (id, version) = match identity(&body, assumed) {
            Ok(identity) => identity,
            Err(Unnamed { path, message, help }) => {
                let location = locations.find(&body, &path).unwrap_or_default();
                let problem = Problem::error(message).help(help);
                return self.reading.problems.push(problem.in_file(self.file).in_document(self.document, location));
            }
        };
        let (body, locations) = keep(&id, body, locations);
        debug_assert_eq!(count(&body), locations.len());
        let source = Source { file: Arc::clone(self.file), document: self.document, locations };
        let mut object = Object { id, version, created: None, body, source };
        match object.body.at(&["metadata", "creationTimestamp"]) {
            None | Some(Value::Null) => {}
            Some(value) => match value.as_str().map(str::parse::<Timestamp>) {
                Some(Ok(created)) => object.created = Some(created),
                _ => self.reading.problems.push(
                    Problem::warning("this is not a time, so the object counts as not created yet")
                        .help("write a time as in `2026-01-31T12:00:00Z`")
                        .at(&object, Path::parse("metadata.creationTimestamp")),
                ),
            },
        }
        self.reading.objects.push(object);
    }
}

/// Whether this is a list of objects, and what its items are if its own kind says so.
pub(super) fn list_of(body: &Value) -> Option<Option<Assumed>> {
    let kind = body.get_str("kind")?.strip_suffix("List")?;
    if kind.is_empty() {
        return Some(None);
    }
    let api_version = body.get_str("apiVersion")?.into();
    matches!(body.get("items")?, Value::List(_) | Value::Null).then(|| Some(Assumed { api_version, kind: kind.into() }))
}

/// Why a document is not an object.
struct Unnamed {
    path: Path,
    message: String,
    help: String,
}

fn identity(body: &Value, assumed: Option<&Assumed>) -> Result<(ObjectRef, SmolStr), Unnamed> {
    if body.as_map().is_none() {
        return Err(Unnamed {
            path: Path::default(),
            message: format!("expected a Kubernetes object, found {}", body.type_name()),
            help: "an object has at least `apiVersion`, `kind` and `metadata.name`".into(),
        });
    }
    let own = |key, assumed: Option<&SmolStr>| match (field(body, &[key])?, assumed) {
        (Some(text), _) => Ok(text),
        (None, Some(text)) => Ok(text.clone()),
        (None, None) => Err(missing(key, "every Kubernetes object has one")),
    };
    let api_version = own("apiVersion", assumed.map(|assumed| &assumed.api_version))?;
    let kind = own("kind", assumed.map(|assumed| &assumed.kind))?;
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", &api_version));
    if group.contains('/') {
        return Err(Unnamed {
            path: Path::parse("apiVersion"),
            message: format!("`{api_version}` is not an apiVersion"),
            help: "write `group/version`, as in `gateway.networking.k8s.io/v1`, or `v1` for the core group".into(),
        });
    }
    let name = field(body, &["metadata", "name"])?.ok_or_else(|| {
        let generated = body.at(&["metadata", "generateName"]).is_some();
        missing("metadata.name", if generated { "a `generateName` is not enough" } else { "give the object a name" })
    })?;
    let namespace = field(body, &["metadata", "namespace"])?.unwrap_or_default();
    let id = ObjectRef { group: group.into(), kind, namespace, name };
    Ok((id, version.into()))
}

/// A field that must be a string, if it is there. An empty one is not there.
fn field(body: &Value, path: &[&str]) -> Result<Option<SmolStr>, Unnamed> {
    match body.at(path) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Str(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(other) => Err(Unnamed {
            message: format!("`{}` must be a string, not {}", path.join("."), other.type_name()),
            help: format!("put it in quotes: as it is written, YAML reads it as {}", other.type_name()),
            path: Path::parse(&path.join(".")),
        }),
    }
}

fn missing(path: &str, help: &str) -> Unnamed {
    Unnamed { path: Path::parse(path), message: format!("`{path}` is missing"), help: help.into() }
}

/// Drops what is long and says nothing to us, and what is secret.
fn keep(id: &ObjectRef, mut body: Value, mut locations: SourceMap) -> (Value, SourceMap) {
    for path in [
        ["metadata", "managedFields"].as_slice(),
        &["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"],
    ] {
        if body.at(path).is_some()
            && let Some((at, value)) = position(&body, &path.iter().fold(Path::default(), |path, key| path.key(*key)))
        {
            locations = locations.without(at, count(value));
            body = without(&body, path);
        }
    }
    if id.group.is_empty() && id.kind == "Secret" {
        body = secret::redact(&body);
    }
    (body, locations)
}

fn without(value: &Value, path: &[&str]) -> Value {
    match (value, path) {
        (Value::Map(map), [key]) => Value::Map(map.without(|k| k == *key)),
        (Value::Map(map), [key, rest @ ..]) => match map.get(key) {
            Some(child) => Value::Map(map.with(key, without(child, rest))),
            None => value.clone(),
        },
        _ => value.clone(),
    }
}
