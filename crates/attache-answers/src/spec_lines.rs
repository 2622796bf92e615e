//! A spec as lines of YAML, each with the path of its value.

use attache_engine::text::to_yaml;
use attache_engine::{Path, Value};

use crate::inline::inline;

/// A line of a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecLine {
    /// The path of its value.
    pub path: Path,
    /// The line, with its indentation.
    pub text: String,
    /// Whether it is the first line of an item of a list.
    pub starts_item: bool,
}

impl SpecLine {
    fn new(path: Path, text: String) -> SpecLine {
        SpecLine { path, text, starts_item: false }
    }
}

/// One line for each field. Lists of plain values stay on one line.
pub fn spec_lines(spec: &Value) -> Vec<SpecLine> {
    let mut lines = Vec::new();
    match spec.entries() {
        [] => lines.push(SpecLine::new(Path::default(), inline(spec))),
        _ => write(spec, &Path::default(), 0, &mut lines),
    }
    lines
}

/// The lines of the value of a field, under the path of the field. An empty path is the whole spec.
pub fn value_lines(value: &Value, field: &Path) -> Vec<SpecLine> {
    if field.is_empty() {
        return spec_lines(value);
    }
    if is_short(value) {
        return vec![SpecLine::new(field.clone(), format!("{field}: {}", inline(value)))];
    }
    let mut lines = vec![SpecLine::new(field.clone(), format!("{field}:"))];
    write(value, field, 1, &mut lines);
    lines
}

/// The depth to which a spec is shown field by field: deeper than anything that is written by hand. The reader's own
/// limit prevents stack overflow.
const DEEPEST: usize = 24;

fn write(value: &Value, path: &Path, depth: usize, lines: &mut Vec<SpecLine>) {
    let indent = "  ".repeat(depth);
    for (key, child) in value.entries() {
        let (path, key) = (path.key(key.clone()), scalar(key));
        if is_short(child) || depth >= DEEPEST {
            lines.push(SpecLine::new(path, format!("{indent}{key}: {}", inline(child))));
        } else {
            lines.push(SpecLine::new(path.clone(), format!("{indent}{key}:")));
            write(child, &path, depth + 1, lines);
        }
    }
    for (i, child) in value.items().iter().enumerate() {
        let path = path.index(i);
        if is_short(child) || depth >= DEEPEST {
            lines.push(SpecLine { path, text: format!("{indent}- {}", inline(child)), starts_item: true });
        } else {
            let first = lines.len();
            write(child, &path, depth + 1, lines);
            // The item's first line takes the dash in place of its last two spaces.
            if let Some(line) = lines.get_mut(first) {
                let at = indent.len();
                line.text.replace_range(at..at + 2, "- ");
                line.starts_item = true;
            }
        }
    }
}

fn is_short(value: &Value) -> bool {
    let plain = |value: &Value| value.items().is_empty() && value.entries().is_empty();
    plain(value) || value.entries().is_empty() && value.items().iter().all(plain)
}

fn scalar(text: &str) -> String {
    to_yaml(&Value::str(text)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_line_and_every_line_its_path() {
        let json =
            r#"{"a": {"b": 1, "on": ["500", "x"]}, "list": [{"name": "x", "port": {"http": 1}}, 2], "empty": {}}"#;
        let spec: serde_json::Value = serde_json::from_str(json).expect("valid");
        let lines = spec_lines(&spec.into());
        let shown: Vec<String> = lines.iter().map(|line| format!("{} | {}", line.text, line.path)).collect();
        assert_eq!(
            shown,
            [
                "a: | a",
                "  b: 1 | a.b",
                "  \"on\": [\"500\", x] | a.on",
                "empty: {} | empty",
                "list: | list",
                "  - name: x | list[0].name",
                "    port: | list[0].port",
                "      http: 1 | list[0].port.http",
                "  - 2 | list[1]",
            ]
        );
    }
}
