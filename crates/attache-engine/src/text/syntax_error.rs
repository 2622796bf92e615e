//! Why a document cannot be read.

use crate::object::SourceLocation;
use crate::problem::{Problem, ProblemCode};
use crate::value::MAX_DEPTH;

/// Why a document cannot be read, and where.
#[derive(Debug)]
pub struct SyntaxError {
    pub code: ProblemCode,
    pub location: SourceLocation,
    pub message: String,
    pub help: Option<String>,
}

impl SyntaxError {
    pub fn new(location: SourceLocation, message: impl Into<String>) -> SyntaxError {
        SyntaxError { code: ProblemCode::InvalidSyntax, location, message: message.into(), help: None }
    }

    pub fn too_deep(location: SourceLocation) -> SyntaxError {
        let message = format!("values are nested more than {MAX_DEPTH} levels deep");
        SyntaxError { code: ProblemCode::TooDeep, ..SyntaxError::new(location, message) }
    }

    pub fn help(self, help: impl Into<String>) -> SyntaxError {
        SyntaxError { help: Some(help.into()), ..self }
    }

    pub fn into_problem(self, document: u32) -> Problem {
        let problem = Problem::error(self.message).code(self.code).in_document(document, self.location);
        Problem { help: self.help, ..problem }
    }
}
