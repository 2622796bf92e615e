//! The certificates of listeners: their own, and those by which they know their clients.

use super::api::Protocol;
use super::index::Index;
use super::listeners::Listener;
use super::reference::Reference;
use super::refusal::Refusal;
use super::why;
use crate::object::Object;
use crate::value::Value;

/// Hands every certificate that cannot be used to `refuse`. If no client can be trusted, the listener is not served: why.
pub fn check(index: &Index, owner: &Object, listener: &Listener, mut refuse: impl FnMut(Refusal)) -> Option<Refusal> {
    let tls = listener.spec.get("tls").unwrap_or(&Value::Null);
    let ends_here = match listener.protocol {
        Protocol::Https => true,
        Protocol::Tls => tls.get_str("mode") != Some("Passthrough"),
        _ => false,
    };
    if !ends_here {
        return None;
    }
    let home = owner.id.namespace.as_str();
    for certificate in tls.list_at("certificateRefs").iter().filter_map(|value| Reference::certificate(value, home)) {
        own(index, owner, &certificate).err().map(&mut refuse);
    }
    let authorities = authorities(owner, listener).iter().filter_map(|value| Reference::authority(value, home));
    let (mut asked, mut trusted) = (false, false);
    for authority in authorities {
        asked = true;
        match clients(index, owner, &authority) {
            Ok(()) => trusted = true,
            Err(refusal) => refuse(refusal),
        }
    }
    let message = "it asks clients for a certificate, and none of the CA certificates to check it with can be used";
    (asked && !trusted).then(|| Refusal::new("NoValidCACertificate", message))
}

fn own(index: &Index, owner: &Object, certificate: &Reference) -> Result<(), Refusal> {
    let invalid = |message: String| Err(Refusal::new("InvalidCertificateRef", message));
    if (certificate.group, certificate.kind) != ("", "Secret") {
        return invalid(format!("a certificate must be a Secret, not a `{}`", certificate.kind));
    }
    granted(index, owner, certificate)?;
    match certificate.find(index.objects).map(|id| &index.objects[id]) {
        None => invalid(why::not_there(index.objects, certificate)),
        Some(secret) if !has_certificate(secret) => {
            invalid(format!("`tls.crt` of {} is not a PEM certificate", secret.id))
        }
        Some(_) => Ok(()),
    }
}

/// Of a Secret only the labels of its PEM blocks are kept. One that comes without data has nothing said against it.
fn has_certificate(secret: &Object) -> bool {
    let mut data = ["data", "stringData"].iter().filter_map(|field| secret.body.get(field)?.as_map()).peekable();
    data.peek().is_none()
        || data.any(|data| data.get("tls.crt").and_then(Value::as_str).is_some_and(|pem| pem.contains("CERTIFICATE")))
}

/// The authorities that a Gateway trusts to vouch for the clients of a listener: those of its port, or else the default.
fn authorities<'o>(owner: &'o Object, listener: &Listener) -> &'o [Value] {
    let frontend = owner.spec().at(&["tls", "frontend"]).unwrap_or(&Value::Null);
    let of_port =
        frontend.list_at("perPort").iter().find(|tls| tls.get("port").and_then(Value::as_int) == Some(listener.port));
    let tls = of_port.and_then(|of_port| of_port.get("tls")).or_else(|| frontend.get("default"));
    tls.and_then(|tls| tls.get("validation")).map_or(&[], |validation| validation.list_at("caCertificateRefs"))
}

fn clients(index: &Index, owner: &Object, authority: &Reference) -> Result<(), Refusal> {
    if !matches!((authority.group, authority.kind), ("", "ConfigMap" | "Secret")) {
        let message = format!("a CA certificate must be a ConfigMap, not a `{}`", authority.kind);
        return Err(Refusal::new("InvalidCACertificateKind", message));
    }
    granted(index, owner, authority)?;
    match authority.find(index.objects) {
        Some(_) => Ok(()),
        None => Err(Refusal::new("InvalidCACertificateRef", why::not_there(index.objects, authority))),
    }
}

fn granted(index: &Index, owner: &Object, to: &Reference) -> Result<(), Refusal> {
    match index.permits(&owner.id, to) {
        true => Ok(()),
        false => Err(why::not_granted(&owner.id, to)),
    }
}
