//! Label selectors, as in Kubernetes.

use std::fmt;

use smol_str::SmolStr;

use crate::value::Value;

/// Whether a selector with `matchLabels` and `matchExpressions` selects an object with these labels. An empty selector selects
/// all objects; a selector that is missing or not a map selects none.
///
/// ```
/// use attache_engine::selects;
/// use attache_engine::Value;
/// use serde_json::json;
///
/// let selector = Value::from(json!({"matchLabels": {"team": "a"}}));
/// assert!(selects(&selector, |label| (label == "team").then_some("a")));
/// assert!(!selects(&selector, |_| None));
/// ```
pub fn selects<'l>(selector: &Value, label: impl Fn(&str) -> Option<&'l str>) -> bool {
    selector.as_map().is_some()
        && labels_match(selector.get("matchLabels").unwrap_or(&Value::Null), &label)
        && selector.list_at("matchExpressions").iter().all(|expression| expression_matches(expression, &label))
}

/// Why a selector is not valid. Such a selector selects nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelectorError {
    /// The selector, `matchLabels` or `matchExpressions` has the wrong type.
    WrongType {
        /// The value that has the wrong type.
        what: &'static str,
        /// The type that it must have.
        expected: &'static str,
        /// The type that it has.
        found: &'static str,
    },
    /// The value of a label is not a string.
    LabelNotAString {
        /// The label.
        label: SmolStr,
        /// The type of its value.
        found: &'static str,
    },
    /// A match expression has no `key`.
    MissingKey,
    /// A match expression has no `operator`.
    MissingOperator {
        /// The key of the expression.
        key: SmolStr,
    },
    /// The operator needs `values`, and there are none.
    MissingValues {
        /// The key of the expression.
        key: SmolStr,
    },
    /// The operator is none of `In`, `NotIn`, `Exists` and `DoesNotExist`.
    UnknownOperator {
        /// The operator.
        operator: SmolStr,
    },
}

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SelectorError::WrongType { what, expected, found } => write!(f, "{what} must be {expected}, not {found}"),
            SelectorError::LabelNotAString { label, found } => {
                write!(f, "label `{label}` must be a string, not {found}")
            }
            SelectorError::MissingKey => f.write_str("a match expression has no `key`"),
            SelectorError::MissingOperator { key } => write!(f, "the match expression for `{key}` has no `operator`"),
            SelectorError::MissingValues { key } => write!(f, "the match expression for `{key}` needs `values`"),
            SelectorError::UnknownOperator { operator } => {
                write!(f, "unknown operator `{operator}`: use `In`, `NotIn`, `Exists` or `DoesNotExist`")
            }
        }
    }
}

impl std::error::Error for SelectorError {}

/// Checks that a selector is valid. Null means that there is no selector, which is valid.
///
/// # Errors
///
/// The first mistake in the selector.
pub fn check(selector: &Value) -> Result<(), SelectorError> {
    let wrong_type =
        |what, expected, value: &Value| Err(SelectorError::WrongType { what, expected, found: value.type_name() });
    if selector.as_map().is_none() && !selector.is_null() {
        return wrong_type("a selector", "an object", selector);
    }
    match (selector.get("matchLabels"), selector.get("matchExpressions")) {
        (Some(labels), _) if labels.as_map().is_none() && !labels.is_null() => {
            return wrong_type("`matchLabels`", "an object", labels);
        }
        (_, Some(list)) if !matches!(list, Value::List(_) | Value::Null) => {
            return wrong_type("`matchExpressions`", "a list", list);
        }
        _ => {}
    }
    for (label, value) in selector.get("matchLabels").map_or(&[][..], Value::entries) {
        if value.as_str().is_none() {
            return Err(SelectorError::LabelNotAString { label: label.clone(), found: value.type_name() });
        }
    }
    for expression in selector.list_at("matchExpressions") {
        let key = SmolStr::new(expression.get_str("key").ok_or(SelectorError::MissingKey)?);
        match expression.get_str("operator") {
            Some("Exists" | "DoesNotExist") => {}
            Some("In" | "NotIn") if !expression.list_at("values").is_empty() => {}
            Some("In" | "NotIn") => return Err(SelectorError::MissingValues { key }),
            Some(operator) => return Err(SelectorError::UnknownOperator { operator: operator.into() }),
            None => return Err(SelectorError::MissingOperator { key }),
        }
    }
    Ok(())
}

/// Whether the labels contain all entries of `wanted`.
pub fn labels_match<'l>(wanted: &Value, label: impl Fn(&str) -> Option<&'l str>) -> bool {
    wanted.entries().iter().all(|(key, value)| value.as_str().is_some_and(|value| label(key) == Some(value)))
}

fn expression_matches<'l>(expression: &Value, label: impl Fn(&str) -> Option<&'l str>) -> bool {
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
        let message = |expression: serde_json::Value| {
            check(&json!({"matchExpressions": [expression]}).into()).err().map(|error| error.to_string())
        };
        assert_eq!(message(json!({"key": "a", "operator": "Exists"})), None);
        let unknown = "unknown operator `Is`: use `In`, `NotIn`, `Exists` or `DoesNotExist`";
        assert_eq!(message(json!({"key": "a", "operator": "Is"})).as_deref(), Some(unknown));
        let missing = "the match expression for `a` needs `values`";
        assert_eq!(message(json!({"key": "a", "operator": "In"})).as_deref(), Some(missing));
    }

    #[test]
    fn a_selector_of_the_wrong_type_is_not_an_empty_selector() {
        let message = |selector: serde_json::Value| check(&selector.into()).map_err(|error| error.to_string());
        assert_eq!(message(json!("app=web")), Err("a selector must be an object, not a string".into()));
        assert_eq!(message(json!({"matchLabels": ["app"]})), Err("`matchLabels` must be an object, not a list".into()));
        assert_eq!(
            message(json!({"matchExpressions": {}})),
            Err("`matchExpressions` must be a list, not an object".into())
        );
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
