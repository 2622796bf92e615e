//! Keys and certificates of a cluster.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

use crate::TestEnvError;

/// The certificate authorities of a cluster, and the files of the certificates that they signed.
pub(crate) struct Certificates {
    folder: PathBuf,
    authority: Issuer,
    front_proxy: Issuer,
}

/// The files of a certificate and its key.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// The subject of a certificate.
pub(crate) enum Subject<'a> {
    Server { names: &'a [&'a str] },
    Client { user: &'a str, group: Option<&'a str>, expired: bool },
}

/// Who signs a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signer {
    /// The authority of servers and users.
    Cluster,
    /// The authority of the front proxy.
    FrontProxy,
}

/// The name of the API server's front proxy, which aggregated APIs must trust.
const FRONT_PROXY: &str = "front-proxy-client";

impl Certificates {
    pub(crate) fn create(folder: &Path) -> Result<Certificates, TestEnvError> {
        create(folder).map_err(|error| TestEnvError::failed("cannot create certificates", error))
    }

    /// The authority that signs the certificates of servers and users.
    pub(crate) fn authority(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn identity(&self, name: &str) -> Identity {
        Identity { certificate: self.file(&format!("{name}.crt")), key: self.file(&format!("{name}.key")) }
    }

    /// Replaces the authority and the certificate of the front proxy.
    pub(crate) fn rotate_front_proxy(&mut self) -> Result<(), TestEnvError> {
        let rotated = front_proxy(&self.folder);
        self.front_proxy = rotated.map_err(|error| TestEnvError::failed("cannot create certificates", error))?;
        Ok(())
    }

    /// Signs a certificate and writes it and its key to files of this name.
    pub(crate) fn sign(&self, signer: Signer, name: &str, subject: &Subject<'_>) -> Result<Identity, TestEnvError> {
        let issuer = match signer {
            Signer::Cluster => &self.authority,
            Signer::FrontProxy => &self.front_proxy,
        };
        let signed = sign(&self.folder, issuer, name, subject);
        signed.map_err(|error| TestEnvError::failed("cannot sign a certificate", error))?;
        Ok(self.identity(name))
    }
}

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn create(folder: &Path) -> Result<Certificates, Box<dyn std::error::Error>> {
    fs::create_dir_all(folder)?;
    let authority = certificate_authority(folder, "ca")?;
    let front_proxy = front_proxy(folder)?;
    let names = ["localhost", "127.0.0.1", "127.10.0.1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
    sign(folder, &authority, "apiserver", &Subject::Server { names: &names })?;
    let admin = Subject::Client { user: "admin", group: Some("system:masters"), expired: false };
    sign(folder, &authority, "admin", &admin)?;
    let tokens = KeyPair::generate()?;
    fs::write(folder.join("service-accounts.key"), tokens.serialize_pem())?;
    fs::write(folder.join("service-accounts.pub"), tokens.public_key_pem())?;
    Ok(Certificates { folder: folder.to_owned(), authority, front_proxy })
}

/// A different authority from that of the users: otherwise a certificate of the front proxy would also be one of a user.
fn front_proxy(folder: &Path) -> Result<Issuer, Box<dyn std::error::Error>> {
    let authority = certificate_authority(folder, "front-proxy-ca")?;
    let proxy = Subject::Client { user: FRONT_PROXY, group: None, expired: false };
    sign(folder, &authority, FRONT_PROXY, &proxy)?;
    Ok(authority)
}

fn certificate_authority(folder: &Path, name: &str) -> Result<Issuer, Box<dyn std::error::Error>> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, format!("attache-testenv-{name}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    fs::write(folder.join(format!("{name}.crt")), issuer.pem())?;
    Ok(issuer)
}

fn sign(folder: &Path, issuer: &Issuer, name: &str, subject: &Subject<'_>) -> Result<(), Box<dyn std::error::Error>> {
    let mut params = match subject {
        Subject::Server { names } => {
            CertificateParams::new(names.iter().map(|name| (*name).into()).collect::<Vec<_>>())?
        }
        Subject::Client { .. } => CertificateParams::new(Vec::new())?,
    };
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    match subject {
        Subject::Server { names } => {
            params.distinguished_name.push(DnType::CommonName, names.first().copied().unwrap_or_default());
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        }
        Subject::Client { user, group, expired } => {
            params.distinguished_name.push(DnType::CommonName, *user);
            if let Some(group) = group {
                params.distinguished_name.push(DnType::OrganizationName, *group);
            }
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            if *expired {
                (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2020, 1, 2));
            }
        }
    }
    let key = KeyPair::generate()?;
    fs::write(folder.join(format!("{name}.crt")), params.signed_by(&key, issuer)?.pem())?;
    fs::write(folder.join(format!("{name}.key")), key.serialize_pem())?;
    Ok(())
}
