//! Details that several kinds of refusals share.

use std::fmt;

use smol_str::SmolStr;

use crate::object::{ObjectRef, Objects};
use crate::topology::listeners::Listener;
use crate::topology::reference::Reference;
use crate::topology::sections;

/// The first items of a list, and the number of further ones. Its `Display` is `` `a`, `b` and 3 more``.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shortlist<T> {
    /// At most [`Shortlist::LENGTH`].
    pub first: Vec<T>,
    /// The number of further items.
    pub more: usize,
}

impl<T> Shortlist<T> {
    /// The number of items that are listed.
    pub const LENGTH: usize = 5;

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }
}

impl<T> FromIterator<T> for Shortlist<T> {
    fn from_iter<I: IntoIterator<Item = T>>(list: I) -> Self {
        let mut list = list.into_iter();
        let first = list.by_ref().take(Self::LENGTH).collect();
        Shortlist { first, more: list.count() }
    }
}

impl<T: fmt::Display> fmt::Display for Shortlist<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, item) in self.first.iter().enumerate() {
            write!(f, "{}`{item}`", if at == 0 { "" } else { ", " })?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// An object that is referred to and does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MissingObject {
    /// The missing object.
    pub object: ObjectRef,
    /// The names of objects of the same kind in the same namespace.
    pub existing: Shortlist<SmolStr>,
}

impl MissingObject {
    pub(in crate::topology) fn new(objects: &Objects, named: &Reference) -> MissingObject {
        let existing = objects.of_kind_in(named.group, named.kind, named.namespace).iter();
        MissingObject {
            object: named.object_ref(),
            existing: existing.map(|id| objects[*id].id.name.clone()).collect(),
        }
    }
}

impl fmt::Display for MissingObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ObjectRef { kind, namespace, name, .. } = &self.object;
        write!(f, "there is no {kind} `{name}` in namespace `{namespace}`")?;
        if self.existing.is_empty() { Ok(()) } else { write!(f, ", only {}", self.existing) }
    }
}

/// A port that is referred to and that its Service does not have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MissingPort {
    /// The Service, or an object like it.
    pub service: ObjectRef,
    /// The missing port.
    pub port: PortName,
    /// The ports of the Service.
    pub existing: Shortlist<PortName>,
}

impl MissingPort {
    /// `None` if the Service does not exist.
    pub(in crate::topology) fn new(objects: &Objects, named: &Reference) -> Option<MissingPort> {
        let service = &objects[named.find(objects)?];
        let existing = service
            .spec()
            .list_at("ports")
            .iter()
            .map(|port| PortName { name: port.get_str("name").map(SmolStr::from), number: sections::port(port) });
        let port = PortName { name: named.section.map(SmolStr::from), number: named.port };
        Some(MissingPort { service: service.id.clone(), port, existing: existing.collect() })
    }
}

impl fmt::Display for MissingPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has no port ", self.service)?;
        match &self.port {
            PortName { name: Some(name), .. } => write!(f, "`{name}`")?,
            PortName { number, .. } => write!(f, "{}", number.unwrap_or_default())?,
        }
        write!(f, ", only {}", self.existing)
    }
}

/// A port of a Service. Its `Display` is `80 (http)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PortName {
    /// Its name, if it has one.
    pub name: Option<SmolStr>,
    /// Its number, if it has one.
    pub number: Option<i64>,
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, self.number) {
            (Some(name), Some(number)) => write!(f, "{number} ({name})"),
            (_, number) => write!(f, "{}", number.unwrap_or_default()),
        }
    }
}

/// A ReferenceGrant that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MissingGrant {
    /// The object that refers.
    pub from: ObjectRef,
    /// The object in another namespace that it refers to.
    pub to: ObjectRef,
}

impl MissingGrant {
    pub(in crate::topology) fn new(from: &ObjectRef, to: &Reference) -> MissingGrant {
        MissingGrant { from: from.clone(), to: to.object_ref() }
    }
}

impl fmt::Display for MissingGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MissingGrant { from, to } = self;
        write!(
            f,
            "namespace `{}` has no ReferenceGrant that lets {} of namespace `{}` refer to {} `{}`",
            to.namespace, from.kind, from.namespace, to.kind, to.name
        )
    }
}

/// A listener and its port. Its `Display` is `http:80`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListenerPort {
    /// The name of the listener.
    pub name: SmolStr,
    /// The number of its port.
    pub port: i64,
}

impl From<&Listener<'_>> for ListenerPort {
    fn from(listener: &Listener<'_>) -> ListenerPort {
        ListenerPort { name: listener.name.into(), port: listener.port }
    }
}

impl fmt::Display for ListenerPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_names_the_first_and_counts_the_rest() {
        let list = |len: usize| (0..len).collect::<Shortlist<usize>>().to_string();
        assert_eq!(list(0), "");
        assert_eq!(list(2), "`0`, `1`");
        assert_eq!(list(5), "`0`, `1`, `2`, `3`, `4`");
        assert_eq!(list(7), "`0`, `1`, `2`, `3`, `4` and 2 more");
    }
}
