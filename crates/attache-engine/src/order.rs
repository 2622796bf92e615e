//! The order of policies on one node, and which of them are rejected because of another.
//!
//! Attachments of one kind are grouped by node into stacks, sorted by how they were attached, priority, age and name.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::attachment::Attachment;
use crate::kinds::{Conflicts, KindId, Pattern, PatternFit, PolicyKind, Registry, RejectedFrom, SameLevel, Units};
use crate::object::Objects;
use crate::policy::{Policies, Policy, PolicyId};
use crate::problem::{Problem, ProblemCode};
use crate::topology::{Level, NodeId, NodeMap, Topology};
use crate::value::{Segment, Value};

/// The policies of one kind on one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stack {
    /// The accepted policies in order: mostly the oldest first.
    pub accepted: Vec<Attachment>,
    /// The rejected policies.
    pub rejected: Vec<Rejected>,
    /// Policies of other kinds on the node, with the fields in which those of this kind yield to them.
    pub yields: Vec<(Attachment, Vec<Pattern>)>,
    /// The Namespaces to whose requests policies on the node are limited.
    pub consumers: Vec<NodeId>,
}

impl Stack {
    /// The policies on the node, rejected ones too.
    pub(crate) fn policies(&self) -> impl Iterator<Item = PolicyId> {
        let rejected = self.rejected.iter().map(|it| it.attachment.policy);
        self.accepted.iter().map(|it| it.policy).chain(rejected)
    }
}

/// A policy that is not accepted on a node, because it conflicts with others.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// The policy on the node.
    pub attachment: Attachment,
    /// All accepted policies that it conflicts with, the first in order first. Never empty.
    pub rivals: Vec<Attachment>,
}

impl Stack {
    /// All policies of the kind on the node, accepted or rejected.
    pub fn all(&self) -> impl Iterator<Item = &Attachment> {
        self.accepted.iter().chain(self.rejected.iter().map(|it| &it.attachment))
    }
}

/// The stacks of one kind, by node.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    by_node: NodeMap<Option<Arc<Stack>>>,
    count: usize,
}

impl Stacks {
    /// Whether no node has policies of the kind.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The policies on a node.
    pub fn get(&self, node: NodeId) -> Option<&Stack> {
        self.by_node.get(node)?.as_deref()
    }

    /// Whether a node has policies of the kind.
    pub fn has(&self, node: NodeId) -> bool {
        self.by_node.get(node).is_some_and(Option::is_some)
    }

    /// All stacks, in the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Stack)> {
        self.by_node.iter().filter_map(|(node, stack)| Some((node, stack.as_deref()?)))
    }

    /// The nodes that have policies of the kind, in the order of ids.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.iter().map(|(node, _)| node)
    }

    /// All stacks without their nodes, in the order of ids.
    pub fn values(&self) -> impl Iterator<Item = &Stack> {
        self.iter().map(|(_, stack)| stack)
    }

    /// Sets or removes the stack of a node.
    pub fn set(&mut self, node: NodeId, stack: Option<Stack>) {
        let had = self.has(node);
        if !had && stack.is_none() {
            return;
        }
        self.count = self.count + usize::from(stack.is_some()) - usize::from(had);
        *self.by_node.entry(node) = stack.map(Arc::new);
    }
}

/// Builds stacks from attachments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackBuilder<'a> {
    pub objects: &'a Objects,
    pub kinds: &'a Registry,
    pub policies: &'a Policies,
    pub topology: &'a Topology,
}

impl StackBuilder<'_> {
    /// The stacks of a kind, from its attachments and those of the kinds that share its list. `yields` are the
    /// attachments of the kinds that it yields to.
    pub fn build_all<'t>(
        self,
        id: KindId,
        attached: impl Iterator<Item = &'t Attachment>,
        yields: impl Iterator<Item = &'t Attachment>,
    ) -> Stacks {
        let kind = self.kinds.get(id);
        let mut drafts: HashMap<NodeId, [Vec<&Attachment>; 2]> = HashMap::new();
        for attachment in attached {
            drafts.entry(attachment.node).or_default()[0].push(attachment);
        }
        for other in yields {
            if let Some([_, yields]) = drafts.get_mut(&other.node) {
                yields.push(other);
            }
        }
        let mut nodes: Vec<NodeId> = drafts.keys().copied().collect();
        nodes.sort_unstable();
        let mut found: BTreeMap<NodeId, Stack> = BTreeMap::new();
        for node in nodes {
            let [here, yields] = drafts.remove(&node).unwrap_or_default();
            found.insert(node, self.build(kind, here.into_iter(), yields.into_iter()));
        }
        if is_rejected_everywhere(kind) {
            self.reject_everywhere(&mut found, kind);
        }
        let mut stacks = Stacks::default();
        for (node, stack) in found {
            stacks.set(node, Some(stack));
        }
        stacks
    }

    /// The stack of one node. For kinds whose policies are rejected on all targets at once, nothing is rejected yet.
    pub fn build<'t>(
        self,
        kind: &PolicyKind,
        here: impl Iterator<Item = &'t Attachment>,
        yields: impl Iterator<Item = &'t Attachment>,
    ) -> Stack {
        let mut stack = Stack { accepted: here.cloned().collect(), ..Stack::default() };
        for other in yields {
            let other_kind = self.kinds.get(self.policies[other.policy].kind);
            let fields =
                kind.merging.yields_to_kind.iter().filter(|it| it.kind.is(&other_kind.group, &other_kind.kind));
            stack.yields.extend(fields.map(|it| (other.clone(), it.fields.clone())));
        }
        stack.consumers = stack.accepted.iter().filter_map(|attachment| attachment.from).collect();
        stack.consumers.sort_unstable();
        stack.consumers.dedup();
        if stack.accepted.len() > 1 {
            stack.accepted.sort_by(|a, b| self.compare(a, b));
            stack.accepted.dedup();
            if kind.same_level() == SameLevel::RejectNewer && !is_rejected_everywhere(kind) {
                self.reject(&mut stack, kind);
            }
        }
        stack.yields.sort_by(|(a, _), (b, _)| self.compare(a, b));
        stack
    }

    /// Compares by how they were attached, then priority, then age, then name.
    fn compare(self, a: &Attachment, b: &Attachment) -> Ordering {
        let (left, right) = (&self.policies[a.policy], &self.policies[b.policy]);
        let (one, other) = (&self.objects[left.object], &self.objects[right.object]);
        a.via
            .cmp(&b.via)
            .then_with(|| left.rank.priority.cmp(&right.rank.priority))
            .then_with(|| one.by_age(other))
            .then_with(|| one.id.cmp(&other.id))
    }

    /// Rejects each policy that conflicts with one before it.
    fn reject(self, stack: &mut Stack, kind: &PolicyKind) {
        let mut kept: Vec<Attachment> = Vec::new();
        for attachment in std::mem::take(&mut stack.accepted) {
            let rivals = kept.iter().filter(|older| {
                older.policy != attachment.policy
                    && !older.is_excluded()
                    && !attachment.is_excluded()
                    && older.from == attachment.from
                    && self.conflict(kind, older, &attachment)
            });
            match rivals.cloned().collect::<Vec<_>>() {
                rivals if rivals.is_empty() => kept.push(attachment),
                rivals => stack.rejected.push(Rejected { attachment, rivals }),
            }
        }
        stack.accepted = kept;
    }

    /// Takes the policies in order: a policy that conflicts with an earlier one on any target is rejected on all its
    /// targets.
    fn reject_everywhere(self, stacks: &mut BTreeMap<NodeId, Stack>, kind: &PolicyKind) {
        let mut all: Vec<Attachment> =
            stacks.values_mut().flat_map(|stack| std::mem::take(&mut stack.accepted)).collect();
        all.sort_by(|a, b| self.compare(a, b).then(a.node.cmp(&b.node)));
        for of_one in all.chunk_by(|a, b| a.policy == b.policy) {
            let can_conflict = |it: &&Attachment| match kind.order.conflicts_if_used {
                true => self.is_used(kind, it.node),
                false => self.is_handled(kind, it.node),
            };
            let rivals = of_one.iter().filter(can_conflict).flat_map(|attachment| {
                let older = stacks.get(&attachment.node).map_or(&[][..], |stack| &stack.accepted);
                older.iter().filter(|older| self.conflict(kind, older, attachment))
            });
            let rivals: Vec<Attachment> = rivals.cloned().collect();
            for attachment in of_one.iter().cloned() {
                let Some(stack) = stacks.get_mut(&attachment.node) else { continue };
                match rivals.is_empty() {
                    true => stack.accepted.push(attachment),
                    false => stack.rejected.push(Rejected { attachment, rivals: rivals.clone() }),
                }
            }
        }
    }

    /// Whether requests reach a backend through a route of a Gateway, or mesh, whose controller handles a kind.
    fn is_used(self, kind: &PolicyKind, backend: NodeId) -> bool {
        let topology = self.topology;
        let is_gateway = |node: &NodeId| topology[*node].level == Level::Gateway;
        let is_from_handled = |rule: &NodeId| {
            let above = topology.above([*rule]);
            let mut gateways = above.iter().copied().filter(is_gateway).peekable();
            if gateways.peek().is_none() {
                return kind.controllers.mesh;
            }
            gateways.any(|gateway| self.is_handled(kind, gateway))
        };
        let rules = topology.parents(backend).iter().filter(|it| topology[**it].level == Level::RouteRule);
        rules.into_iter().any(|rule| topology.live(*rule) && is_from_handled(rule))
    }

    /// Whether the controller of a Gateway handles a kind. `true` for other nodes.
    fn is_handled(self, kind: &PolicyKind, node: NodeId) -> bool {
        let gateway = self.topology.whole(node);
        let owner = self.topology.gateway_owner(self.objects, gateway);
        owner.is_none_or(|owner| self.kinds.controllers().handle(&kind.controllers, owner))
    }

    /// Whether two policies on one node cannot both be accepted.
    fn conflict(self, kind: &PolicyKind, a: &Attachment, b: &Attachment) -> bool {
        let fields = match &kind.order.conflicts {
            Conflicts::Always => return true,
            Conflicts::Never => return false,
            Conflicts::SameLeaf => &[][..],
            Conflicts::SameField(fields) => fields,
        };
        let set = |attachment: &Attachment| {
            let blocks = &self.policies[attachment.policy].blocks;
            blocks.iter().flat_map(|block| leaves(&block.spec, fields)).collect::<Vec<_>>()
        };
        let (mine, theirs) = (set(a), set(b));
        mine.iter().any(|path| theirs.contains(path))
    }
}

/// Whether a policy that conflicts with another on one target is rejected on all its targets.
pub(crate) fn is_rejected_everywhere(kind: &PolicyKind) -> bool {
    kind.same_level() == SameLevel::RejectNewer && kind.order.rejected_from == RejectedFrom::EveryTarget
}

/// Warns of policies with the same priority, for kinds that leave the order of such policies undefined.
pub(crate) fn ties(objects: &Objects, kinds: &Registry, policies: &Policies) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut first: HashMap<(KindId, &[i64]), &Policy> = HashMap::new();
    for (_, policy) in
        policies.iter().filter(|(_, policy)| kinds.get(policy.kind).order.ties_undefined && policy.invalid.is_none())
    {
        match first.entry((policy.kind, &policy.rank.priority)) {
            Entry::Vacant(entry) => {
                entry.insert(policy);
            }
            Entry::Occupied(entry) => {
                let (object, other) = (&objects[policy.object], &objects[entry.get().object].id);
                let message = format!("{} has the same priority as {other}: their order is undefined", object.id);
                problems.push(
                    Problem::warning(message)
                        .code(ProblemCode::EqualPriority)
                        .about(object)
                        .help("give them different priorities"),
                );
            }
        }
    }
    problems
}

/// The paths of all leaves, or of the given fields that are set.
fn leaves(spec: &Value, fields: &[Pattern]) -> Vec<Vec<Segment>> {
    let mut found = Vec::new();
    let units = if fields.is_empty() { Units::leaves() } else { Units::for_rules(fields) };
    units.each(spec, &mut Vec::new(), &mut |path, _| {
        if fields.is_empty() || fields.iter().any(|pattern| pattern.fit(path.iter()) == PatternFit::Exact) {
            found.push(path.to_vec());
        }
    });
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::fixture::{ROUTED_SERVICE, dated_policy, engine, kind, node, policy};

    const TARGETS: &str = "targets: [Gateway, Route], strategies: [merge]";

    /// The accepted and the rejected policies on the Gateway, in order.
    fn stack(kind_fields: &str, policies: &[String]) -> (Vec<String>, Vec<String>) {
        let documents = [ROUTED_SERVICE.to_owned(), kind(&format!("{TARGETS}, {kind_fields}")), policies.concat()];
        names(&engine(&documents.concat()), "Gateway/default/g")
    }

    fn names(engine: &Engine, on: &str) -> (Vec<String>, Vec<String>) {
        let stack = engine.models()[0].stack(node(engine, on)).unwrap();
        let name = |it: &Attachment| engine.policy_id(it.policy).name.to_string();
        (stack.accepted.iter().map(name).collect(), stack.rejected.iter().map(|it| name(&it.attachment)).collect())
    }

    fn created(name: &str, year: u32, spec: &str) -> String {
        dated_policy(name, &format!("{year}-01-01T00:00:00Z"), "Gateway/g", spec)
    }

    #[test]
    fn the_older_comes_first_and_names_break_ties() {
        let policies = [created("b", 2020, "x: 1"), created("c", 2019, "x: 1"), created("a", 2020, "x: 1")];
        assert_eq!(stack("sameLevel: OldestWins", &policies).0, ["c", "a", "b"]);
    }

    #[test]
    fn a_policy_that_is_not_created_yet_comes_last() {
        let new = policy("a", "Gateway/g", "x: 1").replace(", creationTimestamp: \"2020-01-01T00:00:00Z\"", "");
        assert_eq!(stack("sameLevel: OldestWins", &[new, created("b", 2020, "x: 1")]).0, ["b", "a"]);
    }

    #[test]
    fn priority_comes_before_age() {
        let policies = [created("a", 2019, "rank: 2, x: 1"), created("b", 2020, "rank: 1, x: 1")];
        let fields = "priority: {field: spec.rank, order: Ascending}, fields: {ignored: [rank]}";
        assert_eq!(stack(fields, &policies).0, ["b", "a"]);
    }

    #[test]
    fn the_newer_is_rejected_if_the_kind_says_so() {
        let policies = [created("a", 2020, "x: 1"), created("b", 2019, "y: 1")];
        assert_eq!(stack("sameLevel: RejectNewer", &policies), (vec!["b".to_owned()], vec!["a".to_owned()]));
        assert_eq!(stack("sameLevel: OldestWins", &policies).1, Vec::<String>::new());
    }

    #[test]
    fn policies_that_set_different_fields_need_not_conflict() {
        let policies = [created("a", 2019, "x: 1"), created("b", 2020, "y: 1"), created("c", 2021, "x: 2")];
        let (accepted, rejected) = stack("sameLevel: RejectNewer, conflicts: SameField", &policies);
        assert_eq!((accepted, rejected), (vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]));
    }

    #[test]
    fn a_policy_can_be_rejected_from_all_its_targets_at_once() {
        let both = "
apiVersion: example.io/v1
kind: TestPolicy
metadata: {name: both, namespace: default, creationTimestamp: \"2021-01-01T00:00:00Z\"}
spec: {targetRefs: [{kind: Gateway, name: g}, {kind: HTTPRoute, name: r}], x: 1}
---
";
        let documents = |rejected_from: &str| {
            let kind = kind(&format!("{TARGETS}, sameLevel: RejectNewer, rejectedFrom: {rejected_from}"));
            engine(&[ROUTED_SERVICE, &kind, both, &created("older", 2020, "x: 1")].concat())
        };
        let on_route = |engine: &Engine| names(engine, "HTTPRoute/default/r");
        assert_eq!(on_route(&documents("Target")).0, ["both"]);
        assert_eq!(on_route(&documents("EveryTarget")).1, ["both"]);
    }

    #[test]
    fn a_stack_that_is_removed_is_not_counted() {
        let mut stacks = Stacks::default();
        let at = NodeId::whole(crate::object::ObjectId(3));
        stacks.set(at, Some(Stack::default()));
        assert!(stacks.has(at) && !stacks.is_empty());
        stacks.set(at, None);
        stacks.set(at, None);
        assert!(!stacks.has(at) && stacks.is_empty() && stacks.iter().next().is_none());
    }
}
