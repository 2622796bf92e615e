//! Objects from one JSON document, through the engine's own JSON reader.

use super::json;
use super::split::DocumentText;
use super::syntax_error::SyntaxError;
use crate::object::{Object, ObjectError, SourceLocation};
use crate::problem::ProblemCode;
use crate::value::Value;

impl Object {
    /// Makes an object from the text of one JSON document. See [`Object::from_json`].
    ///
    /// Of a key that a JSON object has twice the last one counts. For lists, several documents, YAML, or the location of each
    /// value use [`text::read`](super::read).
    ///
    /// ```
    /// use attache_engine::Object;
    ///
    /// let text = r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}"#;
    /// assert_eq!(Object::from_json_str(text)?.id.to_string(), "Namespace/shop");
    /// # Ok::<(), attache_engine::ObjectError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Object::from_json`], and if the text is not JSON.
    pub fn from_json_str(text: &str) -> Result<Object, ObjectError> {
        let start = SourceLocation { line: 1, column: 1 };
        let parsed = json::parse(&DocumentText { text, start }).map_err(object_error)?;
        Object::from_value(parsed.map_or(Value::Null, |parsed| parsed.value))
    }

    /// Like [`Object::from_json_str`], for bytes.
    ///
    /// # Errors
    ///
    /// The errors of [`Object::from_json_str`], and bytes that are not UTF-8.
    pub fn from_json_slice(bytes: &[u8]) -> Result<Object, ObjectError> {
        match str::from_utf8(bytes) {
            Ok(text) => Object::from_json_str(text),
            Err(error) => {
                let before = &bytes[..error.valid_up_to()];
                let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
                let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
                let location = SourceLocation {
                    line: u32::try_from(line).unwrap_or(u32::MAX),
                    column: u16::try_from(column).unwrap_or(u16::MAX),
                };
                Err(ObjectError::InvalidJson { location, message: "not valid JSON: not UTF-8".to_owned() })
            }
        }
    }
}

fn object_error(error: SyntaxError) -> ObjectError {
    match error.code {
        ProblemCode::TooDeep => ObjectError::TooDeep,
        _ => ObjectError::InvalidJson { location: error.location, message: error.message },
    }
}
