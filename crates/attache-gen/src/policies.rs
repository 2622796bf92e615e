//! Generates policies and their PolicyKinds.

use attache_engine::{Object, Value};

use crate::gateway_api::{GATEWAY_API, GATEWAY_NAMESPACE, gateway, listener, namespace, route, service};
use crate::manifest::{fields, list, object};
use crate::random::Random;
use crate::shape::{ManifestShape, PolicyBlock, PolicyLevel};

const GROUP: &str = "bench.attache.dev";
const KINDS: [&str; 10] = [
    "LimitPolicy",
    "AuthPolicy",
    "RetryPolicy",
    "TimeoutPolicy",
    "HeaderPolicy",
    "CachePolicy",
    "FaultPolicy",
    "MirrorPolicy",
    "TracePolicy",
    "QuotaPolicy",
];

/// Policies are created within a year, in random order.
const YEAR: usize = 365 * 24 * 60 * 60;

struct PolicyTargetRef {
    group: &'static str,
    kind: &'static str,
    namespace: String,
    name: String,
    section: Option<String>,
}

pub fn generate(shape: &ManifestShape) -> Vec<Object> {
    let mut random = Random::new(!shape.seed);
    let kinds = KINDS.iter().take(shape.kinds.into());
    let mut objects: Vec<_> = kinds.clone().map(|kind| policy_kind(shape, kind)).collect();
    for kind in kinds {
        for policies in &shape.policies {
            let there = count(shape, policies.level);
            let wanted = policies.count.min(there);
            for nth in 0..wanted {
                // Spread evenly over the targets of the level.
                let target = target(shape, policies.level, nth * there / wanted);
                for copy in 0..=shape.duplicates {
                    let name = format!("{}-{nth:06}-{copy}", level_name(policies.level).to_lowercase());
                    let spec = spec(shape, &target, &mut random);
                    let api_version = format!("{GROUP}/v1");
                    objects.push(object(&api_version, kind, &target.namespace, &name, random.below(YEAR), spec));
                }
            }
        }
    }
    objects
}

fn policy_kind(shape: &ManifestShape, kind: &str) -> Object {
    let targets = shape.policies.iter().map(|policies| level_name(policies.level).into());
    let spec = fields([
        ("group", GROUP.into()),
        ("kind", kind.into()),
        ("class", "Inherited".into()),
        ("targets", list(targets)),
        ("strategies", list(["atomic", "merge", "patch"].map(Value::from))),
    ]);
    let name = format!("{}.{GROUP}", kind.to_lowercase());
    object("attache.dev/v1alpha1", "PolicyKind", "", &name, 0, spec)
}

fn level_name(level: PolicyLevel) -> &'static str {
    match level {
        PolicyLevel::Namespace => "Namespace",
        PolicyLevel::Gateway => "Gateway",
        PolicyLevel::Listener => "Listener",
        PolicyLevel::Route => "HTTPRoute",
        PolicyLevel::Rule => "RouteRule",
        PolicyLevel::Service => "Service",
    }
}

fn count(shape: &ManifestShape, level: PolicyLevel) -> usize {
    match level {
        PolicyLevel::Namespace => shape.namespaces.max(1),
        PolicyLevel::Gateway => shape.gateways,
        PolicyLevel::Listener => shape.gateways * shape.listeners,
        PolicyLevel::Route => shape.routes,
        PolicyLevel::Rule => shape.routes * shape.rules,
        PolicyLevel::Service => shape.services_per_namespace() * shape.namespaces.max(1),
    }
}

fn target(shape: &ManifestShape, level: PolicyLevel, index: usize) -> PolicyTargetRef {
    let in_gateway = |index, section| PolicyTargetRef {
        group: GATEWAY_API,
        kind: "Gateway",
        namespace: GATEWAY_NAMESPACE.to_owned(),
        name: gateway(index),
        section,
    };
    let in_route = |index, section| PolicyTargetRef {
        group: GATEWAY_API,
        kind: "HTTPRoute",
        namespace: shape.route_namespace(index),
        name: route(index),
        section,
    };
    let core = |kind, namespace, name| PolicyTargetRef { group: "", kind, namespace, name, section: None };
    match level {
        PolicyLevel::Namespace => core("Namespace", namespace(index), namespace(index)),
        PolicyLevel::Gateway => in_gateway(index, None),
        PolicyLevel::Listener => in_gateway(index / shape.listeners, Some(listener(index % shape.listeners))),
        PolicyLevel::Route => in_route(index, None),
        PolicyLevel::Rule => in_route(index / shape.rules, Some(format!("rule-{}", index % shape.rules + 1))),
        PolicyLevel::Service => {
            let each = shape.services_per_namespace();
            core("Service", namespace(index / each), service(index % each))
        }
    }
}

fn spec(shape: &ManifestShape, target: &PolicyTargetRef, random: &mut Random) -> Value {
    let mut reference =
        vec![("group", target.group.into()), ("kind", target.kind.into()), ("name", Value::str(&*target.name))];
    if let Some(section) = &target.section {
        reference.push(("sectionName", Value::str(&**section)));
    }
    // Twice as many names as rules, so that policies have some in common and some not.
    let names = 2 * shape.policy_rules.max(1);
    let first = random.below(names);
    let rules = (0..shape.policy_rules).map(|rule| {
        let rate = Value::Int(1 + random.below(1000) as i64);
        let rule_fields = fields([("rate", rate), ("window", "10s".into()), ("by", list(["request.path".into()]))]);
        (format!("limit-{}", (first + rule) % names).into(), rule_fields)
    });
    let rules = Value::map(rules.collect());
    let block = match shape.blocks.as_slice() {
        [] => PolicyBlock::Bare,
        blocks => blocks[random.below(blocks.len())],
    };
    let within =
        |strategy: crate::BlockStrategy| fields([("strategy", strategy.name().into()), ("limits", rules.clone())]);
    let block = match block {
        PolicyBlock::Bare => ("limits", rules),
        PolicyBlock::Defaults(strategy) => ("defaults", within(strategy)),
        PolicyBlock::Overrides(strategy) => ("overrides", within(strategy)),
    };
    fields([("targetRef", fields(reference)), block])
}
