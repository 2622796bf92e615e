//! What an audit requires: from the command line, or from a file with exceptions.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use attache_engine::problem::Problem;
use attache_engine::text;
use attache_engine::value::Value;
use clap::ValueEnum;

use crate::commands::audit::On;
use crate::failure::Failure;
use crate::target::Query;

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
    pub query: Query,
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

/// All requirements that were given.
pub fn gather(words: &[String], on: Option<On>, file: Option<&Path>) -> Result<Vec<Required>, Failure> {
    let mut all: Vec<Required> = words.iter().map(|word| parse(word, on)).collect();
    if let Some(file) = file {
        all.extend(read(file)?);
    }
    if all.is_empty() {
        let help = "say what with `--require KIND[:RULE]` or `--requirements FILE`";
        return Err(Problem::error("nothing is required").help(help).into());
    }
    Ok(all)
}

fn parse(word: &str, on: Option<On>) -> Required {
    let (kind, rule) = match word.split_once(':') {
        Some((kind, rule)) => (kind, Some(rule.to_owned())),
        None => (word, None),
    };
    Required { kind: kind.to_owned(), rule, on, exceptions: Vec::new() }
}

fn read(file: &Path) -> Result<Vec<Required>, Failure> {
    let name: Arc<str> = file.display().to_string().into();
    let problem = |message: String| Problem::error(message).in_file(&name);
    let text = fs::read_to_string(file).map_err(|error| problem(format!("cannot be read: {error}")))?;
    let value = text::read_value(&text).map_err(|problem| problem.in_file(&name))?;
    let list = value.list_at("requirements");
    if list.is_empty() {
        let help = "write `requirements:` and a list with `require`, `level` and `exceptions`";
        return Err(problem("there are no `requirements` in it".to_owned()).help(help).into());
    }
    let each = list.iter().enumerate();
    each.map(|(i, item)| requirement(item).map_err(|message| problem(format!("requirements[{i}]: {message}")).into()))
        .collect()
}

fn requirement(item: &Value) -> Result<Required, String> {
    let word = item.get_str("require").ok_or("`require` is missing: KIND or KIND:RULE")?;
    // Not `on`: kubectl reads that as `true`.
    let on = match item.get_str("level") {
        Some(text) => Some(On::from_str(text, true).map_err(|_| format!("unknown level `{text}`"))?),
        None => None,
    };
    const FIELDS: [&str; 3] = ["require", "level", "exceptions"];
    if let Some((field, _)) = item.entries().iter().find(|(field, _)| !FIELDS.contains(&field.as_str())) {
        return Err(format!("unknown field `{field}`: there are `require`, `level` and `exceptions`"));
    }
    let mut required = parse(word, on);
    for (i, exception) in item.list_at("exceptions").iter().enumerate() {
        let text = |key: &str| exception.get_str(key).map(str::to_owned);
        let missing = |key: &str| format!("exceptions[{i}]: `{key}` is missing");
        let until = text("until");
        if let Some(day) = until.as_deref().filter(|day| !is_day(day)) {
            return Err(format!("exceptions[{i}]: `{day}` is not a day: write YYYY-MM-DD"));
        }
        let object = text("object").ok_or_else(|| missing("object"))?;
        let query = Query::parse(std::slice::from_ref(&object)).map_err(|_| not_an_object(i, &object))?.0;
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

/// The day that was given, or today.
pub fn day(given: Option<&str>) -> Result<String, Failure> {
    match given {
        Some(day) if is_day(day) => Ok(day.to_owned()),
        Some(other) => Err(Problem::error(format!("`{other}` is not a day")).help("write YYYY-MM-DD").into()),
        None => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let today = jiff::Timestamp::from_second(now.as_secs().try_into().unwrap_or(0)).unwrap_or_default();
            Ok(today.to_string().chars().take(10).collect())
        }
    }
}

fn is_day(text: &str) -> bool {
    text.parse::<jiff::civil::Date>().is_ok() && text.len() == 10
}
