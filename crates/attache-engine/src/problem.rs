//! What is wrong with the input: said once, with its place, and never in the way of the rest of the answer.

use std::fmt;
use std::sync::Arc;

use crate::object::{Object, ObjectRef, Source, SourceLocation};
use crate::value::Path;

/// The order of the variants is the order in which problems are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Part of the input could not be used.
    Error,
    Warning,
    /// Nothing is wrong, but somebody may want to know.
    Info,
}

/// Sorted by severity, then by where it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Problem {
    pub severity: Severity,
    pub file: Option<Arc<str>>,
    /// The first document of a file is 1.
    pub document: Option<u32>,
    pub location: Option<SourceLocation>,
    /// Boxed to keep results that may fail small.
    pub object: Option<Box<ObjectRef>>,
    /// The field of `object` that the message is about.
    pub path: Option<Path>,
    /// Lowercase, without a final period, user input in backticks.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Problem {
    pub fn error(message: impl Into<String>) -> Problem {
        Problem::new(Severity::Error, message.into())
    }

    pub fn warning(message: impl Into<String>) -> Problem {
        Problem::new(Severity::Warning, message.into())
    }

    pub(crate) fn new(severity: Severity, message: String) -> Problem {
        Problem { severity, file: None, document: None, location: None, object: None, path: None, message, help: None }
    }

    pub fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }

    pub fn in_file(mut self, file: &Arc<str>) -> Problem {
        self.file = Some(Arc::clone(file));
        self
    }

    pub fn in_document(mut self, document: u32, location: SourceLocation) -> Problem {
        self.document = Some(document);
        self.location = Some(location);
        self
    }

    /// About the whole of `object`.
    pub fn about(self, object: &Object) -> Problem {
        self.at(object, Path::default())
    }

    /// About the field of `object` at `path`, or, if it is missing, what is there of the way to it.
    pub fn at(mut self, object: &Object, path: Path) -> Problem {
        let Source { file, document, .. } = &object.source;
        if !file.is_empty() {
            self.file = Some(Arc::clone(file));
            self.document = Some(*document);
            self.location = object.source.locate(&object.body, &path);
        }
        self.object = Some(Box::new(object.id.clone()));
        self.path = (!path.is_empty()).then_some(path);
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// `file:line:column`, as far as it is known.
    pub fn file_location(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(match self.location {
            Some(SourceLocation { line, column }) => format!("{file}:{line}:{column}"),
            None => file.to_string(),
        })
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        })
    }
}

/// Plain text, without the line of the source: the command shows that too.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.message)?;
        if let Some(file_location) = self.file_location() {
            write!(f, "\n  --> {file_location}")?;
            // The first document needs no number: most files have only one.
            if let Some(document @ 2..) = self.document {
                write!(f, " (document {document})")?;
            }
        }
        match (&self.object, &self.path) {
            (Some(object), Some(path)) => write!(f, "\n   in {object}, {path}")?,
            (Some(object), None) => write!(f, "\n   in {object}")?,
            _ => {}
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::SourceMap;
    use crate::value::Value;

    #[test]
    fn a_problem_says_what_where_and_what_to_do() {
        let spec = Value::map(vec![("color".into(), Value::str("blue"))]);
        let location = |line, column| SourceLocation { line, column };
        let object = Object {
            id: ObjectRef::new("example.io", "ColorPolicy", "default", "p1"),
            version: "v1".into(),
            created: None,
            body: Value::map(vec![("spec".into(), spec)]),
            source: Source {
                file: "p.yaml".into(),
                document: 2,
                locations: SourceMap::new(&[location(4, 1), location(6, 3), location(6, 10)]),
            },
        };
        let problem =
            Problem::error("no such color `blue`").at(&object, Path::parse("spec.color")).help("use `red` instead");
        assert_eq!(
            problem.to_string(),
            "error: no such color `blue`\n  --> p.yaml:6:10 (document 2)\n   in ColorPolicy/default/p1, spec.color\n  help: use `red` instead"
        );
        let missing = Problem::warning("no target").at(&object, Path::parse("spec.targetRef"));
        assert_eq!(missing.file_location().as_deref(), Some("p.yaml:6:3"));
    }
}
