//! Suggestions for names that do not exist: similar names, or existing ones.

use std::collections::BTreeSet;
use std::fmt;

use attache_engine::Path;
use attache_engine::nearest;

/// The rules that are nearest to `rule`, by dotted path or by the last key of one.
pub(crate) fn nearest_rules<'p>(rule: &str, paths: impl Iterator<Item = &'p Path>) -> Vec<String> {
    let names = paths.flat_map(|path| {
        let path = path.to_string();
        let last = path.rsplit('.').next().unwrap_or_default().to_owned();
        [path, last]
    });
    nearest(rule, names.filter(|name| name != rule).collect::<BTreeSet<String>>())
}

/// `did you mean `a` or `b`?`
pub fn did_you_mean(choices: impl IntoIterator<Item = impl fmt::Display>) -> String {
    format!("did you mean {}?", one_of(choices))
}

/// `a`, `b` or `c`, each in backticks.
pub fn one_of(choices: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let mut words: Vec<String> = choices.into_iter().map(|choice| format!("`{choice}`")).collect();
    match (words.pop(), words.is_empty()) {
        (Some(last), false) => format!("{} or {last}", words.join(", ")),
        (last, _) => last.unwrap_or_default(),
    }
}

/// The first `most` names, each in backticks, and the number of further ones.
pub fn first_of(names: impl IntoIterator<Item = impl fmt::Display>, most: usize) -> String {
    let words: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    let shown = words[..words.len().min(most)].join(", ");
    if words.len() > most { format!("{shown} and {} more", words.len() - most) } else { shown }
}
