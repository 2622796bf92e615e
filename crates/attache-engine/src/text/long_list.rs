//! Reads one long JSON list, as `kubectl get -o json` prints it, on all cores.
//!
//! The start of an item is known only after all text before it has been read. But it can be guessed, because all items
//! start with the same characters. The guesses are verified: each chunk must end exactly where the next one starts.

use std::sync::Arc;

use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use super::Reading;
use super::build::ParsedValue;
use super::document::{Document, items_to_objects, list_item_type};
use super::json::{self, TextPosition};
use crate::object::SourceMap;
use crate::value::Value;

/// The bytes of a chunk: enough to be worth a task, and few enough to keep all cores busy.
const CHUNK: usize = 1 << 16;

/// The bytes at the start of the text in which `items` must begin.
const HEAD: usize = 1 << 12;

/// `None` if the text is not one long list, or a guess was wrong: then the text must be read sequentially.
pub fn read(file: &Arc<str>, text: &str, progress: &(impl Fn(usize) + Sync)) -> Option<Reading> {
    let starts = guess_chunks(text)?;
    let (first, last) = (*starts.first()?, *starts.last()?);
    let chunks: Vec<(TextPosition, &str)> =
        starts.windows(2).map(|pair| Some((pair[0], text.get(..pair[1].offset)?))).collect::<Option<_>>()?;
    let read = |&(start, text): &(TextPosition, &str)| {
        let items = json::parse_items(text, start);
        progress(text.len() - start.offset);
        items
    };
    let chunks: Vec<Vec<(Value, SourceMap)>> = chunks.par_iter().map(read).collect::<Option<_>>()?;
    // The document with the items of the last chunk only.
    let (value, locations) = json::parse_around(text, first, last)?;
    let item_type = list_item_type(&value)?;
    progress(text.len() - (last.offset - first.offset));
    const NUMBER: u32 = 1;
    let items = chunks.into_par_iter().map(|items| items_to_objects(file, NUMBER, items, item_type.as_ref()));
    let mut readings: Vec<Reading> = items.collect();
    let rest = Document { number: NUMBER, parsed: ParsedValue { value, locations, repeated_keys: Vec::new() } };
    readings.push(rest.into_objects(file));
    Some(Reading::concat(readings))
}

/// Guesses where chunks of items start. The last chunk ends with the list, so it is read with the rest of the document.
fn guess_chunks(text: &str) -> Option<Vec<TextPosition>> {
    if text.len() < 2 * CHUNK || !text.trim_start().starts_with('{') {
        return None;
    }
    let head = text.get(..text.floor_char_boundary(HEAD))?;
    let key = "\"items\"";
    let after_key = head.find(key)? + key.len();
    let list = after_key + head[after_key..].find('[')? + 1;
    // White space, a brace, white space, and the first key.
    let mut quotes = head[list..].match_indices('"').skip(1);
    let item_start = &head[list..list + quotes.next()?.0 + 1];
    let next_item = format!(",{item_start}");
    let mut starts = vec![TextPosition::START.advance_to(text, list)];
    while let Some(&last) = starts.last()
        && let Some(rest) = text.get(text.ceil_char_boundary(last.offset + CHUNK)..)
        && let Some(found) = rest.find(&next_item)
    {
        starts.push(last.advance_to(text, text.len() - rest.len() + found + 1));
    }
    Some(starts)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::text::read_documents;

    /// Lists whose items start with different keys, have different content, and are in different documents.
    fn lists() -> impl Strategy<Value = Json> {
        let item = (0..4usize, "[a-zé\\\\\"\n,{}\\[]{0,40}", any::<bool>()).prop_map(|(inner, text, named)| {
            let start = json!({"apiVersion": "v1", "kind": "Cake", "metadata": {"name": "x"}, "spec": text});
            let mut item = start.clone();
            item["spec"] = json!({"text": text, "like": vec![start; inner], "fill": "x".repeat(900)});
            if !named {
                item.as_object_mut().unwrap().remove("kind");
            }
            item
        });
        let ends = prop::sample::select(vec![json!({}), json!([]), json!(null), json!("items")]);
        let around = (prop::sample::select(vec!["List", "CakeList", "Cake"]), ends);
        (prop::collection::vec(item, 1..6), 100..400usize, around).prop_map(|(kinds, count, (kind, end))| {
            let items: Vec<Json> = kinds.into_iter().cycle().take(count).collect();
            json!({"apiVersion": "v1", "items": items, "kind": kind, "metadata": end})
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn a_list_in_chunks_is_read_as_sequentially(list in lists(), pretty in any::<bool>(), cut in 0..200_000usize) {
            let text = if pretty { serde_json::to_string_pretty(&list) } else { serde_json::to_string(&list) }.unwrap();
            let cut = text.floor_char_boundary(text.len() - if cut < text.len() { cut } else { 0 });
            for text in [&text, &text[..cut]] {
                let file = Arc::from("list.json");
                let Reading { objects, problems } = read_documents(&file, text, |_| ());
                if let Some(reading) = read(&file, text, &|_| ()) {
                    prop_assert_eq!(reading.objects, objects);
                    prop_assert_eq!(format!("{:?}", reading.problems), format!("{problems:?}"));
                }
            }
        }
    }

    #[test]
    fn what_kubectl_prints_is_read_in_chunks() {
        let item = json!({"apiVersion": "v1", "kind": "Cake", "metadata": {"name": "x"}, "spec": "x".repeat(1000)});
        let list = json!({"apiVersion": "v1", "items": vec![item; 300], "kind": "List"});
        for text in [serde_json::to_string_pretty(&list).unwrap(), list.to_string()] {
            assert!(guess_chunks(&text).unwrap().len() > 2);
            assert_eq!(read(&Arc::from("list.json"), &text, &|_| ()).unwrap().objects.len(), 300);
        }
    }
}
