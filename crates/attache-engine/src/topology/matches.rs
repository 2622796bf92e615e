//! Matches of rules: whether all requests of one match are requests of another.

use crate::value::Value;

/// Whether some match of rule `below` lies within a match of rule `above`.
pub fn narrows(below: &Value, above: &Value) -> bool {
    each(below).any(|below| each(above).any(|above| lies_within(below, above)))
}

/// The matches of a rule. A rule without matches has an empty one.
pub fn each(rule: &Value) -> impl Iterator<Item = &Value> {
    let matches = rule.list_at("matches");
    matches.iter().chain(matches.is_empty().then_some(&Value::Null))
}

/// Whether all requests of match `below` are requests of match `above`.
pub fn lies_within(below: &Value, above: &Value) -> bool {
    let method = above.get_str("method");
    path_lies_within(below, above)
        && (method.is_none() || below.get_str("method") == method)
        && conditions_of("headers", above).all(|wanted| {
            conditions_of("headers", below)
                .any(|(kind, name, value)| kind == wanted.0 && name.eq_ignore_ascii_case(wanted.1) && value == wanted.2)
        })
        && conditions_of("queryParams", above)
            .all(|wanted| conditions_of("queryParams", below).any(|own| own == wanted))
}

fn path_lies_within(below: &Value, above: &Value) -> bool {
    let (kind, path) = path(below);
    let (kind_above, path_above) = self::path(above);
    match kind_above {
        "PathPrefix" => {
            let rest = path.strip_prefix(path_above.trim_end_matches('/'));
            rest.is_some_and(|rest| kind == "RegularExpression" || rest.is_empty() || rest.starts_with('/'))
        }
        _ => (kind, path) == (kind_above, path_above),
    }
}

fn path(of: &Value) -> (&str, &str) {
    let path = of.get("path").unwrap_or(&Value::Null);
    (path.get_str("type").unwrap_or("PathPrefix"), path.get_str("value").unwrap_or("/"))
}

fn conditions_of<'v>(field: &str, of: &'v Value) -> impl Iterator<Item = (&'v str, &'v str, &'v str)> {
    of.list_at(field).iter().map(|condition| {
        let text = |field| condition.get_str(field).unwrap_or_default();
        (condition.get_str("type").unwrap_or("Exact"), text("name"), text("value"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    fn within(below: Json, above: Json) -> bool {
        narrows(&json!({"matches": [below]}).into(), &json!({"matches": [above]}).into())
    }

    fn prefix(path: &str) -> Json {
        json!({"path": {"type": "PathPrefix", "value": path}})
    }

    #[test]
    fn paths_are_compared_element_by_element() {
        assert!(within(prefix("/a/1"), prefix("/a")));
        assert!(within(prefix("/a"), prefix("/a/")));
        assert!(within(json!({"path": {"type": "Exact", "value": "/a/1"}}), prefix("/a")));
        assert!(!within(prefix("/ab"), prefix("/a")));
        assert!(!within(prefix("/"), prefix("/a")));
        assert!(within(prefix("/a"), json!({})));
        assert!(!within(json!({}), prefix("/a")));
    }

    #[test]
    fn everything_the_upper_match_asks_for_must_be_asked_for_below() {
        let asks = |header: &str| json!({"method": "GET", "headers": [{"name": header, "value": "1"}]});
        assert!(within(asks("X"), asks("x")));
        assert!(!within(asks("y"), asks("x")));
        assert!(!within(json!({"method": "GET"}), asks("x")));
        assert!(within(asks("x"), json!({"method": "GET"})));
        assert!(!within(json!({}), json!({"queryParams": [{"name": "a", "value": "1"}]})));
    }
}
