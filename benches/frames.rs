//! Drawing each console screen at 120x40, from the states that the frame tests use, and the difference to the
//! frame before, as the terminal gets it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::wildcard_imports,
    missing_docs,
    dead_code
)] // a bench is a test, and uses a part of the fixture

#[path = "../tests/it/console_frames/fixture.rs"]
mod fixture;
mod harness;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use leverframe::protocol::ids::SessionId;
use leverframe::protocol::session::TranscriptEntry;
use leverframe::protocol::snapshot::{Answer, Page, Query};
use leverframe::tui::keymap::file::default_keymap;
use leverframe::tui::message::{Message, Millis, Now};
use leverframe::tui::options::{Access, Hosting};
use leverframe::tui::state::app::{Screen, State};
use leverframe::tui::state::session_view::{Anchor, SessionView};
use leverframe::tui::state::update::update;
use leverframe::tui::theme::depth::ColorDepth;
use leverframe::tui::theme::file::load;
use leverframe::tui::theme::roles::Theme;
use leverframe::tui::view::cache::ViewCache;
use leverframe::tui::view::screen;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

const WIDTH: u16 = 120;
const HEIGHT: u16 = 40;

fn now() -> Now {
    Now {
        steady: Millis(1000),
        wall: fixture::NOW,
    }
}

fn console() -> State {
    let hosting = Hosting::Embedded {
        live_channels: Vec::new(),
    };
    let mut state = State::new(
        default_keymap(),
        hosting,
        Access::Operate,
        "local".into(),
        now(),
    );
    let _ = update(&mut state, Message::Resize(WIDTH, HEIGHT), now());
    let snapshot = Message::Snapshot(Box::new(fixture::busy()));
    let _ = update(&mut state, snapshot, now());
    state
}

/// A session of `count` entries, opened.
fn opened(state: &mut State, count: u64) {
    let pattern = fixture::transcript();
    let entries = (0..count).zip(pattern.iter().cycle());
    let items: Vec<TranscriptEntry> = entries
        .map(|(position, entry)| TranscriptEntry {
            position,
            ..entry.clone()
        })
        .collect();
    let session_id: SessionId = fixture::session_id(1);
    state.screen = Screen::Session;
    state.session.session_id = Some(session_id);
    let query = Query::Transcript {
        session_id,
        before: None,
        limit: Some(100),
    };
    let answer = Answer::Transcript(Page {
        items,
        next_cursor: None,
    });
    let answered = Message::Answered {
        query: Box::new(query),
        result: Ok(Box::new(answer)),
    };
    let _ = update(state, answered, now());
}

/// A session of `count` entries, read back page by page from its newest entry to its first, as scrolling does it.
fn read_back(state: &mut State, count: u64) {
    let pattern = fixture::transcript();
    let entry = |position: u64| TranscriptEntry {
        position,
        ..pattern[usize::try_from(position).unwrap() % pattern.len()].clone()
    };
    state.screen = Screen::Session;
    state.session = SessionView::open(fixture::session_id(1));
    let mut query = state.session.refresh();
    while let Some(asked) = query {
        let Query::Transcript { before, limit, .. } = &asked else {
            break;
        };
        let end = before.unwrap_or(count);
        let items = (end.saturating_sub(u64::from(limit.unwrap_or(100)))..end).map(entry);
        let answer = Answer::Transcript(Page {
            items: items.collect(),
            next_cursor: None,
        });
        let answered = Message::Answered {
            query: Box::new(asked),
            result: Ok(Box::new(answer)),
        };
        let _ = update(state, answered, now());
        // Read from here, as a reader does who has scrolled up.
        let first = state.session.entries.keys().next().copied();
        state.session.anchor = first.map(|position| Anchor { position, line: 0 });
        query = state.session.older();
    }
}

/// A key and the frame that follows it.
fn key_to_frame(name: &str, theme: &Theme, count: u64) {
    let area = Rect::new(0, 0, WIDTH, HEIGHT);
    let mut state = console();
    read_back(&mut state, count);
    let mut cache = ViewCache::default();
    let mut before = Buffer::empty(area);
    let mut down = false;
    harness::measure(name, || {
        down = !down;
        let code = KeyCode::Char(if down { 'j' } else { 'k' });
        let key = Message::Key(KeyEvent::new(code, KeyModifiers::NONE));
        let _ = update(&mut state, key, now());
        let mut buffer = Buffer::empty(area);
        let report = screen::draw(&state, theme, &mut cache, area, &mut buffer);
        let changed = before.diff(&buffer).len();
        before = buffer;
        let _ = update(&mut state, Message::Drawn(report), now());
        changed
    });
}

fn main() {
    let theme = load("terminal", None, ColorDepth::Sixteen).unwrap();
    let area = Rect::new(0, 0, WIDTH, HEIGHT);
    let screens = [
        ("queue", Screen::Queue),
        ("live", Screen::Live),
        ("channels", Screen::Channels),
        ("session, 100 entries", Screen::Session),
        ("session, 10000 entries", Screen::Session),
        ("session, 100000 entries, read back", Screen::Session),
    ];
    for (name, shown) in screens {
        let mut state = console();
        match shown {
            Screen::Session if name.contains("read back") => read_back(&mut state, 100_000),
            Screen::Session => opened(
                &mut state,
                if name.contains("10000") { 10_000 } else { 100 },
            ),
            Screen::Queue
            | Screen::Live
            | Screen::Channels
            | Screen::Continuations
            | Screen::Rules
            | Screen::CacheCost
            | Screen::Memory
            | Screen::Audit
            | Screen::Doctor => state.screen = shown,
        }
        let mut cache = ViewCache::default();
        let mut before = Buffer::empty(area);
        let _ = screen::draw(&state, &theme, &mut cache, area, &mut before);
        harness::measure(&format!("draw {WIDTH}x{HEIGHT}: {name}"), || {
            let mut buffer = Buffer::empty(area);
            let _ = screen::draw(&state, &theme, &mut cache, area, &mut buffer);
            before.diff(&buffer).len()
        });
    }
    key_to_frame("key to frame: session, 10000 entries", &theme, 10_000);
    key_to_frame("key to frame: session, 100000 entries", &theme, 100_000);
}
