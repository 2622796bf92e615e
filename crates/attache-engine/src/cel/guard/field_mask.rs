//! Which fields of the variable an expression reads.

use std::collections::BTreeMap;

/// What an expression reads of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldMask {
    /// Only whether it exists, as in `has(spec.a)`.
    Presence,
    /// These fields.
    Fields(BTreeMap<String, FieldMask>),
    /// All of it.
    All,
}

impl Default for FieldMask {
    fn default() -> Self {
        FieldMask::Fields(BTreeMap::new())
    }
}

impl FieldMask {
    /// Adds what is read at `path`.
    pub(super) fn add(&mut self, path: &[&str], read: FieldMask) {
        let mut at = self;
        for field in path {
            if *at == FieldMask::All {
                return;
            }
            if *at == FieldMask::Presence {
                *at = FieldMask::default();
            }
            let FieldMask::Fields(fields) = at else { return };
            at = fields.entry((*field).to_owned()).or_insert(FieldMask::Presence);
        }
        if read == FieldMask::All {
            *at = FieldMask::All;
        }
    }
}
