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

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(seconds: i64, signature: &str) -> BTreeMap<String, String> {
        BTreeMap::from([
            (TIMESTAMP_HEADER.to_owned(), seconds.to_string()),
            (SIGNATURE_HEADER.to_owned(), signature.to_owned()),
        ])
    }

    /// The example of Slack's page: another's numbers, so both sides cannot be wrong together.
    #[test]
    fn the_published_example_verifies() {
        let secret = Secret::new("8f742231b10e8888abcd99yyyzzz85a5");
        let body = b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&\
channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&\
response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&\
trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
        assert_eq!(
            sign(&secret, 1_531_420_618, body).unwrap(),
            "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
        );
    }

    #[test]
    fn only_the_secret_the_time_and_the_body_make_it_genuine() {
        let secret = Secret::new("one");
        let now = Timestamp(1_000_000_000);
        let good = sign(&secret, 1_000_000, b"{}").unwrap();
        assert_eq!(
            verify(&secret, now, &headers(1_000_000, &good), b"{}"),
            Ok(())
        );
        let mismatch = Err(SignatureFault::Mismatch);
        let wrong = [
            verify(&Secret::new("two"), now, &headers(1_000_000, &good), b"{}"),
            verify(&secret, now, &headers(1_000_001, &good), b"{}"),
            verify(&secret, now, &headers(1_000_000, &good), b"{ }"),
        ];
        for result in wrong {
            assert_eq!(result, mismatch);
        }
        let old = sign(&secret, 999_699, b"{}").unwrap();
        assert_eq!(
            verify(&secret, now, &headers(999_699, &old), b"{}"),
            Err(SignatureFault::Time(301))
        );
        assert!(matches!(
            verify(&secret, now, &headers(1_000_000, "v1=00"), b"{}"),
            Err(SignatureFault::Header(_))
        ));
        assert!(matches!(
            verify(&secret, now, &BTreeMap::new(), b"{}"),
            Err(SignatureFault::Header(_))
        ));
    }
}
