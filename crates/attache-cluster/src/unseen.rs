//! What may not be read, and what that could hide.

use std::fmt;

use attache_engine::plural;

/// A kind of which not all objects could be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unseen {
    /// `plural.group`, as RBAC names it.
    pub resource: String,
    /// The kind of the objects.
    pub kind: String,
    /// Why they could not be read.
    pub reason: UnseenReason,
    /// The namespaces in which they could be read nevertheless.
    pub seen_in: Vec<String>,
    /// Whether the objects are policies.
    pub is_policy: bool,
}

/// Why objects could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnseenReason {
    /// The user may not list them.
    Forbidden,
    /// The server could not list them, and this is what it said.
    Failed(String),
}

impl Unseen {
    /// What could be different if the objects were known.
    pub fn hides(&self) -> String {
        let many = plural(&self.kind);
        match self.kind.as_str() {
            _ if self.is_policy => format!("{many} may affect what is shown"),
            "Namespace" => "what selects namespaces by their labels may select more than is shown".into(),
            "GatewayClass" => "which controller handles a Gateway is not known".into(),
            "ReferenceGrant" => {
                "references to other namespaces may be permitted though they are shown as refused".into()
            }
            "CustomResourceDefinition" => {
                "policy kinds that only their CRD describes, and defaults of fields, are not known".into()
            }
            "PolicyKind" => "kinds that are described in the cluster are not known, or not as described".into(),
            _ => format!("{many} may exist that are not shown, and what depends on them"),
        }
    }
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            UnseenReason::Forbidden if self.seen_in.is_empty() => write!(f, "you may not list {}", self.resource)?,
            UnseenReason::Forbidden => {
                const MOST: usize = 3;
                let shown: Vec<String> = self.seen_in.iter().take(MOST).map(|it| format!("`{it}`")).collect();
                write!(f, "you may list {} only in {}", self.resource, shown.join(", "))?;
                if self.seen_in.len() > MOST {
                    write!(f, " and {} more namespaces", self.seen_in.len() - MOST)?;
                }
            }
            UnseenReason::Failed(message) => write!(f, "{} could not be listed ({message})", self.resource)?,
        }
        write!(f, ": {}", self.hides())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unseen(resource: &str, kind: &str, seen_in: &[&str], is_policy: bool) -> String {
        let seen_in = seen_in.iter().map(|it| (*it).into()).collect();
        Unseen { resource: resource.into(), kind: kind.into(), reason: UnseenReason::Forbidden, seen_in, is_policy }
            .to_string()
    }

    #[test]
    fn it_says_what_is_not_seen_and_what_that_could_hide() {
        assert_eq!(
            unseen("retrypolicies.example.io", "RetryPolicy", &[], true),
            "you may not list retrypolicies.example.io: RetryPolicies may affect what is shown"
        );
        assert_eq!(
            unseen("gateways.gateway.networking.k8s.io", "Gateway", &["a", "b", "c", "d"], false),
            "you may list gateways.gateway.networking.k8s.io only in `a`, `b`, `c` and 1 more namespaces: Gateways may exist \
             that are not shown, and what depends on them"
        );
    }
}
