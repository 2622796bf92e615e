//! Why a policy is not attached.

use std::fmt;

use smol_str::SmolStr;

use crate::kinds::LevelName;
use crate::object::ObjectRef;
use crate::policy::{InvalidPolicy, PolicyId};
use crate::topology::{NodeRef, Shortlist};

/// A policy, or one of its targets, that is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The policy.
    pub policy: PolicyId,
    /// The position of the target in the policy; `None` if all targets are refused.
    pub target: Option<usize>,
    /// Why it is refused.
    pub error: Box<AttachmentError>,
}

impl Refusal {
    /// The reason as GEP-713 names it.
    pub fn reason(&self) -> RejectionReason {
        self.error.reason()
    }
}

/// Why a policy is not accepted, as GEP-713 names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RejectionReason {
    /// An older policy holds the target.
    Conflicted,
    /// The policy cannot be used, or not for this target.
    Invalid,
    /// The target does not exist.
    TargetNotFound,
    /// The policy may not target something in another namespace.
    RefNotPermitted,
    /// The policy cannot apply to the target alone.
    TargetConflict,
}

impl RejectionReason {
    /// The reason as it is written in a condition.
    pub fn name(self) -> &'static str {
        match self {
            RejectionReason::Conflicted => "Conflicted",
            RejectionReason::Invalid => "Invalid",
            RejectionReason::TargetNotFound => "TargetNotFound",
            RejectionReason::RefNotPermitted => "RefNotPermitted",
            RejectionReason::TargetConflict => "TargetConflict",
        }
    }
}

/// What the author of a policy probably meant, if its target does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetSuggestion {
    /// The most similar name of an object of the same kind in the same namespace.
    Name(SmolStr),
    /// The same kind, spelt with other upper- and lower-case letters.
    Kind(SmolStr),
    /// The group without the version.
    Group(SmolStr),
}

impl fmt::Display for TargetSuggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetSuggestion::Name(name) => write!(f, "did you mean `{name}`?"),
            TargetSuggestion::Kind(kind) => write!(f, "did you mean kind `{kind}`?"),
            TargetSuggestion::Group(group) => write!(f, "a group has no version: write `{group}`"),
        }
    }
}

/// Why a policy is not attached to one of its targets, or to any. Its `Display` is a message for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttachmentError {
    /// Another policy is attached to the target, and the kind allows one only.
    Conflicted {
        /// The policy that is attached.
        winner: ObjectRef,
        /// Where the policy is rejected.
        target: NodeRef,
        /// What both target. A kind can reject a policy on all its targets because of one.
        at: NodeRef,
    },
    /// The policy cannot be used at all.
    InvalidPolicy(InvalidPolicy),
    /// The policy names no target.
    NoTarget,
    /// The policy targets two kinds of objects that cannot be targeted together.
    MixedTargets {
        /// The kind of the policy.
        policy_kind: SmolStr,
        /// The kind that must be targeted alone.
        alone: SmolStr,
        /// Another kind that is targeted.
        other: SmolStr,
    },
    /// Policies of the kind cannot target sections.
    SectionNotTargetable {
        /// The kind of the policy.
        policy_kind: SmolStr,
        /// The object.
        target: ObjectRef,
        /// The section of the object.
        section: SmolStr,
    },
    /// Policies of the kind cannot target this.
    NotTargetable {
        /// The kind of the policy.
        policy_kind: SmolStr,
        /// What the policy targets.
        target: NodeRef,
        /// What policies of the kind can target.
        allowed: Vec<LevelName>,
    },
    /// Another route, which the policy does not target, has the same hostname and path.
    SharedPath {
        /// The kind of the policy.
        policy_kind: SmolStr,
        /// What the policy targets.
        target: NodeRef,
        /// The other route.
        other: NodeRef,
    },
    /// Other plain HTTP listeners have the same port as the target.
    SharedPort {
        /// The kind of the policy.
        policy_kind: SmolStr,
        /// What the policy targets.
        target: NodeRef,
        /// The other listeners.
        listeners: Vec<NodeRef>,
    },
    /// The policy cannot be used for a target of this kind.
    InvalidForTarget {
        /// What the policy targets.
        target: NodeRef,
        /// What is wrong.
        message: String,
    },
    /// A policy of the root namespace cannot select targets.
    SelectorInRootNamespace {
        /// The root namespace.
        namespace: SmolStr,
    },
    /// The target does not exist.
    TargetNotFound {
        /// What the policy targets.
        target: ObjectRef,
        /// The likely intended target.
        suggestion: Option<TargetSuggestion>,
    },
    /// The object has no such section.
    SectionNotFound {
        /// The object.
        target: ObjectRef,
        /// The section that the policy targets.
        section: SmolStr,
        /// The sections of the object that a policy can target.
        available: Vec<SmolStr>,
        /// Whether the object has rules without a name.
        has_unnamed: bool,
    },
    /// A selector selects no object that the policy may target.
    NoObjectSelected {
        /// The kind of objects that is selected from.
        kind: SmolStr,
        /// Objects that the selector selects, but that no ReferenceGrant lets the policy target.
        ungranted: Shortlist<ObjectRef>,
    },
    /// A selector selects no Namespace.
    NoNamespaceSelected,
    /// A selector selects nothing in the namespace of the policy.
    NothingSelectedInNamespace {
        /// What is selected from.
        levels: Vec<LevelName>,
        /// The namespace of the policy.
        namespace: SmolStr,
    },
    /// A selector selects nothing in any namespace.
    NothingSelectedAnywhere {
        /// What is selected from.
        levels: Vec<LevelName>,
    },
    /// A selector selects nothing in the Namespaces that another one selects.
    NothingSelectedInNamespaces {
        /// What is selected from.
        levels: Vec<LevelName>,
    },
    /// No backend has the host.
    HostNotFound {
        /// The host, with its domain.
        host: SmolStr,
    },
    /// Policies of the kind are bound to targets by other objects, and none binds this one.
    NotBound {
        /// The kind of such objects.
        binding_kind: SmolStr,
    },
    /// All bindings of the policy only modify it where other bindings place it, and no other binding does.
    OnlyRestricted {
        /// The bindings.
        bindings: Vec<ObjectRef>,
    },
    /// The placements of the bindings select nothing.
    NothingPlaced {
        /// The bindings.
        bindings: Vec<ObjectRef>,
        /// The kind that placements select from.
        target_kind: SmolStr,
    },
    /// A Namespace can be targeted only from within it.
    NamespaceNotOwn {
        /// The Namespace that the policy targets.
        target: ObjectRef,
        /// The namespace of the policy.
        namespace: SmolStr,
    },
    /// The target is cluster-scoped, and the policy is not.
    ClusterScopedTarget {
        /// The kind of the policy.
        policy_kind: SmolStr,
        /// What the policy targets.
        target: ObjectRef,
    },
    /// Policies of the kind cannot target objects in other namespaces.
    OtherNamespace {
        /// The kind of the policy.
        policy_kind: SmolStr,
        /// What the policy targets.
        target: ObjectRef,
    },
    /// No ReferenceGrant lets the policy target an object in another namespace.
    NotGranted {
        /// The kind of the policy.
        policy_kind: SmolStr,
        /// The namespace of the policy.
        namespace: SmolStr,
        /// What the policy targets.
        target: ObjectRef,
    },
    /// The policy is exported to no client of the host.
    NotExported {
        /// The host, with its domain.
        host: SmolStr,
    },
}

impl AttachmentError {
    /// The target that the error concerns. `None` if it concerns the whole policy, or a selector.
    pub fn target(&self) -> Option<NodeRef> {
        match self {
            AttachmentError::Conflicted { target, .. }
            | AttachmentError::NotTargetable { target, .. }
            | AttachmentError::SharedPath { target, .. }
            | AttachmentError::SharedPort { target, .. }
            | AttachmentError::InvalidForTarget { target, .. } => Some(target.clone()),
            AttachmentError::SectionNotTargetable { target, section, .. }
            | AttachmentError::SectionNotFound { target, section, .. } => {
                Some(NodeRef { object: target.clone(), section: Some(section.clone()) })
            }
            AttachmentError::TargetNotFound { target, .. }
            | AttachmentError::NamespaceNotOwn { target, .. }
            | AttachmentError::ClusterScopedTarget { target, .. }
            | AttachmentError::OtherNamespace { target, .. }
            | AttachmentError::NotGranted { target, .. } => Some(target.into()),
            _ => None,
        }
    }

    /// The reason as GEP-713 names it.
    pub fn reason(&self) -> RejectionReason {
        match self {
            AttachmentError::Conflicted { .. } => RejectionReason::Conflicted,
            AttachmentError::InvalidPolicy(_)
            | AttachmentError::NoTarget
            | AttachmentError::MixedTargets { .. }
            | AttachmentError::SectionNotTargetable { .. }
            | AttachmentError::NotTargetable { .. }
            | AttachmentError::SharedPort { .. }
            | AttachmentError::InvalidForTarget { .. }
            | AttachmentError::SelectorInRootNamespace { .. } => RejectionReason::Invalid,
            AttachmentError::TargetNotFound { .. }
            | AttachmentError::SectionNotFound { .. }
            | AttachmentError::NoObjectSelected { .. }
            | AttachmentError::NoNamespaceSelected
            | AttachmentError::NothingSelectedInNamespace { .. }
            | AttachmentError::NothingSelectedAnywhere { .. }
            | AttachmentError::NothingSelectedInNamespaces { .. }
            | AttachmentError::HostNotFound { .. }
            | AttachmentError::NotBound { .. }
            | AttachmentError::OnlyRestricted { .. }
            | AttachmentError::NothingPlaced { .. } => RejectionReason::TargetNotFound,
            AttachmentError::NamespaceNotOwn { .. }
            | AttachmentError::ClusterScopedTarget { .. }
            | AttachmentError::OtherNamespace { .. }
            | AttachmentError::NotGranted { .. }
            | AttachmentError::NotExported { .. } => RejectionReason::RefNotPermitted,
            AttachmentError::SharedPath { .. } => RejectionReason::TargetConflict,
        }
    }
}

impl fmt::Display for AttachmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttachmentError::Conflicted { winner, at, .. } => write!(f, "{winner} has attached to {at} before it"),
            AttachmentError::InvalidPolicy(invalid) => write!(f, "{}: {}", invalid.path, invalid.message),
            AttachmentError::NoTarget => f.write_str("it names no target"),
            AttachmentError::MixedTargets { policy_kind, alone, other } => {
                write!(f, "{policy_kind} cannot target a {alone} and a {other} at once")
            }
            AttachmentError::SectionNotTargetable { policy_kind, target, section } => {
                write!(f, "{policy_kind} cannot target a section, `{section}` of {target}")
            }
            AttachmentError::NotTargetable { policy_kind, target, allowed } => {
                write!(f, "{policy_kind} cannot target {target}, only {}", joined(allowed, ", "))
            }
            AttachmentError::InvalidForTarget { message, .. } => f.write_str(message),
            AttachmentError::SharedPath { policy_kind, target, other } => write!(
                f,
                "{other} has the same hostname, port and path as {target}: {policy_kind} cannot target one of them alone"
            ),
            AttachmentError::SharedPort { policy_kind, listeners, .. } => write!(
                f,
                "{policy_kind} is being applied to multiple http (non https) listeners ({}) on the same port, which is not allowed",
                joined(listeners, ", ")
            ),
            AttachmentError::SelectorInRootNamespace { namespace } => {
                write!(f, "in the root namespace `{namespace}` it holds for everything and cannot have a selector")
            }
            AttachmentError::TargetNotFound { target, suggestion } => {
                write!(f, "{target} does not exist")?;
                suggestion.as_ref().map_or(Ok(()), |suggestion| write!(f, "; {suggestion}"))
            }
            AttachmentError::SectionNotFound { target, section, available, has_unnamed } => {
                write!(f, "{target} has no section `{section}`: ")?;
                match available.as_slice() {
                    [] if *has_unnamed => f.write_str("its rules have no names"),
                    [] => f.write_str("it has no sections"),
                    [first, more @ ..] => {
                        write!(f, "it has `{first}`")?;
                        more.iter().try_for_each(|name| write!(f, ", `{name}`"))?;
                        if *has_unnamed { f.write_str(", and rules without a name") } else { Ok(()) }
                    }
                }
            }
            AttachmentError::NoObjectSelected { kind, ungranted } => {
                write!(f, "the selector selects no {kind} that may be targeted")?;
                let Some(first) = ungranted.first.first() else { return Ok(()) };
                write!(f, ": no ReferenceGrant lets it target {first}")?;
                match ungranted.first.len() - 1 + ungranted.more {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            AttachmentError::NoNamespaceSelected => f.write_str("the selector selects no Namespace"),
            AttachmentError::NothingSelectedInNamespace { levels, namespace } => {
                write!(f, "the selector selects no {} in namespace `{namespace}`", any_of(levels))
            }
            AttachmentError::NothingSelectedAnywhere { levels } => {
                write!(f, "the selector selects no {} in any namespace", any_of(levels))
            }
            AttachmentError::NothingSelectedInNamespaces { levels } => {
                write!(f, "the selector selects no {} in the Namespaces that it selects", any_of(levels))
            }
            AttachmentError::HostNotFound { host } => write!(f, "no Service or other backend has the host `{host}`"),
            AttachmentError::NotBound { binding_kind } => write!(f, "no {binding_kind} binds it"),
            AttachmentError::OnlyRestricted { bindings } => {
                write!(f, "{} only changes it where others place it, and none does", joined(bindings, ", "))
            }
            AttachmentError::NothingPlaced { bindings, target_kind } => {
                write!(f, "the placements of {} choose no {target_kind}", joined(bindings, ", "))
            }
            AttachmentError::NamespaceNotOwn { target, namespace } => {
                write!(f, "{target} can be targeted only from within it, and the policy is in namespace `{namespace}`")
            }
            AttachmentError::ClusterScopedTarget { policy_kind, target } => {
                write!(f, "{target} is cluster-scoped and {policy_kind} is not")
            }
            AttachmentError::OtherNamespace { policy_kind, target } => {
                write!(f, "{target} is in another namespace than the policy, which {policy_kind} does not allow")
            }
            AttachmentError::NotGranted { policy_kind, namespace, target } => write!(
                f,
                "no ReferenceGrant in namespace `{}` lets {policy_kind} in namespace `{namespace}` target {target}",
                target.namespace
            ),
            AttachmentError::NotExported { host } => {
                write!(f, "no client of `{host}` sees it: it is exported to none")
            }
        }
    }
}

impl std::error::Error for AttachmentError {}

fn joined<T: fmt::Display>(list: &[T], separator: &str) -> String {
    let words: Vec<String> = list.iter().map(ToString::to_string).collect();
    words.join(separator)
}

fn any_of(levels: &[LevelName]) -> String {
    joined(levels, " or ").to_lowercase()
}
