//! Effective targets without a required policy.

mod requirements;

use std::collections::HashMap;

use attache_engine::kinds::{PolicyKind, RequiredNamespaces};
use attache_engine::{Audited, can_be_on};
use attache_engine::{Level, NodeId, NodeRef};
use serde::Serialize;
use smol_str::SmolStr;

use crate::document::API_VERSION;
use crate::error::QueryError;
use crate::scopes::{follows_routes, is_routed};
use crate::snapshot::Snapshot;
use crate::suggestions::nearest_rules;

pub use requirements::{AuditRequirement, Exception, is_date};

/// The requirements of an audit.
#[derive(Clone, Debug)]
pub struct AuditQuery {
    /// The requirements.
    pub requirements: Vec<AuditRequirement>,
    /// The date on which exceptions must hold: `YYYY-MM-DD`.
    pub date: String,
    /// Only targets in this namespace.
    pub namespace: Option<String>,
    /// Whether routes whose parents are not in the input count as targets that lack the policy.
    pub counts_unknown: bool,
}

/// The level at which a policy is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs)]
pub enum AuditLevel {
    Gateway,
    Listener,
    Route,
    Rule,
    Backend,
    Workload,
}

impl AuditLevel {
    /// Every level.
    pub const ALL: [AuditLevel; 6] = [
        AuditLevel::Gateway,
        AuditLevel::Listener,
        AuditLevel::Route,
        AuditLevel::Rule,
        AuditLevel::Backend,
        AuditLevel::Workload,
    ];

    /// The name of the level, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            AuditLevel::Gateway => "gateway",
            AuditLevel::Listener => "listener",
            AuditLevel::Route => "route",
            AuditLevel::Rule => "rule",
            AuditLevel::Backend => "backend",
            AuditLevel::Workload => "workload",
        }
    }

    /// The level with this name, in upper or lower case.
    pub fn parse(name: &str) -> Option<AuditLevel> {
        AuditLevel::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }

    fn level(self) -> Level {
        match self {
            AuditLevel::Gateway => Level::Gateway,
            AuditLevel::Listener => Level::Listener,
            AuditLevel::Route => Level::Route,
            AuditLevel::Rule => Level::RouteRule,
            AuditLevel::Backend => Level::Backend,
            AuditLevel::Workload => Level::Workload,
        }
    }

    /// Fails if policies of a kind are never in force at the level.
    fn check(self, kind: &PolicyKind) -> Result<(), QueryError> {
        if can_be_on(kind, self.level()) {
            return Ok(());
        }
        let levels = AuditLevel::ALL.into_iter().filter(|level| can_be_on(kind, level.level()));
        let levels = levels.map(AuditLevel::name).collect();
        Err(QueryError::NeverInForce { kind: kind.full_name(), level: self.name(), levels })
    }
}

/// The document `Audit`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditDocument {
    api_version: &'static str,
    kind: &'static str,
    /// One item for each requirement.
    pub items: Vec<RequirementResult>,
}

/// The result for one requirement.
#[derive(Clone, Debug, Serialize)]
pub struct RequirementResult {
    /// The requirement: `KIND` or `KIND:RULE`.
    pub require: String,
    /// The number of targets that were checked.
    pub checked: usize,
    /// The targets that lack the policy.
    pub missing: Vec<MissingPolicy>,
    /// The targets that lack the policy, but are excepted.
    pub excepted: Vec<ExceptedTarget>,
    /// The exceptions that are not used.
    pub idle: Vec<UnusedException>,
    /// The backends that have the policy, and that no route leads to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unrouted: Vec<NodeRef>,
    /// If no effective policy has the required rule: the rule, and rules with a similar name that are in force.
    #[serde(skip)]
    pub near: Option<(String, Vec<String>)>,
}

/// A target that lacks a policy.
#[derive(Clone, Debug, Serialize)]
pub struct MissingPolicy {
    /// The target.
    pub target: NodeRef,
    /// The number of its scopes.
    pub scopes: u64,
    /// The number of scopes in which it lacks the policy.
    pub lacking: u64,
}

/// A target that lacks a policy, but is excepted.
#[derive(Clone, Debug, Serialize)]
pub struct ExceptedTarget {
    /// The target.
    #[serde(flatten)]
    pub missing: MissingPolicy,
    /// The reason of the exception.
    pub reason: String,
    /// The last date of the exception.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// An exception that is not used.
#[derive(Clone, Debug, Serialize)]
pub struct UnusedException {
    /// The object as the requirement writes it.
    pub object: String,
    /// Its reason.
    pub reason: String,
    /// Its last date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Why it is not used.
    pub why: UnusedBecause,
    /// Details, if the object is not found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What to do, if the object is not found.
    #[serde(skip)]
    pub help: Option<String>,
}

/// Why an exception is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum UnusedBecause {
    /// It has expired.
    Over,
    /// The object has the policy.
    NotNeeded,
    /// The object does not exist.
    NotFound,
}

/// Checks every requirement.
pub fn audit(snapshot: &Snapshot, query: &AuditQuery) -> Result<AuditDocument, QueryError> {
    let items = query.requirements.iter().map(|requirement| check(snapshot, requirement, query));
    Ok(AuditDocument { api_version: API_VERSION, kind: "Audit", items: items.collect::<Result<_, _>>()? })
}

impl AuditDocument {
    /// Whether all requirements are met.
    pub fn is_satisfied(&self) -> bool {
        self.items.iter().all(|item| item.missing.is_empty())
    }
}

fn check(
    snapshot: &Snapshot,
    required: &AuditRequirement,
    query: &AuditQuery,
) -> Result<RequirementResult, QueryError> {
    let requirement = attache_engine::Requirement {
        kind: snapshot.kind_named(&required.kind)?,
        rule: required.rule.clone(),
        on: required.level.map(AuditLevel::level),
    };
    if let Some(level) = required.level {
        level.check(snapshot.engine.kinds().get(requirement.kind))?;
    }
    let namespace = query.namespace.as_deref();
    let mut audited: Vec<Audited> = snapshot.engine.audit(&requirement);
    if query.counts_unknown {
        audited.extend(snapshot.engine.audit_unknown(&requirement));
    }
    let mut is_required = required_namespaces(snapshot, required);
    audited.retain(|it| snapshot.is_in(it.node, namespace) && is_required(it.node));
    let checked = audited.len();
    let is_unrouted = |it: &&Audited| it.lacking == 0 && !is_routed(&snapshot.engine, it.node);
    let unrouted = match follows_routes(snapshot.engine.kinds().get(requirement.kind)) {
        true => audited.iter().filter(is_unrouted).map(|it| snapshot.node_ref(it.node)).collect(),
        false => Vec::new(),
    };
    let mut missing = audited;
    missing.retain(|it| it.lacking > 0);
    let mut excepted: Vec<(Audited, &Exception)> = Vec::new();
    let mut idle = Vec::new();
    for exception in &required.exceptions {
        let object = match snapshot.find(&exception.query, None) {
            Ok(object) => object,
            Err(error) => {
                idle.push(UnusedException::not_found(exception, &error));
                continue;
            }
        };
        // It may be used in another namespace.
        if namespace.is_some_and(|namespace| object.object.namespace != namespace) {
            continue;
        }
        if exception.is_over(&query.date) {
            idle.push(UnusedException::new(exception, UnusedBecause::Over));
            continue;
        }
        let is_excepted = |it: &Audited| includes(&object, &snapshot.node_ref(it.node));
        let (here, others): (Vec<Audited>, Vec<Audited>) = missing.into_iter().partition(is_excepted);
        missing = others;
        if here.is_empty() {
            idle.push(UnusedException::new(exception, UnusedBecause::NotNeeded));
        }
        excepted.extend(here.into_iter().map(|it| (it, exception)));
    }
    excepted.sort_by_key(|(it, _)| it.node);
    let document =
        |it: &Audited| MissingPolicy { target: snapshot.node_ref(it.node), scopes: it.scopes, lacking: it.lacking };
    let excepted = excepted.iter().map(|(it, exception)| ExceptedTarget {
        missing: document(it),
        reason: exception.reason.clone(),
        until: exception.until.clone(),
    });
    Ok(RequirementResult {
        require: required.to_string(),
        checked,
        missing: missing.iter().map(document).collect(),
        excepted: excepted.collect(),
        idle,
        unrouted,
        near: near(snapshot, &requirement),
    })
}

/// Whether a policy is required in the namespace of a node.
fn required_namespaces<'s>(
    snapshot: &'s Snapshot,
    required: &'s AuditRequirement,
) -> impl FnMut(NodeId) -> bool + use<'s> {
    let (objects, topology) = (snapshot.engine.objects(), snapshot.engine.topology());
    let has_labels = move |namespaces: &RequiredNamespaces, name: &str| {
        let namespace = objects.lookup("", "Namespace", "", name).map(|id| &objects[id]);
        let has = |(label, value): &(SmolStr, SmolStr)| namespace.is_some_and(|it| it.label(label) == Some(value));
        !namespaces.match_labels.is_empty() && namespaces.match_labels.iter().all(has)
    };
    let mut known: HashMap<SmolStr, bool> = HashMap::new();
    move |node| {
        let Some(namespaces) = &required.namespaces else { return true };
        let name = &topology.id(objects, node).namespace;
        *known.entry(name.clone()).or_insert_with(|| namespaces.names.contains(name) || has_labels(namespaces, name))
    }
}

/// Whether a node is an object, or a section of it.
fn includes(object: &NodeRef, node: &NodeRef) -> bool {
    object.object == node.object && (object.section.is_none() || object.section == node.section)
}

impl UnusedException {
    fn new(exception: &Exception, why: UnusedBecause) -> UnusedException {
        let Exception { object, reason, until, .. } = exception.clone();
        UnusedException { object, reason, until, why, message: None, help: None }
    }

    fn not_found(exception: &Exception, error: &QueryError) -> UnusedException {
        let unused = UnusedException::new(exception, UnusedBecause::NotFound);
        UnusedException { message: Some(error.to_string()), help: error.help(), ..unused }
    }
}

/// If no effective policy has the required rule: the rule, and rules with a similar name that are in force.
fn near(snapshot: &Snapshot, requirement: &attache_engine::Requirement) -> Option<(String, Vec<String>)> {
    let (rule, model) = (requirement.rule.as_ref()?, snapshot.engine.model(requirement.kind)?);
    let view = snapshot.engine.view();
    let effective = || model.scope_counts(view).iter().map(|(chain, _)| model.effective(view, *chain));
    if effective().any(|effective| requirement.is_met_by(effective)) {
        return None;
    }
    let near = nearest_rules(rule, effective().flat_map(|effective| effective.origins.iter().map(|it| &it.path)));
    (!near.is_empty()).then(|| (rule.clone(), near))
}
