//! Any text is objects and problems, and the YAML of what was read is read back as the same.

#![no_main]

use std::sync::Arc;

use attache_engine::text;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let mut reading = text::read(&Arc::from("input.yaml"), input);
    text::settle_namespaces(&mut reading.objects, &mut reading.problems, |_, _| false);
    for problem in &reading.problems {
        drop(problem.to_string());
    }
    for object in &reading.objects {
        let yaml = text::to_yaml(&object.body);
        assert_eq!(text::read_value(&yaml).as_ref(), Ok(&object.body), "{yaml}");
    }
    if let Ok(value) = text::read_value(input) {
        let yaml = text::to_yaml(&value);
        assert_eq!(text::read_value(&yaml).as_ref(), Ok(&value), "{yaml}");
    }
});
