//! Signatures of requests, both ways: HMAC-SHA256 over `v0:TIMESTAMP:BODY`, as Slack signs (scheme `v0`).
//!
//! Nothing here reads a clock. Comparing takes the same time for every wrong signature.
//! Source: <https://api.slack.com/authentication/verifying-requests-from-slack>.

use std::collections::BTreeMap;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::clock::Timestamp;
use crate::config::secret::Secret;
use crate::protocol::hex::{from_hex, hex};

/// Header with the seconds since 1970 at which a request was signed.
pub const TIMESTAMP_HEADER: &str = "x-leverframe-timestamp";
/// Header with the signature.
pub const SIGNATURE_HEADER: &str = "x-leverframe-signature";
/// How far the clocks of both sides may differ, in seconds.
pub const WINDOW: i64 = 300;

/// Why a request is not genuine, and what its sender does about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureFault {
    /// A header is missing or is nothing that it could be.
    #[error("the header {0} is missing or malformed")]
    Header(&'static str),
    /// It was signed too long ago, or in the future.
    #[error(
        "it was signed {0} s away from now; the clocks of both sides differ, or it is an old request"
    )]
    Time(i64),
    /// The signature is of something else.
    #[error("the signature does not fit; sign `v0:TIMESTAMP:BODY` with the secret of the channel")]
    Mismatch,
}

/// The signature of a body at a time, in seconds since 1970. None for a secret that cannot be a key.
pub fn sign(secret: &Secret, seconds: i64, body: &[u8]) -> Option<String> {
    let mac = mac(secret, seconds, body)?;
    Some(format!("v0={}", hex(&mac.finalize().into_bytes())))
}

/// Checks the signature of a request. Only who has the secret is told of the time.
///
/// # Errors
/// Why it is not genuine.
pub fn verify(
    secret: &Secret,
    now: Timestamp,
    headers: &BTreeMap<String, String>,
    body: &[u8],
) -> Result<(), SignatureFault> {
    let seconds: i64 = headers
        .get(TIMESTAMP_HEADER)
        .and_then(|value| value.trim().parse().ok())
        .ok_or(SignatureFault::Header("X-Leverframe-Timestamp"))?;
    let given: [u8; 32] = headers
        .get(SIGNATURE_HEADER)
        .and_then(|value| value.trim().strip_prefix("v0="))
        .and_then(from_hex)
        .ok_or(SignatureFault::Header("X-Leverframe-Signature"))?;
    let mac = mac(secret, seconds, body).ok_or(SignatureFault::Mismatch)?;
    mac.verify_slice(&given)
        .map_err(|_| SignatureFault::Mismatch)?;
    let away = (now.as_millis() / 1000).saturating_sub(seconds);
    if away.saturating_abs() > WINDOW {
        return Err(SignatureFault::Time(away));
    }
    Ok(())
}

fn mac(secret: &Secret, seconds: i64, body: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).ok()?;
    mac.update(b"v0:");
    mac.update(seconds.to_string().as_bytes());
    mac.update(b":");
    mac.update(body);
    Some(mac)
}
