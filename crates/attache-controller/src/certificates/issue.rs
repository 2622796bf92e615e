//! The controller's certificate authority (CA): issues and renews certificates.
//!
//! ```text
//! CA          ├──────── signs ────────┤2/3
//! next CA                             ├─ trusted ─┼──── signs ────┤2/3
//! servers     ├──────┤├──────┤├──────┤├──────────┤├──────┤
//! ```
//!
//! A new CA is in the bundle before it signs, and an old one stays in the bundle after it has signed. So a client with the
//! previous bundle can verify the certificate of every replica.

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, Error, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use serde::{Deserialize, Serialize};

/// The lifetime of the CA, as a multiple of that of server certificates.
const AUTHORITY_FACTOR: u32 = 4;

/// The time between the creation of a new CA and its first signature, unless its lifetime is short.
const LONGEST_NOTICE: Duration = Duration::from_secs(600);

/// The tolerated difference between the clocks of the controller and of the API server.
const CLOCK_SKEW: Duration = Duration::from_secs(300);

/// What certificates are issued for.
#[derive(Clone, Debug)]
pub(super) struct IssueOptions {
    /// The names of the server.
    pub names: Vec<String>,
    /// The lifetime of its certificate.
    pub lifetime: Duration,
}

/// Everything that was issued, with its keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Issued {
    /// The CA that signs.
    authority: Signed,
    /// The CA that will sign next. It is already in the bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<Signed>,
    /// The certificate of the previous CA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
    /// The certificate of the servers.
    pub server: Signed,
    /// The names of the servers.
    names: Vec<String>,
}

/// A certificate and its key, in PEM, and its validity, in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Signed {
    pub certificate: String,
    pub key: String,
    issued: u64,
    expires: u64,
}

impl Signed {
    /// Whether two thirds of its lifetime have passed.
    fn is_due(&self, now: Duration) -> bool {
        now.as_secs() >= self.issued + (self.expires - self.issued) * 2 / 3
    }
}

impl Issued {
    /// A new CA, and a certificate that it signs. `now` is the time since 1970.
    pub fn new(options: &IssueOptions, now: Duration) -> Result<Issued, Error> {
        let authority = new_authority(options, now)?;
        let server = sign(&authority, options, now)?;
        Ok(Issued { authority, next: None, previous: None, server, names: options.names.clone() })
    }

    /// The renewed certificates, if one is due for renewal.
    pub fn renewed(&self, options: &IssueOptions, now: Duration) -> Result<Option<Issued>, Error> {
        if now.as_secs() >= self.authority.expires {
            return Issued::new(options, now).map(Some);
        }
        let notice = (options.lifetime * AUTHORITY_FACTOR / 20).min(LONGEST_NOTICE);
        match &self.next {
            Some(next) if now.as_secs() >= next.issued + notice.as_secs() => {
                let (server, previous) = (sign(next, options, now)?, Some(self.authority.certificate.clone()));
                let names = options.names.clone();
                Ok(Some(Issued { authority: next.clone(), next: None, previous, server, names }))
            }
            None if self.authority.is_due(now) => {
                Ok(Some(Issued { next: Some(new_authority(options, now)?), ..self.clone() }))
            }
            _ if self.server.is_due(now) || self.names != options.names => {
                let server = sign(&self.authority, options, now)?;
                Ok(Some(Issued { server, names: options.names.clone(), ..self.clone() }))
            }
            _ => Ok(None),
        }
    }

    /// The certificates of all CAs that clients must trust, in PEM.
    pub fn bundle(&self) -> String {
        let others = self.next.iter().map(|next| &next.certificate).chain(&self.previous);
        [&self.authority.certificate].into_iter().chain(others).map(String::as_str).collect()
    }
}

fn authority_params() -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, "attache");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    Ok(params)
}

fn new_authority(options: &IssueOptions, now: Duration) -> Result<Signed, Error> {
    let expires = now + options.lifetime * AUTHORITY_FACTOR;
    let (key, params) = (KeyPair::generate()?, valid(authority_params()?, now, expires));
    let certificate = params.self_signed(&key)?.pem();
    Ok(Signed { certificate, key: key.serialize_pem(), issued: now.as_secs(), expires: expires.as_secs() })
}

/// A server certificate, signed by a CA. It does not outlive the certificate of the CA.
fn sign(authority: &Signed, options: &IssueOptions, now: Duration) -> Result<Signed, Error> {
    let issuer = Issuer::new(authority_params()?, KeyPair::from_pem(&authority.key)?);
    let expires = (now + options.lifetime).min(Duration::from_secs(authority.expires));
    let mut params = valid(CertificateParams::new(options.names.clone())?, now, expires);
    params.distinguished_name.push(DnType::CommonName, "attache");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?.pem();
    Ok(Signed { certificate, key: key.serialize_pem(), issued: now.as_secs(), expires: expires.as_secs() })
}

fn valid(mut params: CertificateParams, now: Duration, expires: Duration) -> CertificateParams {
    params.not_before = date_time_ymd(1970, 1, 1) + now.saturating_sub(CLOCK_SKEW);
    params.not_after = date_time_ymd(1970, 1, 1) + expires;
    params
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::ServerCertificate;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn options(names: &[&str]) -> IssueOptions {
        IssueOptions { names: names.iter().map(ToString::to_string).collect(), lifetime: 90 * DAY }
    }

    fn renewed(issued: &Issued, now: Duration) -> Option<Issued> {
        issued.renewed(&options(&["a"]), now).expect("it can be issued")
    }

    #[test]
    fn a_new_ca_is_trusted_before_it_signs_and_the_old_one_after() {
        let start = 20_000 * DAY;
        let first = Issued::new(&options(&["a"]), start).expect("it can be issued");
        assert_eq!(renewed(&first, start + 59 * DAY), None);

        let second = renewed(&first, start + 60 * DAY).expect("the certificate of the server is due");
        assert_ne!(second.server, first.server);
        assert_eq!(second.bundle(), first.bundle());

        // In practice the server certificate has been renewed in between.
        let with_next = renewed(&first, start + 240 * DAY).expect("the authority is due");
        let next = with_next.next.clone().expect("there is a next authority");
        assert_eq!(with_next.server, first.server);
        assert_eq!(with_next.bundle(), format!("{}{}", first.bundle(), next.certificate));

        let later = start + 240 * DAY + LONGEST_NOTICE;
        let signing = renewed(&with_next, later).expect("the next authority signs");
        assert_eq!(signing.authority, next);
        assert_ne!(signing.server, first.server);
        assert_eq!(signing.bundle(), format!("{}{}", next.certificate, first.authority.certificate));
        assert_eq!(renewed(&signing, later), None);
    }

    #[test]
    fn expired_certificates_and_changed_names_lead_to_new_certificates() {
        let start = 20_000 * DAY;
        let first = Issued::new(&options(&["a"]), start).expect("it can be issued");
        let anew = renewed(&first, start + 360 * DAY).expect("everything has expired");
        assert_ne!(anew.authority, first.authority);
        let renamed = first.renewed(&options(&["b"]), start).expect("it can be issued").expect("another name");
        assert_eq!(renamed.authority, first.authority);
        assert_ne!(renamed.server, first.server);
    }

    #[test]
    fn a_server_can_use_an_issued_certificate() {
        let issued = Issued::new(&options(&["a", "a.b.svc"]), 20_000 * DAY).expect("it can be issued");
        let Signed { certificate, key, .. } = &issued.server;
        assert!(ServerCertificate::default().replace(certificate, key).is_ok());
        assert!(ServerCertificate::default().replace(certificate, &issued.authority.key).is_err());
        assert!(ServerCertificate::default().replace("certificate", key).is_err());
    }
}
