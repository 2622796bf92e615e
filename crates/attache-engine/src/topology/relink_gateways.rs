//! Links Gateways and ListenerSets again, at a cost that depends on how many they are.

use hashbrown::{HashMap, HashSet};

use super::edit::Edited;
use super::ids::Ids;
use super::index::{Found, Index};
use super::refusal::StoredRefusal;
use super::{NodeId, Topology, gateways, link};
use crate::object::{ObjectId, Objects};

impl Topology {
    /// Links Gateways with all their ListenerSets, the oldest first, and ListenerSets that have no Gateway.
    pub fn relink_gateways(
        &mut self,
        objects: &Objects,
        groups: &[(ObjectId, Vec<ObjectId>)],
        orphans: &[ObjectId],
        edited: &mut Edited,
    ) {
        let of_groups = groups.iter().flat_map(|(gateway, sets)| [gateway].into_iter().chain(sets));
        let owners: Vec<ObjectId> = of_groups.chain(orphans).copied().collect();
        let mut found = Found::default();
        {
            let index = Index::before(objects, self, owners.iter().copied());
            groups.iter().for_each(|(gateway, sets)| gateways::link(&index, *gateway, sets, &mut found));
            orphans.iter().for_each(|set| gateways::refuse_orphan(&index, *set, &mut found));
        }
        let let_in: HashSet<NodeId> = found.links.iter().map(|(_, set)| *set).collect();
        for (id, sets) in groups {
            let gateway = NodeId::whole(*id);
            self.set_class(objects, gateway, edited);
            let (inside, outside): (Vec<NodeId>, Vec<NodeId>) =
                sets.iter().map(|set| NodeId::whole(*set)).partition(|set| let_in.contains(set));
            let children: Vec<NodeId> = inside.iter().copied().chain(self.sections(gateway)).collect();
            if self.children(gateway) != children {
                self.edit(gateway, |node| node.children = Ids::of(&children));
            }
            inside.iter().for_each(|set| self.set_gateway(*set, &[gateway], edited));
            outside.iter().for_each(|set| self.set_gateway(*set, &[], edited));
        }
        orphans.iter().for_each(|set| self.set_gateway(NodeId::whole(*set), &[], edited));
        let unserved: HashSet<NodeId> = found.unserved.into_iter().collect();
        let mut denied: HashMap<ObjectId, Vec<StoredRefusal>> = HashMap::new();
        found.denied.into_iter().for_each(|(by, it)| denied.entry(by).or_default().push(it));
        for owner in owners {
            for listener in self.sections(NodeId::whole(owner)) {
                let served = !unserved.contains(&listener);
                if self.served(listener) != served {
                    self.edit(listener, |node| node.served = served);
                }
            }
            self.deny(owner, denied.remove(&owner).unwrap_or_default());
        }
        self.refused.take();
    }

    fn set_class(&mut self, objects: &Objects, gateway: NodeId, edited: &mut Edited) {
        let Some(object) = gateway.object() else { return };
        let class = link::class(self, objects, &objects[object]);
        let old = self.parents(gateway).to_vec();
        if old == class.as_slice() {
            return;
        }
        old.into_iter().for_each(|old| self.edit(old, |node| node.children.remove(gateway)));
        class.into_iter().for_each(|class| self.edit(class, |node| node.children.insert(gateway)));
        self.edit(gateway, |node| node.parents = Ids::of(class.as_slice()));
        edited.nodes.push(gateway);
    }

    fn set_gateway(&mut self, set: NodeId, gateway: &[NodeId], edited: &mut Edited) {
        if self.parents(set) != gateway {
            self.edit(set, |node| node.parents = Ids::of(gateway));
            edited.nodes.push(set);
        }
        [set].into_iter().chain(self.sections(set)).for_each(|node| self.settle_live(node, edited));
    }
}
