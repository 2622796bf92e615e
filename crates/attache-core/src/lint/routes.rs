//! Routes that nothing leads to, and hostnames that no listener has.

use hashbrown::HashSet;

use super::facts::Facts;
use super::{Findings, rule};
use crate::object::ObjectId;
use crate::topology::{Level, Node, NodeId};
use crate::value::Path;

/// Routes that no request can come to, though nothing refused them.
pub fn unattached(facts: &Facts<'_>, findings: &mut Findings) {
    let topology = facts.engine.topology();
    let refused: HashSet<ObjectId> = topology.refused().iter().map(|refused| refused.by).collect();
    for (node, object) in routes(facts) {
        if topology.live(node) || refused.contains(&object) {
            continue;
        }
        let route = facts.engine.objects().get(object);
        let message = match topology.parents(node).first() {
            None => "it names no parent, and no route delegates to it".to_owned(),
            Some(parent) => format!("nothing leads to its parent {}", topology.name(facts.engine.objects(), *parent)),
        };
        findings.push(rule::UNATTACHED_ROUTE.at(route, Path::parse("spec.parentRefs"), message));
    }
}

/// Hostnames of attached routes that none of their listeners lets in.
pub fn unused_hostnames(facts: &Facts<'_>, findings: &mut Findings) {
    let (topology, objects) = (facts.engine.topology(), facts.engine.objects());
    for (node, object) in routes(facts).filter(|(node, _)| topology.live(*node)) {
        for (position, hostname) in topology.unused_hostnames(objects, node) {
            let path = Path::parse("spec.hostnames").index(position);
            let message =
                format!("no listener that the route is attached to has a hostname in common with `{hostname}`");
            findings.push(rule::UNUSED_HOSTNAME.at(objects.get(object), path, message));
        }
    }
}

fn routes<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = (NodeId, ObjectId)> + 'f {
    let nodes = facts.engine.topology().nodes();
    nodes.filter_map(|(id, Node { level, owner, .. })| (*level == Level::Route).then_some((id, owner.object()?)))
}
