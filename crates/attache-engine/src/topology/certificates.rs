//! The certificates of listeners: their own, and those by which they know their clients.

use super::api::Protocol;
use super::index::Index;
use super::listeners::Listener;
use super::reference::Reference;
use super::refusal::{CertificateRefusal, ListenerRefusal, MissingGrant, MissingObject};
use crate::object::Object;
use crate::value::Value;

/// Hands every certificate that cannot be used to `refuse`. A listener that can trust no client is not served.
pub fn check(
    index: &Index,
    owner: &Object,
    listener: &Listener,
    mut refuse: impl FnMut(CertificateRefusal),
) -> Option<ListenerRefusal> {
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
    (asked && !trusted).then_some(ListenerRefusal::NoTrustedClients)
}

fn own(index: &Index, owner: &Object, certificate: &Reference) -> Result<(), CertificateRefusal> {
    if (certificate.group, certificate.kind) != ("", "Secret") {
        return Err(CertificateRefusal::InvalidKind(certificate.kind.into()));
    }
    granted(index, owner, certificate)?;
    match certificate.find(index.objects).map(|id| &index.objects[id]) {
        None => Err(CertificateRefusal::NotFound(MissingObject::new(index.objects, certificate))),
        Some(secret) if !has_certificate(secret) => Err(CertificateRefusal::NotPem { secret: secret.id.clone() }),
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

fn clients(index: &Index, owner: &Object, authority: &Reference) -> Result<(), CertificateRefusal> {
    if !matches!((authority.group, authority.kind), ("", "ConfigMap" | "Secret")) {
        return Err(CertificateRefusal::InvalidAuthorityKind(authority.kind.into()));
    }
    granted(index, owner, authority)?;
    match authority.find(index.objects) {
        Some(_) => Ok(()),
        None => Err(CertificateRefusal::AuthorityNotFound(MissingObject::new(index.objects, authority))),
    }
}

fn granted(index: &Index, owner: &Object, to: &Reference) -> Result<(), CertificateRefusal> {
    match index.permits(&owner.id, to) {
        true => Ok(()),
        false => Err(CertificateRefusal::NotGranted(MissingGrant::new(&owner.id, to))),
    }
}
