//! Reads objects from text: YAML as kubectl reads it, or JSON.
//!
//! ```text
//! text ─→ split into documents ─→ YAML or JSON reader ─→ value and locations ─→ objects
//!      └→ or into chunks of one long JSON list ──────────┘
//! ```
//!
//! The input is not trusted: depth and aliases are limited, and an error loses only the document that it is in.
//!
//! ```
//! use attache_engine::text;
//!
//! let reading = text::read(&"shop.yaml".into(), "
//! apiVersion: v1
//! kind: Service
//! metadata: {name: cakes, namespace: shop}
//! ---
//! apiVersion: v1
//! kind: Service
//! ");
//! assert_eq!(reading.objects[0].id.to_string(), "Service/shop/cakes");
//! assert_eq!(reading.problems[0].message, "`metadata.name` is missing");
//! assert_eq!(reading.problems[0].file_location().unwrap().to_string(), "shop.yaml:6:1");
//! ```

mod build;
mod document;
mod emit;
mod field_set;
mod from_json;
mod json;
mod long_list;
mod repeated_keys;
mod resource_scope;
mod scalar;
mod split;
mod syntax_error;
#[cfg(test)]
mod tests;
mod yaml;

use std::sync::Arc;

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::object::Object;
use crate::problem::{Problem, ProblemCode};
use crate::value::Value;

pub use build::MAX_ALIASED_VALUES;
pub use document::nested_objects;
pub use emit::to_yaml;
pub use resource_scope::{declares_resource_scope, described_kind, settle_namespaces};

use document::Document;

/// The objects of a text, and what is wrong with it.
#[derive(Debug, Default)]
pub struct Reading {
    /// The objects, in the order of the text.
    pub objects: Vec<Object>,
    /// Problems: text that could not be read, and text that its author may expect to be read differently.
    pub problems: Vec<Problem>,
}

impl Reading {
    /// All readings as one, in order.
    pub fn concat(readings: Vec<Reading>) -> Reading {
        let objects = Vec::with_capacity(readings.iter().map(|reading| reading.objects.len()).sum());
        readings.into_iter().fold(Reading { objects, problems: Vec::new() }, Reading::joined)
    }

    /// This reading followed by another.
    pub fn joined(mut self, mut other: Reading) -> Reading {
        self.objects.append(&mut other.objects);
        self.problems.append(&mut other.problems);
        self
    }
}

/// Reads the objects of a text, in order. `file` is the file name in problems.
///
/// Namespaces are as written: [`settle_namespaces`] fills in `default` when all objects are known.
pub fn read(file: &Arc<str>, text: &str) -> Reading {
    read_with_progress(file, text, |_| ())
}

/// Like [`read`], and calls `progress` with the number of bytes of each part that has been read.
pub fn read_with_progress(file: &Arc<str>, text: &str, progress: impl Fn(usize) + Sync) -> Reading {
    long_list::read(file, text, &progress).unwrap_or_else(|| read_documents(file, text, progress))
}

fn read_documents(file: &Arc<str>, text: &str, progress: impl Fn(usize) + Sync) -> Reading {
    split::split(text)
        .par_iter()
        .enumerate()
        .map(|(i, text)| {
            let reading = match Document::parse(i as u32 + 1, text) {
                Ok(Some(document)) => document.into_objects(file),
                Ok(None) => Reading::default(),
                Err(problem) => Reading { objects: Vec::new(), problems: vec![problem.in_file(file)] },
            };
            progress(text.text.len());
            reading
        })
        // Joined one by one: collecting a hundred thousand small readings first costs as much as their objects.
        .fold(Reading::default, Reading::joined)
        .reduce(Reading::default, Reading::joined)
}

/// Reads a text that holds one value, which need not be a Kubernetes object. Null if the text is empty.
///
/// # Errors
///
/// If the text is neither YAML nor JSON, holds several documents, or a map has a key twice.
pub fn read_value(text: &str) -> Result<Value, Problem> {
    match split::split(text).as_slice() {
        [] => Ok(Value::Null),
        [only] => match Document::parse(1, only)? {
            None => Ok(Value::Null),
            Some(document) => match repeated_keys::problems(1, &document.parsed.repeated_keys).next() {
                None => Ok(document.parsed.value),
                Some(problem) => Err(problem),
            },
        },
        [_, second, ..] => Err(Problem::error("expected one document, found several")
            .code(ProblemCode::SeveralDocuments)
            .in_document(2, second.start)),
    }
}
