//! Problems of the input, with their locations. They do not prevent answers about the rest of the input.

use std::fmt;
use std::sync::Arc;

use crate::object::{FileLocation, Object, ObjectRef, SourceLocation};
use crate::value::Path;

/// How serious a problem is. Problems are shown in the order of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Part of the input could not be used.
    Error,
    /// The input may not mean what its author expects.
    Warning,
    /// Nothing is wrong, but the user should know.
    Info,
}

/// The type of a problem, for programs: messages may change, codes do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProblemCode {
    /// A document is neither YAML nor JSON, or holds a value that JSON does not have.
    InvalidSyntax,
    /// Values are nested too deep.
    TooDeep,
    /// The aliases of a YAML document expand to too many values.
    TooManyAliases,
    /// A map has a key more than once.
    RepeatedKey,
    /// There are several documents where one is expected.
    SeveralDocuments,
    /// A document has neither a kind nor metadata, so it is probably not meant to be a Kubernetes object.
    NotAnObject,
    /// A document is not a valid Kubernetes object.
    InvalidObject,
    /// A `metadata.creationTimestamp` is not a time.
    InvalidCreationTimestamp,
    /// A field of a PolicyKind, PolicyTest or other document for the engine is unknown or has a wrong value.
    InvalidField,
    /// A policy kind is described twice.
    DuplicatePolicyKind,
    /// The version of a policy is not one that its kind lists.
    UnknownVersion,
    /// A field has no effect, because of another field.
    IgnoredField,
    /// An object refers to one that does not exist.
    MissingReference,
    /// A selector or predicate is not valid.
    InvalidSelector,
    /// An annotation has a value that is not valid.
    InvalidAnnotation,
    /// Two policies on one target have the same priority.
    EqualPriority,
}

/// A problem of the input: what, where, and what to do about it. Problems are sorted by severity, then by location.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Problem {
    /// How serious it is.
    pub severity: Severity,
    /// The file, if the problem is in one.
    pub file: Option<Arc<str>>,
    /// The number of the document in the file; the first is 1.
    pub document: Option<u32>,
    /// Line and column in the file.
    pub location: Option<SourceLocation>,
    /// The object, if the problem is in one. Boxed to keep `Result`s small.
    pub object: Option<Box<ObjectRef>>,
    /// The field of `object` that the message concerns.
    pub path: Option<Path>,
    /// Lowercase, without a final period, user input in backticks.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The type of the problem. `None` if no program needs to know it.
    pub code: Option<ProblemCode>,
}

impl Problem {
    /// An error: part of the input cannot be used.
    pub fn error(message: impl Into<String>) -> Problem {
        Problem::new(Severity::Error, message.into())
    }

    /// A warning: the input may not mean what its author expects.
    pub fn warning(message: impl Into<String>) -> Problem {
        Problem::new(Severity::Warning, message.into())
    }

    pub(crate) fn new(severity: Severity, message: String) -> Problem {
        let (file, document, location, object, path, help, code) = (None, None, None, None, None, None, None);
        Problem { severity, file, document, location, object, path, message, help, code }
    }

    /// Sets what to do about it.
    pub fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }

    /// Sets the code.
    pub fn code(mut self, code: ProblemCode) -> Problem {
        self.code = Some(code);
        self
    }

    /// Sets the file.
    pub fn in_file(mut self, file: &Arc<str>) -> Problem {
        self.file = Some(Arc::clone(file));
        self
    }

    /// Sets the location in a file.
    pub fn in_document(mut self, document: u32, location: SourceLocation) -> Problem {
        self.document = Some(document);
        self.location = Some(location);
        self
    }

    /// Sets the object. The problem concerns all of it.
    pub fn about(self, object: &Object) -> Problem {
        self.at(object, Path::default())
    }

    /// Sets the object and the field at `path`. The location is that of the nearest existing value.
    pub fn at(mut self, object: &Object, path: Path) -> Problem {
        if let Some(FileLocation { location, .. }) = object.file_location(&path) {
            self.file = Some(Arc::clone(&object.source.file));
            self.document = Some(object.source.document);
            self.location = location;
        }
        self.object = Some(Box::new(object.id.clone()));
        self.path = (!path.is_empty()).then_some(path);
        self
    }

    /// Whether part of the input could not be used.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The file, with line and column if they are known.
    pub fn file_location(&self) -> Option<FileLocation<'_>> {
        Some(FileLocation { file: self.file.as_ref()?, location: self.location })
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

/// Plain text, without the line of the source.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.message)?;
        if let Some(file_location) = self.file_location() {
            write!(f, "\n  --> {file_location}")?;
            // Most files have one document, so the number of the first is left out.
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
    use crate::object::{Source, SourceMap};
    use crate::value::Value;

    #[test]
    fn a_problem_says_what_where_and_what_to_do() {
        let spec = Value::map(vec![("color".into(), Value::str("blue"))]);
        let location = |line, column| SourceLocation { line, column };
        let object = Object {
            id: ObjectRef::new("example.io", "ColorPolicy", "default", "p1"),
            version: "v1".into(),
            created: None,
            last_change: None,
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
        assert_eq!(missing.file_location().map(|it| it.to_string()).as_deref(), Some("p.yaml:6:3"));
    }
}
