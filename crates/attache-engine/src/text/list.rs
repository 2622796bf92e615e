//! A long list in JSON, as `kubectl get -o json` prints it, is read at several places at once.
//!
//! Where an item starts is not known before all that precedes it has been read, but it can be guessed: items start alike. The
//! guesses were right if whoever reads from one of them arrives at the next.

use std::sync::Arc;

use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use super::json::{self, Position};
use super::objects::{self, Assumed};
use super::{Document, Reading};
use crate::object::SourceMap;
use crate::value::Value;

/// In bytes: long enough to be worth a task, and short enough that all cores have something to do.
const STRETCH: usize = 1 << 16;

/// How far into the document its items may start.
const HEAD: usize = 1 << 12;

/// None if the text is anything but one long list, or not like others: then it is to be read from one end to the other.
pub fn read(file: &Arc<str>, text: &str, progress: &(impl Fn(usize) + Sync)) -> Option<Reading> {
    let starts = guess(text)?;
    let (first, last) = (*starts.first()?, *starts.last()?);
    let stretches: Vec<(Position, &str)> =
        starts.windows(2).map(|pair| Some((pair[0], text.get(..pair[1].at)?))).collect::<Option<_>>()?;
    let read = |&(start, text): &(Position, &str)| {
        let items = json::read_items(text, start);
        progress(text.len() - start.at);
        items
    };
    let stretches: Vec<Vec<(Value, SourceMap)>> = stretches.par_iter().map(read).collect::<Option<_>>()?;
    let (body, locations) = json::read_around(text, first, last)?;
    let assumed: Option<Assumed> = objects::list_of(&body)?;
    progress(text.len() - (last.at - first.at));
    const NUMBER: u32 = 1;
    let items = stretches.into_par_iter().map(|items| objects::items(file, NUMBER, items, assumed.as_ref()));
    let mut items: Vec<Reading> = items.collect();
    items.push(objects::objects(file, Document { number: NUMBER, body, locations, repeated: Vec::new() }));
    Some(Reading::concat(items))
}

/// Where stretches of items may start; the last one is not to be read.
fn guess(text: &str) -> Option<Vec<Position>> {
    if text.len() < 2 * STRETCH || !text.trim_start().starts_with('{') {
        return None;
    }
    let head = text.get(..text.floor_char_boundary(HEAD))?;
    let key = "\"items\"";
    let after = head.find(key)? + key.len();
    let list = after + head[after..].find('[')? + 1;
    // Space, a brace, space, and the first key.
    let mut quotes = head[list..].match_indices('"').skip(1);
    let start = &head[list..list + quotes.next()?.0 + 1];
    let comma = format!(",{start}");
    let mut starts = vec![Position::START.onward(text, list)];
    while let Some(&last) = starts.last()
        && let Some(rest) = text.get(text.ceil_char_boundary(last.at + STRETCH)..)
        && let Some(found) = rest.find(&comma)
    {
        starts.push(last.onward(text, text.len() - rest.len() + found + 1));
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

    /// What a list is like: which keys its items start with, what else there is in them, and what is around them.
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
        fn it_is_the_same_as_from_one_end_to_the_other(list in lists(), pretty in any::<bool>(), cut in 0..200_000usize) {
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
    fn what_kubectl_prints_is_read_at_several_places() {
        let item = json!({"apiVersion": "v1", "kind": "Cake", "metadata": {"name": "x"}, "spec": "x".repeat(1000)});
        let list = json!({"apiVersion": "v1", "items": vec![item; 300], "kind": "List"});
        for text in [serde_json::to_string_pretty(&list).unwrap(), list.to_string()] {
            assert!(guess(&text).unwrap().len() > 2);
            assert_eq!(read(&Arc::from("list.json"), &text, &|_| ()).unwrap().objects.len(), 300);
        }
    }
}
