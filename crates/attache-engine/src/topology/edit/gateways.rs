//! Relinks Gateways and their ListenerSets.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use super::TopologyEditor;
use crate::object::ObjectId;
use crate::topology::NodeId;
use crate::topology::links::isolation::ListenerHostnames;
use crate::topology::links::{FoundLinks, LinkContext, gateways};
use crate::topology::neighbors::Neighbors;
use crate::topology::refusal::StoredRefusal;

impl TopologyEditor<'_> {
    /// Links Gateways with all their ListenerSets, the oldest first, and ListenerSets whose Gateway does not exist.
    pub fn relink_gateways(&mut self, groups: &[(ObjectId, Vec<ObjectId>)], orphans: &[ObjectId]) {
        let of_groups = groups.iter().flat_map(|(gateway, sets)| [gateway].into_iter().chain(sets));
        let owners: Vec<ObjectId> = of_groups.chain(orphans).copied().collect();
        let found = self.find_gateway_links(groups, orphans, &owners);
        let attached: HashSet<NodeId> = found.links.iter().map(|(_, set)| *set).collect();
        for (id, sets) in groups {
            let gateway = NodeId::whole(*id);
            self.set_class(*id);
            let (attached, detached): (Vec<NodeId>, Vec<NodeId>) =
                sets.iter().map(|set| NodeId::whole(*set)).partition(|set| attached.contains(set));
            let children: Vec<NodeId> = attached.iter().copied().chain(self.topology.sections(gateway)).collect();
            if self.topology.children(gateway) != children {
                self.topology.edit(gateway, |node| node.children = Neighbors::new(&children));
            }
            attached.iter().for_each(|set| self.set_gateway(*set, &[gateway]));
            detached.iter().for_each(|set| self.set_gateway(*set, &[]));
        }
        orphans.iter().for_each(|set| self.set_gateway(NodeId::whole(*set), &[]));
        let unserved: HashSet<NodeId> = found.unserved.into_iter().collect();
        let mut refusals: HashMap<ObjectId, Vec<StoredRefusal>> = HashMap::new();
        found.refusals.into_iter().for_each(|(by, it)| refusals.entry(by).or_default().push(it));
        let all = owners.clone();
        for owner in owners {
            for listener in self.topology.sections(NodeId::whole(owner)) {
                let served = !unserved.contains(&listener);
                if self.topology.served(listener) != served {
                    self.topology.edit(listener, |node| node.served = served);
                }
                self.settle_live(listener);
            }
            self.set_refusals(owner, refusals.remove(&owner).unwrap_or_default());
        }
        let mut isolation: HashMap<ObjectId, Arc<ListenerHostnames>> = HashMap::new();
        for (gateway, sets) in groups {
            let sets: Vec<ObjectId> =
                sets.iter().copied().filter(|set| attached.contains(&NodeId::whole(*set))).collect();
            if let Some(hostnames) = ListenerHostnames::find(self.objects, self.topology, *gateway, &sets) {
                let hostnames = Arc::new(hostnames);
                isolation.extend([*gateway].into_iter().chain(sets).map(|owner| (owner, Arc::clone(&hostnames))));
            }
        }
        all.into_iter().for_each(|owner| self.set_isolation(owner, isolation.remove(&owner)));
        self.topology.refused.take();
    }

    /// Replaces the listener isolation of a Gateway or ListenerSet.
    pub(super) fn set_isolation(&mut self, owner: ObjectId, hostnames: Option<Arc<ListenerHostnames>>) {
        if self.topology.isolation.get(&owner) == hostnames.as_ref() {
            return;
        }
        let isolation = Arc::make_mut(&mut self.topology.isolation);
        match hostnames {
            Some(hostnames) => drop(isolation.insert(owner, hostnames)),
            None => drop(isolation.remove(&owner)),
        }
        self.changes.reisolated.push(owner);
    }

    fn find_gateway_links(
        &self,
        groups: &[(ObjectId, Vec<ObjectId>)],
        orphans: &[ObjectId],
        owners: &[ObjectId],
    ) -> FoundLinks {
        let mut found = FoundLinks::default();
        let context = LinkContext::for_owners(self.objects, self.topology, owners.iter().copied());
        groups.iter().for_each(|(gateway, sets)| gateways::link(&context, *gateway, sets, &mut found));
        orphans.iter().for_each(|set| gateways::refuse_orphan(&context, *set, &mut found));
        found
    }

    /// Links a Gateway to its GatewayClass.
    fn set_class(&mut self, id: ObjectId) {
        let gateway = NodeId::whole(id);
        let class = gateways::class(self.objects, self.topology, &self.objects[id]);
        let old = self.topology.parents(gateway).to_vec();
        if old == class.as_slice() {
            return;
        }
        old.into_iter().for_each(|old| self.topology.edit(old, |node| node.children.remove(gateway)));
        class.into_iter().for_each(|class| self.topology.edit(class, |node| node.children.insert(gateway)));
        self.topology.edit(gateway, |node| node.parents = Neighbors::new(class.as_slice()));
        self.changes.nodes.push(gateway);
    }

    /// Sets the Gateway of a ListenerSet, or none.
    fn set_gateway(&mut self, set: NodeId, gateway: &[NodeId]) {
        if self.topology.parents(set) != gateway {
            self.topology.edit(set, |node| node.parents = Neighbors::new(gateway));
            self.changes.nodes.push(set);
        }
        [set].into_iter().chain(self.topology.sections(set)).for_each(|node| self.settle_live(node));
    }
}
