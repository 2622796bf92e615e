//! Who comes first of several policies on one node, and who is not accepted because of another.

use std::cmp::Ordering;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::attachment::Attachment;
use crate::fold::Units;
use crate::kinds::{Conflicts, Fit, KindId, Pattern, PolicyKind, Registry, SameLevel};
use crate::object::Objects;
use crate::policy::Policy;
use crate::problem::Problem;
use crate::topology::NodeId;
use crate::value::{Segment, Value};

/// The policies of one kind on one node.
#[derive(Clone, Debug, Default)]
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

pub type Stacks = HashMap<NodeId, Stack>;

/// Sorts the attachments of one kind into stacks.
pub fn stacks(objects: &Objects, kinds: &Registry, id: KindId, policies: &[Policy], attached: &[Attachment]) -> Stacks {
    let kind = kinds.get(id);
    let kind_of = |attachment: &Attachment| policies[attachment.policy.0 as usize].kind;
    let mut stacks: Stacks = HashMap::new();
    for attachment in attached.iter().filter(|attachment| kinds.leader(kind_of(attachment)) == id) {
        stacks.entry(attachment.node).or_default().accepted.push(attachment.clone());
    }
    for yielding in &kind.yields {
        for other in attached {
            let other_kind = kinds.get(kind_of(other));
            if yielding.to.is(&other_kind.group, &other_kind.kind)
                && let Some(stack) = stacks.get_mut(&other.node)
            {
                stack.yields.push((other.clone(), yielding.fields.clone()));
            }
        }
    }
    for stack in stacks.values_mut() {
        stack.consumers = stack.accepted.iter().filter_map(|attachment| attachment.from).collect();
        stack.consumers.sort_unstable();
        stack.consumers.dedup();
        if stack.accepted.len() > 1 {
            stack.accepted.sort_by(|a, b| compare(objects, policies, a, b));
            stack.accepted.dedup();
            if kind.same_level == SameLevel::RejectNewer && !kind.rejected_everywhere {
                reject(stack, kind, policies);
            }
        }
    }
    if kind.same_level == SameLevel::RejectNewer && kind.rejected_everywhere {
        reject_everywhere(&mut stacks, kind, objects, policies);
    }
    stacks
}

/// Warns of policies with the same priority, of kinds where nobody can tell who comes first of them.
pub fn ties(objects: &Objects, kinds: &Registry, policies: &[Policy]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut first: HashMap<(KindId, &[i64]), &Policy> = HashMap::new();
    for policy in policies.iter().filter(|policy| kinds.get(policy.kind).ties_undefined && policy.invalid.is_none()) {
        match first.entry((policy.kind, &policy.rank.priority)) {
            Entry::Vacant(entry) => {
                entry.insert(policy);
            }
            Entry::Occupied(entry) => {
                let (object, other) = (objects.get(policy.object), &objects.get(entry.get().object).id);
                let message = format!("{} has the same priority as {other}: who comes first is undefined", object.id);
                problems.push(Problem::warning(message).about(object).help("give them different priorities"));
            }
        }
    }
    problems
}

/// By the way it came here, then priority, then age, then name.
fn compare(objects: &Objects, policies: &[Policy], a: &Attachment, b: &Attachment) -> Ordering {
    let (left, right) = (&policies[a.policy.0 as usize], &policies[b.policy.0 as usize]);
    a.via
        .cmp(&b.via)
        .then_with(|| left.rank.priority.cmp(&right.rank.priority))
        .then_with(|| objects.get(left.object).by_age(objects.get(right.object)))
}

fn reject(stack: &mut Stack, kind: &PolicyKind, policies: &[Policy]) {
    let mut kept: Vec<Attachment> = Vec::new();
    for attachment in std::mem::take(&mut stack.accepted) {
        let rival = kept.iter().find(|older| {
            older.policy != attachment.policy
                && older.from == attachment.from
                && clash(kind, policies, older, &attachment)
        });
        match rival {
            Some(older) => stack.rejected.push((attachment, older.clone())),
            None => kept.push(attachment),
        }
    }
    stack.accepted = kept;
}

/// Takes the policies in order: one that clashes with any before it, on any target, is rejected on all its targets.
fn reject_everywhere(stacks: &mut Stacks, kind: &PolicyKind, objects: &Objects, policies: &[Policy]) {
    let mut all: Vec<Attachment> = stacks.values_mut().flat_map(|stack| std::mem::take(&mut stack.accepted)).collect();
    all.sort_by(|a, b| compare(objects, policies, a, b).then(a.node.cmp(&b.node)));
    for of_one in all.chunk_by(|a, b| a.policy == b.policy) {
        let rival = of_one.iter().find_map(|attachment| {
            let older = stacks.get(&attachment.node)?.accepted.iter();
            older.clone().find(|older| clash(kind, policies, older, attachment)).cloned()
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

fn clash(kind: &PolicyKind, policies: &[Policy], a: &Attachment, b: &Attachment) -> bool {
    let fields = match &kind.conflicts {
        Conflicts::Always => return true,
        Conflicts::Never => return false,
        Conflicts::SameField(fields) => fields,
    };
    let set = |attachment: &Attachment| {
        let blocks = &policies[attachment.policy.0 as usize].blocks;
        blocks.iter().flat_map(|block| leaves(&block.spec, fields)).collect::<Vec<_>>()
    };
    let (mine, theirs) = (set(a), set(b));
    mine.iter().any(|path| theirs.contains(path))
}

/// The paths of all leaves, or of the named fields that are there.
fn leaves(spec: &Value, fields: &[Pattern]) -> Vec<Vec<Segment>> {
    let mut found = Vec::new();
    let units = if fields.is_empty() { Units::leaves() } else { Units::only(fields) };
    units.each(spec, &mut Vec::new(), &mut |path, _| {
        if fields.is_empty() || fields.iter().any(|pattern| pattern.fit(path.iter()) == Fit::Exact) {
            found.push(path.to_vec());
        }
    });
    found
}
