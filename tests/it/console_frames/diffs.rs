//! How a card shows the change of a file: words marked, side by side on a wide screen, every byte in some line.

use std::time::Duration;

use leverframe::protocol::approval::{Approval, Preview};
use leverframe::protocol::enums::*;
use leverframe::protocol::snapshot::Snapshot;
use leverframe::tui::code_colors::{CodeColors, CodeKind, CodeLines, CodeText};
use leverframe::tui::theme::depth::ColorDepth;
use leverframe::tui::theme::file::load;
use leverframe::tui::theme::roles::Role;
use leverframe::tui::view::diff::{self, DiffColors, DiffLayout};
use leverframe::tui::view::rich;
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
    colored(unified, width, layout, None)
}

fn colored(
    unified: &str,
    width: usize,
    layout: DiffLayout,
    code: Option<&CodeLines>,
) -> Vec<Line<'static>> {
    let theme = load("terminal", None, ColorDepth::Sixteen).unwrap();
    let theme = &theme;
    diff::lines(DiffColors { theme, code }, unified, width, layout)
}

/// An unoptimized build takes long.
const AMPLE: Duration = Duration::from_secs(60);

fn code(name: &str, kind: CodeKind, text: &str) -> CodeLines {
    let (name, text) = (name.to_owned(), text.to_owned());
    CodeText { name, kind, text }.lines(AMPLE)
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

/// The roles of code that the words of a text have.
fn roles(name: &str, kind: CodeKind, text: &str) -> Vec<(String, Role)> {
    (text.split('\n').zip(code(name, kind, text)))
        .flat_map(|(line, spans)| {
            let word =
                |(range, role): (std::ops::Range<usize>, Role)| (line[range].to_owned(), role);
            spans.into_iter().map(word).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn words_of_code_have_their_roles_in_every_language() {
    for (name, text, word, role) in [
        ("a.rs", "let a = 1;", "let", Role::CodeKeyword),
        ("src/main.rs", "// so", "// so", Role::CodeComment),
        (
            "a.py",
            "def f():\n    return 'x'",
            "return",
            Role::CodeKeyword,
        ),
        ("a.js", "const a = 'x'", "'x'", Role::CodeString),
        ("a.ts", "const a: number = 12", "12", Role::CodeNumber),
        ("a.tsx", "const a = 12", "const", Role::CodeKeyword),
        ("a.json", "{\"a\": 12}", "12", Role::CodeNumber),
        ("a.toml", "a = 12", "12", Role::CodeNumber),
        ("a.yaml", "a: 12", "12", Role::CodeNumber),
        ("sh", "if true; then echo; fi", "if", Role::CodeKeyword),
        ("a.sql", "SELECT 12", "SELECT", Role::CodeKeyword),
        ("a.html", "<p>", "p", Role::CodeKeyword),
        (
            "a.css",
            "a { color: red; } /* so */",
            "/* so */",
            Role::CodeComment,
        ),
        ("a.c", "return 12;", "return", Role::CodeKeyword),
        ("a.cpp", "return 12;", "return", Role::CodeKeyword),
        ("a.go", "package main", "package", Role::CodeKeyword),
        ("a.java", "return 12;", "12", Role::CodeNumber),
        ("a.rb", "return 12", "12", Role::CodeNumber),
        ("a.xml", "<!-- so -->", "<!-- so -->", Role::CodeComment),
        ("README.md", "# Top", "#", Role::CodeKeyword),
        ("Makefile", "# so", "# so", Role::CodeComment),
        ("Dockerfile", "FROM a", "FROM", Role::CodeKeyword),
        ("rust", "fn f() {}", "f", Role::CodeFunction),
    ] {
        let found = roles(name, CodeKind::Code, text);
        let wanted = (word.to_owned(), role);
        assert!(
            found
                .iter()
                .any(|(text, role)| (text.trim(), *role) == (word, wanted.1)),
            "{name}: {found:?}"
        );
    }
    assert!(code("a.unknown", CodeKind::Code, "let a = 1;").is_empty());
    assert!(code("a.txt", CodeKind::Code, "let a = 1;").is_empty());
}

#[test]
fn colours_are_on_words_of_code_and_signs_say_what_goes_and_comes() {
    let text = unified(OLD, NEW);
    let spans = code("src/main.rs", CodeKind::Diff, &text);
    let theme = load("terminal", None, ColorDepth::Sixteen).unwrap();
    for layout in [DiffLayout::Unified, DiffLayout::SideBySide] {
        let lines = colored(&text, 120, layout, Some(&spans));
        let style_of = |word: &str| {
            let mut found = lines.iter().flat_map(|line| &line.spans);
            found
                .find(|span| span.content.trim() == word)
                .unwrap_or_else(|| panic!("{word}: {lines:?}"))
                .style
        };
        let added = theme.style(Role::DiffAdd);
        assert_eq!(style_of("+"), added);
        let keyword = theme.style(Role::CodeKeyword);
        assert_eq!(style_of("use").fg, keyword.fg);
        // A word that changed is marked on top of its colour.
        let changed = style_of("unwrap_or_default");
        assert!(changed.add_modifier.contains(Modifier::UNDERLINED));
        assert_eq!(changed.fg, theme.style(Role::CodeFunction).fg);
        // The text is the same.
        let texts = |lines: &[Line<'static>]| lines.iter().map(plain).collect::<Vec<_>>();
        assert_eq!(texts(&lines), texts(&colored(&text, 120, layout, None)));
    }
}

#[test]
fn what_begins_in_a_removed_line_does_not_colour_the_lines_that_come() {
    let text = "@@ -1,2 +1,2 @@\n-/* let\n+let\n let\n@@ -9 +9 @@\n let\n";
    let found = roles("a.rs", CodeKind::Diff, text);
    let expected = [
        ("/* let", Role::CodeComment),
        ("let", Role::CodeKeyword),
        ("let", Role::CodeKeyword),
        ("let", Role::CodeKeyword),
    ];
    let expected: Vec<_> = expected
        .map(|(word, role)| (word.to_owned(), role))
        .to_vec();
    assert_eq!(found, expected);
}

#[test]
fn a_mark_stays_with_what_it_stands_on() {
    let theme = load("terminal", None, ColorDepth::Sixteen).unwrap();
    let text = "a\u{301}b";
    let style = theme.style(Role::Outside);
    // Between the letter and its mark.
    let parts = rich::colored(&theme, text, 0, style, &[(0..1, Role::CodeKeyword)]);
    let shown: String = parts.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(shown, text);
    let parts = rich::colored(&theme, "let a", 10, style, &[(8..13, Role::CodeKeyword)]);
    let keyword = style.patch(theme.style(Role::CodeKeyword));
    assert_eq!(
        parts,
        [(keyword, "let".to_owned()), (style, " a".to_owned())]
    );
}

#[test]
fn long_lines_and_long_texts_stay_plain() {
    let long = format!("let a = \"{}\";\nlet b = 1;", "x".repeat(3_000));
    let lines = code("a.rs", CodeKind::Code, &long);
    assert!(lines[0].is_empty() && !lines[1].is_empty());
    let theme = load("terminal", None, ColorDepth::Sixteen).unwrap();
    let mut colors = CodeColors::default();
    let huge = "let a = 1;\n".repeat(10_000);
    assert!(colors.get(&theme, "a.rs", CodeKind::Code, &huge).is_none());
    assert!(colors.take_wanted().is_empty());
}

#[test]
fn a_card_is_drawn_plain_and_its_colours_come_later() {
    let mut driver = card(120, 35);
    let keyword = driver.theme.style(Role::CodeKeyword).fg;
    let is_colored = |driver: &mut Driver| {
        let buffer = driver.draw();
        buffer
            .content
            .iter()
            .any(|cell| Some(cell.fg) == keyword && cell.symbol() == "u")
    };
    assert!(!is_colored(&mut driver));
    let before = driver.text();
    let wanted = driver.cache.code().take_wanted();
    assert_eq!(wanted.len(), 1);
    driver.draw();
    // It was asked for once.
    assert!(driver.cache.code().take_wanted().is_empty());
    for (key, text) in wanted {
        driver.cache.color(key, text.lines(AMPLE));
    }
    assert!(is_colored(&mut driver));
    assert_eq!(driver.text(), before);
}

#[test]
fn a_theme_without_colours_of_code_asks_for_none() {
    let theme = load("monochrome", None, ColorDepth::True).unwrap();
    let mut colors = CodeColors::default();
    assert!(
        colors
            .get(&theme, "a.rs", CodeKind::Code, "let a = 1;")
            .is_none()
    );
    assert!(colors.take_wanted().is_empty());
}
