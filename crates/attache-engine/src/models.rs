//! The models of all policy kinds that have policies, built on demand.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use hashbrown::HashSet;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::chain::{Hierarchy, HierarchyShape};
use crate::engine_parts::EngineParts;
use crate::kinds::{KindId, Registry};
use crate::model::Model;
use crate::order::Stacks;
use crate::policy::Policies;
use crate::topology::NodeId;

/// One model for each kind that has policies. Kinds whose policies are ordered together share the model of their
/// leading kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Models {
    /// All models, sorted by kind, once all of them are built.
    all: OnceLock<Arc<[Model]>>,
    /// Each model separately, sorted by kind. Empty if the models were given.
    lazy: Vec<LazyModel>,
    /// The hierarchies of the lazy models. Kinds with the same shape share one.
    hierarchies: Vec<LazyHierarchy>,
}

/// A model that is built on demand. Its stacks can be built alone.
#[derive(Clone, Debug)]
struct LazyModel {
    kind: KindId,
    /// The index of its hierarchy.
    hierarchy: usize,
    stacks: OnceLock<Stacks>,
    model: OnceLock<Model>,
}

/// A hierarchy that is built on demand.
#[derive(Clone, Debug)]
struct LazyHierarchy {
    shape: HierarchyShape,
    hierarchy: OnceLock<Arc<Hierarchy>>,
}

impl Models {
    /// Builds no model yet.
    pub fn new(kinds: &Registry, policies: &Policies) -> Models {
        let used: HashSet<KindId> = policies.iter().map(|(_, policy)| kinds.leader(policy.kind)).collect();
        let mut models = Models::default();
        for (kind, it) in kinds.iter().filter(|(kind, _)| used.contains(kind)) {
            let (shape, hierarchies) = (it.shape(), &mut models.hierarchies);
            let known = hierarchies.iter().position(|known| known.shape == shape);
            let hierarchy = known.unwrap_or_else(|| {
                hierarchies.push(LazyHierarchy { shape, hierarchy: OnceLock::new() });
                hierarchies.len() - 1
            });
            models.lazy.push(LazyModel { kind, hierarchy, stacks: OnceLock::new(), model: OnceLock::new() });
        }
        models
    }

    /// Models that are already built, sorted by kind.
    pub fn from_built(all: Vec<Model>) -> Models {
        Models { all: OnceLock::from(Arc::from(all)), ..Models::default() }
    }

    /// The kinds that have a model, sorted.
    pub fn kinds(&self) -> impl Iterator<Item = KindId> {
        let built = self.all.get();
        let lazy = self.lazy.iter().filter(move |_| built.is_none()).map(|it| it.kind);
        built.into_iter().flat_map(|all| all.iter()).map(|model| model.id).chain(lazy)
    }

    /// All models, sorted by kind.
    pub fn all(&self, parts: &EngineParts) -> &[Model] {
        if self.all.get().is_none() {
            // Build outside of `get_or_init`: rayon inside it can deadlock.
            self.hierarchies.iter().for_each(|it| _ = it.get(parts));
            self.lazy.par_iter().for_each(|it| _ = self.build(it, parts));
        }
        self.all.get_or_init(|| self.lazy.iter().map(|it| self.build(it, parts).clone()).collect())
    }

    /// All models, if they are built.
    pub fn built(&self) -> Option<&[Model]> {
        self.all.get().map(|all| &**all)
    }

    /// The model of one kind.
    pub fn get(&self, parts: &EngineParts, kind: KindId) -> Option<&Model> {
        let leader = parts.kinds.leader(kind);
        match self.all.get() {
            Some(all) => all.iter().find(|model| model.id == leader),
            None => self.lazy.iter().find(|it| it.kind == leader).map(|it| self.build(it, parts)),
        }
    }

    /// The stacks of one kind, without the rest of its model.
    pub fn stacks(&self, parts: &EngineParts, kind: KindId) -> Option<&Stacks> {
        let leader = parts.kinds.leader(kind);
        match self.all.get() {
            Some(all) => all.iter().find(|model| model.id == leader).map(Model::stacks),
            None => self.lazy.iter().find(|it| it.kind == leader).map(|it| it.stacks(parts)),
        }
    }

    /// The models of some kinds, restricted to some nodes. The nodes are in the order of the topology, and include all
    /// nodes that they depend on. Models that are not built yet cover no other nodes; if all are built, `nodes` is not
    /// called.
    pub fn restricted_to(
        &self,
        parts: &EngineParts,
        nodes: impl FnOnce() -> Arc<[NodeId]>,
        is_wanted: impl Fn(KindId) -> bool,
    ) -> Vec<Model> {
        if let Some(all) = self.built() {
            return all.iter().filter(|model| is_wanted(model.id)).cloned().collect();
        }
        let nodes = nodes();
        let wanted: Vec<&LazyModel> = self.lazy.iter().filter(|it| is_wanted(it.kind)).collect();
        let mut hierarchies: BTreeMap<usize, Arc<Hierarchy>> = BTreeMap::new();
        for index in wanted.iter().map(|it| it.hierarchy) {
            hierarchies.entry(index).or_insert_with(|| {
                let shape = self.hierarchies[index].shape.clone();
                Arc::new(Hierarchy::only(&parts.objects, &parts.topology, shape, Arc::clone(&nodes)))
            });
        }
        wanted.par_iter().map(|it| it.build(parts, Arc::clone(&hierarchies[&it.hierarchy]))).collect()
    }

    fn build<'m>(&'m self, lazy: &'m LazyModel, parts: &EngineParts) -> &'m Model {
        if let Some(built) = lazy.model.get() {
            return built;
        }
        let hierarchy = self.hierarchies[lazy.hierarchy].get(parts);
        lazy.model.get_or_init(|| lazy.build(parts, hierarchy))
    }
}

impl LazyModel {
    fn stacks(&self, parts: &EngineParts) -> &Stacks {
        self.stacks.get_or_init(|| parts.build_stacks(self.kind))
    }

    fn build(&self, parts: &EngineParts, hierarchy: Arc<Hierarchy>) -> Model {
        Model::new(parts.view(), self.kind, parts.kinds.get(self.kind), hierarchy, self.stacks(parts).clone())
    }
}

impl LazyHierarchy {
    fn get(&self, parts: &EngineParts) -> Arc<Hierarchy> {
        if let Some(built) = self.hierarchy.get() {
            return Arc::clone(built);
        }
        // Build outside of `get_or_init`: rayon inside it can deadlock.
        let built = Arc::new(Hierarchy::new(&parts.objects, &parts.topology, self.shape.clone()));
        Arc::clone(self.hierarchy.get_or_init(|| built))
    }
}
