//! Words of mixed scripts, and text on one line that no terminal acts on.

use leverframe::text::scripts::{mixed_word, warning};
use leverframe::text::untrusted::escape_line;
use proptest::prelude::*;
use serde_json::Value;

#[test]
fn a_word_of_two_scripts_is_named_with_them() {
    assert_eq!(
        warning("/srv/p\u{430}ypal/a.txt").unwrap(),
        "“p\u{430}ypal” mixes Latin and Cyrillic letters"
    );
    assert!(warning("\u{3bf}pen").unwrap().contains("Latin and Greek"));
    assert!(warning("a\u{585}").unwrap().contains("Latin and Armenian"));
    // What is not seen does not part a word.
    assert!(warning("pay\u{200b}\u{440}al").is_some());
    for fine in [
        "",
        "/srv/paypal/a.txt",
        "отчёт-report.txt",
        "Über größe naïve",
        "файл2024",
        "日本語readme",
        "5µm",
        "a\u{301}b",
    ] {
        assert_eq!(mixed_word(fine), None, "{fine}");
    }
}

#[test]
fn what_a_terminal_acts_on_is_escaped() {
    let text = "a\nb\rc\u{85}d\u{9b}2J\u{202e}e\u{2066}f\u{1b}[0m\u{7f}g\u{e0041}h é";
    assert_eq!(
        escape_line(text),
        "a\\u000ab\\u000dc\\u0085d\\u009b2J\\u202ee\\u2066f\\u001b[0m\\u007fg\\udb40\\udc41h é"
    );
}

proptest! {
    #[test]
    fn escaped_json_is_the_same_value(text in "\\PC{0,20}|[\u{80}-\u{a0}\u{2028}-\u{202e}\u{2066}-\u{2069}\u{e0041}a-c\"\\\\\n]{0,20}") {
        let value = Value::String(text);
        let escaped = escape_line(&value.to_string()).into_owned();
        prop_assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), value);
        let raw = ['\u{9b}', '\u{202e}', '\u{2066}', '\u{85}'];
        prop_assert!(!escaped.contains(raw));
    }
}
