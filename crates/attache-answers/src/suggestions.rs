//! What to say to somebody whose word is not known: what is near it, or what there is.

use std::collections::BTreeSet;
use std::fmt;

use attache_engine::names::nearest;
use attache_engine::value::Path;

/// The other rules nearest to what somebody calls one: by dotted path, or by its last word.
pub fn nearest_rules<'p>(rule: &str, paths: impl Iterator<Item = &'p Path>) -> Vec<String> {
    let names = paths.flat_map(|path| {
        let path = path.to_string();
        let last = path.rsplit('.').next().unwrap_or_default().to_owned();
        [path, last]
    });
    nearest(rule, names.filter(|name| name != rule).collect::<BTreeSet<String>>())
}

pub fn did_you_mean(choices: impl IntoIterator<Item = impl fmt::Display>) -> String {
    format!("did you mean {}?", either(choices))
}

/// `a`, `b` or `c`, each in backticks.
pub fn either(choices: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let mut words: Vec<String> = choices.into_iter().map(|choice| format!("`{choice}`")).collect();
    match (words.pop(), words.is_empty()) {
        (Some(last), false) => format!("{} or {last}", words.join(", ")),
        (last, _) => last.unwrap_or_default(),
    }
}

/// The first `most` of them, and how many more there are.
pub fn listed(all: impl IntoIterator<Item = impl fmt::Display>, most: usize) -> String {
    let words: Vec<String> = all.into_iter().map(|one| format!("`{one}`")).collect();
    let shown = words[..words.len().min(most)].join(", ");
    if words.len() > most { format!("{shown} and {} more", words.len() - most) } else { shown }
}
