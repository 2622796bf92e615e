//! What lacks a policy that it should have.

mod document;
mod requirements;

use attache_engine::audit::{Audited, Requirement, can_be_on};
use attache_engine::kinds::PolicyKind;
use attache_engine::problem::Problem;
use attache_engine::topology::{Level, NodeId};

use crate::snapshot::Snapshot;
use crate::suggestions::{either, nearest_rules};

pub use document::{AuditDocument, audit_document};
pub use requirements::{Exception, Required, is_day};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Gateway,
    Listener,
    Route,
    Rule,
    Backend,
    Workload,
}

impl On {
    pub const ALL: [On; 6] = [On::Gateway, On::Listener, On::Route, On::Rule, On::Backend, On::Workload];

    pub fn name(self) -> &'static str {
        match self {
            On::Gateway => "gateway",
            On::Listener => "listener",
            On::Route => "route",
            On::Rule => "rule",
            On::Backend => "backend",
            On::Workload => "workload",
        }
    }

    pub fn parse(name: &str) -> Option<On> {
        On::ALL.into_iter().find(|on| on.name().eq_ignore_ascii_case(name))
    }

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
    fn check(self, kind: &PolicyKind) -> Result<(), Box<Problem>> {
        if can_be_on(kind, self.level()) {
            return Ok(());
        }
        let others = On::ALL.into_iter().filter(|on| can_be_on(kind, on.level())).map(On::name);
        let help = match others.clone().next() {
            Some(_) => format!("it can be required on {}", either(others)),
            None => "leave that away: it is required wherever it takes effect".to_owned(),
        };
        let level = self.name();
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

/// Checks one requirement, on `today`, in one namespace or in all.
pub fn check(
    input: &Snapshot,
    required: Required,
    today: &str,
    namespace: Option<&str>,
) -> Result<Finding, Box<Problem>> {
    let requirement = Requirement {
        kind: input.kind_named(&required.kind)?,
        rule: required.rule.clone(),
        on: required.on.map(On::level),
    };
    if let Some(on) = required.on {
        on.check(input.engine.kinds().get(requirement.kind))?;
    }
    let (objects, topology) = (input.engine.objects(), input.engine.topology());
    let is_here = |node: NodeId| input.is_in(node, namespace);
    let audited: Vec<Audited> = input.engine.audit(&requirement).into_iter().filter(|it| is_here(it.node)).collect();
    let (mut lacking, mut excepted, mut idle) = (audited.clone(), Vec::new(), Vec::new());
    lacking.retain(|it| it.lacking > 0);
    for exception in &required.exceptions {
        let target = match exception.query.find(objects, topology, None) {
            Ok(target) => target,
            Err(problem) => {
                idle.push(Idle { exception: exception.clone(), why: Why::NotFound(problem) });
                continue;
            }
        };
        // Elsewhere it may be needed.
        if namespace.is_some_and(|namespace| target.id.namespace != namespace) {
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
fn near(input: &Snapshot, requirement: &Requirement) -> Vec<String> {
    let (Some(rule), Some(model)) = (&requirement.rule, input.engine.model(requirement.kind)) else {
        return Vec::new();
    };
    let view = input.engine.view();
    let effective = || model.scope_counts(view).iter().map(|(chain, _)| model.effective(view, *chain));
    if effective().any(|effective| requirement.is_met_by(effective)) {
        return Vec::new();
    }
    nearest_rules(rule, effective().flat_map(|effective| effective.origins.iter().map(|it| &it.path)))
}
