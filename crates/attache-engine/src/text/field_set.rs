//! Skips `metadata.managedFields[].fieldsV1`, which makes up half of what an API server sends. The engine does not use it.

use super::json::plain_text_end;

/// Real ones have about ten levels.
const MAX_LEVELS: usize = 32;

/// The end of a map that contains nothing but maps, if there is one at `start`.
pub fn end(text: &[u8], start: usize) -> Option<usize> {
    let mut scanner = Scanner { text, at: start };
    let mut levels = 0;
    loop {
        scanner.expect(b'{')?;
        levels += 1;
        if levels > MAX_LEVELS {
            return None;
        }
        let mut next = scanner.peek()?;
        while next == b'}' {
            scanner.at += 1;
            levels -= 1;
            if levels == 0 {
                return Some(scanner.at);
            }
            next = scanner.peek()?;
            match next {
                b'}' => {}
                b',' => scanner.at += 1,
                _ => return None,
            }
        }
        scanner.key()?;
    }
}

struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
}

impl Scanner<'_> {
    /// The next byte after white space.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.text.get(self.at)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// A key and its colon. Keys such as `k:{"port":80}` contain quotes.
    fn key(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            self.at += plain_text_end(self.text.get(self.at..)?)?;
            match self.text.get(self.at..)? {
                [b'"', ..] => break,
                [b'\\', b'"' | b'\\', ..] => self.at += 2,
                _ => return None,
            }
        }
        self.at += 1;
        self.expect(b':')
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::text;

    fn field_sets() -> impl Strategy<Value = Value> {
        let leaf = Just(json!({}));
        leaf.prop_recursive(6, 40, 5, |inner| {
            prop::collection::vec(("[a-zé:{}\\[\\],.\"\\\\ ]{0,12}", inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>()))
        })
    }

    fn written(value: &Value, pretty: bool) -> String {
        if pretty { serde_json::to_string_pretty(value).unwrap() } else { value.to_string() }
    }

    proptest! {
        #[test]
        fn the_end_of_maps_of_maps_is_found(set in field_sets(), pretty in any::<bool>()) {
            let text = written(&set, pretty);
            prop_assert_eq!(end(format!("{text},{{}}").as_bytes(), 0), Some(text.len()));
            for cut in 0..text.len() {
                prop_assert_eq!(end(&text.as_bytes()[..cut], 0), None);
            }
        }

        #[test]
        fn an_object_is_read_as_if_its_field_sets_were_parsed(set in field_sets(), pretty in any::<bool>(), many in 1..400usize) {
            let entry = json!({"manager": "kubectl", "operation": "Apply", "time": "2026-11-17T09:00:00Z",
                "fieldsV1": set, "fieldsType": "FieldsV1"});
            let nested = json!({"metadata": {"managedFields": [entry]}});
            let object = json!({"apiVersion": "v1", "kind": "Cake", "spec": {"template": nested, "fieldsV1": set},
                "metadata": {"name": "x", "managedFields": [entry, entry], "namespace": "y"}});
            let list = json!({"apiVersion": "v1", "kind": "CakeList", "items": vec![object.clone(); many]});
            for document in [object, list] {
                let text = written(&document, pretty);
                // Fields with another name are dropped too, but parsed. Those of the nested object remain.
                let parsed = text.replace("\"fieldsV1\"", "\"fieldsV2\"");
                let [skipped, parsed] = [text, parsed].map(|text| text::read(&Arc::from("a.json"), &text));
                prop_assert_eq!(skipped.problems.len(), 0);
                prop_assert_eq!(skipped.objects.len(), parsed.objects.len());
                for (skipped, parsed) in skipped.objects.iter().zip(&parsed.objects) {
                    prop_assert_eq!(&skipped.last_change, &parsed.last_change);
                    prop_assert_eq!(&skipped.source, &parsed.source);
                    let shown = format!("{:?}", skipped.body);
                    prop_assert_eq!(shown, format!("{:?}", parsed.body).replace("fieldsV2", "fieldsV1"));
                }
            }
        }
    }

    #[test]
    fn anything_else_is_left_to_the_parser() {
        for text in [
            "",
            "[]",
            "{\"a\":1}",
            "{\"a\":{},}",
            "{\"a\" {}}",
            "{\"a\":{}\"b\":{}}",
            "{\"\\n\":{}}",
            "{\"\\u0041\":{}}",
            "{a:{}}",
        ] {
            assert_eq!(end(text.as_bytes(), 0), None, "{text}");
        }
        let deep = "{\"a\":".repeat(40) + "{}" + &"}".repeat(40);
        assert_eq!(end(deep.as_bytes(), 0), None);
    }
}
