//! All results of the engine, by name, one record for each.

use std::fmt::Write;

use attache_engine::lint::lint;
use attache_engine::{Attachment, Engine};
use attache_engine::{Level, Model, NodeId, PolicyId, Scope, Stack, Value};

pub fn answer(engine: &Engine) -> Vec<String> {
    let mut records = Vec::new();
    topology(engine, &mut records);
    attachments(engine, &mut records);
    for model in engine.models() {
        effective(engine, model, &mut records);
    }
    status(engine, &mut records);
    records.extend(engine.problems().iter().map(|problem| format!("problem: {problem}")));
    records.extend(lint(engine, &[]).iter().map(|it| format!("problem: {} {}", it.rule.id, it.problem)));
    records
}

/// A Service that is the parent of routes has two nodes.
pub fn node(engine: &Engine, node: NodeId) -> String {
    let name = engine.topology().name(engine.objects(), node);
    match engine.topology()[node].level {
        Level::Frontend => format!("{name} before routes"),
        _ => name,
    }
}

fn policies(engine: &Engine, policies: &[PolicyId]) -> Vec<String> {
    let mut names: Vec<String> = policies.iter().map(|policy| engine.policy_id(*policy).to_string()).collect();
    names.sort();
    names
}

fn json(value: &Value) -> String {
    serde_json::to_string(value).unwrap()
}

fn topology(engine: &Engine, records: &mut Vec<String>) {
    let name = |id| node(engine, id);
    let topology = engine.topology();
    for (id, it) in topology.nodes() {
        let (live, served) = (topology.live(id), topology.served(id));
        let namespace = topology.namespace(id).map(name);
        records.push(format!("node {} {:?} in {namespace:?}, live {live}, served {served}", name(id), it.level));
        records.extend(topology.children(id).iter().map(|child| format!("edge {} > {}", name(id), name(*child))));
        records.extend(topology.parents(id).iter().map(|parent| format!("edge up {} < {}", name(*parent), name(id))));
        records.extend(topology.rules_naming(id).iter().map(|rule| format!("port {} of {}", name(id), name(*rule))));
    }
    for it in topology.refused(engine.objects()) {
        let by = &engine.objects()[it.by].id;
        records.push(format!("refused {} > {}: {} {} by {by} {}", it.parent, it.child, it.reason(), it.cause, it.path));
    }
}

fn attachment(engine: &Engine, it: &Attachment) -> String {
    let (policy, at, from) =
        (engine.policy_id(it.policy), node(engine, it.node), it.from.map(|from| node(engine, from)));
    format!("{policy} on {at} via {:?} from {from:?} with {:?}", it.via, it.patch)
}

fn attachments(engine: &Engine, records: &mut Vec<String>) {
    let attachments = engine.attachments();
    records.extend(attachments.attached().map(|it| format!("attached {}", attachment(engine, it))));
    for it in engine.policies().flat_map(|(policy, _)| engine.refusals(policy)) {
        let policy = engine.policy_id(it.policy);
        records.push(format!("not attached {policy} {:?}: {:?} {}", it.target, it.reason(), it.error));
    }
    for model in engine.models() {
        let mut stacks: Vec<String> = model.stacks().values().map(|it| stack(engine, model, it)).collect();
        stacks.sort();
        records.append(&mut stacks);
    }
}

fn stack(engine: &Engine, model: &Model, stack: &Stack) -> String {
    let accepted = stack.accepted.iter().map(|it| format!("\n  {}", attachment(engine, it)));
    let mut rejected: Vec<String> = stack
        .rejected
        .iter()
        .map(|it| {
            let rivals: Vec<String> = it.rivals.iter().map(|rival| attachment(engine, rival)).collect();
            format!("\n  not {} for {}", attachment(engine, &it.attachment), rivals.join(", "))
        })
        .collect();
    rejected.sort();
    let all: String = accepted.chain(rejected).collect();
    format!("stack of {}{all}", model.kind.full_name())
}

fn effective(engine: &Engine, model: &Model, records: &mut Vec<String>) {
    for (id, _) in engine.topology().nodes() {
        model.scopes(engine.view(), id, &mut |scope| records.push(in_force(engine, model, &scope)));
    }
    let targets = model.effective_targets(engine.view());
    records.extend(targets.map(|target| format!("{} is for {}", model.kind.full_name(), node(engine, target))));
    for (id, object) in engine.objects().iter() {
        let merged = engine.merged(model, id);
        records.extend(merged.iter().map(|it| format!("{} {} = {}", object.id, it.path, json(&it.value))));
    }
}

fn in_force(engine: &Engine, model: &Model, scope: &Scope) -> String {
    let it = model.effective(engine.view(), scope.chain);
    let nodes: Vec<String> = scope.nodes.iter().map(|it| node(engine, *it)).collect();
    let mut record = format!("{} at {}", model.kind.full_name(), nodes.join(" > "));
    let mut line = |line: String| write!(record, "\n  {line}").unwrap();
    scope.from.into_iter().for_each(|from| line(format!("from {}", node(engine, from))));
    it.spec.iter().for_each(|spec| line(format!("spec {}", json(spec))));
    for it in &it.applied {
        line(format!("applied {} on {} {}", engine.policy_id(it.policy), node(engine, it.target), json(&it.spec)));
    }
    for it in &it.origins {
        let (policy, target) = (engine.policy_id(it.policy), node(engine, it.target));
        line(format!("{} {} by {policy} on {target}", it.path, it.block.name()));
    }
    for it in &it.superseded {
        let (policy, target) = (engine.policy_id(it.policy), node(engine, it.target));
        let by: Vec<String> = it.rivals().map(|by| engine.policy_id(by).to_string()).collect();
        line(format!("{} {} of {policy} on {target} lost to {by:?}: {}", it.path, it.block.name(), it.reason.name()));
    }
    let mut outcomes: Vec<String> = it
        .outcomes
        .iter()
        .map(|(policy, it)| {
            let by = policies(engine, &it.by);
            format!(
                "{} contributes {} lost {} inactive {} by {by:?}",
                engine.policy_id(*policy),
                it.contributes,
                it.lost,
                it.inactive
            )
        })
        .collect();
    outcomes.sort();
    outcomes.into_iter().for_each(&mut line);
    it.warnings
        .iter()
        .for_each(|it| line(format!("{} {} {}", engine.policy_id(it.policy), it.block.name(), it.message)));
    record
}

fn status(engine: &Engine, records: &mut Vec<String>) {
    let statuses = engine.policy_statuses();
    for (it, report) in statuses.iter().zip(engine.policy_reports(&statuses)) {
        let (policy, by) = (engine.policy_id(it.policy), policies(engine, &it.by));
        let (refused, enforcement, scopes) = (it.refused, it.enforcement.name(), it.scopes);
        records.push(format!("status of {policy}: {refused:?} {enforcement} {} by {by:?} {scopes:?}", it.message()));
        records.push(format!("conditions of {policy}: {:?} {:?}", report.conditions, report.notes));
        for parts in &report.superseded {
            let by = parts.by.map(|by| engine.policy_id(by));
            records.push(format!("of {policy} superseded by {by:?}: {}", parts.shown_paths(usize::MAX - 1)));
        }
        for (at, conditions) in &report.ancestors {
            let by = policies(engine, &at.status.by);
            let controller = &at.controller_name;
            records.push(format!("{policy} at {} of {controller} by {by:?}: {conditions:?}", at.ancestor));
        }
    }
    let statuses = engine.rolled_up(engine.target_statuses());
    for (it, report) in statuses.iter().zip(engine.target_reports(&statuses)) {
        let target = node(engine, it.target);
        records.push(format!("{target} is affected by {:?}: {report:?}", policies(engine, &it.affected_by)));
    }
}
