//! The effective policies of each object: one document for each object and policy kind.
//!
//! The cost of a list depends on the listed objects, not on the size of the cluster: documents are computed one by one, and the
//! number of scopes in a document is limited.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::sync::Arc;

use attache_engine::{ChainId, GroupKind, Level, Model, NodeId, NodeRef, Object, ObjectId, Scope};
use serde::Serialize;

use crate::effective::{ConditionWarning, EffectiveDocument, EffectivePolicyDocument, MergedField};
use crate::scopes::{Focus, has_content, targets_below};
use crate::snapshot::{Snapshot, group_kind};

/// The number of scopes that a document lists.
pub const MOST_SCOPES: usize = 100;

/// The number of scopes at which counting ends, if scopes have to be counted one by one.
const MOST_LOOKED_AT: u64 = 10_000;

/// An object, and a policy kind whose policies may be in force on it.
#[derive(Clone, Copy, Debug)]
pub struct ObjectAndKind<'s> {
    snapshot: &'s Snapshot,
    id: ObjectId,
    node: NodeId,
    model: &'s Model,
}

/// The effective policies of one kind on an object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InForceDocument {
    /// The number of scopes.
    pub scope_count: u64,
    /// Whether there may be more scopes, because there are too many to count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub scope_count_is_minimum: bool,
    /// The first scopes, at most [`MOST_SCOPES`].
    pub scopes: Vec<ScopeInForce>,
}

/// The effective policy of one scope: the same as an item of `EffectivePolicyList`.
#[derive(Clone, Debug, Serialize)]
pub struct ScopeInForce {
    /// The nodes, from the root to the effective target.
    pub path: Vec<NodeRef>,
    /// The Namespace whose requests the scope applies to. `None` means all requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<NodeRef>,
    /// The effective policy.
    #[serde(flatten)]
    pub effective: EffectiveDocument,
    /// For kinds that merge into objects: the fields of the object at the end of the scope, after the merge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<MergedField>,
    /// Conditions that could not be evaluated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<ConditionWarning>,
}

/// The scopes of an object in which policies are in force.
struct FoundScopes {
    count: u64,
    is_minimum: bool,
    /// The first ones.
    scopes: Vec<Scope>,
}

/// The objects of one namespace, or of all, each with every kind that has policies, sorted by group, kind, namespace and name.
/// A Namespace counts as an object of itself. Other cluster-scoped objects are left out.
pub fn objects_and_kinds<'s>(
    snapshot: &'s Snapshot,
    namespace: Option<&'s str>,
) -> impl Iterator<Item = ObjectAndKind<'s>> + 's {
    let (objects, topology) = (snapshot.engine.objects(), snapshot.engine.topology());
    let ids = objects.kinds().flat_map(move |(group, kind)| match namespace {
        Some(name) if group.is_empty() && kind == "Namespace" => {
            objects.lookup(group, kind, "", name).into_iter().collect()
        }
        Some(name) => objects.of_kind_in(group, kind, name).to_vec(),
        None => objects.of_kind(group, kind).to_vec(),
    });
    let nodes = ids.filter_map(move |id| {
        let (node, object) = (NodeId::whole(id), &objects[id]);
        (topology.node(node).is_some() && namespace_of(object).is_some()).then_some((id, node))
    });
    let models = snapshot.engine.models();
    nodes.flat_map(move |(id, node)| models.iter().map(move |model| ObjectAndKind { snapshot, id, node, model }))
}

/// The namespace of an object; for a Namespace, the Namespace itself. `None` for other cluster-scoped objects.
fn namespace_of(object: &Object) -> Option<&str> {
    let id = &object.id;
    let namespace = if id.group.is_empty() && id.kind == "Namespace" { &id.name } else { &id.namespace };
    Some(namespace.as_str()).filter(|namespace| !namespace.is_empty())
}

impl<'s> ObjectAndKind<'s> {
    /// The object.
    pub fn object(&self) -> &'s Object {
        &self.snapshot.engine.objects()[self.id]
    }

    /// The namespace of the object.
    pub fn namespace(&self) -> &'s str {
        namespace_of(self.object()).unwrap_or_default()
    }

    /// The policy kind.
    pub fn policy_kind(&self) -> GroupKind {
        group_kind(&self.model.kind)
    }

    /// The document. `None` if nothing is in force.
    pub fn document(&self) -> Option<InForceDocument> {
        let FoundScopes { count, is_minimum, scopes } = self.find()?;
        let scope = |scope: &Scope| {
            let EffectivePolicyDocument { scope, effective, objects, warnings, .. } =
                EffectivePolicyDocument::new(self.snapshot, self.model, scope);
            ScopeInForce { path: scope.scope, from: scope.from, effective, objects, warnings }
        };
        Some(InForceDocument {
            scope_count: count,
            scope_count_is_minimum: is_minimum,
            scopes: scopes.iter().map(scope).collect(),
        })
    }

    /// A fingerprint: if it is the same in two snapshots of one engine, the document and the labels of the object are the same.
    /// It can differ even if they are. `None` if nothing is in force. It is derived from addresses, so both snapshots must be
    /// alive while fingerprints are compared.
    pub fn fingerprint(&self) -> Option<u64> {
        let FoundScopes { count, scopes, .. } = self.find()?;
        let (engine, topology) = (&self.snapshot.engine, self.snapshot.engine.topology());
        let address = |id: ObjectId| engine.objects().shared(id).map_or(0, |object| Arc::as_ptr(object).addr());
        let mut hasher = DefaultHasher::new();
        (count, address(self.id)).hash(&mut hasher);
        for scope in &scopes {
            for node in scope.nodes.iter().chain(&scope.from) {
                (topology.id(engine.objects(), *node), &topology[*node].section).hash(&mut hasher);
            }
            Arc::as_ptr(self.model.effective(engine.view(), scope.chain)).addr().hash(&mut hasher);
            if !self.model.kind.merging.merges_into.is_empty() {
                let end = scope.end().and_then(|end| topology[topology.whole(end)].owner.object());
                end.map(address).hash(&mut hasher);
            }
        }
        Some(hasher.finish())
    }

    fn find(&self) -> Option<FoundScopes> {
        let view = self.snapshot.engine.view();
        let focus = self.focus()?;
        let has_content = |chain| has_content(self.model.effective(view, chain));
        let exact = self.count(&focus, has_content);
        if exact == Some(0) {
            return None;
        }
        let (mut count, mut looked_at, mut scopes) = (0, 0, Vec::new());
        let end = focus.try_each_scope(self.snapshot, self.model, &mut |scope| {
            looked_at += 1;
            if has_content(scope.chain) {
                count += 1;
                if scopes.len() < MOST_SCOPES {
                    scopes.push(scope);
                }
            }
            let is_enough = exact.is_some_and(|exact| scopes.len() as u64 >= exact.min(MOST_SCOPES as u64));
            match is_enough || looked_at >= MOST_LOOKED_AT {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        let is_minimum = exact.is_none() && end.is_break();
        let count = exact.unwrap_or(count);
        (count > 0).then_some(FoundScopes { count, is_minimum, scopes })
    }

    /// The nodes whose scopes the document lists. For a Gateway: those of what it hands down, and of listeners with a different
    /// result. For a Namespace: scopes that end at it. For other objects: scopes that end at or below it.
    fn focus(&self) -> Option<Focus> {
        let ObjectAndKind { snapshot, node, model, .. } = *self;
        let (view, topology) = (snapshot.engine.view(), snapshot.engine.topology());
        match topology[node].level {
            Level::Namespace => model.is_effective_target(view, node).then(|| Focus::At(vec![node])),
            Level::Gateway | Level::ListenerSet => {
                let differs = |section: &NodeId| {
                    model.chains_at(view, *section).iter().any(|chain| !self.has_chain(node, chain.0))
                };
                let sections = topology.sections(node).filter(differs);
                Some(Focus::At([node].into_iter().chain(sections).collect()))
            }
            level if level >= Level::Route => {
                let nodes: Vec<NodeId> = [node].into_iter().chain(topology.frontend(node)).collect();
                let targets = targets_below(snapshot, model, &nodes);
                targets.iter().any(|target| model.is_effective_target(view, *target)).then_some(Focus::Through(nodes))
            }
            _ => Some(Focus::At(vec![node])),
        }
    }

    fn has_chain(&self, node: NodeId, chain: ChainId) -> bool {
        let chains = self.model.chains_at(self.snapshot.engine.view(), node);
        chains.iter().any(|(it, _)| *it == chain)
    }

    /// The number of scopes if all of them lead through the object, so that they need not be listed.
    fn count(&self, focus: &Focus, has_content: impl Fn(ChainId) -> bool) -> Option<u64> {
        let (view, topology) = (self.snapshot.engine.view(), self.snapshot.engine.topology());
        let targets = match focus {
            Focus::Everything { .. } => return None,
            Focus::At(nodes) => nodes.clone(),
            Focus::Through(nodes) => targets_below(self.snapshot, self.model, nodes),
        };
        let chains = || targets.iter().flat_map(|target| self.model.chains_at(view, *target));
        let count = |(chain, scopes): &(_, u64)| if has_content(*chain) { *scopes } else { 0 };
        let total = chains().map(count).fold(0, u64::saturating_add);
        let is_own = |target: &NodeId| topology[*target].owner == topology[self.node].owner;
        (total == 0 || targets.iter().all(is_own)).then_some(total)
    }
}
