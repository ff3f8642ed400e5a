//! Reading a transcript: Markdown and changes as they are meant, and jumps to what matters.

use leverframe::protocol::enums::ToolCallState;
use leverframe::protocol::ids::ApprovalId;
use leverframe::protocol::session::TranscriptEntry;
use leverframe::text::markdown::to_pieces;
use leverframe::tui::code_colors::CodeColors;
use leverframe::tui::message::Effect;
use leverframe::tui::theme::depth::ColorDepth;
use leverframe::tui::theme::file::load;
use leverframe::tui::theme::roles::Role;
use leverframe::tui::view::rich;
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr as _;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_frames::screens::check;

const ANSWER: &str = "## What happened\n\nTwo services *restarted* last night, **both** after `02:00`:\n\n\
    1. the mail relay, which had waited for the disk since the evening before and gave up\n\
    2. web\n   - see [the page](https://status.example/web \"now\")\n\n\
    > it was the disk\n\n```diff\n@@ -1 +1 @@\n-retries = 1\n+retries = 5\n```\n\n| host | state |\n|---|---|\n| relay | up |\n";

fn patch() -> &'static str {
    "--- a/relay.toml\n+++ b/relay.toml\n@@ -1,2 +1,2 @@\n name = \"relay\"\n-retries = 1\n+retries = 5"
}

fn reading(width: u16, height: u16, entries: Vec<TranscriptEntry>) -> Driver {
    let mut snapshot = fixture::busy();
    snapshot.streams.clear();
    let mut driver = Driver::with(width, height, snapshot);
    driver.press("2 j j enter");
    driver.answer_transcript(entries);
    driver
}

fn rendered() -> Vec<TranscriptEntry> {
    let call = fixture::tool_call(9, ToolCallState::Succeeded, Some(patch()));
    vec![
        fixture::user(1, "Which of the *services* restarted?"),
        fixture::model(2, "I look.", vec![call]),
        fixture::model(3, ANSWER, vec![]),
    ]
}

#[test]
fn markdown_is_drawn_as_it_is_meant() {
    check("session_markdown", |w, h| {
        let mut driver = reading(w, h, rendered());
        driver.press("Z");
        driver
    });
}

#[test]
fn what_people_typed_is_never_rendered_and_a_key_shows_texts_as_written() {
    let mut driver = reading(120, 60, rendered());
    let text = driver.text();
    assert!(text.contains("the *services* restarted"), "{text}");
    assert!(text.contains("both after `02:00`"), "{text}");
    assert!(!text.contains("**both**"), "{text}");
    driver.press("v");
    let text = driver.text();
    assert!(text.contains("**both** after `02:00`"), "{text}");
    assert!(text.contains("```diff"), "{text}");
    driver.press("v");
    assert!(!driver.text().contains("**both**"));
}

#[test]
fn changes_have_their_roles_in_code_and_in_results() {
    let theme = load("terminal", None, ColorDepth::Sixteen).unwrap();
    let lines = rich::markdown(&theme, &CodeColors::default(), ANSWER, 60);
    let styled = |words: &str, role| {
        let line = lines
            .iter()
            .find(|line| line.to_string().trim() == words)
            .unwrap_or_else(|| panic!("{words}: {lines:?}"));
        assert_eq!(line.spans[1].style, theme.style(role), "{words}");
    };
    styled("-retries = 1", Role::DiffRemove);
    styled("+retries = 5", Role::DiffAdd);
    styled("@@ -1 +1 @@", Role::DiffHunk);
    styled("host   state", Role::OutsideCode);
    assert!(rich::is_diff(patch()));
    assert!(!rich::is_diff("a --- list\n+++\n@@ x"));
    assert!(!rich::is_diff("- one\n+ two"));
}

#[test]
fn wrapped_items_hang_under_their_text() {
    let theme = load("terminal", None, ColorDepth::Sixteen).unwrap();
    let lines: Vec<String> = rich::markdown(
        &theme,
        &CodeColors::default(),
        "- one two three\n- *four five* six",
        9,
    )
    .iter()
    .map(ToString::to_string)
    .collect();
    assert_eq!(lines, ["• one two", "  three", "• four", "  five", "  six"]);
}

fn solid(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn wrapping_loses_nothing_and_fits(
        words in prop::collection::vec(prop::sample::select(vec![
            "one", "**two**", "*three* ", "`four`", " ", "\n", "\n\n", "- ", "1. ", "漢字", "e\u{301}", "verylongword", "# ", "> ",
        ]), 0..30),
        width in 6usize..50,
    ) {
        let theme = load("terminal", None, ColorDepth::Sixteen).unwrap();
        let markdown = words.concat();
        let expected: String = to_pieces(&markdown).into_iter().map(|p| p.text).collect();
        let lines = rich::markdown(&theme, &CodeColors::default(), &markdown, width);
        let drawn: String = lines.iter().map(ToString::to_string).collect();
        prop_assert_eq!(solid(&drawn).replace('>', ""), solid(&expected).replace('>', ""));
        for line in &lines {
            prop_assert!(line.to_string().width() <= width, "{line:?} at {width}");
        }
    }
}

/// Calls that asked at 3 and 7, things that failed at 5 and 7.
fn landmarks() -> Vec<TranscriptEntry> {
    (1..=9)
        .map(|n| {
            let state = if [5, 7].contains(&n) {
                ToolCallState::Failed
            } else {
                ToolCallState::Succeeded
            };
            let n = u8::try_from(n).unwrap();
            let mut call = fixture::tool_call(n, state, Some("done"));
            call.approval_id = [3, 7].contains(&n).then(|| ApprovalId::from_bytes([n; 16]));
            fixture::model(n.into(), "text", vec![call])
        })
        .collect()
}

#[test]
fn jumps_find_approvals_and_errors_in_both_directions() {
    for keymap in ["default", "vim"] {
        let mut driver = reading(80, 24, landmarks());
        driver.state.keymap = leverframe::tui::keymap::file::load(keymap, None).unwrap();
        let mut at = |keys: &str| {
            let effects = driver.press(keys);
            assert!(
                !effects.iter().any(|e| matches!(e, Effect::Submit(_))),
                "{effects:?}"
            );
            driver.state.screens.session.selected
        };
        assert_eq!(at("[ a"), Some(7), "from the end, while following");
        assert_eq!(at("[ a"), Some(3));
        assert_eq!(at("[ a"), Some(3), "there is none above");
        assert_eq!(at("] e"), Some(5));
        assert_eq!(at("] e"), Some(7));
        assert_eq!(at("] e"), Some(7));
        assert_eq!(at("[ e"), Some(5));
        assert_eq!(at("] a"), Some(7));
    }
}
