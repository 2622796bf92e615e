use attache_answers::did_you_mean;
use attache_answers::lint::{FindingDocument, FindingList, lint};
use attache_engine::lint::{RULES, Rule};
use attache_engine::nearest;
use attache_engine::{Problem, Severity, Unknown};
use clap::{Args, ValueEnum};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::render::lint::{LintView, write_explanation, write_rules};
use crate::render::sarif::sarif_log;
use crate::verdict::Verdict;

/// Find mistakes, and policies and references that have no effect
///
/// References to objects that do not exist, missing ReferenceGrants, routes that attach to no listener, policies that
/// are always overridden, conditions that never hold, wrong statuses, and more: `--rules` lists all rules, `--explain
/// ID` explains one.
///
/// The annotation `attache.dev/lint-ignore: "ID: REASON; ID: REASON"` on an object suppresses findings.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache lint -f manifests/
  attache lint --explain never-wins
  attache lint --fail-on warning -o github -f manifests/
  attache lint -o sarif -f manifests/ > lint.sarif")]
pub struct LintCommand {
    /// Explain a rule, with an example
    #[arg(long, value_name = "ID", exclusive = true)]
    explain: Option<String>,
    /// List the rules
    #[arg(long, exclusive = true)]
    rules: bool,
    /// Exit with 1 if there is a finding of this severity or higher
    #[arg(long, value_name = "LEVEL", default_value = "error")]
    fail_on: FailOn,
    /// Show suppressed findings too, with the reason
    #[arg(long)]
    show_suppressed: bool,
    /// Output format; `wide` shortens nothing, `github` annotates the files of a pull request
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

/// The number of findings of one rule that are shown before the rest is only counted.
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
        // All others have findings.
        screen.unknown.retain(|it| matches!(it, Unknown::Class { .. }));
        global.namespace.as_ref().map_or(Ok(()), |namespace| input.snapshot.check_namespace(namespace))?;
        let list = lint(&input.snapshot, global.namespace.as_deref());
        self.write(&list, screen)?;
        // If the input could not be read at all, the result is unknown.
        match self.verdict(&list.items) {
            _ if list.objects == 0 => Err(Failure::Shown),
            Verdict::No if input.snapshot.is_incomplete() => Ok(Verdict::Incomplete),
            verdict => Ok(verdict),
        }
    }

    fn write(&self, list: &FindingList, screen: &mut Screen) -> Result<(), Failure> {
        let most = if self.output == Some(LintFormat::Wide) { usize::MAX } else { MOST };
        let view = LintView { list, most, show_suppressed: self.show_suppressed };
        match self.output {
            Some(LintFormat::Json) => screen.json(&self.shown(list))?,
            Some(LintFormat::Yaml) => screen.yaml(&self.shown(list))?,
            // SARIF has a field for suppressed findings.
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
