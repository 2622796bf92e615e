//! The parts of an engine that the models of all policy kinds are built from.

use std::sync::Arc;

use crate::attachment::{Attachment, Attachments};
use crate::engine_view::EngineView;
use crate::kinds::{KindId, Registry};
use crate::object::Objects;
use crate::order::{StackBuilder, Stacks};
use crate::policy::Policies;
use crate::topology::Topology;

/// Objects, policies, the topology, and which policies are attached to it. A clone shares everything and is cheap.
#[derive(Clone, Debug)]
pub(crate) struct EngineParts {
    pub objects: Objects,
    pub kinds: Arc<Registry>,
    pub policies: Policies,
    pub topology: Topology,
    pub attachments: Attachments,
}

impl EngineParts {
    /// The same parts with other objects.
    pub fn with_objects(&self, objects: Objects) -> EngineParts {
        EngineParts {
            objects,
            kinds: Arc::clone(&self.kinds),
            policies: self.policies.clone(),
            topology: self.topology.clone(),
            attachments: self.attachments.clone(),
        }
    }

    pub fn view(&self) -> EngineView<'_> {
        EngineView { objects: &self.objects, topology: &self.topology, policies: &self.policies }
    }

    pub fn stack_builder(&self) -> StackBuilder<'_> {
        let EngineParts { objects, kinds, policies, topology, .. } = self;
        StackBuilder { objects, kinds, policies, topology }
    }

    /// The stacks of a kind and of the kinds that it leads.
    pub fn build_stacks(&self, id: KindId) -> Stacks {
        let kind = self.kinds.get(id);
        let kind_of = |attachment: &&Attachment| self.policies[attachment.policy].kind;
        let is_own = |attachment: &&Attachment| self.kinds.leader(kind_of(attachment)) == id;
        let yields_to = |attachment: &&Attachment| kind.yields_to(self.kinds.get(kind_of(attachment)));
        let attached = self.attachments.with_absent();
        self.stack_builder().build_all(id, attached.clone().filter(is_own), attached.filter(yields_to))
    }
}
