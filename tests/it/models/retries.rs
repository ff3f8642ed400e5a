//! When a call is tried again.

use std::time::Duration;

use leverframe::model::request::{ModelError, ModelErrorKind};
use leverframe::model::retry::retry_delay;
use proptest::prelude::*;

const ALL: [ModelErrorKind; 13] = [
    ModelErrorKind::Authentication,
    ModelErrorKind::NotFound,
    ModelErrorKind::InvalidRequest,
    ModelErrorKind::ContextTooLong,
    ModelErrorKind::QuotaExceeded,
    ModelErrorKind::RateLimited,
    ModelErrorKind::Overloaded,
    ModelErrorKind::Unreachable,
    ModelErrorKind::Timeout,
    ModelErrorKind::Disconnected,
    ModelErrorKind::Protocol,
    ModelErrorKind::Unusable,
    ModelErrorKind::Cancelled,
];

fn asking(seconds: Option<u64>) -> ModelError {
    ModelError {
        retry_after: seconds.map(Duration::from_secs),
        ..ModelError::new(ModelErrorKind::RateLimited, "")
    }
}

#[test]
fn the_kinds_that_are_tried_again() {
    let again =
        |kind, attempt| retry_delay(&ModelError::new(kind, ""), attempt, 9, false, 0.0).is_some();
    let first: Vec<_> = ALL.into_iter().filter(|kind| again(*kind, 1)).collect();
    assert_eq!(first, ALL[5..12]);
    let second: Vec<_> = ALL.into_iter().filter(|kind| again(*kind, 2)).collect();
    assert_eq!(
        second,
        ALL[5..10],
        "what is not the protocol gets one more chance only"
    );
}

#[test]
fn waits_double_up_to_eight_seconds() {
    let waits: Vec<f64> = (1..8)
        .filter_map(|attempt| retry_delay(&asking(None), attempt, 9, false, 0.0))
        .map(|wait| wait.as_secs_f64())
        .collect();
    assert_eq!(waits, [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]);
}

#[test]
fn an_asked_wait_is_kept_or_not_waited_at_all() {
    let delay = |seconds| retry_delay(&asking(Some(seconds)), 1, 3, false, 1.0);
    assert_eq!(delay(2), Some(Duration::from_secs(2)));
    assert_eq!(delay(120), Some(Duration::from_mins(2)));
    assert_eq!(delay(121), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bounds_hold(kind in 0..12_usize, attempt in 1..40_u32, max in 0..40_u32, shown: bool, jitter: f64, asked in proptest::option::of(0..500_u64)) {
        let error = ModelError { retry_after: asked.map(Duration::from_secs), ..ModelError::new(ALL[kind], "") };
        let delay = retry_delay(&error, attempt, max, shown, jitter);
        if shown || attempt >= max {
            prop_assert_eq!(delay, None);
        }
        if let Some(delay) = delay {
            match error.retry_after {
                Some(asked) => prop_assert_eq!(delay, asked),
                None => prop_assert!(delay >= Duration::from_millis(375) && delay <= Duration::from_secs(8)),
            }
        }
    }
}
