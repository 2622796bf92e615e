//! Which policy is attached to which node, or why it is not.
//!
//! ```text
//! targets of a policy ─→ TargetResolver ─→ nodes (Attachment)
//!   by name, section       resolve            or AttachmentError: typed, displayed as a message
//!   by object selector     object_selector
//!   by labels alone        label_selection
//!   by host                hosts
//! bindings of other objects ─→ bindings, placements
//! filters of route rules    ─→ filters
//! ```

mod bindings;
mod error;
mod hosts;
mod label_selection;
mod object_selector;
mod placements;
mod ports;
mod resolve;
mod waypoints;

use std::sync::{Arc, LazyLock};

use hashbrown::HashMap;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use smol_str::SmolStr;

use crate::kinds::{KindId, Registry};
use crate::object::{Object, ObjectRef, Objects};
use crate::persistent::PersistentVec;
use crate::policy::{Policies, Policy, PolicyId, TargetSpec};
use crate::problem::Problem;
use crate::topology::{Level, NodeId, Topology};
use crate::value::Value;
use bindings::Binder;
use resolve::{AttachmentPoint, Resolved};

pub use error::{AttachmentError, Refusal, RejectionReason};
pub(crate) use resolve::TargetResolver;

/// One policy on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The policy.
    pub policy: PolicyId,
    /// The node that it is attached to.
    pub node: NodeId,
    /// How it found the node.
    pub via: Via,
    /// The Namespace to whose requests the policy is limited; `None` if it is for all requests.
    pub from: Option<NodeId>,
    /// A field of the policy's settings that a binding sets for this node.
    pub patch: Option<Arc<(SmolStr, Value)>>,
}

/// How a policy found its node. Of policies at one level the least is the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Via {
    /// A filter of the rule names the policy; the number is the position of the filter.
    Filter(u32),
    /// The policy targets the node.
    Target,
    /// The policy names the host of the node.
    Host {
        /// How far the policy is from the client: 0 in the client's namespace, 1 in the host's, 2 elsewhere.
        distance: u8,
        /// How many hosts the name matches: 0 for one, and more for a shorter wildcard.
        breadth: u32,
    },
}

/// The attachments and refusals of all policies.
#[derive(Clone, Debug, Default)]
pub struct Attachments {
    by_policy: PersistentVec<Option<Arc<Attached>>>,
    /// What is wrong with objects that bind policies.
    binding_problems: Vec<Problem>,
}

/// The attachments and refusals of one policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attached {
    /// The nodes that it is attached to.
    pub to: Vec<Attachment>,
    /// Its targets that are refused, for other reasons than another policy.
    pub refused: Vec<Refusal>,
    /// What is wrong with it, though it can be used.
    pub problems: Vec<Problem>,
}

impl Attachments {
    /// The attachments of a policy.
    pub fn for_policy(&self, policy: PolicyId) -> &Attached {
        static NOTHING: LazyLock<Attached> = LazyLock::new(Attached::default);
        self.by_policy.get(policy.0.0 as usize).and_then(Option::as_deref).unwrap_or(&NOTHING)
    }

    pub(crate) fn set(&mut self, policy: PolicyId, attached: Option<Attached>) {
        *self.by_policy.entry(policy.0.0 as usize) = attached.map(Arc::new);
    }

    fn entry(&mut self, policy: PolicyId) -> &mut Attached {
        Arc::make_mut(self.by_policy.entry(policy.0.0 as usize).get_or_insert_default())
    }

    /// All attachments, policy by policy, in the order of ids.
    pub fn attached(&self) -> impl Iterator<Item = &Attachment> + Clone {
        self.by_policy.iter().flatten().flat_map(|attached| &attached.to)
    }

    /// All refusals for other reasons than another policy, in the order of ids.
    pub fn refused(&self) -> impl Iterator<Item = &Refusal> + Clone {
        self.by_policy.iter().flatten().flat_map(|attached| &attached.refused)
    }

    /// What is wrong with policies that can be used, and with objects that bind them.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> + Clone {
        self.by_policy.iter().flatten().flat_map(|attached| &attached.problems).chain(&self.binding_problems)
    }
}

/// The objects that exist only because policies name them.
pub fn virtual_targets(objects: &Objects, kinds: &Registry, policies: &Policies) -> Vec<ObjectRef> {
    let mut named = Vec::new();
    for (_, policy) in policies.iter() {
        let kind = kinds.get(policy.kind);
        for target in &policy.targets {
            let TargetSpec::Object { group, kind: wanted, namespace, name, .. } = &target.spec else { continue };
            if kind.targets.virtual_targets.iter().any(|virtual_kind| virtual_kind.is(group, wanted)) {
                let namespace = namespace.as_ref().unwrap_or(&objects[policy.object].id.namespace);
                named.push(ObjectRef::new(group, wanted, namespace, name));
            }
        }
    }
    for (_, kind) in kinds.iter() {
        named.extend(kind.targets.bindings.iter().flat_map(|bindings| bindings.placements.named(objects)));
    }
    named.sort();
    named.dedup();
    named
}

/// Attaches all policies.
pub fn attach(objects: &Objects, topology: &Topology, kinds: &Registry, policies: &Policies) -> Attachments {
    let mut attachments = Attachments::default();
    attach_to_targets(&mut attachments, &TargetResolver::new(objects, topology), kinds, policies);
    attach_by_bindings(&mut attachments, objects, topology, kinds, policies);
    attach_by_filters(&mut attachments, objects, topology, kinds, policies);
    attachments
}

/// Attaches policies to the targets that they name themselves.
fn attach_to_targets(
    attachments: &mut Attachments,
    resolver: &TargetResolver<'_>,
    kinds: &Registry,
    policies: &Policies,
) {
    let all: Vec<(PolicyId, &Policy)> = policies.iter().collect();
    let attached = all.into_par_iter().map(|(id, policy)| {
        let attached = resolver.attach(id, policy, kinds.get(policy.kind));
        (id.0.0 as usize, Some(Arc::new(attached)))
    });
    let attached: Vec<_> = attached.collect();
    attachments.by_policy.set_sorted(attached.into_iter());
}

/// Attaches policies to where other objects bind them.
fn attach_by_bindings(
    attachments: &mut Attachments,
    objects: &Objects,
    topology: &Topology,
    kinds: &Registry,
    policies: &Policies,
) {
    let mut by_kind: HashMap<KindId, Vec<(PolicyId, &Object)>> = HashMap::new();
    for (id, policy) in policies.iter().filter(|(_, policy)| policy.invalid.is_none() && !policy.disabled) {
        if kinds.get(policy.kind).targets.bindings.is_some() {
            by_kind.entry(policy.kind).or_default().push((id, &objects[policy.object]));
        }
    }
    for (id, kind) in kinds.iter() {
        if let Some(bindings) = &kind.targets.bindings {
            let policies = by_kind.get(&id).map_or(&[][..], Vec::as_slice);
            Binder { objects, topology, kind, bindings, attachments }.bind(policies);
        }
    }
}

/// Attaches policies to the route rules whose filters name them.
fn attach_by_filters(
    attachments: &mut Attachments,
    objects: &Objects,
    topology: &Topology,
    kinds: &Registry,
    policies: &Policies,
) {
    let named =
        policies.iter().filter(|(_, policy)| kinds.get(policy.kind).targets.extension_ref && policy.invalid.is_none());
    let by_ref: HashMap<&ObjectRef, PolicyId> = named.map(|(id, policy)| (&objects[policy.object].id, id)).collect();
    if by_ref.is_empty() {
        return;
    }
    for (rule, _) in topology.nodes().filter(|(_, node)| node.level == Level::RouteRule) {
        for (id, position) in filters(objects, topology, rule) {
            if let Some(&policy) = by_ref.get(&id) {
                attachments.entry(policy).to.push(Attachment::by_filter(policy, rule, position));
            }
        }
    }
}

/// The objects that the filters of a rule name, each with the position of the filter.
pub(crate) fn filters(objects: &Objects, topology: &Topology, rule: NodeId) -> Vec<(ObjectRef, u32)> {
    let Some(spec) = topology.section_value(objects, rule) else { return Vec::new() };
    let namespace = &topology.id(objects, rule).namespace;
    let filters = spec.list_at("filters").iter().enumerate();
    let named = filters.filter_map(|(position, filter)| Some((position, filter.get("extensionRef")?)));
    named
        .map(|(position, reference)| {
            let text = |key| reference.get_str(key).unwrap_or_default();
            (ObjectRef::new(text("group"), text("kind"), namespace, text("name")), position as u32)
        })
        .collect()
}

impl Attachment {
    /// A policy on the rule of which a filter names it.
    pub(crate) fn by_filter(policy: PolicyId, rule: NodeId, position: u32) -> Attachment {
        Attachment { policy, node: rule, via: Via::Filter(position), from: None, patch: None }
    }
}
