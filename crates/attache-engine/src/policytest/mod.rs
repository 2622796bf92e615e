//! PolicyTests: documents that contain a few objects and the results that the engine must have for them.
//!
//! ```text
//! document ─→ PolicyTest: objects (short form expanded) + expectations ─→ Engine ─→ TestOutcome: unmet expectations
//! ```
//!
//! The caller reads files: the objects of `spec.files` are passed to [`PolicyTest::run`].

mod check;
mod expectations;
mod query;
mod read;
mod short_form;
mod unmet_expectation;

use smol_str::SmolStr;

use crate::engine::Engine;
use crate::kinds::{PolicyKind, Settings};
use crate::object::{Object, Objects};
use crate::problem::Problem;
use crate::text::settle_namespaces;
use crate::value::Path;

pub use read::{is_test, read};
pub use unmet_expectation::{Mismatch, UnmetExpectation};

use expectations::Expectations;

/// A test that has been read without problems and can be run.
#[derive(Clone, Debug)]
pub struct PolicyTest {
    /// `metadata.name` of the document.
    pub name: SmolStr,
    /// `spec.files`: paths relative to the file of the test, each with its path in the document.
    pub files: Vec<(SmolStr, Path)>,
    /// The document as it was read, with the source location of every field.
    pub document: Object,
    /// The objects of the short form in `spec.topology`.
    from_short_form: Vec<Object>,
    /// The objects of `spec.objects`.
    inline: Vec<Object>,
    expectations: Expectations,
}

/// The result of a test. A test passes if both lists are empty.
#[derive(Clone, Debug, Default)]
pub struct TestOutcome {
    /// Expectations that do not hold.
    pub failures: Vec<UnmetExpectation>,
    /// Problems of the test itself. If there are any, the result is not meaningful.
    pub problems: Vec<Problem>,
}

impl PolicyTest {
    /// All objects of the test. `files` are the objects read from [`PolicyTest::files`].
    pub fn objects(&self, files: Vec<Object>, built_in: &[PolicyKind]) -> Vec<Object> {
        // Of objects with the same name the last one counts: files replace the short form, inline objects replace both.
        let mut objects = self.from_short_form.clone();
        objects.extend(files);
        objects.extend(self.inline.iter().cloned());
        let cluster_scoped = |group: &str, kind: &str| {
            built_in.iter().any(|known| known.is_cluster_scoped() && known.group == group && known.kind == kind)
        };
        settle_namespaces(&mut objects, &mut [], cluster_scoped);
        objects
    }

    /// Builds an engine from the test's objects and checks every expectation. `files` are the objects read from
    /// [`PolicyTest::files`].
    pub fn run(&self, files: Vec<Object>, built_in: &[PolicyKind], settings: Settings) -> TestOutcome {
        let engine = Engine::new(Objects::new(self.objects(files, built_in)), built_in, settings);
        let mut outcome = check::check(self, &engine);
        outcome.problems.extend(engine.problems().iter().filter(|problem| problem.is_error()).cloned());
        outcome
    }
}
