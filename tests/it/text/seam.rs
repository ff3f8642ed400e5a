//! Redaction of a text that comes in pieces: it gives what redacting the whole gives, however it is cut.

use std::sync::OnceLock;

use leverframe::text::redact::seam::{End, Seam};
use leverframe::text::redact::{REDACTED, Redactor};
use proptest::prelude::*;

const KEYS: [&str; 4] = [
    "correct-horse",
    "correct-horse-battery",
    "aab\"aab",
    "sk-ü7-AIza",
];

/// Clones share what is registered: the expression is compiled once.
fn redactor() -> Redactor {
    static SHARED: OnceLock<Redactor> = OnceLock::new();
    let shared = SHARED.get_or_init(|| {
        let redactor = Redactor::new();
        for key in KEYS {
            redactor.register(key);
        }
        redactor
    });
    shared.clone()
}

fn in_pieces(text: &str, cuts: &[usize], end: End) -> String {
    let mut seam = Seam::new(redactor());
    let mut out = String::new();
    let mut piece = String::new();
    for (position, c) in text.chars().enumerate() {
        if cuts.contains(&position) {
            out.push_str(&seam.push(&piece));
            piece.clear();
        }
        piece.push(c);
    }
    out.push_str(&seam.push(&piece));
    out + &seam.finish(end)
}

/// Parts of secrets and of shapes, so that whole ones come about, and almost whole ones.
fn part() -> impl Strategy<Value = String> {
    let words = [
        "correct-horse",
        "-battery",
        "correct-",
        "horse",
        "aab",
        "\"aab",
        "\\\"aab",
        "sk-",
        "ü7-",
        "AIza",
        "-----BEGIN ",
        "RSA PRIVATE KEY",
        "PRIVATE KEY-----",
        "-----END ",
        "Bearer",
        "bearer ",
        " \t",
        "123456",
        ":",
        "abcdefghijklmnop",
        "0123456789ABCDEF",
        "AKIA",
        "ASIA",
        "aws_secret_access_key",
        "\" = \"",
        "xoxb-",
        "xapp-",
        "ghp_",
        "github_pat_",
        "github\\_pat",
        "ghp\\",
        "\\_",
        "\\",
        "Y29ycmVjdC1ob3JzZQ",
        "é",
        "\n",
        "[redacted]",
        "x",
        ".",
        "-",
    ];
    prop_oneof![
        4 => prop::sample::select(words.to_vec()).prop_map(str::to_owned),
        1 => "[ -~]{0,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn pieces_are_redacted_as_the_whole(
        parts in prop::collection::vec(part(), 0..14),
        cuts in prop::collection::vec(0_usize..160, 0..40),
    ) {
        let text = parts.concat();
        prop_assert_eq!(in_pieces(&text, &cuts, End::Whole), redactor().redact(&text).into_owned());
        let each: Vec<usize> = (0..text.len()).collect();
        prop_assert_eq!(in_pieces(&text, &each, End::Whole), redactor().redact(&text).into_owned());
    }
}

#[test]
fn a_beginning_of_a_secret_never_goes_out() {
    let mut seam = Seam::new(redactor());
    for c in "see correct-horse-batter".chars() {
        assert!(!seam.push(&c.to_string()).contains("cor"));
    }
    assert_eq!(seam.finish(End::BrokenOff), format!("{REDACTED}-batter"));

    // Broken off inside of the secret itself, and not: an ordinary text that begins like one stays.
    let each: Vec<usize> = (0..40).collect();
    let broken = in_pieces("see correct-hor", &each, End::BrokenOff);
    assert_eq!(broken, format!("see {REDACTED}"));
    assert_eq!(in_pieces("see corre", &each, End::BrokenOff), "see corre");
    assert_eq!(
        in_pieces("see correct-hor", &each, End::Whole),
        "see correct-hor"
    );
}

#[test]
fn ordinary_text_goes_out_at_once() {
    let mut seam = Seam::new(redactor());
    for piece in [
        "Hello, ",
        "this is ",
        "an ordinary sentence",
        ", with 3 commas.",
    ] {
        assert_eq!(seam.push(piece), piece);
    }
}

#[test]
fn an_excerpt_that_cuts_a_secret_shows_nothing_of_it() {
    let clean = redactor().redact_excerpts("it said: no such key correct-ho…; look at base_url");
    assert_eq!(
        clean,
        format!("it said: no such key {REDACTED}…; look at base_url")
    );
    assert_eq!(redactor().redact_excerpts("a … b"), "a … b");
}

#[test]
fn a_long_block_is_redacted_in_good_time() {
    let text = format!(
        "-----BEGIN PRIVATE KEY-----\n{}",
        "MIIEabc\n".repeat(60_000)
    );
    let started = std::time::Instant::now();
    let mut seam = Seam::new(redactor());
    let mut out = String::new();
    for piece in text.as_bytes().chunks(4) {
        out.push_str(&seam.push(std::str::from_utf8(piece).unwrap()));
    }
    out.push_str(&seam.finish(End::Whole));
    assert_eq!(out, REDACTED);
    assert!(started.elapsed() < std::time::Duration::from_secs(20));
}

#[test]
fn what_is_left_out_takes_the_beginning_of_a_secret_with_it() {
    let mut seam = Seam::new(redactor());
    let mut shown = seam.push("a line\nthe key is correct-ho");
    shown += &seam.omit();
    shown += &seam.push("the next line\n");
    shown += &seam.finish(End::BrokenOff);
    assert_eq!(
        shown,
        format!("a line\nthe key is {REDACTED}…\nthe next line\n")
    );
    // A key in many lines goes on behind what is left out.
    let mut seam = Seam::new(redactor());
    let mut shown = seam.push("-----BEGIN PRIVATE KEY-----\nMIIE\n");
    shown += &seam.omit();
    shown += &seam.push("AAAA\n-----END PRIVATE KEY-----\nthe rest\n");
    shown += &seam.finish(End::BrokenOff);
    assert_eq!(shown, format!("{REDACTED}\nthe rest\n"));
}
