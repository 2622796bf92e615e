//! The input for finding links.

use std::sync::OnceLock;

use hashbrown::HashMap;

use super::gateways;
use crate::object::{ObjectId, ObjectRef, Objects};
use crate::topology::api::{GATEWAY_API, LISTENER_OWNERS, Protocol};
use crate::topology::conventions::Conventions;
use crate::topology::listeners::Listener;
use crate::topology::reference::Reference;
use crate::topology::{NodeId, Topology};

/// All objects, the nodes of a topology, and the listeners that routes may attach to.
#[derive(Debug)]
pub struct LinkContext<'o> {
    pub objects: &'o Objects,
    pub topology: &'o Topology,
    listeners: HashMap<ObjectId, Vec<Listener<'o>>>,
    /// HTTPRoutes by label and value, computed when a rule delegates by label.
    labelled: OnceLock<HashMap<(&'static str, &'o str), Vec<ObjectId>>>,
}

impl<'o> LinkContext<'o> {
    /// The context for all objects.
    pub fn new(objects: &'o Objects, topology: &'o Topology) -> Self {
        let owners = LISTENER_OWNERS.iter().flat_map(|(group, kind)| objects.of_kind(group, kind));
        LinkContext::for_owners(objects, topology, owners.copied())
    }

    /// The context for routes whose parents are among these Gateways and ListenerSets.
    pub fn for_owners(objects: &'o Objects, topology: &'o Topology, owners: impl Iterator<Item = ObjectId>) -> Self {
        let read = |id: ObjectId| {
            let mut listeners: Vec<Listener> =
                objects[id].spec().list_at("listeners").iter().map(Listener::read).collect();
            if listeners.iter().any(|it| it.protocol == Protocol::Tls) && !takes_tcp_on_tls(objects, topology, id) {
                listeners.iter_mut().for_each(|it| *it = it.without_tcp_on_tls());
            }
            listeners
        };
        LinkContext {
            objects,
            topology,
            listeners: owners.map(|id| (id, read(id))).collect(),
            labelled: OnceLock::new(),
        }
    }

    /// Whether `from` may refer to the object that a reference names.
    pub fn permits(&self, from: &ObjectRef, to: &Reference) -> bool {
        self.topology.grants.permit(self.objects, from, to.group, to.kind, to.namespace, to.name)
    }

    /// The node of the section at `position` among those of its owner.
    pub fn section(&self, owner: ObjectId, position: usize) -> NodeId {
        NodeId::part(self.topology[NodeId::whole(owner)].sections.start + position as u32)
    }

    /// The listeners of a Gateway or ListenerSet, in the order of their nodes.
    pub fn listeners(&self, owner: ObjectId) -> &[Listener<'o>] {
        self.listeners.get(&owner).map_or(&[], Vec::as_slice)
    }

    /// The HTTPRoutes that have one of the labels for delegation with this value, in order.
    pub fn labelled(&self, label: &'static str, value: &'o str) -> &[ObjectId] {
        let labelled = self.labelled.get_or_init(|| {
            let mut labelled: HashMap<_, Vec<ObjectId>> = HashMap::new();
            for (id, route) in self.objects.each_of_kind(GATEWAY_API, "HTTPRoute") {
                for it in &Conventions::built_in().delegation_labels {
                    if let Some(value) = route.labels().get_str(&it.label) {
                        labelled.entry((it.label.as_str(), value)).or_default().push(id);
                    }
                }
            }
            labelled
        });
        labelled.get(&(label, value)).map_or(&[], Vec::as_slice)
    }
}

/// Whether the controller of a Gateway or ListenerSet attaches TCPRoutes to listeners that terminate TLS.
fn takes_tcp_on_tls(objects: &Objects, topology: &Topology, owner: ObjectId) -> bool {
    gateways::controller_features(objects, topology, owner).is_none_or(|features| features.tcp_on_tls_termination)
}
