//! Lines of a pipe, within their limit.

use leverframe::channels::process::lines::{LineError, Lines};

#[tokio::test]
async fn lines_come_whole_and_a_last_half_line_does_not() {
    let mut lines = Lines::new(&b"one\n\ntwo\nhalf"[..], 8);
    for expected in ["one", "", "two"] {
        assert_eq!(lines.next().await.unwrap().unwrap(), expected.as_bytes());
    }
    assert_eq!(lines.next().await.unwrap(), None);
}

#[tokio::test]
async fn a_longer_line_is_refused() {
    let mut lines = Lines::new(&b"123456789\n"[..], 8);
    assert!(matches!(lines.next().await, Err(LineError::TooLong(8))));
}
