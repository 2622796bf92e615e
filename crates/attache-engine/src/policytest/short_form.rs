//! The short form of a topology, `Gateway/g1 > HTTPRoute/r1 > Service/b1`: the least objects that are linked so.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use smol_str::{SmolStr, format_smolstr};

use super::name::{DEFAULT, NodeName};
use crate::object::{Object, ObjectRef, Source};
use crate::problem::Problem;

const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// What mesh routes have above them.
const FRONTENDS: [&str; 3] = ["Service", "ServiceImport", "ServiceEntry"];

/// Makes the objects of all lines. What several lines say of one object is joined. Each mistake comes with the
/// number of its line, from 0.
pub fn draw(lines: &[SmolStr]) -> Result<Vec<Object>, Vec<(usize, Problem)>> {
    let mut drawing = Drawing::default();
    let draw = |(i, line): (usize, &SmolStr)| drawing.line(line).err().map(|problem| (i, problem));
    let mistakes: Vec<(usize, Problem)> = lines.iter().enumerate().filter_map(draw).collect();
    if mistakes.is_empty() { Ok(drawing.objects()) } else { Err(mistakes) }
}

/// What an object can be linked to depends on this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    GatewayClass,
    Namespace,
    Gateway,
    ListenerSet,
    Route,
    /// A Service, or anything else that a route may name as its backend.
    Backend,
}

/// The group, version and role of a kind. Kinds that are not known can be backends.
fn known(kind: &str) -> (&'static str, &'static str, Role) {
    match kind {
        "GatewayClass" => (GATEWAY_API, "v1", Role::GatewayClass),
        "Gateway" => (GATEWAY_API, "v1", Role::Gateway),
        "ListenerSet" => (GATEWAY_API, "v1", Role::ListenerSet),
        "XListenerSet" => ("gateway.networking.x-k8s.io", "v1alpha1", Role::ListenerSet),
        "HTTPRoute" | "GRPCRoute" | "TLSRoute" => (GATEWAY_API, "v1", Role::Route),
        "TCPRoute" | "UDPRoute" => (GATEWAY_API, "v1alpha2", Role::Route),
        "Namespace" => ("", "v1", Role::Namespace),
        _ => ("", "v1", Role::Backend),
    }
}

/// One object on its way.
#[derive(Clone, Debug)]
struct Draft {
    role: Role,
    version: &'static str,
    class: Option<SmolStr>,
    parents: Vec<Json>,
    allows_sets: bool,
    /// Listeners, rules or ports.
    sections: Vec<Section>,
}

#[derive(Clone, Debug)]
struct Section {
    /// A rule or a port may have none.
    name: Option<SmolStr>,
    /// Of a listener or of a Service.
    port: usize,
    protocol: &'static str,
    /// Of a rule.
    backends: Vec<Json>,
}

#[derive(Default)]
struct Drawing {
    drafts: BTreeMap<ObjectRef, Draft>,
    grants: BTreeMap<ObjectRef, Json>,
    /// Every listener of a ListenerSet has a port of its own, or they would be in each other's way.
    set_listeners: usize,
}

/// A node of a line: which object, and its section.
struct Stop {
    id: ObjectRef,
    role: Role,
    section: Option<SmolStr>,
}

impl Drawing {
    fn line(&mut self, line: &str) -> Result<(), Problem> {
        let mut above: Option<Stop> = None;
        let mut namespace: Option<SmolStr> = None;
        for text in line.split('>') {
            let stop = self.stop(&NodeName::parse(text.trim()).map_err(Problem::error)?);
            if let Some(name) = namespace.take().filter(|name| *name != stop.id.namespace) {
                let id = &stop.id;
                return Err(Problem::error(format!("{id} is not in namespace `{name}`"))
                    .help(format!("write `{}/{name}/{}`", id.kind, id.name)));
            }
            if stop.role == Role::Namespace {
                // It stands above what lives in it, without a link.
                namespace = Some(stop.id.name);
                continue;
            }
            match above {
                Some(above) => self.link(&above, &stop)?,
                None => self.touch(&stop),
            }
            above = Some(stop);
        }
        Ok(())
    }

    fn stop(&mut self, name: &NodeName) -> Stop {
        let (group, _, role) = known(&name.kind.kind);
        let group = name.kind.group.as_deref().unwrap_or(group);
        let namespace = match role {
            Role::GatewayClass | Role::Namespace => "",
            _ => name.namespace.as_deref().unwrap_or(DEFAULT),
        };
        let id = ObjectRef::new(group, &name.kind.kind, namespace, &name.name);
        let stop = Stop { id, role, section: name.section.clone() };
        self.draft(&stop);
        stop
    }

    /// Makes the section that a stop names, if it names one.
    fn touch(&mut self, stop: &Stop) {
        if stop.section.is_some() {
            self.section(stop);
        }
    }

    /// Makes the section that a stop names, or the first one.
    fn section(&mut self, stop: &Stop) {
        match stop.role {
            Role::Gateway | Role::ListenerSet => self.listener(stop, None),
            Role::Route => _ = self.rule(stop),
            Role::Backend => _ = self.port(stop),
            Role::GatewayClass | Role::Namespace => {}
        }
    }

    fn link(&mut self, parent: &Stop, child: &Stop) -> Result<(), Problem> {
        match (parent.role, child.role) {
            _ if parent.id == child.id => {}
            (Role::GatewayClass, Role::Gateway) => self.draft(child).class = Some(parent.id.name.clone()),
            (Role::Gateway, Role::ListenerSet) => {
                self.draft(parent).allows_sets = true;
                let reference = reference(&parent.id, &child.id);
                self.parent(child, reference);
            }
            (Role::Gateway | Role::ListenerSet, Role::Route) => {
                let protocol = match child.id.kind.as_str() {
                    "TLSRoute" => "TLS",
                    "TCPRoute" => "TCP",
                    "UDPRoute" => "UDP",
                    _ => "HTTP",
                };
                self.listener(parent, Some(protocol));
                let mut reference = reference(&parent.id, &child.id);
                if let Some(section) = &parent.section {
                    reference["sectionName"] = json!(section.as_str());
                }
                self.parent(child, reference);
            }
            (Role::Backend, Role::Route) if FRONTENDS.contains(&parent.id.kind.as_str()) => {
                let mut reference = reference(&parent.id, &child.id);
                if parent.section.is_some() {
                    reference["port"] = json!(self.port(parent));
                }
                self.parent(child, reference);
            }
            (Role::Route, Role::Route | Role::Backend) => self.backend(parent, child),
            _ => {
                let message = format!("{} cannot stand above {}", parent.id, child.id);
                let help = "write `GatewayClass > Gateway > ListenerSet > HTTPRoute > Service`, leaving out what is \
                            not needed; `Service > HTTPRoute` for a mesh, `HTTPRoute > HTTPRoute` to delegate";
                return Err(Problem::error(message).help(help));
            }
        }
        self.touch(child);
        Ok(())
    }

    fn draft(&mut self, stop: &Stop) -> &mut Draft {
        self.drafts.entry(stop.id.clone()).or_insert_with(|| Draft::new(stop.role, known(&stop.id.kind).1))
    }

    fn parent(&mut self, child: &Stop, reference: Json) {
        let parents = &mut self.draft(child).parents;
        if !parents.contains(&reference) {
            parents.push(reference);
        }
    }

    fn backend(&mut self, parent: &Stop, child: &Stop) {
        let mut reference = reference(&child.id, &parent.id);
        if child.role == Role::Route {
            let back = self::reference(&parent.id, &child.id);
            self.parent(child, back);
        } else if child.id.kind == "Service" || child.section.is_some() {
            reference["port"] = json!(self.port(child));
        }
        if parent.id.namespace != child.id.namespace {
            self.grant(&parent.id, &child.id);
        }
        let rule = self.rule(parent);
        let backends = &mut self.draft(parent).sections[rule].backends;
        if !backends.contains(&reference) {
            backends.push(reference);
        }
    }

    /// A listener that serves the protocol, which is HTTP unless somebody needs another: the one that is named, or one
    /// named after the protocol.
    fn listener(&mut self, stop: &Stop, protocol: Option<&'static str>) {
        let name = stop.section.clone().unwrap_or_else(|| protocol.unwrap_or("HTTP").to_lowercase().into());
        let in_set = stop.role == Role::ListenerSet;
        let in_sets = self.set_listeners;
        let sections = &mut self.draft(stop).sections;
        if let Some(there) = sections.iter_mut().find(|section| section.name.as_ref() == Some(&name)) {
            there.protocol = protocol.unwrap_or(there.protocol);
            return;
        }
        let port = if in_set { 8080 + in_sets } else { 80 + sections.len() };
        let protocol = protocol.unwrap_or("HTTP");
        sections.push(Section { name: Some(name), port, protocol, backends: Vec::new() });
        self.set_listeners += usize::from(in_set);
    }

    /// The rule that is named, or else the first without a name.
    fn rule(&mut self, stop: &Stop) -> usize {
        let rules = &mut self.draft(stop).sections;
        let counted = |at: usize| format_smolstr!("rule-{}", at + 1);
        let is_it = |(at, rule): (usize, &Section)| match (&rule.name, &stop.section) {
            (None, Some(wanted)) => *wanted == counted(at),
            (name, wanted) => name == wanted,
        };
        rules.iter().enumerate().position(is_it).unwrap_or_else(|| {
            let at = rules.len();
            let name = stop.section.clone().filter(|wanted| *wanted != counted(at));
            rules.push(Section { name, port: 0, protocol: "", backends: Vec::new() });
            at
        })
    }

    /// The number of the port that is named, by a name or by its number, or else of the first.
    fn port(&mut self, stop: &Stop) -> usize {
        let ports = &mut self.draft(stop).sections;
        let number = stop.section.as_ref().and_then(|section| section.parse().ok());
        let name = stop.section.clone().filter(|_| number.is_none());
        let is_it = |port: &&Section| match (&name, number) {
            (None, None) => true,
            (Some(_), _) => port.name == name,
            (None, Some(number)) => port.name.is_none() && port.port == number,
        };
        if let Some(port) = ports.iter().find(is_it) {
            return port.port;
        }
        let port = number.unwrap_or(80 + ports.len());
        ports.push(Section { name, port, protocol: "", backends: Vec::new() });
        port
    }

    /// Backends in other namespaces need leave.
    fn grant(&mut self, from: &ObjectRef, to: &ObjectRef) {
        let name = format!("{}-{}-{}", from.namespace, from.kind, to.kind).to_lowercase();
        let id = ObjectRef::new(GATEWAY_API, "ReferenceGrant", &to.namespace, &name);
        let from = json!({"group": &*from.group, "kind": &*from.kind, "namespace": &*from.namespace});
        let to = json!({"group": &*to.group, "kind": &*to.kind});
        self.grants.insert(id, json!({"from": [from], "to": [to]}));
    }

    fn objects(mut self) -> Vec<Object> {
        for stop in self.without_sections() {
            self.section(&stop);
        }
        let drafts = self.drafts.into_iter().map(|(id, draft)| object(id, draft.version, draft.spec()));
        let grants = self.grants.into_iter().map(|(id, spec)| object(id, "v1beta1", spec));
        drafts.chain(grants).collect()
    }

    /// Gateways, ListenerSets, routes and Services have at least one section.
    fn without_sections(&self) -> Vec<Stop> {
        let empty = self
            .drafts
            .iter()
            .filter(|(id, draft)| draft.sections.is_empty() && (draft.role != Role::Backend || id.kind == "Service"));
        empty.map(|(id, draft)| Stop { id: id.clone(), role: draft.role, section: None }).collect()
    }
}

/// How `from` names `to`.
fn reference(to: &ObjectRef, from: &ObjectRef) -> Json {
    let mut reference = json!({"group": &*to.group, "kind": &*to.kind, "name": &*to.name});
    if to.namespace != from.namespace {
        reference["namespace"] = json!(&*to.namespace);
    }
    reference
}

impl Draft {
    fn new(role: Role, version: &'static str) -> Draft {
        Draft { role, version, class: None, parents: Vec::new(), allows_sets: false, sections: Vec::new() }
    }

    fn spec(&self) -> Json {
        let sections = |write: fn(&Section) -> Json| self.sections.iter().map(write).collect::<Vec<Json>>();
        match self.role {
            Role::GatewayClass => json!({"controllerName": "example.io/drawn"}),
            Role::Namespace => json!({}),
            Role::Gateway => {
                let class = self.class.as_deref().unwrap_or("drawn");
                let mut spec = json!({"gatewayClassName": class, "listeners": sections(listener)});
                if self.allows_sets {
                    spec["allowedListeners"] = json!({"namespaces": {"from": "All"}});
                }
                spec
            }
            Role::ListenerSet => json!({"parentRef": self.parents.first(), "listeners": sections(listener)}),
            Role::Route => json!({"parentRefs": self.parents, "rules": sections(rule)}),
            Role::Backend => json!({"ports": sections(port)}),
        }
    }
}

fn listener(section: &Section) -> Json {
    let mut listener = json!({
        "name": section.name.as_deref(),
        "port": section.port,
        "protocol": section.protocol,
        "allowedRoutes": {"namespaces": {"from": "All"}},
    });
    if section.protocol == "TLS" {
        listener["tls"] = json!({"mode": "Passthrough"});
    }
    listener
}

fn rule(section: &Section) -> Json {
    let mut rule = json!({"backendRefs": section.backends});
    if let Some(name) = &section.name {
        rule["name"] = json!(name.as_str());
    }
    rule
}

fn port(section: &Section) -> Json {
    let mut port = json!({"port": section.port});
    if let Some(name) = &section.name {
        port["name"] = json!(name.as_str());
    }
    port
}

fn object(id: ObjectRef, version: &str, spec: Json) -> Object {
    let api_version = if id.group.is_empty() { version.to_owned() } else { format!("{}/{version}", id.group) };
    let mut metadata = json!({"name": &*id.name});
    if !id.namespace.is_empty() {
        metadata["namespace"] = json!(&*id.namespace);
    }
    let body = json!({"apiVersion": api_version, "kind": &*id.kind, "metadata": metadata, "spec": spec});
    Object { id, version: version.into(), created: None, body: body.into(), source: Source::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Objects;
    use crate::topology::Topology;

    /// The links that lines make, except those from objects to their own sections.
    fn links(lines: &[&str]) -> Vec<String> {
        let lines: Vec<SmolStr> = lines.iter().map(SmolStr::new).collect();
        let objects = Objects::new(draw(&lines).expect("no mistakes"));
        let topology = Topology::build(&objects, &[]);
        assert_eq!(topology.refused(&objects), [], "all that is drawn attaches");
        let name = |node| topology.name(&objects, node);
        let own = |parent, child| topology.node(parent).owner == topology.node(child).owner;
        let links = topology.order().iter().flat_map(|parent| topology.children(*parent).iter().map(|c| (*parent, *c)));
        links.filter(|(a, b)| !own(*a, *b)).map(|(a, b)| format!("{} > {}", name(a), name(b))).collect()
    }

    #[test]
    fn lines_about_one_object_are_joined() {
        let found = links(&["Gateway/g1 > HTTPRoute/r > Service/a", "Gateway/g2 > HTTPRoute/r > Service/b"]);
        assert_eq!(
            found,
            [
                "GatewayClass/drawn > Gateway/default/g1",
                "GatewayClass/drawn > Gateway/default/g2",
                "Gateway/default/g1#http > HTTPRoute/default/r",
                "Gateway/default/g2#http > HTTPRoute/default/r",
                "HTTPRoute/default/r#rule-1 > Service/default/a",
                "HTTPRoute/default/r#rule-1 > Service/default/b"
            ]
        );
    }

    #[test]
    fn sections_are_made_as_they_are_named() {
        let found = links(&[
            "GatewayClass/c > Gateway/g#web > HTTPRoute/r#cakes > Service/s#http",
            "Gateway/g#admin > HTTPRoute/r#rule-2 > Service/s#9090",
            "Gateway/g > TLSRoute/t > Service/s",
        ]);
        assert_eq!(
            found,
            [
                "GatewayClass/c > Gateway/default/g",
                "Gateway/default/g#web > HTTPRoute/default/r",
                "Gateway/default/g#admin > HTTPRoute/default/r",
                "Gateway/default/g#tls > TLSRoute/default/t",
                "HTTPRoute/default/r#cakes > Service/default/s",
                "HTTPRoute/default/r#rule-2 > Service/default/s",
                "TLSRoute/default/t#rule-1 > Service/default/s"
            ]
        );
    }

    #[test]
    fn listener_sets_delegation_mesh_and_other_namespaces_attach() {
        let mut found = links(&[
            "Gateway/infra/g > ListenerSet/a/l > HTTPRoute/a/r > Service/b/s",
            "Gateway/infra/g > XListenerSet/x > HTTPRoute/r > HTTPRoute/a/child > Bucket.acme.io/store",
            "Namespace/infra > Gateway/infra/g > Namespace/a > HTTPRoute/a/r",
            "Service/front#80 > GRPCRoute/m > Service/back",
            "ListenerSet/a/l > UDPRoute/a/u",
        ]);
        let mut expected = [
            "GatewayClass/drawn > Gateway/infra/g",
            "Gateway/infra/g > ListenerSet/a/l",
            "Gateway/infra/g > XListenerSet/default/x",
            "Service/default/front > GRPCRoute/default/m",
            "Gateway/infra/g#http > HTTPRoute/a/r",
            "ListenerSet/a/l#http > HTTPRoute/a/r",
            "ListenerSet/a/l#udp > UDPRoute/a/u",
            "XListenerSet/default/x#http > HTTPRoute/default/r",
            "GRPCRoute/default/m#rule-1 > Service/default/back",
            "HTTPRoute/a/r#rule-1 > Service/b/s",
            "HTTPRoute/default/r#rule-1 > HTTPRoute/a/child",
            "HTTPRoute/a/child#rule-1 > Bucket/default/store",
        ];
        // What stands side by side has no order of its own.
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }
}
