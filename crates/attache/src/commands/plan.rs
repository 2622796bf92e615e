use std::path::{Path, PathBuf};
use std::sync::Arc;

use attache_answers::change::new_problems;
use attache_answers::plan::{PlanDocument, PlanQuery, plan};
use attache_answers::{ObjectQuery, QueryError, Snapshot};
use attache_engine::text::Reading;
use attache_engine::{Object, Problem};
use clap::{Args, ValueEnum};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::render::plan::{PlanView, write_markdown};
use crate::render::problem::show_some;
use crate::source;
use crate::verdict::Verdict;

/// Show what would change: each effective policy before and after, and how many routes and backends it affects
///
/// The state before is the cluster, or what `-f` names. `--apply` adds objects to it, or puts them in the place of those with the same
/// name; `--delete` takes objects away, with a Namespace all that lives in it, and with a CRD all objects of its kind. New
/// objects without a creationTimestamp count as the newest.
///
/// Exit codes are those of `kubectl diff`: 0 nothing changes, 1 something does, 2 it could not be worked out, or not from
/// all of the input.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache plan --apply new-policy.yaml -n baker
  attache plan --delete retrypolicy/be-patient -f manifests/
  attache plan --apply new-policy.yaml -f manifests/
  attache plan --apply changes/ -o markdown -f manifests/ > comment.md")]
pub struct PlanCommand {
    /// Files or folders to apply, `-` for standard input
    #[arg(long, value_name = "FILE|DIR|-", num_args = 1..)]
    apply: Vec<PathBuf>,
    /// Objects to delete
    #[arg(long, value_name = "OBJECT", num_args = 1..)]
    delete: Vec<String>,
    /// How to show it; `wide` cuts nothing, `markdown` is for a comment on a pull request
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<PlanFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PlanFormat {
    Wide,
    Markdown,
    Yaml,
    Json,
}

/// How many names and leaves are shown before the rest is only counted.
const MOST: usize = 12;

impl PlanCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        self.check(global)?;
        let (before, mut engine) = Input::read_incremental(global, screen)?;
        let Reading { objects, problems } = self.applied(global)?;
        let delete =
            self.delete.iter().map(|object| object.parse()).collect::<Result<Vec<ObjectQuery>, QueryError>>()?;
        let query = PlanQuery { apply: objects, delete, namespace: global.namespace.clone() };
        let (document, report) = plan(&before.snapshot, &mut engine, query)?;
        let shown = |problem: &&Problem| problem.is_error() || !global.quiet;
        show_some(problems.iter().chain(new_problems(&report)).filter(shown));
        self.write(&document, screen)?;
        let after = Snapshot::new(Arc::clone(&report.after), problems);
        Ok(match document.is_empty() {
            _ if before.snapshot.is_incomplete() || after.is_incomplete() => Verdict::Incomplete,
            true => Verdict::Fine,
            false => Verdict::No,
        })
    }

    fn check(&self, global: &Global) -> Result<(), Failure> {
        if self.apply.is_empty() && self.delete.is_empty() {
            let help = "name files with `--apply`, or objects with `--delete`";
            return Err(Problem::error("there is no change to look at").help(help).into());
        }
        let is_stdin = |file: &PathBuf| file == Path::new("-");
        if self.apply.iter().any(is_stdin) && global.files.iter().any(is_stdin) {
            let help = "it can be read only once: give a file to one of `--apply` and `-f`";
            return Err(Problem::error("standard input cannot be both the state and the change").help(help).into());
        }
        Ok(())
    }

    /// The objects that are applied. If a part of them cannot be read, the plan would be about another change.
    fn applied(&self, global: &Global) -> Result<Reading, Failure> {
        if self.apply.is_empty() {
            return Ok(Reading::default());
        }
        let mut reading = source::load(&self.apply, global.quiet, |_, _| false);
        if let (true, Some(namespace)) = (global.reads_cluster(), &global.namespace) {
            // As kubectl does: what names no namespace goes into that of the context.
            let names_none = |object: &&mut Object| object.body.at(&["metadata", "namespace"]).is_none();
            let namespaced = |object: &&mut Object| !object.id.namespace.is_empty();
            for object in reading.objects.iter_mut().filter(namespaced).filter(names_none) {
                object.id.namespace = namespace.into();
            }
        }
        if reading.problems.iter().any(Problem::is_error) {
            show_some(reading.problems.iter().filter(|problem| problem.is_error() || !global.quiet));
            return Err(Failure::Shown);
        }
        Ok(reading)
    }

    fn write(&self, plan: &PlanDocument, screen: &mut Screen) -> Result<(), Failure> {
        match self.output {
            Some(PlanFormat::Json) => screen.json(plan)?,
            Some(PlanFormat::Yaml) => screen.yaml(plan)?,
            Some(PlanFormat::Markdown) => write_markdown(plan, screen)?,
            None => PlanView { most: MOST }.write(plan, screen)?,
            Some(PlanFormat::Wide) => PlanView { most: usize::MAX }.write(plan, screen)?,
        }
        Ok(())
    }
}
