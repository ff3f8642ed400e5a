//! No decision outside the arming rule, whatever is typed, pasted, drawn or arrives.
//!
//! The oracle below is written from CONSOLE.md alone. It keeps a log of what happened and judges each
//! `Decide` from that log; it shares no code with `tui::state::arming`.

use std::sync::Arc;

use leverframe::console::item::ItemKey;
use leverframe::console::message::DaemonMessage;
use leverframe::protocol::enums::*;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::ids::ApprovalId;
use leverframe::protocol::request::{Command, Decide};
use leverframe::tui::keymap::key::{Key, parse_sequence};
use leverframe::tui::message::{Effect, Message};
use leverframe::tui::state::app::Dirty;
use leverframe::tui::state::modal::{Modal, TextPurpose};
use proptest::prelude::*;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

/// Something that can happen.
#[derive(Debug, Clone)]
enum Happening {
    Key(&'static str),
    /// Moves, waits so long, and tries to allow.
    Attempt(&'static str, u64),
    Type(String),
    Paste(String),
    Wait(u64),
    Draw,
    FocusLost,
    FocusGained,
    Arrives(u8, Risk),
    Revised(u8),
    DecidedElsewhere(u8),
    Resize(u16, u16),
    Disconnected,
    Reconnected,
}

fn happening() -> impl Strategy<Value = Happening> {
    let keys = prop::sample::select(vec![
        "j",
        "k",
        "G",
        "enter",
        "esc",
        "a",
        "a",
        "a",
        "a",
        "d",
        "x",
        "D",
        "e",
        "o",
        "w",
        "s",
        "r",
        "ctrl-d",
        "tab",
        "1",
        "2",
        "alt-enter",
        "q",
        "L",
        "y",
    ]);
    let risk = prop::sample::select(vec![Risk::Low, Risk::Medium, Risk::High, Risk::Critical]);
    prop_oneof![
        12 => keys.prop_map(Happening::Key),
        1 => prop::sample::select(vec!["K7Q2M1", "k7q2m2", "no", "aaaa"]).prop_map(|t| Happening::Type(t.to_owned())),
        1 => prop::sample::select(vec!["a", "aaa\na", "K7Q2M1"]).prop_map(|t| Happening::Paste(t.to_owned())),
        8 => prop::sample::select(vec![1u64, 40, 120, 260, 320, 510, 720, 1600]).prop_map(Happening::Wait),
        2 => Just(Happening::Draw),
        5 => (prop::sample::select(vec!["j", "k", "y", "a", "1"]), 0u64..900).prop_map(|(key, ms)| Happening::Attempt(key, ms)),
        1 => Just(Happening::FocusLost),
        1 => Just(Happening::FocusGained),
        2 => (1u8..5, risk).prop_map(|(n, risk)| Happening::Arrives(n, risk)),
        1 => (1u8..5).prop_map(Happening::Revised),
        1 => (1u8..5).prop_map(Happening::DecidedElsewhere),
        1 => prop::sample::select(vec![(80u16, 24u16), (160, 45), (48, 14), (20, 6), (120, 60)]).prop_map(|(w, h)| Happening::Resize(w, h)),
        1 => Just(Happening::Disconnected),
        1 => Just(Happening::Reconnected),
    ]
}

/// What a frame showed, as far as the rule is concerned.
#[derive(Debug, Clone, PartialEq)]
struct Shown {
    id: ApprovalId,
    revision: u32,
    digest: String,
}

#[derive(Debug, Clone)]
enum Logged {
    /// A frame, and the card in it (with the text of the whole screen and its width).
    Frame(Option<Shown>, String, u16),
    Key,
    Focus,
}

#[derive(Default)]
struct Oracle {
    log: Vec<(u64, Logged)>,
}

impl Oracle {
    /// When the card that is on screen now came there, if it is exactly this one.
    fn visible_since(&self, shown: &Shown) -> Option<u64> {
        let mut since = None;
        for (at, entry) in self.log.iter().rev() {
            match entry {
                Logged::Frame(Some(card), ..) if card == shown => since = Some(*at),
                Logged::Frame(..) => break,
                Logged::Key | Logged::Focus => {}
            }
        }
        since
    }

    /// Whether a key that prevents counts now.
    fn judge(&self, now: u64, shown: &Shown) -> Result<(), String> {
        let since = self
            .visible_since(shown)
            .ok_or("the card is not on screen")?;
        if now - since < 500 {
            return Err(format!("on screen for {} ms only", now - since));
        }
        // Each key within 250 ms of its appearing (or of such a key) starts the time again.
        let mut quiet = since;
        for (at, entry) in &self.log {
            if matches!(entry, Logged::Key) && *at >= quiet && *at < quiet + 250 {
                quiet = *at;
            }
        }
        if now - quiet < 500 {
            return Err("a key came as it appeared".to_owned());
        }
        if self
            .log
            .iter()
            .any(|(at, e)| matches!(e, Logged::Focus) && now - at < 300)
        {
            return Err("the terminal has just regained focus".to_owned());
        }
        let id = shown.id.to_string();
        let Some((_, Logged::Frame(_, screen, _))) = self
            .log
            .iter()
            .rev()
            .find(|(_, e)| matches!(e, Logged::Frame(..)))
        else {
            return Err("no frame".to_owned());
        };
        if !screen.contains(&id) {
            return Err("its id was not on screen".to_owned());
        }
        Ok(())
    }

    /// Whether a key that lets something happen counts now.
    fn judge_whole(&self, now: u64, shown: &Shown) -> Result<(), String> {
        self.judge(now, shown)?;
        let width = self.log.iter().rev().find_map(|(_, e)| match e {
            Logged::Frame(_, _, width) => Some(*width),
            Logged::Key | Logged::Focus => None,
        });
        // A pending card ends with "(policy version 3)"; at this width it must have been on screen at some time.
        let seen = self.log.iter().any(|(_, e)| {
            matches!(e, Logged::Frame(Some(c), text, w) if c == shown && Some(*w) == width && text.contains("3)"))
        });
        if !seen {
            return Err("its end was never on screen".to_owned());
        }
        Ok(())
    }
}

struct World {
    driver: Driver,
    oracle: Oracle,
    seq: u64,
    /// When a dialog about a card opened, and what the oracle said then.
    opened: Option<Result<(), String>>,
    /// First press of a high-risk decision.
    first_press: Option<(u64, Shown)>,
}

fn shown(driver: &Driver) -> Option<Shown> {
    match driver.state.model.selected()? {
        ItemKey::Approval(id) => driver.state.model.world().approvals.get(id).map(|a| Shown {
            id: *id,
            revision: a.revision,
            digest: a.digest.clone(),
        }),
        _ => None,
    }
}

fn bound_dialog(driver: &Driver) -> bool {
    match driver.state.modals.last() {
        Some(Modal::Text(entry)) => matches!(
            entry.purpose,
            TextPurpose::DenyReason(_)
                | TextPurpose::EditArguments(_)
                | TextPurpose::Answer(_)
                | TextPurpose::Code(..)
        ),
        Some(Modal::Snooze { .. } | Modal::Confirm(_) | Modal::Deciding(_)) => true,
        _ => false,
    }
}

/// Whether what the dialog on top leads to lets nothing happen.
fn opened_by_a_harmless_key(driver: &Driver) -> bool {
    match driver.state.modals.last() {
        Some(Modal::Text(entry)) => matches!(
            entry.purpose,
            TextPurpose::DenyReason(_) | TextPurpose::EditArguments(_) | TextPurpose::Answer(_)
        ),
        Some(Modal::Snooze { .. } | Modal::Confirm(_)) => true,
        _ => false,
    }
}

impl World {
    fn event(&mut self, body: EventBody) {
        self.seq += 1;
        let event = Event {
            seq: Some(self.seq),
            at: self.driver.now().wall,
            session_id: Some(fixture::session_id(1)),
            continuation_id: None,
            body,
        };
        self.driver.hear(DaemonMessage::Event(Arc::new(event)));
    }

    fn draw(&mut self) {
        let text = self.driver.text();
        let on_queue = self.driver.state.modals.is_empty()
            && self.driver.state.screen == leverframe::tui::state::screen::Screen::Queue;
        let card =
            shown(&self.driver).filter(|card| on_queue && text.contains(&card.id.to_string()));
        self.oracle.log.push((
            self.driver.steady,
            Logged::Frame(card, text, self.driver.size.0),
        ));
    }

    fn press(&mut self, key: Key) -> Result<(), TestCaseError> {
        let now = self.driver.steady;
        let card = shown(&self.driver);
        let nothing = || Err("nothing selected".to_owned());
        let prevents = card
            .as_ref()
            .map_or_else(nothing, |card| self.oracle.judge(now, card));
        let allows = card
            .as_ref()
            .map_or_else(nothing, |card| self.oracle.judge_whole(now, card));
        let had_dialog = bound_dialog(&self.driver);
        let had_high = self.driver.state.high.is_some();
        let connected = self.driver.state.is_live();
        let effects = self.driver.key(key);
        self.oracle.log.push((now, Logged::Key));
        for effect in &effects {
            let Effect::Submit(Command::Decide(Decide {
                approval_id,
                decision,
            })) = effect
            else {
                continue;
            };
            prop_assert!(connected, "decided while disconnected");
            let approval = self
                .driver
                .state
                .model
                .world()
                .approvals
                .get(approval_id)
                .cloned()
                .unwrap();
            prop_assert_eq!(&decision.digest, &approval.digest);
            prop_assert_eq!(decision.revision, Some(approval.revision));
            prop_assert_eq!(approval.state, ApprovalState::Pending);
            prop_assert!(decision.seen_ms.is_some_and(|ms| ms >= 500));
            if had_dialog {
                prop_assert_eq!(
                    self.opened.clone(),
                    Some(Ok(())),
                    "a dialog was opened outside the rule"
                );
            } else {
                prop_assert_eq!(card.as_ref().map(|c| c.id), Some(*approval_id));
                let verdict = if decision.decision == DecisionKind::Approve {
                    &allows
                } else {
                    &prevents
                };
                prop_assert_eq!(verdict, &Ok(()), "decided outside the rule");
            }
            if decision.decision == DecisionKind::Approve {
                match approval.risk {
                    Risk::Low | Risk::Medium => {}
                    Risk::High => {
                        let first = self
                            .first_press
                            .clone()
                            .filter(|(_, c)| c.id == *approval_id && c.digest == approval.digest);
                        prop_assert!(
                            first.is_some_and(|(at, _)| now - at >= 700),
                            "high risk with one press"
                        );
                    }
                    Risk::Critical => prop_assert_eq!(
                        decision.confirm_code.as_deref(),
                        Some(approval.short_code.as_str())
                    ),
                }
            }
        }
        if bound_dialog(&self.driver) && !had_dialog {
            self.opened = Some(if opened_by_a_harmless_key(&self.driver) {
                prevents
            } else {
                allows.clone()
            });
        }
        if self.driver.state.high.is_some() && !had_high {
            prop_assert_eq!(&allows, &Ok(()), "the first press counted outside the rule");
            self.first_press = card.map(|card| (now, card));
        }
        Ok(())
    }

    fn happen(&mut self, happening: &Happening) -> Result<(), TestCaseError> {
        match happening {
            Happening::Key(key) => {
                self.press(parse_sequence(key).unwrap()[0])?;
                // As the loop does: a key draws at once.
                self.draw();
            }
            Happening::Attempt(key, millis) => {
                self.happen(&Happening::Key(key))?;
                self.happen(&Happening::Wait(*millis))?;
                self.happen(&Happening::Key("a"))?;
            }
            Happening::Type(text) => {
                for c in text.chars() {
                    self.press(Key::plain(crossterm::event::KeyCode::Char(c)))?;
                }
                self.press(parse_sequence("enter").unwrap()[0])?;
            }
            Happening::Paste(text) => {
                let effects = self.driver.send(Message::Paste(text.clone()));
                self.oracle.log.push((self.driver.steady, Logged::Key));
                prop_assert!(
                    !effects.iter().any(|e| matches!(e, Effect::Submit(_))),
                    "a paste sent a command"
                );
            }
            Happening::Wait(millis) => self.driver.wait(*millis),
            Happening::Draw => self.draw(),
            Happening::FocusLost => drop(self.driver.send(Message::FocusLost)),
            Happening::FocusGained => {
                self.driver.send(Message::FocusGained);
                self.oracle.log.push((self.driver.steady, Logged::Focus));
            }
            Happening::Arrives(n, risk) => {
                let known = self
                    .driver
                    .state
                    .model
                    .world()
                    .approvals
                    .contains_key(&fixture::approval_id(*n));
                if !known {
                    let approval = fixture::approval(*n, *risk);
                    self.event(EventBody::ApprovalRequested {
                        approval: Box::new(approval),
                    });
                }
            }
            Happening::Revised(n) => {
                if let Some(mut approval) = self
                    .driver
                    .state
                    .model
                    .world()
                    .approvals
                    .get(&fixture::approval_id(*n))
                    .cloned()
                {
                    approval.revision += 1;
                    approval.digest = format!("{:064x}", approval.revision);
                    self.event(EventBody::ApprovalRequested {
                        approval: Box::new(approval),
                    });
                }
            }
            Happening::DecidedElsewhere(n) => {
                if let Some(mut approval) = self
                    .driver
                    .state
                    .model
                    .world()
                    .approvals
                    .get(&fixture::approval_id(*n))
                    .cloned()
                {
                    approval.state = ApprovalState::Denied;
                    self.event(EventBody::ApprovalDecided {
                        approval: Box::new(approval),
                    });
                }
            }
            Happening::Resize(w, h) => {
                self.driver.size = (*w, *h);
                self.driver.send(Message::Resize(*w, *h));
            }
            Happening::Disconnected => {
                self.driver
                    .hear(DaemonMessage::Disconnected { why: "gone".into() });
                self.oracle
                    .log
                    .push((self.driver.steady, Logged::Frame(None, String::new(), 0)));
            }
            Happening::Reconnected => {
                let approvals = self
                    .driver
                    .state
                    .model
                    .world()
                    .approvals
                    .values()
                    .cloned()
                    .collect();
                let snapshot = leverframe::protocol::snapshot::Snapshot {
                    seq: self.seq,
                    approvals,
                    ..fixture::busy()
                };
                self.driver
                    .hear(DaemonMessage::Snapshot(Box::new(snapshot)));
            }
        }
        Ok(())
    }
}

fn world(width: u16, height: u16) -> World {
    let mut snapshot = fixture::busy();
    snapshot.approvals = vec![
        fixture::approval(1, Risk::Medium),
        fixture::approval(2, Risk::High),
    ];
    World {
        driver: Driver::with(width, height, snapshot),
        oracle: Oracle::default(),
        seq: 100,
        opened: None,
        first_press: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, max_shrink_iters: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_keys_never_decide_outside_the_rule(steps in prop::collection::vec(happening(), 1..40), wide in any::<bool>()) {
        let mut world = if wide { world(160, 60) } else { world(80, 24) };
        for step in &steps {
            world.happen(step)?;
        }
    }
}

/// The property above is only worth something when decisions do happen in it.
#[test]
fn a_patient_operator_decides() {
    let mut world = world(160, 60);
    for step in [
        Happening::Key("j"),
        Happening::Draw,
        Happening::Wait(600),
        Happening::Draw,
        Happening::Key("a"),
    ] {
        world.happen(&step).unwrap();
    }
    assert!(
        world
            .driver
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Submit(Command::Decide(_))))
    );
}

fn decisions(driver: &Driver) -> usize {
    driver
        .effects
        .iter()
        .filter(|e| matches!(e, Effect::Submit(Command::Decide(_))))
        .count()
}

fn toast(driver: &Driver) -> String {
    driver
        .state
        .toast
        .as_ref()
        .map_or_else(String::new, |f| f.text.clone())
}

#[test]
fn each_clause_refuses_and_says_why() {
    let ready = || {
        let mut driver = Driver::with(160, 60, fixture::busy());
        driver.press("j");
        driver
    };
    let mut driver = ready();
    driver.wait(499);
    driver.press("a");
    assert_eq!(
        (decisions(&driver), toast(&driver).contains("just appeared")),
        (0, true),
        "{}",
        toast(&driver)
    );
    driver.wait(501);
    driver.press("a");
    assert_eq!(decisions(&driver), 1);

    let mut driver = ready();
    driver.wait(200);
    driver.press("y");
    driver.wait(400);
    driver.press("a");
    assert_eq!(
        (decisions(&driver), toast(&driver).contains("a key came")),
        (0, true),
        "{}",
        toast(&driver)
    );

    let mut driver = ready();
    driver.wait(800);
    driver.send(Message::FocusGained);
    driver.wait(299);
    driver.press("a");
    assert_eq!(
        (
            decisions(&driver),
            toast(&driver).contains("regained focus")
        ),
        (0, true),
        "{}",
        toast(&driver)
    );
    driver.wait(2);
    driver.press("a");
    assert_eq!(decisions(&driver), 1);

    let mut driver = ready();
    driver.wait(800);
    driver.send(Message::Paste("a".into()));
    assert_eq!(
        (decisions(&driver), toast(&driver).contains("pasted")),
        (0, true)
    );

    let mut driver = Driver::with(80, 24, fixture::busy());
    driver.press("j");
    driver.wait(800);
    driver.press("a");
    not_read(&driver);
    driver.press("ctrl-d ctrl-d ctrl-d ctrl-d ctrl-d ctrl-d ctrl-d");
    driver.press("a");
    assert_eq!(decisions(&driver), 1, "{}", toast(&driver));

    let mut driver = Driver::with(160, 60, fixture::busy());
    driver.wait(5000);
    driver.press("a enter a");
    assert_eq!(
        decisions(&driver),
        0,
        "nothing is selected when the screen opens"
    );
}

fn not_read(driver: &Driver) {
    assert_eq!(
        (
            decisions(driver),
            toast(driver).contains("scroll through it")
        ),
        (0, true),
        "{}",
        toast(driver)
    );
}

#[test]
fn what_was_jumped_over_was_not_read() {
    let mut snapshot = fixture::busy();
    let words: Vec<String> = (0..80).map(|n| format!("word-{n}")).collect();
    snapshot.approvals[0].args = serde_json::json!({ "argv": words });
    let mut driver = Driver::with(80, 24, snapshot);
    driver.press("j enter G");
    driver.wait(800);
    driver.press("a");
    not_read(&driver);
    // From its end upwards is as good as downwards.
    for _ in 0..60 {
        driver.press("ctrl-u");
    }
    driver.press("a");
    assert_eq!(decisions(&driver), 1, "{}", toast(&driver));
}

#[test]
fn no_page_skips_a_line_however_small_the_screen_and_fast_the_keys() {
    for (width, height) in [(40, 10), (60, 16), (80, 24)] {
        let mut snapshot = fixture::busy();
        let words: Vec<String> = (0..40).map(|n| format!("word-{n}")).collect();
        snapshot.approvals[0].args = serde_json::json!({ "argv": words });
        let mut driver = Driver::with(width, height, snapshot);
        driver.press("j enter");
        driver.wait(800);
        for n in 0..400 {
            driver.key(parse_sequence("pagedown").unwrap()[0]);
            if n % 4 == 3 {
                driver.draw();
            }
        }
        driver.press("a");
        assert_eq!(
            decisions(&driver),
            1,
            "{width}x{height}: {}",
            toast(&driver)
        );
    }
}

#[test]
fn high_risk_takes_two_presses_700_ms_apart_and_enter_decides_nothing() {
    let mut driver = Driver::with(160, 60, fixture::busy());
    driver.press("j j enter");
    driver.wait(600);
    driver.press("enter");
    assert_eq!(decisions(&driver), 0);
    driver.press("1");
    driver.press("j j enter");
    driver.wait(600);
    driver.press("a");
    driver.wait(699);
    driver.press("a");
    assert_eq!(decisions(&driver), 0, "{}", toast(&driver));
    driver.wait(2);
    driver.press("a");
    assert_eq!(decisions(&driver), 1, "{}", toast(&driver));
}

fn long_card() -> leverframe::protocol::snapshot::Snapshot {
    let mut snapshot = fixture::busy();
    let words: Vec<String> = (0..12).map(|n| format!("word-{n}")).collect();
    snapshot.approvals[0].args = serde_json::json!({ "argv": words });
    snapshot
}

fn read_first(driver: &mut Driver) {
    driver.press("j");
    driver.wait(800);
    for _ in 0..20 {
        driver.press("ctrl-d");
    }
}

#[test]
fn what_was_read_survives_neighbours_rows_and_a_smaller_card() {
    // The neighbour was looked at.
    let mut driver = Driver::with(80, 24, long_card());
    read_first(&mut driver);
    driver.press("j k");
    driver.wait(800);
    driver.press("a");
    assert_eq!(decisions(&driver), 1, "{}", toast(&driver));

    // The card lost lines to new rows of the list.
    let mut driver = Driver::with(80, 24, long_card());
    read_first(&mut driver);
    for n in 3..9 {
        let approval = fixture::approval(n, Risk::Low);
        driver.hear(DaemonMessage::Event(Arc::new(Event {
            seq: Some(u64::from(n) + 1000),
            at: driver.now().wall,
            session_id: Some(fixture::session_id(1)),
            continuation_id: None,
            body: EventBody::ApprovalRequested {
                approval: Box::new(approval),
            },
        })));
        driver.draw();
    }
    driver.press("a");
    assert_eq!(decisions(&driver), 1, "{}", toast(&driver));

    // Another width has other lines.
    let mut driver = Driver::with(80, 24, long_card());
    read_first(&mut driver);
    driver.size = (70, 24);
    driver.send(Message::Resize(70, 24));
    driver.draw();
    driver.wait(800);
    driver.press("a");
    not_read(&driver);
}

/// The screen of a quiet console: frames are drawn only while the state asks for one.
fn last_frame(driver: &mut Driver) -> String {
    let mut text = String::new();
    for _ in 0..10 {
        if std::mem::take(&mut driver.state.dirty) == Dirty::No {
            return text;
        }
        text = driver.text();
    }
    panic!("it draws for ever:\n{text}");
}

#[test]
fn the_frame_that_completes_the_reading_asks_for_another() {
    let mut driver = Driver::with(80, 24, long_card());
    driver.key(parse_sequence("j").unwrap()[0]);
    last_frame(&mut driver);
    driver.wait(800);
    assert!(last_frame(&mut driver).contains("not armed"));
    for n in 0.. {
        driver.key(parse_sequence("ctrl-d").unwrap()[0]);
        let text = last_frame(&mut driver);
        let armed = driver
            .state
            .model
            .queue
            .card_drawn
            .is_some_and(|(_, end)| text.contains("3)") && end > 0);
        assert_eq!(text.contains("not armed"), !armed, "{text}");
        if armed {
            break;
        }
        assert!(n < 40, "{text}");
    }
    driver.press("a");
    assert_eq!(decisions(&driver), 1, "{}", toast(&driver));
}

#[test]
fn what_prevents_needs_no_reading() {
    for (keys, dialog) in [
        ("d", false),
        ("x", true),
        ("D", true),
        ("e", true),
        ("w", true),
    ] {
        let mut driver = Driver::with(80, 24, long_card());
        driver.press("j");
        driver.wait(800);
        driver.press("a");
        not_read(&driver);
        driver.press(keys);
        assert_eq!(
            (decisions(&driver), driver.state.modals.len()),
            (usize::from(!dialog), usize::from(dialog)),
            "{keys}: {}",
            toast(&driver)
        );
    }
}

#[test]
fn the_card_that_a_first_press_opened_closes_with_the_decision() {
    let mut driver = Driver::with(160, 60, fixture::busy());
    driver.press("j j");
    driver.wait(600);
    driver.press("a");
    assert!(driver.state.model.queue.zoomed);
    driver.wait(800);
    driver.press("a");
    assert_eq!(decisions(&driver), 1, "{}", toast(&driver));
    assert!(!driver.state.model.queue.zoomed);
}
