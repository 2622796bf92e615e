//! What an audit requires: from the command line, or from a file with exceptions.

use std::fmt;
use std::sync::Arc;

use attache_engine::problem::Problem;
use attache_engine::text;
use attache_engine::value::Value;

use super::On;
use crate::object_query::ObjectQuery;

#[derive(Clone, Debug)]
pub struct Required {
    pub kind: String,
    pub rule: Option<String>,
    pub on: Option<On>,
    pub exceptions: Vec<Exception>,
}

/// Something that need not have what is required, for a reason, and maybe until a day.
#[derive(Clone, Debug)]
pub struct Exception {
    /// As it is written.
    pub object: String,
    pub query: ObjectQuery,
    pub reason: String,
    /// `YYYY-MM-DD`, the last day on which it holds.
    pub until: Option<String>,
}

impl Exception {
    pub fn is_over(&self, today: &str) -> bool {
        self.until.as_deref().is_some_and(|until| until < today)
    }
}

impl fmt::Display for Required {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        self.rule.as_ref().map_or(Ok(()), |rule| write!(f, ":{rule}"))
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        self.until.as_ref().map_or(Ok(()), |until| write!(f, " (until {until})"))
    }
}

impl Required {
    /// Reads `KIND` or `KIND:RULE`.
    pub fn parse(word: &str, on: Option<On>) -> Required {
        let (kind, rule) = match word.split_once(':') {
            Some((kind, rule)) => (kind, Some(rule.to_owned())),
            None => (word, None),
        };
        Required { kind: kind.to_owned(), rule, on, exceptions: Vec::new() }
    }

    /// Reads a file of requirements.
    pub fn read(name: &Arc<str>, text: &str) -> Result<Vec<Required>, Box<Problem>> {
        let problem = |message: String| Problem::error(message).in_file(name);
        let value = text::read_value(text).map_err(|problem| problem.in_file(name))?;
        let list = value.list_at("requirements");
        if list.is_empty() {
            let help = "write `requirements:` and a list with `require`, `level` and `exceptions`";
            return Err(problem("there are no `requirements` in it".to_owned()).help(help).into());
        }
        let each = list.iter().enumerate();
        each.map(|(i, item)| {
            requirement(item).map_err(|message| problem(format!("requirements[{i}]: {message}")).into())
        })
        .collect()
    }
}

fn requirement(item: &Value) -> Result<Required, String> {
    let word = item.get_str("require").ok_or("`require` is missing: KIND or KIND:RULE")?;
    // Not `on`: kubectl reads that as `true`.
    let on = match item.get_str("level") {
        Some(text) => Some(On::parse(text).ok_or_else(|| format!("unknown level `{text}`"))?),
        None => None,
    };
    const FIELDS: [&str; 3] = ["require", "level", "exceptions"];
    if let Some((field, _)) = item.entries().iter().find(|(field, _)| !FIELDS.contains(&field.as_str())) {
        return Err(format!("unknown field `{field}`: there are `require`, `level` and `exceptions`"));
    }
    let mut required = Required::parse(word, on);
    for (i, exception) in item.list_at("exceptions").iter().enumerate() {
        let text = |key: &str| exception.get_str(key).map(str::to_owned);
        let missing = |key: &str| format!("exceptions[{i}]: `{key}` is missing");
        let until = text("until");
        if let Some(day) = until.as_deref().filter(|day| !is_day(day)) {
            return Err(format!("exceptions[{i}]: `{day}` is not a day: write YYYY-MM-DD"));
        }
        let object = text("object").ok_or_else(|| missing("object"))?;
        let query = ObjectQuery::parse(std::slice::from_ref(&object)).map_err(|_| not_an_object(i, &object))?.0;
        required.exceptions.push(Exception {
            object,
            query,
            reason: text("reason").ok_or_else(|| missing("reason"))?,
            until,
        });
    }
    Ok(required)
}

fn not_an_object(i: usize, object: &str) -> String {
    format!("exceptions[{i}]: `{object}` is not an object: write KIND/NAMESPACE/NAME, with #SECTION for a part of it")
}

/// Whether this is a day as `YYYY-MM-DD`.
pub fn is_day(text: &str) -> bool {
    text.parse::<jiff::civil::Date>().is_ok() && text.len() == 10
}
