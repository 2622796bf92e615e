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
mod paths;
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
use crate::topology::reference::Reference;
use crate::topology::{Level, NodeId, Topology, api};
use crate::value::Value;
use bindings::Binder;
use resolve::{AttachmentPoint, Resolved, ResolvedTarget};

pub use error::{AttachmentError, Refusal, RejectionReason, TargetSuggestion};
pub(crate) use resolve::TargetResolver;

/// One policy on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The policy.
    pub policy: PolicyId,
    /// The node that it is attached to.
    pub node: NodeId,
    /// How the policy refers to the node.
    pub via: Via,
    /// The Namespace to whose requests the policy is limited; `None` if it is for all requests.
    pub from: Option<NodeId>,
    /// A field of the policy's settings that a binding sets for this node.
    pub patch: Option<Arc<(SmolStr, Value)>>,
    /// Whether it counts.
    pub standing: Standing,
}

/// Whether a policy counts on a node that it targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It counts.
    Accepted,
    /// It is refused, and keeps its place: it sets nothing, and the policies that it comes before do not count either.
    Void,
    /// It is refused, and newer policies on the node conflict with it nevertheless. It has no other effect.
    Claim,
    /// It is refused, also where it is attached to a node above. Others are not affected.
    Excluded,
}

/// How a policy refers to its node. Of policies at one level, the least `Via` is the strongest.
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
    /// Problems of objects that bind policies.
    binding_problems: Vec<Problem>,
}

/// The attachments and refusals of one policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attached {
    /// The nodes that it is attached to, with those where it is refused.
    pub to: Vec<Attachment>,
    /// Its targets that are refused, except for conflicts with other policies.
    pub refused: Vec<Refusal>,
    /// Problems of the policy that do not prevent its use.
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
        self.with_absent().filter(|attachment| !attachment.is_absent())
    }

    /// All attachments, with those that are not in force and hide no others.
    pub(crate) fn with_absent(&self) -> impl Iterator<Item = &Attachment> + Clone {
        self.by_policy.iter().flatten().flat_map(|attached| &attached.to)
    }

    /// All refusals except for conflicts with other policies, in the order of ids.
    pub fn refused(&self) -> impl Iterator<Item = &Refusal> + Clone {
        self.by_policy.iter().flatten().flat_map(|attached| &attached.refused)
    }

    /// Problems of policies that can be used, and of objects that bind policies.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> + Clone {
        self.by_policy.iter().flatten().flat_map(|attached| &attached.problems).chain(&self.binding_problems)
    }
}

/// The objects without a manifest that exist because a policy or a route refers to them.
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
    let routes = api::routes(objects).filter_map(|id| objects.get(id));
    named.extend(routes.flat_map(|route| virtual_backends(route, kinds)));
    named.sort();
    named.dedup();
    named
}

/// The backends of a route that exist because the route refers to them.
pub(crate) fn virtual_backends(route: &Object, kinds: &Registry) -> Vec<ObjectRef> {
    let backends = route.spec().list_at("rules").iter().flat_map(|rule| rule.list_at("backendRefs"));
    // Most backends are Services, and leave out `kind`.
    let backends = backends.filter(|backend| backend.get_str("kind").is_some_and(|kind| kind != "Service"));
    let named = backends.filter_map(|backend| Reference::backend(backend, &route.id.namespace));
    let is_virtual = |it: &Reference| api::is_virtual_backend(it.group, it.kind) || kinds.is_virtual(it.group, it.kind);
    named.filter(is_virtual).map(|it| it.object_ref()).collect()
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

/// Attaches policies to the targets that bindings select.
fn attach_by_bindings(
    attachments: &mut Attachments,
    objects: &Objects,
    topology: &Topology,
    kinds: &Registry,
    policies: &Policies,
) {
    let mut by_kind: HashMap<KindId, Vec<(PolicyId, &Object)>> = HashMap::new();
    for (id, policy) in policies.iter().filter(|(_, policy)| policy.invalid.is_none() && !policy.is_left_out()) {
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
    let named = policies.iter().filter(|(_, policy)| {
        kinds.get(policy.kind).targets.extension_ref && policy.invalid.is_none() && !policy.deleted
    });
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
    /// The attachment of a policy to the rule whose filter refers to it.
    pub(crate) fn by_filter(policy: PolicyId, rule: NodeId, position: u32) -> Attachment {
        Attachment {
            policy,
            node: rule,
            via: Via::Filter(position),
            from: None,
            patch: None,
            standing: Standing::Accepted,
        }
    }

    /// Whether the policy is refused on the node.
    pub fn is_refused(&self) -> bool {
        self.standing != Standing::Accepted
    }

    /// Whether the policy is refused on the node, where it would be in force otherwise.
    pub(crate) fn is_void(&self) -> bool {
        matches!(self.standing, Standing::Void | Standing::Excluded)
    }

    /// Whether the policy is not in force on the node, and hides no other one.
    pub fn is_absent(&self) -> bool {
        matches!(self.standing, Standing::Claim | Standing::Excluded)
    }

    /// Whether the policy only conflicts with others on the node.
    pub(crate) fn is_claim(&self) -> bool {
        self.standing == Standing::Claim
    }

    /// Whether the policy does not count on the node, even if it is attached to one above.
    pub(crate) fn is_excluded(&self) -> bool {
        self.standing == Standing::Excluded
    }
}
