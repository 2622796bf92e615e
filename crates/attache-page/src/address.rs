//! Addresses of views.

use attache_engine::{NodeRef, ObjectRef};

/// The address of an object, or of a section of one.
pub fn object(node: &NodeRef) -> String {
    let address = with_name("/object", &node.object);
    match &node.section {
        Some(section) => with_query(&address, &[("section", section)]),
        None => address,
    }
}

/// The address of a policy.
pub fn policy(policy: &ObjectRef) -> String {
    with_name("/policy", policy)
}

/// `/object/HTTPRoute.gateway.networking.k8s.io/baker/cakes`.
fn with_name(view: &str, id: &ObjectRef) -> String {
    let kind = attache_engine::qualified(&id.group, &id.kind);
    let namespace = if id.namespace.is_empty() { String::new() } else { format!("/{}", encoded(&id.namespace)) };
    format!("{view}/{}{namespace}/{}", encoded(&kind), encoded(&id.name))
}

/// A path with parameters. Empty values are left out.
pub fn with_query(path: &str, parameters: &[(&str, &str)]) -> String {
    let mut address = path.to_owned();
    for (name, value) in parameters.iter().filter(|(_, value)| !value.is_empty()) {
        address.push(if address.contains('?') { '&' } else { '?' });
        address += &format!("{name}={}", encoded(value));
    }
    address
}

/// Text as a part of an address.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out += &format!("%{byte:02X}"),
        }
    }
    // A browser would resolve `..` as the parent folder.
    if out.chars().all(|it| it == '.') { out.replace('.', "%252E") } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_an_address_of_its_own() {
        let route = ObjectRef::new("gateway.networking.k8s.io", "HTTPRoute", "baker", "cakes");
        let rule = NodeRef { object: route.clone(), section: Some("rule-1".into()) };
        assert_eq!(object(&rule), "/object/HTTPRoute.gateway.networking.k8s.io/baker/cakes?section=rule-1");
        assert_eq!(policy(&route), "/policy/HTTPRoute.gateway.networking.k8s.io/baker/cakes");
        let hostile = ObjectRef::new("", "Service", "a/b", "<script>\"&?#");
        assert_eq!(policy(&hostile), "/policy/Service/a%2Fb/%3Cscript%3E%22%26%3F%23");
        assert_eq!(policy(&ObjectRef::new("", "Namespace", "", "baker")), "/policy/Namespace/baker");
    }
}
