//! Kinds that may not be read, and what that could hide.

use std::fmt;

use attache_engine::kinds::UnreadKind;
use attache_engine::{GroupKind, plural};

/// A kind of which not all objects could be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unseen {
    /// `plural.group`, as RBAC names it.
    pub resource: String,
    /// The API group of the objects.
    pub group: String,
    /// The kind of the objects.
    pub kind: String,
    /// Why they could not be read.
    pub reason: UnseenReason,
    /// The namespaces in which they could be read.
    pub seen_in: Vec<String>,
    /// The role of the objects.
    pub role: ObjectRole,
}

/// The role of objects in answers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectRole {
    /// They are policies.
    Policies,
    /// They have settings of a controller, which set these fields of policy kinds.
    Settings(Vec<&'static str>),
    /// They are targets of policies, or describe kinds.
    Others,
}

/// Why objects could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnseenReason {
    /// The user may not list them.
    Forbidden,
    /// The server could not list them, with its message.
    Failed(String),
}

impl Unseen {
    /// The kind, for the engine.
    pub fn unread_kind(&self) -> UnreadKind {
        let read_in = self.seen_in.iter().map(Into::into).collect();
        UnreadKind { kind: GroupKind::new(&self.group, &self.kind), read_in }
    }

    /// Why the objects could not be read, in words.
    pub fn cause(&self) -> String {
        const MOST: usize = 3;
        match &self.reason {
            UnseenReason::Forbidden if self.seen_in.is_empty() => format!("you may not list {}", self.resource),
            UnseenReason::Forbidden => {
                let shown: Vec<String> = self.seen_in.iter().take(MOST).map(|it| format!("`{it}`")).collect();
                let more = match self.seen_in.len() - shown.len() {
                    0 => String::new(),
                    more => format!(" and {more} more namespaces"),
                };
                format!("you may list {} only in {}{more}", self.resource, shown.join(", "))
            }
            UnseenReason::Failed(message) => format!("{} could not be listed ({message})", self.resource),
        }
    }

    /// What could be different if the objects were known.
    pub fn hides(&self) -> String {
        let many = plural(&self.kind);
        match (&self.role, self.kind.as_str()) {
            (ObjectRole::Policies, _) => format!("{many} may affect what is shown"),
            (ObjectRole::Settings(fields), _) => {
                format!("settings of a controller are assumed to be its defaults ({})", fields.join(", "))
            }
            (ObjectRole::Others, "Namespace") => {
                "what selects namespaces by their labels may select more than is shown".into()
            }
            (ObjectRole::Others, "GatewayClass") => "which controller handles a Gateway is not known".into(),
            (ObjectRole::Others, "ReferenceGrant") => {
                "references to other namespaces may be permitted though they are shown as refused".into()
            }
            (ObjectRole::Others, "CustomResourceDefinition") => {
                "policy kinds that only their CRD describes, and defaults of fields, are not known".into()
            }
            (ObjectRole::Others, "GatewayController") => {
                "which Gateways a policy kind is for may not be as described".into()
            }
            (ObjectRole::Others, "PolicyKind") => {
                "kinds that are described in the cluster are not known, or not as described".into()
            }
            (ObjectRole::Others, _) => format!("{many} may exist that are not shown, and what depends on them"),
        }
    }
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.cause(), self.hides())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unseen(resource: &str, kind: &str, seen_in: &[&str], role: ObjectRole) -> String {
        let seen_in = seen_in.iter().map(|it| (*it).into()).collect();
        let (group, reason) = (String::new(), UnseenReason::Forbidden);
        Unseen { resource: resource.into(), group, kind: kind.into(), reason, seen_in, role }.to_string()
    }

    #[test]
    fn unseen_kinds_are_named_with_their_possible_effect() {
        assert_eq!(
            unseen("retrypolicies.example.io", "RetryPolicy", &[], ObjectRole::Policies),
            "you may not list retrypolicies.example.io: RetryPolicies may affect what is shown"
        );
        assert_eq!(
            unseen("gateways.gateway.networking.k8s.io", "Gateway", &["a", "b", "c", "d"], ObjectRole::Others),
            "you may list gateways.gateway.networking.k8s.io only in `a`, `b`, `c` and 1 more namespaces: Gateways may exist \
             that are not shown, and what depends on them"
        );
        let settings = ObjectRole::Settings(vec!["deepAtOneLevel", "globalNamespace"]);
        assert_eq!(
            unseen("deployments.apps", "Deployment", &[], settings),
            "you may not list deployments.apps: settings of a controller are assumed to be its defaults (deepAtOneLevel, \
             globalNamespace)"
        );
    }
}
