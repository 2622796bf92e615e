//! The ancestors through which each chain reaches effective targets.

use hashbrown::{HashMap, HashSet};

use super::ancestor_sets::{AncestorSetId, AncestorSets};
use crate::chain::{ChainId, Link, SetId};
use crate::engine_view::EngineView;
use crate::model::Model;
use crate::topology::{Level, NodeId};

/// The sets of ancestors of each chain of a model. The ancestors of a chain are those of all its sets.
pub(super) type ChainAncestors = HashMap<ChainId, HashSet<AncestorSetId>>;

/// Finds the ancestors of the chains of one model.
///
/// Most targets have one Gateway above them, or one chain. Then all chains belong to all ancestors, and targets that
/// share both are visited once. Otherwise a chain is followed up to its Gateways.
pub(super) struct ChainAncestorFinder<'a, 't> {
    model: &'a Model,
    view: EngineView<'a>,
    sets: &'a mut AncestorSets<'t>,
    /// The ancestors of a set that all nodes of a chain have in common.
    common: HashMap<(ChainId, AncestorSetId), AncestorSetId>,
    climbed: HashMap<(NodeId, ChainId), AncestorSetId>,
    found: ChainAncestors,
}

impl<'a, 't> ChainAncestorFinder<'a, 't> {
    pub fn new(model: &'a Model, view: EngineView<'a>, sets: &'a mut AncestorSets<'t>) -> Self {
        ChainAncestorFinder {
            model,
            view,
            sets,
            common: HashMap::new(),
            climbed: HashMap::new(),
            found: HashMap::new(),
        }
    }

    /// The ancestors of all chains for which `is_wanted` is true.
    pub fn find(mut self, is_wanted: impl Fn(ChainId) -> bool) -> ChainAncestors {
        let (model, view) = (self.model, self.view);
        let mut seen: HashSet<(SetId, AncestorSetId)> = HashSet::new();
        let mut has_wanted: HashMap<SetId, bool> = HashMap::new();
        for (target, set) in model.targets_with_sets(view) {
            if set == SetId::ROOT {
                continue;
            }
            let chains = model.chains_in_set(set);
            // Most targets share their set with others, and few sets have a wanted chain if few policies are asked for.
            let has_wanted = has_wanted.entry(set).or_insert_with(|| chains.iter().any(|(chain, _)| is_wanted(*chain)));
            if !*has_wanted {
                continue;
            }
            let above = self.sets.at(target);
            let is_simple = chains.len() == 1 || self.sets.get(above).len() <= 1;
            if !seen.insert((set, above)) && is_simple {
                continue;
            }
            for &(chain, _) in chains.iter().filter(|(chain, _)| *chain != ChainId::EMPTY && is_wanted(*chain)) {
                let found = if is_simple { above } else { self.follow(target, chain, above) };
                self.found.entry(chain).or_default().insert(found);
            }
        }
        self.found
    }

    /// The ancestors, among those `above` a target, through which a chain reaches it.
    fn follow(&mut self, target: NodeId, chain: ChainId, above: AncestorSetId) -> AncestorSetId {
        let common = match self.common.get(&(chain, above)) {
            Some(known) => *known,
            None => self.common(chain, above),
        };
        match self.sets.get(common).len() {
            1 => common,
            _ => self.climb(target, chain),
        }
    }

    /// The ancestors, among those `above`, of all nodes of a chain: a scope passes through all of them.
    fn common(&mut self, chain: ChainId, above: AncestorSetId) -> AncestorSetId {
        let mut common = above;
        for node in self.model.links(chain).filter_map(Link::node) {
            match self.sets.at(node) {
                AncestorSetId::EMPTY => {}
                passed => common = self.sets.intersection(common, passed),
            }
        }
        self.common.insert((chain, above), common);
        common
    }

    fn climb(&mut self, node: NodeId, chain: ChainId) -> AncestorSetId {
        if matches!(self.view.topology[node].level, Level::Gateway | Level::Frontend) {
            return self.sets.at(node);
        }
        if let Some(known) = self.climbed.get(&(node, chain)) {
            return *known;
        }
        let parents = self.model.preceding_chains(self.view, node, chain);
        let found = match parents.is_empty() {
            // The hierarchy of the kind ends here.
            true => self.sets.at(node),
            false => {
                let above = parents.into_iter().map(|(parent, preceding)| self.climb(parent, preceding)).collect();
                self.sets.union_of_sets(above)
            }
        };
        self.climbed.insert((node, chain), found);
        found
    }
}
