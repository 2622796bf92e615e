//! Targets named by host, as the clients of a mesh see them.

use std::sync::OnceLock;

use hashbrown::HashMap;

use super::{AttachmentError, AttachmentPoint, Resolved, TargetResolver, Via};
use crate::kinds::{HostTargets, PolicyKind};
use crate::object::{Object, Objects};
use crate::topology::{Level, NodeId, Topology};
use crate::value::Value;

/// Backends by host. Built when the first policy names a host.
#[derive(Debug, Default)]
pub struct HostIndex(OnceLock<BackendsByHost>);

#[derive(Debug, Default)]
struct BackendsByHost {
    /// By `name.namespace`; the host of a Service appends a domain to it.
    services: HashMap<String, Vec<NodeId>>,
    /// By the hosts in their own `spec.hosts`.
    declared: HashMap<String, Vec<NodeId>>,
}

impl HostIndex {
    fn get(&self, objects: &Objects, topology: &Topology) -> &BackendsByHost {
        if let Some(known) = self.0.get() {
            return known;
        }
        // Outside of `get_or_init`: listing objects uses rayon, which can deadlock inside it.
        let built = BackendsByHost::new(objects, topology);
        self.0.get_or_init(|| built)
    }
}

impl BackendsByHost {
    fn new(objects: &Objects, topology: &Topology) -> BackendsByHost {
        let mut known = BackendsByHost::default();
        for (id, object) in objects.iter() {
            let node = NodeId::whole(id);
            if topology[node].level != Level::Backend {
                continue;
            }
            let declared = object.spec().list_at("hosts").iter().filter_map(Value::as_str);
            declared.for_each(|host| known.declared.entry(host.to_string()).or_default().push(node));
            if object.id.group.is_empty() {
                let name = format!("{}.{}", object.id.name, object.id.namespace);
                known.services.entry(name).or_default().push(node);
            }
        }
        known
    }

    /// The backends whose host matches. The host of a Service ends in `.svc` and the domain.
    fn matching(&self, host: &str, domain: &str) -> Vec<NodeId> {
        let end = format!(".svc.{domain}");
        let Some(suffix) = host.strip_prefix('*') else {
            let service = host.strip_suffix(&end).and_then(|name| self.services.get(name));
            return service.into_iter().chain(self.declared.get(host)).flatten().copied().collect();
        };
        let services = self.services.iter().filter(|(name, _)| format!("{name}{end}").ends_with(suffix));
        let matching = services.chain(self.declared.iter().filter(|(host, _)| host.ends_with(suffix)));
        let mut nodes: Vec<NodeId> = matching.flat_map(|(_, nodes)| nodes.iter().copied()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }
}

/// The clients that a policy is exported to.
enum Exported {
    ToAll,
    ToNamespaces(Vec<NodeId>),
}

impl TargetResolver<'_> {
    /// The backends with a host, once for each Namespace whose clients the policy applies to.
    pub(super) fn resolve_host(
        &self,
        policy: &Object,
        kind: &PolicyKind,
        hosts: &HostTargets,
        host: &str,
    ) -> Resolved<Vec<AttachmentPoint>> {
        let own = &policy.id.namespace;
        let full = match host.contains(['.', '*']) {
            true => host.to_string(),
            false => format!("{host}.{own}.svc.{}", hosts.domain),
        };
        let nodes = self.hosts.get(self.objects, self.topology).matching(&full, &hosts.domain);
        if nodes.is_empty() {
            return Err(AttachmentError::HostNotFound { host: full.into() }.into());
        }
        let exported = self.exported(policy, hosts);
        let policy_namespace = self.namespace(own);
        let is_root = kind.hierarchy.root_namespace.as_ref() == Some(own);
        let breadth = breadth(&full);
        let mut points = Vec::new();
        for node in nodes {
            let is_beside = self.topology.namespace(node) == policy_namespace;
            let mut add = |from: Option<NodeId>| {
                let distance = match () {
                    () if from.is_some() && from == policy_namespace && !is_beside => 0,
                    () if is_beside => 1,
                    () => 2,
                };
                points.push(AttachmentPoint::new(node, from, Via::Host { distance, breadth }));
            };
            match &exported {
                Exported::ToAll if is_beside || is_root => add(None),
                Exported::ToAll => add(policy_namespace),
                Exported::ToNamespaces(namespaces) => {
                    let is_allowed = |it: &NodeId| is_beside || is_root || Some(*it) == policy_namespace;
                    namespaces.iter().copied().filter(is_allowed).for_each(|from| add(Some(from)));
                }
            }
        }
        match points.is_empty() {
            true => Err(AttachmentError::NotExported { host: full.into() }.into()),
            false => Ok(points),
        }
    }

    fn exported(&self, policy: &Object, hosts: &HostTargets) -> Exported {
        let list = hosts.export_to.as_ref().and_then(|path| path.resolve(&policy.body)).map_or(&[][..], Value::items);
        let names = || list.iter().filter_map(Value::as_str);
        if list.is_empty() || names().any(|name| name == "*") {
            return Exported::ToAll;
        }
        let name = |name| if name == "." { policy.id.namespace.as_str() } else { name };
        Exported::ToNamespaces(names().filter_map(|it| self.namespace(name(it))).collect())
    }
}

/// How many hosts a name matches: 0 for one, and more for a shorter wildcard.
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
        let known = BackendsByHost::new(&objects, &topology);
        assert_eq!(known.matching("a.ns.svc.cluster.local", "cluster.local"), [service, entry]);
        assert_eq!(known.matching("a.ns.svc.other", "other"), [service]);
        assert_eq!(known.matching("*.svc.other", "other"), [service]);
        assert_eq!(known.matching("*.local", "cluster.local"), [service, entry]);
        assert_eq!(known.matching("*.com", "other"), [entry]);
        assert_eq!(known.matching("a.ns.svc.cluster.local", "other"), [entry]);
    }
}
