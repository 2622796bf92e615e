//! The explanation of an effective policy: every block that reaches an object, which won, and what lost to which
//! policy.

use std::collections::{BTreeSet, HashMap};

use attache_engine::Model;
use attache_engine::kinds::Strategy;
use attache_engine::nearest;
use attache_engine::{
    Block, BlockKind, GroupKind, Merged, NodeId, NodeRef, ObjectId, ObjectRef, Path, PolicyId, Segment, Value,
    block_path,
};
use attache_engine::{BlockTrace, FoldTrace, Loss};
use serde::Serialize;

use crate::document::API_VERSION;
use crate::effective::{LostPath, NothingInForce, OriginDocument, merged_into, origins};
use crate::error::QueryError;
use crate::object_query::ObjectQuery;
use crate::provenance::{LastChangeDocument, ManagedBy, last_change, managed_by};
use crate::scopes::{Extent, Focus, ScopeGroup, consumer};
use crate::snapshot::{Snapshot, group_kind};

/// What to explain.
#[derive(Clone, Debug)]
pub struct ExplainQuery {
    /// The object.
    pub object: ObjectQuery,
    /// Only this field of the policies: a path, or the end of one.
    pub field: Option<Path>,
    /// Only policies of this kind.
    pub kind: Option<String>,
    /// The namespace of the object.
    pub namespace: Option<String>,
    /// Whether to show each step of the merge.
    pub steps: bool,
    /// The number of targets to name if an answer applies to several.
    pub names: usize,
}

/// The document `Explanation`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    api_version: &'static str,
    kind: &'static str,
    /// The object.
    pub object: NodeRef,
    /// The requested field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Path>,
    /// One item for each group of scopes with the same effective policy and, if a field is given, for each path that it
    /// matches.
    pub items: Vec<ExplainedGroup>,
    /// Why there are no items.
    #[serde(skip)]
    pub nothing: Option<NothingToExplain>,
}

/// Why there is nothing to explain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NothingToExplain {
    /// Nothing is in force on the object.
    NothingInForce(NothingInForce),
    /// Policies are in force, but none of them sets the field.
    FieldNotSet {
        /// Fields with a similar name.
        near: Vec<String>,
        /// The fields that are set.
        known: Vec<String>,
    },
}

/// Scopes with the same effective policy: the candidates, and the effective value.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedGroup {
    /// The kind of the policies.
    pub policy_kind: GroupKind,
    /// The number of scopes.
    pub scopes: u64,
    /// The effective targets of the scopes.
    pub targets: Vec<NodeRef>,
    /// The Namespace whose requests the answer is for. `None` means all requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<NodeRef>,
    /// For kinds that merge into objects: the field of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merges_into: Option<Path>,
    /// The field that is explained. `None` means everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// Every block that sets it, the strongest first.
    pub candidates: Vec<Candidate>,
    /// The effective value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The origins of the value.
    pub origins: Vec<OriginDocument>,
    /// The effect of each block, in the order of the merge, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<MergeStep>,
    /// The index of the group of scopes. Items of one group are adjacent.
    #[serde(skip)]
    pub group: usize,
    /// The targets that the answer applies to.
    #[serde(skip)]
    pub extent: Extent,
    /// For kinds that merge into objects: the object, and its own value.
    #[serde(skip)]
    pub merged: Option<OwnValue>,
    /// For kinds whose policies all apply: the policies, in the order in which they apply.
    #[serde(skip)]
    pub applied: Vec<ObjectRef>,
    /// Whether the value is the object's own.
    #[serde(skip)]
    pub is_own: bool,
}

/// An object that policies merge into.
#[derive(Clone, Debug)]
pub struct OwnValue {
    /// The object.
    pub object: ObjectRef,
    /// Its own value, without the policies.
    pub value: Value,
}

/// A block of a policy that sets the explained value.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    /// The policy.
    pub policy: ObjectRef,
    /// The block.
    pub block: BlockKind,
    /// The node that the policy is attached to.
    pub target: NodeRef,
    /// How the block merges.
    pub strategy: String,
    /// The condition of the block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// When the policy was created. `None` if it does not exist yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The file of the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line of the value in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The value in the block.
    pub value: Value,
    /// The parts that are not in force.
    pub lost: Vec<LostPath>,
    /// The last change of the policy.
    #[serde(skip)]
    pub last_changed: Option<LastChangeDocument>,
    /// What manages the policy.
    #[serde(skip)]
    pub managed_by: Vec<ManagedBy>,
    /// The rules of higher policies that it removes.
    #[serde(skip)]
    pub removes: Vec<String>,
    /// Whether the only strategy of the kind is `none`.
    #[serde(skip)]
    pub is_exclusive: bool,
}

/// The effect of one block in the merge.
#[derive(Clone, Debug, Serialize)]
pub struct MergeStep {
    /// The policy.
    pub policy: ObjectRef,
    /// The block.
    pub block: BlockKind,
    /// The node that the policy is attached to.
    pub target: NodeRef,
    /// How the block merges.
    pub strategy: String,
    /// Values that were not set before.
    pub filled: Vec<Path>,
    /// Values that were combined with earlier ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub combined: Vec<Path>,
    /// Earlier values that were replaced.
    pub replaced: Vec<Path>,
    /// Earlier values that were removed.
    pub removed: Vec<Path>,
    /// Values of the block that do not count.
    pub lost: Vec<LostPath>,
    /// Why the condition could not be evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// The result after this block.
    pub after: Option<Value>,
    /// Whether the result was empty before it.
    #[serde(skip)]
    pub is_first: bool,
    /// The rules of higher policies that it removes.
    #[serde(skip)]
    pub removes: Vec<String>,
}

/// Explains the effective policies of an object.
pub fn explain(snapshot: &Snapshot, query: &ExplainQuery) -> Result<Explanation, QueryError> {
    let object = snapshot.find(&query.object, query.namespace.as_deref())?;
    if snapshot.engine.find_policy(&object.object).is_some() {
        return Err(QueryError::IsAPolicy { policy: Box::new(object) });
    }
    let focus = Focus::on(snapshot, &object);
    let models = focus.models(snapshot, query.kind.as_deref())?;
    let answers: Vec<TracedGroup> =
        models.iter().flat_map(|model| answers(snapshot, &focus, model, query.steps)).collect();
    let mut items = Vec::new();
    for (number, answer) in answers.iter().enumerate() {
        let fields = match &query.field {
            Some(field) => answer.fields(field),
            None => vec![Path::default()],
        };
        items.extend(fields.into_iter().map(|field| answer.explain(number, field, query)));
    }
    let nothing = match &query.field {
        _ if !items.is_empty() => None,
        Some(field) if !answers.is_empty() => Some(field_not_set(field, &answers)),
        _ => Some(NothingToExplain::NothingInForce(NothingInForce::new(snapshot, &models, focus.nodes()))),
    };
    let (api_version, kind) = (API_VERSION, "Explanation");
    Ok(Explanation { api_version, kind, object, field: query.field.clone(), items, nothing })
}

impl Explanation {
    /// The policies that set a value, sorted.
    pub fn policies(&self) -> BTreeSet<ObjectRef> {
        let origins = self.items.iter().flat_map(|item| item.origins.iter().map(|origin| &origin.policy));
        origins.chain(self.items.iter().flat_map(|item| &item.applied)).cloned().collect()
    }
}

/// Scopes with the same effective policy, and the trace of its merge.
struct TracedGroup<'s> {
    snapshot: &'s Snapshot,
    model: &'s Model,
    group: ScopeGroup,
    /// For kinds that merge into objects: the object, and the field of it.
    merged: Option<(ObjectId, Merged)>,
    trace: FoldTrace,
    effective: attache_engine::EffectivePolicy,
    /// Positions in what lost, by the block that lost it.
    lost: HashMap<(PolicyId, BlockKind, NodeId), Vec<usize>>,
}

fn answers<'s>(snapshot: &'s Snapshot, focus: &Focus, model: &'s Model, steps: bool) -> Vec<TracedGroup<'s>> {
    let mut answers = Vec::new();
    for group in focus.groups(snapshot, model) {
        let merged = merged_into(snapshot, model, &group, usize::MAX);
        if merged.is_empty() {
            answers.push(TracedGroup::new(snapshot, model, group, None, steps));
            continue;
        }
        let traced = |merged| TracedGroup::new(snapshot, model, group.clone(), Some(merged), steps);
        answers.extend(merged.into_iter().map(traced));
    }
    answers
}

impl<'s> TracedGroup<'s> {
    fn new(
        snapshot: &'s Snapshot,
        model: &'s Model,
        group: ScopeGroup,
        merged: Option<(ObjectId, Merged)>,
        steps: bool,
    ) -> TracedGroup<'s> {
        let (view, own) = (snapshot.engine.view(), merged.as_ref().map(|(_, merged)| &merged.own));
        let trace = if steps { model.trace(view, group.chain, own) } else { model.outline(view, group.chain, own) };
        let effective = match &merged {
            Some((_, merged)) => merged.effective.clone(),
            None => attache_engine::EffectivePolicy::clone(model.effective(view, group.chain)),
        };
        let mut lost: HashMap<_, Vec<usize>> = HashMap::new();
        for (at, it) in effective.superseded.iter().enumerate() {
            lost.entry((it.policy, it.block, it.target)).or_default().push(at);
        }
        TracedGroup { snapshot, model, group, merged, trace, effective, lost }
    }

    /// The effective value: the merged spec or, for kinds that merge into objects, the field of the object.
    fn spec(&self) -> Option<&Value> {
        match &self.merged {
            Some((_, merged)) => Some(&merged.value),
            None => self.effective.spec.as_ref(),
        }
    }

    /// The paths that `field` matches: itself, or all that end with it.
    fn fields(&self, field: &Path) -> Vec<Path> {
        let all = self.paths();
        if all.contains(field) {
            return vec![field.clone()];
        }
        let mut found: Vec<Path> = Vec::new();
        for path in all {
            if path.segments().ends_with(field.segments()) && !found.iter().any(|above| path.starts_with(above)) {
                found.push(path);
            }
        }
        found
    }

    /// The paths of everything that a policy sets, whether or not it is in force.
    fn paths(&self) -> BTreeSet<Path> {
        let mut found = BTreeSet::new();
        let blocks = self.trace.blocks.iter().filter_map(|turn| self.block(turn)).map(|block| &block.spec);
        for spec in blocks.chain(self.spec()) {
            collect_paths(spec, &Path::default(), &mut found);
        }
        found
    }

    fn explain(&self, number: usize, field: Path, query: &ExplainQuery) -> ExplainedGroup {
        let snapshot = self.snapshot;
        let by_strength = self.trace.by_strength.iter().filter_map(|at| self.trace.blocks.get(*at));
        let mut origins = origins(snapshot, &self.effective.origins);
        origins.retain(|origin| origin.path.overlaps(&field));
        let mut lost = self.effective.superseded.iter().filter(|lost| lost.path.overlaps(&field));
        ExplainedGroup {
            policy_kind: group_kind(&self.model.kind),
            scopes: self.group.scopes,
            targets: snapshot.node_refs(&self.group.targets),
            from: consumer(self.model, self.group.chain).map(|namespace| snapshot.node_ref(namespace)),
            merges_into: self.merged.as_ref().map(|(_, merged)| merged.path.clone()),
            candidates: by_strength.filter_map(|turn| self.candidate(turn, &field)).collect(),
            value: self.spec().and_then(|spec| field.resolve(spec)).map(|value| self.shown(&field, value)),
            origins,
            steps: if query.steps { self.steps(&field) } else { Vec::new() },
            group: number,
            extent: self.group.extent(snapshot, self.model, query.names),
            merged: self.merged.as_ref().map(|(object, merged)| OwnValue {
                object: snapshot.engine.objects()[*object].id.clone(),
                value: self.shown(&Path::default(), &merged.own),
            }),
            applied: self.effective.applied.iter().map(|applied| snapshot.policy_ref(applied.policy)).collect(),
            is_own: lost.any(attache_engine::Superseded::is_set_by_object),
            path: (!field.is_empty()).then_some(field),
        }
    }

    fn candidate(&self, turn: &BlockTrace, field: &Path) -> Option<Candidate> {
        let block = self.block(turn)?;
        let object = self.snapshot.engine.policy_object(turn.policy);
        let kind = self.snapshot.engine.kinds().get(self.snapshot.engine.policy(turn.policy).kind);
        let mut path = block_path(object, kind, turn.block).segments().to_vec();
        path.extend_from_slice(field.segments());
        let location = object.locate(&Path::new(path));
        let file = Some(object.source.file.to_string()).filter(|file| !file.is_empty());
        let lost = self.lost.get(&(turn.policy, turn.block, turn.target)).into_iter().flatten();
        let lost = lost.map(|at| &self.effective.superseded[*at]).filter(|lost| lost.path.overlaps(field));
        Some(Candidate {
            policy: self.snapshot.policy_ref(turn.policy),
            block: turn.block,
            target: self.snapshot.node_ref(turn.target),
            strategy: turn.strategy.name().to_owned(),
            when: block.when.as_ref().map(ToString::to_string),
            created: object.created.map(|created| created.to_string()),
            line: location.filter(|_| file.is_some()).map(|location| location.line),
            file,
            value: self.shown(field, field.resolve(&block.spec)?),
            lost: lost.map(|lost| self.lost(turn, lost)).collect(),
            last_changed: last_change(object),
            managed_by: managed_by(object),
            removes: block.removes.iter().map(ToString::to_string).collect(),
            is_exclusive: turn.strategy == Strategy::NONE,
        })
    }

    fn steps(&self, field: &Path) -> Vec<MergeStep> {
        let mut is_first = self.merged.is_none();
        let mut steps = Vec::new();
        for turn in &self.trace.blocks {
            steps.push(self.step(turn, field, is_first));
            is_first = turn.after.is_none();
        }
        steps
    }

    fn step(&self, turn: &BlockTrace, field: &Path, is_first: bool) -> MergeStep {
        let concerned = |paths: &[Path]| paths.iter().filter(|path| path.overlaps(field)).cloned().collect();
        let lost = turn.lost.iter().filter(|lost| lost.path.overlaps(field));
        let removes = self.block(turn).into_iter().flat_map(|block| &block.removes);
        MergeStep {
            policy: self.snapshot.policy_ref(turn.policy),
            block: turn.block,
            target: self.snapshot.node_ref(turn.target),
            strategy: turn.strategy.name().to_owned(),
            filled: concerned(&turn.filled),
            combined: concerned(&turn.combined),
            replaced: concerned(&turn.replaced),
            removed: concerned(&turn.removed),
            lost: lost.map(|lost| self.lost(turn, lost)).collect(),
            warning: turn.warning.clone(),
            after: turn.after.as_ref().and_then(|spec| field.resolve(spec)).map(|value| self.shown(field, value)),
            is_first,
            removes: removes.map(ToString::to_string).collect(),
        }
    }

    fn lost(&self, turn: &BlockTrace, lost: &attache_engine::Superseded) -> LostPath {
        let warning = turn.warning.clone().filter(|_| lost.reason == Loss::ConditionFalse);
        LostPath { warning, ..LostPath::new(self.snapshot, lost) }
    }

    /// The value of a field, as it is shown.
    fn shown(&self, field: &Path, value: &Value) -> Value {
        self.snapshot.shown(&self.model.kind, field, value)
    }

    fn block(&self, turn: &BlockTrace) -> Option<&'s Block> {
        self.snapshot.engine.policy(turn.policy).blocks.iter().find(|block| block.kind == turn.block)
    }
}

fn collect_paths(value: &Value, path: &Path, found: &mut BTreeSet<Path>) {
    let fields = value.entries().iter().map(|(key, child)| (path.key(key.clone()), child));
    let items = value.items().iter().enumerate().map(|(i, child)| (path.index(i), child));
    for (path, child) in fields.chain(items) {
        collect_paths(child, &path, found);
        found.insert(path);
    }
}

fn field_not_set(field: &Path, answers: &[TracedGroup]) -> NothingToExplain {
    let all: BTreeSet<Path> = answers.iter().flat_map(TracedGroup::paths).collect();
    let end = |path: &Path| {
        let segments = path.segments();
        Path::new(segments[segments.len().saturating_sub(field.segments().len())..].to_vec()).to_string()
    };
    let has_index = |path: &Path| path.segments().iter().any(|segment| matches!(segment, Segment::Index(_)));
    let named: Vec<&Path> = all.iter().filter(|path| !has_index(path)).collect();
    let near_ends = nearest(&field.to_string(), named.iter().map(|path| end(path)).collect::<BTreeSet<String>>());
    let is_leaf = |path: &&&Path| !named.iter().any(|other| other != *path && other.starts_with(path));
    NothingToExplain::FieldNotSet {
        near: named.iter().filter(|path| near_ends.contains(&end(path))).map(ToString::to_string).collect(),
        known: named.iter().filter(is_leaf).map(ToString::to_string).collect(),
    }
}
