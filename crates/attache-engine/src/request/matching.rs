//! Tests the matches of a rule: whether a request meets one, its specificity, or the requirement that fails.

use std::borrow::Cow;
use std::fmt;

use super::client_request::Request;
use super::precedence::MatchRank;
use crate::pattern;
use crate::value::Value;

/// The memory limit of a compiled pattern: enough for a few Unicode classes.
const PATTERN_LIMIT: usize = 1 << 20;

/// A match that the request meets.
#[derive(Clone, Debug)]
pub struct MatchDetails<'o> {
    pub rank: MatchRank,
    /// The path prefix of the match, if it has one.
    pub prefix: Option<Cow<'o, str>>,
}

/// A requirement of a match that a request does not meet. Its `Display` completes the sentence "it …".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MatchFailure<'o> {
    /// The path differs.
    Path(PathMatch<'o>),
    /// The HTTP method differs.
    Method(&'o str),
    /// A header is missing or has another value.
    Header {
        /// What the match requires.
        condition: MatchCondition<'o>,
        /// The value in the request.
        sent: Option<String>,
    },
    /// A query parameter is missing or has another value.
    QueryParam {
        /// What the match requires.
        condition: MatchCondition<'o>,
        /// The value in the request.
        sent: Option<String>,
        /// A parameter of the request whose name differs in case only.
        other_case: Option<String>,
    },
    /// The gRPC service differs.
    GrpcService(&'o str),
    /// The gRPC method differs.
    GrpcMethod(&'o str),
    /// The regular expression is invalid.
    InvalidPattern {
        /// The expression.
        pattern: &'o str,
        /// What is wrong with it.
        error: String,
    },
    /// The match is not within the matches of the rule that delegates to its route.
    OutsideDelegation,
}

/// The path of a match.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PathMatch<'o> {
    /// The whole path.
    Exact(Cow<'o, str>),
    /// The path, or its first elements.
    Prefix(Cow<'o, str>),
    /// A regular expression for the whole path.
    Pattern(&'o str),
}

/// A header or query parameter that a match requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatchCondition<'o> {
    name: &'o str,
    value: &'o str,
    is_pattern: bool,
}

/// A match of a rule. Its `Display` is a list of requirements: `path prefix /menu, method GET`.
#[derive(Clone, Debug)]
pub struct RouteMatch<'o> {
    pub(super) value: &'o Value,
    /// The path prefix that the match inherits from the rule that delegates to its route.
    pub(super) base: Option<String>,
}

impl<'o> PathMatch<'o> {
    /// The path of a match, below the prefix `base`.
    pub(super) fn read(route_match: &'o Value, base: Option<&str>) -> Self {
        let path = route_match.get("path").unwrap_or(&Value::Null);
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

    /// The type and the length. The Gateway API puts exact paths first and leaves the rank of regular expressions to
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
            PathMatch::Exact(exact) => Ok(path == exact),
            PathMatch::Prefix(prefix) => Ok(after_prefix(path, prefix).is_some()),
            PathMatch::Pattern(pattern) => matches_pattern(pattern, path),
        }
    }
}

/// The rest of a path after a prefix. Prefixes match whole path elements.
pub fn after_prefix<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(prefix.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// Tests a match of an HTTPRoute.
pub fn http<'o>(
    request: &Request,
    route_match: &'o Value,
    base: Option<&str>,
) -> Result<MatchDetails<'o>, MatchFailure<'o>> {
    let path = PathMatch::read(route_match, base);
    // Regular expressions are expensive: test everything else first.
    let is_pattern = matches!(path, PathMatch::Pattern(_));
    if !is_pattern && !path.holds(&request.path)? {
        return Err(MatchFailure::Path(path));
    }
    let method = route_match.get_str("method").filter(|method| !method.is_empty());
    if let Some(method) = method.filter(|method| *method != request.method) {
        return Err(MatchFailure::Method(method));
    }
    let headers = headers(request, route_match)?;
    let parameters = conditions(route_match.list_at("queryParams"), |a, b| a == b);
    for condition in &parameters {
        let sent = request.parameter(condition.name);
        if !condition.holds(sent.as_deref())? {
            let mut names = request.parameters();
            let other_case = names.find(|name| name != condition.name && name.eq_ignore_ascii_case(condition.name));
            return Err(MatchFailure::QueryParam { condition: *condition, sent, other_case });
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

/// Tests a match of a GRPCRoute.
pub fn grpc<'o>(request: &Request, route_match: &'o Value) -> Result<MatchDetails<'o>, MatchFailure<'o>> {
    let called = request.path.strip_prefix('/').unwrap_or(&request.path);
    let (service, method) = called.rsplit_once('/').unwrap_or((called, ""));
    let call = route_match.get("method").unwrap_or(&Value::Null);
    let part = |name| call.get_str(name).filter(|text| !text.is_empty());
    let is_pattern = call.get_str("type") == Some("RegularExpression");
    let holds = |required: Option<&'o str>, called: &str| match required {
        None => Ok(true),
        Some(required) if is_pattern => matches_pattern(required, called),
        Some(required) => Ok(required == called),
    };
    if !holds(part("service"), service)? {
        return Err(MatchFailure::GrpcService(part("service").unwrap_or_default()));
    }
    if !holds(part("method"), method)? {
        return Err(MatchFailure::GrpcMethod(part("method").unwrap_or_default()));
    }
    let length = |name| part(name).map_or(0, str::len);
    let (service, method) = (length("service"), length("method"));
    // The length of a regular expression is no measure of specificity: as for paths, exact names come first.
    let kind = if service + method == 0 { 0 } else { 2 - usize::from(is_pattern) };
    Ok(MatchDetails { rank: [kind, service, method, headers(request, route_match)?, 0], prefix: None })
}

/// The number of headers that a match requires, if the request has all of them.
fn headers<'o>(request: &Request, route_match: &'o Value) -> Result<usize, MatchFailure<'o>> {
    let conditions = conditions(route_match.list_at("headers"), str::eq_ignore_ascii_case);
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

/// Of several conditions with the same name, only the first counts.
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

/// Whether a regular expression matches the whole text, as in most implementations.
fn matches_pattern<'o>(pattern: &'o str, text: &str) -> Result<bool, MatchFailure<'o>> {
    let regex = pattern::compile(&format!("^(?:{pattern})$"), PATTERN_LIMIT);
    regex.map(|regex| regex.is_match(text)).map_err(|error| MatchFailure::InvalidPattern { pattern, error })
}

impl fmt::Display for RouteMatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RouteMatch { value, base } = self;
        let mut parts = Vec::new();
        if value.get("path").is_some() || base.is_some() {
            parts.push(PathMatch::read(value, base.as_deref()).to_string());
        }
        match value.get("method") {
            Some(Value::Str(method)) => parts.push(format!("method {method}")),
            Some(call) => {
                let part = |name| call.get_str(name).unwrap_or("*");
                parts.push(format!("gRPC {}/{}", part("service"), part("method")));
            }
            None => {}
        }
        let header = |condition: MatchCondition| format!("header {condition:#}");
        parts.extend(conditions(value.list_at("headers"), str::eq_ignore_ascii_case).into_iter().map(header));
        let parameter = |condition: MatchCondition| format!("query {condition}");
        parts.extend(conditions(value.list_at("queryParams"), |a, b| a == b).into_iter().map(parameter));
        f.write_str(if parts.is_empty() { "any request" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
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

/// `name=value`; with `{:#}`, as headers are written, `name: value`.
impl fmt::Display for MatchCondition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MatchCondition { name, value, is_pattern } = self;
        let between = if f.alternate() { ": " } else { "=" };
        let pattern = if *is_pattern { "pattern " } else { "" };
        write!(f, "{name}{between}{pattern}{value}")
    }
}

impl fmt::Display for MatchFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MatchFailure::Path(path) => write!(f, "requires {path}"),
            MatchFailure::Method(method) => write!(f, "requires method {method}"),
            MatchFailure::Header { condition, sent: None } => {
                write!(f, "requires header {condition:#}, which is not sent")
            }
            MatchFailure::Header { condition, sent: Some(sent) } => {
                write!(f, "requires header {condition:#}, not {sent}")
            }
            MatchFailure::QueryParam { condition, other_case: Some(name), .. } => {
                write!(f, "requires query {condition}; `{name}` differs in case")
            }
            MatchFailure::QueryParam { condition, sent: None, .. } => {
                write!(f, "requires query {condition}, which is not sent")
            }
            MatchFailure::QueryParam { condition, sent: Some(sent), .. } => {
                write!(f, "requires query {condition}, not {sent}")
            }
            MatchFailure::GrpcService(service) => write!(f, "requires gRPC service {service}"),
            MatchFailure::GrpcMethod(method) => write!(f, "requires gRPC method {method}"),
            MatchFailure::InvalidPattern { pattern, error } => {
                write!(f, "has an invalid regular expression `{pattern}`: {error}")
            }
            MatchFailure::OutsideDelegation => {
                f.write_str("is not within the matches of the rule that delegates to its route")
            }
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
            assert_eq!(after_prefix(path, prefix), rest, "{path} below {prefix}");
        }
    }

    #[test]
    fn a_regular_expression_must_match_the_whole_text_and_an_invalid_one_says_so() {
        assert!(matches_pattern("/v[0-9]+|/x", "/v12").unwrap());
        assert!(!matches_pattern("/v[0-9]+", "/v12/x").unwrap());
        assert_eq!(
            matches_pattern("(", "").unwrap_err().to_string(),
            "has an invalid regular expression `(`: unclosed group"
        );
        let huge = matches_pattern("((a{200}){200}){200}", "").unwrap_err().to_string();
        assert!(huge.ends_with("it is too large"), "{huge}");
    }

    #[test]
    fn of_headers_with_the_same_name_the_first_counts() {
        let mut request = Request::parse("GET", "http://x").unwrap();
        request.add_header("Color: red").unwrap();
        let route_match =
            json!({"headers": [{"name": "color", "value": "red"}, {"name": "COLOR", "value": "blue"}]}).into();
        assert_eq!(http(&request, &route_match, None).unwrap().rank, [0, 0, 0, 1, 0]);
    }
}
