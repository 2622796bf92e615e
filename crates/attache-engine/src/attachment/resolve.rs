//! From the targets of a policy to nodes.

use smol_str::SmolStr;

use super::hosts::HostIndex;
use super::label_selection::Selectable;
use super::{Attached, Attachment, AttachmentError, Refusal, Via, ports};
use crate::kinds::{CrossNamespace, LevelName, PolicyKind};
use crate::names;
use crate::object::{Object, ObjectRef, Objects};
use crate::policy::{Policy, PolicyId, PolicyTarget, TargetSpec};
use crate::problem::{Problem, ProblemCode};
use crate::topology::{Level, NodeId, Topology};

/// Finds the nodes that policies target.
pub(crate) struct TargetResolver<'o> {
    pub(super) objects: &'o Objects,
    pub(super) topology: &'o Topology,
    pub(super) selectable: Selectable<'o>,
    pub(super) hosts: HostIndex,
}

/// A node that a target of a policy leads to.
pub(super) struct AttachmentPoint {
    pub node: NodeId,
    /// The Namespace to whose requests the policy is limited.
    pub from: Option<NodeId>,
    pub via: Via,
}

/// Boxed: errors are rare, and larger than what is found.
pub(super) type Resolved<T> = Result<T, Box<AttachmentError>>;

impl<'o> TargetResolver<'o> {
    pub fn new(objects: &'o Objects, topology: &'o Topology) -> Self {
        TargetResolver { objects, topology, selectable: Selectable::default(), hosts: HostIndex::default() }
    }

    /// Attaches a policy to the targets that it names itself.
    pub fn attach(&self, id: PolicyId, policy: &Policy, kind: &PolicyKind) -> Attached {
        let object = &self.objects[policy.object];
        let mut attached = Attached { problems: problems(object, policy, kind), ..Attached::default() };
        let refuse = |target: Option<usize>, error: Box<AttachmentError>| Refusal { policy: id, target, error };
        if let Some(invalid) = &policy.invalid {
            attached.refused.push(refuse(None, AttachmentError::InvalidPolicy(invalid.clone()).into()));
            return attached;
        }
        if kind.targets.bindings.is_some() || policy.disabled {
            return attached;
        }
        if policy.targets.is_empty() && !kind.targets.extension_ref {
            attached.refused.push(refuse(None, AttachmentError::NoTarget.into()));
        }
        if let Some(error) = mixed_targets(kind, &policy.targets) {
            attached.refused.push(refuse(None, error.into()));
            return attached;
        }
        for (i, target) in policy.targets.iter().enumerate() {
            match self.resolve(object, kind, target) {
                Ok(points) => attached.to.extend(points.into_iter().map(|AttachmentPoint { node, from, via }| {
                    Attachment { policy: id, node, via, from, patch: None }
                })),
                Err(error) => attached.refused.push(refuse(Some(i), error)),
            }
        }
        attached
    }

    /// The nodes that one target leads to.
    fn resolve(&self, policy: &Object, kind: &PolicyKind, target: &PolicyTarget) -> Resolved<Vec<AttachmentPoint>> {
        let for_all_requests = |node: NodeId| AttachmentPoint { node, from: None, via: Via::Target };
        match &target.spec {
            TargetSpec::Selected(selector) => self.select_objects(policy, kind, selector),
            TargetSpec::OwnNamespace => {
                Ok(self.namespace(&policy.id.namespace).into_iter().map(for_all_requests).collect())
            }
            TargetSpec::Chosen(selection) => {
                Ok(self.select_by_labels(policy, kind, selection)?.into_iter().map(for_all_requests).collect())
            }
            TargetSpec::Host(host) => match &kind.targets.hosts {
                Some(hosts) => self.resolve_host(policy, kind, hosts, host),
                None => Ok(Vec::new()),
            },
            TargetSpec::Object { group, kind: target_kind, namespace, name, section } => {
                let id = self.object_ref(policy, group, target_kind, namespace.as_ref(), name);
                let from = self.consumer(policy, kind, &id)?;
                let node = self.topology.find(self.objects, &id).ok_or_else(|| self.not_found(&id))?;
                let node = match section {
                    Some(section) => self.section(kind, node, section)?,
                    None => node,
                };
                self.check_targetable(kind, node)?;
                Ok(vec![AttachmentPoint { node, from, via: Via::Target }])
            }
        }
    }

    pub(super) fn namespace(&self, name: &str) -> Option<NodeId> {
        self.topology.find_namespace(self.objects, name)
    }

    /// The object that a reference names: a cluster-scoped one, or else one in the policy's namespace unless another
    /// namespace is given.
    fn object_ref(
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

    /// The Namespace to whose requests a policy on this target is limited. An error if the policy may not target it.
    pub(super) fn consumer(&self, policy: &Object, kind: &PolicyKind, target: &ObjectRef) -> Resolved<Option<NodeId>> {
        let own = &policy.id.namespace;
        if own.is_empty() || target.namespace == *own {
            return Ok(None);
        }
        let policy_kind = || kind.kind.clone();
        Err(Box::new(if target.namespace.is_empty() {
            let is_own_namespace = target.group.is_empty() && target.kind == "Namespace" && target.name == *own;
            if is_own_namespace || kind.targets.cluster_targets || kind.hierarchy.root_namespace.as_ref() == Some(own) {
                return Ok(None);
            }
            if target.kind == "Namespace" {
                AttachmentError::NamespaceNotOwn { target: target.clone(), namespace: own.clone() }
            } else {
                AttachmentError::ClusterScopedTarget { policy_kind: policy_kind(), target: target.clone() }
            }
        } else {
            match kind.targets.cross_namespace {
                CrossNamespace::Consumer => return Ok(self.namespace(own)),
                CrossNamespace::Granted if self.is_granted(&policy.id, target) => return Ok(None),
                CrossNamespace::Granted => AttachmentError::NotGranted {
                    policy_kind: policy_kind(),
                    namespace: own.clone(),
                    target: target.clone(),
                },
                CrossNamespace::Never => {
                    AttachmentError::OtherNamespace { policy_kind: policy_kind(), target: target.clone() }
                }
            }
        }))
    }

    fn is_granted(&self, from: &ObjectRef, to: &ObjectRef) -> bool {
        self.topology.grants().permit(self.objects, from, &to.group, &to.kind, &to.namespace, &to.name)
    }

    fn section(&self, kind: &PolicyKind, owner: NodeId, section: &SmolStr) -> Resolved<NodeId> {
        let target = || self.topology.id(self.objects, owner).clone();
        let section = section.clone();
        if !kind.targets.sections {
            let policy_kind = kind.kind.clone();
            return Err(AttachmentError::SectionNotTargetable { policy_kind, target: target(), section }.into());
        }
        self.topology.section(owner, &section).ok_or_else(|| {
            let sections = self.topology.sections(owner);
            let available = sections.filter_map(|node| self.topology[node].section.clone()).collect();
            Box::new(AttachmentError::SectionNotFound { target: target(), section, available })
        })
    }

    /// An error if policies of the kind cannot target a node.
    pub(super) fn check_targetable(&self, kind: &PolicyKind, node: NodeId) -> Resolved<()> {
        let id = self.topology.id(self.objects, node);
        let level = self.topology[node].level;
        let is_one_of =
            |names: &[LevelName], level: Level| names.iter().any(|name| name.includes(level, &id.group, &id.kind));
        let is_virtual = kind.targets.virtual_targets.iter().any(|name| name.is(&id.group, &id.kind));
        // A kind that may target an object may target its sections, if they are part of its hierarchy.
        let owner = self.topology[self.topology.whole(node)].level;
        let by_owner =
            level.is_section() && is_one_of(&kind.hierarchy.levels, level) && is_one_of(&kind.targets.allowed, owner);
        let policy_kind = kind.kind.clone();
        if !(is_virtual || is_one_of(&kind.targets.allowed, level) || by_owner) {
            let target = self.topology.node_ref(self.objects, node);
            let allowed = kind.targets.allowed.to_vec();
            return Err(AttachmentError::NotTargetable { policy_kind, target, allowed }.into());
        }
        if kind.targets.own_port {
            let sharing = ports::sharing(self.objects, self.topology, node);
            if !sharing.is_empty() {
                let listeners = sharing.into_iter().map(|node| self.topology.node_ref(self.objects, node)).collect();
                return Err(AttachmentError::SharedPort { policy_kind, listeners }.into());
            }
        }
        Ok(())
    }

    fn not_found(&self, target: &ObjectRef) -> AttachmentError {
        let same_kind = self.objects.each_of_kind(&target.group, &target.kind).map(|(_, object)| &object.id);
        let beside = same_kind.filter(|other| other.namespace == target.namespace).map(|other| other.name.as_str());
        let similar = names::nearest(&target.name, beside).first().map(SmolStr::new);
        AttachmentError::TargetNotFound { target: target.clone(), similar }
    }
}

/// What is wrong with a policy that can be used all the same.
fn problems(object: &Object, policy: &Policy, kind: &PolicyKind) -> Vec<Problem> {
    let mut problems = Vec::new();
    if !kind.versions.is_empty() && !kind.versions.contains(&object.version) {
        let message = format!("`{}` is not a known version of {}", object.version, kind.full_name());
        let help = format!("it is read as {}", kind.versions.join(", "));
        problems.push(Problem::warning(message).code(ProblemCode::UnknownVersion).about(object).help(help));
    }
    if let Some(path) = &policy.ignored_selection {
        let problem = Problem::warning("the selector counts for nothing: the policy names its targets")
            .code(ProblemCode::IgnoredField);
        problems.push(problem.at(object, path.clone()).help("keep one of the two"));
    }
    problems
}

/// The error of a policy that targets something that must be targeted alone, and something else.
fn mixed_targets(kind: &PolicyKind, targets: &[PolicyTarget]) -> Option<AttachmentError> {
    let kinds = || targets.iter().filter_map(|target| target.spec.kind());
    let alone = kinds().find(|(group, it)| kind.targets.unmixed.iter().any(|name| name.names(group, it)))?;
    let other = kinds().find(|other| *other != alone)?;
    Some(AttachmentError::MixedTargets { policy_kind: kind.kind.clone(), alone: alone.1.into(), other: other.1.into() })
}
