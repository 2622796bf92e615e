//! Gateways with their ListenerSets, which decide together which of their listeners are served.

use std::collections::BTreeSet;

use hashbrown::HashSet;

use super::affected::Affected;
use super::dependency_index::Key;
use super::step::Step;
use crate::engine::Engine;
use crate::kinds::PolicyKind;
use crate::object::{ObjectId, ObjectRef};
use crate::policy::PolicyId;
use crate::topology::build::class_of;
use crate::topology::gateways::gateway_of;
use crate::topology::{Level, LinkSides, NodeId, TopologyEditor, api};

impl Step<'_> {
    /// Links again the Gateways and ListenerSets that look at something, and adds who looks at them in turn.
    pub(super) fn relink_gateways(&mut self, affected: &mut Affected) {
        if affected.gateways.is_empty() {
            return;
        }
        let mut gateways: BTreeSet<ObjectId> = BTreeSet::new();
        let mut sets: BTreeSet<ObjectId> = BTreeSet::new();
        for &id in &affected.gateways {
            for objects in [&self.before.objects, &self.next.objects] {
                let Some(object) = objects.shared(id) else { continue };
                match api::level(&object.id.group, &object.id.kind) {
                    Level::Gateway => drop(gateways.insert(id)),
                    _ => {
                        sets.insert(id);
                        gateways.extend(gateway_of(objects, object));
                    }
                }
            }
        }
        for &id in &gateways {
            let name = self.name(id);
            sets.extend(self.dependency_index.at(Key::Sets(&name.namespace, &name.name)));
        }
        let Engine { objects, topology, .. } = &mut self.next;
        sets.retain(|set| objects.shared(*set).is_some());
        let of = |gateway: Option<ObjectId>| {
            let own = sets.iter().filter(|set| gateway_of(objects, &objects[**set]) == gateway);
            let mut own: Vec<ObjectId> = own.copied().collect();
            own.sort_by(|a, b| {
                let [a, b] = [a, b].map(|id| &objects[*id]);
                a.by_age(b).then_with(|| a.id.cmp(&b.id))
            });
            own
        };
        let there = gateways.iter().filter(|id| objects.shared(**id).is_some());
        let groups: Vec<(ObjectId, Vec<ObjectId>)> = there.map(|id| (*id, of(Some(*id)))).collect();
        let orphans = of(None);
        TopologyEditor::new(topology, objects, &mut self.edited).relink_gateways(&groups, &orphans);
        self.look_at_gateways(&gateways, &sets, affected);
        affected.gateways.extend(gateways.into_iter().chain(sets));
    }

    /// Adds the routes to which it makes a difference what Gateway or GatewayClass is above them, and the policies to which
    /// it does what listeners are beside theirs.
    fn look_at_gateways(&self, gateways: &BTreeSet<ObjectId>, sets: &BTreeSet<ObjectId>, affected: &mut Affected) {
        let touched = self.touched.iter().filter(|it| it.what.exists || it.what.spec).map(|it| it.id);
        let touched: HashSet<ObjectId> = touched.collect();
        let engines = self.engines();
        let is_other = |gateway: &ObjectId| {
            let classes = engines.iter().filter_map(|it| class_of(it.objects.shared(*gateway)?)).collect::<Vec<_>>();
            let classes = classes.iter().flat_map(|class| engines.iter().filter_map(|it| it.objects.find(class)));
            touched.contains(gateway) || classes.into_iter().any(|class| touched.contains(&class))
        };
        let lives: HashSet<NodeId> = self.edited.live_changed.iter().copied().collect();
        let has_another = |set: &&ObjectId| {
            let mut own = engines.iter().filter_map(|it| gateway_of(&it.objects, it.objects.shared(**set)?));
            lives.contains(&NodeId::whole(**set)) || own.any(|gateway| is_other(&gateway))
        };
        let others = gateways.iter().filter(|it| is_other(it)).chain(sets.iter().filter(has_another));
        for id in others.flat_map(|it| self.dependency_index.at(Key::of(self.name(*it)))) {
            if self.before.topology.node(NodeId::whole(id)).is_some_and(|node| node.level == Level::Route) {
                self.add_looker(id, LinkSides::PARENTS, affected);
            }
        }
        let is_used = |kind: &PolicyKind| self.object_counts.count(&kind.group, &kind.kind) > 0;
        if self.next.kinds.iter().any(|(_, kind)| kind.targets.own_port && is_used(kind)) {
            for name in gateways.iter().chain(sets).map(|id| self.name(*id)) {
                let naming = self.dependency_index.at(Key::of(name));
                let all = naming.chain(self.dependency_index.at(Key::Labels(&name.group, &name.kind))).map(PolicyId);
                affected.policies.extend(all.filter(|policy| self.next.policies.get(*policy).is_some()));
            }
        }
    }

    /// Who an object is, or was.
    fn name(&self, id: ObjectId) -> &ObjectRef {
        let objects = if self.next.objects.shared(id).is_some() { &self.next.objects } else { &self.before.objects };
        &objects[id].id
    }
}
