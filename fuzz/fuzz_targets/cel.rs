//! Any text is a condition or not, any condition holds or not, twice the same, and soon.

#![no_main]

use std::sync::LazyLock;

use attache_engine::{CelCondition, Value};
use libfuzzer_sys::fuzz_target;

static SPEC: LazyLock<Value> = LazyLock::new(|| {
    let spec = serde_json::json!({
        "a": 1, "f": 1.5, "name": "gold", "none": null, "on": true, "text": "x".repeat(10_000),
        "list": (0..100).collect::<Vec<_>>(), "map": {"z": 1, "y": {"x": [1, {}]}},
    });
    spec.into()
});

fuzz_target!(|text: &str| {
    match CelCondition::compile(text) {
        Ok(condition) => assert_eq!(condition.holds(&SPEC), condition.holds(&SPEC)),
        Err(error) => drop(error.to_string()),
    }
});
