//! Effective policies: what is in force, the origin of each value, and what lost.

use std::collections::BTreeSet;

use attache_engine::Loss;
use attache_engine::kinds::PolicyKind;
use attache_engine::{
    BlockKind, GroupKind, Level, Merged, Model, NodeId, NodeRef, ObjectId, ObjectRef, Path, PolicyId, ReportedOrigin,
    Scope, Value, ValueOrigin,
};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;

use crate::document::{List, Stream, is_true};
use crate::error::QueryError;
use crate::object_query::ObjectQuery;
use crate::scopes::{
    Extent, Focus, ScopeDocument, ScopeGroup, cut, follows_routes, has_content, is_reached, is_routed,
};
use crate::snapshot::{Snapshot, group_kind};

/// Selects effective policies.
#[derive(Clone, Debug, Default)]
pub struct EffectiveQuery {
    /// Only those on this object. For a route, rule or backend: on requests that pass through it. For a Gateway,
    /// listener or class: what everything below it inherits. For a Namespace: those in it.
    pub object: Option<ObjectQuery>,
    /// Only those of this policy kind.
    pub kind: Option<String>,
    /// The namespace of the object, or of the effective targets if there is no object.
    pub namespace: Option<String>,
}

/// The effective policies that a query selects.
#[derive(Debug)]
pub struct EffectivePolicies<'s> {
    snapshot: &'s Snapshot,
    focus: Focus,
    models: Vec<Model>,
}

/// The effective policy of one scope.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EffectivePolicyDocument {
    /// The kind of the policies.
    pub policy_kind: GroupKind,
    /// The scope.
    #[serde(flatten)]
    pub scope: ScopeDocument,
    /// Whether requests reach the end of the scope. If not, this is what would be in force.
    #[serde(skip_serializing_if = "is_true")]
    pub in_force: bool,
    /// Whether a route leads to the end of the scope. If not, requests reach it directly or through a mesh only.
    #[serde(skip_serializing_if = "is_true")]
    pub routed: bool,
    /// The effective policy.
    #[serde(flatten)]
    pub effective: EffectiveDocument,
    /// For kinds that merge into objects: the fields of the object at the end of the scope, with the policies merged
    /// into them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<MergedField>,
    /// Conditions that could not be evaluated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<ConditionWarning>,
}

/// The merged policies of a scope, the origin of each value, and what lost.
#[derive(Clone, Debug, Serialize)]
pub struct EffectiveDocument {
    /// The merged spec. `None` if nothing is in force, or if the policies apply one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<Value>,
    /// For kinds whose policies all apply: each policy, in the order in which they apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies: Option<Vec<AppliedPolicy>>,
    /// The origin of every value, or rule, of the spec.
    pub origins: Vec<OriginDocument>,
    /// Everything that lost.
    pub superseded: Vec<LostValue>,
}

/// One of several policies that all apply.
#[derive(Clone, Debug, Serialize)]
pub struct AppliedPolicy {
    /// The policy.
    pub policy: ObjectRef,
    /// The node that it is attached to.
    pub target: NodeRef,
    /// Its spec.
    pub spec: Value,
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OriginDocument {
    /// The path of the value.
    pub path: Path,
    /// The policy that sets it.
    pub policy: ObjectRef,
    /// The block of the policy.
    pub block: BlockKind,
    /// The node that the policy is attached to.
    pub target: NodeRef,
    /// Whether the value counts here. If not, the controller only reports it here: it is for listeners of other ports.
    #[serde(skip_serializing_if = "is_true")]
    pub in_force: bool,
}

/// Why a value is not in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LossCause {
    /// The policy that it lost to. `None` if its condition does not hold, or if the object or another block of the policy
    /// sets the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<ObjectRef>,
    /// Further policies to each of which it would have lost as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_by: Vec<ObjectRef>,
    /// Why it lost.
    pub reason: Loss,
}

/// A value that is not in force, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LostValue {
    /// The origin of the value.
    #[serde(flatten)]
    pub origin: OriginDocument,
    /// Why it lost, and to which policies.
    #[serde(flatten)]
    pub cause: LossCause,
    /// The value.
    #[serde(skip)]
    pub value: Option<Value>,
}

/// A part of a block that is not in force, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LostPath {
    /// The path of the part. An empty path is the whole block.
    pub path: Path,
    /// Why it lost, and to which policies.
    #[serde(flatten)]
    pub cause: LossCause,
    /// The policy that lost.
    #[serde(skip)]
    pub policy: ObjectRef,
    /// Why the condition could not be evaluated, if that is the reason.
    #[serde(skip)]
    pub warning: Option<String>,
}

/// A field of an object, with the policies merged into it.
#[derive(Clone, Debug, Serialize)]
pub struct MergedField {
    /// The object.
    pub object: ObjectRef,
    /// The field.
    pub path: Path,
    /// Its value.
    pub value: Value,
    /// The origins of the values that policies set. All other values are the object's own.
    pub origins: Vec<OriginDocument>,
    /// Values of policies that lost.
    #[serde(skip)]
    pub superseded: Vec<LostValue>,
    /// Conditions that could not be evaluated.
    #[serde(skip)]
    pub warnings: Vec<ConditionWarning>,
}

/// A condition that could not be evaluated, and counts as false.
#[derive(Clone, Debug, Serialize)]
pub struct ConditionWarning {
    /// The policy.
    pub policy: ObjectRef,
    /// The block whose condition it is.
    pub block: BlockKind,
    /// What is wrong with it.
    pub message: String,
}

/// Scopes of one policy kind that have the same effective policy.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EffectiveGroup {
    /// The kind of the policies.
    pub policy_kind: GroupKind,
    /// The targets of the scopes.
    pub extent: Extent,
    /// The effective policy.
    #[serde(flatten)]
    pub effective: EffectiveDocument,
    /// For kinds that merge into objects: fields of the objects, with the policies merged into them.
    pub objects: Vec<MergedField>,
    /// Conditions that could not be evaluated.
    pub warnings: Vec<ConditionWarning>,
}

/// The effective policies of one kind.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KindGroups {
    /// The kind of the policies.
    pub policy_kind: GroupKind,
    /// The first groups.
    pub groups: Vec<EffectiveGroup>,
    /// The number of further groups.
    pub more: usize,
}

/// Why nothing is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum NothingInForce {
    /// The input has no policies of a known kind.
    NoPolicies,
    /// It has no policies of the requested kind.
    NoneOfKind,
    /// It has policies, but none of them reaches the requested object.
    NoneReaches {
        /// The number of policies in the input.
        policies: usize,
    },
    /// The object is a backend, and policies are in force on routes that lead to it.
    OnRoutes {
        /// These routes.
        routes: Vec<NodeRef>,
    },
}

impl NothingInForce {
    /// `nodes` are those of the requested object, if there is one.
    pub(crate) fn new(snapshot: &Snapshot, models: &[Model], nodes: &[NodeId]) -> NothingInForce {
        match snapshot.policies() {
            0 => NothingInForce::NoPolicies,
            _ if models.is_empty() && !snapshot.has_policies_left_out() => NothingInForce::NoneOfKind,
            policies => {
                let is_requested = |model: &Model| models.iter().any(|it| it.id == model.id);
                match policies_on_routes(snapshot, nodes, is_requested) {
                    routes if routes.is_empty() => NothingInForce::NoneReaches { policies },
                    routes => NothingInForce::OnRoutes { routes },
                }
            }
        }
    }
}

/// The routes that lead to a backend and on which policies of some kinds are in force, sorted.
pub(crate) fn policies_on_routes(
    snapshot: &Snapshot,
    backend: &[NodeId],
    is_requested: impl Fn(&Model) -> bool,
) -> Vec<NodeRef> {
    let (topology, view) = (snapshot.engine.topology(), snapshot.engine.view());
    let is_backend = |node: &&NodeId| matches!(topology[**node].level, Level::Backend | Level::BackendPort);
    let parents = backend.iter().filter(is_backend).flat_map(|node| topology.parents(*node));
    let rules: BTreeSet<NodeId> = parents.copied().filter(|node| topology[*node].level == Level::RouteRule).collect();
    let mut models = snapshot.engine.models_at(rules.iter().copied());
    models.retain(is_requested);
    let is_in_force = |model: &Model, chain| model.effective(view, chain).outcomes.iter().any(|(_, it)| it.contributes);
    let has_policy = |rule: &NodeId| {
        is_reached(snapshot, &[*rule])
            && models
                .iter()
                .any(|model| model.chains_at(view, *rule).iter().any(|(chain, _)| is_in_force(model, *chain)))
    };
    let with_policies = rules.into_iter().filter(has_policy);
    let routes: BTreeSet<NodeRef> = with_policies.map(|rule| snapshot.node_ref(topology.whole(rule))).collect();
    routes.into_iter().collect()
}

impl<'s> EffectivePolicies<'s> {
    /// Finds the effective policies that a query selects.
    pub fn find(snapshot: &'s Snapshot, query: &EffectiveQuery) -> Result<EffectivePolicies<'s>, QueryError> {
        let focus = Focus::find(snapshot, query.object.as_ref(), query.namespace.as_deref())?;
        let models = focus.models(snapshot, query.kind.as_deref())?;
        Ok(EffectivePolicies { snapshot, focus, models })
    }

    /// The document `EffectivePolicyList`: an item for each kind and scope. Items are created while it is serialized.
    pub fn list(&self) -> List<impl Serialize> {
        let for_each = |found: &mut dyn FnMut(EffectivePolicyDocument)| self.for_each(found);
        List::new("EffectivePolicyList", Stream::new(for_each))
    }

    /// Calls `found` with the effective policy of each scope.
    pub fn for_each(&self, found: &mut dyn FnMut(EffectivePolicyDocument)) {
        let view = self.snapshot.engine.view();
        for model in &self.models {
            self.focus.for_each_scope(self.snapshot, model, &mut |scope| {
                let reported = model.reported(view, scope.chain);
                if !reported.is_empty() || has_content(model.effective(view, scope.chain)) {
                    let mut document = EffectivePolicyDocument::new(self.snapshot, model, &scope);
                    document
                        .effective
                        .origins
                        .extend(reported.iter().map(|it| OriginDocument::reported(self.snapshot, it)));
                    found(document);
                }
            });
        }
    }

    /// The same, grouped by effective policy: of each kind at most `most` groups, or one more, each with so many names.
    pub fn groups(&self, most: usize) -> Vec<KindGroups> {
        let groups = |model: &Model| {
            let groups = self.focus.groups(self.snapshot, model);
            let shown = cut(groups.len(), most);
            let first = groups[..shown].iter().map(|group| EffectiveGroup::new(self.snapshot, model, group, most));
            KindGroups { policy_kind: group_kind(&model.kind), groups: first.collect(), more: groups.len() - shown }
        };
        self.models.par_iter().map(groups).collect()
    }

    /// The policies that set a value, sorted.
    pub fn policies(&self) -> Vec<ObjectRef> {
        let mut policies: BTreeSet<PolicyId> = BTreeSet::new();
        for model in &self.models {
            for group in self.focus.groups(self.snapshot, model) {
                let outcomes = &model.effective(self.snapshot.engine.view(), group.chain).outcomes;
                policies.extend(outcomes.iter().filter(|(_, outcome)| outcome.contributes).map(|(policy, _)| *policy));
            }
        }
        self.snapshot.policy_refs(&policies)
    }

    /// The backend that the query is about, if policies are in force on it and no route leads to it.
    pub fn unrouted(&self) -> Option<NodeRef> {
        let snapshot = self.snapshot;
        let node = self.focus.nodes().iter().find(|node| !is_routed(&snapshot.engine, **node))?;
        let has_policies = |model: &&Model| {
            let groups = || self.focus.groups(snapshot, model);
            follows_routes(&model.kind)
                && groups().iter().any(|it| has_content(model.effective(snapshot.engine.view(), it.chain)))
        };
        self.models.iter().any(|model| has_policies(&model)).then(|| snapshot.node_ref(*node))
    }

    /// Why nothing is in force. Meaningful only if that is so.
    pub fn nothing_in_force(&self) -> NothingInForce {
        NothingInForce::new(self.snapshot, &self.models, self.focus.nodes())
    }
}

impl EffectivePolicyDocument {
    pub(crate) fn new(snapshot: &Snapshot, model: &Model, scope: &Scope) -> EffectivePolicyDocument {
        let effective = model.effective(snapshot.engine.view(), scope.chain);
        let topology = snapshot.engine.topology();
        let object = scope.end().and_then(|end| topology[topology.whole(end)].owner.object());
        let merged = object.map(|object| merged_fields(snapshot, model, object)).unwrap_or_default();
        let is_here = |(_, merged): &(ObjectId, Merged)| merged.chain == scope.chain;
        EffectivePolicyDocument {
            policy_kind: group_kind(&model.kind),
            scope: ScopeDocument::new(snapshot, scope),
            in_force: scope.end().is_none_or(|end| is_reached(snapshot, &[end])),
            routed: !follows_routes(&model.kind) || scope.end().is_none_or(|end| is_routed(&snapshot.engine, end)),
            effective: EffectiveDocument::new(snapshot, effective, &model.kind),
            objects: merged
                .iter()
                .filter(|it| is_here(it))
                .map(|it| MergedField::new(snapshot, &model.kind, it))
                .collect(),
            warnings: warnings(snapshot, effective),
        }
    }
}

impl EffectiveDocument {
    pub(crate) fn new(
        snapshot: &Snapshot,
        effective: &attache_engine::EffectivePolicy,
        kind: &PolicyKind,
    ) -> EffectiveDocument {
        let applied = effective.applied.iter().map(|applied| AppliedPolicy {
            policy: snapshot.policy_ref(applied.policy),
            target: snapshot.node_ref(applied.target),
            spec: snapshot.shown_spec(kind, &applied.spec),
        });
        EffectiveDocument {
            spec: effective.spec.as_ref().map(|spec| snapshot.shown_spec(kind, spec)),
            policies: kind.accumulates().then(|| applied.collect()),
            origins: origins(snapshot, &effective.origins),
            superseded: effective.superseded.iter().map(|lost| LostValue::new(snapshot, lost)).collect(),
        }
    }

    /// Whether nothing is in force.
    pub fn is_nothing(&self) -> bool {
        self.spec.is_none() && self.policies.as_ref().is_none_or(Vec::is_empty)
    }
}

impl EffectiveGroup {
    pub(crate) fn new(snapshot: &Snapshot, model: &Model, group: &ScopeGroup, most: usize) -> EffectiveGroup {
        let effective = model.effective(snapshot.engine.view(), group.chain);
        let merged = merged_into(snapshot, model, group, most);
        EffectiveGroup {
            policy_kind: group_kind(&model.kind),
            extent: group.extent(snapshot, model, most),
            effective: EffectiveDocument::new(snapshot, effective, &model.kind),
            objects: merged.iter().map(|it| MergedField::new(snapshot, &model.kind, it)).collect(),
            warnings: warnings(snapshot, effective),
        }
    }
}

impl MergedField {
    fn new(snapshot: &Snapshot, kind: &PolicyKind, (object, merged): &(ObjectId, Merged)) -> MergedField {
        MergedField {
            object: snapshot.engine.objects()[*object].id.clone(),
            path: merged.path.clone(),
            value: snapshot.shown_spec(kind, &merged.value),
            origins: origins(snapshot, &merged.effective.origins),
            superseded: merged.effective.superseded.iter().map(|lost| LostValue::new(snapshot, lost)).collect(),
            warnings: warnings(snapshot, &merged.effective),
        }
    }
}

impl OriginDocument {
    pub(crate) fn new(
        snapshot: &Snapshot,
        path: &Path,
        policy: PolicyId,
        block: BlockKind,
        target: NodeId,
    ) -> OriginDocument {
        let (policy, target) = (snapshot.policy_ref(policy), snapshot.node_ref(target));
        OriginDocument { path: path.clone(), policy, block, target, in_force: true }
    }

    fn reported(snapshot: &Snapshot, reported: &ReportedOrigin) -> OriginDocument {
        let ValueOrigin { path, policy, block, target } = &reported.origin;
        OriginDocument { in_force: reported.in_force, ..OriginDocument::new(snapshot, path, *policy, *block, *target) }
    }
}

impl LossCause {
    fn new(snapshot: &Snapshot, lost: &attache_engine::Superseded) -> LossCause {
        LossCause {
            by: lost.by.map(|policy| snapshot.policy_ref(policy)),
            also_by: snapshot.policy_refs(&lost.also_by),
            reason: lost.reason,
        }
    }
}

impl LostValue {
    pub(crate) fn new(snapshot: &Snapshot, lost: &attache_engine::Superseded) -> LostValue {
        let mut blocks = snapshot.engine.policy(lost.policy).blocks.iter();
        let value = blocks.find(|block| block.kind == lost.block).and_then(|block| lost.path.resolve(&block.spec));
        LostValue {
            origin: OriginDocument::new(snapshot, &lost.path, lost.policy, lost.block, lost.target),
            cause: LossCause::new(snapshot, lost),
            value: value.map(|value| snapshot.shown(snapshot.kind_of(lost.policy), &lost.path, value)),
        }
    }
}

impl LostPath {
    pub(crate) fn new(snapshot: &Snapshot, lost: &attache_engine::Superseded) -> LostPath {
        LostPath {
            path: lost.path.clone(),
            cause: LossCause::new(snapshot, lost),
            policy: snapshot.policy_ref(lost.policy),
            warning: None,
        }
    }
}

pub(crate) fn origins(snapshot: &Snapshot, origins: &[attache_engine::ValueOrigin]) -> Vec<OriginDocument> {
    origins.iter().map(|it| OriginDocument::new(snapshot, &it.path, it.policy, it.block, it.target)).collect()
}

fn warnings(snapshot: &Snapshot, effective: &attache_engine::EffectivePolicy) -> Vec<ConditionWarning> {
    let warning = |it: &attache_engine::FoldWarning| ConditionWarning {
        policy: snapshot.policy_ref(it.policy),
        block: it.block,
        message: it.message.clone(),
    };
    effective.warnings.iter().map(warning).collect()
}

/// The fields of an object that policies of one kind merge into.
fn merged_fields(snapshot: &Snapshot, model: &Model, object: ObjectId) -> Vec<(ObjectId, Merged)> {
    snapshot.engine.merged(model, object).into_iter().map(|merged| (object, merged)).collect()
}

/// Like [`merged_fields`], for the objects of the first `most` targets of a group.
pub(crate) fn merged_into(
    snapshot: &Snapshot,
    model: &Model,
    group: &ScopeGroup,
    most: usize,
) -> Vec<(ObjectId, Merged)> {
    let topology = snapshot.engine.topology();
    let objects = group.targets.iter().filter_map(|target| topology[*target].owner.object());
    let objects: BTreeSet<ObjectId> = objects.take(most).collect();
    let merged = objects.into_iter().flat_map(|object| merged_fields(snapshot, model, object));
    merged.filter(|(_, merged)| merged.chain == group.chain).collect()
}
