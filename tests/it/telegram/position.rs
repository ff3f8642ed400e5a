//! Which updates are confirmed.

use leverframe::channels::telegram::position::{Position, cursor, position};

#[test]
fn a_cursor_counts_for_its_own_bot_only() {
    let own = cursor(7, 42);
    assert_eq!(position(Some(&own), 7).offset, Some(42));
    assert_eq!(position(Some(&own), 8), Position::default());
    assert_eq!(position(None, 7), Position::default());
    assert_eq!(position(Some("7:nonsense"), 7), Position::default());
}

#[test]
fn a_cursor_without_a_bot_confirms_nothing() {
    let old = position(Some("700000001"), 7);
    assert_eq!(old.offset, None);
    assert_eq!(old.unnamed_below, Some(700_000_001));
}
