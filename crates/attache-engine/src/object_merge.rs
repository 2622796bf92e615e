//! Policies that set fields which the target object has too: the object with the policies merged into it.

use crate::chain::ChainId;
use crate::engine::Engine;
use crate::fold::EffectivePolicy;
use crate::model::{Model, is_empty, without_empty};
use crate::object::ObjectId;
use crate::topology::NodeId;
use crate::value::{Path, Segment, Value};

/// A field of an object that policies merge into, for one chain.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The path of the field in the object.
    pub path: Path,
    /// The chain of policies that reach it.
    pub chain: ChainId,
    /// The value of the object itself, without empty values.
    pub own: Value,
    /// The merged value.
    pub value: Value,
    /// The fold of the policies over the object's own value, with origins and losses.
    pub effective: EffectivePolicy,
}

impl Engine {
    /// The fields of an object that policies of a kind merge into, for each chain that reaches it.
    pub fn merged(&self, model: &Model, id: ObjectId) -> Vec<Merged> {
        let object = &self.objects()[id];
        let mut merged = Vec::new();
        for path in model.merge_paths(object) {
            let own = path.resolve(&object.body).unwrap_or(&Value::Null);
            for &(chain, _) in model.chains_at(self.view(), self.merge_node(model, id, &path)) {
                let present = without_empty(own);
                let effective = model.effective_over(self.view(), chain, &present);
                let set = effective.spec.clone().unwrap_or_default();
                let value = with_empty(&set, own);
                merged.push(Merged { path: path.clone(), chain, own: present, value, effective });
            }
        }
        merged
    }

    /// The section that contains a path if chains reach sections, or else the whole object.
    fn merge_node(&self, model: &Model, id: ObjectId, path: &Path) -> NodeId {
        let whole = NodeId::whole(id);
        let section = path.segments().iter().find_map(|segment| match segment {
            Segment::Index(index) => self.topology().sections(whole).nth(*index),
            Segment::Key(_) => None,
        });
        section.filter(|section| !model.chains_at(self.view(), *section).is_empty()).unwrap_or(whole)
    }
}

/// `value`, with the empty fields of `own` that no policy set.
fn with_empty(value: &Value, own: &Value) -> Value {
    let (Value::Map(map), Value::Map(own)) = (value, own) else {
        return if value.is_null() { own.clone() } else { value.clone() };
    };
    let mut result = map.clone();
    for (key, child) in own.entries() {
        match result.get(key) {
            None if is_empty(child) => result = result.with(key, child.clone()),
            Some(set) if set.as_map().is_some() => result = result.with(key, with_empty(set, child)),
            _ => {}
        }
    }
    Value::Map(result)
}
