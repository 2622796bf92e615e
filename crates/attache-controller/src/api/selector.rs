//! Label and field selectors, as in `?labelSelector=app=cakes,tier!=edge&fieldSelector=spec.object.kind=HTTPRoute`.

use super::error::ApiError;

/// Selectors of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selectors {
    labels: Vec<LabelRequirement>,
    fields: Vec<FieldRequirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LabelRequirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
    Greater(i64),
    Less(i64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldRequirement {
    field: &'static str,
    value: String,
    is_equal: bool,
}

impl Selectors {
    /// Reads selectors. `fields` are those that can be selected by.
    pub fn parse(labels: &str, fields: &str, known: &[&'static str]) -> Result<Selectors, ApiError> {
        let labels = split(labels).into_iter().map(label_requirement);
        let fields = fields.split(',').map(str::trim).filter(|it| !it.is_empty());
        Ok(Selectors {
            labels: labels.collect::<Result<_, _>>()?,
            fields: fields.map(|it| field_requirement(it, known)).collect::<Result<_, _>>()?,
        })
    }

    /// Whether an object with these labels is selected.
    pub fn select_labels<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.labels.iter().all(|LabelRequirement { key, operator }| {
            let value = label(key);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match operator {
                Operator::In(values) => value.is_some_and(|value| values.iter().any(|it| it == value)),
                Operator::NotIn(values) => value.is_none_or(|value| values.iter().all(|it| it != value)),
                Operator::Exists => value.is_some(),
                Operator::DoesNotExist => value.is_none(),
                Operator::Greater(than) => number().is_some_and(|number| number > *than),
                Operator::Less(than) => number().is_some_and(|number| number < *than),
            }
        })
    }

    /// Whether an object with these fields is selected. Only the fields of the selector are computed.
    pub fn select_fields(&self, has_value: impl Fn(&str, &str) -> bool) -> bool {
        self.fields.iter().all(|it| has_value(it.field, &it.value) == it.is_equal)
    }
}

/// The requirements of a label selector: split at commas that are not in parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn label_requirement(text: &str) -> Result<LabelRequirement, ApiError> {
    let bad = || ApiError::BadRequest(format!("unable to parse requirement `{text}` of the label selector"));
    let one = |value: &str| vec![value.trim_start_matches('=').trim().to_owned()];
    let number = |text: &str| text.trim().parse::<i64>().map_err(|_| bad());
    let (key, operator) = if let Some(key) = text.strip_prefix('!') {
        (key, Operator::DoesNotExist)
    } else if let Some((key, value)) = text.split_once("!=") {
        (key, Operator::NotIn(one(value)))
    } else if let Some((key, value)) = text.split_once('=') {
        (key, Operator::In(one(value)))
    } else if let Some((key, value)) = text.split_once('>') {
        (key, Operator::Greater(number(value)?))
    } else if let Some((key, value)) = text.split_once('<') {
        (key, Operator::Less(number(value)?))
    } else if let Some((before, values)) = text.split_once('(') {
        let values = values.trim_end().strip_suffix(')').ok_or_else(bad)?;
        let values = values.split(',').map(|value| value.trim().to_owned()).collect();
        match before.split_whitespace().collect::<Vec<_>>().as_slice() {
            [key, "in"] => (*key, Operator::In(values)),
            [key, "notin"] => (*key, Operator::NotIn(values)),
            _ => return Err(bad()),
        }
    } else {
        (text, Operator::Exists)
    };
    let key = key.trim();
    let is_key = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    match !key.is_empty() && key.chars().all(is_key) {
        true => Ok(LabelRequirement { key: key.to_owned(), operator }),
        false => Err(bad()),
    }
}

fn field_requirement(text: &str, known: &[&'static str]) -> Result<FieldRequirement, ApiError> {
    let (field, value, is_equal) = match (text.split_once("!="), text.split_once('=')) {
        (Some((field, value)), _) => (field, value, false),
        (None, Some((field, value))) => (field, value.trim_start_matches('='), true),
        (None, None) => {
            return Err(ApiError::BadRequest(format!("invalid field selector `{text}`: write FIELD=VALUE")));
        }
    };
    let (field, value) = (field.trim(), value.trim().replace("\\,", ",").replace("\\=", "=").replace("\\\\", "\\"));
    let found = known.iter().find(|it| **it == field).copied();
    let unknown = || format!("field label not supported: {field}; use one of {}", known.join(", "));
    found.map(|field| FieldRequirement { field, value, is_equal }).ok_or_else(|| ApiError::BadRequest(unknown()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        let selectors = Selectors::parse(selector, "", &[]).expect("valid");
        selectors.select_labels(|key| labels.iter().find(|(it, _)| *it == key).map(|(_, value)| *value))
    }

    #[test]
    fn labels_are_selected_as_kubectl_selects_them() {
        let labels = [("app", "cakes"), ("tier", "3")];
        for selector in [
            "",
            "app",
            "app=cakes",
            "app==cakes",
            "app!=bread",
            "!team",
            "app in (bread, cakes)",
            "team notin (a,b)",
            "app=cakes,tier",
            "tier>2",
            "tier<4",
            "app in (cakes),tier in (3)",
        ] {
            assert!(selects(selector, &labels), "{selector}");
        }
        for selector in
            ["team", "app=bread", "app!=cakes", "!app", "app in (a,b)", "app notin (cakes)", "tier>3", "app>1"]
        {
            assert!(!selects(selector, &labels), "{selector}");
        }
    }

    #[test]
    fn an_invalid_selector_is_a_bad_request() {
        for (labels, fields) in [("a b", ""), ("a in (b", ""), ("=b", ""), ("a>b", ""), ("", "spec.x=1"), ("", "name")]
        {
            let error = Selectors::parse(labels, fields, &["name"]).expect_err("an error");
            assert!(matches!(error, ApiError::BadRequest(_)), "{labels} {fields}");
        }
    }

    #[test]
    fn fields_are_equal_or_not() {
        let has = |field: &str, value: &str| field == "kind" && value == "Gateway";
        for (selector, is_selected) in [("kind=Gateway", true), ("kind==Gateway", true), ("kind!=Gateway", false)] {
            let selectors = Selectors::parse("", selector, &["kind"]).expect("valid");
            assert_eq!(selectors.select_fields(has), is_selected, "{selector}");
        }
    }
}
