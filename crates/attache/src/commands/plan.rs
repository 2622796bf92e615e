use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use attache_answers::change::new_problems;
use attache_answers::plan::{PlanDocument, PlanQuery, plan};
use attache_answers::{ObjectQuery, QueryError, Snapshot, first_of};
use attache_engine::text::Reading;
use attache_engine::{Object, ObjectRef, Problem};
use clap::{Args, ValueEnum};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::render::plan::{PlanView, write_markdown};
use crate::render::problem::{show, show_some};
use crate::source;
use crate::verdict::Verdict;

/// Show what a change would affect: each effective policy before and after, and the number of routes and backends
///
/// The state before is the cluster, or what `-f` names. `--apply` adds objects, or replaces those with the same name.
/// `--delete` removes objects: with a Namespace all objects in it, with a CRD all objects of its kind. New objects without
/// a creationTimestamp count as the newest.
///
/// Exit codes are those of `kubectl diff`: 0 nothing changes, 1 something changes, 2 the change could not be computed, or
/// part of the input could not be read.
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
    /// Output format; `wide` shortens nothing, `markdown` is for a comment on a pull request
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

/// The number of names and leaves that are shown before the rest is only counted.
const MOST: usize = 12;

impl PlanCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        self.check(global)?;
        let (before, mut engine) = Input::read_incremental(global, screen)?;
        let Reading { objects, problems } = self.applied(global)?;
        let delete =
            self.delete.iter().map(|object| object.parse()).collect::<Result<Vec<ObjectQuery>, QueryError>>()?;
        if let Some(problem) = self.kept(global, &before, &objects).filter(|_| !global.quiet) {
            show(&problem);
        }
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
            return Err(Problem::error("no change given").help(help).into());
        }
        let is_stdin = |file: &PathBuf| file == Path::new("-");
        if self.apply.iter().any(is_stdin) && global.files.iter().any(is_stdin) {
            let help = "it can be read only once: give a file to one of `--apply` and `-f`";
            return Err(Problem::error("standard input cannot be both the state and the change").help(help).into());
        }
        Ok(())
    }

    /// The objects that are applied. If a part of them cannot be read, the command fails: the plan would be wrong.
    fn applied(&self, global: &Global) -> Result<Reading, Failure> {
        if self.apply.is_empty() {
            return Ok(Reading::default());
        }
        let mut reading = source::load(&self.apply, global.quiet, |_, _| false);
        if let (true, Some(namespace)) = (global.reads_cluster(), &global.namespace) {
            // As in kubectl, objects without a namespace are created in that of the context.
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

    /// Objects that a new version of a folder no longer contains. They are not deleted, as with `kubectl apply`, but
    /// users who compare two folders want to know.
    fn kept(&self, global: &Global, before: &Input, applied: &[Object]) -> Option<Problem> {
        if global.reads_cluster() || self.apply.is_empty() || !self.apply.iter().all(|path| path.is_dir()) {
            return None;
        }
        let applied: HashSet<&ObjectRef> = applied.iter().map(|object| &object.id).collect();
        let existing = before.snapshot.engine.objects();
        let kept: Vec<&ObjectRef> =
            existing.iter().map(|(_, object)| &object.id).filter(|id| !applied.contains(id)).collect();
        // A folder that has few of the objects is a change, not a new version.
        let is_new_version = kept.len() * 2 <= existing.len();
        (is_new_version && !kept.is_empty()).then(|| {
            let names = first_of(kept.iter(), 5);
            let message = format!("objects that are not in `--apply` are not deleted: {names}");
            Problem::warning(message).help("to plan that too, add `--delete OBJECT…`")
        })
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
