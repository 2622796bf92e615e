//! The PolicyKind document of a kind, to copy and edit.

use super::{CRD_GROUP, CRD_KIND, Crd, GROUP, KIND, KindOrigin, PolicyKind, built_in};
use crate::object::{ObjectRef, Objects};
use crate::text::to_yaml;

impl PolicyKind {
    /// The PolicyKind document as YAML: the original text, or a generated document for a kind that was inferred from a
    /// CRD among `objects`.
    pub fn document(&self, objects: &Objects) -> Option<String> {
        let object = |group, kind| objects.find(&ObjectRef::new(group, kind, "", &self.name)).map(|id| &objects[id]);
        match &self.origin {
            KindOrigin::Program => None,
            KindOrigin::BuiltIn(file) => built_in::document(file, &self.name),
            KindOrigin::Given(_) => object(GROUP, KIND).map(|document| to_yaml(&document.body)),
            KindOrigin::Inferred(_) => {
                let known = self.merging.strategies.iter().cloned().collect();
                Crd::read(object(CRD_GROUP, CRD_KIND)?).map(|crd| to_yaml(&crd.document(&known)))
            }
        }
    }
}
