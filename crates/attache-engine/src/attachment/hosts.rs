//! Targets named by host, as the clients of a mesh see them.

use std::sync::OnceLock;

use hashbrown::HashMap;

use super::{Attaching, AttachmentPoint, Outcome, Reason, Via};
use crate::kinds::{HostTargets, PolicyKind};
use crate::object::{Object, Objects};
use crate::policy::field;
use crate::topology::{Level, NodeId, Topology};
use crate::value::Value;

/// Services and what else has hosts. Found out when somebody names one.
#[derive(Debug, Default)]
pub struct ByHost(OnceLock<Known>);

#[derive(Debug, Default)]
struct Known {
    /// By `name.namespace`, to which their hosts add a domain.
    services: HashMap<String, Vec<NodeId>>,
    /// By the hosts that they give themselves.
    given: HashMap<String, Vec<NodeId>>,
}

impl ByHost {
    fn get(&self, objects: &Objects, topology: &Topology) -> &Known {
        if let Some(known) = self.0.get() {
            return known;
        }
        // Not below: to list objects may wait for other threads, and who does must not keep them waiting.
        let known = Known::among(objects, topology);
        self.0.get_or_init(|| known)
    }
}

impl Known {
    fn among(objects: &Objects, topology: &Topology) -> Known {
        let mut known = Known::default();
        for (id, object) in objects.iter() {
            let node = NodeId::whole(id);
            if topology.node(node).level != Level::Backend {
                continue;
            }
            let given = object.spec().list_at("hosts").iter().filter_map(Value::as_str);
            given.for_each(|host| known.given.entry(host.to_string()).or_default().push(node));
            if object.id.group.is_empty() {
                let name = format!("{}.{}", object.id.name, object.id.namespace);
                known.services.entry(name).or_default().push(node);
            }
        }
        known
    }

    /// Who has a host, where that of a Service ends in `.svc` and this domain.
    fn named(&self, host: &str, domain: &str) -> Vec<NodeId> {
        let end = format!(".svc.{domain}");
        let Some(suffix) = host.strip_prefix('*') else {
            let service = host.strip_suffix(&end).and_then(|name| self.services.get(name));
            return service.into_iter().chain(self.given.get(host)).flatten().copied().collect();
        };
        let services = self.services.iter().filter(|(name, _)| format!("{name}{end}").ends_with(suffix));
        let matching = services.chain(self.given.iter().filter(|(host, _)| host.ends_with(suffix)));
        let mut nodes: Vec<NodeId> = matching.flat_map(|(_, nodes)| nodes.iter().copied()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }
}

/// Who sees a policy.
enum Seen {
    ByAll,
    By(Vec<NodeId>),
}

impl Attaching<'_> {
    pub(super) fn host(
        &self,
        policy: &Object,
        kind: &PolicyKind,
        hosts: &HostTargets,
        host: &str,
    ) -> Outcome<Vec<AttachmentPoint>> {
        let own = &policy.id.namespace;
        let full = match host.contains(['.', '*']) {
            true => host.to_string(),
            false => format!("{host}.{own}.svc.{}", hosts.domain),
        };
        let nodes = self.by_host.get(self.objects, self.topology).named(&full, &hosts.domain);
        if nodes.is_empty() {
            return Err((Reason::TargetNotFound, format!("no Service or ServiceEntry has the host `{full}`")));
        }
        let seen = self.seen(policy, hosts);
        let here = self.namespace(own);
        let is_root = kind.root_namespace.as_ref() == Some(own);
        let mut places = Vec::new();
        for node in nodes {
            let home = self.topology.namespace(node);
            // What a namespace says for its own clients counts before what the Service's says, and the root's last.
            let via = |from: Option<NodeId>| {
                let distance = match () {
                    () if from.is_some() && from == here && home != here => 0,
                    () if home == here => 1,
                    () => 2,
                };
                Via::Host { distance, breadth: breadth(&full) }
            };
            match &seen {
                Seen::ByAll if home == here || is_root => places.push((node, None, via(None))),
                Seen::ByAll => places.push((node, here, via(here))),
                Seen::By(namespaces) => {
                    let rest = namespaces.iter().filter(|&&it| home == here || is_root || Some(it) == here);
                    places.extend(rest.map(|&from| (node, Some(from), via(Some(from)))));
                }
            }
        }
        match places.is_empty() {
            true => Err((Reason::RefNotPermitted, format!("no client of `{full}` sees it: it is exported to none"))),
            false => Ok(places),
        }
    }

    fn seen(&self, policy: &Object, hosts: &HostTargets) -> Seen {
        let list = hosts.export_to.as_ref().and_then(|path| field(&policy.body, path)).map_or(&[][..], Value::items);
        let names = || list.iter().filter_map(Value::as_str);
        if list.is_empty() || names().any(|name| name == "*") {
            return Seen::ByAll;
        }
        let name = |name| if name == "." { policy.id.namespace.as_str() } else { name };
        Seen::By(names().filter_map(|it| self.namespace(name(it))).collect())
    }
}

/// How much a host takes in: nothing beside itself, or, the shorter it is, the more.
fn breadth(host: &str) -> u32 {
    if host.starts_with('*') { u32::MAX - host.len().min(1 << 16) as u32 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[test]
    fn a_service_has_a_host_in_every_domain_that_is_asked_for() {
        let yaml = "
apiVersion: v1
kind: Service
metadata: {name: a, namespace: ns}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: e, namespace: ns}
spec: {hosts: [a.ns.svc.cluster.local, x.com]}
";
        let objects = Objects::new(text::read(&"test.yaml".into(), yaml).objects);
        let topology = Topology::build(&objects, &[]);
        let [service, entry] = [("", "Service"), ("networking.istio.io", "ServiceEntry")]
            .map(|(group, kind)| NodeId::whole(objects.of_kind(group, kind)[0]));
        let known = Known::among(&objects, &topology);
        assert_eq!(known.named("a.ns.svc.cluster.local", "cluster.local"), [service, entry]);
        assert_eq!(known.named("a.ns.svc.other", "other"), [service]);
        assert_eq!(known.named("*.svc.other", "other"), [service]);
        assert_eq!(known.named("*.local", "cluster.local"), [service, entry]);
        assert_eq!(known.named("*.com", "other"), [entry]);
        assert_eq!(known.named("a.ns.svc.cluster.local", "other"), [entry]);
    }
}
