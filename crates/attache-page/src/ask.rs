//! Requests of browsers, and responses.

use std::sync::Arc;

use attache_answers::{ObjectQuery, QueryError};
use attache_engine::Problem;
use axum::http::StatusCode;
use maud::Markup;

use crate::parameters::Parameters;
use crate::state::{Page, PageState};

/// A request of a browser.
pub struct Ask {
    /// The page.
    pub page: Arc<Page>,
    /// The state that is shown.
    pub state: Arc<PageState>,
    /// The parts of the path.
    pub segments: Vec<String>,
    /// The parameters.
    pub parameters: Parameters,
    /// Whether it is a submitted form.
    pub posted: bool,
}

/// A response.
pub enum Answer {
    /// A page, or a part of one.
    Page(StatusCode, Markup),
    /// A redirect: the view has another address.
    Elsewhere(String),
    /// A file to save.
    File {
        /// Its name.
        name: &'static str,
        /// Its MIME type.
        media_type: &'static str,
        /// Its content.
        content: String,
    },
    /// A JSON document.
    Json(StatusCode, String),
}

/// Why a request fails.
pub struct Unanswered {
    /// The status.
    pub status: StatusCode,
    /// What is wrong.
    pub problem: Problem,
}

impl Unanswered {
    /// There is no view at this address.
    pub fn nothing_here() -> Unanswered {
        let problem = Problem::error("there is no such page").help("start at the overview");
        Unanswered { status: StatusCode::NOT_FOUND, problem }
    }
}

impl From<QueryError> for Unanswered {
    fn from(error: QueryError) -> Unanswered {
        let is_missing = matches!(
            error,
            QueryError::ObjectNotFound(_)
                | QueryError::UnknownKind { .. }
                | QueryError::SectionNotFound { .. }
                | QueryError::UnknownPolicyKind { .. }
        );
        let status = if is_missing { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST };
        Unanswered { status, problem: error.into() }
    }
}

impl From<Problem> for Unanswered {
    fn from(problem: Problem) -> Unanswered {
        Unanswered { status: StatusCode::BAD_REQUEST, problem }
    }
}

impl Ask {
    /// The object that parts of the path name: kind, namespace and name, or kind and name.
    pub fn object(&self, name: &[String]) -> Result<ObjectQuery, Unanswered> {
        let (kind, namespace, name) = match name {
            [kind, name] => (kind, "", name),
            [kind, namespace, name] => (kind, namespace.as_str(), name),
            _ => return Err(Unanswered::nothing_here()),
        };
        let query = ObjectQuery::named(kind, namespace, name, self.parameters.get("section"));
        // Without a group, the core group is meant, unless it has no such object.
        let core = ObjectQuery::named(&format!("{kind}."), namespace, name, self.parameters.get("section"));
        let is_core = !kind.contains('.') && self.state.snapshot.find(&core, None).is_ok();
        Ok(if is_core { core } else { query })
    }

    /// The object that a parameter names, as it is written on the command line.
    pub fn parameter_object(&self, name: &str) -> Result<Option<ObjectQuery>, Unanswered> {
        Ok(self.parameters.get(name).map(str::parse).transpose()?)
    }
}
