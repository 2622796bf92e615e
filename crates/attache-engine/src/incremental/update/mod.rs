//! Stage 3: builds the next engine, at a cost that depends on what the changes affect.
//!
//! ```text
//! topology       nodes of changed objects, implied nodes (implied_nodes), links of Gateways (gateways) and routes
//!    │             ─→ UpdatedTopology: the objects that were relinked, the policies to reattach
//! attachments    the targets of those policies
//!    │             ─→ Vec<Reattached>: each policy with its previous attachments
//! models         the models that are updated: all, or those in the region that the changes can reach (impact_region)
//!    │             ─→ ModelUpdate: the models before and after
//! stacks         the policies on each node
//!    │             ─→ UpdatedStacks: the nodes whose stack changed
//! hierarchies    the entries of the edited nodes in each hierarchy
//!    │             ─→ ChangedEntries: the nodes whose entry changed
//! chains         the chains that reach each node
//!                  ─→ KindUpdate: the nodes whose chains changed, and the chains whose policies changed
//! ```

mod attachments;
mod chains;
mod gateways;
mod hierarchies;
mod impact_region;
mod implied_nodes;
mod models;
mod stacks;
mod topology;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::batch_edits::BatchEdits;
use super::changed::ObjectChange;
use super::compare::{ContributionCounts, Differences, compare};
use super::dependents::DependencyIndex;
use super::object_index::ObjectIndex;
use super::rebuild;
use crate::engine::Engine;
use crate::engine_parts::EngineParts;
use crate::kinds::{GatewayPods, KindHierarchy, KindId};
use crate::model::RefCounts;
use crate::models::Models;
use crate::object::{ObjectId, ObjectRef, Objects};
use crate::policy::PolicyId;
use crate::topology::{Level, NeedsRebuild, TopologyChanges, TopologyEditor, api};

use impact_region::ImpactRegion;

pub(super) use chains::{KindUpdate, RefoldedChains};
pub(super) use models::without_unused_models;

/// The input of all stages of an update.
#[derive(Clone, Copy, Debug)]
pub(super) struct UpdateContext<'u> {
    /// The engine before the changes.
    pub before: &'u Engine,
    pub changes: &'u [ObjectChange],
    /// The dependencies before the changes.
    pub dependencies: &'u DependencyIndex,
    /// The objects after the changes, by kind and namespace.
    pub objects: &'u ObjectIndex,
    /// Whether the changes are only tried: the next engine is not kept, and its report is likely to be linted.
    pub is_trial: bool,
}

impl UpdateContext<'_> {
    /// The kinds that have policies before or after the changes. Kinds whose policies are ordered together are
    /// represented by their leading kind. A kind can occur several times.
    pub fn kinds_in_use(&self) -> impl Iterator<Item = KindId> {
        self.before.all_models().kinds().chain(self.kinds_of_new_policies())
    }

    /// The kinds of the policies that are added or updated.
    fn kinds_of_new_policies(&self) -> impl Iterator<Item = KindId> {
        let kinds = self.before.kinds();
        let after = self.changes.iter().filter_map(|change| Some(&change.after()?.id));
        after.filter_map(|id| kinds.find(&id.group, &id.kind)).map(|kind| kinds.leader(kind))
    }

    /// Whether any kind has waypoints: labels then determine which Gateway serves a Service, and which Gateway a Pod
    /// belongs to.
    pub fn has_waypoints(&self) -> bool {
        let looks_at_gateways =
            |it: &KindHierarchy| it.waypoints.is_some() || it.gateway_pods != GatewayPods::Workloads;
        self.kinds_in_use().any(|kind| looks_at_gateways(&self.before.kinds().get(kind).hierarchy))
    }

    /// Whether the inheritance of nodes can change although no link does.
    pub fn can_change_inheritance(&self) -> bool {
        let is_workload = |id: &ObjectRef| api::level(&id.group, &id.kind) == Level::Workload;
        let changes_workload = || {
            let changed = self.changes.iter().filter(|it| it.fields.labels || it.fields.spec);
            changed.map(ObjectChange::reference).any(is_workload)
        };
        let leaves_out = |kind| !self.before.kinds().get(kind).hierarchy.leaves_out.is_empty();
        self.has_waypoints() || changes_workload() && self.kinds_in_use().any(leaves_out)
    }

    /// Whether the report of every policy can differ: of the objects that report ancestors, only routes and backends are
    /// followed one by one.
    fn can_touch_all_policies(&self) -> bool {
        let is_followed = |id: &ObjectRef| {
            self.before.kinds().find(&id.group, &id.kind).is_some()
                || matches!(api::level(&id.group, &id.kind), Level::Route | Level::Backend)
        };
        !self.changes.iter().map(ObjectChange::reference).all(is_followed) || self.can_change_inheritance()
    }

    /// The objects that are added or removed, or whose spec changes, sorted.
    fn changed_content(&self) -> impl Iterator<Item = ObjectId> {
        self.changes.iter().filter(|change| change.fields.content()).map(|change| change.id)
    }
}

/// The next engine under construction. Each part starts as it was before the changes, and is updated by one stage.
#[derive(Debug)]
struct NextEngine {
    parts: EngineParts,
    /// The edits of the topology.
    edits: TopologyChanges,
}

impl NextEngine {
    fn topology_editor(&mut self) -> TopologyEditor<'_> {
        TopologyEditor::new(&mut self.parts.topology, &self.parts.objects, &mut self.edits)
    }
}

/// State that is kept from one update to the next, beside the models.
#[derive(Clone, Debug)]
pub(super) struct KeptCounts {
    /// Which policies contribute to the scopes through each node above all routes.
    pub contributions: ContributionCounts,
    /// For each model.
    pub ref_counts: Vec<RefCounts>,
}

/// The next engine, and what differs in it.
#[derive(Debug)]
pub(super) struct Update {
    /// The engines before and after the changes, with the models that were updated. Both have the same kinds.
    pub sides: [Arc<Engine>; 2],
    pub differences: Differences,
    /// What was edited. The changes of objects are not among it yet.
    pub edits: BatchEdits,
    /// The use counts of the chains of each side, by model. `None` if they are not recorded.
    pub ref_counts: Option<[Vec<RefCounts>; 2]>,
    /// The objects whose dependencies may differ.
    pub reindexed: Vec<ObjectId>,
    /// The parts of the topology that are free for new nodes.
    pub free_parts: Vec<(u32, u32)>,
}

/// Applies the changes. `objects` are those after the changes. Without `kept` counts, the models are built for this
/// update only, and only as far as the changes can reach.
pub(super) fn update(
    context: &UpdateContext<'_>,
    before: &Arc<Engine>,
    objects: Objects,
    free_parts: Vec<(u32, u32)>,
    kept: Option<&mut KeptCounts>,
) -> Result<Update, NeedsRebuild> {
    rebuild::check_changes(context, &objects)?;
    let parts = before.parts().with_objects(objects);
    let mut next = NextEngine { parts, edits: TopologyChanges::new(free_parts) };
    let topology = topology::update(context, &mut next)?;
    if !can_affect_policies(context, &next, &topology.policies) {
        let sides = [Arc::clone(before), Arc::new(before.with_equivalent_parts(next.parts))];
        let differences = Differences::none(kept.is_some());
        let free_parts = next.edits.take_free();
        let edits = BatchEdits { linked: topology.linked, topology: next.edits, ..BatchEdits::default() };
        return Ok(Update { sides, differences, edits, ref_counts: None, reindexed: Vec::new(), free_parts });
    }
    let reattached = attachments::update(context, &mut next, topology.policies)?;
    let mut new_ref_counts = Vec::new();
    let (before, ref_counts, contributions, region) = match kept {
        Some(KeptCounts { contributions, ref_counts }) => {
            // Few questions about a trial need them, and they can be found without counts.
            let contributions = (!context.is_trial).then_some(contributions);
            (models::with_new_kinds(context, before, ref_counts), ref_counts, contributions, None)
        }
        None => {
            let region = ImpactRegion::find(context, &next, &topology.linked, &reattached);
            let before = models::build(context, before, region.as_ref(), &mut new_ref_counts);
            (before, &mut new_ref_counts, None, region)
        }
    };
    // An update that is kept does not share them: every use that changes would be copied.
    let ref_counts_before = (contributions.is_none() || context.is_trial).then(|| ref_counts.clone());
    let context = &UpdateContext { before: &before, ..*context };
    let mut models = before.models().to_vec();
    models.iter_mut().for_each(|model| model.clear_caches());
    let stacks = stacks::update(context, &next, &reattached, &mut models);
    let changed_entries = hierarchies::update(context, &next, region.as_ref(), &mut models);
    let updates = chains::update(context, &next, &stacks, &changed_entries, &mut models, ref_counts);
    let views = [before.view(), next.parts.view()];
    let mut differences = compare(views, before.models(), &mut models, updates, ref_counts, contributions);
    for (model, ref_counts) in models.iter_mut().zip(ref_counts.iter_mut()) {
        model.release_unused(ref_counts);
    }
    let ref_counts = ref_counts_before.map(|before| [before, ref_counts.clone()]);
    let after = Arc::new(before.with_parts(next.parts, Models::from_built(models)));
    let policies = reattached.iter().map(|it| it.policy);
    let reindexed = context.changed_content().chain(policies.clone().map(|policy| policy.0)).collect();
    differences.add_policies([&before, &after], stacks.policies.into_iter().chain(policies));
    differences.touches_all = context.can_touch_all_policies();
    let (sides, free_parts) = ([before, after], next.edits.take_free());
    let edits = BatchEdits { linked: topology.linked, topology: next.edits, ..BatchEdits::default() };
    Ok(Update { sides, differences, edits, ref_counts, reindexed, free_parts })
}

/// Whether the attachment or the effect of any policy can differ.
fn can_affect_policies(context: &UpdateContext<'_>, next: &NextEngine, policies: &BTreeSet<PolicyId>) -> bool {
    !policies.is_empty()
        || !next.edits.is_empty()
        || context.changes.iter().any(|change| change.fields.content() || change.fields.annotations)
        || context.can_change_inheritance()
}
