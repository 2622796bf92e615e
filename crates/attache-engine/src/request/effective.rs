//! The effective policies on the way of a request.

use super::RequestTrace;
use super::client::Request;
use crate::engine::Engine;
use crate::model::{Model, Scope};
use crate::topology::NodeId;

/// For each kind, the scopes that lie on the way.
pub fn effective(engine: &Engine, request: &Request, trace: &RequestTrace) -> Vec<(Model, Vec<Scope>)> {
    let way = way(engine, trace);
    let view = engine.view();
    let from = request.from.as_deref().filter(|_| trace.service.is_some());
    let from = from.and_then(|from| engine.topology().find_namespace(engine.objects(), from));
    // What rules that delegate give goes on to those that they delegate to.
    let delegating = trace.rules.split_last().map_or(&[][..], |(_, above)| above);
    let delegating: Vec<NodeId> =
        delegating.iter().flat_map(|passed| [engine.topology().whole(passed.rule), passed.rule]).collect();
    let of_model = |model: Model| {
        let mut scopes = Vec::new();
        let targets = way.iter().filter(|node| !delegating.contains(node) && model.is_effective_target(view, **node));
        for &node in targets {
            model.scopes_within(view, node, &|node| way.contains(&node), &mut |scope| scopes.push(scope));
        }
        let apart: Vec<Vec<NodeId>> = scopes
            .iter()
            .filter(|scope| scope.from.is_some() && scope.from == from)
            .map(|it| it.nodes.clone())
            .collect();
        scopes.retain(|scope| match scope.from {
            Some(_) => scope.from == from,
            // Who has policies of their own does not get what all others get.
            None => !apart.contains(&scope.nodes),
        });
        (model, scopes)
    };
    engine.models_at(way.iter().copied()).into_iter().map(of_model).filter(|(_, scopes)| !scopes.is_empty()).collect()
}

/// Every node that the request passes, from the class of the gateway to the ports of the backends.
fn way(engine: &Engine, trace: &RequestTrace) -> Vec<NodeId> {
    let topology = engine.topology();
    let mut way = Vec::new();
    if let Some(gateway) = trace.gateway {
        way.extend(topology.parents(gateway));
        way.push(gateway);
    }
    way.extend(trace.listener.iter().flat_map(|listener| [topology.whole(*listener), *listener]));
    way.extend(trace.service.and_then(|service| topology.frontend(service)));
    way.extend(trace.rules.iter().flat_map(|passed| [topology.whole(passed.rule), passed.rule]));
    for backend in trace.backends.iter().filter(|backend| backend.serves()) {
        if let Ok((service, port)) = backend.found {
            way.push(service);
            way.extend(port);
        }
    }
    let mut seen = Vec::new();
    way.retain(|node| {
        !seen.contains(node) && {
            seen.push(*node);
            true
        }
    });
    way
}
