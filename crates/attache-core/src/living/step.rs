//! One step of a model: from the objects that were touched, down to the chains, looking at nothing that does not depend
//! on them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use hashbrown::{HashMap, HashSet};

use super::lookers::{Key, Lookers, is_choosable};
use super::touched::{Touched, tells_of_kinds};
use crate::attachment::{Attached, Attaching, Attachment, by_filter, filters};
use crate::chain::Hierarchy;
use crate::engine::Engine;
use crate::kinds::{DictatedBy, KindId, infer};
use crate::model::{Cause, Ledger, Model, Moved};
use crate::object::{Object, ObjectId, ObjectRef};
use crate::order::is_rejected_everywhere;
use crate::policy::{self, PolicyId, Wanted};
use crate::selector::selects;
use crate::topology::api::{self, GATEWAY_API, RouteKind};
use crate::topology::{Edited, Level, NodeId, Unfollowable};

/// What is known of the objects as a whole.
#[derive(Debug, Default)]
pub struct Census {
    kinds: HashMap<(String, String), usize>,
    residents: HashMap<String, Vec<ObjectId>>,
}

impl Census {
    pub fn of(engine: &Engine) -> Census {
        let mut census = Census::default();
        for (id, object) in engine.objects().iter() {
            census.add(id, &object.id);
        }
        census
    }

    fn add(&mut self, id: ObjectId, name: &ObjectRef) {
        let key = (name.group.to_string(), name.kind.to_string());
        *self.kinds.entry(key).or_default() += 1;
        if !name.namespace.is_empty() {
            self.residents.entry(name.namespace.to_string()).or_default().push(id);
        }
    }

    fn remove(&mut self, id: ObjectId, name: &ObjectRef) {
        let key = (name.group.to_string(), name.kind.to_string());
        if let Some(count) = self.kinds.get_mut(&key) {
            *count = count.saturating_sub(1);
        }
        if let Some(residents) = self.residents.get_mut(name.namespace.as_str()) {
            if let Some(at) = residents.iter().position(|it| *it == id) {
                residents.swap_remove(at);
            }
            if residents.is_empty() {
                self.residents.remove(name.namespace.as_str());
            }
        }
    }

    fn count(&self, group: &str, kind: &str) -> usize {
        self.kinds.get(&(group.to_string(), kind.to_string())).copied().unwrap_or(0)
    }

    fn residents(&self, namespace: &str) -> &[ObjectId] {
        self.residents.get(namespace).map_or(&[], Vec::as_slice)
    }
}

/// A step that is being made.
#[derive(Debug)]
pub struct Step<'s> {
    pub before: &'s Engine,
    pub next: Engine,
    pub lookers: &'s mut Lookers,
    pub census: &'s mut Census,
    pub touched: &'s [Touched],
    pub edited: Edited,
}

/// What a step made of one kind.
#[derive(Debug)]
pub struct Followed {
    /// Among the models.
    pub at: usize,
    pub moved: Vec<Moved>,
}

/// What a step leaves behind.
#[derive(Debug)]
pub struct Stepped {
    pub next: Engine,
    pub followed: Vec<Followed>,
    /// The policies whose attachments or conflicts may be others.
    pub policies: BTreeSet<PolicyId>,
    pub edited: Edited,
}

impl Step<'_> {
    pub fn run(mut self, ledgers: &mut [Ledger]) -> Result<Stepped, Unfollowable> {
        self.touched.iter().try_for_each(|touched| self.is_followed(touched))?;
        self.edit_nodes()?;
        let (routes, mut policies) = self.looking()?;
        let linked = Vec::from_iter(routes.iter().copied());
        self.has_no_contest(&linked)?;
        self.next.topology.relink(&self.next.objects, &linked, &mut self.edited)?;
        self.next.topology.settle(&self.next.objects, &self.edited)?;
        policies.extend(self.by_filter(&routes));
        let mut own = routes;
        own.extend(self.touched.iter().filter(|it| it.what.exists || it.what.spec).map(|it| it.id));
        let is_annotated = self.touched.iter().any(|touched| touched.what.annotations);
        if own.is_empty() && policies.is_empty() && !is_annotated && !self.has_waypoints() {
            return Ok(Stepped { next: self.next, followed: Vec::new(), policies, edited: self.edited });
        }
        self.next.problems = OnceLock::new();
        self.next.models.iter_mut().for_each(Model::renew);
        let old: Vec<(PolicyId, Attached)> = self.attach(&policies)?;
        let stacked = self.stack(&old);
        let concerned = stacked.concerned.iter().copied().chain(policies.iter().copied()).collect();
        let hierarchies = self.settle_hierarchies();
        let followed = self.follow(ledgers, &stacked, &hierarchies, &own);
        for id in own.iter().copied().chain(policies.iter().map(|policy| policy.0)) {
            self.lookers.update(&self.next, id);
        }
        Ok(Stepped { next: self.next, followed, policies: concerned, edited: self.edited })
    }

    /// Whether a change is one that can be followed.
    fn is_followed(&self, touched: &Touched) -> Result<(), Unfollowable> {
        let (Some(id), what) = (touched.name(), touched.what) else { return Err(Unfollowable) };
        if tells_of_kinds(self.before, id) {
            return Err(Unfollowable);
        }
        let kinds = &self.next.kinds;
        // A CRD that may be that of a policy is a problem only where there are objects of it.
        let unlabelled = kinds.unlabelled().iter().filter_map(|crd| infer::Crd::read(self.next.objects.get(*crd)));
        if what.exists && unlabelled.into_iter().any(|crd| crd.group() == id.group && crd.kind() == id.kind) {
            return Err(Unfollowable);
        }
        if !what.counts() {
            return Ok(());
        }
        match api::level(&id.group, &id.kind) {
            Level::GatewayClass | Level::Gateway | Level::ListenerSet if what.exists || what.spec || what.age => {
                Err(Unfollowable)
            }
            Level::Namespace if what.exists && !self.census.residents(&id.name).is_empty() => Err(Unfollowable),
            Level::Namespace if self.has_waypoints() => Err(Unfollowable),
            Level::Route if self.lookers.are_open_handed() && id.kind == RouteKind::Http.name() => Err(Unfollowable),
            _ => match kinds.find(&id.group, &id.kind) {
                Some(kind) => self.is_followed_policy(touched, kind),
                None => Ok(()),
            },
        }
    }

    /// Whether labels say what stands before what.
    fn has_waypoints(&self) -> bool {
        self.before.models.iter().any(|model| model.hierarchy().has_waypoints())
    }

    fn is_followed_policy(&self, touched: &Touched, id: KindId) -> Result<(), Unfollowable> {
        let kind = self.next.kinds.get(id);
        if kind.bindings.is_some() || self.before.model(id).is_none() {
            return Err(Unfollowable);
        }
        if kind.virtual_targets.is_empty() {
            return Ok(());
        }
        // What policies name exists by that.
        let reads = touched.states().map(|object| policy::read(touched.id, object, id, kind));
        let is_virtual = |wanted: &Wanted| match wanted {
            Wanted::Object { group, kind: wanted, .. } => kind.virtual_targets.iter().any(|it| it.is(group, wanted)),
            _ => false,
        };
        match reads.flat_map(|policy| policy.targets).any(|target| is_virtual(&target.wanted)) {
            true => Err(Unfollowable),
            false => Ok(()),
        }
    }

    /// Where routes of two kinds meet, who comes or goes may make a difference to others.
    fn has_no_contest(&self, routes: &[ObjectId]) -> Result<(), Unfollowable> {
        let left = || self.touched.iter().filter_map(|it| it.before.as_deref());
        let was = |kind: &str| left().any(|it| it.id.group == GATEWAY_API && it.id.kind == kind);
        let mut kinds = [RouteKind::Http, RouteKind::Grpc].into_iter().map(RouteKind::name);
        let rivals = kinds.all(|kind| self.census.count(GATEWAY_API, kind) > 0 || was(kind));
        let (before, next) = (self.before, &self.next);
        let competes = || {
            left().any(|route| before.topology.competes(&before.objects, route))
                || routes.iter().any(|route| next.topology.competes(&next.objects, next.objects.get(*route)))
        };
        match rivals && competes() {
            true => Err(Unfollowable),
            false => Ok(()),
        }
    }

    /// Adds and removes the nodes of objects, and reads the sections of those that say something else.
    fn edit_nodes(&mut self) -> Result<(), Unfollowable> {
        let touched = self.touched;
        for it in touched.iter().filter(|it| it.what.counts()) {
            match (&it.before, &it.after) {
                (None, Some(object)) => {
                    self.next.topology.add(&self.next.objects, it.id, &mut self.edited)?;
                    self.census.add(it.id, &object.id);
                }
                (Some(object), None) => {
                    self.next.topology.remove(it.id, &mut self.edited)?;
                    self.census.remove(it.id, &object.id);
                    self.has_residents(object)?;
                    self.has_others(object)?;
                }
                (Some(_), Some(_)) if it.what.spec => {
                    self.next.topology.resection(&self.next.objects, it.id, &mut self.edited);
                }
                _ => {}
            }
            for (object, is_there) in it.before.iter().map(|it| (it, false)).chain(it.after.iter().map(|it| (it, true)))
            {
                if object.id.group == GATEWAY_API && object.id.kind == "ReferenceGrant" && it.what.exists {
                    match is_there {
                        true => self.next.topology.add_grant(object, it.id),
                        false => self.next.topology.remove_grant(object, it.id),
                    }
                }
            }
        }
        Ok(())
    }

    /// A namespace that has no object of its own is there as long as something lives in it.
    fn has_residents(&self, object: &Object) -> Result<(), Unfollowable> {
        let namespace = object.id.namespace.as_str();
        let is_left = namespace.is_empty() || !self.census.residents(namespace).is_empty();
        match is_left || self.next.objects.lookup("", "Namespace", "", namespace).is_some() {
            true => Ok(()),
            false => Err(Unfollowable),
        }
    }

    /// A kind has a model as long as there are policies of it, or of the kinds that decide with it.
    fn has_others(&self, object: &Object) -> Result<(), Unfollowable> {
        let kinds = &self.next.kinds;
        let Some(kind) = kinds.find(&object.id.group, &object.id.kind) else { return Ok(()) };
        let mut led = kinds.iter().filter(|(id, _)| kinds.leader(*id) == kinds.leader(kind)).map(|(_, kind)| kind);
        match led.any(|kind| self.census.count(&kind.group, &kind.kind) > 0) {
            true => Ok(()),
            false => Err(Unfollowable),
        }
    }

    /// The routes that have to be linked again, and the policies whose targets have to be found again.
    fn looking(&self) -> Result<(BTreeSet<ObjectId>, BTreeSet<PolicyId>), Unfollowable> {
        let mut looking: BTreeSet<ObjectId> = BTreeSet::new();
        let mut policies: BTreeSet<PolicyId> = BTreeSet::new();
        for touched in self.touched {
            let Some(id) = touched.name() else { continue };
            let what = touched.what;
            if self.next.kinds.find(&id.group, &id.kind).is_some() {
                policies.insert(PolicyId(touched.id));
            }
            if !what.counts() {
                continue;
            }
            if api::level(&id.group, &id.kind) == Level::Route && (what.exists || what.spec || what.age) {
                looking.insert(touched.id);
            }
            let mut look = |key: Key<'_>| looking.extend(self.lookers.at(key));
            if what.exists || what.spec {
                look(Key::of(id));
            }
            if what.exists {
                look(Key::Among(&id.group, &id.kind, &id.namespace));
                look(Key::Kind(&id.group, &id.kind));
            }
            match (id.group.as_str(), id.kind.as_str()) {
                (GATEWAY_API, "ReferenceGrant") => {
                    look(Key::Grants(&id.namespace));
                    look(Key::Namespaces);
                }
                ("", "Namespace") if what.labels => {
                    look(Key::Namespace(&id.name));
                    look(Key::Namespaces);
                }
                _ => {}
            }
            for &policy in self.lookers.at(Key::Labels(&id.group, &id.kind)) {
                if self.selects(PolicyId(policy), touched) {
                    policies.insert(PolicyId(policy));
                }
            }
            if is_choosable(id) {
                policies.extend(self.lookers.choosers().map(PolicyId));
            }
        }
        let mut routes = BTreeSet::new();
        for id in looking {
            if self.next.objects.shared(id).is_none() {
                continue;
            }
            match self.next.topology.node(NodeId::whole(id)).level {
                Level::Route => drop(routes.insert(id)),
                Level::Gateway | Level::ListenerSet => return Err(Unfollowable),
                _ => drop(policies.insert(PolicyId(id))),
            }
        }
        Ok((routes, policies))
    }

    /// Whether a policy that chooses by labels chooses an object, or did.
    fn selects(&self, policy: PolicyId, touched: &Touched) -> bool {
        let chooses = |wanted: &Wanted| match wanted {
            Wanted::Selected(it) => {
                let is_selected = |object: &Arc<Object>| selects(&it.labels, |key| object.labels().get_str(key));
                touched.states().any(is_selected)
            }
            _ => false,
        };
        self.before.policy(policy).targets.iter().any(|target| chooses(&target.wanted))
    }

    /// The policies that filters of these routes name, or named.
    fn by_filter(&self, routes: &BTreeSet<ObjectId>) -> BTreeSet<PolicyId> {
        let gone = self.touched.iter().filter(|touched| touched.after.is_none()).map(|touched| touched.id);
        let mut found = BTreeSet::new();
        for route in routes.iter().copied().chain(gone) {
            for engine in [self.before, &self.next] {
                for rule in engine.topology.sections(NodeId::whole(route)) {
                    let named = filters(&engine.objects, &engine.topology, rule);
                    found.extend(named.iter().filter_map(|(name, _)| engine.objects.find(name)).map(PolicyId));
                }
            }
        }
        found.retain(|policy| self.before.policies.get(*policy).or(self.next.policies.get(*policy)).is_some());
        found
    }

    /// Reads policies again and finds their targets, and tells what they were attached to before.
    fn attach(&mut self, policies: &BTreeSet<PolicyId>) -> Result<Vec<(PolicyId, Attached)>, Unfollowable> {
        for touched in self.touched {
            let Some(kind) = touched.name().and_then(|id| self.next.kinds.find(&id.group, &id.kind)) else { continue };
            let read = |object: &Arc<Object>| policy::read(touched.id, object, kind, self.next.kinds.get(kind));
            let policy = touched.after.as_ref().map(read);
            self.next.policies.set(PolicyId(touched.id), policy);
        }
        let mut old = Vec::new();
        let mut new = Vec::new();
        {
            let attaching = Attaching::new(&self.next.objects, &self.next.topology);
            for &id in policies {
                let Some(policy) = self.next.policies.get(id) else {
                    new.push((id, None));
                    continue;
                };
                let kind = self.next.kinds.get(policy.kind);
                if kind.bindings.is_some() {
                    return Err(Unfollowable);
                }
                let mut attached = attaching.policy(id, policy, kind);
                if kind.extension_ref && policy.invalid.is_none() {
                    attached.to.extend(self.naming_by_filter(id));
                }
                new.push((id, Some(attached)));
            }
        }
        for (id, attached) in new {
            old.push((id, self.before.attachments.of(id).clone()));
            self.next.attachments.set(id, attached);
        }
        Ok(old)
    }

    fn naming_by_filter(&self, policy: PolicyId) -> Vec<Attachment> {
        let name = self.next.policy_id(policy);
        let looking = self.lookers.at(Key::of(name)).iter().copied();
        let routes: BTreeSet<ObjectId> = looking.chain(self.touched.iter().map(|touched| touched.id)).collect();
        let rules = routes.into_iter().flat_map(|route| self.next.topology.sections(NodeId::whole(route)));
        let rules = rules.filter(|rule| self.next.topology.node(*rule).level == Level::RouteRule);
        rules
            .flat_map(|rule| {
                let named = filters(&self.next.objects, &self.next.topology, rule).into_iter();
                named.filter(|(named, _)| named == name).map(move |(_, position)| by_filter(policy, rule, position))
            })
            .collect()
    }

    /// Puts the policies that were attached anew on their stacks.
    fn stack(&mut self, old: &[(PolicyId, Attached)]) -> Stacked {
        let mut dirty: BTreeMap<KindId, BTreeSet<NodeId>> = BTreeMap::new();
        let leader = |engine: &Engine, policy: PolicyId| Some(engine.kinds.leader(engine.policies.get(policy)?.kind));
        for (policy, was) in old {
            let is = &self.next.attachments.of(*policy).to;
            let kind = leader(&self.next, *policy).or(leader(self.before, *policy));
            let Some(kind) = kind else { continue };
            let is_touched = self.touched.iter().any(|touched| touched.id == policy.0);
            if is_touched || was.to != *is {
                dirty.entry(kind).or_default().extend(was.to.iter().chain(is).map(|it| it.node));
            }
        }
        for model in &self.before.models {
            let gone = self.edited.gone.iter().copied().filter(|node| model.stack(*node).is_some());
            let gone: Vec<NodeId> = gone.collect();
            if !gone.is_empty() {
                dirty.entry(model.id).or_default().extend(gone);
            }
            if matches!(model.kind.dictated_by, DictatedBy::Annotation(_)) {
                let routes = self.touched.iter().filter(|touched| touched.what.annotations);
                let nodes = routes.map(|touched| NodeId::whole(touched.id));
                let nodes = nodes.flat_map(|node| [node].into_iter().chain(self.next.topology.sections(node)));
                let nodes: Vec<NodeId> = nodes.filter(|node| model.stack(*node).is_some()).collect();
                dirty.entry(model.id).or_default().extend(nodes);
            }
        }
        // Those who yield to others look at what the others have on the same nodes.
        let mut yielding: Vec<(KindId, BTreeSet<NodeId>)> = Vec::new();
        for model in &self.before.models {
            for (kind, nodes) in &dirty {
                if model.kind.yields_to(self.next.kinds.get(*kind)) {
                    yielding.push((model.id, nodes.iter().copied().filter(|it| model.stack(*it).is_some()).collect()));
                }
            }
        }
        for (kind, nodes) in yielding {
            dirty.entry(kind).or_default().extend(nodes);
        }
        let mut stacked = Stacked::default();
        let mut models = std::mem::take(&mut self.next.models);
        let attached_anew: HashSet<PolicyId> = old.iter().map(|(policy, _)| *policy).collect();
        for (kind, nodes) in dirty {
            let Some(at) = models.iter().position(|model| model.id == kind) else { continue };
            if is_rejected_everywhere(&models[at].kind) {
                self.restack_all(&mut models[at], nodes, &mut stacked);
                continue;
            }
            for node in nodes {
                let stack = self.restack(&models, at, node, &attached_anew);
                stacked.note(kind, node, models[at].stack(node), stack.as_ref());
                models[at].set_stack(node, stack);
            }
        }
        self.next.models = models;
        stacked
    }

    /// The stack of one kind on a node, from who was there and who was attached anew.
    fn restack(
        &self,
        models: &[Model],
        at: usize,
        node: NodeId,
        anew: &HashSet<PolicyId>,
    ) -> Option<crate::order::Stack> {
        if self.edited.gone.contains(&node) {
            return None;
        }
        let kind = models[at].id;
        let is_own =
            |policy: PolicyId| self.next.policies.get(policy).is_some_and(|it| self.next.kinds.leader(it.kind) == kind);
        let was = self.before.models.iter().find(|model| model.id == kind).and_then(|model| model.stack(node));
        let stayed = was.into_iter().flat_map(|stack| stack.all()).filter(|it| !anew.contains(&it.policy));
        let mut policies: Vec<PolicyId> = anew.iter().copied().filter(|policy| is_own(*policy)).collect();
        policies.sort_unstable();
        let came = policies.iter().flat_map(|policy| &self.next.attachments.of(*policy).to);
        let here: Vec<&Attachment> = stayed.chain(came.filter(|it| it.node == node)).collect();
        if here.is_empty() {
            return None;
        }
        let others = self.next.kinds.iter().filter(|(_, other)| models[at].kind.yields_to(other)).map(|(id, _)| id);
        let mut yields: Vec<&Attachment> = Vec::new();
        for other in others {
            let leader = self.next.kinds.leader(other);
            let is_other = |it: &&Attachment| self.next.policies.get(it.policy).is_some_and(|it| it.kind == other);
            let before = self.before.models.iter().find(|model| model.id == leader).and_then(|it| it.stack(node));
            let stayed = before.into_iter().flat_map(|stack| stack.all()).filter(|it| !anew.contains(&it.policy));
            yields.extend(stayed.filter(is_other));
            let came = anew.iter().flat_map(|policy| &self.next.attachments.of(*policy).to);
            yields.extend(came.filter(|it| it.node == node).filter(is_other));
        }
        Some(self.next.stacking().stack(&models[at].kind, here.into_iter(), yields.into_iter()))
    }

    /// All stacks of a kind whose policies are rejected on all targets because of one.
    fn restack_all(&self, model: &mut Model, mut nodes: BTreeSet<NodeId>, stacked: &mut Stacked) {
        let stacks = self.next.build_stacks(model.id);
        let both = model.stacks().nodes().chain(stacks.nodes());
        let both: BTreeSet<NodeId> = both.collect();
        nodes.extend(both.into_iter().filter(|node| model.stack(*node) != stacks.get(*node)));
        for node in nodes {
            stacked.note(model.id, node, model.stack(node), stacks.get(node));
            model.set_stack(node, stacks.get(node).cloned());
        }
    }

    /// Looks again at what each hierarchy makes of the nodes that were edited, and what is below them. The nodes that it
    /// sees otherwise than before.
    fn settle_hierarchies(&mut self) -> Vec<HashSet<NodeId>> {
        if self.edited.is_empty() && !self.has_waypoints() {
            return vec![HashSet::new(); self.next.models.len()];
        }
        let Engine { objects, topology, models, .. } = &mut self.next;
        let labelled = self.touched.iter().filter(|touched| touched.what.labels && touched.after.is_some());
        let labelled: Vec<NodeId> = labelled.map(|touched| NodeId::whole(touched.id)).collect();
        let mut done: Vec<(Arc<Hierarchy>, Arc<Hierarchy>, HashSet<NodeId>)> = Vec::new();
        let mut changes = Vec::new();
        for model in models.iter_mut() {
            let before = Arc::clone(model.hierarchy());
            if let Some((_, after, changed)) = done.iter().find(|(it, ..)| Arc::ptr_eq(it, &before)) {
                model.set_hierarchy(Arc::clone(after));
                changes.push(changed.clone());
                continue;
            }
            let mut hierarchy = Hierarchy::clone(&before);
            let mut changed = HashSet::new();
            self.edited.gone.iter().for_each(|node| hierarchy.forget(*node));
            let deepest = topology.deepest();
            let mut todo: BTreeSet<(usize, NodeId)> = BTreeSet::new();
            let add = |todo: &mut BTreeSet<(usize, NodeId)>, node| {
                todo.insert((topology.rank(deepest, node), node));
            };
            let extra = if hierarchy.has_waypoints() { labelled.as_slice() } else { &[] };
            for &node in self.edited.nodes.iter().chain(extra) {
                if !self.edited.gone.contains(&node) {
                    add(&mut todo, node);
                }
            }
            while let Some((_, node)) = todo.pop_first() {
                if hierarchy.settle(objects, topology, node) {
                    changed.insert(node);
                    topology.children(node).iter().for_each(|below| add(&mut todo, *below));
                    if topology.node(node).level == Level::RouteRule {
                        topology.rules_naming(node).iter().for_each(|port| add(&mut todo, *port));
                    }
                }
            }
            let after = Arc::new(hierarchy);
            model.set_hierarchy(Arc::clone(&after));
            changes.push(changed.clone());
            done.push((before, after, changed));
        }
        changes
    }

    fn follow(
        &mut self,
        ledgers: &mut [Ledger],
        stacked: &Stacked,
        hierarchies: &[HashSet<NodeId>],
        own: &BTreeSet<ObjectId>,
    ) -> Vec<Followed> {
        let mut models = std::mem::take(&mut self.next.models);
        let mut of_own: Vec<(NodeId, Cause)> = Vec::new();
        for id in own.iter().filter(|id| self.next.objects.shared(**id).is_some()) {
            let (whole, topology) = (NodeId::whole(*id), &self.next.topology);
            let nodes = [whole].into_iter().chain(topology.sections(whole)).chain(topology.frontend(whole));
            of_own.extend(nodes.map(|node| (node, Cause::Itself)));
        }
        let mut followed = Vec::new();
        for (at, ((model, ledger), changed)) in models.iter_mut().zip(ledgers).zip(hierarchies).enumerate() {
            let mut dirty: Vec<(NodeId, Cause)> = changed.iter().map(|node| (*node, Cause::Ways)).collect();
            dirty.extend(&of_own);
            for &node in stacked.nodes.get(&model.id).into_iter().flatten() {
                self.under(model, node, |node| dirty.push((node, Cause::Chains)));
            }
            dirty.retain(|(node, _)| !self.edited.gone.contains(node));
            if dirty.is_empty() && self.edited.gone.is_empty() {
                continue;
            }
            let moved = model.follow(self.next.world(), ledger, dirty.into_iter(), &self.edited.gone);
            if !moved.is_empty() {
                followed.push(Followed { at, moved });
            }
        }
        self.next.models = models;
        followed
    }

    /// The nodes at which the policies on a node are met first.
    fn under(&self, model: &Model, node: NodeId, mut found: impl FnMut(NodeId)) {
        let topology = &self.next.topology;
        found(node);
        let mut whole = |node: NodeId| {
            [node].into_iter().chain(topology.sections(node)).chain(topology.frontend(node)).for_each(&mut found);
        };
        match topology.node(node).level {
            _ if model.root() == Some(node) => topology.nodes().for_each(|(node, _)| whole(node)),
            Level::Namespace => {
                let name = topology.id(&self.next.objects, node).name.as_str();
                self.census.residents(name).iter().for_each(|id| whole(NodeId::whole(*id)));
            }
            _ => whole(node),
        }
    }
}

/// The stacks that were set anew.
#[derive(Debug, Default)]
struct Stacked {
    nodes: BTreeMap<KindId, Vec<NodeId>>,
    /// The policies that were or are on them, where they are not on them alone.
    concerned: BTreeSet<PolicyId>,
}

impl Stacked {
    fn note(
        &mut self,
        kind: KindId,
        node: NodeId,
        before: Option<&crate::order::Stack>,
        after: Option<&crate::order::Stack>,
    ) {
        self.nodes.entry(kind).or_default().push(node);
        let both = before.into_iter().chain(after);
        self.concerned.extend(both.flat_map(|stack| stack.all()).map(|it| it.policy));
    }
}
