use attache_answers::did_you_mean;
use attache_answers::lint::{FindingDocument, FindingList, lint};
use attache_engine::lint::{RULES, Rule};
use attache_engine::nearest;
use attache_engine::{Problem, Severity};
use clap::{Args, ValueEnum};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::render::lint::{LintView, write_explanation, write_rules};
use crate::render::sarif::sarif_log;
use crate::verdict::Verdict;

/// Find problems: what is wrong, and what has no effect
///
/// References to what does not exist, grants that are missing, routes that attach nowhere, policies that never win,
/// conditions that never hold, statuses that are not true, and more: `--rules` lists it all, `--explain ID` says what
/// one of it means.
///
/// An object can ask to leave a finding as it is, with a reason, by the annotation
/// `attache.dev/lint-ignore: "ID: REASON; ID: REASON"`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache lint -f manifests/
  attache lint --explain never-wins
  attache lint --fail-on warning -o github -f manifests/
  attache lint -o sarif -f manifests/ > lint.sarif")]
pub struct LintCommand {
    /// Say what a rule means, with an example
    #[arg(long, value_name = "ID", exclusive = true)]
    explain: Option<String>,
    /// List the rules
    #[arg(long, exclusive = true)]
    rules: bool,
    /// Exit with 1 if there is a finding as bad as this or worse
    #[arg(long, value_name = "LEVEL", default_value = "error")]
    fail_on: FailOn,
    /// Show what is suppressed too, with the reason
    #[arg(long)]
    show_suppressed: bool,
    /// How to show it; `wide` cuts nothing, `github` annotates the files of a pull request
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<LintFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Info,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LintFormat {
    Wide,
    Yaml,
    Json,
    Sarif,
    Github,
}

/// How many findings of one rule are shown before the rest is only counted.
const MOST: usize = 10;

impl LintCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        if self.rules {
            write_rules(screen)?;
            return Ok(Verdict::Fine);
        }
        if let Some(id) = &self.explain {
            write_explanation(named(id, screen)?, screen)?;
            return Ok(Verdict::Fine);
        }
        let input = Input::read_silently(global, screen)?;
        let list = lint(&input.snapshot, global.namespace.as_deref());
        self.write(&list, screen)?;
        // Of an input that could not be read at all, nothing can be said.
        if list.objects == 0 { Err(Failure::Shown) } else { Ok(self.verdict(&list.items)) }
    }

    fn write(&self, list: &FindingList, screen: &mut Screen) -> Result<(), Failure> {
        let most = if self.output == Some(LintFormat::Wide) { usize::MAX } else { MOST };
        let view = LintView { list, most, show_suppressed: self.show_suppressed };
        match self.output {
            Some(LintFormat::Json) => screen.json(&self.shown(list))?,
            Some(LintFormat::Yaml) => screen.yaml(&self.shown(list))?,
            // Its readers know what to do with suppressed findings.
            Some(LintFormat::Sarif) => screen.json(&sarif_log(&list.items))?,
            Some(LintFormat::Github) => view.write_github(screen)?,
            None | Some(LintFormat::Wide) => view.write(screen)?,
        }
        Ok(())
    }

    fn shown(&self, list: &FindingList) -> FindingList {
        let mut list = list.clone();
        list.items.retain(|finding| self.show_suppressed || finding.suppressed.is_none());
        list
    }

    fn verdict(&self, findings: &[FindingDocument]) -> Verdict {
        let limit = match self.fail_on {
            FailOn::Error => Severity::Error,
            FailOn::Warning => Severity::Warning,
            FailOn::Info => Severity::Info,
            FailOn::Never => return Verdict::Fine,
        };
        let fails = |finding: &FindingDocument| finding.suppressed.is_none() && finding.severity <= limit;
        if findings.iter().any(fails) { Verdict::No } else { Verdict::Fine }
    }
}

fn named(id: &str, screen: &Screen) -> Result<&'static Rule, Failure> {
    Rule::named(id).ok_or_else(|| {
        let near = nearest(id, RULES.iter().map(|rule| rule.id));
        let help = if near.is_empty() {
            format!("see {} lint --rules", screen.invocation.program.name())
        } else {
            did_you_mean(near)
        };
        Problem::error(format!("there is no rule `{id}`")).help(help).into()
    })
}
