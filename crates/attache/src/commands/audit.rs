use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use attache_answers::audit::{AuditDocument, AuditLevel, AuditQuery, PolicyRequirement, audit, is_date};
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
pub struct AuditCommand {
    /// What must be in force
    #[arg(long, value_name = "KIND[:RULE]")]
    require: Vec<String>,
    /// On what; the effective targets of the kind if nothing is said
    #[arg(long, value_name = "LEVEL", value_parser = levels())]
    on: Option<AuditLevel>,
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

impl AuditCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let query =
            AuditQuery { requirements: self.requirements()?, date: self.date()?, namespace: global.namespace.clone() };
        let input = Input::read_in_namespace(global, screen)?;
        let document = audit(&input.snapshot, &query)?;
        self.write(&document, screen)?;
        Ok(if document.is_satisfied() { input.verdict() } else { Verdict::No })
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
    fn requirements(&self) -> Result<Vec<PolicyRequirement>, Failure> {
        let words = self.require.iter();
        let mut all: Vec<PolicyRequirement> = words.map(|word| PolicyRequirement::parse(word, self.on)).collect();
        if let Some(file) = &self.requirements {
            all.extend(read(file)?);
        }
        if all.is_empty() {
            let help = "say what with `--require KIND[:RULE]` or `--requirements FILE`";
            return Err(Problem::error("nothing is required").help(help).into());
        }
        Ok(all)
    }

    /// The date that is given, or today.
    fn date(&self) -> Result<String, Failure> {
        match &self.date {
            Some(date) if is_date(date) => Ok(date.clone()),
            Some(other) => Err(Problem::error(format!("`{other}` is not a day")).help("write YYYY-MM-DD").into()),
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let today = jiff::Timestamp::from_second(now.as_secs().try_into().unwrap_or(0)).unwrap_or_default();
                Ok(today.to_string().chars().take(10).collect())
            }
        }
    }
}

fn read(file: &Path) -> Result<Vec<PolicyRequirement>, Failure> {
    let name: Arc<str> = file.display().to_string().into();
    let text =
        fs::read_to_string(file).map_err(|error| Problem::error(format!("cannot be read: {error}")).in_file(&name))?;
    Ok(PolicyRequirement::read(&name, &text)?)
}

fn levels() -> impl TypedValueParser<Value = AuditLevel> {
    let names = AuditLevel::ALL.map(AuditLevel::name);
    PossibleValuesParser::new(names).try_map(|name| AuditLevel::parse(&name).ok_or("unknown level"))
}
