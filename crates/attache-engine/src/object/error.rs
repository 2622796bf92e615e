//! Why a document is not a Kubernetes object.

use std::fmt;

use smol_str::SmolStr;

use super::SourceLocation;
use crate::value::{MAX_DEPTH, Path};

/// Why an [`Object`](super::Object) cannot be made from a document.
///
/// ```
/// use attache_engine::{Object, ObjectError};
///
/// let nameless = Object::from_json_str(r#"{"apiVersion": "v1", "kind": "Service", "metadata": {}}"#);
/// match nameless {
///     Err(ObjectError::MissingName { .. }) => {}
///     other => panic!("{other:?}"),
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectError {
    /// The text is not valid JSON.
    InvalidJson {
        /// Where the text stops being JSON.
        location: SourceLocation,
        /// What is wrong.
        message: String,
    },
    /// A value of a Rust type cannot be written as JSON.
    NotSerializable {
        /// The message of its `Serialize` implementation.
        message: String,
    },
    /// Values are nested more than 200 levels deep.
    TooDeep,
    /// The document is not a JSON object.
    NotAnObject {
        /// The type of the document, as in `a list`.
        found: &'static str,
    },
    /// `apiVersion` is missing.
    MissingApiVersion,
    /// `kind` is missing.
    MissingKind,
    /// `metadata.name` is missing.
    MissingName {
        /// Whether `metadata.generateName` is set: the API server chooses the name when the object is created.
        has_generate_name: bool,
    },
    /// `apiVersion` is neither `group/version` nor `version`.
    InvalidApiVersion {
        /// The value.
        api_version: SmolStr,
    },
    /// A field of the identity is not a string.
    NotAString {
        /// The field, as in `metadata.name`.
        field: &'static str,
        /// The type of its value, as in `a number`.
        found: &'static str,
    },
    /// `metadata.creationTimestamp` is not a time.
    InvalidCreationTimestamp,
}

impl ObjectError {
    /// The field that the error is about; empty for the whole document.
    pub fn path(&self) -> Path {
        match self {
            ObjectError::InvalidJson { .. }
            | ObjectError::NotSerializable { .. }
            | ObjectError::TooDeep
            | ObjectError::NotAnObject { .. } => Path::default(),
            ObjectError::MissingApiVersion | ObjectError::InvalidApiVersion { .. } => Path::parse("apiVersion"),
            ObjectError::MissingKind => Path::parse("kind"),
            ObjectError::MissingName { .. } => Path::parse("metadata.name"),
            ObjectError::NotAString { field, .. } => Path::parse(field),
            ObjectError::InvalidCreationTimestamp => Path::parse("metadata.creationTimestamp"),
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            ObjectError::InvalidJson { .. } | ObjectError::NotSerializable { .. } | ObjectError::TooDeep => {
                return None;
            }
            ObjectError::NotAnObject { .. } => "an object has at least `apiVersion`, `kind` and `metadata.name`".into(),
            ObjectError::MissingApiVersion | ObjectError::MissingKind => "every Kubernetes object has one".into(),
            ObjectError::MissingName { has_generate_name: true } => "a `generateName` is not enough".into(),
            ObjectError::MissingName { has_generate_name: false } => "give the object a name".into(),
            ObjectError::InvalidApiVersion { .. } => {
                "write `group/version`, as in `gateway.networking.k8s.io/v1`, or `v1` for the core group".into()
            }
            ObjectError::NotAString { found, .. } => {
                format!("put it in quotes: as it is written, YAML reads it as {found}")
            }
            ObjectError::InvalidCreationTimestamp => "write a time as in `2026-01-31T12:00:00Z`".into(),
        })
    }
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ObjectError::InvalidJson { location, message } => write!(f, "{message} ({location})"),
            ObjectError::NotSerializable { message } => write!(f, "cannot be written as JSON: {message}"),
            ObjectError::TooDeep => write!(f, "values are nested more than {MAX_DEPTH} levels deep"),
            ObjectError::NotAnObject { found } => write!(f, "expected a Kubernetes object, found {found}"),
            ObjectError::MissingApiVersion => f.write_str("`apiVersion` is missing"),
            ObjectError::MissingKind => f.write_str("`kind` is missing"),
            ObjectError::MissingName { .. } => f.write_str("`metadata.name` is missing"),
            ObjectError::InvalidApiVersion { api_version } => write!(f, "`{api_version}` is not an apiVersion"),
            ObjectError::NotAString { field, found } => write!(f, "`{field}` must be a string, not {found}"),
            ObjectError::InvalidCreationTimestamp => f.write_str("`metadata.creationTimestamp` is not a time"),
        }
    }
}

impl std::error::Error for ObjectError {}
