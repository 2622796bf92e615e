//! The backends of a rule.

use std::fmt;

use super::client_request::Request;
use super::filters::FilterEffects;
use crate::engine_view::EngineView;
use crate::object::{Object, ObjectRef};
use crate::topology::delegation;
use crate::topology::reference::Reference;
use crate::topology::{DelegationRefusal, NodeId, NodeRef, RefusalCause};
use crate::value::Value;

/// A backend of a rule, or of a mirror filter.
#[derive(Debug)]
pub struct Backend {
    /// The object that the route refers to. It may not exist.
    pub id: ObjectRef,
    /// The port that the route refers to.
    pub port: Option<i64>,
    /// The share of requests, relative to the other backends.
    pub weight: u64,
    /// The nodes of the backend and its port, or why the backend cannot be used.
    pub resolved: Result<(NodeId, Option<NodeId>), RefusalCause>,
    /// What the filters of the backendRef do. They apply only to requests that are sent to this backend.
    pub filter_effects: FilterEffects,
}

impl Backend {
    /// Whether requests are sent to the backend and it can be used.
    pub fn serves(&self) -> bool {
        self.weight > 0 && self.resolved.is_ok() && self.filter_effects.missing.is_none()
    }

    /// Why requests that are sent to the backend get an error.
    pub fn fault(&self) -> Option<BackendFault<'_>> {
        match (&self.resolved, &self.filter_effects.missing) {
            (Err(cause), _) => Some(BackendFault::Refused(cause)),
            (Ok(_), Some(filter)) => Some(BackendFault::MissingFilter(filter)),
            (Ok(_), None) => None,
        }
    }
}

/// Why a backend cannot be used.
#[derive(Clone, Copy, Debug)]
pub enum BackendFault<'b> {
    /// The reference to it is refused.
    Refused(&'b RefusalCause),
    /// A filter of the backendRef refers to an object that does not exist.
    MissingFilter(&'b ObjectRef),
}

impl BackendFault<'_> {
    /// The reason, in one word.
    pub fn reason(self) -> &'static str {
        match self {
            BackendFault::Refused(cause) => cause.reason().as_str(),
            BackendFault::MissingFilter(_) => "FilterNotFound",
        }
    }
}

impl fmt::Display for BackendFault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackendFault::Refused(cause) => cause.fmt(f),
            BackendFault::MissingFilter(filter) => write!(f, "filter {filter} of the backend does not exist"),
        }
    }
}

/// The backends of a rule, with the effects of their filters. `prefix` is the path prefix that the request matched.
pub fn backends(
    view: EngineView<'_>,
    request: &Request,
    route: &Object,
    rule: &Value,
    prefix: Option<&str>,
) -> Vec<Backend> {
    let references = rule.list_at("backendRefs").iter();
    references
        .filter_map(|reference| {
            let mut backend = backend(view, route, reference)?;
            backend.filter_effects.apply(view, request, route, reference.list_at("filters"), prefix);
            Some(backend)
        })
        .collect()
}

/// The backend that a route refers to.
pub fn backend(view: EngineView<'_>, route: &Object, reference: &Value) -> Option<Backend> {
    let weight = reference.get("weight").and_then(Value::as_int).unwrap_or(1);
    let reference = Reference::backend(reference, &route.id.namespace)?;
    let resolved = match delegation::is_delegation(&reference) {
        true => Err(refused_delegation(view, route, &reference)),
        false => view.topology.backend(view.objects, route, &reference).map_err(RefusalCause::from),
    };
    Some(Backend {
        id: ObjectRef::new(reference.group, reference.kind, reference.namespace, reference.name),
        port: reference.port,
        weight: u64::try_from(weight).unwrap_or(0),
        resolved,
        filter_effects: FilterEffects::default(),
    })
}

/// Why a rule does not delegate to the route that it refers to.
fn refused_delegation(view: EngineView<'_>, route: &Object, reference: &Reference) -> RefusalCause {
    let (parent, child) = (NodeRef::from(&route.id), NodeRef::from(*reference));
    let refused = view.topology.refused(view.objects).iter();
    let mut refused = refused.filter(|refused| refused.parent == parent && refused.child == child);
    match refused.next() {
        Some(refused) => refused.cause.clone(),
        None => DelegationRefusal::NoneLinked.into(),
    }
}
