//! Filters that the Gateway API does not define. `kinds/filters.yaml` describes those that are known.

use std::fmt;
use std::sync::LazyLock;

use smol_str::SmolStr;

use crate::engine_view::EngineView;
use crate::object::{Object, ObjectRef};
use crate::policy::PolicyId;
use crate::text;
use crate::value::Value;

/// A filter that the Gateway API does not define, and what is known about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionFilter {
    /// The object, or the type of the filter.
    pub name: ExtensionName,
    /// What the filter does to requests.
    pub effect: ExtensionEffect,
}

/// A reference to a filter that the Gateway API does not define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtensionName {
    /// An `ExtensionRef` to an object.
    Object(ObjectRef),
    /// A filter of an unknown type.
    UnknownType(String),
}

/// The effect of a filter that the Gateway API does not define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtensionEffect {
    /// The gateway responds with this status.
    Answer(u16),
    /// The object is a policy: its effect is part of the effective policies.
    Policy,
    /// Requests pass. These fields of the object have effects that are not evaluated.
    NotEvaluated(Vec<SmolStr>),
    /// The object does not exist.
    Missing,
    /// The filter is of an unknown kind: it may change requests, or respond to them.
    Unknown,
}

/// The response of a gateway that does not forward the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectResponse {
    /// The object that defines the response.
    pub filter: ObjectRef,
    /// The HTTP status.
    pub status: u16,
    /// Whether the rule must have neither backends nor a redirect. If it has, requests get an error.
    pub exclusive: bool,
}

impl ExtensionFilter {
    /// What is unknown about the filter, as a sentence.
    pub fn unknown(&self) -> Option<String> {
        match (&self.effect, &self.name) {
            (ExtensionEffect::Unknown, ExtensionName::Object(id)) => {
                let kind = id.group_kind();
                Some(format!("filter {id} may change the request, or answer it: kind {kind} is unknown"))
            }
            (ExtensionEffect::Unknown, ExtensionName::UnknownType(r#type)) => {
                Some(format!("a filter may change the request, or answer it: type `{}` is unknown", r#type))
            }
            (ExtensionEffect::NotEvaluated(fields), name) if !fields.is_empty() => {
                Some(format!("filter {name} changes the request: {} is not evaluated", fields.join(", ")))
            }
            _ => None,
        }
    }
}

impl fmt::Display for ExtensionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExtensionName::Object(id) => id.fmt(f),
            ExtensionName::UnknownType(r#type) => f.write_str(r#type),
        }
    }
}

/// The filter that an `extensionRef` of a route refers to, and the response if it makes the gateway respond.
pub fn read(view: EngineView<'_>, route: &Object, reference: &Value) -> (ExtensionFilter, Option<DirectResponse>) {
    let part = |field| reference.get_str(field).unwrap_or_default();
    let id = ObjectRef::new(part("group"), part("kind"), &route.id.namespace, part("name"));
    let with_effect = |id: ObjectRef, effect| ExtensionFilter { name: ExtensionName::Object(id), effect };
    let Some(found) = view.objects.find(&id) else {
        return (with_effect(id, ExtensionEffect::Missing), None);
    };
    if view.policies.get(PolicyId(found)).is_some() {
        return (with_effect(id, ExtensionEffect::Policy), None);
    }
    let Some(kind) = FilterKind::find(&id) else {
        return (with_effect(id, ExtensionEffect::Unknown), None);
    };
    let object = &view.objects[found];
    match kind.response(object) {
        Some((status, exclusive)) => {
            let response = DirectResponse { filter: id.clone(), status, exclusive };
            (with_effect(id, ExtensionEffect::Answer(status)), Some(response))
        }
        None => {
            let fields = kind.not_evaluated.iter().filter(|field| object.spec().get(field).is_some());
            (with_effect(id, ExtensionEffect::NotEvaluated(fields.cloned().collect())), None)
        }
    }
}

/// A known kind of filters.
#[derive(Debug)]
struct FilterKind {
    group: SmolStr,
    kind: SmolStr,
    direct_response: Option<ResponseFields>,
    /// Fields of `spec` whose effects are not evaluated.
    not_evaluated: Vec<SmolStr>,
}

/// The fields of a filter object that define the response of the gateway.
#[derive(Debug)]
struct ResponseFields {
    /// The field of `spec` that holds the response. Empty if it is `spec` itself.
    field: SmolStr,
    /// The field of the response that holds the status: 200 by default.
    status: SmolStr,
    exclusive: bool,
}

impl FilterKind {
    fn find(id: &ObjectRef) -> Option<&'static FilterKind> {
        static BUILT_IN: LazyLock<Vec<FilterKind>> = LazyLock::new(|| {
            // A test reads the document.
            let document = text::read_value(include_str!("../../../../kinds/filters.yaml")).unwrap_or_default();
            document.list_at("filters").iter().map(FilterKind::read).collect()
        });
        BUILT_IN.iter().find(|it| it.kind == id.kind && it.group == id.group)
    }

    fn read(document: &Value) -> FilterKind {
        let text = |value: &Value, field| SmolStr::from(value.get_str(field).unwrap_or_default());
        let response = |it: &Value| ResponseFields {
            field: text(it, "field"),
            status: text(it, "status"),
            exclusive: matches!(it.get("exclusive"), Some(Value::Bool(true))),
        };
        let not_evaluated = document.list_at("notEvaluated").iter().filter_map(Value::as_str);
        FilterKind {
            group: text(document, "group"),
            kind: text(document, "kind"),
            direct_response: document.get("directResponse").map(response),
            not_evaluated: not_evaluated.map(SmolStr::from).collect(),
        }
    }

    /// The status of the response, and whether the rule must not have any other response.
    fn response(&self, object: &Object) -> Option<(u16, bool)> {
        let ResponseFields { field, status, exclusive } = self.direct_response.as_ref()?;
        let response = if field.is_empty() { object.spec() } else { object.spec().get(field)? };
        let status = response.get(status).and_then(Value::as_int).and_then(|status| u16::try_from(status).ok());
        Some((status.unwrap_or(200), *exclusive))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_kinds_of_filters_are_read() {
        let document = text::read_value(include_str!("../../../../kinds/filters.yaml")).unwrap_or_default();
        let kinds: Vec<FilterKind> = document.list_at("filters").iter().map(FilterKind::read).collect();
        assert!(!kinds.is_empty());
        for FilterKind { group, kind, direct_response, .. } in &kinds {
            assert!(!group.is_empty() && !kind.is_empty());
            assert!(direct_response.as_ref().is_none_or(|it| !it.status.is_empty()), "{kind}");
        }
    }
}
