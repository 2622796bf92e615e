//! One step of a model: from the objects that were touched, down to the chains, looking at nothing that does not depend
//! on them.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use hashbrown::HashSet;

use super::affected::Affected;
use super::dependency_index::DependencyIndex;
use super::impact_region::ImpactRegion;
use super::object_counts::ObjectCounts;
use super::touched::{Touched, tells_of_kinds};
use crate::attachment::Attached;
use crate::chain::ChainId;
use crate::engine::Engine;
use crate::kinds::{Crd, KindId};
use crate::model::{Model, Moved, RefCounts};
use crate::object::ObjectId;
use crate::policy::{Policy, PolicyId, TargetSpec};
use crate::topology::api::{self, GATEWAY_API, RouteKind};
use crate::topology::{Level, NeedsRebuild, NodeId, TopologyChanges, TopologyEditor};

/// A step that is being made.
#[derive(Debug)]
pub struct Step<'s> {
    pub before: Arc<Engine>,
    pub next: Engine,
    pub dependency_index: &'s mut DependencyIndex,
    pub object_counts: &'s mut ObjectCounts,
    pub touched: &'s [Touched],
    pub edited: TopologyChanges,
}

/// What is linked and attached anew.
#[derive(Debug)]
pub struct Linked {
    /// Objects that came, went, or say something else.
    pub own: BTreeSet<ObjectId>,
    /// Routes, Gateways and ListenerSets.
    pub linked: BTreeSet<ObjectId>,
    /// Policies with what they were attached to before.
    pub old: Vec<(PolicyId, Attached)>,
}

/// What a step made of one kind.
#[derive(Debug)]
pub struct Followed {
    /// Among the models.
    pub at: usize,
    pub moved: Vec<Moved>,
    pub refolded: Refolded,
}

/// Chains that stay what they are, of policies that do not.
#[derive(Debug, Default)]
pub struct Refolded {
    pub chains: Vec<ChainId>,
    /// Where they are met first.
    pub under: Vec<NodeId>,
}

/// What a step leaves behind.
#[derive(Debug)]
pub struct Stepped {
    pub before: Arc<Engine>,
    pub next: Engine,
    pub followed: Vec<Followed>,
    /// The policies whose attachments or conflicts may be others.
    pub policies: BTreeSet<PolicyId>,
    pub edited: TopologyChanges,
}

impl Refolded {
    /// The nodes that some of them reach.
    pub fn nodes(&self, engine: &Engine, model: &Model, some: &HashSet<ChainId>) -> Vec<NodeId> {
        if some.is_empty() {
            return Vec::new();
        }
        let all = self.chains.iter().copied().collect();
        let mut nodes = model.meeting(engine.view(), &self.under, &all);
        nodes.retain(|node| model.chains_at(engine.view(), *node).iter().any(|(chain, _)| some.contains(chain)));
        nodes
    }
}

impl Step<'_> {
    /// Brings the topology up to date, and what is attached to it. Nothing else hangs on the change if there is no answer.
    pub fn link(&mut self) -> Result<Option<Linked>, NeedsRebuild> {
        self.touched.iter().try_for_each(|touched| self.is_followed(touched))?;
        self.edit_nodes()?;
        let named = self.settle_names()?;
        let mut affected = self.affected(&named);
        self.relink_gateways(&mut affected);
        self.add_rivals(&mut affected.routes)?;
        let Affected { routes, gateways, mut policies } = affected;
        let linked = routes.iter().map(|(route, _)| *route).chain(gateways).collect();
        self.topology_editor().relink_routes(routes)?;
        self.topology_editor().remove_unused()?;
        policies.extend(self.by_filter());
        let own = self.touched.iter().filter(|it| it.what.exists || it.what.spec).map(|it| it.id);
        let own: BTreeSet<ObjectId> = own.collect();
        let is_annotated = self.touched.iter().any(|touched| touched.what.annotations);
        let is_edited = !own.is_empty() || !self.edited.is_empty();
        if !is_edited && policies.is_empty() && !is_annotated && !self.has_waypoints() {
            return Ok(None);
        }
        self.next.problems = OnceLock::new();
        Ok(Some(Linked { own, linked, old: self.attach(policies)? }))
    }

    /// Follows it through the models.
    pub fn propagate(mut self, linked: Linked, ref_counts: &mut [RefCounts], around: Option<&ImpactRegion>) -> Stepped {
        self.next.models.iter_mut().for_each(Model::renew);
        let Linked { own, old, .. } = linked;
        let stacked = self.stack(&old);
        let policies = old.iter().map(|(policy, _)| *policy);
        let concerned = stacked.concerned.iter().copied().chain(policies.clone()).collect();
        let hierarchies = self.settle_hierarchies(around);
        let followed = self.follow(ref_counts, &stacked, &hierarchies, &own);
        for id in own.iter().copied().chain(policies.map(|policy| policy.0)) {
            self.dependency_index.update(&self.before, &self.next, id);
        }
        Stepped { followed, policies: concerned, ..self.end() }
    }

    /// There is nothing more to do.
    pub fn end(self) -> Stepped {
        let Step { before, next, edited, .. } = self;
        Stepped { before, next, followed: Vec::new(), policies: BTreeSet::new(), edited }
    }

    /// Whether a change is one that can be followed.
    fn is_followed(&self, touched: &Touched) -> Result<(), NeedsRebuild> {
        let (Some(id), what) = (touched.name(), touched.what) else { return Err(NeedsRebuild::UnknownObject) };
        if tells_of_kinds(&self.before, id) {
            return Err(NeedsRebuild::PolicyKinds);
        }
        let kinds = &self.next.kinds;
        // A CRD that may be that of a policy is a problem only where there are objects of it.
        let unlabelled = kinds.unlabelled().iter().filter_map(|crd| Crd::read(self.next.objects.get(*crd)?));
        if what.exists && unlabelled.into_iter().any(|crd| crd.group() == id.group && crd.kind() == id.kind) {
            return Err(NeedsRebuild::PolicyKinds);
        }
        if what.exists
            && kinds.iter().any(|(_, kind)| kind.targets.virtual_targets.iter().any(|it| it.is(&id.group, &id.kind)))
        {
            return Err(NeedsRebuild::VirtualTarget);
        }
        if !what.counts() {
            return Ok(());
        }
        match api::level(&id.group, &id.kind) {
            Level::GatewayClass | Level::Gateway | Level::Namespace if self.has_waypoints() => {
                Err(NeedsRebuild::Waypoints)
            }
            Level::Route if self.dependency_index.any_delegates_by_label() && id.kind == RouteKind::Http.name() => {
                Err(NeedsRebuild::Delegation)
            }
            _ => match kinds.find(&id.group, &id.kind) {
                Some(kind) => self.is_followed_policy(touched, kind),
                None => Ok(()),
            },
        }
    }

    /// Whether labels say what stands before what.
    pub(super) fn has_waypoints(&self) -> bool {
        self.kinds().any(|kind| self.next.kinds.get(kind).hierarchy.waypoints.is_some())
    }

    fn is_followed_policy(&self, touched: &Touched, id: KindId) -> Result<(), NeedsRebuild> {
        let kind = self.next.kinds.get(id);
        if kind.targets.bindings.is_some() {
            return Err(NeedsRebuild::Bindings);
        }
        if kind.targets.virtual_targets.is_empty() {
            return Ok(());
        }
        // What policies name exists by that.
        let reads = touched.states().map(|object| Policy::read(touched.id, object, id, kind));
        let is_virtual = |wanted: &TargetSpec| match wanted {
            TargetSpec::Object { group, kind: wanted, .. } => {
                kind.targets.virtual_targets.iter().any(|it| it.is(group, wanted))
            }
            _ => false,
        };
        match reads.flat_map(|policy| policy.targets).any(|target| is_virtual(&target.spec)) {
            true => Err(NeedsRebuild::VirtualTarget),
            false => Ok(()),
        }
    }

    pub(super) fn topology_editor(&mut self) -> TopologyEditor<'_> {
        TopologyEditor::new(&mut self.next.topology, &self.next.objects, &mut self.edited)
    }

    /// Adds and removes the nodes of objects, and reads the sections of those that say something else.
    fn edit_nodes(&mut self) -> Result<(), NeedsRebuild> {
        let touched = self.touched;
        for it in touched.iter().filter(|it| it.what.counts()) {
            match (&it.before, &it.after) {
                (None, Some(object)) => {
                    self.topology_editor().add_object(it.id)?;
                    self.object_counts.add(it.id, &object.id);
                }
                (Some(object), None) => {
                    self.topology_editor().remove_object(it.id)?;
                    self.object_counts.remove(it.id, &object.id);
                }
                (Some(_), Some(_)) if it.what.spec => {
                    self.topology_editor().update_sections(it.id);
                }
                _ => {}
            }
            for (object, is_there) in it.before.iter().map(|it| (it, false)).chain(it.after.iter().map(|it| (it, true)))
            {
                if object.id.group == GATEWAY_API && object.id.kind == "ReferenceGrant" && it.what.exists {
                    match is_there {
                        true => self.topology_editor().add_grant(object, it.id),
                        false => self.topology_editor().remove_grant(object, it.id),
                    }
                }
            }
        }
        Ok(())
    }
}
