//! The value of a plain YAML scalar as kubectl reads it: YAML 1.1 as in Go's yaml.v2, then converted to JSON.

use smol_str::{SmolStr, ToSmolStr};

use crate::value::Value;

/// The value of a plain scalar without a tag. Timestamps are strings. Infinities and NaN are returned as floats for the caller
/// to refuse: JSON has none.
pub fn resolve(text: &str) -> Value {
    let Some(first) = text.bytes().next() else { return Value::Null };
    let value = match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text),
        b'.' => special(text).or_else(|| float(text)),
        b'+' | b'-' | b'0'..=b'9' => special(text).or_else(|| number(text)),
        _ => None,
    };
    value.unwrap_or_else(|| Value::str(text))
}

/// Whether kubectl would read this text, written without quotes, as something other than a string.
pub fn is_ambiguous(text: &str) -> bool {
    !matches!(resolve(text), Value::Str(_))
}

/// The map key that a value becomes: keys in JSON are strings. `None` if kubectl does not accept the value as a key.
pub fn key(value: &Value) -> Option<SmolStr> {
    match value {
        Value::Str(key) => Some(key.clone()),
        Value::Bool(bool) => Some(bool.to_smolstr()),
        Value::Int(number) => Some(number.to_smolstr()),
        Value::Float(number) => Some(number.to_smolstr()),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

fn word(text: &str) -> Option<Value> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(Value::Bool(true)),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Some(Value::Bool(false))
        }
        "~" | "null" | "Null" | "NULL" => Some(Value::Null),
        _ => None,
    }
}

fn special(text: &str) -> Option<Value> {
    match text {
        ".nan" | ".NaN" | ".NAN" => Some(Value::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Some(Value::Float(f64::INFINITY)),
        "-.inf" | "-.Inf" | "-.INF" => Some(Value::Float(f64::NEG_INFINITY)),
        _ => None,
    }
}

fn number(text: &str) -> Option<Value> {
    if !text.contains('_') {
        return int(text).or_else(|| float(text));
    }
    let plain = text.replace('_', "");
    int(&plain).or_else(|| float(&plain))
}

/// A decimal integer, or one with the prefix of another base: `0x`, `0b`, `0o` or `0`. The last two are octal.
fn int(text: &str) -> Option<Value> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| char::from(digit).is_digit(radix)) {
        return None;
    }
    match i128::from_str_radix(digits, radix) {
        Ok(magnitude) => {
            let number = if negative { -magnitude } else { magnitude };
            Some(i64::try_from(number).map_or(Value::Float(number as f64), Value::Int))
        }
        // Too large for any integer type. A decimal number is then read as a float.
        Err(_) => None,
    }
}

fn float(text: &str) -> Option<Value> {
    let plain = text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let number: f64 = plain.then(|| text.parse().ok())??;
    number.is_finite().then(|| Value::number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_are_read_as_kubectl_reads_them() {
        // Checked against kubectl 1.32: `kubectl label --local -f … a=b -o json`.
        let int = Value::Int;
        let float = Value::Float;
        for (text, value) in [
            ("on", Value::Bool(true)),
            ("y", Value::Bool(true)),
            ("Off", Value::Bool(false)),
            ("~", Value::Null),
            ("", Value::Null),
            ("Null", Value::Null),
            ("014", int(12)),
            ("0o14", int(12)),
            ("08", int(8)),
            ("1_000", int(1000)),
            ("1__0", int(10)),
            ("1.0", int(1)),
            ("1e3", int(1000)),
            ("1.", int(1)),
            (".5", float(0.5)),
            ("+.5", float(0.5)),
            ("+12", int(12)),
            ("-0x1f", int(-31)),
            ("0x_ff", int(255)),
            ("0b101", int(5)),
            ("0B11", int(3)),
            ("-0", int(0)),
            ("-0.0", int(0)),
            ("18446744073709551615", float(18446744073709551615.0)),
            ("99999999999999999999", float(1e20)),
            ("1.5e3_0", float(1.5e30)),
            ("0.1e-7", float(1e-8)),
        ] {
            assert_eq!(resolve(text), value, "{text}");
        }
        for text in ["2001-01-01", "2001-01-01T00:00:00Z", "1:30", "_1", "1e", "0x", "=", "yEs", "-", "+", ".", "1.2.3"]
        {
            assert_eq!(resolve(text), Value::str(text));
        }
    }

    #[test]
    fn keys_are_strings() {
        for (text, expected) in [("1", "1"), ("1.5", "1.5"), ("on", "true"), ("014", "12"), ("a", "a"), ("1e3", "1000")]
        {
            assert_eq!(key(&resolve(text)).as_deref(), Some(expected));
        }
        assert_eq!(key(&resolve("~")), None);
    }
}
