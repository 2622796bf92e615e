//! The effective policies on the path of a request.

use super::client_request::Request;
use super::trace::RequestTrace;
use crate::engine::Engine;
use crate::kinds::{OverrideOfRule, Pattern};
use crate::model::{Model, Scope};
use crate::policy::PolicyId;
use crate::topology::NodeId;
use crate::value::Value;

/// For each policy kind, the scopes on the path of a request.
pub fn effective(engine: &Engine, request: &Request, trace: &RequestTrace<'_>) -> Vec<(Model, Vec<Scope>)> {
    let path = path(engine, trace);
    let view = engine.view();
    let from = request.from.as_deref().filter(|_| trace.service.is_some());
    let from = from.and_then(|from| engine.topology().find_namespace(engine.objects(), from));
    // Delegated rules inherit the policies of a delegating rule, which has no scopes of its own.
    let delegating = trace.rules.split_last().map_or(&[][..], |(_, delegating)| delegating);
    let delegating: Vec<NodeId> =
        delegating.iter().flat_map(|rule| [engine.topology().whole(rule.rule), rule.rule]).collect();
    let with_scopes = |model: Model| {
        let mut scopes = Vec::new();
        let targets = path.iter().filter(|node| !delegating.contains(node) && model.is_effective_target(view, **node));
        for &node in targets {
            model.scopes_within(view, node, &|node| path.contains(&node), &mut |scope| scopes.push(scope));
        }
        retain_client_scopes(&mut scopes, from);
        (model, scopes)
    };
    let models = engine.models_at(path.iter().copied()).into_iter();
    models.map(with_scopes).filter(|(_, scopes)| !scopes.is_empty()).collect()
}

/// A value of a rule that a policy overrides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverriddenRuleValue {
    /// The path of the value in the rule.
    pub path: Pattern,
    /// The policy.
    pub by: PolicyId,
}

/// The values of the rules on the path of a request that policies override.
pub fn overridden_in_rules(
    engine: &Engine,
    trace: &RequestTrace<'_>,
    effective: &[(Model, Vec<Scope>)],
) -> Vec<OverriddenRuleValue> {
    let view = engine.view();
    let rules = trace.rules.iter().filter_map(|it| view.topology.section_value(view.objects, it.rule));
    let rules: Vec<&Value> = rules.collect();
    let mut overridden = Vec::new();
    for (model, scopes) in effective {
        for OverrideOfRule { path, fields } in &model.kind.merging.overrides_rule {
            if !rules.iter().any(|rule| !path.find(rule).is_empty()) {
                continue;
            }
            let origins = scopes.iter().flat_map(|scope| &model.effective(view, scope.chain).origins);
            let mut setting =
                origins.filter(|it| fields.iter().any(|field| it.path.segments().starts_with(&field.keys())));
            if let Some(origin) = setting.next() {
                overridden.push(OverriddenRuleValue { path: path.clone(), by: origin.policy });
            }
        }
    }
    overridden
}

/// Keeps the scopes of clients in namespace `from`, or those of all clients if it has none of its own.
fn retain_client_scopes(scopes: &mut Vec<Scope>, from: Option<NodeId>) {
    let own = scopes.iter().filter(|scope| scope.from.is_some() && scope.from == from);
    let own: Vec<Vec<NodeId>> = own.map(|scope| scope.nodes.clone()).collect();
    scopes.retain(|scope| match scope.from {
        Some(_) => scope.from == from,
        None => !own.contains(&scope.nodes),
    });
}

/// Every node on the path of the request, from the GatewayClass to the ports of the backends, each once.
fn path(engine: &Engine, trace: &RequestTrace<'_>) -> Vec<NodeId> {
    let topology = engine.topology();
    let mut path = Vec::new();
    if let Some(gateway) = trace.gateway {
        path.extend(topology.parents(gateway));
        path.push(gateway);
    }
    path.extend(trace.listener.iter().flat_map(|listener| [topology.whole(*listener), *listener]));
    path.extend(trace.service.and_then(|service| topology.frontend(service)));
    path.extend(trace.rules.iter().flat_map(|rule| [topology.whole(rule.rule), rule.rule]));
    for backend in trace.serving_backends() {
        if let Ok((service, port)) = backend.resolved {
            path.push(service);
            path.extend(port);
        }
    }
    let mut seen = Vec::new();
    path.retain(|node| {
        let is_new = !seen.contains(node);
        seen.push(*node);
        is_new
    });
    path
}
