//! Drops the values of Secrets.

use crate::value::{Map, Value, decode_base64};

/// A Secret without its values. Each value of `data` and `stringData` is replaced by the labels of the PEM blocks in
/// it, such as `CERTIFICATE` or `PRIVATE KEY`, or by the empty string if it is not PEM. This is enough to check whether
/// a listener can use it.
pub fn redact(body: &Value) -> Value {
    let Value::Map(map) = body else { return body.clone() };
    let mut map = map.clone();
    for (field, decode) in [("data", decode as fn(&str) -> Option<String>), ("stringData", plain)] {
        if let Some(values) = map.get(field) {
            map = map.with(field, replace(values, decode));
        }
    }
    Value::Map(map)
}

/// Keeps the number and order of values, because the source map depends on them.
fn replace(value: &Value, decode: fn(&str) -> Option<String>) -> Value {
    match value {
        Value::Map(map) => {
            Value::Map(Map::from_entries(map.entries().iter().map(|(k, v)| (k.clone(), replace(v, decode))).collect()))
        }
        Value::List(items) => Value::list(items.iter().map(|item| replace(item, decode)).collect()),
        Value::Str(text) => Value::str(decode(text).and_then(|text| pem_labels(&text)).unwrap_or_default()),
        _ => Value::str(""),
    }
}

fn decode(text: &str) -> Option<String> {
    String::from_utf8(decode_base64(text)?).ok()
}

fn plain(text: &str) -> Option<String> {
    Some(text.to_string())
}

/// The labels of the PEM blocks in `text`, separated by commas. `None` if a block is malformed.
fn pem_labels(text: &str) -> Option<String> {
    let mut labels = Vec::new();
    let mut rest = text;
    while let Some((_, block)) = rest.split_once("-----BEGIN ") {
        let (label, block) = block.split_once("-----")?;
        let (content, after) = block.split_once(&format!("-----END {label}-----"))?;
        // Encrypted keys have headers, which end at an empty line.
        let content = content.split_once("\n\n").map_or(content, |(_, content)| content);
        decode_base64(content).filter(|bytes| !bytes.is_empty())?;
        if !labels.contains(&label) {
            labels.push(label);
        }
        rest = after;
    }
    (!labels.is_empty()).then(|| labels.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_labels_of_pem_blocks_are_kept() {
        let certificate = "-----BEGIN CERTIFICATE-----\nTUlJ\n-----END CERTIFICATE-----\n";
        assert_eq!(pem_labels(certificate).as_deref(), Some("CERTIFICATE"));
        assert_eq!(pem_labels(&certificate.repeat(2)).as_deref(), Some("CERTIFICATE"));
        for broken in ["", "Hello world", "-----BEGIN X-----\nTUlJ", "-----BEGIN X-----\n!\n-----END X-----"] {
            assert_eq!(pem_labels(broken), None, "{broken}");
        }
    }

    #[test]
    fn nothing_else_of_a_secret_is_kept() {
        let entry = |key: &str, value: Value| (key.into(), value);
        let data = Value::map(vec![
            entry(
                "tls.crt",
                Value::str("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClRVbEoKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="),
            ),
            entry("password", Value::str("aHVudGVyMg==")),
        ]);
        let string_data = Value::map(vec![entry("token", Value::Int(42))]);
        let body = redact(&Value::map(vec![entry("data", data), entry("stringData", string_data)]));
        assert_eq!(
            serde_json::to_string(&body).unwrap_or_default(),
            r#"{"data":{"password":"","tls.crt":"CERTIFICATE"},"stringData":{"token":""}}"#
        );
    }
}
