use std::io::Write;
use std::path::PathBuf;

use attache_engine::audit::{Audited, Requirement, can_be_on};
use attache_engine::kinds::PolicyKind;
use attache_engine::problem::Problem;
use attache_engine::topology::{Level, NodeId};
use clap::{Args, ValueEnum};

use super::{Format, Verdict};
use crate::cli::Global;
use crate::documents::audit::audit_document;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::render::audit::write_finding;
use crate::requirements::{self, Exception, Required};
use crate::target::{either, nearest_rules};

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

    /// Fails if policies of a kind are never in force there.
    fn check(self, kind: &PolicyKind) -> Result<(), Failure> {
        if can_be_on(kind, self.level()) {
            return Ok(());
        }
        let name = |on: &On| on.to_possible_value().map(|value| value.get_name().to_owned());
        let others = On::value_variants().iter().filter(|on| can_be_on(kind, on.level())).filter_map(name);
        let help = match others.clone().next() {
            Some(_) => format!("it can be required on {}", either(others)),
            None => "leave that away: it is required wherever it takes effect".to_owned(),
        };
        let level = name(&self).unwrap_or_default();
        Err(Problem::error(format!("{} is never in force on a {level}", kind.full_name())).help(help).into())
    }
}

/// What came of one requirement.
#[derive(Debug)]
pub struct Finding {
    pub required: Required,
    pub checked: usize,
    pub lacking: Vec<Audited>,
    pub excepted: Vec<(Audited, Exception)>,
    pub idle: Vec<Idle>,
    /// Rules that may have been meant, where nothing has the one that is required.
    pub near: Vec<String>,
}

/// An exception by which nothing is excepted.
#[derive(Debug)]
pub struct Idle {
    pub exception: Exception,
    pub why: Why,
}

#[derive(Debug)]
pub enum Why {
    Over,
    NotNeeded,
    NotFound(Box<Problem>),
}

/// How many are shown before the rest is only counted.
const MOST: usize = 20;

impl Audit {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let required = requirements::gather(&self.require, self.on, self.requirements.as_deref())?;
        let today = requirements::day(self.date.as_deref())?;
        let input = Input::read_somewhere(global)?;
        if self.output == Some(Format::Wide) {
            screen.widen();
        }
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
    if let Some(on) = required.on {
        on.check(input.engine.kinds().get(requirement.kind))?;
    }
    let (objects, topology) = (input.engine.objects(), input.engine.topology());
    let is_here = |node: NodeId| input.is_in(node, global.namespace.as_deref());
    let audited: Vec<Audited> = input.engine.audit(&requirement).into_iter().filter(|it| is_here(it.node)).collect();
    let (mut lacking, mut excepted, mut idle) = (audited.clone(), Vec::new(), Vec::new());
    lacking.retain(|it| it.lacking > 0);
    for exception in &required.exceptions {
        let target = match exception.query.find(objects, topology, None) {
            Ok(target) => target,
            Err(Failure::Problem(problem)) => {
                idle.push(Idle { exception: exception.clone(), why: Why::NotFound(problem) });
                continue;
            }
            Err(failure) => return Err(failure),
        };
        // Elsewhere it may be needed.
        if global.namespace.as_ref().is_some_and(|namespace| target.id.namespace != *namespace) {
            continue;
        }
        if exception.is_over(today) {
            idle.push(Idle { exception: exception.clone(), why: Why::Over });
            continue;
        }
        let (excused, others): (Vec<Audited>, _) =
            lacking.into_iter().partition(|it| target.has(it.node, objects, topology));
        lacking = others;
        if excused.is_empty() {
            idle.push(Idle { exception: exception.clone(), why: Why::NotNeeded });
        }
        excepted.extend(excused.into_iter().map(|it| (it, exception.clone())));
    }
    excepted.sort_by_key(|(it, _)| it.node);
    Ok(Finding { near: near(input, &requirement), checked: audited.len(), required, lacking, excepted, idle })
}

/// The rules that may have been meant, if nothing that is in force has the one that is required.
fn near(input: &Input, requirement: &Requirement) -> Vec<String> {
    let (Some(rule), Some(model)) = (&requirement.rule, input.engine.model(requirement.kind)) else {
        return Vec::new();
    };
    let world = input.engine.world();
    let effective = || model.scope_counts(world).iter().map(|(chain, _)| model.effective(world, *chain));
    if effective().any(|effective| requirement.is_met_by(effective)) {
        return Vec::new();
    }
    nearest_rules(rule, effective().flat_map(|effective| effective.origins.iter().map(|it| &it.path)))
}
