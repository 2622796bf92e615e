//! Refused links of routes, rules, listeners and ListenerSets.

use std::fmt;

use smol_str::SmolStr;

use super::attachments::add_grant;
use super::finding::{Finding, FindingCause, Findings};
use super::rule::{self, Rule};
use super::subject::LintSubject;
use crate::object::ObjectRef;
use crate::topology::{
    BackendRefusal, CertificateRefusal, DelegationRefusal, ListenerRefusal, NodeId, ParentRefusal, RefusalCause,
    RefusedLink,
};
use crate::value::Path;

/// A link that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkFinding {
    /// Why it is refused.
    pub cause: RefusalCause,
    /// The refused listeners, if the link is one of listeners.
    pub listeners: Vec<SmolStr>,
    /// Whether the route receives no requests at all, because no other parent of it does.
    pub is_unreachable: bool,
    /// The other end of the link. It need not exist.
    pub other: ObjectRef,
}

impl LinkFinding {
    pub(super) fn related(&self) -> Vec<&ObjectRef> {
        vec![&self.other]
    }

    pub(super) fn help(&self) -> Option<String> {
        let missing = self.cause.missing_grant().filter(|_| self.listeners.is_empty())?;
        Some(add_grant(&missing.from, &missing.to))
    }
}

impl fmt::Display for LinkFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinkFinding { cause, listeners, is_unreachable, .. } = self;
        match listeners.as_slice() {
            [] => {}
            [one] => write!(f, "listener `{one}`: ")?,
            several => write!(f, "listeners `{}`: ", several.join("`, `"))?,
        }
        cause.fmt(f)?;
        if *is_unreachable { f.write_str("; the route receives no requests") } else { Ok(()) }
    }
}

pub fn refused(subject: LintSubject<'_>, findings: &mut Findings) {
    let (topology, objects) = (subject.engine.topology(), subject.engine.objects());
    let refused = subject.refused();
    for group in by_cause(&refused) {
        let Some(first) = group.first() else { continue };
        let Some(rule) = broken_rule(&first.cause) else { continue };
        let object = &objects[first.by];
        let is_listener = is_of_listener(first);
        let listeners = group.iter().filter_map(|refused| refused.child.section.clone()).filter(|_| is_listener);
        let other = if first.child.object == object.id { &first.parent } else { &first.child };
        if is_missing(&first.cause) && subject.engine.kinds().may_be_unread(&other.object) {
            continue;
        }
        let finding = LinkFinding {
            cause: first.cause.clone(),
            listeners: listeners.collect(),
            is_unreachable: is_of_parent_refs(first) && !topology.live(NodeId::whole(first.by)),
            other: other.object.clone(),
        };
        findings.push(Finding::new(rule, object, first.path.clone(), FindingCause::Link(finding.into())));
    }
}

/// Groups the refusals of listeners of one object that have the same cause. Listeners that conflict with each other are
/// one finding.
fn by_cause(refused: &[RefusedLink]) -> Vec<Vec<&RefusedLink>> {
    let mut groups: Vec<Vec<&RefusedLink>> = Vec::new();
    // Refusals are sorted by parent, so those of one object are adjacent.
    for of_parent in refused.chunk_by(|a, b| a.parent == b.parent) {
        let start = groups.len();
        for refusal in of_parent {
            let has_same_cause = |group: &&mut Vec<&RefusedLink>| {
                let first = group.first().filter(|first| is_of_listener(first) && is_of_listener(refusal));
                first.is_some_and(|first| first.cause == refusal.cause)
            };
            match groups[start..].iter_mut().find(has_same_cause) {
                Some(group) => group.push(refusal),
                None => groups.push(vec![refusal]),
            }
        }
    }
    groups
}

/// Whether a refusal is about one listener of the object.
fn is_of_listener(refused: &RefusedLink) -> bool {
    matches!(refused.cause, RefusalCause::Listener(_) | RefusalCause::Certificate(_)) && refused.child.section.is_some()
}

/// Whether the link is refused because an object does not exist.
fn is_missing(cause: &RefusalCause) -> bool {
    matches!(
        cause,
        RefusalCause::Parent(ParentRefusal::NotFound(_))
            | RefusalCause::Backend(BackendRefusal::NotFound(_))
            | RefusalCause::Delegation(DelegationRefusal::NotFound(_))
    )
}

/// Whether the link comes from the parentRefs of a route.
fn is_of_parent_refs(refused: &RefusedLink) -> bool {
    refused.path.starts_with(&Path::parse("spec.parentRefs"))
}

fn broken_rule(cause: &RefusalCause) -> Option<&'static Rule> {
    Some(match cause {
        RefusalCause::Parent(refusal) => match refusal {
            ParentRefusal::NotFound(_)
            | ParentRefusal::NoSuchListener { .. }
            | ParentRefusal::NoSuchPort(_)
            | ParentRefusal::NotDelegated { .. } => &rule::DANGLING_PARENT,
            ParentRefusal::NotAllowedByListeners(_) => &rule::ROUTE_NOT_ALLOWED,
            ParentRefusal::NoCommonHostname { .. } => &rule::NO_COMMON_HOSTNAME,
            ParentRefusal::Conflicted { .. }
            | ParentRefusal::NotOldest { .. }
            | ParentRefusal::BesideTlsRoute { .. } => &rule::CONFLICTED_ROUTE,
            ParentRefusal::ListenerSetNotAllowed { .. } => &rule::LISTENER_SET_NOT_ALLOWED,
        },
        RefusalCause::Backend(refusal) => match refusal {
            BackendRefusal::NotFound(_) | BackendRefusal::NoSuchPort(_) => &rule::DANGLING_BACKEND,
            BackendRefusal::InvalidKind { .. } => &rule::WRONG_BACKEND_KIND,
            BackendRefusal::NotGranted(_) => &rule::MISSING_GRANT,
        },
        RefusalCause::Delegation(_) => &rule::REFUSED_DELEGATION,
        RefusalCause::Listener(refusal) => match refusal {
            ListenerRefusal::NoListeners => &rule::NO_LISTENERS,
            // Each listener has a finding of its own.
            ListenerRefusal::NoneValid => return None,
            ListenerRefusal::ConflictsWithOlder { .. } | ListenerRefusal::ConflictsWithin { .. } => {
                &rule::LISTENER_CONFLICT
            }
            ListenerRefusal::UnsupportedProtocol(_) => &rule::UNSUPPORTED_PROTOCOL,
            ListenerRefusal::UnsupportedRouteKinds { .. } => &rule::INVALID_ROUTE_KINDS,
            ListenerRefusal::NoTrustedClients => &rule::INVALID_CERTIFICATE,
        },
        RefusalCause::Certificate(refusal) => match refusal {
            CertificateRefusal::NotGranted(_) => &rule::MISSING_GRANT,
            CertificateRefusal::InvalidKind(_)
            | CertificateRefusal::NotFound(_)
            | CertificateRefusal::NotPem { .. }
            | CertificateRefusal::InvalidAuthorityKind(_)
            | CertificateRefusal::AuthorityNotFound(_) => &rule::INVALID_CERTIFICATE,
        },
    })
}
