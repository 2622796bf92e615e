//! Namespaces and GatewayClasses that have no object, and are there because somebody names them.

use std::collections::BTreeSet;

use super::dependency_index::Key;
use super::step::Step;
use crate::object::{ObjectId, ObjectRef};
use crate::topology::build::{class_of, namespace_of};
use crate::topology::{Level, NeedsRebuild, api};

impl Step<'_> {
    /// Gives nodes to those that came to be named, and takes those of others. Tells which they are.
    pub(super) fn settle_names(&mut self) -> Result<Vec<ObjectRef>, NeedsRebuild> {
        let mut ids: BTreeSet<ObjectRef> = BTreeSet::new();
        for touched in self.touched.iter().filter(|it| it.what.exists || it.what.spec) {
            for object in touched.states() {
                let level = api::level(&object.id.group, &object.id.kind);
                ids.extend(namespace_of(&object.id).filter(|_| touched.what.exists));
                ids.extend(class_of(object).filter(|_| level == Level::Gateway));
                let is_named =
                    matches!(level, Level::Namespace | Level::GatewayClass) && object.id.namespace.is_empty();
                ids.extend(is_named.then(|| object.id.clone()));
            }
        }
        let mut settled = Vec::new();
        for id in ids {
            let is_needed = self.next.objects.find(&id).is_none() && self.is_named(&id);
            match (self.next.topology.is_implied(&id), is_needed) {
                (false, true) => self.topology_editor().add_implied(id.clone()),
                (true, false) => self.topology_editor().remove_implied(&id),
                _ => {}
            }
            let [was, is] = self.engines().map(|it| it.topology.find(&it.objects, &id));
            if was != is {
                // All of a model hangs on where its root is.
                let mut roots =
                    self.kinds().filter_map(|kind| self.next.kinds.get(kind).hierarchy.root_namespace.as_ref());
                if id.kind == "Namespace" && roots.any(|root| *root == id.name) {
                    return Err(NeedsRebuild::RootNamespace);
                }
                settled.push(id.clone());
            }
            if id.kind == "Namespace" {
                let residents: Vec<ObjectId> = match was != is {
                    true => self.object_counts.residents(&id.name).to_vec(),
                    false => self.came_to(&id.name),
                };
                self.topology_editor().set_namespace(&residents, &id.name, is);
            }
        }
        Ok(settled)
    }

    fn came_to(&self, namespace: &str) -> Vec<ObjectId> {
        let came = self.touched.iter().filter(|it| it.what.exists);
        came.filter(|it| it.after.as_ref().is_some_and(|it| it.id.namespace == namespace)).map(|it| it.id).collect()
    }

    /// Whether somebody lives there, or names it.
    fn is_named(&self, id: &ObjectRef) -> bool {
        if id.kind == "Namespace" {
            return !self.object_counts.residents(&id.name).is_empty() || self.next.topology.has_implied_in(&id.name);
        }
        let touched = self.touched.iter().map(|it| it.id);
        let naming = self.dependency_index.at(Key::of(id)).chain(touched);
        // Some of them may be deleted.
        naming.filter_map(|gateway| self.next.objects.get(gateway)).any(|gateway| {
            api::level(&gateway.id.group, &gateway.id.kind) == Level::Gateway && class_of(gateway).as_ref() == Some(id)
        })
    }
}
