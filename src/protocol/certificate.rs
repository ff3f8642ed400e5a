//! X.509 certificates as people compare them: a fingerprint, names and a time. Nothing here decides
//! about trust.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use sha2::{Digest, Sha256};
use x509_cert::Certificate as Parsed;
use x509_cert::der::Decode as _;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use crate::clock::Timestamp;
use crate::protocol::hex::{from_hex, hex};

/// Prefix of ids of client certificates under `[people]`, before 64 hex digits.
pub const ID_PREFIX: &str = "cert:";
/// Prefix of a fingerprint that people read.
const PREFIX: &str = "SHA256:";

/// SHA-256 of a certificate in DER.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Computes the fingerprint of a certificate in DER.
    pub fn of(der: &[u8]) -> Self {
        Self(Sha256::digest(der).into())
    }

    /// The id of its holder under `[people]`: `cert:` and 64 hex digits.
    pub fn id(&self) -> String {
        format!("{ID_PREFIX}{}", hex(&self.0))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", hex(&self.0))
    }
}

/// Why a text is no fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no fingerprint: expected SHA256: and 64 hex digits, with or without colons between them"
)]
pub struct NoFingerprint(String);

impl FromStr for Fingerprint {
    type Err = NoFingerprint;

    fn from_str(text: &str) -> Result<Self, NoFingerprint> {
        let head = text.get(..PREFIX.len()).unwrap_or_default();
        let digits = if head.eq_ignore_ascii_case(PREFIX) {
            text.get(PREFIX.len()..).unwrap_or_default()
        } else {
            text
        };
        let digits = digits.replace(':', "");
        let bytes = from_hex(&digits).ok_or_else(|| NoFingerprint(text.to_owned()))?;
        Ok(Self(bytes))
    }
}

/// The fields of a certificate that people compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// DNS names and IP addresses in the certificate.
    pub names: Vec<String>,
    /// Start of its validity.
    pub not_before: Timestamp,
    /// End of its validity.
    pub not_after: Timestamp,
}

impl Certificate {
    /// Reads a certificate in DER.
    ///
    /// # Errors
    /// In words, where it is none.
    pub fn read(der: &[u8]) -> Result<Self, String> {
        let parsed =
            Parsed::from_der(der).map_err(|error| format!("no X.509 certificate: {error}"))?;
        let parsed = parsed.tbs_certificate();
        let time = |time: x509_cert::time::Time| {
            let millis = time.to_unix_duration().as_millis();
            Timestamp(i64::try_from(millis).unwrap_or(i64::MAX))
        };
        let alternative = parsed
            .get_extension::<SubjectAltName>()
            .map_err(|error| format!("no names can be read in it: {error}"))?;
        let names = alternative.map_or_else(Vec::new, |(_, names)| {
            names.0.iter().filter_map(name_of).collect()
        });
        Ok(Self {
            fingerprint: Fingerprint::of(der),
            names,
            not_before: time(parsed.validity().not_before),
            not_after: time(parsed.validity().not_after),
        })
    }
}

fn name_of(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::DnsName(name) => Some(name.as_str().to_owned()),
        GeneralName::IpAddress(bytes) => {
            let bytes = bytes.as_bytes();
            let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
            let v6 = || <[u8; 16]>::try_from(bytes).map(IpAddr::from);
            v4.or_else(|_| v6()).ok().map(|address| address.to_string())
        }
        GeneralName::OtherName(_)
        | GeneralName::Rfc822Name(_)
        | GeneralName::DirectoryName(_)
        | GeneralName::EdiPartyName(_)
        | GeneralName::UniformResourceIdentifier(_)
        | GeneralName::RegisteredId(_) => None,
    }
}
