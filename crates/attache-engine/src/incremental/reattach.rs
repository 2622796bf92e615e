//! Policies whose targets may be others: attached anew, and put on their stacks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashSet;

use super::dependency_index::Key;
use super::step::Step;
use crate::attachment::{Attached, Attachment, TargetResolver, filters};
use crate::engine::Engine;
use crate::kinds::{DictatedBy, KindId};
use crate::model::Model;
use crate::object::{Object, ObjectId};
use crate::order::{Stack, is_rejected_everywhere};
use crate::policy::{Policy, PolicyId};
use crate::topology::{Level, NeedsRebuild, NodeId};

/// The stacks that were set anew.
#[derive(Debug, Default)]
pub struct Stacked {
    pub nodes: BTreeMap<KindId, Vec<NodeId>>,
    /// The policies that were or are on them, where they are not on them alone.
    pub concerned: BTreeSet<PolicyId>,
}

impl Stacked {
    fn note(&mut self, kind: KindId, node: NodeId, before: Option<&Stack>, after: Option<&Stack>) {
        self.nodes.entry(kind).or_default().push(node);
        let both = before.into_iter().chain(after);
        self.concerned.extend(both.flat_map(|stack| stack.all()).map(|it| it.policy));
    }
}

impl Step<'_> {
    /// Reads policies again and finds their targets, and tells what they were attached to before.
    pub(super) fn attach(&mut self, policies: BTreeSet<PolicyId>) -> Result<Vec<(PolicyId, Attached)>, NeedsRebuild> {
        for touched in self.touched {
            let Some(kind) = touched.name().and_then(|id| self.next.kinds.find(&id.group, &id.kind)) else { continue };
            let read = |object: &Arc<Object>| Policy::read(touched.id, object, kind, self.next.kinds.get(kind));
            let policy = touched.after.as_ref().map(read);
            self.next.policies.set(PolicyId(touched.id), policy);
        }
        let mut old = Vec::new();
        let mut new = Vec::new();
        {
            let resolver = TargetResolver::new(&self.next.objects, &self.next.topology);
            for id in policies {
                let Some(policy) = self.next.policies.get(id) else {
                    new.push((id, None));
                    continue;
                };
                let kind = self.next.kinds.get(policy.kind);
                if kind.targets.bindings.is_some() {
                    return Err(NeedsRebuild::Bindings);
                }
                let mut attached = resolver.attach(id, policy, kind);
                if kind.targets.extension_ref && policy.invalid.is_none() {
                    attached.to.extend(self.naming_by_filter(id));
                }
                new.push((id, Some(attached)));
            }
        }
        for (id, attached) in new {
            old.push((id, self.before.attachments.for_policy(id).clone()));
            self.next.attachments.set(id, attached);
        }
        Ok(old)
    }

    fn naming_by_filter(&self, policy: PolicyId) -> Vec<Attachment> {
        let name = self.next.policy_id(policy);
        let affected = self.dependency_index.at(Key::of(name));
        let routes: BTreeSet<ObjectId> = affected.chain(self.touched.iter().map(|touched| touched.id)).collect();
        let rules = routes.into_iter().flat_map(|route| self.next.topology.sections(NodeId::whole(route)));
        let rules = rules.filter(|rule| self.next.topology[*rule].level == Level::RouteRule);
        rules
            .flat_map(|rule| {
                let named = filters(&self.next.objects, &self.next.topology, rule).into_iter();
                named
                    .filter(|(named, _)| named == name)
                    .map(move |(_, position)| Attachment::by_filter(policy, rule, position))
            })
            .collect()
    }

    /// Puts the policies that were attached anew on their stacks.
    pub(super) fn stack(&mut self, old: &[(PolicyId, Attached)]) -> Stacked {
        let mut dirty: BTreeMap<KindId, BTreeSet<NodeId>> = BTreeMap::new();
        let leader = |engine: &Engine, policy: PolicyId| Some(engine.kinds.leader(engine.policies.get(policy)?.kind));
        for (policy, was) in old {
            let is = &self.next.attachments.for_policy(*policy).to;
            let kind = leader(&self.next, *policy).or(leader(&self.before, *policy));
            let Some(kind) = kind else { continue };
            if self.is_restacked(*policy, was) {
                dirty.entry(kind).or_default().extend(was.to.iter().chain(is).map(|it| it.node));
            }
        }
        for model in self.before.models() {
            let gone = self.edited.removed.iter().copied().filter(|node| model.stack(*node).is_some());
            let gone: Vec<NodeId> = gone.collect();
            if !gone.is_empty() {
                dirty.entry(model.id).or_default().extend(gone);
            }
            if matches!(model.kind.merging.dictated_by, DictatedBy::Annotation(_)) {
                let routes = self.touched.iter().filter(|touched| touched.what.annotations);
                let nodes = routes.map(|touched| NodeId::whole(touched.id));
                let nodes = nodes.flat_map(|node| [node].into_iter().chain(self.next.topology.sections(node)));
                let nodes: Vec<NodeId> = nodes.filter(|node| model.stack(*node).is_some()).collect();
                dirty.entry(model.id).or_default().extend(nodes);
            }
        }
        // Those who yield to others look at what the others have on the same nodes.
        let mut yielding: Vec<(KindId, BTreeSet<NodeId>)> = Vec::new();
        for model in self.before.models() {
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
        let mut models = self.next.models.take();
        let attached_anew: HashSet<PolicyId> = old.iter().map(|(policy, _)| *policy).collect();
        for (kind, nodes) in dirty {
            let Some(at) = models.iter().position(|model| model.id == kind) else { continue };
            if is_rejected_everywhere(&models[at].kind) {
                self.restack_all(&mut models[at], nodes, &mut stacked);
                continue;
            }
            for node in nodes {
                let stack = self.reattach(&models, at, node, &attached_anew);
                stacked.note(kind, node, models[at].stack(node), stack.as_ref());
                models[at].set_stack(node, stack);
            }
        }
        self.next.models.put(models);
        stacked
    }

    /// Whether the stacks that a policy was and is in may be others.
    pub(super) fn is_restacked(&self, policy: PolicyId, was: &Attached) -> bool {
        let is_touched = self.touched.iter().any(|touched| touched.id == policy.0);
        is_touched || was.to != self.next.attachments.for_policy(policy).to
    }

    /// The stack of one kind on a node, from who was there and who was attached anew.
    fn reattach(&self, models: &[Model], at: usize, node: NodeId, anew: &HashSet<PolicyId>) -> Option<Stack> {
        if !self.next.topology.has(node) {
            return None;
        }
        let kind = models[at].id;
        let is_own =
            |policy: PolicyId| self.next.policies.get(policy).is_some_and(|it| self.next.kinds.leader(it.kind) == kind);
        let was = self.before.models().iter().find(|model| model.id == kind).and_then(|model| model.stack(node));
        let stayed = was.into_iter().flat_map(|stack| stack.all()).filter(|it| !anew.contains(&it.policy));
        let mut policies: Vec<PolicyId> = anew.iter().copied().filter(|policy| is_own(*policy)).collect();
        policies.sort_unstable();
        let came = policies.iter().flat_map(|policy| &self.next.attachments.for_policy(*policy).to);
        let here: Vec<&Attachment> = stayed.chain(came.filter(|it| it.node == node)).collect();
        if here.is_empty() {
            return None;
        }
        let others = self.next.kinds.iter().filter(|(_, other)| models[at].kind.yields_to(other)).map(|(id, _)| id);
        let mut yields: Vec<&Attachment> = Vec::new();
        for other in others {
            let leader = self.next.kinds.leader(other);
            let is_other = |it: &&Attachment| self.next.policies.get(it.policy).is_some_and(|it| it.kind == other);
            let before = self.before.models().iter().find(|model| model.id == leader).and_then(|it| it.stack(node));
            let stayed = before.into_iter().flat_map(|stack| stack.all()).filter(|it| !anew.contains(&it.policy));
            yields.extend(stayed.filter(is_other));
            let came = anew.iter().flat_map(|policy| &self.next.attachments.for_policy(*policy).to);
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
}
