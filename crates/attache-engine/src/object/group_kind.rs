//! The group and kind of objects, without their version.

use std::fmt;

use hashbrown::Equivalent;
use smol_str::SmolStr;

use super::ObjectRef;

/// A group and a kind: `HTTPRoute.gateway.networking.k8s.io`. The group of core kinds is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    /// The API group, without a version.
    pub group: SmolStr,
    /// The kind, in CamelCase.
    pub kind: SmolStr,
}

impl GroupKind {
    /// The kind `kind` of the API group `group`.
    pub fn new(group: &str, kind: &str) -> GroupKind {
        GroupKind { group: group.into(), kind: kind.into() }
    }
}

/// A borrowed [`GroupKind`], with the same hash: a lookup needs no allocation.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct BorrowedGroupKind<'a> {
    pub group: &'a str,
    pub kind: &'a str,
}

impl Equivalent<GroupKind> for BorrowedGroupKind<'_> {
    fn equivalent(&self, key: &GroupKind) -> bool {
        self.kind == key.kind && self.group == key.group
    }
}

impl ObjectRef {
    /// The group and kind of the object.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind { group: self.group.clone(), kind: self.kind.clone() }
    }
}

/// `Kind.group`, or `Kind` for a core kind.
impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.group.is_empty() {
            f.write_str(".")?;
            f.write_str(&self.group)?;
        }
        Ok(())
    }
}
