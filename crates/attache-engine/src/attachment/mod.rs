//! Which policy is attached to which node, or why it is not.

mod bindings;
mod chosen;
mod hosts;
mod placements;
mod ports;

use std::sync::{Arc, LazyLock};

use hashbrown::HashMap;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use smol_str::SmolStr;

use crate::kinds::{CrossNamespace, KindId, LevelName, PolicyKind, Registry};
use crate::names;
use crate::object::{Object, ObjectId, ObjectRef, Objects};
use crate::persistent::PersistentVec;
use crate::policy::{NamespaceSelection, Policies, Policy, PolicyId, PolicyTarget, TargetSelector, TargetSpec};
use crate::problem::Problem;
use crate::selector::selects;
use crate::topology::{Level, Namespace, NodeId, Topology};
use crate::value::Value;
use chosen::Choosable;
use hosts::ByHost;

/// One policy on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    pub policy: PolicyId,
    pub node: NodeId,
    pub via: Via,
    /// It holds only for requests from this Namespace.
    pub from: Option<NodeId>,
    /// A field of the policy's settings that is set for this node by who bound it here.
    pub patch: Option<Arc<(SmolStr, Value)>>,
}

/// How a policy came to its node. The order is the order of strength at one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Via {
    /// A filter of the rule names it; the number is the filter's position.
    Filter(u32),
    PolicyTarget,
    /// By its host: the nearer the policy is to the client, and the less the host takes in, the stronger.
    Host {
        distance: u8,
        breadth: u32,
    },
}

/// Why a policy, or one of its targets, is not accepted. The words are those of the standard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub policy: PolicyId,
    /// Which of its targets; all of them if there is none.
    pub target: Option<usize>,
    pub reason: Reason,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    Conflicted,
    Invalid,
    TargetNotFound,
    RefNotPermitted,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Reason::Conflicted => "Conflicted",
            Reason::Invalid => "Invalid",
            Reason::TargetNotFound => "TargetNotFound",
            Reason::RefNotPermitted => "RefNotPermitted",
        }
    }
}

/// What became of all policies.
#[derive(Clone, Debug, Default)]
pub struct Attachments {
    by_policy: PersistentVec<Option<Arc<Attached>>>,
    /// What is wrong with who binds policies.
    pub problems: Vec<Problem>,
}

/// What became of the targets of one policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attached {
    pub to: Vec<Attachment>,
    pub refused: Vec<Refusal>,
    /// What is wrong with it, though it can be used.
    pub problems: Vec<Problem>,
}

impl Attachments {
    pub fn of(&self, policy: PolicyId) -> &Attached {
        static NOTHING: LazyLock<Attached> = LazyLock::new(Attached::default);
        self.by_policy.get(policy.0.0 as usize).and_then(Option::as_deref).unwrap_or(&NOTHING)
    }

    pub(crate) fn set(&mut self, policy: PolicyId, attached: Option<Attached>) {
        *self.by_policy.entry(policy.0.0 as usize) = attached.map(Arc::new);
    }

    fn entry(&mut self, policy: PolicyId) -> &mut Attached {
        Arc::make_mut(self.by_policy.entry(policy.0.0 as usize).get_or_insert_default())
    }

    /// Everything that is attached, policy by policy, in the order of ids.
    pub fn attached(&self) -> impl Iterator<Item = &Attachment> + Clone {
        self.by_policy.iter().flatten().flat_map(|attached| &attached.to)
    }

    /// Everything that was refused for other reasons than another policy, in the order of ids.
    pub fn refused(&self) -> impl Iterator<Item = &Refusal> + Clone {
        self.by_policy.iter().flatten().flat_map(|attached| &attached.refused)
    }

    /// What is wrong with policies that can be used, and with who binds them.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> + Clone {
        self.by_policy.iter().flatten().flat_map(|attached| &attached.problems).chain(&self.problems)
    }
}

/// The objects that policies name and that exist by that alone.
pub fn virtual_targets(objects: &Objects, kinds: &Registry, policies: &Policies) -> Vec<ObjectRef> {
    let mut named = Vec::new();
    for (_, policy) in policies.iter() {
        let kind = kinds.get(policy.kind);
        for target in &policy.targets {
            let TargetSpec::Object { group, kind: wanted, namespace, name, .. } = &target.wanted else { continue };
            if kind.virtual_targets.iter().any(|virtual_kind| virtual_kind.is(group, wanted)) {
                let namespace = namespace.as_ref().unwrap_or(&objects[policy.object].id.namespace);
                named.push(ObjectRef::new(group, wanted, namespace, name));
            }
        }
    }
    for (_, kind) in kinds.iter() {
        named.extend(kind.bindings.iter().flat_map(|bindings| bindings.placements.named(objects)));
    }
    named.sort();
    named.dedup();
    named
}

pub fn attach(objects: &Objects, topology: &Topology, kinds: &Registry, policies: &Policies) -> Attachments {
    let mut attaching = Attaching::new(objects, topology);
    attaching.attach(kinds, policies);
    let mut by_ref: HashMap<&ObjectRef, PolicyId> = HashMap::new();
    let mut bound: HashMap<KindId, Vec<(PolicyId, &Object)>> = HashMap::new();
    for (id, policy) in policies.iter() {
        let kind = kinds.get(policy.kind);
        if kind.extension_ref {
            by_ref.insert(&objects[policy.object].id, id);
        }
        if kind.bindings.is_some() && policy.invalid.is_none() && !policy.disabled {
            bound.entry(policy.kind).or_default().push((id, &objects[policy.object]));
        }
    }
    for (id, kind) in kinds.iter() {
        if let Some(bindings) = &kind.bindings {
            attaching.bind(kind, bindings, bound.get(&id).map_or(&[], Vec::as_slice));
        }
    }
    if !by_ref.is_empty() {
        for (node, _) in topology.nodes().filter(|(_, node)| node.level == Level::RouteRule) {
            for (id, position) in filters(objects, topology, node) {
                let Some(&policy) = by_ref.get(&id) else { continue };
                if policies[policy].invalid.is_none() {
                    attaching.result.entry(policy).to.push(by_filter(policy, node, position));
                }
            }
        }
    }
    attaching.result
}

/// What the filters of a rule name, each with its position.
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

/// A policy that a filter of a rule names.
pub(crate) fn by_filter(policy: PolicyId, rule: NodeId, position: u32) -> Attachment {
    Attachment { policy, node: rule, via: Via::Filter(position), from: None, patch: None }
}

/// What is wrong with targets that do not go together.
fn mixed(kind: &PolicyKind, targets: &[PolicyTarget]) -> Option<String> {
    let kinds = || targets.iter().filter_map(|target| target.wanted.kind());
    let alone = kinds().find(|(group, it)| kind.unmixed.iter().any(|name| name.names(group, it)))?;
    let other = kinds().find(|other| *other != alone)?;
    Some(format!("{} cannot target a {} and a {} at once", kind.kind, alone.1, other.1))
}

pub(crate) struct Attaching<'o> {
    objects: &'o Objects,
    topology: &'o Topology,
    choosable: Choosable<'o>,
    by_host: ByHost,
    result: Attachments,
}

/// A node, the Namespace to which requests are limited, and how the node was found.
type AttachmentPoint = (NodeId, Option<NodeId>, Via);

type Outcome<T> = Result<T, (Reason, String)>;

impl<'o> Attaching<'o> {
    pub fn new(objects: &'o Objects, topology: &'o Topology) -> Self {
        let (choosable, by_host) = (Choosable::default(), ByHost::default());
        Attaching { objects, topology, choosable, by_host, result: Attachments::default() }
    }

    /// Attaches all policies to the targets that they themselves name.
    fn attach(&mut self, kinds: &Registry, policies: &Policies) {
        let all: Vec<(PolicyId, &Policy)> = policies.iter().collect();
        let attached = all.into_par_iter().map(|(id, policy)| {
            let attached = self.policy(id, policy, kinds.get(policy.kind));
            (id.0.0 as usize, Some(Arc::new(attached)))
        });
        let attached: Vec<_> = attached.collect();
        self.result.by_policy.put_all(attached.into_iter());
    }

    /// What becomes of the targets that a policy itself names.
    pub fn policy(&self, id: PolicyId, policy: &Policy, kind: &PolicyKind) -> Attached {
        let mut result = Attached::default();
        let object = &self.objects[policy.object];
        if !kind.versions.is_empty() && !kind.versions.contains(&object.version) {
            let known = kind.versions.join(", ");
            result.problems.push(
                Problem::warning(format!("`{}` is not a known version of {}", object.version, kind.full_name()))
                    .about(object)
                    .help(format!("it is read as {known}")),
            );
        }
        if let Some(path) = &policy.unused {
            let problem = Problem::warning("the selector counts for nothing: the policy names its targets");
            result.problems.push(problem.at(object, path.clone()).help("keep one of the two"));
        }
        let refuse =
            |target: Option<usize>, reason: Reason, message: String| Refusal { policy: id, target, reason, message };
        if let Some(invalid) = &policy.invalid {
            let message = format!("{}: {}", invalid.path, invalid.message);
            result.refused.push(refuse(None, Reason::Invalid, message));
            return result;
        }
        if kind.bindings.is_some() || policy.disabled {
            return result;
        }
        if policy.targets.is_empty() && !kind.extension_ref {
            result.refused.push(refuse(None, Reason::Invalid, "it names no target".to_string()));
        }
        if let Some(message) = mixed(kind, &policy.targets) {
            result.refused.push(refuse(None, Reason::Invalid, message));
            return result;
        }
        for (i, target) in policy.targets.iter().enumerate() {
            match self.target(object, kind, target) {
                Ok(places) => {
                    let attached = places.into_iter().map(|(node, from, via)| Attachment {
                        policy: id,
                        node,
                        via,
                        from,
                        patch: None,
                    });
                    result.to.extend(attached);
                }
                Err((reason, message)) => result.refused.push(refuse(Some(i), reason, message)),
            }
        }
        result
    }

    fn target(&self, policy: &Object, kind: &PolicyKind, target: &PolicyTarget) -> Outcome<Vec<AttachmentPoint>> {
        let everywhere = |node: NodeId| (node, None, Via::PolicyTarget);
        match &target.wanted {
            TargetSpec::Selected(selector) => self.selected(policy, kind, selector),
            TargetSpec::OwnNamespace => Ok(self.namespace(&policy.id.namespace).into_iter().map(everywhere).collect()),
            TargetSpec::Chosen(choice) => Ok(self.chosen(policy, kind, choice)?.into_iter().map(everywhere).collect()),
            TargetSpec::Host(host) => match &kind.hosts {
                Some(hosts) => self.host(policy, kind, hosts, host),
                None => Ok(Vec::new()),
            },
            TargetSpec::Object { group, kind: wanted, namespace, name, section } => {
                let id = self.identity(policy, group, wanted, namespace.as_ref(), name);
                let from = self.permitted(policy, kind, &id)?;
                let node = self
                    .topology
                    .find(self.objects, &id)
                    .ok_or_else(|| (Reason::TargetNotFound, self.not_found(&id)))?;
                let node = match section {
                    Some(section) => self.section(kind, node, section)?,
                    None => node,
                };
                self.targetable(kind, node)?;
                Ok(vec![(node, from, Via::PolicyTarget)])
            }
        }
    }

    fn namespace(&self, name: &str) -> Option<NodeId> {
        self.topology.find_namespace(self.objects, name)
    }

    /// Who is meant: an object in the policy's namespace unless another is named, or a cluster-scoped one.
    fn identity(
        &self,
        policy: &Object,
        group: &SmolStr,
        kind: &SmolStr,
        namespace: Option<&SmolStr>,
        name: &SmolStr,
    ) -> ObjectRef {
        let (group, kind, name) = (group.clone(), kind.clone(), name.clone());
        let in_cluster = ObjectRef { group, kind, namespace: SmolStr::default(), name };
        if namespace.is_none() && self.topology.find(self.objects, &in_cluster).is_some()
            || ["Namespace", "GatewayClass"].contains(&in_cluster.kind.as_str())
        {
            return in_cluster;
        }
        ObjectRef { namespace: namespace.unwrap_or(&policy.id.namespace).clone(), ..in_cluster }
    }

    /// The namespace to which requests are limited, if the target may be targeted from here at all.
    fn permitted(&self, policy: &Object, kind: &PolicyKind, id: &ObjectRef) -> Outcome<Option<NodeId>> {
        let refuse = |message: String| Err((Reason::RefNotPermitted, message));
        let own = &policy.id.namespace;
        if own.is_empty() || id.namespace == *own {
            return Ok(None);
        }
        if id.namespace.is_empty() {
            let itself = id.group.is_empty() && id.kind == "Namespace" && id.name == *own;
            return if itself || kind.cluster_targets || kind.root_namespace.as_ref() == Some(own) {
                Ok(None)
            } else if id.kind == "Namespace" {
                refuse(format!("{id} can be targeted only from within it, and the policy is in namespace `{own}`"))
            } else {
                refuse(format!("{id} is cluster-scoped and {} is not", kind.kind))
            };
        }
        match kind.cross_namespace {
            CrossNamespace::Consumer => Ok(self.namespace(own)),
            CrossNamespace::Granted if self.permits(&policy.id, id) => Ok(None),
            CrossNamespace::Granted => refuse(format!(
                "no ReferenceGrant in namespace `{}` lets {} in namespace `{own}` target {id}",
                id.namespace, kind.kind
            )),
            CrossNamespace::Never => {
                refuse(format!("{id} is in another namespace than the policy, which {} does not allow", kind.kind))
            }
        }
    }

    fn permits(&self, from: &ObjectRef, to: &ObjectRef) -> bool {
        self.topology.grants().permit(self.objects, from, &to.group, &to.kind, &to.namespace, &to.name)
    }

    fn section(&self, kind: &PolicyKind, owner: NodeId, section: &str) -> Outcome<NodeId> {
        let name = self.topology.name(self.objects, owner);
        if !kind.sections {
            return Err((Reason::Invalid, format!("{} cannot target a section, `{section}` of {name}", kind.kind)));
        }
        if let Some(found) = self.topology.section(owner, section) {
            return Ok(found);
        }
        let sections = self.topology.sections(owner).filter_map(|node| self.topology.node(node).section.as_ref());
        let there: Vec<String> = sections.map(|name| format!("`{name}`")).collect();
        let hint = match there.as_slice() {
            [] => "it has none".to_string(),
            there => format!("it has {}", there.join(", ")),
        };
        Err((Reason::TargetNotFound, format!("{name} has no section `{section}`: {hint}")))
    }

    fn targetable(&self, kind: &PolicyKind, node: NodeId) -> Outcome<()> {
        let id = self.topology.id(self.objects, node);
        let level = self.topology.node(node).level;
        let named = |names: &[LevelName], level: Level| names.iter().any(|name| name.takes(level, &id.group, &id.kind));
        let is_virtual = kind.virtual_targets.iter().any(|name| name.is(&id.group, &id.kind));
        // Whoever may target an object may target its sections, if the hierarchy knows them.
        let owner = self.topology.node(self.topology.whole(node)).level;
        let by_owner = level.is_section() && named(&kind.hierarchy, level) && named(&kind.targets, owner);
        if is_virtual || named(&kind.targets, level) || by_owner {
            return self.has_own_port(kind, node);
        }
        let targets: Vec<String> = kind.targets.iter().map(ToString::to_string).collect();
        let name = self.topology.name(self.objects, node);
        Err((Reason::Invalid, format!("{} cannot target {name}, only {}", kind.kind, targets.join(", "))))
    }

    fn has_own_port(&self, kind: &PolicyKind, node: NodeId) -> Outcome<()> {
        let sharing = if kind.own_port { ports::sharing(self.objects, self.topology, node) } else { Vec::new() };
        if sharing.is_empty() {
            return Ok(());
        }
        let message = format!(
            "{} is being applied to multiple http (non https) listeners ({}) on the same port, which is not allowed",
            kind.kind,
            sharing.join(", ")
        );
        Err((Reason::Invalid, message))
    }

    fn not_found(&self, id: &ObjectRef) -> String {
        let same_kind = self.objects.each(&id.group, &id.kind).map(|(_, object)| &object.id);
        let beside = same_kind.filter(|other| other.namespace == id.namespace).map(|other| other.name.as_str());
        match names::nearest(&id.name, beside).first() {
            Some(name) => format!("{id} does not exist; did you mean `{name}`?"),
            None => format!("{id} does not exist"),
        }
    }

    fn selected(&self, policy: &Object, kind: &PolicyKind, wanted: &TargetSelector) -> Outcome<Vec<AttachmentPoint>> {
        let mut found = Vec::new();
        let everywhere = selects_everywhere(policy, kind);
        for (id, object) in self.meant(policy, kind, wanted) {
            let from = match self.permitted(policy, kind, &object.id) {
                Ok(from) => from,
                Err(_) if everywhere => None,
                Err(_) => continue,
            };
            let node = NodeId::whole(id);
            let node = match &wanted.section {
                Some(section) => match self.topology.section(node, section) {
                    Some(section) => section,
                    None => continue,
                },
                None => node,
            };
            self.targetable(kind, node)?;
            found.push((node, from, Via::PolicyTarget));
        }
        if found.is_empty() {
            let missing = match self.ungranted(policy, kind, wanted).as_slice() {
                [] => String::new(),
                [one] => format!(": no ReferenceGrant lets it target {one}"),
                [first, more @ ..] => format!(": no ReferenceGrant lets it target {first} and {} more", more.len()),
            };
            let message = format!("the selector selects no {} that may be targeted{missing}", wanted.kind);
            return Err((Reason::TargetNotFound, message));
        }
        Ok(found)
    }

    /// What a selector selects, whether it may be targeted or not.
    fn meant(
        &self,
        policy: &Object,
        kind: &PolicyKind,
        wanted: &TargetSelector,
    ) -> impl Iterator<Item = (ObjectId, &'o Object)> {
        let everywhere = selects_everywhere(policy, kind);
        self.objects.each(&wanted.group, &wanted.kind).filter(move |(_, object)| {
            let own = object.id.namespace == policy.id.namespace;
            let in_reach = match &wanted.namespaces {
                NamespaceSelection::Same => own || everywhere,
                NamespaceSelection::All => true,
                NamespaceSelection::Selected(labels) => {
                    let namespace = Namespace::named(self.objects, &object.id.namespace);
                    selects(labels, |key| namespace.label(key))
                }
            };
            in_reach && selects(&wanted.labels, |key| object.labels().get_str(key))
        })
    }

    /// What a selector selects, and no ReferenceGrant lets the policy target.
    pub fn ungranted(&self, policy: &Object, kind: &PolicyKind, wanted: &TargetSelector) -> Vec<&'o ObjectRef> {
        if kind.cross_namespace != CrossNamespace::Granted || selects_everywhere(policy, kind) {
            return Vec::new();
        }
        let meant = self.meant(policy, kind, wanted).map(|(_, object)| &object.id);
        meant.filter(|id| self.permitted(policy, kind, id).is_err()).collect()
    }
}

fn selects_everywhere(policy: &Object, kind: &PolicyKind) -> bool {
    kind.global_namespace.as_ref() == Some(&policy.id.namespace)
}
