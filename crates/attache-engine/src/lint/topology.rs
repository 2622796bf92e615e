//! Links that objects ask for and do not get.

use super::policies::grant;
use super::subject::Subject;
use super::{Findings, Rule, rule};
use crate::topology::{
    BackendRefusal, CertificateRefusal, ListenerRefusal, NodeId, ParentRefusal, RefusalCause, RefusedLink,
};
use crate::value::Path;

pub fn refused(subject: Subject<'_>, findings: &mut Findings) {
    let (topology, objects) = (subject.engine.topology(), subject.engine.objects());
    let refused: Vec<&RefusedLink> =
        topology.refused(objects).iter().filter(|refused| subject.includes(refused.by)).collect();
    for group in by_cause(&refused) {
        let Some(first) = group.first() else { continue };
        let Some(rule) = broken_by(&first.cause) else { continue };
        let object = &objects[first.by];
        let sections = group.iter().filter_map(|it| it.child.section.as_ref()).map(|name| format!("`{name}`"));
        let message = match &first.cause {
            cause if is_of_listener(first) => format!("{}: {cause}", listeners(&sections.collect::<Vec<_>>())),
            cause if is_of_parent_refs(first) && !topology.live(NodeId::whole(first.by)) => {
                format!("{cause}; nothing else leads to it")
            }
            cause => cause.to_string(),
        };
        let finding = rule.at(object, first.path.clone(), message);
        findings.push(match first.cause.missing_grant().filter(|_| !is_of_listener(first)) {
            Some(missing) => {
                finding.help(grant(&missing.from, &missing.to.group, &missing.to.kind, &missing.to.namespace))
            }
            None => finding,
        });
    }
}

/// Groups the refusals of listeners of one object that have the same cause. Listeners that conflict with each other are
/// one finding.
fn by_cause<'r>(refused: &[&'r RefusedLink]) -> Vec<Vec<&'r RefusedLink>> {
    let mut groups: Vec<Vec<&RefusedLink>> = Vec::new();
    // Refusals are sorted by parent: those of one object follow each other.
    for of_parent in refused.chunk_by(|a, b| a.parent == b.parent) {
        let start = groups.len();
        for &one in of_parent {
            let is_like_it = |group: &&mut Vec<&RefusedLink>| {
                is_of_listener(one) && group.first().is_some_and(|it| is_of_listener(it) && it.cause == one.cause)
            };
            match groups[start..].iter_mut().find(is_like_it) {
                Some(group) => group.push(one),
                None => groups.push(vec![one]),
            }
        }
    }
    groups
}

fn listeners(names: &[String]) -> String {
    match names {
        [one] => format!("listener {one}"),
        many => format!("listeners {}", many.join(", ")),
    }
}

/// Whether it is about one listener of the object.
fn is_of_listener(refused: &RefusedLink) -> bool {
    matches!(refused.cause, RefusalCause::Listener(_) | RefusalCause::Certificate(_)) && refused.child.section.is_some()
}

/// Whether a route asks for it in its parentRefs.
fn is_of_parent_refs(refused: &RefusedLink) -> bool {
    refused.path.starts_with(&Path::parse("spec.parentRefs"))
}

fn broken_by(cause: &RefusalCause) -> Option<&'static Rule> {
    Some(match cause {
        RefusalCause::Parent(refusal) => match refusal {
            ParentRefusal::NotFound(_)
            | ParentRefusal::NoSuchListener { .. }
            | ParentRefusal::NoSuchPort(_)
            | ParentRefusal::NotDelegated { .. } => &rule::DANGLING_PARENT,
            ParentRefusal::NotAllowedByListeners(_) => &rule::ROUTE_NOT_ALLOWED,
            ParentRefusal::NoCommonHostname { .. } => &rule::NO_COMMON_HOSTNAME,
            ParentRefusal::Conflicted { .. } => &rule::CONFLICTED_ROUTE,
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
            ListenerRefusal::UnsupportedRouteKinds(_) => &rule::INVALID_ROUTE_KINDS,
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
