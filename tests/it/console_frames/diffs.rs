//! How a card shows the change of a file: words marked, side by side on a wide screen, every byte in some line.

use leverframe::protocol::approval::{Approval, Preview};
use leverframe::protocol::enums::*;
use leverframe::protocol::snapshot::Snapshot;
use leverframe::tui::theme::depth::ColorDepth;
use leverframe::tui::theme::file::load;
use leverframe::tui::view::diff::{self, DiffLayout};
use proptest::prelude::*;
use ratatui::style::Modifier;
use ratatui::text::Line;
use similar::TextDiff;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_frames::screens::check_at;

const OLD: &str = "use std::fs;\n\n/// Reads the notes.\nfn notes(path: &Path) -> String {\n    fs::read_to_string(path).unwrap()\n}\n\nfn main() {\n    println!(\"{}\", notes(Path::new(\"notes.txt\")));\n}\n";
const NEW: &str = "use std::fs;\nuse std::path::Path;\n\n/// Reads the notes, or nothing.\nfn notes(path: &Path) -> String {\n    fs::read_to_string(path).unwrap_or_default()\n}\n\nfn main() {\n    println!(\"{}\", notes(Path::new(\"notes.txt\")));\n}";

fn unified(old: &str, new: &str) -> String {
    TextDiff::from_lines(old, new)
        .unified_diff()
        .missing_newline_hint(true)
        .header("a/src/main.rs", "b/src/main.rs")
        .to_string()
}

fn change() -> Approval {
    let mut approval = fixture::approval(1, Risk::Medium);
    approval.messages.truncate(1);
    approval.args = serde_json::json!({"path": "src/main.rs", "content": NEW, "mode": "overwrite"});
    approval.preview = Preview::Diff {
        path: "src/main.rs".into(),
        unified: unified(OLD, NEW),
    };
    approval
}

fn card(width: u16, height: u16) -> Driver {
    let snapshot = Snapshot {
        approvals: vec![change()],
        continuations: vec![],
        ..fixture::busy()
    };
    let mut driver = Driver::with(width, height, snapshot);
    driver.press("tab");
    driver
}

const SIZES: &[(u16, u16)] = &[(80, 24), (120, 35), (200, 60)];

#[test]
fn the_card_of_a_change() {
    check_at("diff", SIZES, card);
}

#[test]
fn the_card_of_a_change_over_the_whole_screen() {
    check_at("diff_open", &[(139, 50), (140, 50)], |w, h| {
        let mut driver = card(w, h);
        driver.press("enter");
        driver
    });
}

#[test]
fn the_card_of_a_change_unfolded() {
    check_at("diff_unfolded", SIZES, |w, h| {
        let mut driver = card(w, h);
        driver.press("v");
        driver
    });
}

fn texts(unified: &str, width: usize, layout: DiffLayout) -> Vec<Line<'static>> {
    let theme = load("terminal", None, ColorDepth::Sixteen).unwrap();
    diff::lines(&theme, unified, width, layout)
}

fn plain(line: &Line<'_>) -> String {
    line.spans
        .iter()
        .map(|span| span.content.as_ref())
        .collect()
}

/// The pieces of all lines that are marked as changed words.
fn marked(lines: &[Line<'_>]) -> Vec<String> {
    (lines.iter())
        .flat_map(|line| &line.spans)
        .filter(|span| span.style.add_modifier.contains(Modifier::UNDERLINED))
        .map(|span| span.content.to_string())
        .collect()
}

#[test]
fn the_words_that_changed_are_marked_and_lines_with_nothing_in_common_are_not() {
    let text = unified("the red fox runs\nsame\n", "the blue fox runs\nsame\n");
    for layout in [DiffLayout::Unified, DiffLayout::SideBySide] {
        assert_eq!(marked(&texts(&text, 100, layout)), ["red", "blue"]);
    }
    let text = unified("abc def\n", "something else entirely\n");
    assert!(marked(&texts(&text, 100, DiffLayout::Unified)).is_empty());
}

#[test]
fn a_line_that_looks_like_the_head_of_a_file_is_a_change_like_any_other() {
    // `--- a` removed, `+++ b` added: content.
    let text = unified("-- a\n", "++ b\n");
    let lines = texts(&text, 100, DiffLayout::Unified);
    let lines: Vec<String> = lines.iter().map(plain).collect();
    assert!(lines.contains(&"--- a".to_owned()), "{lines:?}");
    assert!(lines.contains(&"+++ b".to_owned()), "{lines:?}");
}

#[test]
fn a_new_file_has_no_old_side() {
    let text = unified("", "one\ntwo\n");
    let wide = texts(&text, 100, DiffLayout::SideBySide);
    let unified = texts(&text, 100, DiffLayout::Unified);
    assert_eq!(wide, unified);
}

#[test]
fn what_is_hidden_in_a_line_is_revealed_in_both_layouts() {
    let text = unified("a b\n", "a \u{202e}b\u{1b}[2J\r\n");
    for layout in [DiffLayout::Unified, DiffLayout::SideBySide] {
        let lines: Vec<String> = texts(&text, 100, layout).iter().map(plain).collect();
        let all = lines.join("\n");
        assert!(
            all.contains("<U+202E>") && all.contains("<U+001B>"),
            "{all}"
        );
        assert!(all.contains("<U+000D>"), "{all}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_word_of_a_diff_is_in_some_line(
        old in prop::collection::vec("[a-c +-]{0,12}", 0..12),
        new in prop::collection::vec("[a-c +-]{0,12}", 0..12),
        width in 24_usize..90,
    ) {
        let text = unified(&old.join("\n"), &new.join("\n"));
        let letters = |text: &str| text.chars().filter(|c| !" │\n0123456789".contains(*c)).collect::<String>();
        let shown = |layout| {
            let lines = texts(&text, width, layout);
            for line in &lines {
                prop_assert!(line.width() <= width, "{line:?}");
            }
            Ok(lines.iter().map(|line| letters(&plain(line))).collect::<String>())
        };
        prop_assert_eq!(shown(DiffLayout::Unified)?, letters(&text));
        // Beside each other the same lines stand, in another order; context stands on both sides.
        let count = |text: &str, sign: char| text.chars().filter(|c| *c == sign).count();
        let wide = shown(DiffLayout::SideBySide)?;
        for sign in ['a', 'b', 'c', '-', '+'] {
            prop_assert!(count(&wide, sign) >= count(&letters(&text), sign));
        }
    }
}
