//! Whether a match of a rule holds for a request, how much it asks for, and what is missing.

use std::borrow::Cow;
use std::fmt;

use super::client::Request;
use crate::pattern;
use crate::value::Value;

/// The memory of a compiled pattern: enough for a few classes of Unicode letters.
const MOST_PATTERN: usize = 1 << 20;

/// A match that holds.
#[derive(Clone, Debug)]
pub struct MatchDetails<'o> {
    pub rank: MatchRank,
    /// The path prefix that it asks for, if it asks for one.
    pub prefix: Option<Cow<'o, str>>,
}

/// How much a match asks for, what counts most first.
pub type MatchRank = [usize; 5];

/// Why the match with the greater number at a place of the rank goes first.
pub const HTTP_RANK: [&str; 5] = [
    "has the more exact kind of path",
    "has the longer path",
    "asks for the method",
    "asks for more headers",
    "asks for more query parameters",
];
pub const GRPC_RANK: [&str; 5] =
    ["has the more exact kind of call", "has the longer service", "has the longer method", "asks for more headers", ""];

/// What a match asks for and the request does not have.
#[derive(Clone, Debug)]
pub enum MatchFailure<'o> {
    Path(PathMatch<'o>),
    Method(&'o str),
    Header {
        condition: MatchCondition<'o>,
        sent: Option<String>,
    },
    Parameter {
        condition: MatchCondition<'o>,
        sent: Option<String>,
        other_case: Option<String>,
    },
    Service(&'o str),
    GrpcMethod(&'o str),
    Pattern {
        pattern: &'o str,
        error: String,
    },
    /// It is not within what the rule that delegates hands on.
    Outside,
}

#[derive(Clone, Debug)]
pub enum PathMatch<'o> {
    Exact(Cow<'o, str>),
    Prefix(Cow<'o, str>),
    Pattern(&'o str),
}

/// A header or a query parameter that must have a value.
#[derive(Clone, Copy, Debug)]
pub struct MatchCondition<'o> {
    name: &'o str,
    value: &'o str,
    is_pattern: bool,
}

impl<'o> PathMatch<'o> {
    /// What a match says of the path. `base` is the prefix below which it is meant.
    pub fn read(of: &'o Value, base: Option<&str>) -> Self {
        let path = of.get("path").unwrap_or(&Value::Null);
        let value = path.get_str("value").unwrap_or("/");
        let joined = match base {
            Some(base) => Cow::Owned(format!("{}{value}", base.trim_end_matches('/'))),
            None => Cow::Borrowed(value),
        };
        match path.get_str("type").unwrap_or("PathPrefix") {
            "Exact" => PathMatch::Exact(joined),
            "RegularExpression" => PathMatch::Pattern(value),
            _ => PathMatch::Prefix(joined),
        }
    }

    /// The kind and the length: the Gateway API puts exact paths first and leaves the place of patterns to
    /// implementations; most put them before prefixes.
    fn rank(&self) -> (usize, usize) {
        match self {
            PathMatch::Exact(path) => (2, path.len()),
            PathMatch::Pattern(pattern) => (1, pattern.len()),
            PathMatch::Prefix(path) => (0, path.trim_end_matches('/').len()),
        }
    }

    fn holds(&self, path: &str) -> Result<bool, MatchFailure<'o>> {
        match self {
            PathMatch::Exact(wanted) => Ok(path == wanted),
            PathMatch::Prefix(prefix) => Ok(below(path, prefix).is_some()),
            PathMatch::Pattern(pattern) => matches_pattern(pattern, path),
        }
    }
}

/// What follows a prefix, which ends at a `/` of the path or at its end.
pub fn below<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(prefix.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// Whether a match of an HTTPRoute holds.
pub fn http<'o>(
    request: &Request,
    wanted: &'o Value,
    base: Option<&str>,
) -> Result<MatchDetails<'o>, MatchFailure<'o>> {
    let path = PathMatch::read(wanted, base);
    // Patterns are dear: what is cheap is looked at first.
    let is_pattern = matches!(path, PathMatch::Pattern(_));
    if !is_pattern && !path.holds(&request.path)? {
        return Err(MatchFailure::Path(path));
    }
    let method = wanted.get_str("method").filter(|method| !method.is_empty());
    if let Some(method) = method.filter(|method| *method != request.method) {
        return Err(MatchFailure::Method(method));
    }
    let headers = headers(request, wanted)?;
    let parameters = conditions(wanted.list_at("queryParams"), |a, b| a == b);
    for condition in &parameters {
        let sent = request.parameter(condition.name);
        if !condition.holds(sent.as_deref())? {
            let mut names = request.parameters();
            let other_case = names.find(|name| name != condition.name && name.eq_ignore_ascii_case(condition.name));
            return Err(MatchFailure::Parameter { condition: *condition, sent, other_case });
        }
    }
    if is_pattern && !path.holds(&request.path)? {
        return Err(MatchFailure::Path(path));
    }
    let (kind, length) = path.rank();
    let rank = [kind, length, usize::from(method.is_some()), headers, parameters.len()];
    let prefix = if let PathMatch::Prefix(prefix) = path { Some(prefix) } else { None };
    Ok(MatchDetails { rank, prefix })
}

/// Whether a match of a GRPCRoute holds.
pub fn grpc<'o>(request: &Request, wanted: &'o Value) -> Result<MatchDetails<'o>, MatchFailure<'o>> {
    let called = request.path.strip_prefix('/').unwrap_or(&request.path);
    let (service, method) = called.rsplit_once('/').unwrap_or((called, ""));
    let call = wanted.get("method").unwrap_or(&Value::Null);
    let part = |name| call.get_str(name).filter(|text| !text.is_empty());
    let is_pattern = call.get_str("type") == Some("RegularExpression");
    let holds = |wanted: Option<&'o str>, called: &str| match wanted {
        None => Ok(true),
        Some(wanted) if is_pattern => matches_pattern(wanted, called),
        Some(wanted) => Ok(wanted == called),
    };
    if !holds(part("service"), service)? {
        return Err(MatchFailure::Service(part("service").unwrap_or_default()));
    }
    if !holds(part("method"), method)? {
        return Err(MatchFailure::GrpcMethod(part("method").unwrap_or_default()));
    }
    let length = |name| part(name).map_or(0, str::len);
    let (service, method) = (length("service"), length("method"));
    // The length of a pattern says nothing of how much it asks for: as with paths, what is exact goes first.
    let kind = if service + method == 0 { 0 } else { 2 - usize::from(is_pattern) };
    Ok(MatchDetails { rank: [kind, service, method, headers(request, wanted)?, 0], prefix: None })
}

/// The number of headers that a match asks for, if the request has them.
fn headers<'o>(request: &Request, wanted: &'o Value) -> Result<usize, MatchFailure<'o>> {
    let conditions = conditions(wanted.list_at("headers"), str::eq_ignore_ascii_case);
    for condition in &conditions {
        let sent = match condition.name.eq_ignore_ascii_case("host") {
            true => Some(request.host.clone()),
            false => request.header(condition.name),
        };
        if !condition.holds(sent.as_deref())? {
            return Err(MatchFailure::Header { condition: *condition, sent });
        }
    }
    Ok(conditions.len())
}

/// Of conditions with one name, the first counts.
fn conditions(list: &[Value], same: impl Fn(&str, &str) -> bool) -> Vec<MatchCondition<'_>> {
    let mut found: Vec<MatchCondition> = Vec::new();
    for value in list {
        let name = value.get_str("name").unwrap_or_default();
        if !found.iter().any(|condition| same(condition.name, name)) {
            let is_pattern = value.get_str("type") == Some("RegularExpression");
            found.push(MatchCondition { name, value: value.get_str("value").unwrap_or_default(), is_pattern });
        }
    }
    found
}

impl<'o> MatchCondition<'o> {
    fn holds(&self, sent: Option<&str>) -> Result<bool, MatchFailure<'o>> {
        match sent {
            None => Ok(false),
            Some(sent) if self.is_pattern => matches_pattern(self.value, sent),
            Some(sent) => Ok(sent == self.value),
        }
    }
}

/// Whether the whole text is like a pattern: that is how most implementations read it.
fn matches_pattern<'o>(pattern: &'o str, text: &str) -> Result<bool, MatchFailure<'o>> {
    let regex = pattern::compile(&format!("^(?:{pattern})$"), MOST_PATTERN);
    regex.map(|regex| regex.is_match(text)).map_err(|error| MatchFailure::Pattern { pattern, error })
}

/// What a match asks for, on one line: `PathPrefix /menu, method GET`.
pub fn describe(wanted: &Value, base: Option<&str>) -> String {
    let mut parts = Vec::new();
    if wanted.get("path").is_some() || base.is_some() {
        parts.push(PathMatch::read(wanted, base).to_string());
    }
    match wanted.get("method") {
        Some(Value::Str(method)) => parts.push(format!("method {method}")),
        Some(call) => {
            let part = |name| call.get_str(name).unwrap_or("*");
            parts.push(format!("call {}/{}", part("service"), part("method")));
        }
        None => {}
    }
    let header = |condition: MatchCondition| format!("header {condition:#}");
    parts.extend(conditions(wanted.list_at("headers"), str::eq_ignore_ascii_case).into_iter().map(header));
    let parameter = |condition: MatchCondition| format!("query {condition}");
    parts.extend(conditions(wanted.list_at("queryParams"), |a, b| a == b).into_iter().map(parameter));
    if parts.is_empty() { "anything".to_owned() } else { parts.join(", ") }
}

impl fmt::Display for PathMatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathMatch::Exact(path) => write!(f, "path {path}"),
            PathMatch::Prefix(path) => write!(f, "path prefix {path}"),
            PathMatch::Pattern(pattern) => write!(f, "path pattern {pattern}"),
        }
    }
}

/// `name=value`, or with `#` as headers are written, `name: value`.
impl fmt::Display for MatchCondition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MatchCondition { name, value, is_pattern } = self;
        let between = if f.alternate() { ": " } else { "=" };
        let like = if *is_pattern { "like " } else { "" };
        write!(f, "{name}{between}{like}{value}")
    }
}

/// Completes "it …".
impl fmt::Display for MatchFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MatchFailure::Path(path) => write!(f, "asks for {path}"),
            MatchFailure::Method(method) => write!(f, "asks for method {method}"),
            MatchFailure::Header { condition, sent: None } => {
                write!(f, "asks for header {condition:#}, which is not sent")
            }
            MatchFailure::Header { condition, sent: Some(sent) } => {
                write!(f, "asks for header {condition:#}, not {sent}")
            }
            MatchFailure::Parameter { condition, other_case: Some(name), .. } => {
                write!(f, "asks for query {condition}; `{name}` is another name, for case matters")
            }
            MatchFailure::Parameter { condition, sent: None, .. } => {
                write!(f, "asks for query {condition}, which is not sent")
            }
            MatchFailure::Parameter { condition, sent: Some(sent), .. } => {
                write!(f, "asks for query {condition}, not {sent}")
            }
            MatchFailure::Service(service) => write!(f, "asks for gRPC service {service}"),
            MatchFailure::GrpcMethod(method) => write!(f, "asks for gRPC method {method}"),
            MatchFailure::Pattern { pattern, error } => {
                write!(f, "has a pattern that cannot be used, `{pattern}`: {error}")
            }
            MatchFailure::Outside => f.write_str("has no part in what the rule above hands on"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prefixes_are_compared_element_by_element() {
        for (path, prefix, rest) in [
            ("/abc", "/abc", Some("")),
            ("/abc/", "/abc", Some("/")),
            ("/abc/d", "/abc/", Some("/d")),
            ("/abcd", "/abc", None),
            ("/ABC", "/abc", None),
            ("/", "/", Some("/")),
            ("/x", "/", Some("/x")),
        ] {
            assert_eq!(below(path, prefix), rest, "{path} below {prefix}");
        }
    }

    #[test]
    fn a_pattern_must_match_the_whole_and_a_bad_one_says_so() {
        assert!(matches_pattern("/v[0-9]+|/x", "/v12").unwrap());
        assert!(!matches_pattern("/v[0-9]+", "/v12/x").unwrap());
        assert_eq!(
            matches_pattern("(", "").unwrap_err().to_string(),
            "has a pattern that cannot be used, `(`: unclosed group"
        );
        let huge = matches_pattern("((a{200}){200}){200}", "").unwrap_err().to_string();
        assert!(huge.ends_with("it is too large"), "{huge}");
    }

    #[test]
    fn of_headers_with_one_name_the_first_counts() {
        let mut request = Request::parse("GET", "http://x").unwrap();
        request.add_header("Color: red").unwrap();
        let wanted = json!({"headers": [{"name": "color", "value": "red"}, {"name": "COLOR", "value": "blue"}]}).into();
        assert_eq!(http(&request, &wanted, None).unwrap().rank, [0, 0, 0, 1, 0]);
    }
}
