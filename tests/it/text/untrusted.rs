//! Revealing: what must never come out, and what must come out unchanged.

use std::borrow::Cow;

use leverframe::text::untrusted::{MAX_MARKS, is_hidden, limit_line, reveal, reveal_line};
use leverframe::text::width::{cluster_width, display_width, prefix_that_fits};
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

/// Characters that have been used to fake, hide or inject, beside ordinary ones.
const NASTY: &[char] = &[
    '\0',
    '\u{7}',
    '\u{8}',
    '\t',
    '\n',
    '\u{b}',
    '\r',
    '\u{1b}',
    '\u{7f}',
    '\u{85}',
    '\u{9b}',
    '\u{a0}',
    '\u{ad}',
    '\u{34f}',
    '\u{61c}',
    '\u{115f}',
    '\u{1160}',
    '\u{1680}',
    '\u{180e}',
    '\u{2000}',
    '\u{200b}',
    '\u{200c}',
    '\u{200d}',
    '\u{200e}',
    '\u{200f}',
    '\u{2028}',
    '\u{2029}',
    '\u{202a}',
    '\u{202e}',
    '\u{202f}',
    '\u{2060}',
    '\u{2063}',
    '\u{2066}',
    '\u{2069}',
    '\u{2800}',
    '\u{3000}',
    '\u{3164}',
    '\u{e000}',
    '\u{fe00}',
    '\u{fe0e}',
    '\u{fe0f}',
    '\u{fdd0}',
    '\u{feff}',
    '\u{ffa0}',
    '\u{fff9}',
    '\u{fffe}',
    '\u{1d173}',
    '\u{e0001}',
    '\u{e0041}',
    '\u{e0100}',
    '\u{f0000}',
    '\u{10ffff}',
    '\u{301}',
    '\u{20e3}',
    '\u{1161}',
    '\u{11a8}',
    '가',
    'ᄀ',
    'ﾞ',
    'a',
    'é',
    '漢',
    '👩',
    '🏽',
    '❤',
    '🇩',
    '🇪',
    '1',
    '<',
    '>',
];

fn nasty_text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => prop::sample::select(NASTY),
        1 => any::<char>(),
    ];
    prop::collection::vec(character, 0..60).prop_map(|chars| chars.into_iter().collect())
}

fn code(c: char) -> String {
    format!("<U+{:04X}>", c as u32)
}

#[test]
fn every_hidden_character_is_shown_as_its_code() {
    for c in '\0'..=char::MAX {
        if is_hidden(c) && c != '\t' {
            assert_eq!(reveal(&format!("a{c}b")), format!("a{}b", code(c)));
        }
    }
}

#[test]
fn the_attacks_of_the_research_table_are_all_hidden_characters() {
    let named = "\u{1b}\u{9b}\u{7}\r\u{85}\u{202e}\u{2066}\u{200b}\u{2060}\u{feff}\u{ad}\u{3164}\u{180e}\
                 \u{e0041}\u{a0}\u{2028}\u{115f}\u{200c}\u{fff9}\u{e000}\u{fe00}\u{ffff}\u{7f}";
    for c in named.chars() {
        assert!(is_hidden(c), "U+{:04X} gets through", c as u32);
    }
}

#[test]
fn ordinary_text_comes_back_borrowed() {
    for text in [
        "",
        "ls -la\nok",
        "Grüße, naïve café",
        "日本語、한국어 العربية עברית हिन्दी",
        "👩‍👩‍👧‍👦 👍🏽 ❤️ 1️⃣ 🇩🇪 🏳️‍🌈",
        "e\u{301}\u{323}",
        "U+202E spelled out",
        "각",
        "ｶﾞ",
    ] {
        assert!(
            matches!(reveal(text), Cow::Borrowed(same) if same == text),
            "{text:?} was changed"
        );
    }
}

#[test]
fn a_joiner_or_selector_outside_an_emoji_is_shown() {
    assert_eq!(reveal("a\u{200d}b"), "a<U+200D>b");
    assert_eq!(reveal("👩\u{200d}x"), "👩<U+200D>x");
    assert_eq!(reveal("x\u{200d}👩"), "x<U+200D>👩");
    assert_eq!(reveal("👩\u{200d}\u{200d}👩"), "👩<U+200D><U+200D>👩");
    assert_eq!(reveal("a\u{fe0f}"), "a<U+FE0F>");
    assert_eq!(reveal("❤\u{fe0f}\u{fe0f}"), "❤\u{fe0f}<U+FE0F>");
    assert_eq!(reveal("1\u{fe0f}"), "1<U+FE0F>");
}

#[test]
fn marks_never_pile_up_or_reach_out_of_their_text() {
    let pile = format!("a{}b", "\u{301}".repeat(MAX_MARKS + 5));
    assert_eq!(
        reveal(&pile),
        format!("a{}<+5 marks>b", "\u{301}".repeat(MAX_MARKS))
    );
    assert_eq!(reveal("\u{301}x"), "<U+0301>x");
    assert_eq!(reveal("x\n\u{301}"), "x\n<U+0301>");
    assert_eq!(reveal("\u{202e}\u{301}"), "<U+202E><U+0301>");
    assert_eq!(reveal("a\u{1161}"), "a<U+1161>");
}

#[test]
fn line_breaks_and_tabs() {
    assert_eq!(reveal("a\tb\r\nc"), "a    b<U+000D>\nc");
    assert_eq!(reveal_line("a\tb\nc"), "a    b␊c");
    assert_eq!(reveal_line("plain"), "plain");
}

#[test]
fn a_limited_line_says_that_it_was_cut() {
    assert_eq!(limit_line("abcdef", 6), "abcdef");
    assert_eq!(limit_line("abcdefg", 6), "abcde…");
    assert_eq!(limit_line("漢漢漢漢", 6), "漢漢…");
    assert_eq!(limit_line("a\nb", 6), "a␊b");
    assert_eq!(limit_line("abc", 1), "…");
    assert_eq!(limit_line("abc", 0), "");
    assert_eq!(limit_line(&"x".repeat(5_000_000), 4), "xxx…");
    assert!(limit_line(&format!("a{}", "\u{301}".repeat(100_000)), 40).ends_with('…'));
}

proptest! {
    #[test]
    fn nothing_hidden_comes_out(text in nasty_text()) {
        for shown in [reveal(&text), reveal_line(&text)] {
            for c in shown.chars() {
                prop_assert!(!is_hidden(c), "U+{:04X} came out of {:?}", c as u32, text);
            }
            // A drawing library drops clusters without width: there must be none.
            for line in shown.split('\n') {
                for cluster in line.graphemes(true) {
                    prop_assert!(cluster_width(cluster) > 0, "{:?} vanishes from {:?}", cluster, text);
                }
            }
        }
        prop_assert!(!reveal_line(&text).contains('\n'));
    }

    #[test]
    fn nothing_hidden_goes_unreported(text in nasty_text()) {
        let shown = reveal(&text);
        for c in text.chars().filter(|c| is_hidden(*c) && *c != '\t') {
            prop_assert!(shown.contains(&code(c)), "U+{:04X} of {:?} is not in {:?}", c as u32, text, shown);
        }
        prop_assert_eq!(shown.matches('\n').count(), text.matches('\n').count());
    }

    #[test]
    fn revealed_text_is_left_alone(text in nasty_text()) {
        let once = reveal(&text).into_owned();
        prop_assert_eq!(reveal(&once), once.as_str());
    }

    #[test]
    fn a_limited_line_fits(text in nasty_text(), cells in 0_usize..30) {
        let line = limit_line(&text, cells);
        prop_assert!(display_width(&line) <= cells);
        prop_assert!(!line.contains('\n'));
    }

    #[test]
    fn a_prefix_fits_and_is_the_longest(text in nasty_text(), cells in 0_usize..30) {
        let shown = reveal_line(&text);
        let prefix = prefix_that_fits(&shown, cells);
        prop_assert!(display_width(prefix) <= cells);
        if let Some(next) = shown[prefix.len()..].graphemes(true).next() {
            prop_assert!(display_width(prefix) + cluster_width(next) > cells);
        }
    }
}
