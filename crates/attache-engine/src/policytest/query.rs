//! References to nodes in tests, `HTTPRoute/baker/cakes#rule-1`, and to policies, `ColorPolicy/p1` or `p1`.

use std::fmt;

use smol_str::SmolStr;

use crate::kinds::KindName;
use crate::object::ObjectRef;

/// The namespace of an object whose namespace is left out.
pub const DEFAULT_NAMESPACE: &str = "default";

/// An object, or a section of one. Without a namespace it is in `default`, or cluster-scoped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeQuery {
    pub kind: KindName,
    pub namespace: Option<SmolStr>,
    pub name: SmolStr,
    pub section: Option<SmolStr>,
}

impl NodeQuery {
    /// Reads `Kind/name` or `Kind/namespace/name`, with `#section` or without.
    pub fn parse(text: &str) -> Result<NodeQuery, String> {
        let (whole, section) = match text.split_once('#') {
            Some((whole, section)) => (whole, Some(section)),
            None => (text, None),
        };
        let parts: Vec<&str> = whole.split('/').collect();
        let (kind, namespace, name) = match parts.as_slice() {
            [kind, name] => (*kind, None, *name),
            [kind, namespace, name] => (*kind, Some(*namespace), *name),
            _ => ("", None, ""),
        };
        if [Some(kind), namespace, Some(name), section].contains(&Some("")) {
            return Err(format!("`{text}` is not a name: write `Kind/name` or `Kind/namespace/name`"));
        }
        Ok(NodeQuery {
            kind: KindName::parse(kind),
            namespace: namespace.map(SmolStr::new),
            name: name.into(),
            section: section.map(SmolStr::new),
        })
    }

    /// The possible names of the node in the topology.
    pub fn full_names(&self) -> impl Iterator<Item = String> {
        let default = self.namespace.clone().unwrap_or_else(|| DEFAULT_NAMESPACE.into());
        let in_default = NodeQuery { namespace: Some(default), ..self.clone() };
        [self.to_string(), in_default.to_string()].into_iter()
    }

    /// Whether the query matches an object, or a section of it.
    pub fn matches(&self, id: &ObjectRef) -> bool {
        self.name == id.name && self.kind.is(&id.group, &id.kind) && is_in(self.namespace.as_ref(), id)
    }
}

impl fmt::Display for NodeQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.kind)?;
        self.namespace.as_ref().map_or(Ok(()), |namespace| write!(f, "{namespace}/"))?;
        f.write_str(&self.name)?;
        self.section.as_ref().map_or(Ok(()), |section| write!(f, "#{section}"))
    }
}

/// A policy. Without a kind and a namespace it may be in any namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyQuery {
    pub kind: Option<KindName>,
    pub namespace: Option<SmolStr>,
    pub name: SmolStr,
}

impl PolicyQuery {
    /// Reads `name`, `namespace/name`, `Kind/name` or `Kind/namespace/name`.
    pub fn parse(text: &str) -> Result<PolicyQuery, String> {
        let parts: Vec<&str> = text.split('/').collect();
        // A kind starts with a capital letter, which a namespace cannot have.
        let is_kind = |word: &str| word.starts_with(|first: char| first.is_uppercase());
        let (kind, namespace, name) = match parts.as_slice() {
            [name] => (None, None, *name),
            [kind, name] if is_kind(kind) => (Some(*kind), None, *name),
            [namespace, name] => (None, Some(*namespace), *name),
            [kind, namespace, name] => (Some(*kind), Some(*namespace), *name),
            _ => (None, None, ""),
        };
        if [kind, namespace, Some(name)].contains(&Some("")) {
            return Err(format!("`{text}` is not the name of a policy: write `Kind/name` or `Kind/namespace/name`"));
        }
        Ok(PolicyQuery { kind: kind.map(KindName::parse), namespace: namespace.map(SmolStr::new), name: name.into() })
    }

    /// Whether the query matches a policy.
    pub fn matches(&self, id: &ObjectRef) -> bool {
        self.name == id.name
            && match &self.kind {
                Some(kind) => kind.is(&id.group, &id.kind) && is_in(self.namespace.as_ref(), id),
                None => self.namespace.as_ref().is_none_or(|namespace| *namespace == id.namespace),
            }
    }
}

impl fmt::Display for PolicyQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.as_ref().map_or(Ok(()), |kind| write!(f, "{kind}/"))?;
        self.namespace.as_ref().map_or(Ok(()), |namespace| write!(f, "{namespace}/"))?;
        f.write_str(&self.name)
    }
}

/// Without a namespace, the object is in `default` or cluster-scoped.
fn is_in(namespace: Option<&SmolStr>, id: &ObjectRef) -> bool {
    match namespace {
        Some(namespace) => *namespace == id.namespace,
        None => id.namespace.is_empty() || id.namespace == DEFAULT_NAMESPACE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_read_as_they_are_written() {
        for text in ["Gateway/g1", "HTTPRoute/baker/cakes#rule-1", "Bucket.acme.io/b", "ExternalService/foo.com"] {
            assert_eq!(NodeQuery::parse(text).map(|name| name.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "Gateway", "Gateway/", "/g", "Gateway/a/b/c", "Gateway/g#"] {
            assert!(NodeQuery::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_policy_without_kind_and_namespace_may_be_in_any_namespace() {
        let id = ObjectRef::new("example.io", "ColorPolicy", "infra", "p1");
        for (text, expected) in [
            ("p1", true),
            ("infra/p1", true),
            ("ColorPolicy/infra/p1", true),
            ("ColorPolicy/p1", false),
            ("default/p1", false),
            ("SizePolicy/infra/p1", false),
        ] {
            assert_eq!(PolicyQuery::parse(text).expect("a query").matches(&id), expected, "{text}");
        }
    }
}
