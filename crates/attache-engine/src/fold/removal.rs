//! Rules that lower policies remove from the defaults of higher ones.

use super::Fold;
use super::tree::{BlockSource, Sources};
use crate::value::{Map, Path, Segment, Value};

impl Fold<'_> {
    /// A default without the rules that lower policies have removed.
    pub(super) fn without_removed(&mut self, spec: &Value, source: BlockSource) -> Value {
        let mut left = spec.clone();
        for (name, remover) in self.removed.clone() {
            left = self.without(&left, name, &mut Vec::new(), source, remover);
        }
        left
    }

    /// A value without the rule that has this name or dotted path.
    fn without(
        &mut self,
        value: &Value,
        name: &str,
        path: &mut Vec<Segment>,
        source: BlockSource,
        remover: BlockSource,
    ) -> Value {
        let mut kept = Vec::new();
        for (key, child) in value.entries() {
            path.push(Segment::Key(key.clone()));
            let is_named =
                (key == name && self.merge.units.is_rule(path, child)) || Path::new(path.clone()).to_string() == name;
            if is_named {
                self.merge.lose_value(child, path, source, &Sources::One(remover), true);
            } else if child.as_map().is_some() && !self.merge.units.is_unit(path, child) {
                let inner = self.without(child, name, path, source, remover);
                // A map is removed with its last rule.
                if !inner.entries().is_empty() || child.entries().is_empty() {
                    kept.push((key.clone(), inner));
                }
            } else {
                kept.push((key.clone(), child.clone()));
            }
            path.pop();
        }
        Value::Map(Map::from_entries(kept))
    }
}
