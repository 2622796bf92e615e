//! The certificates of listeners: their own, and the CA certificates with which they validate clients.

use super::LinkContext;
use crate::object::{GroupKind, Object};
use crate::topology::api::Protocol;
use crate::topology::conventions::Conventions;
use crate::topology::listeners::{Listener, terminates_tls};
use crate::topology::reference::Reference;
use crate::topology::refusal::{CertificateRefusal, ListenerRefusal, MissingGrant, MissingObject};
use crate::value::Value;

/// Calls `refuse` with every certificate that cannot be used. A listener without any valid CA certificate for clients
/// is not served.
pub fn check(
    context: &LinkContext,
    owner: &Object,
    listener: &Listener,
    mut refuse: impl FnMut(CertificateRefusal),
) -> Option<ListenerRefusal> {
    let tls = listener.spec.get("tls").unwrap_or(&Value::Null);
    let terminates_tls = match listener.protocol {
        Protocol::Https => true,
        Protocol::Tls => terminates_tls(listener.spec),
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
        return Err(CertificateRefusal::InvalidKind(GroupKind::new(certificate.group, certificate.kind)));
    }
    granted(context, owner, certificate)?;
    match certificate.find(context.objects).map(|id| &context.objects[id]) {
        None if is_made(context, owner, certificate) => Ok(()),
        None => Err(CertificateRefusal::NotFound(MissingObject::new(context.objects, certificate))),
        Some(secret) if !has_certificate(secret) => Err(CertificateRefusal::NotPem { secret: secret.id.clone() }),
        Some(_) => Ok(()),
    }
}

/// Whether another object of the input creates the Secret, or an annotation of the Gateway does.
fn is_made(context: &LinkContext, owner: &Object, secret: &Reference) -> bool {
    let conventions = Conventions::built_in();
    conventions.has_secrets_made(owner)
        || conventions.secret_makers.iter().any(|maker| {
            let makers = context.objects.of_kind_in(&maker.group, &maker.kind, secret.namespace).iter();
            makers.map(|id| &context.objects[*id]).any(|object| maker.secret(object) == Some(secret.name))
        })
}

/// Whether a Secret has a certificate. Only the labels of its PEM blocks are kept. A Secret without data counts as
/// valid.
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
        return Err(CertificateRefusal::InvalidAuthorityKind(GroupKind::new(authority.group, authority.kind)));
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
