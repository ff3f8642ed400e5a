//! A transcript of any length: what is loaded is bounded and without gaps, nothing moves what is being read, and
//! what lies further back is found.

use std::sync::Arc;

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::enums::ToolCallState;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::ids::ApprovalId;
use leverframe::protocol::request::{GetTranscript, Query};
use leverframe::protocol::session::{TranscriptBody, TranscriptEntry};
use leverframe::tui::message::Effect;
use leverframe::tui::state::session_view::WINDOW;
use proptest::prelude::*;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::sessions::long::LongSession;

fn position(n: u64) -> u64 {
    ((n / 4 + 1) << 20) | (n % 4)
}

fn message(n: u64) -> TranscriptEntry {
    fixture::user(position(n), &format!("message {n}."))
}

fn long(count: u64) -> LongSession {
    LongSession::new((0..count).map(message).collect())
}

/// A console on a session, everything it asks answered.
struct Reading {
    driver: Driver,
    session: LongSession,
    asked: Vec<Query>,
}

impl Reading {
    fn open(session: LongSession) -> Self {
        let mut snapshot = fixture::busy();
        snapshot.streams.clear();
        let mut driver = Driver::with(80, 24, snapshot);
        driver.press("2 j j enter");
        let mut reading = Self {
            driver,
            session,
            asked: Vec::new(),
        };
        reading.serve();
        reading
    }

    /// Answers one round of questions and draws; false when there was none.
    fn serve_once(&mut self) -> bool {
        let mut any = false;
        for effect in std::mem::take(&mut self.driver.effects) {
            if let Effect::Query(query) = effect
                && let Some(answer) = self.session.answer(&query)
            {
                any = true;
                self.asked.push(query.clone());
                self.driver.answer(query, answer);
                self.check();
            }
        }
        self.driver.draw();
        self.check();
        any
    }

    fn serve(&mut self) {
        for _ in 0..2_000 {
            if !self.serve_once() {
                return;
            }
        }
        panic!("it asks for ever: {:?}", self.asked.last());
    }

    fn press(&mut self, keys: &str) {
        for key in keys.split_whitespace() {
            self.driver.press(key);
            self.check();
            self.serve();
        }
    }

    /// What is loaded is one piece of the session, and not too much of it.
    fn check(&self) {
        let view = &self.driver.state.screens.session;
        assert!(
            view.entries.len() <= WINDOW,
            "{} are held",
            view.entries.len()
        );
        let loaded: Vec<u64> = view.entries.keys().copied().collect();
        let Some(first) = loaded.first() else { return };
        let all = &self.session.entries;
        let from = all.partition_point(|entry| entry.position < *first);
        for (known, there) in loaded.iter().zip(&all[from..]) {
            assert_eq!(*known, there.position, "there is a gap");
        }
        assert_eq!(view.at_start, from == 0 && view.at_start);
    }

    fn top(&self) -> u64 {
        self.driver
            .state
            .screens
            .session
            .report
            .unwrap()
            .anchor
            .position
    }

    fn text(&mut self) -> String {
        self.driver.text()
    }

    /// What is read: without header, title and border, which tell of the present.
    fn page(&mut self) -> String {
        let text = self.text();
        let lines = text.lines().skip(2).filter(|line| !line.starts_with('└'));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Something is said in the session.
    fn arrives(&mut self, count: u64) {
        for _ in 0..count {
            let n = self.session.entries.len() as u64;
            self.session.entries.push(message(n));
        }
        let event = Event {
            seq: Some(self.driver.state.model.world().seq + 1),
            at: fixture::NOW,
            session_id: self.driver.state.screens.session.session_id,
            continuation_id: Some(fixture::continuation_id(2)),
            body: EventBody::ContinuationQueued { ahead: 0 },
        };
        self.driver.hear(DaemonMessage::Event(Arc::new(event)));
    }
}

#[test]
fn a_hundred_thousand_entries_are_never_all_loaded_and_both_ends_are_near() {
    let count = 100_000;
    let mut reading = Reading::open(long(count));
    assert!(reading.text().contains("message 99999."));
    // Beside what the peek of Live asked on the way.
    let peek = |query: &&Query| {
        matches!(
            query,
            Query::GetTranscript(GetTranscript {
                limit: Some(12),
                ..
            })
        )
    };
    let asked = reading.asked.iter().filter(|query| !peek(query)).count();
    assert_eq!(asked, 1, "{:?}", reading.asked);
    // Far up, line by line and page by page, without ever meeting the start.
    for _ in 0..300 {
        reading.press("ctrl-u");
    }
    let up = reading.top();
    assert!(up < position(count - 900), "{up}");
    // The start is one page away, not a thousand.
    let asked = reading.asked.len();
    reading.press("g g");
    assert_eq!(
        reading.driver.state.screens.session.selected,
        Some(position(0))
    );
    assert!(reading.text().contains("message 0."));
    assert!(
        reading.asked.len() - asked <= 2,
        "{:?}",
        &reading.asked[asked..]
    );
    // Down again from there.
    for _ in 0..300 {
        reading.press("ctrl-d");
    }
    assert!(reading.top() > position(900), "{}", reading.top());
    reading.press("G");
    assert!(reading.text().contains("message 99999."));
    assert!(reading.text().contains("following"));
}

#[test]
fn what_arrives_and_what_is_loaded_moves_nothing() {
    let mut reading = Reading::open(long(3_000));
    reading.press("ctrl-u ctrl-u f");
    let (top, page) = (reading.top(), reading.page());
    for count in [1, 5, 150, 2_000] {
        reading.arrives(count);
        reading.serve();
        assert_eq!(
            (reading.top(), reading.page()),
            (top, page.clone()),
            "{count} arrived"
        );
    }
    reading.press("F");
    assert!(reading.text().contains("message 5155."));
    for _ in 0..40 {
        // The page that arrives while something is read does not move it.
        reading.driver.press("ctrl-u");
        let top = reading.top();
        while reading.serve_once() {
            assert_eq!(reading.top(), top);
        }
    }
}

#[test]
fn a_search_goes_on_through_older_pages_and_says_how_far_it_is() {
    let mut session = long(20_000);
    for n in [150, 6_000] {
        session.entries[n] = fixture::user(position(n as u64), "the needle");
    }
    let mut reading = Reading::open(session);
    reading.driver.press("/");
    reading.driver.type_text("ess");
    assert!(
        reading
            .driver
            .state
            .screens
            .session
            .background_search
            .is_none(),
        "what is loaded matches"
    );
    reading.driver.press("backspace backspace backspace");
    // Six letters, each of which begins anew; only what was asked last counts.
    reading.driver.type_text("needle");
    assert!(reading.serve_once());
    let text = reading.text();
    assert!(
        text.contains("searching older entries: 500 so far"),
        "{text}"
    );
    reading.press("enter");
    assert_eq!(
        reading.driver.state.screens.session.selected,
        Some(position(6_000))
    );
    assert!(reading.text().contains("the needle"));
    assert!(
        reading.text().contains("match 1/1 loaded"),
        "{}",
        reading.text()
    );
    reading.press("N");
    assert_eq!(
        reading.driver.state.screens.session.selected,
        Some(position(150))
    );
    reading.press("N");
    let toast = reading.driver.state.toast.clone().unwrap().text;
    assert!(toast.contains("no further match above"), "{toast}");
    assert_eq!(
        reading.driver.state.screens.session.selected,
        Some(position(150))
    );
    reading.press("n");
    assert_eq!(
        reading.driver.state.screens.session.selected,
        Some(position(6_000))
    );
    // Stopped on the way.
    reading.driver.press("n");
    assert!(reading.serve_once());
    assert!(
        reading
            .driver
            .state
            .screens
            .session
            .background_search
            .is_some()
    );
    reading.driver.press("esc");
    assert!(
        reading
            .driver
            .state
            .screens
            .session
            .background_search
            .is_none()
    );
    reading.serve();
    assert_eq!(
        reading.driver.state.screens.session.selected,
        Some(position(6_000))
    );
}

#[test]
fn jumps_reach_what_is_not_loaded() {
    let mut session = long(10_000);
    for (n, state) in [
        (700, ToolCallState::Failed),
        (4_000, ToolCallState::Succeeded),
    ] {
        let mut call = fixture::tool_call(9, state, Some("done"));
        call.approval_id = Some(ApprovalId::from_bytes([7; 16]));
        session.entries[n] = fixture::model(position(n as u64), "text", vec![call]);
    }
    let mut reading = Reading::open(session);
    for (keys, at) in [
        ("[ a", 4_000),
        ("[ a", 700),
        ("] a", 4_000),
        ("[ e", 700),
        ("] e", 700),
    ] {
        for key in keys.split_whitespace() {
            reading.driver.press(key);
        }
        reading.serve();
        assert_eq!(
            reading.driver.state.screens.session.selected,
            Some(position(at)),
            "{keys}"
        );
    }
}

#[test]
fn a_turn_is_gone_to_where_it_begins() {
    let mut session = long(6_000);
    for n in [2_001, 2_002, 2_003] {
        session.entries[n].continuation_id = fixture::continuation_id(9);
    }
    let mut reading = Reading::open(session);
    for wanted in [fixture::continuation_id(9), fixture::continuation_id(9)] {
        reading.driver.state.screens.session.wanted =
            Some(leverframe::tui::state::background_search::SearchTarget::Turn(wanted));
        reading.press("ctrl-r");
        assert_eq!(
            reading.driver.state.screens.session.selected,
            Some(position(2_001))
        );
        reading.press("F");
    }
}

#[test]
fn copying_all_of_it_says_that_it_is_a_part() {
    let mut reading = Reading::open(long(3_000));
    reading.driver.press("Y");
    let toast = reading.driver.state.toast.clone().unwrap().text;
    assert!(
        toast.contains("only what is loaded; E writes everything"),
        "{toast}"
    );
    let mut reading = Reading::open(long(30));
    reading.driver.press("Y");
    let toast = reading.driver.state.toast.clone().unwrap().text;
    assert!(toast.contains("to the clipboard"), "{toast}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn any_way_through_keeps_one_bounded_piece(
        count in prop::sample::select(vec![0u64, 1, 99, 100, 101, 500, 1_199, 1_201, 4_000]),
        steps in prop::collection::vec((0usize..12, any::<bool>()), 1..40),
    ) {
        let mut reading = Reading::open(long(count));
        for (what, answered) in steps {
            match what {
                0..=7 => {
                    let keys = ["ctrl-u", "ctrl-d", "g g", "G", "k", "j", "[ e", "f"];
                    reading.driver.press(keys[what]);
                }
                8 => {
                    reading.driver.press("/");
                    reading.driver.type_text("17");
                    reading.driver.press("enter");
                }
                9 => {
                    reading.driver.press("N");
                }
                10 => reading.arrives(130),
                _ => {
                    reading.driver.press("n");
                }
            }
            reading.check();
            if answered {
                reading.serve();
            } else {
                reading.serve_once();
            }
        }
        reading.driver.press("esc G");
        reading.serve();
        let last = reading.session.entries.last().map(|entry| entry.position);
        let loaded = reading.driver.state.screens.session.entries.keys().next_back().copied();
        prop_assert_eq!(loaded, last);
        for entry in reading.driver.state.screens.session.entries.values() {
            let typed = matches!(entry.entry.body, TranscriptBody::User { .. });
            prop_assert!(typed, "{entry:?}");
        }
    }
}
