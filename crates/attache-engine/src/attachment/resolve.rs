//! From the targets of a policy to nodes.

use std::sync::OnceLock;

use smol_str::SmolStr;

use super::hosts::HostIndex;
use super::label_selection::Selectable;
use super::paths::RoutePaths;
use super::{Attached, Attachment, AttachmentError, Refusal, Standing, TargetSuggestion, Via, ports};
use crate::kinds::{CrossNamespace, LevelName, PolicyKind, WithoutTarget};
use crate::names;
use crate::object::{Object, ObjectRef, Objects};
use crate::policy::{Policy, PolicyId, PolicyTarget, TargetSpec, check_target};
use crate::problem::{Problem, ProblemCode};
use crate::topology::{Level, NodeId, Topology, sections};

/// Finds the nodes that policies target.
pub(crate) struct TargetResolver<'o> {
    pub(super) objects: &'o Objects,
    pub(super) topology: &'o Topology,
    pub(super) selectable: Selectable<'o>,
    pub(super) hosts: HostIndex,
    paths: OnceLock<RoutePaths>,
}

/// A node that a target of a policy resolves to.
pub(super) struct AttachmentPoint {
    pub node: NodeId,
    /// The Namespace to whose requests the policy is limited.
    pub from: Option<NodeId>,
    pub via: Via,
    pub standing: Standing,
}

impl AttachmentPoint {
    pub fn new(node: NodeId, from: Option<NodeId>, via: Via) -> Self {
        AttachmentPoint { node, from, via, standing: Standing::Accepted }
    }

    /// Where a policy that is refused for an error conflicts with newer policies nevertheless.
    pub fn claim(node: NodeId, from: Option<NodeId>, error: &AttachmentError) -> Option<Self> {
        let claim = || AttachmentPoint { standing: Standing::Claim, ..AttachmentPoint::new(node, from, Via::Target) };
        matches!(error, AttachmentError::InvalidForTarget { .. }).then(claim)
    }
}

/// The nodes that a target of a policy resolves to, and the refusals of others.
pub(super) struct ResolvedTarget {
    pub points: Vec<AttachmentPoint>,
    pub refused: Vec<AttachmentError>,
}

impl From<Vec<AttachmentPoint>> for ResolvedTarget {
    fn from(points: Vec<AttachmentPoint>) -> Self {
        ResolvedTarget { points, refused: Vec::new() }
    }
}

/// The error is boxed because errors are rare, and larger than the result.
pub(super) type Resolved<T> = Result<T, Box<AttachmentError>>;

impl<'o> TargetResolver<'o> {
    pub fn new(objects: &'o Objects, topology: &'o Topology) -> Self {
        let (selectable, hosts) = (Selectable::default(), HostIndex::default());
        TargetResolver { objects, topology, selectable, hosts, paths: OnceLock::new() }
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
        if kind.targets.bindings.is_some() || policy.is_left_out() {
            return attached;
        }
        let waits = kind.targets.extension_ref || kind.targets.without_target == WithoutTarget::Nothing;
        if policy.targets.is_empty() && !waits {
            attached.refused.push(refuse(None, AttachmentError::NoTarget.into()));
        }
        if let Some(error) = mixed_targets(kind, &policy.targets) {
            attached.refused.push(refuse(None, error.into()));
            return attached;
        }
        for (i, target) in policy.targets.iter().enumerate() {
            match self.resolve(object, kind, target) {
                Ok(ResolvedTarget { points, refused }) => {
                    let attachment = |AttachmentPoint { node, from, via, standing }| Attachment {
                        policy: id,
                        node,
                        via,
                        from,
                        patch: None,
                        standing,
                    };
                    attached.to.extend(points.into_iter().map(attachment));
                    attached.refused.extend(refused.into_iter().map(|error| refuse(Some(i), error.into())));
                }
                Err(error) => attached.refused.push(refuse(Some(i), error)),
            }
        }
        if let Some(error) = self.shared_path(kind, &attached.to) {
            attached.to.clear();
            attached.refused.push(refuse(None, error.into()));
        }
        attached
    }

    /// The nodes that one target resolves to.
    fn resolve(&self, policy: &Object, kind: &PolicyKind, target: &PolicyTarget) -> Resolved<ResolvedTarget> {
        let for_all_requests = |node: NodeId| AttachmentPoint::new(node, None, Via::Target);
        match &target.spec {
            TargetSpec::Selected(selector) => self.select_objects(policy, kind, selector),
            TargetSpec::OwnNamespace => {
                Ok(self.namespace(&policy.id.namespace).into_iter().map(for_all_requests).collect::<Vec<_>>().into())
            }
            TargetSpec::Chosen(selection) => {
                let selected = self.select_by_labels(policy, kind, selection)?.into_iter();
                Ok(selected.map(for_all_requests).collect::<Vec<_>>().into())
            }
            TargetSpec::Host(host) => match &kind.targets.hosts {
                Some(hosts) => Ok(self.resolve_host(policy, kind, hosts, host)?.into()),
                None => Ok(Vec::new().into()),
            },
            TargetSpec::Object { group, kind: target_kind, namespace, name, section } => {
                let id = self.object_ref(policy, group, target_kind, namespace.as_ref(), name);
                let from = self.consumer(policy, kind, &id)?;
                let node = self.topology.find(self.objects, &id).ok_or_else(|| self.not_found(&id))?;
                let node = match section {
                    Some(section) => self.section(kind, node, section)?,
                    None => node,
                };
                if let Err(error) = self.check_targetable(policy, kind, node) {
                    return match AttachmentPoint::claim(node, from, &error) {
                        Some(claim) => Ok(ResolvedTarget { points: vec![claim], refused: vec![*error] }),
                        None => Err(error),
                    };
                }
                let mut nodes = vec![node];
                if let Some(gateway) = self.topology[node].owner.object().filter(|_| self.is_gateway(node))
                    && kind.hierarchy.attaches_to_pods(&self.objects[gateway])
                {
                    nodes.extend(self.pods_of_gateway(&id));
                }
                if let Some(shared) = self.shared_port(kind, node, from) {
                    return Ok(shared);
                }
                let point = |node| AttachmentPoint::new(node, from, Via::Target);
                Ok(nodes.into_iter().map(point).collect::<Vec<_>>().into())
            }
        }
    }

    fn is_gateway(&self, node: NodeId) -> bool {
        self.topology[node].level == Level::Gateway
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
        let in_cluster = ObjectRef::from_parts(group, kind, SmolStr::default(), name);
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
        let is_targetable = |node: &NodeId| kind.targets.numbered_rules || !self.is_unnamed_rule(*node);
        let mut sections = self.topology.sections(owner).filter(is_targetable);
        let is_meant = |node: &NodeId| self.topology[*node].section.as_ref() == Some(&section);
        sections.clone().find(is_meant).ok_or_else(|| {
            let has_unnamed = sections.clone().count() < self.topology.sections(owner).len();
            let available = sections.by_ref().filter_map(|node| self.topology[node].section.clone()).collect();
            Box::new(AttachmentError::SectionNotFound { target: target(), section, available, has_unnamed })
        })
    }

    /// Whether a node is a rule that has a number and no name.
    fn is_unnamed_rule(&self, node: NodeId) -> bool {
        self.topology[node].level == Level::RouteRule
            && self.topology.section_value(self.objects, node).is_none_or(|rule| sections::own_name(rule).is_none())
    }

    /// An error if policies of the kind cannot target a node.
    pub(super) fn check_targetable(&self, policy: &Object, kind: &PolicyKind, node: NodeId) -> Resolved<()> {
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
        if let Some(message) = check_target(policy.spec(), kind, id) {
            let target = self.topology.node_ref(self.objects, node);
            return Err(AttachmentError::InvalidForTarget { target, message }.into());
        }
        Ok(())
    }

    /// What becomes of a policy whose target shares a port with listeners beside it, for kinds that need ports of their own.
    /// It is refused. On a listener it keeps its place. On a ListenerSet it is in force on the other listeners.
    pub(super) fn shared_port(&self, kind: &PolicyKind, node: NodeId, from: Option<NodeId>) -> Option<ResolvedTarget> {
        if !kind.targets.own_port {
            return None;
        }
        let ports = ports::shared(self.objects, self.topology, node)?;
        let named = |node: NodeId| self.topology.node_ref(self.objects, node);
        let error = AttachmentError::SharedPort {
            policy_kind: kind.kind.clone(),
            target: named(node),
            listeners: ports.beside.into_iter().map(named).collect(),
        };
        let point = |node, standing| AttachmentPoint { standing, ..AttachmentPoint::new(node, from, Via::Target) };
        let is_listener = self.topology[node].level == Level::Listener;
        let own = if is_listener { Standing::Void } else { Standing::Excluded };
        let whole = match ports.has_others {
            true => Some(Standing::Accepted),
            false => (!is_listener).then_some(Standing::Claim),
        };
        let own = ports.own.into_iter().map(|listener| point(listener, own));
        let points = own.chain(whole.map(|standing| point(node, standing))).collect();
        Some(ResolvedTarget { points, refused: vec![error] })
    }

    /// The error of a policy on a route that has the same hostname and path as another, for kinds that need paths of their own.
    fn shared_path(&self, kind: &PolicyKind, attached: &[Attachment]) -> Option<AttachmentError> {
        if !kind.targets.own_paths {
            return None;
        }
        let whole = attached.iter().map(|it| self.topology.whole(it.node));
        let routes: Vec<NodeId> = whole.filter(|node| self.topology[*node].level == Level::Route).collect();
        if routes.is_empty() {
            return None;
        }
        let paths = self.paths.get_or_init(|| RoutePaths::new(self.objects, self.topology));
        let (target, other) = paths.shared(self.objects, self.topology, &routes)?;
        let [target, other] = [target, other].map(|node| self.topology.node_ref(self.objects, node));
        Some(AttachmentError::SharedPath { policy_kind: kind.kind.clone(), target, other })
    }

    fn not_found(&self, target: &ObjectRef) -> AttachmentError {
        AttachmentError::TargetNotFound { target: target.clone(), suggestion: self.suggestion(target) }
    }

    fn suggestion(&self, target: &ObjectRef) -> Option<TargetSuggestion> {
        if let Some((group, _)) = target.group.rsplit_once('/') {
            return Some(TargetSuggestion::Group(group.into()));
        }
        let mut kinds = names::known_kinds().chain(self.objects.kinds());
        let is_written_otherwise =
            |(_, kind): &(&str, &str)| *kind != target.kind && kind.eq_ignore_ascii_case(&target.kind);
        if let Some((_, kind)) = kinds.find(is_written_otherwise) {
            return Some(TargetSuggestion::Kind(kind.into()));
        }
        let same_kind = self.objects.each_of_kind(&target.group, &target.kind).map(|(_, object)| &object.id);
        let beside = same_kind.filter(|other| other.namespace == target.namespace).map(|other| other.name.as_str());
        names::nearest(&target.name, beside).first().map(|name| TargetSuggestion::Name((*name).into()))
    }
}

/// Problems of a policy that do not prevent its use.
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

/// The error of a policy that targets an object that must be targeted alone together with another one.
fn mixed_targets(kind: &PolicyKind, targets: &[PolicyTarget]) -> Option<AttachmentError> {
    let kinds = || targets.iter().filter_map(|target| target.spec.kind());
    let alone = kinds().find(|(group, it)| kind.targets.unmixed.iter().any(|name| name.names(group, it)))?;
    let other = kinds().find(|other| *other != alone)?;
    Some(AttachmentError::MixedTargets { policy_kind: kind.kind.clone(), alone: alone.1.into(), other: other.1.into() })
}
