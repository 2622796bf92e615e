//! Routes that nothing leads to, and hostnames that no listener has.

use super::{Findings, rule};
use crate::engine::Engine;
use crate::object::ObjectId;
use crate::topology::{Level, Node, NodeId};
use crate::value::Path;

/// Routes that no request can come to, though nothing refused them.
pub fn unattached(engine: &Engine, findings: &mut Findings) {
    let topology = engine.topology();
    for (node, object) in routes(engine) {
        if topology.live(node) || topology.is_refused(object) {
            continue;
        }
        let route = engine.objects().get(object);
        let message = match topology.parents(node).first() {
            None => "it names no parent, and no route delegates to it".to_owned(),
            Some(parent) => format!("nothing leads to its parent {}", topology.name(engine.objects(), *parent)),
        };
        findings.push(rule::UNATTACHED_ROUTE.at(route, Path::parse("spec.parentRefs"), message));
    }
}

/// Hostnames of attached routes that none of their listeners lets in.
pub fn unused_hostnames(engine: &Engine, findings: &mut Findings) {
    let (topology, objects) = (engine.topology(), engine.objects());
    for (node, object) in routes(engine).filter(|(node, _)| topology.live(*node)) {
        for (position, hostname) in topology.unused_hostnames(objects, node) {
            let path = Path::parse("spec.hostnames").index(position);
            let message =
                format!("no listener that the route is attached to has a hostname in common with `{hostname}`");
            findings.push(rule::UNUSED_HOSTNAME.at(objects.get(object), path, message));
        }
    }
}

fn routes(engine: &Engine) -> impl Iterator<Item = (NodeId, ObjectId)> {
    let nodes = engine.topology().nodes();
    nodes.filter_map(|(id, Node { level, owner, .. })| (*level == Level::Route).then_some((id, owner.object()?)))
}
