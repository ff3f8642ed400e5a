//! Times of messages as Slack writes them.

use std::cmp::Ordering;

use leverframe::channels::slack::ts::{compare, from_millis, is_older, is_time};

#[test]
fn times_are_compared_as_numbers() {
    assert!(is_older("999.000009", "1000.000001"));
    assert!(is_older("1000.000001", "1000.000002"));
    assert!(!is_older("1000.000002", "1000.000002"));
    assert_eq!(compare("1000.000001", "1000.000002"), Ordering::Less);
    assert!(is_older("", "1.000000") && is_older("x.1", "1.000000"));
    assert_eq!(from_millis(1_795_684_398_123), "1795684398.123000");
    assert!(is_time("1795684398.000002") && !is_time("1795684398") && !is_time("1.2"));
}
