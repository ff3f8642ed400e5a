//! Who signed a body, and when.

use std::collections::BTreeMap;

use leverframe::channels::webhook::signature::{
    SIGNATURE_HEADER, SignatureFault, TIMESTAMP_HEADER, sign, verify,
};
use leverframe::clock::Timestamp;
use leverframe::config::secret::Secret;

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
