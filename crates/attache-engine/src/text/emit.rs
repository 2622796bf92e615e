//! Writes values as YAML that kubectl and this crate read back as the same value.

use std::fmt::Write;

use super::scalar;
use crate::value::Value;

/// A value as YAML: in block style, indented by two spaces, keys in order.
///
/// ```
/// use attache_engine::text::to_yaml;
/// use attache_engine::Value;
///
/// let value = Value::from(serde_json::json!({"color": "blue", "on": [1, "1"]}));
/// assert_eq!(to_yaml(&value), "color: blue\n\"on\":\n- 1\n- \"1\"\n");
/// ```
pub fn to_yaml(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Map(map) if !map.is_empty() => block(&mut out, value, 0),
        Value::List(items) if !items.is_empty() => block(&mut out, value, 0),
        _ => {
            // Indented: a line such as `... a` would end the document.
            inline(&mut out, value, 2);
            out.push('\n');
        }
    }
    out
}

/// Writes the lines of a collection that is not empty. The first one continues the current line.
fn block(out: &mut String, value: &Value, indent: usize) {
    let mut first = true;
    let mut start = |out: &mut String| {
        if !std::mem::take(&mut first) {
            pad(out, indent);
        }
    };
    for (key, child) in value.entries() {
        start(out);
        string(out, key);
        out.push(':');
        match child {
            Value::Map(map) if !map.is_empty() => {
                out.push('\n');
                pad(out, indent + 2);
                block(out, child, indent + 2);
            }
            // As in kubectl, the items of a list are not indented.
            Value::List(items) if !items.is_empty() => {
                out.push('\n');
                pad(out, indent);
                block(out, child, indent);
            }
            _ => {
                out.push(' ');
                inline(out, child, indent + 2);
                out.push('\n');
            }
        }
    }
    for child in value.items() {
        start(out);
        out.push_str("- ");
        match child {
            Value::Map(map) if !map.is_empty() => block(out, child, indent + 2),
            Value::List(items) if !items.is_empty() => block(out, child, indent + 2),
            _ => {
                inline(out, child, indent + 2);
                out.push('\n');
            }
        }
    }
}

/// Writes a scalar or an empty collection on the current line. `indent` is for the lines of a block scalar.
fn inline(out: &mut String, value: &Value, indent: usize) {
    let _ = match value {
        Value::Null => write!(out, "null"),
        Value::Bool(bool) => write!(out, "{bool}"),
        Value::Int(number) => write!(out, "{number}"),
        Value::Float(number) if number.is_nan() => write!(out, ".nan"),
        Value::Float(number) if number.is_infinite() => write!(out, "{}.inf", if *number < 0.0 { "-" } else { "" }),
        Value::Float(number) => write!(out, "{number:?}"),
        Value::Str(text) if fits_block_scalar(text) => return block_scalar(out, text, indent),
        Value::Str(text) => return string(out, text),
        Value::List(_) => write!(out, "[]"),
        Value::Map(_) => write!(out, "{{}}"),
    };
}

fn string(out: &mut String, text: &str) {
    if is_plain(text) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for c in text.chars() {
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            '\n' => write!(out, "\\n"),
            '\t' => write!(out, "\\t"),
            '\r' => write!(out, "\\r"),
            c if is_printable(c) => write!(out, "{c}"),
            c if u32::from(c) <= 0xff => write!(out, "\\x{:02x}", u32::from(c)),
            c if u32::from(c) <= 0xffff => write!(out, "\\u{:04x}", u32::from(c)),
            c => write!(out, "\\U{:08x}", u32::from(c)),
        };
    }
    out.push('"');
}

/// Whether the text can be written without quotes.
fn is_plain(text: &str) -> bool {
    let starts_well = |c: char| c.is_alphanumeric() || matches!(c, '/' | '_' | '.' | '$' | '(' | '^' | '+');
    let ends_early = text.ends_with([' ', ':']) || text.contains(": ") || text.contains(" #");
    // Other YAML 1.1 readers accept base 60 numbers and dates.
    let like_a_number = text.starts_with(|c: char| c.is_ascii_digit()) && text.contains([':', '-']);
    let like_a_marker = text == "..." || text.starts_with("... ");
    text.starts_with(starts_well)
        && text.chars().all(is_printable)
        && !(ends_early || like_a_number || like_a_marker || scalar::is_ambiguous(text))
}

fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Whether the text is of several lines and can be a block scalar: without escapes and without an indentation indicator.
fn fits_block_scalar(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
        && !text.starts_with([' ', '\n'])
        && text.lines().all(|line| line.chars().all(is_printable) && !line.ends_with(' '))
        && !text.contains('\r')
}

fn block_scalar(out: &mut String, text: &str, indent: usize) {
    let body = text.trim_end_matches('\n');
    let breaks = text.len() - body.len();
    out.push_str(match breaks {
        0 => "|-",
        1 => "|",
        _ => "|+",
    });
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            pad(out, indent);
            out.push_str(line);
        }
    }
    // The caller writes the last line break.
    out.extend(std::iter::repeat_n('\n', breaks.saturating_sub(1)));
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use smol_str::SmolStr;

    use super::*;
    use crate::text::read_value;

    #[test]
    fn values_are_written_as_kubectl_prints_them() {
        let text = "a: null\nb:\n- 1\n- x: \"yes\"\n  z: []\n- - deep\nc: |\n  one\n\n  two\nd: {}\n\"on\": a b\n";
        assert_eq!(to_yaml(&read_value(text).unwrap()), text);
    }

    #[test]
    fn lines_that_look_like_markers_are_read_back() {
        for text in ["... a\n.b", "--- a\nb", "a\n...\nb", "a\n---\n"] {
            let value = Value::str(text);
            assert_eq!(read_value(&to_yaml(&value)).unwrap(), value, "{text}");
        }
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => "[a-z]{1,8}",
            2 => "[-a-zA-Z0-9:#,.?!&*|>%@`'\"{}\\[\\]~=_+<> \n\t\\\\]{0,12}",
            1 => any::<String>(),
            1 => prop::sample::select(vec!["", "yes", "~", "014", "1e3", ".inf", "<<", "---", "2001-01-01", "1:30", "\u{feff}", "a\n\n", "\n", "a\n b\n", " a\nb", "a \nb"])
                .prop_map(str::to_string),
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Int),
            any::<f64>().prop_filter("JSON has no such number", |f| f.is_finite()).prop_map(Value::number),
            text().prop_map(Value::str),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::list),
                prop::collection::vec((text().prop_map(SmolStr::from), inner), 0..5).prop_map(Value::map),
            ]
        })
    }

    proptest! {
        #[test]
        fn yaml_is_read_back(value in value()) {
            let text = to_yaml(&value);
            let read = read_value(&text).map_err(|problem| TestCaseError::fail(format!("{problem}\n{text}")))?;
            prop_assert_eq!(read, value, "{}", text);
        }

        #[test]
        fn json_is_read_back(value in value()) {
            for text in [serde_json::to_string(&value), serde_json::to_string_pretty(&value)] {
                let text = text.unwrap();
                let read = read_value(&text).map_err(|problem| TestCaseError::fail(format!("{problem}\n{text}")))?;
                prop_assert_eq!(&read, &value, "{}", text);
            }
        }
    }
}
