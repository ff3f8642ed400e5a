//! Requests of a minute.

use std::sync::Arc;
use std::time::Duration;

use leverframe::api::accounts::Accounts;
use leverframe::api::report::NoReport;

#[test]
fn a_minute_of_requests_may_come_at_once_and_then_one_comes_after_another() {
    let accounts = Accounts::new(Some(60), Arc::new(NoReport));
    let (one, other) = (Arc::from("one"), Arc::from("other"));
    let at = Duration::from_secs;
    for _ in 0..60 {
        assert_eq!(accounts.count(&one, 60, at(5)), Ok(()));
    }
    assert_eq!(accounts.count(&one, 60, at(5)), Err(at(1)));
    assert_eq!(accounts.count(&other, 60, at(5)), Ok(()));
    assert_eq!(accounts.count(&one, 60, at(6)), Ok(()));
    assert_eq!(accounts.count(&one, 60, at(6)), Err(at(1)));
    for _ in 0..60 {
        assert_eq!(accounts.count(&one, 60, at(66)), Ok(()));
    }
}
