//! How long a provider asks us to wait, from the headers of its answer.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, RETRY_AFTER};

use crate::clock::{Clock, Timestamp};

const RETRY_AFTER_MILLIS: HeaderName = HeaderName::from_static("retry-after-ms");

/// What the provider asked us to wait: `retry-after-ms`, or `retry-after` as seconds or as a date.
///
/// A date is compared with the answer's own `Date`, so a wrong clock here does no harm.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let positive = |seconds: f64| Duration::try_from_secs_f64(seconds.max(0.0)).ok();
    if let Some(millis) = text(&RETRY_AFTER_MILLIS).and_then(|text| text.trim().parse::<f64>().ok())
    {
        return positive(millis / 1_000.0);
    }
    let asked = text(&RETRY_AFTER)?.trim();
    if let Ok(seconds) = asked.parse::<f64>() {
        return positive(seconds);
    }
    let until = http_date(asked)?;
    let now = text(&reqwest::header::DATE)
        .and_then(http_date)
        .unwrap_or_else(|| Clock::System.now());
    Some(Duration::from_millis(until.millis_since(now)))
}

fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text.trim())
        .ok()
        .map(|at| Timestamp(at.timestamp().as_millisecond()))
}
