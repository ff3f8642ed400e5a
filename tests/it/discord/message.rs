//! Messages, their pieces and their keys.

use leverframe::channels::discord::message::{MAX_NONCE, is_id, nonce, pieces};
use leverframe::channels::discord::render::MAX_MESSAGE;

#[test]
fn keys_are_short_and_differ_by_piece() {
    let key = "0123456789abcdef01234567";
    assert_eq!(nonce(key, 0), "0123456789abcdef0123-0");
    assert_eq!(nonce(key, 123), "0123456789abcdef0123-123");
    assert!(nonce(&"x".repeat(90), 99_999).len() <= MAX_NONCE);
}

#[test]
fn no_piece_is_longer_than_discord_takes_and_none_is_lost() {
    for source in [
        "*".repeat(100_000),
        "> q\n".repeat(2_000),
        "🦀_a".repeat(3_000),
        format!("```rust\n{}\n```", "let x = 1;\n".repeat(900)),
        "word ".repeat(9_000),
    ] {
        let pieces = pieces(&source);
        for piece in &pieces {
            assert!(piece.chars().count() <= MAX_MESSAGE);
        }
        let words = pieces.iter().map(|piece| piece.matches("word").count());
        assert_eq!(words.sum::<usize>(), source.matches("word").count());
    }
    assert!(pieces(" \n ").is_empty());
}

#[test]
fn only_digits_are_an_id() {
    for odd in ["", "1/2", "../1", "1 ", "١", "123456789012345678901"] {
        assert!(!is_id(odd), "{odd}");
    }
    assert!(is_id("1234567890123456789"));
}
