//! The short form of a topology: `Gateway/g1 > HTTPRoute/r1 > Service/b1` stands for minimal objects with these
//! references.

mod draft;

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use smol_str::{SmolStr, format_smolstr};

use super::query::{DEFAULT_NAMESPACE, NodeQuery};
use crate::object::{Object, ObjectRef};
use crate::problem::Problem;

use draft::{DraftObject, DraftSection, GATEWAY_API, Role, object, role, version};

/// The kinds that a mesh route can have as its parent.
const FRONTENDS: [&str; 3] = ["Service", "ServiceImport", "ServiceEntry"];

/// The objects that all lines stand for. Several lines about one object are merged. Each mistake comes with the index
/// of its line.
pub fn expand(lines: &[SmolStr]) -> Result<Vec<Object>, Vec<(usize, Problem)>> {
    let mut builder = ShortFormBuilder::default();
    let add = |(i, line): (usize, &SmolStr)| builder.line(line).err().map(|problem| (i, problem));
    let mistakes: Vec<(usize, Problem)> = lines.iter().enumerate().filter_map(add).collect();
    if mistakes.is_empty() { Ok(builder.objects()) } else { Err(mistakes) }
}

#[derive(Default)]
struct ShortFormBuilder {
    drafts: BTreeMap<ObjectRef, DraftObject>,
    /// The specs of ReferenceGrants.
    grants: BTreeMap<ObjectRef, Json>,
    /// How many listeners the ListenerSets have. Each gets a port of its own, because listeners on one port conflict.
    set_listeners: usize,
}

/// A node of a line.
struct LineNode {
    id: ObjectRef,
    role: Role,
    section: Option<SmolStr>,
}

impl ShortFormBuilder {
    fn line(&mut self, line: &str) -> Result<(), Problem> {
        let mut parent: Option<LineNode> = None;
        let mut namespace: Option<SmolStr> = None;
        for text in line.split('>') {
            let node = self.node(&NodeQuery::parse(text.trim()).map_err(Problem::error)?);
            if let Some(name) = namespace.take().filter(|name| *name != node.id.namespace) {
                let id = &node.id;
                return Err(Problem::error(format!("{id} is not in namespace `{name}`"))
                    .help(format!("write `{}/{name}/{}`", id.kind, id.name)));
            }
            if node.role == Role::Namespace {
                // A Namespace is the parent of its objects without a reference.
                namespace = Some(node.id.name);
                continue;
            }
            match parent {
                Some(parent) => self.link(&parent, &node)?,
                None => self.add_named_section(&node),
            }
            parent = Some(node);
        }
        Ok(())
    }

    fn node(&mut self, query: &NodeQuery) -> LineNode {
        let (group, role) = role(&query.kind.kind);
        let group = query.kind.group.as_deref().unwrap_or(group);
        let namespace = match role {
            Role::GatewayClass | Role::Namespace => "",
            _ => query.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE),
        };
        let id = ObjectRef::new(group, &query.kind.kind, namespace, &query.name);
        let node = LineNode { id, role, section: query.section.clone() };
        self.draft(&node);
        node
    }

    /// Adds the section that a line names, if it names one.
    fn add_named_section(&mut self, node: &LineNode) {
        if node.section.is_some() {
            self.add_section(node);
        }
    }

    /// Adds the section that a line names, or the first section.
    fn add_section(&mut self, node: &LineNode) {
        match node.role {
            Role::Gateway | Role::ListenerSet => self.add_listener(node, None),
            Role::Route => _ = self.rule(node),
            Role::Backend => _ = self.port(node),
            Role::GatewayClass | Role::Namespace => {}
        }
    }

    fn link(&mut self, parent: &LineNode, child: &LineNode) -> Result<(), Problem> {
        match (parent.role, child.role) {
            _ if parent.id == child.id => {}
            (Role::GatewayClass, Role::Gateway) => self.draft(child).class = Some(parent.id.name.clone()),
            (Role::Gateway, Role::ListenerSet) => {
                self.draft(parent).allows_listener_sets = true;
                let reference = reference(&parent.id, &child.id);
                self.add_parent(child, reference);
            }
            (Role::Gateway | Role::ListenerSet, Role::Route) => {
                let protocol = match child.id.kind.as_str() {
                    "TLSRoute" => "TLS",
                    "TCPRoute" => "TCP",
                    "UDPRoute" => "UDP",
                    _ => "HTTP",
                };
                self.add_listener(parent, Some(protocol));
                let mut reference = reference(&parent.id, &child.id);
                if let Some(section) = &parent.section {
                    reference["sectionName"] = json!(section.as_str());
                }
                self.add_parent(child, reference);
            }
            (Role::Backend, Role::Route) if FRONTENDS.contains(&parent.id.kind.as_str()) => {
                let mut reference = reference(&parent.id, &child.id);
                if parent.section.is_some() {
                    reference["port"] = json!(self.port(parent));
                }
                self.add_parent(child, reference);
            }
            (Role::Route, Role::Route | Role::Backend) => self.add_backend(parent, child),
            _ => {
                let message = format!("{} cannot be the parent of {}", parent.id, child.id);
                let help = "write `GatewayClass > Gateway > ListenerSet > HTTPRoute > Service` and leave out what is \
                            not needed; `Service > HTTPRoute` for a mesh, `HTTPRoute > HTTPRoute` for delegation";
                return Err(Problem::error(message).help(help));
            }
        }
        self.add_named_section(child);
        Ok(())
    }

    fn draft(&mut self, node: &LineNode) -> &mut DraftObject {
        self.drafts.entry(node.id.clone()).or_insert_with(|| DraftObject::new(node.role, version(&node.id.kind)))
    }

    fn add_parent(&mut self, child: &LineNode, reference: Json) {
        let parents = &mut self.draft(child).parents;
        if !parents.contains(&reference) {
            parents.push(reference);
        }
    }

    fn add_backend(&mut self, parent: &LineNode, child: &LineNode) {
        let mut backend = reference(&child.id, &parent.id);
        if child.role == Role::Route {
            let parent = reference(&parent.id, &child.id);
            self.add_parent(child, parent);
        } else if child.id.kind == "Service" || child.section.is_some() {
            backend["port"] = json!(self.port(child));
        }
        if parent.id.namespace != child.id.namespace {
            self.add_grant(&parent.id, &child.id);
        }
        let rule = self.rule(parent);
        let backends = &mut self.draft(parent).sections[rule].backends;
        if !backends.contains(&backend) {
            backends.push(backend);
        }
    }

    /// Adds a listener: the one that the line names, or one with the name of the protocol. The protocol is HTTP unless
    /// a route needs another one.
    fn add_listener(&mut self, node: &LineNode, protocol: Option<&'static str>) {
        let name = node.section.clone().unwrap_or_else(|| protocol.unwrap_or("HTTP").to_lowercase().into());
        let in_set = node.role == Role::ListenerSet;
        let set_listeners = self.set_listeners;
        let sections = &mut self.draft(node).sections;
        if let Some(listener) = sections.iter_mut().find(|section| section.name.as_ref() == Some(&name)) {
            listener.protocol = protocol.unwrap_or(listener.protocol);
            return;
        }
        let port = if in_set { 8080 + set_listeners } else { 80 + sections.len() };
        let protocol = protocol.unwrap_or("HTTP");
        sections.push(DraftSection { name: Some(name), port, protocol, backends: Vec::new() });
        self.set_listeners += usize::from(in_set);
    }

    /// The index of the rule that the line names, or of the first rule without a name.
    fn rule(&mut self, node: &LineNode) -> usize {
        let rules = &mut self.draft(node).sections;
        let positional = |at: usize| format_smolstr!("rule-{}", at + 1);
        let is_named = |(at, rule): (usize, &DraftSection)| match (&rule.name, &node.section) {
            (None, Some(section)) => *section == positional(at),
            (name, section) => name == section,
        };
        rules.iter().enumerate().position(is_named).unwrap_or_else(|| {
            let at = rules.len();
            let name = node.section.clone().filter(|section| *section != positional(at));
            rules.push(DraftSection { name, port: 0, protocol: "", backends: Vec::new() });
            at
        })
    }

    /// The number of the port that the line names, by name or number, or of the first port.
    fn port(&mut self, node: &LineNode) -> usize {
        let ports = &mut self.draft(node).sections;
        let number = node.section.as_ref().and_then(|section| section.parse().ok());
        let name = node.section.clone().filter(|_| number.is_none());
        let is_named = |port: &&DraftSection| match (&name, number) {
            (None, None) => true,
            (Some(_), _) => port.name == name,
            (None, Some(number)) => port.name.is_none() && port.port == number,
        };
        if let Some(port) = ports.iter().find(is_named) {
            return port.port;
        }
        let port = number.unwrap_or(80 + ports.len());
        ports.push(DraftSection { name, port, protocol: "", backends: Vec::new() });
        port
    }

    /// Adds the ReferenceGrant that a backend in another namespace needs.
    fn add_grant(&mut self, from: &ObjectRef, to: &ObjectRef) {
        let name = format!("{}-{}-{}", from.namespace, from.kind, to.kind).to_lowercase();
        let id = ObjectRef::new(GATEWAY_API, "ReferenceGrant", &to.namespace, &name);
        let from = json!({"group": &*from.group, "kind": &*from.kind, "namespace": &*from.namespace});
        let to = json!({"group": &*to.group, "kind": &*to.kind});
        self.grants.insert(id, json!({"from": [from], "to": [to]}));
    }

    fn objects(mut self) -> Vec<Object> {
        for node in self.without_sections() {
            self.add_section(&node);
        }
        let drafts = self.drafts.into_iter().map(|(id, draft)| object(id, draft.version, draft.spec()));
        let grants = self.grants.into_iter().map(|(id, spec)| object(id, "v1beta1", spec));
        drafts.chain(grants).collect()
    }

    /// The Gateways, ListenerSets, routes and Services without sections. Each needs at least one.
    fn without_sections(&self) -> Vec<LineNode> {
        let empty = self
            .drafts
            .iter()
            .filter(|(id, draft)| draft.sections.is_empty() && (draft.role != Role::Backend || id.kind == "Service"));
        empty.map(|(id, draft)| LineNode { id: id.clone(), role: draft.role, section: None }).collect()
    }
}

/// A reference from `from` to `to`. It has a namespace only if the namespaces differ.
fn reference(to: &ObjectRef, from: &ObjectRef) -> Json {
    let mut reference = json!({"group": &*to.group, "kind": &*to.kind, "name": &*to.name});
    if to.namespace != from.namespace {
        reference["namespace"] = json!(&*to.namespace);
    }
    reference
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Objects;
    use crate::topology::Topology;

    /// The links of the topology that `lines` stand for, without those from objects to their own sections.
    fn links(lines: &[&str]) -> Vec<String> {
        let lines: Vec<SmolStr> = lines.iter().map(SmolStr::new).collect();
        let objects = Objects::new(expand(&lines).expect("no mistakes"));
        let topology = Topology::build(&objects, &[]);
        assert_eq!(topology.refused(&objects), [], "every link of the short form attaches");
        let name = |node| topology.name(&objects, node);
        let own = |parent, child| topology[parent].owner == topology[child].owner;
        let links = topology.order().iter().flat_map(|parent| topology.children(*parent).iter().map(|c| (*parent, *c)));
        links.filter(|(a, b)| !own(*a, *b)).map(|(a, b)| format!("{} > {}", name(a), name(b))).collect()
    }

    #[test]
    fn lines_about_one_object_are_merged() {
        let found = links(&["Gateway/g1 > HTTPRoute/r > Service/a", "Gateway/g2 > HTTPRoute/r > Service/b"]);
        assert_eq!(
            found,
            [
                "GatewayClass/example > Gateway/default/g1",
                "GatewayClass/example > Gateway/default/g2",
                "Gateway/default/g1#http > HTTPRoute/default/r",
                "Gateway/default/g2#http > HTTPRoute/default/r",
                "HTTPRoute/default/r#rule-1 > Service/default/a",
                "HTTPRoute/default/r#rule-1 > Service/default/b"
            ]
        );
    }

    #[test]
    fn sections_exist_as_they_are_named() {
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
            "GatewayClass/example > Gateway/infra/g",
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
        // Siblings have no order.
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }
}
