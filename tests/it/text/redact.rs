//! Redaction: registered secrets in every form, and credentials by shape.

use std::borrow::Cow;

use leverframe::text::markdown::to_plain;
use leverframe::text::redact::{REDACTED, Redactor};
use proptest::prelude::*;
use serde_json::json;

const SECRET: &str = "p@ss \"word\"/+ü&7";

/// An independent encoder: bit by bit.
fn base64(bytes: &[u8]) -> String {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: Vec<u8> = bytes
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |n| byte >> n & 1))
        .collect();
    bits.chunks(6)
        .map(|six| (0..6).fold(0, |value, n| value << 1 | six.get(n).copied().unwrap_or(0)))
        .map(|value| char::from(digits[usize::from(value)]))
        .collect()
}

#[test]
fn a_registered_secret_is_found_in_every_form() {
    let redactor = Redactor::new();
    redactor.clone().register(SECRET);
    for form in [
        SECRET.to_owned(),
        "p%40ss%20%22word%22%2F%2B%C3%BC%267".to_owned(),
        "p%40ss%20%22word%22%2f%2b%c3%bc%267".to_owned(),
        "p%40ss+%22word%22%2F%2B%C3%BC%267".to_owned(),
        "p@ss \\\"word\\\"/+ü&7".to_owned(),
        base64(SECRET.as_bytes()),
    ] {
        let clean = redactor
            .redact(&format!("before {form} after"))
            .into_owned();
        assert_eq!(clean, format!("before {REDACTED} after"), "{form}");
    }
}

/// Models escape marks of Markdown in prose, and what shows the Markdown takes the backslashes away.
#[test]
fn a_secret_with_the_escapes_of_markdown_does_not_survive() {
    let redactor = Redactor::new();
    redactor.register("hook_key*of-9");
    for form in [r"hook\_key*of-9", r"hook\_key\*of-9", r"hook\_key\*of\-9"] {
        let clean = redactor.redact(form).into_owned();
        assert_eq!(to_plain(&clean), REDACTED, "{form}");
    }
}

#[test]
fn a_secret_inside_longer_base64_does_not_survive() {
    let redactor = Redactor::new();
    redactor.register("correct-horse");
    let middle = &base64(b"correct-horse")[3..12];
    for name in ["a", "ab", "abc", "user"] {
        let whole = base64(format!("{name}:correct-horse:tail").as_bytes());
        let clean = redactor.redact(&whole).into_owned();
        assert!(clean.contains(REDACTED), "{name}: {clean}");
        assert!(!clean.contains(middle));
    }
}

#[test]
fn short_values_are_not_registered() {
    let redactor = Redactor::new();
    redactor.register("hello");
    redactor.register("  hello \n");
    assert_eq!(redactor.redact("say hello"), "say hello");
}

#[test]
fn a_longer_secret_wins_over_its_prefix() {
    let redactor = Redactor::new();
    redactor.register("abcdef");
    redactor.register("abcdefghij");
    assert_eq!(redactor.redact("x abcdefghij y"), format!("x {REDACTED} y"));
}

#[test]
fn credentials_are_known_by_shape() {
    let redactor = Redactor::new();
    let token = format!("123456789:{}", "A".repeat(35));
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY-----";
    for (text, clean) in [
        (
            format!("https://api.telegram.org/bot{token}/getMe"),
            format!("https://api.telegram.org/bot{REDACTED}/getMe"),
        ),
        (
            "key sk-ant-api03-abcdefghijkl_mnop".to_owned(),
            format!("key {REDACTED}"),
        ),
        (
            "authorization: Bearer abcdefghijklmnop1234".to_owned(),
            format!("authorization: {REDACTED}"),
        ),
        (
            "id AKIAIOSFODNN7EXAMPLE.".to_owned(),
            format!("id {REDACTED}."),
        ),
        ("xoxb-123456789012-abcdef".to_owned(), REDACTED.to_owned()),
        (format!("a {key} b"), format!("a {REDACTED} b")),
        (
            format!("cut off {}", &key[..45]),
            format!("cut off {REDACTED}"),
        ),
        (format!("ghp_{}", "a".repeat(36)), REDACTED.to_owned()),
        (format!(r"ghp\_{}", "a".repeat(36)), REDACTED.to_owned()),
        (
            format!(r"github\_pat\_{}", r"a\_".repeat(11)),
            REDACTED.to_owned(),
        ),
        (
            format!(r"1234567:AA\_{}", r"b\-".repeat(15)),
            REDACTED.to_owned(),
        ),
        (format!(r"sk-a\_{}", "c".repeat(16)), REDACTED.to_owned()),
    ] {
        assert_eq!(redactor.redact(&text), clean);
    }
}

#[test]
fn ordinary_text_is_borrowed() {
    let redactor = Redactor::new();
    redactor.register("some registered secret");
    for text in [
        "",
        "a task-force-of-many-people met at 12:30",
        "the bearer of good news",
        "sk-short",
        "12:34:56",
    ] {
        assert!(matches!(redactor.redact(text), Cow::Borrowed(_)), "{text}");
    }
}

#[test]
fn json_is_redacted_in_strings_and_keys() {
    let redactor = Redactor::new();
    redactor.register("abcdef-123");
    redactor.register("987654321");
    let mut value =
        json!({"a": ["x abcdef-123", {"abcdef-123": 1, "k": null}], "n": 987_654_321, "b": true});
    redactor.redact_json(&mut value);
    assert_eq!(
        value,
        json!({"a": ["x [redacted]", {"[redacted]": 1, "k": null}], "n": "[redacted]", "b": true})
    );
}

#[test]
fn keys_that_redact_alike_keep_both_values() {
    let redactor = Redactor::new();
    redactor.register("secret-one");
    redactor.register("secret-two");
    let mut value = json!({"secret-one": 1, "secret-two": 2});
    redactor.redact_json(&mut value);
    assert_eq!(value, json!({"[redacted]": 1, "[redacted]'": 2}));
}

#[test]
fn nothing_prints_a_secret() {
    let redactor = Redactor::new();
    redactor.register("abcdef-123");
    assert!(!format!("{redactor:?}").contains("abcdef"));
}

proptest! {
    #[test]
    fn no_form_survives(secret in "[!-~]{6,40}", before in "[!-~]{0,20}", after in "[!-~]{0,20}") {
        let redactor = Redactor::new();
        redactor.register(&secret);
        let text = format!("{before} {secret} {after}");
        let json = serde_json::to_string(&text).unwrap();
        prop_assert!(!redactor.redact(&text).contains(&secret) || REDACTED.contains(&secret));
        let inner = serde_json::to_string(&secret).unwrap();
        prop_assert!(!redactor.redact(&json).contains(inner.trim_matches('"')) || REDACTED.contains(&secret));
        prop_assert!(redactor.redact(&base64(secret.as_bytes())).contains(REDACTED));
    }
}
