//! Splitting: every part fits, fences stay closed, and the text is all there in order.

use leverframe::protocol::channel::LengthUnit;
use leverframe::text::chunk::{chunk, length};
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

const UNITS: &[LengthUnit] = &[LengthUnit::Utf16, LengthUnit::Chars, LengthUnit::Bytes];

/// The visible characters outside lines that only open or close a fence.
fn visible(text: &str) -> String {
    text.lines()
        .filter(|line| !line.trim().starts_with("```") && !line.trim().starts_with("~~~"))
        .flat_map(str::chars)
        .filter(|c| !c.is_whitespace())
        .collect()
}

/// Whether every fence that a part opens is closed in it.
fn fences_are_closed(part: &str) -> bool {
    part.lines().filter(|line| line.starts_with("```")).count() % 2 == 0
}

fn numbered(lines: usize) -> String {
    let lines: Vec<String> = (0..lines).map(|n| format!("line {n:05}\n")).collect();
    lines.concat()
}

#[test]
fn short_text_stays_as_it_is() {
    assert_eq!(chunk("hello\n\n", 64, LengthUnit::Utf16), ["hello"]);
    assert!(chunk("", 64, LengthUnit::Utf16).is_empty());
    assert!(chunk(" \n\t\n ", 64, LengthUnit::Utf16).is_empty());
}

#[test]
fn splits_at_paragraphs_first() {
    let text = format!("{}\n\n{}\nmore", "a".repeat(40), "b".repeat(40));
    let expected = ["a".repeat(40), format!("{}\nmore", "b".repeat(40))];
    assert_eq!(chunk(&text, 64, LengthUnit::Utf16), expected);
}

#[test]
fn splits_at_lines_then_words_then_clusters() {
    let lines = format!("{}\n{}", "a".repeat(40), "b".repeat(40));
    assert_eq!(
        chunk(&lines, 64, LengthUnit::Utf16),
        ["a".repeat(40), "b".repeat(40)]
    );
    let words = format!("{} {}", "a".repeat(40), "b".repeat(40));
    assert_eq!(
        chunk(&words, 64, LengthUnit::Utf16),
        ["a".repeat(40), "b".repeat(40)]
    );
    let family = "👩‍👩‍👧‍👦";
    for part in chunk(&family.repeat(30), 64, LengthUnit::Utf16) {
        assert_eq!(
            part.graphemes(true).filter(|g| *g != family).count(),
            0,
            "{part:?} holds half a cluster"
        );
    }
}

#[test]
fn counts_in_the_unit_of_the_platform() {
    let text = "😀".repeat(64);
    assert_eq!(chunk(&text, 64, LengthUnit::Chars).len(), 1);
    assert_eq!(chunk(&text, 64, LengthUnit::Utf16).len(), 2);
    assert_eq!(chunk(&text, 64, LengthUnit::Bytes).len(), 4);
}

#[test]
fn a_fence_that_fits_is_never_cut() {
    let text = format!(
        "intro\n\n{}\n```rust\n{}```\nafter",
        "x".repeat(40),
        numbered(3)
    );
    let parts = chunk(&text, 64, LengthUnit::Utf16);
    assert!(
        parts
            .iter()
            .any(|part| part.contains(&format!("```rust\n{}```", numbered(3)))),
        "{parts:#?}"
    );
}

#[test]
fn a_long_fence_is_closed_and_opened_again_with_its_info_string() {
    let text = format!("before\n\n```rust\n{}```\n\nafter", numbered(600));
    let parts = chunk(&text, 4096, LengthUnit::Utf16);
    assert_eq!(parts.len(), 2);
    assert!(parts[0].ends_with("\n```") && fences_are_closed(&parts[0]));
    assert!(parts[1].starts_with("```rust\nline ") && fences_are_closed(&parts[1]));
    assert!(parts[1].ends_with("```\n\nafter"));
    assert_eq!(visible(&parts.join("\n")), visible(&text));
}

#[test]
fn a_message_of_forty_thousand_characters() {
    let text = "Lorem ipsum dolor sit amet. ".repeat(1500);
    let parts = chunk(&text, 4096, LengthUnit::Utf16);
    assert_eq!(visible(&parts.concat()), visible(&text));
    assert!(parts.len() <= 12, "{} parts", parts.len());
}

#[test]
fn ten_megabytes_take_linear_time() {
    let started = std::time::Instant::now();
    let text = format!("```\n{}```\n{}", numbered(400_000), "word ".repeat(800_000));
    let parts = chunk(&text, 4096, LengthUnit::Utf16);
    assert!(parts.len() > 2000);
    assert!(
        started.elapsed().as_secs() < 30,
        "took {:?}",
        started.elapsed()
    );
}

fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("```rust\n".to_owned()),
        Just("```\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("\n".to_owned()),
        Just(" ".to_owned()),
        Just("👩‍👩‍👧‍👦".to_owned()),
        Just("~~~~ text\n".to_owned()),
        "[a-z ]{1,80}",
        "[a-z]{1,300}",
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn parts_fit_and_nothing_is_lost(text in markdown(), max in 64_usize..300, unit in prop::sample::select(UNITS)) {
        let parts = chunk(&text, max, unit);
        for part in &parts {
            prop_assert!(length(part, unit) <= max, "{} > {max}: {part:?}", length(part, unit));
            prop_assert!(!part.trim().is_empty());
        }
        // Fence lines are compared by what they enclose: a cut adds some.
        prop_assert_eq!(visible(&parts.join("\n")), visible(&text));
    }

    #[test]
    fn text_without_fences_is_unchanged_but_for_white_space(text in "[^`~]{0,800}", max in 64_usize..300, unit in prop::sample::select(UNITS)) {
        let parts = chunk(&text, max, unit);
        let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        prop_assert_eq!(bare(&parts.concat()), bare(&text));
    }

    #[test]
    fn clusters_stay_whole(text in "[a-z👍🏽é ]{0,400}", max in 64_usize..128) {
        let parts = chunk(&text, max, LengthUnit::Utf16);
        let clusters = |text: &str| text.graphemes(true).filter(|g| !g.trim().is_empty()).map(str::to_owned).collect::<Vec<_>>();
        let cut: Vec<String> = parts.iter().flat_map(|part| clusters(part)).collect();
        prop_assert_eq!(cut, clusters(&text));
    }

    #[test]
    fn fences_are_closed_in_every_part(blocks in prop::collection::vec((0_usize..40, 1_usize..60), 1..6), max in 64_usize..600) {
        let blocks: Vec<String> = blocks.iter().map(|(prose, code)| format!("{}\n```sh\n{}```\n\n", "word ".repeat(*prose), numbered(*code))).collect();
        let text = blocks.concat();
        for part in chunk(&text, max, LengthUnit::Utf16) {
            prop_assert!(fences_are_closed(&part), "{part}");
        }
    }

    #[test]
    fn any_limit_at_all_terminates(text in any::<String>(), max in 0_usize..64, unit in prop::sample::select(UNITS)) {
        let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace() && !"`~".contains(*c)).collect::<String>();
        prop_assert_eq!(bare(&chunk(&text, max, unit).concat()), bare(&text));
    }
}
