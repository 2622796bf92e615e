//! Label selectors, as Kubernetes reads them.

use crate::value::Value;

/// Whether a selector (`matchLabels`, `matchExpressions`) holds for some labels. An empty selector holds for all,
/// one that is missing or not a map for none.
pub fn selects<'l>(selector: &Value, label: impl Fn(&str) -> Option<&'l str>) -> bool {
    selector.as_map().is_some()
        && labels_match(selector.get("matchLabels").unwrap_or(&Value::Null), &label)
        && selector.list_at("matchExpressions").iter().all(|expression| holds(expression, &label))
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
    fn a_label_that_is_missing_is_not_in_any_list() {
        let expression =
            |operator: &str| json!({"matchExpressions": [{"key": "x", "operator": operator, "values": []}]});
        assert!(on_team_a(expression("NotIn")) && on_team_a(expression("DoesNotExist")));
        assert!(!on_team_a(expression("In")) && !on_team_a(expression("Exists")));
    }
}
