mod difference;
mod junit;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use attache_engine::Problem;
use attache_engine::kinds::{PolicyKind, Settings, built_in};
use attache_engine::policytest::{self, Mismatch, PolicyTest, TestOutcome, UnmetExpectation};
use attache_engine::{Object, SourceLocation};
use clap::Args;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::render::style::{BAD, DIM, GOOD, HEAD, WARNING, paint};
use crate::render::{Screen, joined, problem};
use crate::source::{self, File};
use crate::verdict::Verdict;

/// Run PolicyTests: objects, and the policies that must be in force on them
///
/// A PolicyTest lists objects and the expected effective policies, statuses and responses. Folders are searched for files
/// with PolicyTests; the default is the current folder.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache test tests/
  attache test tests/retries.yaml --filter override
  attache test --junit report.xml")]
pub struct TestCommand {
    /// Files and folders with tests, `-` for standard input
    #[arg(value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Only tests whose name contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Also write a report in JUnit's format
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// One test, and its outcome.
struct TestCase {
    file: Arc<str>,
    name: String,
    place: SourceLocation,
    outcome: TestOutcome,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CaseResult {
    Passed,
    Failed,
    Broken,
}

impl TestCase {
    fn result(&self) -> CaseResult {
        match &self.outcome {
            TestOutcome { problems, .. } if !problems.is_empty() => CaseResult::Broken,
            TestOutcome { failures, .. } if !failures.is_empty() => CaseResult::Failed,
            _ => CaseResult::Passed,
        }
    }
}

impl TestCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let (documents, mut problems) = self.documents(global)?;
        let settings = Settings { infer_unlabelled: global.infer_unlabelled, ..Settings::default() };
        let (kinds, _) = built_in();
        let cases: Vec<TestCase> =
            documents.into_par_iter().map(|document| run(&document, &kinds, settings.clone())).collect();
        for case in &cases {
            show(case, global.quiet, screen)?;
        }
        let count = |result| cases.iter().filter(|case| case.result() == result).count();
        let (passed, failed, broken) =
            (count(CaseResult::Passed), count(CaseResult::Failed), count(CaseResult::Broken));
        if !cases.is_empty() {
            summary(passed, failed, broken, screen)?;
        }
        screen.flush()?;
        if let Some(path) = &self.junit {
            fs::write(path, junit::report(&cases))
                .map_err(|error| Problem::error(format!("cannot write `{}`: {}", path.display(), error.kind())))?;
        }
        let last = match broken {
            0 => problems.pop(),
            1 => Some(Problem::error("one test could not be run")),
            more => Some(Problem::error(format!("{more} tests could not be run"))),
        };
        problem::show_all(problems.iter().chain(cases.iter().flat_map(|case| &case.outcome.problems)));
        match last {
            Some(problem) => Err(problem.into()),
            None if failed > 0 => Ok(Verdict::No),
            None => Ok(Verdict::Fine),
        }
    }

    /// The selected tests, and problems of files that may contain tests.
    fn documents(&self, global: &Global) -> Result<(Vec<Object>, Vec<Problem>), Failure> {
        let mut paths: Vec<PathBuf> = self.paths.iter().chain(&global.files).cloned().collect();
        if paths.is_empty() {
            paths.push(".".into());
        }
        let (readings, mut problems) = source::load_each(&paths);
        let mut documents = Vec::new();
        for (file, reading) in readings {
            let before = documents.len();
            documents.extend(reading.objects.into_iter().filter(policytest::is_test));
            let found = documents.len() > before;
            if found || file.named || mentions_tests(&file) {
                problems.extend(reading.problems.into_iter().filter(Problem::is_error));
            }
            if file.named && !found && !problems.iter().any(|problem| problem.file.as_ref() == Some(&file.name)) {
                problems.push(Problem::error("there is no PolicyTest in this file").in_file(&file.name));
            }
        }
        if documents.is_empty() && problems.is_empty() {
            let places = joined(&paths.iter().map(|path| path.display()).collect::<Vec<_>>());
            let problem = Problem::error(format!("there are no tests in {places}"));
            return Err(problem.help("a test is a document of kind `PolicyTest`").into());
        }
        if let Some(filter) = &self.filter {
            let all = documents.len();
            documents.retain(|document| document.id.name.contains(filter.as_str()));
            if documents.is_empty() && all > 0 {
                let message = format!("none of the {all} tests has `{filter}` in its name");
                return Err(Problem::error(message).into());
            }
        }
        Ok((documents, problems))
    }
}

/// Whether an unreadable file may contain a test. Other manifests in a folder with tests are ignored.
fn mentions_tests(file: &File) -> bool {
    fs::read(&*file.name).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("PolicyTest"))
}

fn run(document: &Object, built_in: &[PolicyKind], settings: Settings) -> TestCase {
    let outcome = match policytest::read(document) {
        Err(problems) => TestOutcome { failures: Vec::new(), problems },
        Ok(test) => match files(&test) {
            Err(problems) => TestOutcome { failures: Vec::new(), problems },
            Ok(objects) => test.run(objects, built_in, settings),
        },
    };
    let source = &document.source;
    let place = document.locate(&Default::default()).unwrap_or_default();
    TestCase { file: Arc::clone(&source.file), name: document.id.name.to_string(), place, outcome }
}

/// The objects in the files that a test names.
fn files(test: &PolicyTest) -> Result<Vec<Object>, Vec<Problem>> {
    let folder = Path::new(&*test.document.source.file).parent().unwrap_or(Path::new(""));
    let (mut objects, mut problems) = (Vec::new(), Vec::new());
    for (file, path) in &test.files {
        let reading = source::load(&[folder.join(file)], true, |_, _| false);
        objects.extend(reading.objects);
        problems.extend(reading.problems.into_iter().filter(Problem::is_error).map(|problem| match problem.file {
            Some(_) => problem,
            None => problem.at(&test.document, path.clone()),
        }));
    }
    if problems.is_empty() { Ok(objects) } else { Err(problems) }
}

fn show(case: &TestCase, quiet: bool, screen: &mut Screen) -> std::io::Result<()> {
    let (style, word) = match case.result() {
        CaseResult::Passed if quiet => return Ok(()),
        CaseResult::Passed => (GOOD, "ok"),
        CaseResult::Failed => (BAD, "FAILED"),
        CaseResult::Broken => (WARNING, "BROKEN"),
    };
    writeln!(screen, "{}{:2$}{name}", paint(style, word), "", 8 - word.len(), name = case.name)?;
    for unmet in &case.outcome.failures {
        show_unmet(case, unmet, screen)?;
    }
    Ok(())
}

fn show_unmet(case: &TestCase, unmet: &UnmetExpectation, screen: &mut Screen) -> std::io::Result<()> {
    let line = unmet.location.map_or_else(String::new, |place| format!(":{}", place.line));
    writeln!(screen, "  {} {}", paint(DIM, format!("{}{line}", case.file)), paint(HEAD, &unmet.about))?;
    match &unmet.mismatch {
        Mismatch::Missing { message } => writeln!(screen, "    {message}")?,
        Mismatch::Different { expected, actual } => {
            writeln!(screen, "    differs at {}", difference::places(&unmet.mismatch))?;
            difference::write(expected, actual, screen)?;
        }
    }
    writeln!(screen)
}

fn summary(passed: usize, failed: usize, broken: usize, screen: &mut Screen) -> std::io::Result<()> {
    let mut parts = vec![paint(GOOD, format!("{passed} passed")).to_string()];
    let others = [(failed, BAD, "failed"), (broken, WARNING, "could not be run")];
    for (count, style, word) in others.into_iter().filter(|(count, ..)| *count > 0) {
        parts.push(paint(style, format!("{count} {word}")).to_string());
    }
    writeln!(screen, "{}", parts.join(", "))
}
