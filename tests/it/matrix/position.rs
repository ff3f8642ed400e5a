//! How far the account was read.

use leverframe::channels::matrix::position::{cursor, since};

#[test]
fn a_cursor_counts_for_its_own_user_only() {
    let own = cursor("@bot:example.org", "s12_3");
    assert_eq!(
        since(Some(&own), "@bot:example.org").as_deref(),
        Some("s12_3")
    );
    assert_eq!(since(Some(&own), "@bot:other.example"), None);
    assert_eq!(since(None, "@bot:example.org"), None);
    assert_eq!(since(Some("@bot:example.org "), "@bot:example.org"), None);
    assert_eq!(since(Some("42:7"), "@bot:example.org"), None);
}
