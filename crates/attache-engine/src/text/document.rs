//! Reads the objects in a document: one object, or the items of a list.

use std::sync::Arc;

use super::split::DocumentText;
use super::syntax_error::SyntaxError;
use super::{Reading, json, repeated_keys, yaml};
use crate::object::{Object, Source, SourceMap, TypeMeta, count_values, identify, walk_position};
use crate::problem::{Problem, ProblemCode};
use crate::text::build::ParsedValue;
use crate::value::{Path, Value};

/// A document that has been parsed, and is not empty.
#[derive(Debug)]
pub(super) struct Document {
    /// The first document of a text is 1.
    pub number: u32,
    pub parsed: ParsedValue,
}

impl Document {
    /// `None` for an empty document.
    pub fn parse(number: u32, text: &DocumentText<'_>) -> Result<Option<Document>, Problem> {
        let parsed = if looks_like_json(text.text) {
            // It may still be YAML in flow style. If it is neither, the author probably meant JSON.
            json::parse(text).or_else(|error| yaml::parse(text).map_err(|_| error))
        } else {
            yaml::parse(text)
        };
        match parsed {
            Ok(Some(ParsedValue { value: Value::Null, .. }) | None) => Ok(None),
            Ok(Some(parsed)) => Ok(Some(Document { number, parsed })),
            Err(error) if text.line(error.location).contains("{{") => {
                let help = "this looks like a template: render it first, for example with `helm template`";
                Err(SyntaxError::help(error, help).into_problem(number))
            }
            Err(error) => Err(error.into_problem(number)),
        }
    }

    /// The objects of this document: one, or the items of a list.
    pub fn into_objects(self, file: &Arc<str>) -> Reading {
        let Document { number, parsed: ParsedValue { value, locations, repeated_keys } } = self;
        let mut reader = ObjectReader { file, document: number, reading: Reading::default() };
        reader.read(value, locations, None);
        let Reading { objects, problems } = &mut reader.reading;
        let only = if let [object] = objects.as_slice() { Some(&object.id) } else { None };
        let repeated = repeated_keys::problems(number, &repeated_keys).map(|problem| problem.in_file(file));
        problems.extend(repeated.map(|problem| Problem { object: only.cloned().map(Box::new), ..problem }));
        reader.reading
    }
}

fn looks_like_json(text: &str) -> bool {
    match text.trim_start().strip_prefix(['{', '[']) {
        Some(rest) => rest.trim_start().starts_with(['"', '{', '}', '[', ']']),
        None => false,
    }
}

/// The items of a list as objects.
pub(super) fn items_to_objects(
    file: &Arc<str>,
    document: u32,
    items: Vec<(Value, SourceMap)>,
    default_type: Option<&TypeMeta>,
) -> Reading {
    let mut reader = ObjectReader { file, document, reading: Reading::default() };
    for (body, locations) in items {
        reader.read(body, locations, default_type);
    }
    reader.reading
}

/// The objects that are written inside another object, as the items of the list at `path`.
pub fn nested_objects(object: &Object, path: &Path) -> Reading {
    let Source { file, document, locations } = &object.source;
    let mut reader = ObjectReader { file, document: *document, reading: Reading::default() };
    if let Some((at, list)) = walk_position(&object.body, path) {
        reader.read_items(list.items(), locations, at + 1, None);
    }
    reader.reading
}

struct ObjectReader<'f> {
    file: &'f Arc<str>,
    document: u32,
    reading: Reading,
}

impl ObjectReader<'_> {
    /// Reads an object or a list of objects.
    fn read(&mut self, body: Value, locations: SourceMap, default_type: Option<&TypeMeta>) {
        let Some(item_type) = list_item_type(&body) else { return self.read_object(body, locations, default_type) };
        if let Some((at, items)) = walk_position(&body, &Path::default().key("items")) {
            self.read_items(items.items(), &locations, at + 1, item_type.as_ref());
        }
    }

    /// Reads the items of a list, the first of which is at position `first` in a walk over the document.
    fn read_items(&mut self, items: &[Value], locations: &SourceMap, first: usize, default_type: Option<&TypeMeta>) {
        let mut at = first;
        for item in items {
            let len = count_values(item);
            self.read(item.clone(), locations.slice(at, len), default_type);
            at += len;
        }
    }

    fn read_object(&mut self, body: Value, locations: SourceMap, default_type: Option<&TypeMeta>) {
        let (id, version) = match identify(&body, default_type) {
            Ok(identity) => identity,
            Err(error) => {
                let location = locations.find(&body, &error.path()).unwrap_or_default();
                let problem = Problem { help: error.help(), ..Problem::error(error.to_string()) };
                let is_meant = ["kind", "metadata"].into_iter().any(|field| body.get(field).is_some());
                let code = if is_meant { ProblemCode::InvalidObject } else { ProblemCode::NotAnObject };
                let problem = problem.code(code).in_document(self.document, location);
                return self.reading.problems.push(problem.in_file(self.file));
            }
        };
        let source = Source { file: Arc::clone(self.file), document: self.document, locations };
        let (object, error) = Object::assemble(id, version, body, source);
        if let Some(error) = error {
            let problem = Problem::warning("this is not a time, so the object counts as not created yet");
            let problem = Problem { help: error.help(), ..problem }.code(ProblemCode::InvalidCreationTimestamp);
            self.reading.problems.push(problem.at(&object, error.path()));
        }
        self.reading.objects.push(object);
    }
}

/// The type of the items of a list, if its kind determines it. `None` if the document is not a list of objects.
pub(super) fn list_item_type(body: &Value) -> Option<Option<TypeMeta>> {
    let kind = body.get_str("kind")?.strip_suffix("List")?;
    if kind.is_empty() {
        return Some(None);
    }
    let api_version = body.get_str("apiVersion")?.into();
    matches!(body.get("items")?, Value::List(_) | Value::Null)
        .then(|| Some(TypeMeta { api_version, kind: kind.into() }))
}
