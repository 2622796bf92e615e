//! Who comes first of several policies on one node, and who is not accepted because of another.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::attachment::Attachment;
use crate::kinds::{Conflicts, KindId, Pattern, PatternFit, PolicyKind, Registry, RejectedFrom, SameLevel, Units};
use crate::object::Objects;
use crate::policy::{Policies, Policy};
use crate::problem::Problem;
use crate::topology::{NodeId, NodeMap};
use crate::value::{Segment, Value};

/// The policies of one kind on one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stack {
    /// The first is the oldest, or whoever else comes first.
    pub accepted: Vec<Attachment>,
    /// Each with the one that it conflicts with.
    pub rejected: Vec<(Attachment, Attachment)>,
    /// Policies of other kinds here, with the fields in which those of this kind yield to them.
    pub yields: Vec<(Attachment, Vec<Pattern>)>,
    /// The Namespaces that have policies here for their own requests only.
    pub consumers: Vec<NodeId>,
}

impl Stack {
    /// Who is here, accepted or not.
    pub fn all(&self) -> impl Iterator<Item = &Attachment> {
        self.accepted.iter().chain(self.rejected.iter().map(|(loser, _)| loser))
    }
}

/// The stacks of one kind.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    by_node: NodeMap<Option<Arc<Stack>>>,
    count: usize,
}

impl Stacks {
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn get(&self, node: NodeId) -> Option<&Stack> {
        self.by_node.get(node)?.as_deref()
    }

    pub fn has(&self, node: NodeId) -> bool {
        self.by_node.get(node).is_some_and(Option::is_some)
    }

    /// In the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Stack)> {
        self.by_node.iter().filter_map(|(node, stack)| Some((node, stack.as_deref()?)))
    }

    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.iter().map(|(node, _)| node)
    }

    pub fn values(&self) -> impl Iterator<Item = &Stack> {
        self.iter().map(|(_, stack)| stack)
    }

    /// Puts a stack on a node, or takes it away.
    pub fn set(&mut self, node: NodeId, stack: Option<Stack>) {
        let had = self.has(node);
        if !had && stack.is_none() {
            return;
        }
        self.count = self.count + usize::from(stack.is_some()) - usize::from(had);
        *self.by_node.entry(node) = stack.map(Arc::new);
    }
}

/// What stacks are made from.
#[derive(Clone, Copy, Debug)]
pub struct Stacking<'a> {
    pub objects: &'a Objects,
    pub kinds: &'a Registry,
    pub policies: &'a Policies,
}

impl Stacking<'_> {
    /// Sorts the attachments of one kind, and those of the kinds that it decides with, into stacks. `yields` are those
    /// of the kinds to which it yields.
    pub fn stacks<'t>(
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
            found.insert(node, self.stack(kind, here.into_iter(), yields.into_iter()));
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

    /// The stack of what is on one node. Of kinds that are rejected everywhere it is what all nodes make of it together.
    pub fn stack<'t>(
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

    /// By the way it came here, then priority, then age, then name.
    fn compare(self, a: &Attachment, b: &Attachment) -> Ordering {
        let (left, right) = (&self.policies[a.policy], &self.policies[b.policy]);
        let (one, other) = (&self.objects[left.object], &self.objects[right.object]);
        a.via
            .cmp(&b.via)
            .then_with(|| left.rank.priority.cmp(&right.rank.priority))
            .then_with(|| one.by_age(other))
            .then_with(|| one.id.cmp(&other.id))
    }

    fn reject(self, stack: &mut Stack, kind: &PolicyKind) {
        let mut kept: Vec<Attachment> = Vec::new();
        for attachment in std::mem::take(&mut stack.accepted) {
            let rival = kept.iter().find(|older| {
                older.policy != attachment.policy
                    && older.from == attachment.from
                    && self.clash(kind, older, &attachment)
            });
            match rival {
                Some(older) => stack.rejected.push((attachment, older.clone())),
                None => kept.push(attachment),
            }
        }
        stack.accepted = kept;
    }

    /// Takes the policies in order: one that clashes with any before it, on any target, is rejected on all its targets.
    fn reject_everywhere(self, stacks: &mut BTreeMap<NodeId, Stack>, kind: &PolicyKind) {
        let mut all: Vec<Attachment> =
            stacks.values_mut().flat_map(|stack| std::mem::take(&mut stack.accepted)).collect();
        all.sort_by(|a, b| self.compare(a, b).then(a.node.cmp(&b.node)));
        for of_one in all.chunk_by(|a, b| a.policy == b.policy) {
            let rival = of_one.iter().find_map(|attachment| {
                let older = stacks.get(&attachment.node)?.accepted.iter();
                older.clone().find(|older| self.clash(kind, older, attachment)).cloned()
            });
            for attachment in of_one {
                let Some(stack) = stacks.get_mut(&attachment.node) else { continue };
                match &rival {
                    Some(rival) => stack.rejected.push((attachment.clone(), rival.clone())),
                    None => stack.accepted.push(attachment.clone()),
                }
            }
        }
    }

    fn clash(self, kind: &PolicyKind, a: &Attachment, b: &Attachment) -> bool {
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

/// Whether a policy that clashes on one of its targets is rejected on all of them.
pub fn is_rejected_everywhere(kind: &PolicyKind) -> bool {
    kind.same_level() == SameLevel::RejectNewer && kind.order.rejected_from == RejectedFrom::EveryTarget
}

/// Warns of policies with the same priority, of kinds where nobody can tell who comes first of them.
pub fn ties(objects: &Objects, kinds: &Registry, policies: &Policies) -> Vec<Problem> {
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
                let message = format!("{} has the same priority as {other}: who comes first is undefined", object.id);
                problems.push(Problem::warning(message).about(object).help("give them different priorities"));
            }
        }
    }
    problems
}

/// The paths of all leaves, or of the named fields that are there.
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
