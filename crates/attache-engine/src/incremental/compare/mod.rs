//! Stage 4: what differs between the models before and after: outcomes of policies, effective policies at targets, and
//! contributing policies.
//!
//! ```text
//! kind           compares the effective targets that one kind updated
//! contributions  counts which policies contribute to the scopes through each node above all routes
//! ```

mod contributions;
mod kind;

use std::collections::BTreeSet;

use hashbrown::HashSet;

use super::update::{KindUpdate, RefoldedChains};
use crate::chain::{ChainId, Link, SetId};
use crate::change::same_status;
use crate::engine::Engine;
use crate::engine_view::EngineView;
use crate::model::{Model, RefCounts};
use crate::order::Stack;
use crate::policy::PolicyId;
use crate::status::PolicyStatus;
use crate::topology::NodeId;
use contributions::ContributionDeltas;
use kind::{KindComparison, Side};

pub(super) use contributions::{ContributionCounts, TargetContributors, uncounted_nodes};

/// What a batch changes. The report computes on demand which scopes are affected, and how.
#[derive(Debug, Default)]
pub(super) struct Differences {
    pub kinds: Vec<KindDifferences>,
    /// Whether the effective policy of any scope differs.
    pub has_effective: bool,
    /// The policies whose status differs.
    pub policies: BTreeSet<PolicyId>,
    /// Further policies whose status can differ. [`Differences::add_policies`] compares them.
    candidates: BTreeSet<PolicyId>,
    /// The policies whose statuses were compared: among them those that were reattached, or whose order on a node may have
    /// changed.
    compared: BTreeSet<PolicyId>,
    /// Whether the report of every policy can differ.
    pub touches_all: bool,
    /// The nodes above all routes whose affecting policies changed. `None` if contributions are not counted.
    pub targets: Option<Vec<TargetContributors>>,
}

/// What a batch changes for one kind.
#[derive(Debug)]
pub(super) struct KindDifferences {
    /// The index of the model.
    pub model: usize,
    /// The sets of chains that reached or reach updated targets.
    sets: Vec<SetId>,
    /// The effective targets whose effective policies can differ, before and after the batch.
    pub targets: [Vec<NodeId>; 2],
    /// How many of the first targets have the same scopes before and after, in each of which the effective policy differs.
    pub changed_in_all_scopes: usize,
    /// The effective targets whose contributing policies can differ.
    pub recontributed: Vec<NodeId>,
    /// The chains whose policies changed.
    pub refolded: RefoldedChains,
    /// The refolded chains whose effective policy differs, in scopes that stayed.
    pub refolded_effective: HashSet<ChainId>,
    /// The refolded chains whose contributing policies differ, in scopes that stayed.
    pub refolded_contributors: HashSet<ChainId>,
}

impl Differences {
    /// Nothing differs.
    pub fn none(counts_contributions: bool) -> Differences {
        Differences { targets: counts_contributions.then(Vec::new), ..Differences::default() }
    }

    /// Compares the statuses of the candidates and of `more` policies: adds those that differ, and removes the others.
    pub fn add_policies(&mut self, engines: [&Engine; 2], more: impl Iterator<Item = PolicyId>) {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.extend(more);
        for &policy in &candidates {
            let [before, after] = engines.map(|engine| status(engine, policy));
            let is_same = match (before, after) {
                (Some(before), Some(after)) => same_status(engines, [&before, &after]),
                (None, None) => true,
                _ => false,
            };
            match is_same {
                true => self.policies.remove(&policy),
                false => self.policies.insert(policy),
            };
        }
        self.compared = candidates;
    }

    /// The policies that were compared, and those in chains that were added, removed or refolded at effective targets.
    pub fn touched_policies(&self, engines: [&Engine; 2]) -> BTreeSet<PolicyId> {
        let mut touched = self.compared.clone();
        for (kind, engine) in self.kinds.iter().flat_map(|kind| engines.map(|engine| (kind, engine))) {
            let Some(model) = engine.models().get(kind.model) else { continue };
            let in_sets = kind.sets.iter().flat_map(|set| model.chains_in_set(*set)).map(|(chain, _)| *chain);
            let chains: HashSet<ChainId> = in_sets.chain(kind.refolded.chains.iter().copied()).collect();
            let existing = chains.iter().filter(|chain| model.has_chain(**chain));
            let nodes: HashSet<NodeId> =
                existing.flat_map(|chain| model.links(*chain)).filter_map(Link::node).collect();
            touched.extend(nodes.iter().filter_map(|node| model.stack(*node)).flat_map(Stack::policies));
        }
        touched
    }
}

/// The status of a policy that exists.
pub(super) fn status(engine: &Engine, policy: PolicyId) -> Option<PolicyStatus> {
    engine.parts().policies.get(policy).map(|_| engine.policy_status(policy))
}

/// Compares the updated nodes. Updates the tallies of the models after the batch, and the contribution counts.
pub(super) fn compare(
    [before, after]: [EngineView<'_>; 2],
    models_before: &[Model],
    models_after: &mut [Model],
    updates: Vec<KindUpdate>,
    ref_counts: &mut [RefCounts],
    contributions: Option<&mut ContributionCounts>,
) -> Differences {
    let mut differences = Differences::default();
    let mut deltas = contributions.is_some().then(ContributionDeltas::new);
    for update in updates {
        let index = update.model;
        let sides = (models_before.get(index), models_after.get_mut(index), ref_counts.get_mut(index));
        let (Some(model_before), Some(model_after), Some(ref_counts)) = sides else { continue };
        let before = Side { view: before, model: model_before };
        let comparison = KindComparison { before, after: Side { view: after, model: model_after } };
        let found = comparison.compare(update, ref_counts, deltas.as_mut());
        differences.has_effective |= found.has_effective;
        differences.policies.extend(found.policies);
        differences.candidates.extend(found.candidates);
        differences.kinds.push(found.differences);
        model_after.set_tallies(found.tallies);
    }
    differences.targets = contributions.map(|contributions| {
        let mut targets = contributions.apply(deltas.unwrap_or_default());
        targets.extend(contributions.same_named(after, &targets));
        targets
    });
    differences
}
