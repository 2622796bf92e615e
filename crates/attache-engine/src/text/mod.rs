//! From text to objects: YAML as kubectl reads it, or JSON.
//!
//! ```text
//! text ─→ parts (one document each) ─→ value and places ─→ objects ─→ scopes settled
//!      └→ stretches of one long list ──────┘
//! ```
//!
//! Nothing here trusts its input: depth and aliases have budgets, an error costs the document that it is in
//! and nothing else.

mod base64;
mod build;
mod emit;
mod json;
mod list;
mod objects;
mod repeated;
mod scalar;
mod scope;
mod secret;
mod split;
#[cfg(test)]
mod tests;
mod yaml;

use std::sync::Arc;

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::object::{Object, SourceLocation, SourceMap};
use crate::problem::Problem;
use crate::value::Value;

pub use build::{MAX_ALIASED, MAX_DEPTH};
pub use emit::to_yaml;
pub use objects::nested;
pub use scope::{declares_scope, described_kind, settle_scopes};

use build::{Built, Repeated};
use split::Part;

/// What text says, and what is wrong with it.
#[derive(Debug, Default)]
pub struct Reading {
    pub objects: Vec<Object>,
    pub problems: Vec<Problem>,
}

impl Reading {
    /// All of them, one after the other.
    pub fn concat(all: Vec<Reading>) -> Reading {
        let objects = Vec::with_capacity(all.iter().map(|reading| reading.objects.len()).sum());
        all.into_iter().fold(Reading { objects, problems: Vec::new() }, Reading::joined)
    }

    pub fn joined(mut self, mut other: Reading) -> Reading {
        self.objects.append(&mut other.objects);
        self.problems.append(&mut other.problems);
        self
    }
}

/// Reads the objects of a text, in order. Their namespaces are as written: see [`settle_scopes`].
pub fn read(file: &Arc<str>, text: &str) -> Reading {
    read_with_progress(file, text, |_| ())
}

/// As [`read`], and tells `progress` the length of each document that has been read.
pub fn read_with_progress(file: &Arc<str>, text: &str, progress: impl Fn(usize) + Sync) -> Reading {
    list::read(file, text, &progress).unwrap_or_else(|| read_documents(file, text, progress))
}

fn read_documents(file: &Arc<str>, text: &str, progress: impl Fn(usize) + Sync) -> Reading {
    split::split(text)
        .par_iter()
        .enumerate()
        .map(|(i, part)| {
            let reading = match document(i as u32 + 1, part) {
                Ok(Some(document)) => objects::objects(file, document),
                Ok(None) => Reading::default(),
                Err(problem) => Reading { objects: Vec::new(), problems: vec![problem.in_file(file)] },
            };
            progress(part.text.len());
            reading
        })
        // Joined as they come, in order: a hundred thousand small readings at once cost as much as their objects.
        .fold(Reading::default, Reading::joined)
        .reduce(Reading::default, Reading::joined)
}

/// Reads the one value of a text; null if there is none. For values that are not objects: kubectl never sees them, and so
/// no key may be there twice.
pub fn read_value(text: &str) -> Result<Value, Problem> {
    match split::split(text).as_slice() {
        [] => Ok(Value::Null),
        [part] => match document(1, part)? {
            None => Ok(Value::Null),
            Some(document) => match repeated::problems(1, &document.repeated).next() {
                None => Ok(document.body),
                Some(problem) => Err(problem),
            },
        },
        [_, second, ..] => Err(Problem::error("expected one document, found several").in_document(2, second.start)),
    }
}

/// One document of a text.
#[derive(Debug)]
struct Document {
    /// The first one is 1.
    number: u32,
    body: Value,
    locations: SourceMap,
    repeated: Vec<Repeated>,
}

/// `None` for an empty document.
fn document(number: u32, part: &Part<'_>) -> Result<Option<Document>, Problem> {
    let read = if looks_like_json(part.text) {
        // It may still be YAML in flow style, but if it is neither, then JSON was meant.
        json::read(part).or_else(|fault| yaml::read(part).map_err(|_| fault))
    } else {
        yaml::read(part)
    };
    match read {
        Ok(Some(Built { value: Value::Null, .. }) | None) => Ok(None),
        Ok(Some(Built { value: body, locations, repeated })) => {
            Ok(Some(Document { number, body, locations, repeated }))
        }
        Err(fault) if part.line(fault.location).contains("{{") => {
            let help = "this looks like a template: render it first, for example with `helm template`";
            Err(fault.help(help).problem(number))
        }
        Err(fault) => Err(fault.problem(number)),
    }
}

fn looks_like_json(text: &str) -> bool {
    match text.trim_start().strip_prefix(['{', '[']) {
        Some(rest) => rest.trim_start().starts_with(['"', '{', '}', '[', ']']),
        None => false,
    }
}

/// What is wrong with a document: it cannot be used.
#[derive(Debug)]
struct Fault {
    location: SourceLocation,
    message: String,
    help: Option<String>,
}

impl Fault {
    fn new(location: SourceLocation, message: impl Into<String>) -> Fault {
        Fault { location, message: message.into(), help: None }
    }

    fn help(self, help: impl Into<String>) -> Fault {
        Fault { help: Some(help.into()), ..self }
    }

    fn problem(self, document: u32) -> Problem {
        Problem { help: self.help, ..Problem::error(self.message).in_document(document, self.location) }
    }
}
