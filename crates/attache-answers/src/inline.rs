//! Values on one line.

use attache_engine::Value;
use attache_engine::text::to_yaml;

/// A value on one line, as YAML.
pub fn inline(value: &Value) -> String {
    match value {
        Value::List(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Map(map) => {
            let entries = map.entries().iter().map(|(key, child)| format!("{}: {}", scalar(key), inline(child)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        scalar => to_yaml(scalar).trim_end().replace('\n', " "),
    }
}

fn scalar(text: &str) -> String {
    to_yaml(&Value::str(text)).trim_end().to_owned()
}
