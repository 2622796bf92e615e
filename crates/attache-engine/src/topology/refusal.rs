//! What was refused: kept as small as it can be, and put into words when somebody asks.

use super::index::Index;
use super::{Topology, backends, routes};
use crate::object::{ObjectId, Objects};
use crate::value::Path;

/// Something that asked to be attached and was not, and why, in the Gateway API's own words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    /// As written, for a parent or a backend may not exist: `Gateway/ns/gw#http`.
    pub parent: String,
    pub child: String,
    pub reason: &'static str,
    pub message: String,
    /// Who asked, and where in it. Who asks for the same twice is refused once.
    pub by: ObjectId,
    pub path: Path,
}

/// Why something is not attached.
#[derive(Debug)]
pub struct Refusal {
    pub reason: &'static str,
    pub message: String,
}

impl Refusal {
    pub fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Refusal { reason, message: message.into() }
    }
}

/// What an object asked for in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The parentRef at this position.
    Parent(u32),
    /// The backend that a rule names, at this position of this field.
    Backend { rule: u32, field: &'static str, at: u32 },
    /// What is seldom, or decided by several objects, is put into words at once.
    Told(Box<Refused>),
}

impl Denied {
    /// Whether it is something that a route asked of its backends, and not of its parents.
    pub fn is_below(&self) -> bool {
        match self {
            Denied::Parent(_) => false,
            Denied::Backend { .. } => true,
            Denied::Told(refused) => refused.path.starts_with(&Path::parse("spec.rules")),
        }
    }

    fn tell(&self, index: &Index, by: ObjectId) -> Option<Refused> {
        let route = &index.objects[by];
        let ((parent, child, Refusal { reason, message }), path) = match *self {
            Denied::Told(ref refused) => return Some((**refused).clone()),
            Denied::Parent(at) => {
                let path = Path::parse("spec.parentRefs").index(at as usize);
                (routes::refusal(index, by, route, at as usize)?, path)
            }
            Denied::Backend { rule, field, at } => {
                let path = Path::parse("spec.rules").index(rule as usize).key(field).index(at as usize);
                (backends::refusal(index, route, field, path.resolve(&route.body)?)?, path)
            }
        };
        Some(Refused { parent, child, reason, message, by, path })
    }
}

impl Topology {
    /// Everything that was refused, in order.
    pub fn refused(&self, objects: &Objects) -> &[Refused] {
        self.refused.get_or_init(|| {
            let index = &Index::new(objects, self);
            let by_who = self.denied.iter().enumerate().map(|(at, denied)| (ObjectId(at as u32), denied));
            let mut refused: Vec<Refused> =
                by_who.flat_map(|(by, denied)| denied.iter().filter_map(move |it| it.tell(index, by))).collect();
            refused.sort();
            refused.dedup_by(|a, b| {
                (&a.parent, &a.child, a.reason, &a.message) == (&b.parent, &b.child, b.reason, &b.message)
            });
            refused.into()
        })
    }

    /// Whether something was refused to an object.
    pub(crate) fn is_refused(&self, by: ObjectId) -> bool {
        self.denied.get(by.0 as usize).is_some_and(|denied| !denied.is_empty())
    }
}
