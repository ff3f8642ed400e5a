//! Signs that nobody sees.

use leverframe::mcp::client::visible::{hides, visible};

#[test]
fn what_nobody_sees_goes_and_what_is_read_stays() {
    assert_eq!(visible("Adds 1.\nThen 2."), "Adds 1.\nThen 2.");
    assert_eq!(
        visible("a\u{200b}b\u{202e}c\u{e0041}d\u{1b}[31m\te"),
        "abcd[31m e"
    );
    assert!(hides("x\u{e0041}") && hides("\u{7}") && !hides("line\r\nline\tend caf\u{e9}"));
}
