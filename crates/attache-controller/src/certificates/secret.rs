//! The Secret with the certificate that all replicas share.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ObjectMeta, PostParams};

use super::issue::{IssueOptions, Issued};
use super::{Current, now};
use crate::context::Context;

/// Certificates and keys, as [`Issued`] in JSON.
const ISSUED: &str = "certificates.json";
/// The CA bundle, for people: the controller does not read it.
const BUNDLE: &str = "ca.crt";

/// The certificate in the Secret. The leader issues one if there is none, or if it is due for renewal.
pub(super) async fn read_or_issue(
    context: &Context,
    is_leader: bool,
    options: &IssueOptions,
) -> Result<Option<Current>, String> {
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), &context.options.namespace);
    // Each Service has certificates of its own.
    let name = format!("{}-certificates", context.options.service);
    let secret = secrets.get_opt(&name).await.map_err(|error| format!("cannot read the Secret {name}: {error}"))?;
    let mut issued = secret.as_ref().and_then(read);
    if is_leader {
        let renewed = match &issued {
            Some(issued) => issued.renewed(options, now()),
            None => Issued::new(options, now()).map(Some),
        };
        if let Some(renewed) = renewed.map_err(|error| format!("cannot issue a certificate: {error}"))? {
            write(&secrets, &name, secret, &renewed).await?;
            issued = Some(renewed);
        }
    }
    Ok(issued.map(|it| Current { bundle: it.bundle(), certificate: it.server.certificate, key: it.server.key }))
}

/// The issued certificates. `None` if the Secret cannot be read as such.
fn read(secret: &Secret) -> Option<Issued> {
    let bytes = &secret.data.as_ref()?.get(ISSUED)?.0;
    serde_json::from_slice(bytes)
        .inspect_err(|error| tracing::warn!("ignoring the content of the Secret with certificates: {error}"))
        .ok()
}

/// Writes the Secret, unless another process has written it in the meantime.
async fn write(secrets: &Api<Secret>, name: &str, before: Option<Secret>, issued: &Issued) -> Result<(), String> {
    let json = serde_json::to_vec(issued).map_err(|error| error.to_string())?;
    let values = [(ISSUED, json), (BUNDLE, issued.bundle().into_bytes())];
    let data: BTreeMap<String, ByteString> = values.map(|(name, value)| (name.to_owned(), ByteString(value))).into();
    let written = match before {
        Some(before) => {
            let secret = Secret { data: Some(data), ..before };
            secrets.replace(name, &PostParams::default(), &secret).await
        }
        None => {
            let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
            let secret = Secret { metadata, data: Some(data), ..Secret::default() };
            secrets.create(&PostParams::default(), &secret).await
        }
    };
    written.map(|_| ()).map_err(|error| format!("cannot write the Secret {name}: {error}"))
}
