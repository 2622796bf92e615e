//! The state that questions concern.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use attache_engine::kinds::{KindId, PolicyKind, Settings, built_in};
use attache_engine::nearest;
use attache_engine::text::described_kind;
use attache_engine::{Engine, Unknown};
use attache_engine::{GroupKind, Object, ObjectRef, Objects, PolicyId, Problem};
use attache_engine::{Level, NodeId, NodeRef, TargetStatus};
use smol_str::SmolStr;

use crate::descendants::{Descendants, node_kind};
use crate::error::QueryError;
use crate::object_query::ObjectQuery;

/// An engine, and the problems of the input that it was built from. A clone is cheap.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The engine.
    pub engine: Arc<Engine>,
    /// The problems found before the engine was built, such as files that cannot be parsed.
    pub problems: Arc<[Problem]>,
    /// The number of policies that were read, cannot matter to the question, and are not part of the engine.
    policies_left_out: usize,
    /// Whether documents leave out the values that a PolicyKind lists under `redact`.
    pub(crate) redacts: bool,
    shared: Arc<Shared>,
}

/// What several answers need, computed once.
#[derive(Debug, Default)]
struct Shared {
    target_statuses: OnceLock<Vec<TargetStatus>>,
    rejected: OnceLock<Vec<PolicyId>>,
    unknown: OnceLock<Vec<Unknown>>,
    descendants: Mutex<HashMap<Vec<NodeId>, Arc<Descendants>>>,
}

/// The number of descendants from which on they are kept, and the number of objects whose descendants are kept.
const MANY_DESCENDANTS: usize = 2_000;
const MOST_KEPT: usize = 100;

impl Snapshot {
    /// The state of an engine whose input was read with these problems.
    pub fn new(engine: Arc<Engine>, problems: Vec<Problem>) -> Snapshot {
        Snapshot { engine, problems: problems.into(), policies_left_out: 0, redacts: false, shared: Arc::default() }
    }

    /// The same state, with the number of policies that were read and are not part of the engine.
    pub fn with_policies_left_out(self, policies_left_out: usize) -> Snapshot {
        Snapshot { policies_left_out, ..self }
    }

    /// Whether policies were read that are not part of the engine.
    pub(crate) fn has_policies_left_out(&self) -> bool {
        self.policies_left_out > 0
    }

    /// The number of policies in the input.
    pub(crate) fn policies(&self) -> usize {
        self.engine.policies().len() + self.policies_left_out
    }

    /// Computes what many answers need: which policies affect each node, which are rejected, and what is below each
    /// GatewayClass. Without it, each answer computes what it needs, which takes long for objects that have many others
    /// below them.
    pub fn prepare(&self) {
        let statuses = || self.engine.rolled_up(self.engine.target_statuses());
        self.shared.target_statuses.get_or_init(statuses);
        self.rejected_policies();
        self.unknown();
        let topology = self.engine.topology();
        for (class, _) in topology.nodes().filter(|(_, node)| node.level == Level::GatewayClass) {
            self.descendants(&[class]);
        }
    }

    /// The status of every node, in the order of ids, with sections rolled up, if it is prepared.
    pub(crate) fn target_statuses(&self) -> Option<&[TargetStatus]> {
        self.shared.target_statuses.get().map(Vec::as_slice)
    }

    /// The policies that are not accepted on one of their targets, in the order of names.
    pub(crate) fn rejected_policies(&self) -> &[PolicyId] {
        self.shared.rejected.get_or_init(|| {
            let policies = self.engine.policies().map(|(policy, _)| policy);
            policies.filter(|policy| !self.engine.refusals(*policy).is_empty()).collect()
        })
    }

    /// Everything that is not in the input and could change answers.
    pub(crate) fn unknown(&self) -> &[Unknown] {
        self.shared.unknown.get_or_init(|| self.engine.unknown())
    }

    /// Everything below some nodes.
    pub(crate) fn descendants(&self, nodes: &[NodeId]) -> Arc<Descendants> {
        let kept = || self.shared.descendants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept().get(nodes) {
            return Arc::clone(known);
        }
        let children = nodes.iter().flat_map(|node| self.engine.topology().children(*node));
        let found = Arc::new(Descendants::new(&self.engine, children.copied()));
        let mut kept = kept();
        if found.len() >= MANY_DESCENDANTS && kept.len() < MOST_KEPT {
            kept.insert(nodes.to_vec(), Arc::clone(&found));
        }
        found
    }

    /// A state without objects. It has the built-in policy kinds.
    pub fn empty() -> Snapshot {
        let (built_in, _) = built_in();
        let engine = Engine::new(Objects::default(), &built_in, Settings::default());
        Snapshot::new(Arc::new(engine), Vec::new())
    }

    /// All problems of the input: those of reading, then those that the engine found.
    pub fn input_problems(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().chain(self.engine.problems())
    }

    /// Whether part of the input could not be used. Answers then concern the rest.
    pub fn is_incomplete(&self) -> bool {
        self.input_problems().any(Problem::is_error)
    }

    /// Fails if the input has objects, but none in a namespace.
    pub fn check_namespace(&self, namespace: &str) -> Result<(), QueryError> {
        let objects = self.engine.objects();
        let namespace_of = |object: &Object| {
            if object.id.kind == "Namespace" { object.id.name.clone() } else { object.id.namespace.clone() }
        };
        let known: BTreeSet<SmolStr> =
            objects.iter().map(|(_, object)| namespace_of(object)).filter(|name| !name.is_empty()).collect();
        if objects.is_empty() || known.contains(namespace) {
            return Ok(());
        }
        Err(QueryError::EmptyNamespace {
            namespace: namespace.to_owned(),
            near: nearest(namespace, &known).into_iter().map(ToString::to_string).collect(),
            known: known.into_iter().map(Into::into).collect(),
        })
    }

    /// The object, or section, that a query names.
    pub fn find(&self, query: &ObjectQuery, namespace: Option<&str>) -> Result<NodeRef, QueryError> {
        query.find(self.engine.objects(), self.engine.topology(), namespace)
    }

    /// The policy that a query names.
    pub(crate) fn find_policy(&self, query: &ObjectQuery, namespace: Option<&str>) -> Result<PolicyId, QueryError> {
        let object = self.find(query, namespace)?;
        self.engine.find_policy(&object.object).ok_or_else(|| match self.is_unknown_policy(&object.object) {
            true => QueryError::PolicyOfUnknownKind { object: Box::new(object) },
            false => QueryError::NotAPolicy { object: Box::new(object) },
        })
    }

    /// The nodes that a reference names. A Service that is the parent of routes has two.
    pub(crate) fn nodes(&self, object: &NodeRef) -> Vec<NodeId> {
        let topology = self.engine.topology();
        let Some(whole) = topology.find(self.engine.objects(), &object.object) else { return Vec::new() };
        match &object.section {
            None => [whole].into_iter().chain(topology.frontend(whole)).collect(),
            Some(section) => topology.section(whole, section).into_iter().collect(),
        }
    }

    /// The policy kinds with this name, or all of them.
    pub(crate) fn kinds(&self, name: Option<&str>) -> Result<Vec<(KindId, &PolicyKind)>, QueryError> {
        let kinds = self.engine.kinds().iter();
        let Some(name) = name else { return Ok(kinds.collect()) };
        let found: Vec<_> = kinds.filter(|(_, kind)| kind.is_called(name)).collect();
        if found.is_empty() { Err(self.unknown_kind(name)) } else { Ok(found) }
    }

    /// The policy kind with this name. Of several, the one that the input has policies of, or else the one that it
    /// describes.
    pub(crate) fn kind_named(&self, name: &str) -> Result<KindId, QueryError> {
        let mut found = self.kinds(Some(name))?;
        let objects = self.engine.objects();
        let is_used = |kind: &PolicyKind| !objects.of_kind(&kind.group, &kind.kind).is_empty();
        let is_described = |kind: &PolicyKind| {
            let name = Some((kind.group.as_str(), kind.kind.as_str()));
            objects.iter().any(|(_, object)| described_kind(object) == name)
        };
        if found.len() > 1 {
            let rank = |kind: &PolicyKind| (!is_used(kind), !is_used(kind) && !is_described(kind));
            let first = found.iter().map(|(_, kind)| rank(kind)).min();
            found.retain(|(_, kind)| Some(rank(kind)) == first);
        }
        match found.as_slice() {
            [(only, _)] => Ok(*only),
            several => Err(QueryError::AmbiguousPolicyKind {
                name: name.to_owned(),
                choices: several.iter().map(|(_, kind)| kind.full_name()).collect(),
            }),
        }
    }

    fn unknown_kind(&self, name: &str) -> QueryError {
        let known: Vec<String> = self.engine.kinds().iter().map(|(_, kind)| kind.kind.to_lowercase()).collect();
        QueryError::UnknownPolicyKind { name: name.to_owned(), near: nearest(name, known.iter().cloned()), known }
    }

    pub(crate) fn node_ref(&self, node: NodeId) -> NodeRef {
        self.engine.topology().node_ref(self.engine.objects(), node)
    }

    pub(crate) fn node_refs(&self, nodes: &[NodeId]) -> Vec<NodeRef> {
        nodes.iter().map(|node| self.node_ref(*node)).collect()
    }

    /// The kind of a node, for a sentence: `Gateway`, `HTTPRoute rule`.
    pub(crate) fn node_kind(&self, node: NodeId) -> String {
        node_kind(&self.engine, node)
    }

    /// The reference of a policy.
    pub(crate) fn policy_ref(&self, policy: PolicyId) -> ObjectRef {
        self.engine.policy_id(policy).clone()
    }

    pub(crate) fn policy_refs<'p>(&self, policies: impl IntoIterator<Item = &'p PolicyId>) -> Vec<ObjectRef> {
        policies.into_iter().map(|policy| self.policy_ref(*policy)).collect()
    }

    /// Whether a node is in a namespace, if one is given.
    pub(crate) fn is_in(&self, node: NodeId, namespace: Option<&str>) -> bool {
        let id = self.engine.topology().id(self.engine.objects(), node);
        namespace.is_none_or(|wanted| id.namespace == wanted)
    }
}

/// The group and kind of a policy kind.
pub(crate) fn group_kind(kind: &PolicyKind) -> GroupKind {
    GroupKind { group: kind.group.clone(), kind: kind.kind.clone() }
}
