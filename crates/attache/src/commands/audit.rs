use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use attache_answers::audit::{AuditDocument, AuditLevel, AuditQuery, AuditRequirement, audit, is_date};
use attache_engine::Problem;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::Format;
use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::render::audit::write_result;
use crate::verdict::Verdict;

/// Show objects that lack a required policy
///
/// A requirement is a policy kind, or a kind and one of its rules: `AuthPolicy`, `AuthPolicy:rules.authentication`.
/// Every effective target must have it in force in every scope (a scope is a path from a Gateway to the target).
/// If two systems have a kind of this name, add the group: `RateLimitPolicy.kuadrant.io`. A file can contain several
/// requirements, and exceptions with a reason and an end date.
///
/// Exit code 1 if an object lacks a required policy.
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

Exit code 2 if a requirement could not be checked: its kind, namespace or level does not exist.")]
pub struct AuditCommand {
    /// The policy that must be in force
    #[arg(long, value_name = "KIND[:RULE]")]
    require: Vec<String>,
    /// The level at which it must be in force; by default, the effective targets of the kind
    #[arg(long, value_name = "LEVEL", value_parser = levels())]
    on: Option<AuditLevel>,
    /// A file with requirements and exceptions
    #[arg(long, value_name = "FILE")]
    requirements: Option<PathBuf>,
    /// The date on which exceptions must be valid; by default, today
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<String>,
    /// Output format; `wide` shortens nothing, `name` lists the objects that lack a policy
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

/// The number of objects that are listed before the rest is only counted.
const MOST: usize = 20;

impl AuditCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let query = AuditQuery {
            requirements: self.requirements()?,
            date: self.date()?,
            namespace: global.namespace.clone(),
            // In a cluster, a parent that is not there is known not to exist.
            counts_unknown: global.cluster.strict && !global.reads_cluster(),
        };
        let input = Input::read_in_namespace(global, screen)?;
        let document = audit(&input.snapshot, &query)?;
        self.write(&document, screen)?;
        Ok(if document.is_satisfied() { input.verdict() } else { input.verdict().max(Verdict::No) })
    }

    fn write(&self, document: &AuditDocument, screen: &mut Screen) -> io::Result<()> {
        let most = match self.output {
            Some(Format::Json) => return screen.json(document),
            Some(Format::Yaml) => return screen.yaml(document),
            Some(Format::Name) => {
                let mut missing = document.items.iter().flat_map(|result| &result.missing);
                return missing.try_for_each(|it| writeln!(screen, "{}", it.target));
            }
            None => MOST,
            Some(Format::Wide) => {
                screen.widen();
                usize::MAX
            }
        };
        for (i, result) in document.items.iter().enumerate() {
            if i > 0 {
                writeln!(screen)?;
            }
            write_result(result, most, screen)?;
        }
        Ok(())
    }

    /// The requirements of the command line and of the file.
    fn requirements(&self) -> Result<Vec<AuditRequirement>, Failure> {
        let words = self.require.iter();
        let mut all: Vec<AuditRequirement> = words.map(|word| AuditRequirement::parse(word, self.on)).collect();
        if let Some(file) = &self.requirements {
            all.extend(read(file)?);
        }
        if all.is_empty() {
            let help = "name a policy with `--require KIND[:RULE]`, or a file with `--requirements FILE`";
            return Err(Problem::error("no requirement given").help(help).into());
        }
        Ok(all)
    }

    /// The given date, or today.
    fn date(&self) -> Result<String, Failure> {
        match &self.date {
            Some(date) if is_date(date) => Ok(date.clone()),
            Some(other) => Err(Problem::error(format!("`{other}` is not a date")).help("write YYYY-MM-DD").into()),
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let today = jiff::Timestamp::from_second(now.as_secs().try_into().unwrap_or(0)).unwrap_or_default();
                Ok(today.to_string().chars().take(10).collect())
            }
        }
    }
}

fn read(file: &Path) -> Result<Vec<AuditRequirement>, Failure> {
    let name: Arc<str> = file.display().to_string().into();
    let text =
        fs::read_to_string(file).map_err(|error| Problem::error(format!("cannot be read: {error}")).in_file(&name))?;
    Ok(AuditRequirement::read(&name, &text)?)
}

fn levels() -> impl TypedValueParser<Value = AuditLevel> {
    let names = AuditLevel::ALL.map(AuditLevel::name);
    PossibleValuesParser::new(names).try_map(|name| AuditLevel::parse(&name).ok_or("unknown level"))
}
