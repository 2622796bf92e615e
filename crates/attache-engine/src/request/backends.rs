//! The backends of a rule, and how much each gets.

use super::client::Request;
use super::filters::FilterEffects;
use crate::engine_view::EngineView;
use crate::object::Object;
use crate::topology::delegation;
use crate::topology::reference::Reference;
use crate::topology::{DelegationRefusal, NodeId, NodeRef, RefusalCause};
use crate::value::Value;

#[derive(Debug)]
pub struct Backend {
    /// As the route names it: `Service/namespace/name`.
    pub name: String,
    pub port: Option<i64>,
    pub weight: u64,
    /// The backend and its port, or why it cannot be used.
    pub found: Result<(NodeId, Option<NodeId>), RefusalCause>,
    /// What happens to requests that are sent there, and only to those.
    pub filter_effects: FilterEffects,
}

impl Backend {
    /// Whether requests are sent there, and arrive.
    pub fn serves(&self) -> bool {
        self.weight > 0 && self.found.is_ok()
    }
}

/// What is needed to find a backend.
#[derive(Debug)]
pub struct Resolve<'w> {
    pub view: EngineView<'w>,
}

impl<'w> Resolve<'w> {
    pub fn new(view: EngineView<'w>) -> Self {
        Resolve { view }
    }

    pub fn backend(&self, route: &Object, named: &Value) -> Option<Backend> {
        let EngineView { objects, topology, .. } = self.view;
        let reference = Reference::backend(named, &route.id.namespace)?;
        let found = match delegation::is_meant(&reference) {
            true => Err(self.not_delegated(route, &reference)),
            false => topology.backend(objects, route, &reference).map_err(RefusalCause::from),
        };
        let weight = named.get("weight").and_then(Value::as_int).unwrap_or(1);
        Some(Backend {
            name: format!("{}/{}/{}", reference.kind, reference.namespace, reference.name),
            port: reference.port,
            weight: u64::try_from(weight).unwrap_or(0),
            found,
            filter_effects: FilterEffects::default(),
        })
    }

    /// The backends of a rule, with the filters of each.
    pub fn backends(&self, request: &Request, route: &Object, rule: &Value, prefix: Option<&str>) -> Vec<Backend> {
        let named = rule.list_at("backendRefs").iter();
        named
            .filter_map(|named| {
                let mut backend = self.backend(route, named)?;
                backend.filter_effects.apply(self, request, route, named.list_at("filters"), prefix);
                Some(backend)
            })
            .collect()
    }

    /// Why a rule that wants to hand on to other routes does not.
    fn not_delegated(&self, route: &Object, reference: &Reference) -> RefusalCause {
        let (parent, child) = (NodeRef::from(&route.id), NodeRef::from(*reference));
        let refused = self.view.topology.refused(self.view.objects).iter();
        let mut refused = refused.filter(|refused| refused.parent == parent && refused.child == child);
        match refused.next() {
            Some(refused) => refused.cause.clone(),
            None => DelegationRefusal::NoneLinked.into(),
        }
    }
}
