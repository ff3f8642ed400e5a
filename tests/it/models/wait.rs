//! How long a provider asks to wait.

use std::time::Duration;

use leverframe::model::http::wait::retry_after;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            )
        })
        .collect()
}

#[test]
fn the_three_forms_of_retry_after() {
    let wait = |pairs: &[(&'static str, &str)]| retry_after(&headers(pairs));
    assert_eq!(wait(&[("retry-after", "2")]), Some(Duration::from_secs(2)));
    assert_eq!(
        wait(&[("retry-after", "9"), ("retry-after-ms", "250")]),
        Some(Duration::from_millis(250))
    );
    assert_eq!(
        wait(&[
            ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("date", "Sun, 06 Nov 1994 08:49:30 GMT"),
        ]),
        Some(Duration::from_secs(7))
    );
    assert_eq!(
        wait(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]),
        Some(Duration::ZERO),
        "a date in the past means now"
    );
    assert_eq!(wait(&[("retry-after", "soon")]), None);
    assert_eq!(wait(&[]), None);
}
