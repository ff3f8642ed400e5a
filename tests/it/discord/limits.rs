//! Buckets of calls, and when a call may go.

use std::time::{Duration, Instant};

use leverframe::channels::discord::limits::{Limits, MAX_REFUSED, Quota, REFUSED_WINDOW, UNBOUND};

const SEND: &str = "POST /channels/messages";
const TYPING: &str = "POST /channels/typing";

fn quota(remaining: u32, millis: u64) -> Quota {
    Quota {
        bucket: "abcd".to_owned(),
        remaining,
        reset_after: Duration::from_millis(millis),
    }
}

#[test]
fn an_empty_bucket_waits_for_its_reset_and_only_for_its_channel() {
    let limits = Limits::default();
    let now = Instant::now();
    assert_eq!(limits.take(SEND, "1", now), Ok(()));
    limits.note(SEND, "1", &quota(1, 400), now);
    assert_eq!(limits.take(SEND, "1", now), Ok(()));
    assert_eq!(
        limits.take(SEND, "1", now),
        Err(Duration::from_millis(400)),
        "a call under way counts"
    );
    assert_eq!(limits.take(SEND, "2", now), Ok(()));
    assert_eq!(
        limits.take(SEND, "1", now + Duration::from_millis(400)),
        Ok(())
    );
}

#[test]
fn kinds_of_calls_share_a_bucket_once_discord_says_so() {
    let limits = Limits::default();
    let now = Instant::now();
    limits.note(SEND, "1", &quota(0, 400), now);
    assert_eq!(limits.take(TYPING, "1", now), Ok(()));
    limits.note(TYPING, "1", &quota(0, 900), now);
    assert_eq!(limits.take(SEND, "1", now), Err(Duration::from_millis(900)));
}

#[test]
fn a_limit_of_one_route_and_one_of_everything() {
    let limits = Limits::default();
    let now = Instant::now();
    limits.limited(SEND, "1", Duration::from_secs(3), false, now);
    assert_eq!(limits.take(SEND, "1", now), Err(Duration::from_secs(3)));
    assert_eq!(limits.take(TYPING, "1", now), Ok(()));
    limits.limited(TYPING, "9", Duration::from_secs(5), true, now);
    assert_eq!(limits.take(SEND, "2", now), Err(Duration::from_secs(5)));
    assert_eq!(limits.take(UNBOUND, "2", now), Ok(()));
    assert_eq!(limits.take(SEND, "2", now + Duration::from_secs(5)), Ok(()));
}

#[test]
fn many_refused_calls_hold_everything_long_before_a_ban() {
    let limits = Limits::default();
    let now = Instant::now();
    for _ in 0..MAX_REFUSED - 1 {
        limits.refused(now);
    }
    assert_eq!(limits.take(SEND, "1", now), Ok(()));
    limits.refused(now);
    assert_eq!(limits.take(SEND, "1", now), Err(REFUSED_WINDOW));
    let later = now + REFUSED_WINDOW;
    assert_eq!(limits.take(SEND, "1", later), Ok(()));
    limits.refused(later);
    assert_eq!(limits.take(SEND, "1", later), Ok(()));
}
