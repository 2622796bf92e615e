//! Label selectors, as Kubernetes reads them.

use crate::value::Value;

/// Whether a selector (`matchLabels`, `matchExpressions`) holds for some labels. An empty selector holds for all,
/// one that is missing or not a map for none.
pub fn selects<'l>(selector: &Value, label: impl Fn(&str) -> Option<&'l str>) -> bool {
    selector.as_map().is_some()
        && labels_match(selector.get("matchLabels").unwrap_or(&Value::Null), &label)
        && selector.list_at("matchExpressions").iter().all(|expression| holds(expression, &label))
}

/// What is wrong with a selector: one that cannot be understood selects nothing.
pub fn check(selector: &Value) -> Result<(), String> {
    let must_be = |what: &str, expected: &str, found: &Value| {
        Err(format!("{what} must be {expected}, not {}", found.type_name()))
    };
    if selector.as_map().is_none() && !selector.is_null() {
        return must_be("a selector", "an object", selector);
    }
    match (selector.get("matchLabels"), selector.get("matchExpressions")) {
        (Some(labels), _) if labels.as_map().is_none() && !labels.is_null() => {
            return must_be("`matchLabels`", "an object", labels);
        }
        (_, Some(list)) if !matches!(list, Value::List(_) | Value::Null) => {
            return must_be("`matchExpressions`", "a list", list);
        }
        _ => {}
    }
    for (key, value) in selector.get("matchLabels").map_or(&[][..], Value::entries) {
        if value.as_str().is_none() {
            return Err(format!("label `{key}` must be a string, not {}", value.type_name()));
        }
    }
    for expression in selector.list_at("matchExpressions") {
        let key = expression.get_str("key").ok_or("a match expression has no `key`")?;
        let values = expression.list_at("values").is_empty();
        match expression.get_str("operator") {
            Some("Exists" | "DoesNotExist") => {}
            Some("In" | "NotIn") if values => return Err(format!("the match expression for `{key}` needs `values`")),
            Some("In" | "NotIn") => {}
            Some(other) => {
                return Err(format!("unknown operator `{other}`: use `In`, `NotIn`, `Exists` or `DoesNotExist`"));
            }
            None => return Err(format!("the match expression for `{key}` has no `operator`")),
        }
    }
    Ok(())
}

/// Whether every entry of `wanted` is among the labels.
pub fn labels_match<'l>(wanted: &Value, label: impl Fn(&str) -> Option<&'l str>) -> bool {
    wanted.entries().iter().all(|(key, value)| value.as_str().is_some_and(|value| label(key) == Some(value)))
}

fn holds<'l>(expression: &Value, label: impl Fn(&str) -> Option<&'l str>) -> bool {
    let Some(found) = expression.get_str("key").map(label) else { return false };
    let listed =
        || expression.list_at("values").iter().any(|value| value.as_str().is_some() && value.as_str() == found);
    match expression.get_str("operator") {
        Some("In") => listed(),
        Some("NotIn") => !listed(),
        Some("Exists") => found.is_some(),
        Some("DoesNotExist") => found.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn on_team_a(selector: serde_json::Value) -> bool {
        selects(&selector.into(), |key| (key == "team").then_some("a"))
    }

    #[test]
    fn an_empty_selector_selects_all_and_a_missing_one_nothing() {
        assert!(on_team_a(json!({})));
        assert!(!on_team_a(json!(null)));
        assert!(!on_team_a(json!("team=a")));
    }

    #[test]
    fn labels_and_expressions_must_all_hold() {
        let both = |operator: &str| {
            let expressions = json!([{"key": "team", "operator": operator, "values": ["a", "b"]}]);
            on_team_a(json!({"matchLabels": {"team": "a"}, "matchExpressions": expressions}))
        };
        assert!(both("In") && both("Exists"));
        assert!(!both("NotIn") && !both("DoesNotExist") && !both("Near"));
        assert!(!on_team_a(json!({"matchLabels": {"team": "b"}})));
        assert!(!on_team_a(json!({"matchLabels": {"team": 1}})));
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        let expression = |expression: serde_json::Value| check(&json!({"matchExpressions": [expression]}).into());
        assert_eq!(expression(json!({"key": "a", "operator": "Exists"})), Ok(()));
        let unknown = "unknown operator `Is`: use `In`, `NotIn`, `Exists` or `DoesNotExist`";
        assert_eq!(expression(json!({"key": "a", "operator": "Is"})), Err(unknown.into()));
        assert_eq!(
            expression(json!({"key": "a", "operator": "In"})),
            Err("the match expression for `a` needs `values`".into())
        );
    }

    #[test]
    fn what_has_the_wrong_type_is_no_empty_selector() {
        let message = |selector: serde_json::Value| check(&selector.into()).err().unwrap_or_default();
        assert_eq!(message(json!("app=web")), "a selector must be an object, not a string");
        assert_eq!(message(json!({"matchLabels": ["app"]})), "`matchLabels` must be an object, not a list");
        assert_eq!(message(json!({"matchExpressions": {}})), "`matchExpressions` must be a list, not an object");
        assert_eq!(check(&Value::Null), Ok(()));
    }

    #[test]
    fn a_label_that_is_missing_is_not_in_any_list() {
        let expression =
            |operator: &str| json!({"matchExpressions": [{"key": "x", "operator": operator, "values": []}]});
        assert!(on_team_a(expression("NotIn")) && on_team_a(expression("DoesNotExist")));
        assert!(!on_team_a(expression("In")) && !on_team_a(expression("Exists")));
    }
}
