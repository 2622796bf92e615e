use std::io::{self, Write};
use std::path::PathBuf;

use attache_core::audit::{Audited, Requirement};
use attache_core::topology::Level;
use clap::{Args, ValueEnum};

use super::{Format, Verdict};
use crate::cli::{Global, program};
use crate::documents::audit::audit_document;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::style::{BAD, DIM, GOOD, HEAD, OBJECT, paint};
use crate::render::table::Table;
use crate::render::{Screen, cut};
use crate::requirements::{self, Exception, Required};
use crate::target::{did_you_mean, nearest_rules};

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
    - {object: HTTPRoute/shop/health, reason: has nothing to hide, until: 2027-03-31}")]
pub struct Audit {
    /// What must be in force
    #[arg(long, value_name = "KIND[:RULE]")]
    require: Vec<String>,
    /// On what; the effective targets of the kind if nothing is said
    #[arg(long, value_name = "LEVEL")]
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum On {
    Gateway,
    Listener,
    Route,
    Rule,
    Backend,
    Workload,
}

impl On {
    pub fn level(self) -> Level {
        match self {
            On::Gateway => Level::Gateway,
            On::Listener => Level::Listener,
            On::Route => Level::Route,
            On::Rule => Level::RouteRule,
            On::Backend => Level::Backend,
            On::Workload => Level::Workload,
        }
    }
}

/// What came of one requirement.
#[derive(Debug)]
pub struct Finding {
    pub required: Required,
    pub checked: usize,
    pub lacking: Vec<Audited>,
    pub excepted: Vec<(Audited, Exception)>,
    /// Exceptions that are over, or that nothing needs any more.
    pub stale: Vec<Exception>,
    /// Rules that may have been meant, where nothing has the one that is required.
    pub near: Vec<String>,
}

/// How many are shown before the rest is only counted.
const MOST: usize = 20;

impl Audit {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let required = requirements::gather(&self.require, self.on, self.requirements.as_deref())?;
        let today = requirements::day(self.date.as_deref())?;
        let input = Input::read(global)?;
        let mut findings = Vec::new();
        for required in required {
            findings.push(check(&input, required, &today, global)?);
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
        Ok(if lacking { Verdict::No } else { input.verdict })
    }
}

fn check(input: &Input, required: Required, today: &str, global: &Global) -> Result<Finding, Failure> {
    let requirement = Requirement {
        kind: input.kind_named(&required.kind)?,
        rule: required.rule.clone(),
        on: required.on.map(On::level),
    };
    let audited = input.engine.audit(&requirement);
    let audited = audited.into_iter().filter(|it| input.is_in(it.node, global.namespace.as_deref()));
    let mut finding = Finding {
        required,
        checked: 0,
        lacking: Vec::new(),
        excepted: Vec::new(),
        stale: Vec::new(),
        near: Vec::new(),
    };
    let mut used = vec![false; finding.required.exceptions.len()];
    for it in audited {
        finding.checked += 1;
        if it.lacking == 0 {
            continue;
        }
        let name = input.name(it.node);
        match finding.required.exceptions.iter().position(|exception| exception.covers(&name, today)) {
            Some(at) => {
                used[at] = true;
                finding.excepted.push((it, finding.required.exceptions[at].clone()));
            }
            None => finding.lacking.push(it),
        }
    }
    let unused = finding.required.exceptions.iter().zip(used).filter(|(_, used)| !used);
    finding.stale = unused.map(|(exception, _)| exception.clone()).collect();
    if let Some(rule) = finding.required.rule.as_deref().filter(|_| finding.lacking.len() == finding.checked)
        && let Some(model) = input.engine.model(requirement.kind)
    {
        let world = input.engine.world();
        let chains = model.scope_counts(world).iter();
        let paths = chains.flat_map(|(chain, _)| model.effective(world, *chain).origins.iter().map(|it| &it.path));
        finding.near = nearest_rules(rule, paths);
    }
    Ok(finding)
}

fn write_finding(input: &Input, finding: &Finding, most: usize, screen: &mut Screen) -> io::Result<()> {
    let Finding { required, checked, lacking, excepted, stale, near } = finding;
    let name = paint(HEAD, required);
    match (*checked, lacking.len()) {
        (0, _) => writeln!(screen, "{name}: there is nothing that it could be on; see {} topology", program())?,
        (checked, 0) => writeln!(screen, "{name}: {}", paint(GOOD, format!("in force on all {checked}")))?,
        (checked, count) => writeln!(screen, "{name}: {}", paint(BAD, format!("missing on {count} of {checked}")))?,
    }
    if !near.is_empty() {
        writeln!(
            screen,
            "  nothing that is in force has `{}`: {}",
            required.rule.as_deref().unwrap_or_default(),
            did_you_mean(near)
        )?;
    }
    let mut table = Table::plain(2);
    let shown = cut(lacking.len(), most);
    for it in &lacking[..shown] {
        let scopes =
            if it.lacking == it.scopes { String::new() } else { format!("in {} of {} scopes", it.lacking, it.scopes) };
        table.row([paint(OBJECT, input.name(it.node)).into(), paint(DIM, scopes).into()]);
    }
    if shown < lacking.len() {
        let more = lacking.len() - shown;
        table.row([paint(DIM, format!("and {more} more: {} audit … -o wide", program())).into()]);
    }
    for (it, exception) in excepted {
        table.row([paint(DIM, input.name(it.node)).into(), paint(DIM, format!("excepted: {exception}")).into()]);
    }
    table.write(screen)?;
    for exception in stale {
        let text = format!("  the exception for {} is over or not needed: {exception}", exception.object);
        writeln!(screen, "{}", paint(DIM, text))?;
    }
    Ok(())
}
