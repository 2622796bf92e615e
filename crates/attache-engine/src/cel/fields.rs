//! Which fields of `spec` a condition names, and only those converted to values of the interpreter.

use std::collections::{BTreeMap, HashMap};

use cel::common::types::{CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString};
use cel::common::value::Val;

use super::EvalError;
use super::meter::Meter;
use crate::value::MAX_DEPTH;
use crate::value::Value;

/// What a condition may look at in a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fields {
    /// Only whether it is there, as in `has(spec.a)`.
    Presence,
    Some(BTreeMap<String, Fields>),
    All,
}

impl Default for Fields {
    fn default() -> Self {
        Fields::Some(BTreeMap::new())
    }
}

impl Fields {
    /// Adds what stands at `path`.
    pub(super) fn add(&mut self, path: &[&str], what: Fields) {
        let mut at = self;
        for field in path {
            if *at == Fields::All {
                return;
            }
            if *at == Fields::Presence {
                *at = Fields::default();
            }
            let Fields::Some(fields) = at else { return };
            at = fields.entry((*field).to_owned()).or_insert(Fields::Presence);
        }
        if what == Fields::All {
            *at = Fields::All;
        }
    }

    /// `value` with these fields and no others.
    pub(super) fn pick<'v>(&self, value: &'v Value, meter: &Meter) -> Result<Box<dyn Val + 'v>, EvalError> {
        self.pick_at(value, meter, 0)
    }

    fn pick_at<'v>(&self, value: &'v Value, meter: &Meter, depth: usize) -> Result<Box<dyn Val + 'v>, EvalError> {
        meter.spend(1).map_err(|_| EvalError::TooMuchWork)?;
        // To convert, compare or copy a value is recursive.
        if depth > MAX_DEPTH {
            return Err(EvalError::TooDeep);
        }
        if *self == Fields::Presence {
            return Ok(Box::new(CelNull));
        }
        Ok(match value {
            Value::Null => Box::new(CelNull),
            Value::Bool(bool) => Box::new(CelBool::from(*bool)),
            Value::Int(number) => Box::new(CelInt::from(*number)),
            Value::Float(number) => Box::new(CelDouble::from(*number)),
            Value::Str(text) => Box::new(CelString::from(text.as_str())),
            Value::List(items) => match self {
                Fields::All => {
                    let items: Result<Vec<_>, _> =
                        items.iter().map(|item| self.pick_at(item, meter, depth + 1)).collect();
                    Box::new(CelList::from(items?))
                }
                // To ask a list for a field is an error, whatever is in it.
                _ => Box::new(CelList::default()),
            },
            Value::Map(map) => {
                let mut picked = HashMap::new();
                for (key, item) in map.entries() {
                    let fields = match self {
                        Fields::Some(fields) => fields.get(key.as_str()),
                        _ => Some(self),
                    };
                    if let Some(fields) = fields {
                        let item = fields.pick_at(item, meter, depth + 1)?;
                        picked.insert(CelMapKey::from(key.as_str()), item);
                    }
                }
                Box::new(CelMap::from(picked))
            }
        })
    }
}
