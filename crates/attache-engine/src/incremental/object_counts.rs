//! What is known of the objects as a whole: how many there are of each kind, and who lives where.

use hashbrown::HashMap;
use smol_str::SmolStr;

use crate::engine::Engine;
use crate::object::{ObjectId, ObjectRef};

/// What is known of the objects as a whole.
#[derive(Debug, Default)]
pub struct ObjectCounts {
    kinds: HashMap<(SmolStr, SmolStr), usize>,
    residents: HashMap<SmolStr, Vec<ObjectId>>,
}

impl ObjectCounts {
    pub fn of(engine: &Engine) -> ObjectCounts {
        let mut object_counts = ObjectCounts::default();
        for (id, object) in engine.objects().iter() {
            object_counts.add(id, &object.id);
        }
        object_counts
    }

    pub fn add(&mut self, id: ObjectId, name: &ObjectRef) {
        let key = (name.group.clone(), name.kind.clone());
        *self.kinds.entry(key).or_default() += 1;
        if !name.namespace.is_empty() {
            self.residents.entry(name.namespace.clone()).or_default().push(id);
        }
    }

    pub fn remove(&mut self, id: ObjectId, name: &ObjectRef) {
        let key = (name.group.clone(), name.kind.clone());
        if let Some(count) = self.kinds.get_mut(&key) {
            *count = count.saturating_sub(1);
        }
        if let Some(residents) = self.residents.get_mut(name.namespace.as_str()) {
            if let Some(at) = residents.iter().position(|it| *it == id) {
                residents.swap_remove(at);
            }
            if residents.is_empty() {
                self.residents.remove(name.namespace.as_str());
            }
        }
    }

    pub fn count(&self, group: &str, kind: &str) -> usize {
        self.kinds.get(&(SmolStr::new(group), SmolStr::new(kind))).copied().unwrap_or(0)
    }

    pub fn residents(&self, namespace: &str) -> &[ObjectId] {
        self.residents.get(namespace).map_or(&[], Vec::as_slice)
    }
}
