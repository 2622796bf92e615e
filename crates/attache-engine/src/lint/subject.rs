//! The objects that are checked.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::engine::Engine;
use crate::object::{Object, ObjectId};
use crate::policy::PolicyId;
use crate::topology::{Level, NodeId, RefusedLink};

#[derive(Clone, Copy)]
pub struct LintSubject<'e> {
    pub engine: &'e Engine,
    /// `None` for all objects.
    only: Option<&'e BTreeSet<ObjectId>>,
}

impl<'e> LintSubject<'e> {
    pub fn everything(engine: &'e Engine) -> LintSubject<'e> {
        LintSubject { engine, only: None }
    }

    pub fn only(engine: &'e Engine, objects: &'e BTreeSet<ObjectId>) -> LintSubject<'e> {
        LintSubject { engine, only: Some(objects) }
    }

    pub fn objects(self) -> impl Iterator<Item = (ObjectId, &'e Object)> {
        let objects = self.engine.objects();
        let all = self.only.is_none().then(|| objects.iter()).into_iter().flatten();
        all.chain(self.only.into_iter().flatten().map(|id| (*id, &objects[*id])))
    }

    /// The routes, with their nodes.
    pub fn routes(self) -> impl Iterator<Item = (NodeId, ObjectId)> {
        let topology = self.engine.topology();
        let nodes = self.objects().map(|(object, _)| (NodeId::whole(object), object));
        nodes.filter(|(node, _)| topology[*node].level == Level::Route)
    }

    pub fn policies(self) -> impl Iterator<Item = PolicyId> {
        let all = self.only.is_none().then(|| self.engine.policies().map(|(policy, _)| policy)).into_iter().flatten();
        let some = self.only.into_iter().flatten().map(|id| PolicyId(*id));
        all.chain(some.filter(move |policy| self.engine.parts().policies.get(*policy).is_some()))
    }

    /// The links that the objects request, and that are refused; sorted by parent, child, reason and message.
    pub fn refused(self) -> Cow<'e, [RefusedLink]> {
        let (topology, objects) = (self.engine.topology(), self.engine.objects());
        match self.only {
            None => topology.refused(objects).into(),
            Some(only) => topology.refused_by(objects, only).into(),
        }
    }

    /// The groups and kinds of the objects, sorted, each once.
    pub fn kinds(self) -> BTreeSet<(&'e str, &'e str)> {
        match self.only {
            None => self.engine.objects().kinds().collect(),
            Some(_) => self.objects().map(|(_, object)| (object.id.group.as_str(), object.id.kind.as_str())).collect(),
        }
    }
}
