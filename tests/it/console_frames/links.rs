//! Links of the terminal: what becomes one, where it leads, and what the terminal is told.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use leverframe::protocol::enums::*;
use leverframe::protocol::snapshot::Snapshot;
use leverframe::tui::links::{
    LinkScope, LinkTable, ShownLink, file_link, find, number_of, web_links,
};
use leverframe::tui::scrolling::ScrollingBackend;
use leverframe::tui::theme::depth::ColorDepth;
use leverframe::tui::view::cache::ViewCache;
use proptest::prelude::*;
use ratatui::backend::Backend as _;
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use ratatui::style::Style;
use ratatui::text::Line;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn addresses(text: &str) -> Vec<String> {
    web_links(text)
        .into_iter()
        .map(|link| link.target)
        .collect()
}

#[test]
fn an_address_ends_where_the_sentence_around_it_goes_on() {
    for (text, expected) in [
        ("see https://a.example/b.", "https://a.example/b"),
        ("(https://a.example/b_(c))", "https://a.example/b_(c)"),
        (
            "[x](http://a.example:8080/?q=1#top)",
            "http://a.example:8080/?q=1#top",
        ),
        (r#"{"url":"https://a.example/b\nc"}"#, "https://a.example/b"),
        ("**https://a.example**", "https://a.example"),
    ] {
        assert_eq!(addresses(text), [expected], "{text}");
    }
}

#[test]
fn what_hides_where_it_leads_is_no_link() {
    for text in [
        "https://a.example@b.example/",
        "https://",
        "https:///etc/passwd",
        "https://a.exаmple/",
        "https://a.example/very/long…",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://a.example\u{202e}/b@",
    ] {
        let found = addresses(text);
        assert!(
            found.is_empty() || found == ["https://a.example"] && text.contains('\u{202e}'),
            "{text:?}: {found:?}"
        );
    }
    assert_eq!(
        file_link("/srv/team", "notes/a b.md").unwrap().target,
        "file:///srv/team/notes/a%20b.md"
    );
    for path in [
        "../etc/passwd",
        "/etc/passwd",
        "~/x.txt",
        "notes",
        "a/../../b.md",
        "a.md\u{1b}]8;;x",
    ] {
        assert!(file_link("/srv/team", path).is_none(), "{path:?}");
    }
}

fn parts(lines: &[&str], text: &str) -> Vec<(usize, usize, String)> {
    let lines: Vec<Line<'_>> = lines.iter().map(|line| Line::from(*line)).collect();
    let found = find(&lines, &web_links(text));
    found
        .into_iter()
        .map(|part| (part.line, part.column, part.text))
        .collect()
}

#[test]
fn a_link_stands_whole_over_the_lines_that_it_is_wrapped_to() {
    let address = "https://a.example/one/two/three";
    assert_eq!(
        parts(&["漢 https://a.example/one/two/three, so"], address),
        [(0, 3, address.to_owned())]
    );
    assert_eq!(
        parts(
            &["  │ see https://a.exampl", "  │ e/one/two/three  "],
            address
        ),
        [
            (0, 8, "https://a.exampl".to_owned()),
            (1, 4, "e/one/two/three".to_owned())
        ]
    );
    // Cut, or followed by something else: its words do not say where it leads.
    assert!(parts(&["https://a.example/one/t…"], address).is_empty());
    assert!(parts(&["https://a.example/one", "other words"], address).is_empty());
    assert!(parts(&["https://a.example/one/two/threefour"], address).is_empty());
    assert!(parts(&["xhttps://a.example/one/two/three"], address).is_empty());
    // Of two that begin alike each has its own words.
    let both = "https://a.example/b https://a.example/b/c";
    let found = parts(&[both], both);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found.contains(&(0, 20, "https://a.example/b/c".to_owned())),
        "{found:?}"
    );
}

fn shown(x: u16, text: &str) -> ShownLink {
    let target = text.into();
    ShownLink {
        x,
        y: 0,
        text: text.to_owned(),
        target,
    }
}

#[test]
fn only_cells_that_hold_the_words_are_linked() {
    let table = LinkTable::default();
    let mut buffer = Buffer::empty(Rect::new(0, 0, 30, 1));
    buffer.set_string(2, 0, "https://a.example", Style::new());
    table.stamp(&mut buffer, &[shown(2, "https://a.example")]);
    let linked = |buffer: &Buffer| {
        buffer
            .content
            .iter()
            .filter(|cell| number_of(cell) > 0)
            .count()
    };
    assert_eq!(linked(&buffer), 17);
    // A dialog stands over a part of it.
    let mut covered = Buffer::empty(Rect::new(0, 0, 30, 1));
    covered.set_string(2, 0, "https://a.example", Style::new());
    covered.set_string(10, 0, "│ OK", Style::new());
    table.stamp(&mut covered, &[shown(2, "https://a.example")]);
    assert_eq!(linked(&covered), 0);
}

#[derive(Clone, Default)]
struct Wire(Rc<RefCell<Vec<u8>>>);

impl io::Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_terminal_is_told_where_a_link_begins_and_ends_and_nothing_moves() {
    let wire = Wire::default();
    let mut backend = ScrollingBackend::new(wire.clone(), Size::new(40, 1));
    let empty = Buffer::empty(Rect::new(0, 0, 40, 1));
    let mut plain = empty.clone();
    plain.set_string(0, 0, "see https://a.example and go", Style::new());
    backend.draw(empty.diff(&plain).into_iter()).unwrap();
    let without = wire.0.take();
    let mut linked = plain.clone();
    backend
        .links()
        .stamp(&mut linked, &[shown(4, "https://a.example")]);
    backend.draw(plain.diff(&linked).into_iter()).unwrap();
    let text = String::from_utf8(wire.0.borrow().clone()).unwrap();
    let begin = "\x1b]8;id=lf1;https://a.example\x1b\\";
    let inside = text.split(begin).nth(1).expect(&text);
    let inside = inside.split("\x1b]8;;\x1b\\").next().unwrap();
    assert!(
        inside.contains("https://a.example") && !inside.contains("and"),
        "{text:?}"
    );
    assert!(
        !String::from_utf8(without.clone())
            .unwrap()
            .contains("\x1b]8")
    );
    let mut screen = vt100::Parser::new(1.try_into().unwrap(), 40.try_into().unwrap(), 0);
    screen.process(&without);
    let before = screen.screen().contents();
    screen.process(&wire.0.borrow());
    assert_eq!(screen.screen().contents(), before);
}

fn with_address(scope: LinkScope) -> Driver {
    let mut approval = fixture::approval(1, Risk::Medium);
    approval.args = serde_json::json!({"url": "https://a.example/one"});
    approval.preview = leverframe::protocol::approval::Preview::None;
    approval.plan.path = Some("notes/a.md".into());
    approval.model_reason = Some("It stands in notes/a.md and https://b.example/two.".into());
    let mut snapshot = Snapshot {
        approvals: vec![approval],
        ..fixture::busy()
    };
    for channel in &mut snapshot.channels {
        channel.workspace = Some("/srv/team".into());
    }
    let mut driver = Driver::with(120, 50, snapshot);
    driver.cache = ViewCache::new(ColorDepth::Sixteen, scope);
    driver.press("j enter");
    driver.draw();
    driver
}

#[test]
fn a_card_links_to_addresses_and_to_files_of_its_workspace() {
    let targets = |scope| {
        let mut targets: Vec<String> = with_address(scope)
            .cache
            .take_shown()
            .iter()
            .map(|link| link.target.to_string())
            .collect();
        targets.sort();
        targets.dedup();
        targets
    };
    assert_eq!(
        targets(LinkScope::WebAndFiles),
        [
            "file:///srv/team/notes/a.md",
            "https://a.example/one",
            "https://b.example/two"
        ]
    );
    assert_eq!(
        targets(LinkScope::Web),
        ["https://a.example/one", "https://b.example/two"]
    );
    assert!(targets(LinkScope::None).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_words_of_a_link_are_where_it_leads(
        text in "(https?://[a-c./@?…-]{0,12}|[a-c .,()│…]{0,6}|\n){0,12}",
        width in 6_usize..40,
    ) {
        let wrapped = leverframe::text::wrap::wrap(&text, width);
        let lines: Vec<Line<'_>> = wrapped.iter().map(|line| Line::from(line.as_str())).collect();
        let links = web_links(&text);
        let mut open = String::new();
        for part in find(&lines, &links) {
            open.push_str(&part.text);
            prop_assert!(part.target.starts_with(&open), "{open:?} leads to {}", part.target);
            if *part.target == *open {
                open.clear();
            }
        }
        prop_assert!(open.is_empty());
    }
}
