//! Changes of headers by filters.

use super::client_request::Request;
use crate::value::Value;

/// What a filter does to a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderOperation {
    /// Replaces all values.
    Set,
    /// Adds a value.
    Add,
    /// Removes all values.
    Remove,
}

/// One change of one header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderChange {
    /// The operation.
    pub operation: HeaderOperation,
    /// The name of the header, as the filter writes it.
    pub name: String,
    /// The value that is set or added.
    pub value: Option<String>,
}

/// The changes of a header modifier. Proxies first set, then add, then remove, regardless of the order in the filter.
pub fn read(filter: &Value) -> impl Iterator<Item = HeaderChange> {
    let with_value = [("set", HeaderOperation::Set), ("add", HeaderOperation::Add)].into_iter();
    let with_value = with_value.flat_map(|(field, operation)| {
        filter.list_at(field).iter().map(move |header| HeaderChange {
            operation,
            name: header.get_str("name").unwrap_or_default().to_owned(),
            value: Some(header.get_str("value").unwrap_or_default().to_owned()),
        })
    });
    let removed = filter.list_at("remove").iter().filter_map(Value::as_str);
    with_value.chain(removed.map(|name| HeaderChange {
        operation: HeaderOperation::Remove,
        name: name.to_owned(),
        value: None,
    }))
}

/// The value of a header after some changes; `None` if it is not sent.
pub fn header_after(request: &Request, changes: &[HeaderChange], name: &str) -> Option<String> {
    let changes = changes.iter().filter(|change| change.name.eq_ignore_ascii_case(name));
    changes.fold(request.header(name), |current, HeaderChange { operation, value, .. }| match (operation, current) {
        (HeaderOperation::Remove, _) => None,
        (HeaderOperation::Add, Some(current)) => Some(format!("{current},{}", value.as_deref().unwrap_or_default())),
        (HeaderOperation::Set | HeaderOperation::Add, _) => value.clone(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_are_set_added_and_removed_whatever_their_case() {
        let mut request = Request::parse("GET", "http://x").unwrap();
        for line in ["x-set: old", "x-add: old", "x-remove: old"] {
            request.add_header(line).unwrap();
        }
        let filter = json!({
            "set": [{"name": "X-Set", "value": "new"}],
            "add": [{"name": "X-Add", "value": "new"}, {"name": "X-New", "value": "new"}],
            "remove": ["X-Remove"],
        });
        let changes: Vec<HeaderChange> = read(&filter.into()).collect();
        let after = |name| header_after(&request, &changes, name);
        assert_eq!(after("x-set").as_deref(), Some("new"));
        assert_eq!(after("x-add").as_deref(), Some("old,new"));
        assert_eq!(after("x-new").as_deref(), Some("new"));
        assert_eq!(after("x-remove"), None);
    }
}
