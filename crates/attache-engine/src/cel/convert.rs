//! Converts the fields of a value that a condition reads to values of the interpreter.

use std::collections::HashMap;

use cel::common::types::{CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString};
use cel::common::value::Val;

use super::guard::{EvalError, FieldMask, Meter};
use crate::value::{MAX_DEPTH, Value};

/// The parts of `value` that are in the mask. Each value costs one step.
pub(super) fn convert<'v>(mask: &FieldMask, value: &'v Value, meter: &Meter) -> Result<Box<dyn Val + 'v>, EvalError> {
    convert_at(mask, value, meter, 0)
}

fn convert_at<'v>(
    mask: &FieldMask,
    value: &'v Value,
    meter: &Meter,
    depth: usize,
) -> Result<Box<dyn Val + 'v>, EvalError> {
    meter.spend(1).map_err(|_| EvalError::TooMuchWork)?;
    // The interpreter compares and copies values recursively.
    if depth > MAX_DEPTH {
        return Err(EvalError::TooDeep);
    }
    if *mask == FieldMask::Presence {
        return Ok(Box::new(CelNull));
    }
    Ok(match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(bool) => Box::new(CelBool::from(*bool)),
        Value::Int(number) => Box::new(CelInt::from(*number)),
        Value::Float(number) => Box::new(CelDouble::from(*number)),
        Value::Str(text) => Box::new(CelString::from(text.as_str())),
        Value::List(items) => match mask {
            FieldMask::All => {
                let items: Result<Vec<_>, _> =
                    items.iter().map(|item| convert_at(mask, item, meter, depth + 1)).collect();
                Box::new(CelList::from(items?))
            }
            // A field of a list is an error, whatever the items are.
            _ => Box::new(CelList::default()),
        },
        Value::Map(map) => {
            let mut converted = HashMap::new();
            for (key, item) in map.entries() {
                let mask = match mask {
                    FieldMask::Fields(fields) => fields.get(key.as_str()),
                    _ => Some(mask),
                };
                if let Some(mask) = mask {
                    let item = convert_at(mask, item, meter, depth + 1)?;
                    converted.insert(CelMapKey::from(key.as_str()), item);
                }
            }
            Box::new(CelMap::from(converted))
        }
    })
}
