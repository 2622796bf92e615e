//! HTTPS servers whose certificate can be replaced while they serve.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// The time that requests have to finish at a shutdown.
const GRACE: Duration = Duration::from_secs(5);

/// The certificate of servers. Clones share it: after [`ServerCertificate::replace`] all servers present the new one to new
/// connections, and open connections stay open. Without a certificate, connections are refused.
#[derive(Clone, Default)]
pub struct ServerCertificate(Arc<RwLock<Option<Arc<CertifiedKey>>>>);

/// Why a certificate cannot be used.
#[derive(Debug)]
pub enum CertificateError {
    /// The text of the certificate, or of the key, is not PEM.
    NotPem(&'static str),
    /// The certificate and the key do not match, or are of an unsupported type.
    Unusable(rustls::Error),
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CertificateError::NotPem(what) => write!(f, "the {what} is not PEM"),
            CertificateError::Unusable(error) => write!(f, "the certificate cannot be used with its key: {error}"),
        }
    }
}

impl std::error::Error for CertificateError {}

impl ServerCertificate {
    /// Replaces the certificate and its key, both in PEM. The chain of the certificate can follow it.
    ///
    /// # Errors
    ///
    /// If they cannot be used. The certificate stays as it was.
    pub fn replace(&self, certificate: &str, key: &str) -> Result<(), CertificateError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
        let chain = chain.map_err(|_| CertificateError::NotPem("certificate"))?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| CertificateError::NotPem("key"))?;
        let certified = CertifiedKey::from_der(chain, key, &default_provider());
        let certified = certified.map_err(CertificateError::Unusable)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(certified));
        Ok(())
    }

    fn current(&self) -> Option<Arc<CertifiedKey>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for ServerCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCertificate").field("is_set", &self.current().is_some()).finish()
    }
}

impl ResolvesServerCert for ServerCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current()
    }
}

/// An HTTPS server.
#[derive(Debug)]
pub struct TlsServer {
    /// Where it listens.
    pub listener: TcpListener,
    /// The certificate that it presents.
    pub certificate: ServerCertificate,
    /// Verifies client certificates. With `None` all clients are accepted, without a certificate.
    pub clients: Option<Arc<dyn ClientCertVerifier>>,
}

impl TlsServer {
    /// Listens on an address for clients without certificates.
    ///
    /// # Errors
    ///
    /// If the address cannot be used.
    pub fn bind(address: SocketAddr, certificate: ServerCertificate) -> io::Result<TlsServer> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(TlsServer { listener, certificate, clients: None })
    }

    /// Serves until `shutdown` completes, then waits some seconds for open requests.
    ///
    /// # Errors
    ///
    /// If the listener fails.
    pub async fn serve(self, router: Router, shutdown: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let config = self.config().map_err(io::Error::other)?;
        let handle = Handle::new();
        let server = axum_server::from_tcp_rustls(self.listener, RustlsConfig::from_config(Arc::new(config)))?;
        let closing = handle.clone();
        tokio::spawn(async move {
            shutdown.await;
            closing.graceful_shutdown(Some(GRACE));
        });
        server.handle(handle).serve(router.into_make_service()).await
    }

    fn config(&self) -> Result<ServerConfig, rustls::Error> {
        let provider: Arc<CryptoProvider> = Arc::new(default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let builder = match &self.clients {
            Some(verifier) => builder.with_client_cert_verifier(Arc::clone(verifier)),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::new(self.certificate.clone()));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}
