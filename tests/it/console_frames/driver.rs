//! Drives the reducer and the views as the loop does, with time moved by hand.

use std::sync::LazyLock;

use crossterm::event::{KeyEvent, KeyModifiers};
use leverframe::clock::Timestamp;
use leverframe::console::access::{Access, Hosting};
use leverframe::console::ids::HostId;
use leverframe::console::message::DaemonMessage;
use leverframe::console::time::{Millis, Now};
use leverframe::protocol::request::{Answer, GetTranscript, Query};
use leverframe::protocol::snapshot::{Page, Snapshot};
use leverframe::tui::keymap::file::default_keymap;
use leverframe::tui::keymap::key::{Key, parse_sequence};
use leverframe::tui::keymap::lookup::Keymap;
use leverframe::tui::message::{Effect, Message};
use leverframe::tui::state::app::State;
use leverframe::tui::state::update::update;
use leverframe::tui::theme::depth::ColorDepth;
use leverframe::tui::theme::file::load;
use leverframe::tui::theme::roles::Theme;
use leverframe::tui::view::cache::ViewCache;
use leverframe::tui::view::screen;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::console_frames::fixture;

pub struct Driver {
    pub state: State,
    pub theme: Theme,
    pub cache: ViewCache,
    pub size: (u16, u16),
    pub steady: u64,
    pub effects: Vec<Effect>,
    /// The same, with the daemon that each is for.
    pub addressed: Vec<(HostId, Effect)>,
}

impl Driver {
    pub fn new(width: u16, height: u16) -> Self {
        // Properties make a driver for each case, and both files take longer to read than most cases.
        static KEYMAP: LazyLock<Keymap> = LazyLock::new(default_keymap);
        static THEME: LazyLock<Theme> =
            LazyLock::new(|| load("terminal", None, ColorDepth::Sixteen).unwrap());
        leverframe::console::format::show_clocks_in(jiff::tz::TimeZone::UTC);
        let now = Now {
            steady: Millis(0),
            wall: fixture::NOW,
        };
        let state = State::new(
            KEYMAP.clone(),
            Hosting::Embedded {
                live_channels: vec!["telegram".into()],
            },
            Access::Operate,
            "local".into(),
            now,
        );
        let mut driver = Self {
            state,
            theme: THEME.clone(),
            cache: ViewCache::default(),
            size: (width, height),
            steady: 0,
            effects: vec![],
            addressed: vec![],
        };
        driver.send(Message::Resize(width, height));
        driver
    }

    pub fn with(width: u16, height: u16, snapshot: Snapshot) -> Self {
        let mut driver = Self::new(width, height);
        driver.hear(DaemonMessage::Snapshot(Box::new(snapshot)));
        driver.draw();
        driver
    }

    pub fn now(&self) -> Now {
        let wall = Timestamp(fixture::NOW.0 + i64::try_from(self.steady).unwrap());
        Now {
            steady: Millis(self.steady),
            wall,
        }
    }

    /// Sends a message; transcript queries are answered from the fixture.
    pub fn send(&mut self, message: Message) -> Vec<Effect> {
        let now = self.now();
        let addressed = update(&mut self.state, message, now);
        self.addressed.extend(addressed.clone());
        let effects: Vec<Effect> = addressed.into_iter().map(|(_, effect)| effect).collect();
        self.effects.extend(effects.clone());
        effects
    }

    /// The daemon of the console says something.
    pub fn hear(&mut self, message: DaemonMessage) -> Vec<Effect> {
        self.send(Message::Daemon(HostId(0), message))
    }

    pub fn answer(&mut self, query: Query, answer: Answer) {
        self.hear(DaemonMessage::Answered {
            query: Box::new(query),
            result: Ok(Box::new(answer)),
        });
    }

    pub fn answer_transcript(
        &mut self,
        entries: Vec<leverframe::protocol::session::TranscriptEntry>,
    ) {
        let session_id = self.state.screens.session.session_id.unwrap();
        self.answer(
            Query::GetTranscript(GetTranscript {
                session_id,
                before: None,
                limit: Some(100),
            }),
            Answer::GetTranscript(Page {
                items: entries,
                next_cursor: None,
            }),
        );
    }

    pub fn wait(&mut self, millis: u64) {
        self.steady += millis;
        self.send(Message::Tick);
    }

    /// Presses keys as a keymap file writes them, drawing after each.
    pub fn press(&mut self, keys: &str) -> Vec<Effect> {
        let mut all = Vec::new();
        for key in parse_sequence_long(keys) {
            all.extend(self.key(key));
            self.draw();
        }
        all
    }

    /// What is shown after these keys.
    pub fn press_text(mut self, keys: &str) -> String {
        self.press(keys);
        self.text()
    }

    pub fn key(&mut self, key: Key) -> Vec<Effect> {
        let mut modifiers = KeyModifiers::NONE;
        modifiers.set(KeyModifiers::CONTROL, key.ctrl);
        modifiers.set(KeyModifiers::ALT, key.alt);
        modifiers.set(KeyModifiers::SHIFT, key.shift);
        self.send(Message::Key(KeyEvent::new(key.code, modifiers)))
    }

    pub fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.key(Key::plain(crossterm::event::KeyCode::Char(c)));
        }
        self.draw();
    }

    pub fn draw(&mut self) -> Buffer {
        let area = Rect::new(0, 0, self.size.0, self.size.1);
        let mut buffer = Buffer::empty(area);
        let report = screen::draw(&self.state, &self.theme, &mut self.cache, area, &mut buffer);
        self.send(Message::Drawn(report));
        buffer
    }

    pub fn text(&mut self) -> String {
        let buffer = self.draw();
        crate::console_frames::styled::glyphs(&buffer)
    }
}

fn parse_sequence_long(keys: &str) -> Vec<Key> {
    keys.split_whitespace()
        .flat_map(|key| parse_sequence(key).unwrap())
        .collect()
}
