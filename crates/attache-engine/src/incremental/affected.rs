//! Who looks at what was touched: all that has to be linked or attached again.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::dependency_index::{Key, is_choosable};
use super::step::Step;
use super::touched::{Touched, What};
use crate::attachment::filters;
use crate::object::{Object, ObjectId, ObjectRef};
use crate::policy::{PolicyId, TargetSpec};
use crate::selector::selects;
use crate::topology::api::{self, GATEWAY_API};
use crate::topology::{Level, LinkSides, NodeId};

/// What has to be looked at again.
#[derive(Debug, Default)]
pub struct Affected {
    /// Some more than once.
    pub routes: Vec<(ObjectId, LinkSides)>,
    /// Gateways and ListenerSets, also some that are gone.
    pub gateways: BTreeSet<ObjectId>,
    pub policies: BTreeSet<PolicyId>,
}

impl Step<'_> {
    /// `named` are Namespaces and GatewayClasses that have another node than before, or that are not there any more.
    pub(super) fn affected(&self, named: &[ObjectRef]) -> Affected {
        let mut found: Vec<(ObjectId, LinkSides)> = Vec::new();
        let mut affected = Affected::default();
        for touched in self.touched {
            let (Some(id), what) = (touched.name(), touched.what) else { continue };
            if self.next.kinds.find(&id.group, &id.kind).is_some() {
                affected.policies.insert(PolicyId(touched.id));
            }
            if !what.counts() {
                continue;
            }
            if what.exists || what.spec || what.age {
                match api::level(&id.group, &id.kind) {
                    Level::Route => affected.routes.push((touched.id, LinkSides::BOTH)),
                    Level::Gateway | Level::ListenerSet => drop(affected.gateways.insert(touched.id)),
                    _ => {}
                }
            }
            self.look_at(id, what, &mut found);
            let selecting = self.dependency_index.at(Key::Labels(&id.group, &id.kind)).map(PolicyId);
            affected.policies.extend(selecting.filter(|policy| self.selects(*policy, touched)));
            if is_choosable(id) {
                affected.policies.extend(self.dependency_index.choosers().map(PolicyId));
            }
        }
        for id in named {
            self.look_at(id, What::exists(), &mut found);
            affected.policies.extend(self.dependency_index.choosers().map(PolicyId));
            // What policies say for the clients in their own Namespace holds for another node.
            let residents = self.object_counts.residents(&id.name).iter().filter(|_| id.kind == "Namespace");
            let residents = residents.map(|id| PolicyId(*id)).filter(|it| self.next.policies.get(*it).is_some());
            affected.policies.extend(residents);
        }
        found.into_iter().for_each(|(id, sides)| self.add_looker(id, sides, &mut affected));
        affected
    }

    /// Finds who looks at an object, and with which links if it is a route.
    fn look_at(&self, id: &ObjectRef, what: What, found: &mut Vec<(ObjectId, LinkSides)>) {
        let mut look =
            |key: Key<'_>, sides: LinkSides| found.extend(self.dependency_index.at(key).map(|looker| (looker, sides)));
        if what.exists || what.spec {
            let sides = match api::level(&id.group, &id.kind) {
                Level::Gateway | Level::ListenerSet => LinkSides::PARENTS,
                _ => LinkSides::BOTH,
            };
            look(Key::of(id), sides);
        }
        if what.exists {
            look(Key::Among(&id.group, &id.kind, &id.namespace), LinkSides::BOTH);
            look(Key::Kind(&id.group, &id.kind), LinkSides::BOTH);
        }
        match (id.group.as_str(), id.kind.as_str()) {
            (GATEWAY_API, "ReferenceGrant") => {
                look(Key::Grants(&id.namespace), LinkSides::BACKENDS);
                look(Key::Namespaces, LinkSides::BACKENDS);
            }
            ("", "Namespace") if what.labels => {
                look(Key::Namespace(&id.name), LinkSides::PARENTS);
                look(Key::Namespaces, LinkSides::PARENTS);
            }
            _ => {}
        }
    }

    /// Puts somebody who looks at something where it belongs, unless it is gone.
    pub(super) fn add_looker(&self, id: ObjectId, sides: LinkSides, affected: &mut Affected) {
        if self.next.objects.shared(id).is_none() {
            return;
        }
        match self.next.topology[NodeId::whole(id)].level {
            Level::Route => affected.routes.push((id, sides)),
            Level::Gateway | Level::ListenerSet => drop(affected.gateways.insert(id)),
            _ => drop(affected.policies.insert(PolicyId(id))),
        }
    }

    /// Whether a policy that chooses by labels chooses an object, or did.
    fn selects(&self, policy: PolicyId, touched: &Touched) -> bool {
        let chooses = |wanted: &TargetSpec| match wanted {
            TargetSpec::Selected(it) => {
                let is_selected = |object: &Arc<Object>| selects(&it.labels, |key| object.labels().get_str(key));
                touched.states().any(is_selected)
            }
            _ => false,
        };
        self.before.policy(policy).targets.iter().any(|target| chooses(&target.spec))
    }

    /// The policies that filters of routes name, or named.
    pub(super) fn by_filter(&self) -> BTreeSet<PolicyId> {
        let mut found = BTreeSet::new();
        for touched in self.touched.iter().filter(|touched| touched.what.exists || touched.what.spec) {
            for engine in self.engines() {
                for rule in engine.topology.sections(NodeId::whole(touched.id)) {
                    let named = filters(&engine.objects, &engine.topology, rule);
                    found.extend(named.iter().filter_map(|(name, _)| engine.objects.find(name)).map(PolicyId));
                }
            }
        }
        found.retain(|policy| self.before.policies.get(*policy).or(self.next.policies.get(*policy)).is_some());
        found
    }
}
