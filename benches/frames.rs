//! Drawing each console screen with 1 000 sessions, 500 approvals and a session of 100 000 entries, and the difference
//! to the frame before, as the terminal gets it (limit at 120x40: 1 ms).

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
use leverframe::console::access::{Access, Hosting};
use leverframe::console::ids::HostId;
use leverframe::console::message::DaemonMessage;
use leverframe::console::time::{Millis, Now};
use leverframe::protocol::approval::Approval;
use leverframe::protocol::ids::{ApprovalId, SessionId};
use leverframe::protocol::request::{Answer, GetTranscript, Query};
use leverframe::protocol::session::{Session, TranscriptEntry};
use leverframe::protocol::snapshot::{Page, Snapshot};
use leverframe::tui::keymap::file::default_keymap;
use leverframe::tui::message::Message;
use leverframe::tui::state::app::State;
use leverframe::tui::state::screen::Screen;
use leverframe::tui::state::session_view::{Anchor, SessionView};
use leverframe::tui::state::update::update;
use leverframe::tui::theme::depth::ColorDepth;
use leverframe::tui::theme::file::load;
use leverframe::tui::theme::roles::Theme;
use leverframe::tui::view::cache::ViewCache;
use leverframe::tui::view::screen;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

const SIZES: [(u16, u16); 2] = [(120, 40), (200, 60)];
const ENTRIES: u64 = 100_000;

fn now() -> Now {
    Now {
        steady: Millis(1000),
        wall: fixture::NOW,
    }
}

/// Sessions and approvals of a large installation.
const SESSIONS: u32 = 1_000;
const APPROVALS: u32 = 500;

/// An id of sixteen bytes that differs from those of the fixture.
fn id(n: u32) -> [u8; 16] {
    let mut bytes = [0x77; 16];
    bytes[12..].copy_from_slice(&n.to_be_bytes());
    bytes
}

/// What the frame tests show, and much more of it.
fn large() -> Snapshot {
    let mut snapshot = fixture::busy();
    let session = snapshot.sessions[0].clone();
    snapshot.sessions.extend((0..SESSIONS).map(|n| Session {
        id: SessionId::from_bytes(id(n)),
        conversation: format!("telegram-{n}"),
        ..session.clone()
    }));
    let approval = snapshot.approvals[0].clone();
    snapshot.approvals.extend((0..APPROVALS).map(|n| Approval {
        id: ApprovalId::from_bytes(id(n)),
        short_code: format!("K{n:05}"),
        session_id: Some(SessionId::from_bytes(id(n))),
        ..approval.clone()
    }));
    snapshot
}

fn console((width, height): (u16, u16)) -> State {
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
    let _ = update(&mut state, Message::Resize(width, height), now());
    let snapshot = Message::Daemon(HostId(0), DaemonMessage::Snapshot(Box::new(large())));
    let _ = update(&mut state, snapshot, now());
    state
}

/// A session of `count` entries, read back page by page from its newest entry to its first, as scrolling does it.
fn read_back(state: &mut State, count: u64) {
    let pattern = fixture::transcript();
    let entry = |position: u64| TranscriptEntry {
        position,
        ..pattern[usize::try_from(position).unwrap() % pattern.len()].clone()
    };
    state.screen = Screen::Session;
    state.screens.session = SessionView::open(fixture::session_id(1));
    let mut query = state.screens.session.refresh();
    while let Some(asked) = query {
        let Query::GetTranscript(GetTranscript { before, limit, .. }) = &asked else {
            break;
        };
        let end = before.unwrap_or(count);
        let items = (end.saturating_sub(u64::from(limit.unwrap_or(100)))..end).map(entry);
        let answer = Answer::GetTranscript(Page {
            items: items.collect(),
            next_cursor: None,
        });
        let answered = DaemonMessage::Answered {
            query: Box::new(asked),
            result: Ok(Box::new(answer)),
        };
        let _ = update(state, Message::Daemon(HostId(0), answered), now());
        // Read from here, as a reader does who has scrolled up.
        let first = state.screens.session.entries.keys().next().copied();
        state.screens.session.anchor = first.map(|position| Anchor { position, line: 0 });
        query = state.screens.session.older();
    }
}

/// A key and the frame that follows it.
fn key_to_frame(name: &str, theme: &Theme, count: u64) {
    let (width, height) = SIZES[0];
    let area = Rect::new(0, 0, width, height);
    let mut state = console(SIZES[0]);
    read_back(&mut state, count);
    let mut cache = ViewCache::default();
    let mut before = Buffer::empty(area);
    let mut down = false;
    harness::measure(name, || {
        down = !down;
        press(&mut state, if down { 'j' } else { 'k' });
        let mut buffer = Buffer::empty(area);
        let report = screen::draw(&state, theme, &mut cache, area, &mut buffer);
        let changed = before.diff(&buffer).len();
        before = buffer;
        let _ = update(&mut state, Message::Drawn(report), now());
        changed
    });
}

fn press(state: &mut State, key: char) {
    let key = KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE);
    let _ = update(state, Message::Key(key), now());
}

fn main() {
    let theme = load("terminal", None, ColorDepth::Sixteen).unwrap();
    for (width, height) in SIZES {
        let area = Rect::new(0, 0, width, height);
        for shown in Screen::ALL {
            let mut state = console((width, height));
            if *shown == Screen::Session {
                read_back(&mut state, ENTRIES);
            } else {
                state.screen = *shown;
                // Something is selected, so that its detail is drawn too.
                press(&mut state, 'j');
            }
            let mut cache = ViewCache::default();
            let mut before = Buffer::empty(area);
            let _ = screen::draw(&state, &theme, &mut cache, area, &mut before);
            let name = format!("draw {width}x{height}: {}", shown.title());
            harness::measure(&name, || {
                let mut buffer = Buffer::empty(area);
                let _ = screen::draw(&state, &theme, &mut cache, area, &mut buffer);
                before.diff(&buffer).len()
            });
        }
    }
    key_to_frame("key to frame: session, 10000 entries", &theme, 10_000);
    key_to_frame("key to frame: session, 100000 entries", &theme, ENTRIES);
}
