//! Everything the engine answers, by name, one line each.

use attache_core::engine::Engine;
use attache_core::policy::PolicyId;
use attache_core::topology::NodeId;
use attache_core::value::Value;

pub fn answer(engine: &Engine) -> Vec<String> {
    let mut lines = Vec::new();
    topology(engine, &mut lines);
    effective(engine, &mut lines);
    status(engine, &mut lines);
    lines.extend(engine.problems().iter().map(|problem| format!("problem: {problem:?}")));
    lines
}

pub fn node(engine: &Engine, node: NodeId) -> String {
    engine.topology().name(engine.objects(), node)
}

fn policies(engine: &Engine, policies: &[PolicyId]) -> Vec<String> {
    policies.iter().map(|policy| engine.policy_id(*policy).to_string()).collect()
}

fn json(value: &Value) -> String {
    serde_json::to_string(value).unwrap()
}

fn topology(engine: &Engine, lines: &mut Vec<String>) {
    let name = |id| node(engine, id);
    for (id, _) in engine.topology().nodes() {
        lines.push(format!("node {}", name(id)));
        let children = engine.topology().children(id).iter();
        lines.extend(children.map(|child| format!("edge {} > {}", name(id), name(*child))));
    }
    lines.extend(engine.topology().refused().iter().map(|refused| format!("{refused:?}")));
}

fn effective(engine: &Engine, lines: &mut Vec<String>) {
    for model in engine.models() {
        for (id, _) in engine.topology().nodes() {
            model.scopes(engine.world(), id, &mut |scope| {
                let it = model.effective(engine.world(), scope.chain);
                if it.outcomes.is_empty() {
                    return;
                }
                let nodes: Vec<String> = scope.nodes.iter().chain(&scope.from).map(|it| node(engine, *it)).collect();
                lines.push(format!("{} at {}", model.kind.full_name(), nodes.join(" > ")));
                lines.extend(it.spec.as_ref().map(|spec| format!("  spec {}", json(spec))));
                for it in &it.applied {
                    lines.push(format!("  applied {} {}", engine.policy_id(it.policy), json(&it.spec)));
                }
                for it in &it.origins {
                    let (policy, target) = (engine.policy_id(it.policy), node(engine, it.target));
                    lines.push(format!("  {} {} by {policy} on {target}", it.path, it.which.name()));
                }
                for it in &it.superseded {
                    let (policy, target) = (engine.policy_id(it.policy), node(engine, it.target));
                    let by = it.by.map(|by| engine.policy_id(by).to_string());
                    let (which, why) = (it.which.name(), it.reason.name());
                    lines.push(format!("  {} {which} of {policy} on {target} lost to {by:?}: {why}", it.path));
                }
                lines.extend(it.warnings.iter().map(|it| format!("  {} {}", engine.policy_id(it.policy), it.message)));
            });
        }
        for (id, object) in engine.objects().iter() {
            let merged = engine.merged(model, id);
            lines.extend(merged.iter().map(|it| format!("{} {} = {}", object.id, it.path, json(&it.value))));
        }
    }
}

fn status(engine: &Engine, lines: &mut Vec<String>) {
    for it in engine.policy_statuses() {
        lines.push(format!(
            "status of {}: {:?} {} {} by {:?} {:?}",
            engine.policy_id(it.policy),
            it.refused,
            it.enforcement.name(),
            it.message,
            policies(engine, &it.by),
            it.scopes,
        ));
    }
    for it in engine.target_statuses() {
        lines.push(format!("{} is affected by {:?}", node(engine, it.target), policies(engine, &it.affected_by)));
    }
}
