//! The models of all kinds of which there are policies, each worked out when somebody asks for it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use hashbrown::HashSet;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::chain::{Hierarchy, Shape};
use crate::engine::Engine;
use crate::kinds::{KindId, Registry};
use crate::model::Model;
use crate::order::Stacks;
use crate::policy::Policies;
use crate::topology::NodeId;

#[derive(Clone, Debug, Default)]
pub(crate) struct Models {
    /// In the order of kinds.
    all: OnceLock<Vec<Model>>,
    /// Until somebody asks for all of them.
    apart: Vec<Apart>,
    /// Kinds with the same one share it.
    hierarchies: Vec<(Shape, OnceLock<Arc<Hierarchy>>)>,
}

#[derive(Clone, Debug)]
struct Apart {
    kind: KindId,
    /// Which of the hierarchies it is.
    hierarchy: usize,
    stacks: OnceLock<Stacks>,
    model: OnceLock<Model>,
}

impl Models {
    pub fn new(kinds: &Registry, policies: &Policies) -> Models {
        let led: HashSet<KindId> = policies.iter().map(|(_, policy)| kinds.leader(policy.kind)).collect();
        let mut models = Models::default();
        for (kind, it) in kinds.iter().filter(|(kind, _)| led.contains(kind)) {
            let (shape, hierarchies) = (it.shape(), &mut models.hierarchies);
            let known = hierarchies.iter().position(|(known, _)| *known == shape);
            let hierarchy = known.unwrap_or_else(|| {
                hierarchies.push((shape, OnceLock::new()));
                hierarchies.len() - 1
            });
            let (stacks, model) = (OnceLock::new(), OnceLock::new());
            models.apart.push(Apart { kind, hierarchy, stacks, model });
        }
        models
    }

    /// The kinds, sorted.
    pub fn kinds(&self) -> impl Iterator<Item = KindId> {
        let all = self.all.get().into_iter().flatten().map(|model| model.id);
        let apart = self.apart.iter().map(|it| it.kind);
        all.chain(apart.filter(|_| self.all.get().is_none()))
    }

    /// All that were worked out, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Model> {
        self.all.get_mut().into_iter().flatten()
    }

    pub fn take(&mut self) -> Vec<Model> {
        self.all.take().unwrap_or_default()
    }

    pub fn put(&mut self, all: Vec<Model>) {
        *self = Models { all: all.into(), ..Models::default() };
    }
}

impl Engine {
    /// The kinds of which there are policies, sorted.
    pub fn models(&self) -> &[Model] {
        if self.models.all.get().is_none() {
            // In parallel, and so not below: who waits for other threads must not keep them waiting.
            self.models.hierarchies.iter().for_each(|it| _ = self.hierarchy(it));
            self.models.apart.par_iter().for_each(|it| _ = self.model_apart(it));
        }
        self.models.all.get_or_init(|| self.models.apart.iter().map(|it| self.model_apart(it).clone()).collect())
    }

    pub fn model(&self, kind: KindId) -> Option<&Model> {
        let leader = self.kinds().leader(kind);
        match self.models.all.get() {
            Some(all) => all.iter().find(|model| model.id == leader),
            None => self.models.apart.iter().find(|it| it.kind == leader).map(|it| self.model_apart(it)),
        }
    }

    /// All models as far as they concern some nodes: of others they know nothing.
    pub fn models_at(&self, nodes: impl IntoIterator<Item = NodeId>) -> Vec<Model> {
        self.models_among(&self.topology().leading_to(nodes).into(), |_| true)
    }

    /// The same of some kinds, and of nodes that are in the order of the topology, with all on which they depend.
    pub(crate) fn models_among(&self, nodes: &Arc<[NodeId]>, is_wanted: impl Fn(KindId) -> bool) -> Vec<Model> {
        if let Some(all) = self.models.all.get() {
            return all.iter().filter(|model| is_wanted(model.id)).cloned().collect();
        }
        let wanted: Vec<&Apart> = self.models.apart.iter().filter(|it| is_wanted(it.kind)).collect();
        let mut hierarchies: BTreeMap<usize, Arc<Hierarchy>> = BTreeMap::new();
        for at in wanted.iter().map(|it| it.hierarchy) {
            hierarchies.entry(at).or_insert_with(|| {
                let (shape, _) = &self.models.hierarchies[at];
                Arc::new(Hierarchy::only(self.objects(), self.topology(), shape.clone(), Arc::clone(nodes)))
            });
        }
        wanted.par_iter().map(|it| self.build_model(it, Arc::clone(&hierarchies[&it.hierarchy]))).collect()
    }

    /// What is on each node, of a kind and those that decide with it.
    pub(crate) fn stacks(&self, kind: KindId) -> Option<&Stacks> {
        let leader = self.kinds().leader(kind);
        match self.models.all.get() {
            Some(all) => all.iter().find(|model| model.id == leader).map(Model::stacks),
            None => self.models.apart.iter().find(|it| it.kind == leader).map(|it| self.stacks_apart(it)),
        }
    }

    fn stacks_apart<'e>(&'e self, it: &'e Apart) -> &'e Stacks {
        it.stacks.get_or_init(|| self.build_stacks(it.kind))
    }

    fn build_model(&self, it: &Apart, hierarchy: Arc<Hierarchy>) -> Model {
        Model::new(self.view(), it.kind, self.kinds().get(it.kind), hierarchy, self.stacks_apart(it).clone())
    }

    fn model_apart<'e>(&'e self, it: &'e Apart) -> &'e Model {
        if let Some(known) = it.model.get() {
            return known;
        }
        let hierarchy = self.hierarchy(&self.models.hierarchies[it.hierarchy]);
        it.model.get_or_init(|| self.build_model(it, hierarchy))
    }

    fn hierarchy(&self, (shape, hierarchy): &(Shape, OnceLock<Arc<Hierarchy>>)) -> Arc<Hierarchy> {
        if let Some(known) = hierarchy.get() {
            return Arc::clone(known);
        }
        // In parallel, and so not below.
        let built = Arc::new(Hierarchy::new(self.objects(), self.topology(), shape.clone()));
        Arc::clone(hierarchy.get_or_init(|| built))
    }
}
