//! The certificates of listeners: their own, and the CA certificates with which they validate clients.

use super::LinkContext;
use crate::object::Object;
use crate::topology::api::Protocol;
use crate::topology::listeners::Listener;
use crate::topology::reference::Reference;
use crate::topology::refusal::{CertificateRefusal, ListenerRefusal, MissingGrant, MissingObject};
use crate::value::Value;

/// Hands every certificate that cannot be used to `refuse`. A listener that can trust no client is not served.
pub fn check(
    context: &LinkContext,
    owner: &Object,
    listener: &Listener,
    mut refuse: impl FnMut(CertificateRefusal),
) -> Option<ListenerRefusal> {
    let tls = listener.spec.get("tls").unwrap_or(&Value::Null);
    let terminates_tls = match listener.protocol {
        Protocol::Https => true,
        Protocol::Tls => tls.get_str("mode") != Some("Passthrough"),
        _ => false,
    };
    if !terminates_tls {
        return None;
    }
    let own_namespace = owner.id.namespace.as_str();
    for certificate in
        tls.list_at("certificateRefs").iter().filter_map(|value| Reference::certificate(value, own_namespace))
    {
        check_own(context, owner, &certificate).err().map(&mut refuse);
    }
    let authorities =
        authorities(owner, listener).iter().filter_map(|value| Reference::authority(value, own_namespace));
    let (mut validates, mut trusts) = (false, false);
    for authority in authorities {
        validates = true;
        match check_authority(context, owner, &authority) {
            Ok(()) => trusts = true,
            Err(refusal) => refuse(refusal),
        }
    }
    (validates && !trusts).then_some(ListenerRefusal::NoTrustedClients)
}

fn check_own(context: &LinkContext, owner: &Object, certificate: &Reference) -> Result<(), CertificateRefusal> {
    if (certificate.group, certificate.kind) != ("", "Secret") {
        return Err(CertificateRefusal::InvalidKind(certificate.kind.into()));
    }
    granted(context, owner, certificate)?;
    match certificate.find(context.objects).map(|id| &context.objects[id]) {
        None => Err(CertificateRefusal::NotFound(MissingObject::new(context.objects, certificate))),
        Some(secret) if !has_certificate(secret) => Err(CertificateRefusal::NotPem { secret: secret.id.clone() }),
        Some(_) => Ok(()),
    }
}

/// Only the labels of the PEM blocks of a Secret are kept. A Secret without data is taken as valid.
fn has_certificate(secret: &Object) -> bool {
    let mut data = ["data", "stringData"].iter().filter_map(|field| secret.body.get(field)?.as_map()).peekable();
    data.peek().is_none()
        || data.any(|data| data.get("tls.crt").and_then(Value::as_str).is_some_and(|pem| pem.contains("CERTIFICATE")))
}

/// The CA certificates with which a Gateway validates the clients of a listener: those of its port, or else the default.
fn authorities<'o>(owner: &'o Object, listener: &Listener) -> &'o [Value] {
    let frontend = owner.spec().at(&["tls", "frontend"]).unwrap_or(&Value::Null);
    let for_port =
        frontend.list_at("perPort").iter().find(|tls| tls.get("port").and_then(Value::as_int) == Some(listener.port));
    let tls = for_port.and_then(|for_port| for_port.get("tls")).or_else(|| frontend.get("default"));
    tls.and_then(|tls| tls.get("validation")).map_or(&[], |validation| validation.list_at("caCertificateRefs"))
}

fn check_authority(context: &LinkContext, owner: &Object, authority: &Reference) -> Result<(), CertificateRefusal> {
    if !matches!((authority.group, authority.kind), ("", "ConfigMap" | "Secret")) {
        return Err(CertificateRefusal::InvalidAuthorityKind(authority.kind.into()));
    }
    granted(context, owner, authority)?;
    match authority.find(context.objects) {
        Some(_) => Ok(()),
        None => Err(CertificateRefusal::AuthorityNotFound(MissingObject::new(context.objects, authority))),
    }
}

fn granted(context: &LinkContext, owner: &Object, to: &Reference) -> Result<(), CertificateRefusal> {
    match context.permits(&owner.id, to) {
        true => Ok(()),
        false => Err(CertificateRefusal::NotGranted(MissingGrant::new(&owner.id, to))),
    }
}
