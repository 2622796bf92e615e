use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use attache_answers::audit::{On, Required, audit_document, check, is_day};
use attache_engine::problem::Problem;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::Format;
use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::render::audit::write_finding;
use crate::verdict::Verdict;

/// Show what lacks a policy that it should have
///
/// A requirement is a policy kind, or a kind and a rule of it: `AuthPolicy`, `AuthPolicy:rules.authentication`. Whatever
/// it is about must have it in force in every scope, whoever set it. Of kinds with one name the one that there are
/// policies of is meant; else it takes the group: `RateLimitPolicy.kuadrant.io`. Several requirements, with exceptions
/// that carry a reason and an end, come from a file.
///
/// Exit code 1 if anything lacks what is required.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache audit --require authpolicy -f manifests/
  attache audit --require ratelimitpolicy:limits --on route -f manifests/
  attache audit --requirements audit.yaml -f manifests/

A file of requirements:
  requirements:
  - require: AuthPolicy:rules.authentication
    level: route
    exceptions:
    - {object: HTTPRoute/shop/health, reason: has nothing to hide, until: 2027-03-31}

Exit code 2 if it could not be looked at: a kind, a namespace or a level that is not there.")]
pub struct Audit {
    /// What must be in force
    #[arg(long, value_name = "KIND[:RULE]")]
    require: Vec<String>,
    /// On what; the effective targets of the kind if nothing is said
    #[arg(long, value_name = "LEVEL", value_parser = levels())]
    on: Option<On>,
    /// A file with requirements and exceptions
    #[arg(long, value_name = "FILE")]
    requirements: Option<PathBuf>,
    /// The day for which exceptions are looked at, if it is not today
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<String>,
    /// How to show it; `wide` cuts nothing, `name` lists what lacks something
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

/// How many are shown before the rest is only counted.
const MOST: usize = 20;

impl Audit {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let required = gather(&self.require, self.on, self.requirements.as_deref())?;
        let today = day(self.date.as_deref())?;
        let Input { snapshot: input, verdict } = Input::read_somewhere(global, screen)?;
        if self.output == Some(Format::Wide) {
            screen.widen();
        }
        let mut findings = Vec::new();
        for required in required {
            findings.push(check(&input, required, &today, global.namespace.as_deref())?);
        }
        match self.output {
            Some(Format::Json) => screen.json(&audit_document(&input, &findings))?,
            Some(Format::Yaml) => screen.yaml(&audit_document(&input, &findings))?,
            Some(Format::Name) => {
                let lacking = findings.iter().flat_map(|finding| &finding.lacking);
                lacking.into_iter().try_for_each(|it| writeln!(screen, "{}", input.name(it.node)))?;
            }
            None | Some(Format::Wide) => {
                let most = if self.output.is_none() { MOST } else { usize::MAX };
                for (i, finding) in findings.iter().enumerate() {
                    if i > 0 {
                        writeln!(screen)?;
                    }
                    write_finding(&input, finding, most, screen)?;
                }
            }
        }
        let lacking = findings.iter().any(|finding| !finding.lacking.is_empty());
        Ok(if lacking { Verdict::No } else { verdict })
    }
}

/// All requirements that were given.
fn gather(words: &[String], on: Option<On>, file: Option<&Path>) -> Result<Vec<Required>, Failure> {
    let mut all: Vec<Required> = words.iter().map(|word| Required::parse(word, on)).collect();
    if let Some(file) = file {
        all.extend(read(file)?);
    }
    if all.is_empty() {
        let help = "say what with `--require KIND[:RULE]` or `--requirements FILE`";
        return Err(Problem::error("nothing is required").help(help).into());
    }
    Ok(all)
}

/// The day that was given, or today.
fn day(given: Option<&str>) -> Result<String, Failure> {
    match given {
        Some(day) if is_day(day) => Ok(day.to_owned()),
        Some(other) => Err(Problem::error(format!("`{other}` is not a day")).help("write YYYY-MM-DD").into()),
        None => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let today = jiff::Timestamp::from_second(now.as_secs().try_into().unwrap_or(0)).unwrap_or_default();
            Ok(today.to_string().chars().take(10).collect())
        }
    }
}

fn read(file: &Path) -> Result<Vec<Required>, Failure> {
    let name: Arc<str> = file.display().to_string().into();
    let text =
        fs::read_to_string(file).map_err(|error| Problem::error(format!("cannot be read: {error}")).in_file(&name))?;
    Ok(Required::read(&name, &text)?)
}

fn levels() -> impl TypedValueParser<Value = On> {
    PossibleValuesParser::new(On::ALL.map(On::name)).try_map(|name| On::parse(&name).ok_or("unknown level"))
}
