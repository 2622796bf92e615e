//! The requirements of an audit, and their exceptions.

use std::fmt;
use std::sync::Arc;

use attache_engine::kinds::{GROUP, POLICY_REQUIREMENT, PolicyRequirement, RequiredNamespaces};
use attache_engine::text;
use attache_engine::{Object, Problem, Value};
use smol_str::SmolStr;

use super::AuditLevel;
use crate::error::QueryError;
use crate::object_query::ObjectQuery;

/// A policy, or a rule of one, that must be in force.
#[derive(Clone, Debug)]
pub struct AuditRequirement {
    /// The policy kind, as a user writes it.
    pub kind: String,
    /// The rule: a name, or a dotted path.
    pub rule: Option<String>,
    /// Where it must be in force. `None` means the effective targets of the kind.
    pub level: Option<AuditLevel>,
    /// The namespaces in which it must be in force. `None` means all.
    pub namespaces: Option<RequiredNamespaces>,
    /// The objects that need not have it.
    pub exceptions: Vec<Exception>,
}

/// An object that need not have a required policy.
#[derive(Clone, Debug)]
pub struct Exception {
    /// The object, as the requirement writes it.
    pub object: String,
    /// The same, parsed.
    pub query: ObjectQuery,
    /// Why it need not have the policy.
    pub reason: String,
    /// The last date of the exception: `YYYY-MM-DD`.
    pub until: Option<String>,
}

impl Exception {
    /// Whether the exception has expired.
    pub(super) fn is_over(&self, today: &str) -> bool {
        self.until.as_deref().is_some_and(|until| until < today)
    }
}

/// `KIND` or `KIND:RULE`.
impl fmt::Display for AuditRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        self.rule.as_ref().map_or(Ok(()), |rule| write!(f, ":{rule}"))
    }
}

impl AuditRequirement {
    /// Reads `KIND` or `KIND:RULE`.
    pub fn parse(word: &str, level: Option<AuditLevel>) -> AuditRequirement {
        let (kind, rule) = match word.split_once(':') {
            Some((kind, rule)) => (kind, Some(rule.to_owned())),
            None => (word, None),
        };
        AuditRequirement { kind: kind.to_owned(), rule, level, namespaces: None, exceptions: Vec::new() }
    }

    /// Reads a file of requirements: a list, or PolicyRequirement documents.
    pub fn read(name: &Arc<str>, text: &str) -> Result<Vec<AuditRequirement>, QueryError> {
        let problem = |message: String| Problem::error(message).in_file(name);
        let documents = text::read(name, text).objects;
        if !documents.is_empty() {
            return documents.iter().map(AuditRequirement::from_object).collect();
        }
        let value = text::read_value(text).map_err(|problem| problem.in_file(name))?;
        let list = value.list_at("requirements");
        if list.is_empty() {
            let help = "write `requirements:` and a list with `require`, `level` and `exceptions`";
            return Err(problem("it has no `requirements`".to_owned()).help(help).into());
        }
        let each = list.iter().enumerate();
        each.map(|(i, item)| {
            requirement(item).map_err(|message| problem(format!("requirements[{i}]: {message}")).into())
        })
        .collect()
    }
}

impl AuditRequirement {
    /// The requirement of a PolicyRequirement document.
    pub fn from_object(object: &Object) -> Result<AuditRequirement, QueryError> {
        let problem = |message: String| Problem::error(message).about(object);
        if object.id.group != GROUP || object.id.kind != POLICY_REQUIREMENT {
            let help = "requirements are PolicyRequirement documents, or a list `requirements:`";
            return Err(problem(format!("{} is not a PolicyRequirement", object.id)).help(help).into());
        }
        let first = |problems: Vec<Problem>| problems.into_iter().next();
        let document = PolicyRequirement::read(object)
            .map_err(|problems| first(problems).unwrap_or_else(|| problem("it cannot be read".to_owned())))?;
        let level = document.level.and_then(|level| AuditLevel::parse(level.name()));
        let mut required = AuditRequirement::parse(&document.require, level);
        required.namespaces = document.namespaces;
        for (i, it) in document.exceptions.iter().enumerate() {
            let text = |text: &SmolStr| text.to_string();
            let exception = exception(i, text(&it.object), text(&it.reason), it.until.as_ref().map(text));
            required.exceptions.push(exception.map_err(|message| problem(format!("spec.{message}")))?);
        }
        Ok(required)
    }
}

fn exception(i: usize, object: String, reason: String, until: Option<String>) -> Result<Exception, String> {
    if let Some(day) = until.as_deref().filter(|day| !is_date(day)) {
        return Err(format!("exceptions[{i}]: `{day}` is not a date: write YYYY-MM-DD"));
    }
    let query = object.parse().map_err(|_: QueryError| not_an_object(i, &object))?;
    Ok(Exception { object, query, reason, until })
}

fn requirement(item: &Value) -> Result<AuditRequirement, String> {
    let word = item.get_str("require").ok_or("`require` is missing: KIND or KIND:RULE")?;
    // Not `on`: kubectl reads that as `true`.
    let level = match item.get_str("level") {
        Some(text) => Some(AuditLevel::parse(text).ok_or_else(|| format!("unknown level `{text}`"))?),
        None => None,
    };
    const FIELDS: [&str; 3] = ["require", "level", "exceptions"];
    if let Some((field, _)) = item.entries().iter().find(|(field, _)| !FIELDS.contains(&field.as_str())) {
        return Err(format!("unknown field `{field}`: there are `require`, `level` and `exceptions`"));
    }
    let mut required = AuditRequirement::parse(word, level);
    for (i, exception) in item.list_at("exceptions").iter().enumerate() {
        let text = |key: &str| exception.get_str(key).map(str::to_owned);
        let missing = |key: &str| format!("exceptions[{i}]: `{key}` is missing");
        let object = text("object").ok_or_else(|| missing("object"))?;
        let reason = text("reason").ok_or_else(|| missing("reason"))?;
        required.exceptions.push(self::exception(i, object, reason, text("until"))?);
    }
    Ok(required)
}

fn not_an_object(i: usize, object: &str) -> String {
    format!("exceptions[{i}]: `{object}` is not an object: write KIND/NAMESPACE/NAME, with #SECTION for a section")
}

/// Whether a text is a date as `YYYY-MM-DD`.
pub fn is_date(text: &str) -> bool {
    text.parse::<jiff::civil::Date>().is_ok() && text.len() == 10
}
