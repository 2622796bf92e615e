//! Only the API server's front proxy may connect to the aggregated API.
//!
//! The API server authenticates and authorizes users, then forwards their requests with its own client certificate. It
//! publishes the CA and the names of that certificate in a ConfigMap, which is watched: both can be rotated.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, WatchEvent, WatchParams};
use kube::{Client, ResourceExt};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::ring::default_provider;
use rustls::crypto::{verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

/// The ConfigMap in which the API server publishes the CA and the names of its front proxy.
const CONFIG_MAP: (&str, &str) = ("kube-system", "extension-apiserver-authentication");

/// The pause after a failure to read the ConfigMap.
const PAUSE: Duration = Duration::from_secs(2);

/// Accepts the certificate of the API server's front proxy, and no other. Clones share the CA and names. Until the ConfigMap
/// has been read, no client is accepted. Open connections stay open when certificates are rotated.
#[derive(Clone, Default)]
pub struct FrontProxy(Arc<RwLock<Option<Trusted>>>);

/// The CA and the names of the front proxy.
#[derive(Clone)]
struct Trusted {
    authority: Arc<dyn ClientCertVerifier>,
    /// The common names that are allowed. None means all.
    names: Vec<String>,
}

/// Why the ConfigMap cannot be used.
#[derive(Debug)]
pub enum FrontProxyError {
    /// It does not have this key: the API server has no front proxy.
    Missing(&'static str),
    /// The value of this key cannot be read.
    Invalid(&'static str, String),
}

impl fmt::Display for FrontProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (namespace, name) = CONFIG_MAP;
        match self {
            FrontProxyError::Missing(key) => write!(
                f,
                "ConfigMap {namespace}/{name} has no `{key}`: set --requestheader-client-ca-file of kube-apiserver"
            ),
            FrontProxyError::Invalid(key, why) => {
                write!(f, "ConfigMap {namespace}/{name}: `{key}` cannot be read: {why}")
            }
        }
    }
}

impl std::error::Error for FrontProxyError {}

impl fmt::Debug for FrontProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.trusted().map(|trusted| trusted.names);
        f.debug_struct("FrontProxy").field("names", &names).finish_non_exhaustive()
    }
}

impl FrontProxy {
    /// Watches the ConfigMap until the future is dropped.
    pub async fn follow(&self, client: Client) {
        let (namespace, name) = CONFIG_MAP;
        let maps: Api<ConfigMap> = Api::namespaced(client, namespace);
        loop {
            if let Err(error) = self.follow_once(&maps).await {
                tracing::warn!("cannot watch ConfigMap {namespace}/{name}: {error}");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn follow_once(&self, maps: &Api<ConfigMap>) -> kube::Result<()> {
        let (_, name) = CONFIG_MAP;
        let map = maps.get(name).await?;
        self.take(&map);
        let parameters = WatchParams::default().fields(&format!("metadata.name={name}"));
        let version = map.resource_version().unwrap_or_default();
        let mut events = maps.watch(&parameters, &version).await?.boxed();
        while let Some(event) = events.next().await {
            match event? {
                WatchEvent::Added(map) | WatchEvent::Modified(map) => self.take(&map),
                WatchEvent::Deleted(_) | WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(error) => {
                    tracing::debug!("the watch of ConfigMap {name} ended: {error}");
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Takes the CA and names from the ConfigMap. If it is not usable, the previous ones are kept.
    fn take(&self, map: &ConfigMap) {
        match Trusted::read(map) {
            Ok(trusted) => {
                tracing::info!(names = ?trusted.names, "read the CA and names of the API server's front proxy");
                *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(trusted);
            }
            Err(error) => tracing::error!("{error}"),
        }
    }

    fn trusted(&self) -> Option<Trusted> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Trusted {
    fn read(map: &ConfigMap) -> Result<Trusted, FrontProxyError> {
        const AUTHORITY: &str = "requestheader-client-ca-file";
        const NAMES: &str = "requestheader-allowed-names";
        let get = |key: &str| map.data.as_ref().and_then(|data| data.get(key));
        let invalid = |key: &'static str, error: &dyn fmt::Display| FrontProxyError::Invalid(key, error.to_string());
        let pem = get(AUTHORITY).ok_or(FrontProxyError::Missing(AUTHORITY))?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let certificate = certificate.map_err(|error| invalid(AUTHORITY, &error))?;
            roots.add(certificate).map_err(|error| invalid(AUTHORITY, &error))?;
        }
        let provider = Arc::new(default_provider());
        let authority = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let authority = authority.map_err(|error| invalid(AUTHORITY, &error))?;
        let names = get(NAMES).map_or(Ok(Vec::new()), |names| serde_json::from_str(names));
        Ok(Trusted { authority, names: names.map_err(|error| invalid(NAMES, &error))? })
    }

    /// Whether a certificate has one of the allowed names.
    fn allows(&self, certificate: &CertificateDer<'_>) -> bool {
        let Ok((_, parsed)) = x509_parser::parse_x509_certificate(certificate) else { return false };
        let mut names = parsed.subject().iter_common_name().filter_map(|name| name.as_str().ok());
        self.names.is_empty() || names.any(|name| self.names.iter().any(|allowed| allowed == name))
    }
}

impl ClientCertVerifier for FrontProxy {
    /// No hints: the CA can change.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let refused = Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure);
        let trusted = self.trusted().ok_or_else(|| refused.clone())?;
        let verified = trusted.authority.verify_client_cert(end_entity, intermediates, now)?;
        if trusted.allows(end_entity) { Ok(verified) } else { Err(refused) }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &default_provider().signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &default_provider().signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}
