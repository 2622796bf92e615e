//! Finds the Gateways and Services that a request can name.

use std::net::IpAddr;

use attache_engine::Object;
use attache_engine::nearest;
use attache_engine::request::{Request, service_named};
use attache_engine::{Level, NodeId, Value};

use crate::error::QueryError;
use crate::object_query::ObjectQuery;
use crate::snapshot::Snapshot;

/// The Gateway named `NAME`, `NAMESPACE/NAME` or `KIND/NAMESPACE/NAME`.
pub fn gateway(snapshot: &Snapshot, name: &str, namespace: Option<&str>) -> Result<NodeId, QueryError> {
    find(snapshot, "gateway.gateway.networking.k8s.io", name, namespace)
}

/// The Service named `NAME`, `NAMESPACE/NAME` or `KIND/NAMESPACE/NAME`.
pub fn service(snapshot: &Snapshot, name: &str, namespace: Option<&str>) -> Result<NodeId, QueryError> {
    find(snapshot, "service.", name, namespace)
}

fn find(snapshot: &Snapshot, kind: &str, name: &str, namespace: Option<&str>) -> Result<NodeId, QueryError> {
    let without_kind = match name.matches('/').count() {
        2 => name.split_once('/').map_or(name, |(_, rest)| rest),
        _ => name,
    };
    let object = snapshot.find(&ObjectQuery::of_kind(kind, without_kind)?, namespace)?;
    let node = snapshot.engine.topology().find(snapshot.engine.objects(), &object.object);
    node.ok_or_else(|| QueryError::NotAnObject { text: name.to_owned() })
}

/// The Service that the host of a request names.
pub fn service_of_host(snapshot: &Snapshot, request: &Request) -> Option<NodeId> {
    service_named(snapshot.engine.view(), &request.host, request.from.as_deref())
}

/// Every Gateway.
pub fn gateways(snapshot: &Snapshot) -> impl Iterator<Item = (NodeId, &Object)> {
    let nodes = snapshot.engine.topology().nodes().filter(|(_, node)| node.level == Level::Gateway);
    nodes.filter_map(|(id, node)| Some((id, &snapshot.engine.objects()[node.owner.object()?])))
}

/// The Gateways that have an address.
pub fn gateways_at(snapshot: &Snapshot, wanted: IpAddr) -> Result<Vec<NodeId>, QueryError> {
    let has_address = |gateway: &Object| addresses(gateway).any(|address| address.parse() == Ok(wanted));
    let found = gateways(snapshot).filter(|(_, gateway)| has_address(gateway)).map(|(node, _)| node);
    let found: Vec<NodeId> = found.collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let mut known: Vec<String> =
        gateways(snapshot).flat_map(|(_, gateway)| addresses(gateway)).map(str::to_owned).collect();
    known.sort_unstable();
    known.dedup();
    let address = wanted.to_string();
    Err(QueryError::UnknownAddress { near: nearest(&address, known.iter().cloned()), known, address })
}

/// The addresses that a Gateway requests, and those in its status.
fn addresses(gateway: &Object) -> impl Iterator<Item = &str> {
    let status = gateway.body.get("status").unwrap_or(&Value::Null);
    let lists = [gateway.spec(), status].map(|part| part.list_at("addresses"));
    lists.into_iter().flatten().filter_map(|address| address.get_str("value"))
}
