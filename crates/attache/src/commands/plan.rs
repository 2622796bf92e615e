use std::path::PathBuf;
use std::sync::Arc;

use attache_core::change::Changes;
use attache_core::object::ObjectRef;
use attache_core::problem::Problem;
use attache_core::text::Reading;
use clap::{Args, ValueEnum};

use super::Verdict;
use crate::cli::Global;
use crate::documents::plan::plan_document;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::render::plan::{PlanView, write_markdown};
use crate::source;

/// Show what would change: each effective policy before and after, and how much feels it
///
/// The state before is what `-f` names. `--apply` adds objects to it, or puts them in the place of those with the same
/// name; `--delete` takes objects away. New objects without a creationTimestamp count as the newest.
///
/// Exit codes are those of `kubectl diff`: 0 nothing changes, 1 something does, 2 it could not be worked out.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache plan --delete retrypolicy/be-patient -f manifests/
  attache plan --apply new-policy.yaml -f manifests/
  attache plan --apply changes/ -o markdown -f manifests/ > comment.md")]
pub struct Plan {
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

impl Plan {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        if self.apply.is_empty() && self.delete.is_empty() {
            let help = "name files with `--apply`, or objects with `--delete`";
            return Err(Problem::error("there is no change to look at").help(help).into());
        }
        let (before, mut living) = Input::read_living(global)?;
        let delete = self.deleted(&before, global)?;
        let apply = self.applied(global);
        let report = living.apply(before.batch(apply.objects, &delete));
        let after = Input::new(Arc::clone(&report.after), apply.problems);
        after.show_problems(global);
        let changes = Changes::of(&report);
        // Never dropped, like what was read.
        std::mem::forget((report, living));
        match self.output {
            Some(PlanFormat::Json) => screen.json(&plan_document(&changes))?,
            Some(PlanFormat::Yaml) => screen.yaml(&plan_document(&changes))?,
            Some(PlanFormat::Markdown) => write_markdown(&changes, screen)?,
            None => PlanView { most: MOST }.write(&changes, screen)?,
            Some(PlanFormat::Wide) => PlanView { most: usize::MAX }.write(&changes, screen)?,
        }
        Ok(if changes.is_empty() { after.verdict } else { Verdict::No })
    }

    fn deleted(&self, before: &Input, global: &Global) -> Result<Vec<ObjectRef>, Failure> {
        let find = |word: &String| Ok(before.target(std::slice::from_ref(word), global)?.0.id);
        self.delete.iter().map(find).collect()
    }

    fn applied(&self, global: &Global) -> Reading {
        if self.apply.is_empty() { Reading::default() } else { source::load(&self.apply, global.quiet, |_, _| false) }
    }
}
