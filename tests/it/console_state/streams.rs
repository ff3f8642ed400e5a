//! Ten thousand random streams of keys, pastes, focus and events, over marks, tables, shapes, rules and texts: no
//! decision outside the arming rule.
//!
//! A screen of numbers stands in for the drawn one: it reports what a frame of that size would show, and keeps a log.
//! The oracle judges from that log and from CONSOLE.md alone; it shares no code with `tui::state::arming`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use crossterm::event::{KeyEvent, KeyEventKind, KeyModifiers};
use leverframe::clock::Timestamp;
use leverframe::console::arming::{CardReport, Demand, DialogReport};
use leverframe::console::ids::HostId;
use leverframe::console::item::ItemKey;
use leverframe::console::message::DaemonMessage;
use leverframe::console::queue;
use leverframe::console::time::{Millis, Now};
use leverframe::protocol::approval::Approval;
use leverframe::protocol::command::DecisionRequest;
use leverframe::protocol::enums::*;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::ids::{ApprovalId, SessionId};
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{Command, Decide, Outcome};
use leverframe::tui::keymap::key::{Key, parse_sequence};
use leverframe::tui::message::{Effect, FrameReport, Message};
use leverframe::tui::state::app::State;
use leverframe::tui::state::modal::{About, Modal, TextPurpose};
use leverframe::tui::state::screen::Screen;
use leverframe::tui::state::update::update;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

const STREAMS: u32 = 10_000;

#[derive(Debug, Clone)]
enum Happening {
    Key(&'static str),
    Held(&'static str),
    /// Goes to the next card, reads it, and presses a key after so long.
    Read(u64, &'static str),
    /// Goes to the last button of a dialog, waits so long, and presses.
    Accept(u64),
    /// Waits so long and presses the key of the shape dialog.
    Again(u64),
    Type(&'static str),
    Paste(&'static str),
    Wait(u64),
    Focus(bool),
    Arrives(u8, Risk),
    Revised(u8),
    Elsewhere(u8),
    Resize(u16, u16),
    /// The oldest command that is out is answered.
    Answered(bool),
    Lost,
    Back,
}

fn happening() -> impl Strategy<Value = Happening> {
    let keys = || {
        prop::sample::select(vec![
            "j",
            "k",
            "G",
            "enter",
            "esc",
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
            "s",
            "r",
            "r",
            "space",
            "space",
            "v",
            "/",
            "tab",
            "ctrl-d",
            "1",
            "2",
            "alt-enter",
            "q",
            "L",
            "y",
            "z",
        ])
    };
    let decisions = prop::sample::select(vec!["a", "a", "d", "s", "r", "w", "x", "space", "space"]);
    let waits = || prop::sample::select(vec![0_u64, 40, 240, 260, 320, 510, 690, 710, 1600]);
    let looks = || prop::sample::select(vec![0_u64, 690, 710, 710, 1600, 1600]);
    let risk = prop::sample::select(vec![Risk::Low, Risk::Medium, Risk::High, Risk::Critical]);
    prop_oneof![
        10 => keys().prop_map(Happening::Key),
        1 => keys().prop_map(Happening::Held),
        9 => (waits(), decisions).prop_map(|(wait, key)| Happening::Read(wait, key)),
        6 => looks().prop_map(Happening::Accept),
        5 => looks().prop_map(Happening::Again),
        1 => prop::sample::select(vec!["K7Q2M1", "k7q2m4", "no", "telegram"]).prop_map(Happening::Type),
        1 => prop::sample::select(vec!["a", "aaa\na", "s", "K7Q2M1"]).prop_map(Happening::Paste),
        6 => waits().prop_map(Happening::Wait),
        2 => any::<bool>().prop_map(Happening::Focus),
        2 => (1_u8..6, risk).prop_map(|(n, risk)| Happening::Arrives(n, risk)),
        1 => (1_u8..6).prop_map(Happening::Revised),
        1 => (1_u8..6).prop_map(Happening::Elsewhere),
        1 => prop::sample::select(vec![(80_u16, 24_u16), (160, 45), (48, 14), (20, 6)]).prop_map(|(w, h)| Happening::Resize(w, h)),
        4 => any::<bool>().prop_map(Happening::Answered),
        1 => Just(Happening::Lost),
        1 => Just(Happening::Back),
    ]
}

/// A card as it was on screen.
#[derive(Debug, Clone, PartialEq)]
struct Shown {
    id: ApprovalId,
    session: Option<SessionId>,
    risk: Risk,
    revision: u32,
    digest: String,
}

impl Shown {
    fn of(approval: &Approval) -> Self {
        Self {
            id: approval.id,
            session: approval.session_id,
            risk: approval.risk,
            revision: approval.revision,
            digest: approval.digest.clone(),
        }
    }
}

#[derive(Debug, Clone)]
enum Logged {
    /// A frame: the card, the lines of it and whether its identity fitted; or a dialog that decides.
    Frame {
        card: Option<(Shown, (usize, usize), usize, bool)>,
        dialog: Option<((usize, usize), usize, bool)>,
    },
    Key,
    Focus,
}

struct Stream {
    state: State,
    steady: u64,
    seq: u64,
    log: Vec<(u64, Logged)>,
    /// Cards that were once read as the rule asks.
    read: Vec<Shown>,
    /// What the oracle said when a dialog about one card opened.
    opened: Option<Result<(), String>>,
    first_press: Option<(u64, Shown)>,
    out: Vec<(ApprovalId, DecisionRequest)>,
    preview: Option<leverframe::protocol::request::Query>,
}

fn template() -> State {
    static STATE: OnceLock<Mutex<State>> = OnceLock::new();
    let state = STATE.get_or_init(|| {
        Mutex::new({
            let mut snapshot = fixture::busy();
            snapshot.approvals = vec![
                fixture::approval(1, Risk::Low),
                fixture::approval(2, Risk::Medium),
                fixture::approval(3, Risk::High),
            ];
            Driver::with(160, 45, snapshot).state
        })
    });
    state.lock().unwrap().clone()
}

static DECIDED: [AtomicUsize; 4] = [
    AtomicUsize::new(0),
    AtomicUsize::new(0),
    AtomicUsize::new(0),
    AtomicUsize::new(0),
];

impl Stream {
    fn new() -> Self {
        Self {
            state: template(),
            steady: 0,
            seq: 1_000,
            log: Vec::new(),
            read: Vec::new(),
            opened: None,
            first_press: None,
            out: Vec::new(),
            preview: None,
        }
    }

    fn hear(&mut self, message: DaemonMessage) -> Vec<Effect> {
        self.send(Message::Daemon(HostId(0), message))
    }

    fn send(&mut self, message: Message) -> Vec<Effect> {
        let now = Now {
            steady: Millis(self.steady),
            wall: Timestamp(fixture::NOW.0 + i64::try_from(self.steady).unwrap()),
        };
        let effects = update(&mut self.state, message, now);
        let effects: Vec<Effect> = effects.into_iter().map(|(_, effect)| effect).collect();
        for effect in &effects {
            if let Effect::Query(query @ leverframe::protocol::request::Query::GetRuleMatches(_)) =
                effect
            {
                self.preview = Some(query.clone());
            }
        }
        effects
    }

    fn shown(&self) -> Option<Shown> {
        let Some(ItemKey::Approval(id)) = self.state.model.selected() else {
            return None;
        };
        let approval = self.state.model.world().approvals.get(id)?;
        Some(Shown::of(approval))
    }

    /// Draws: what a frame of this size would show.
    fn draw(&mut self) {
        self.note_read();
        let (width, height) = self.state.size;
        let mut report = FrameReport::default();
        let mut card = None;
        let mut dialog = None;
        if let Some(Modal::Deciding(open)) = self.state.modals.last() {
            let lines = 12;
            let room = usize::from(height).saturating_sub(8);
            let most = 14_usize.saturating_sub(room);
            let first = open.exposure.scroll.min(most).min(lines);
            let end = (first + room).min(lines);
            let legible = width >= 40 && room > 0;
            dialog = Some(((first, end), lines, legible));
            report.dialog = Some(DialogReport {
                size: (width, height),
                lines,
                first,
                end,
                max_scroll: most,
                legible,
            });
        } else if self.state.modals.is_empty()
            && self.state.screen == Screen::Queue
            && let Some(key) = self.state.model.queue.selected.clone()
            && let Some(subject) = queue::subject(&self.state.model.hosts, &key)
            && (self.state.model.queue.zoomed || !self.state.one_pane())
        {
            let lines = 20;
            let whole = self.state.model.queue.zoomed || width >= 140;
            let room = usize::from(height).saturating_sub(9) / if whole { 1 } else { 2 };
            let most = lines - room.min(lines);
            let first = self.state.model.queue.card_scroll.min(most);
            let end = (first + room).min(lines);
            let identity = width >= 40 && room > 0;
            if let Some(shown) = self.shown() {
                card = Some((shown, (first, end), lines, identity));
            }
            report.card_max_scroll = most;
            report.card = Some(CardReport {
                subject,
                width,
                lines,
                first,
                end,
                identity,
                whole: true,
            });
        }
        self.log.push((self.steady, Logged::Frame { card, dialog }));
        self.send(Message::Drawn(report));
    }

    /// Whether the lines of all these frames are the whole, without a gap.
    fn whole(mut ranges: Vec<(usize, usize)>, lines: usize) -> bool {
        ranges.sort_unstable();
        let mut to = 0;
        for (from, end) in ranges {
            if from > to {
                return false;
            }
            to = to.max(end);
        }
        to >= lines
    }

    /// Whether a card has been looked at as the rule asks, focus left aside; its identity, or all of it.
    fn looked_at(&self, shown: &Shown, demand: Demand) -> Result<(), String> {
        let mut since = None;
        for (at, entry) in self.log.iter().rev() {
            match entry {
                Logged::Frame {
                    card: Some((card, _, _, true)),
                    ..
                } if card == shown => since = Some(*at),
                Logged::Frame { .. } => break,
                Logged::Key | Logged::Focus => {}
            }
        }
        let since = since.ok_or("not on screen")?;
        if self.steady - since < 500 {
            return Err(format!("on screen for {} ms", self.steady - since));
        }
        let mut quiet = since;
        for (at, entry) in &self.log {
            if matches!(entry, Logged::Key) && *at >= quiet && *at < quiet + 250 {
                quiet = *at;
            }
        }
        if self.steady - quiet < 500 {
            return Err("a key came as it appeared".to_owned());
        }
        let ranges = self.log.iter().filter_map(|(_, entry)| match entry {
            Logged::Frame {
                card: Some((card, range, ..)),
                ..
            } if card == shown => Some(*range),
            _ => None,
        });
        if demand == Demand::Read && !Self::whole(ranges.collect(), 20) {
            return Err("its end was never shown".to_owned());
        }
        Ok(())
    }

    fn refocused(&self) -> bool {
        self.log
            .iter()
            .any(|(at, entry)| matches!(entry, Logged::Focus) && self.steady - at < 300)
    }

    fn judge(&self, shown: Option<&Shown>, demand: Demand) -> Result<(), String> {
        let shown = shown.ok_or("nothing selected")?;
        if self.refocused() {
            return Err("just refocused".to_owned());
        }
        self.looked_at(shown, demand)
    }

    fn note_read(&mut self) {
        if let Some(shown) = self.shown()
            && self.looked_at(&shown, Demand::Read).is_ok()
            && !self.read.contains(&shown)
        {
            self.read.push(shown);
        }
    }

    /// Whether the dialog on top has been looked at as the rule asks.
    fn dialog_looked_at(&self) -> Result<(), String> {
        if self.refocused() {
            return Err("just refocused".to_owned());
        }
        let mut since = None;
        let mut ranges = Vec::new();
        let mut lines = 0;
        for (at, entry) in self.log.iter().rev() {
            match entry {
                Logged::Frame {
                    dialog: Some((range, all, legible)),
                    ..
                } => {
                    if since.is_none() && !legible {
                        return Err("not legible".to_owned());
                    }
                    since = Some(*at);
                    ranges.push(*range);
                    lines = *all;
                }
                Logged::Frame { .. } => break,
                Logged::Key | Logged::Focus => {}
            }
        }
        let since = since.ok_or("not on screen")?;
        if self.steady - since < 700 {
            return Err(format!("on screen for {} ms", self.steady - since));
        }
        if !Self::whole(ranges, lines) {
            return Err("not read to its end".to_owned());
        }
        Ok(())
    }

    /// What holds for every decision, wherever it comes from.
    fn sound(&self, id: ApprovalId, decision: &DecisionRequest) -> Result<(), TestCaseError> {
        prop_assert!(self.state.is_live(), "decided while disconnected");
        let approval = &self.state.model.world().approvals[&id];
        prop_assert_eq!(&decision.digest, &approval.digest);
        prop_assert_eq!(decision.revision, Some(approval.revision));
        // Taking back lets nothing happen: it is about what was allowed, and needs no look.
        if decision.decision == DecisionKind::Revoke {
            prop_assert_eq!(approval.state, ApprovalState::Approved);
            return Ok(());
        }
        prop_assert_eq!(approval.state, ApprovalState::Pending);
        prop_assert!(decision.seen_ms.is_some_and(|ms| ms >= 500));
        if decision.scope == Some(DecisionScope::Session) {
            prop_assert!(approval.risk < Risk::High, "a shape of high risk");
        }
        Ok(())
    }

    fn press(&mut self, key: Key, kind: KeyEventKind) -> Result<(), TestCaseError> {
        self.note_read();
        let now = self.steady;
        let card = self.shown();
        let allows = self.judge(card.as_ref(), Demand::Read);
        let prevents = self.judge(card.as_ref(), Demand::Identity);
        let dialog = self.dialog_looked_at();
        let before = self.state.modals.last().cloned();
        let had_high = self.state.high.is_some();
        let mut modifiers = KeyModifiers::NONE;
        modifiers.set(KeyModifiers::CONTROL, key.ctrl);
        modifiers.set(KeyModifiers::ALT, key.alt);
        let event = KeyEvent {
            kind,
            ..KeyEvent::new(key.code, modifiers)
        };
        let effects = self.send(Message::Key(event));
        self.log.push((now, Logged::Key));
        for effect in &effects {
            let Effect::Submit(Command::Decide(Decide {
                approval_id,
                decision,
            })) = effect
            else {
                continue;
            };
            self.sound(*approval_id, decision)?;
            let risk = self.state.model.world().approvals[approval_id].risk;
            let revoking = decision.decision == DecisionKind::Revoke;
            match &before {
                _ if revoking => {}
                Some(Modal::Deciding(open)) => {
                    prop_assert!(kind == KeyEventKind::Press, "a held key decided");
                    prop_assert_eq!(&dialog, &Ok(()), "a dialog decided outside the rule");
                    match &open.about {
                        About::Batch(_) => {
                            DECIDED[0].fetch_add(1, Ordering::Relaxed);
                            self.of_batch(*approval_id, decision, risk)?;
                        }
                        About::Shape(_) => {
                            DECIDED[1].fetch_add(1, Ordering::Relaxed);
                            prop_assert_eq!(&self.opened, &Some(Ok(())));
                        }
                        About::Rule(_) => {
                            DECIDED[2].fetch_add(1, Ordering::Relaxed);
                            prop_assert_eq!(&self.opened, &Some(Ok(())));
                            prop_assert!(decision.rule.is_some());
                        }
                    }
                }
                Some(_) => prop_assert_eq!(
                    &self.opened,
                    &Some(Ok(())),
                    "a dialog was opened outside the rule"
                ),
                None => {
                    DECIDED[3].fetch_add(1, Ordering::Relaxed);
                    prop_assert!(kind == KeyEventKind::Press, "a held key decided");
                    prop_assert_eq!(card.as_ref().map(|card| card.id), Some(*approval_id));
                    let verdict = if decision.decision == DecisionKind::Approve {
                        &allows
                    } else {
                        &prevents
                    };
                    prop_assert_eq!(verdict, &Ok(()), "decided outside the rule");
                    if decision.decision == DecisionKind::Approve && risk == Risk::High {
                        let first = self.first_press.clone();
                        let first = first.filter(|(_, shown)| Some(shown) == card.as_ref());
                        prop_assert!(first.is_some_and(|(at, _)| now - at >= 700));
                    }
                }
            }
            if decision.decision == DecisionKind::Approve && risk == Risk::Critical {
                let code = &self.state.model.world().approvals[approval_id].short_code;
                prop_assert_eq!(decision.confirm_code.as_ref(), Some(code));
            }
            self.out.push((*approval_id, decision.clone()));
        }
        let about_one = match self.state.modals.last() {
            Some(Modal::Text(entry)) => matches!(
                entry.purpose,
                TextPurpose::DenyReason(_)
                    | TextPurpose::EditArguments(_)
                    | TextPurpose::Answer(_)
                    | TextPurpose::Code(..)
            ),
            Some(Modal::Snooze { .. } | Modal::Confirm(_)) => true,
            Some(Modal::Deciding(open)) => !matches!(open.about, About::Batch(_)),
            _ => false,
        };
        let harmless = match self.state.modals.last() {
            Some(Modal::Text(entry)) => !matches!(entry.purpose, TextPurpose::Code(..)),
            Some(Modal::Snooze { .. } | Modal::Confirm(_)) => true,
            _ => false,
        };
        if about_one && before.is_none() {
            self.opened = Some(if harmless { prevents } else { allows.clone() });
        }
        if self.state.high.is_some() && !had_high {
            prop_assert_eq!(&allows, &Ok(()), "the first press counted");
            self.first_press = card.map(|card| (now, card));
        }
        Ok(())
    }

    /// What a table sends was read on its own card or on that of an equal call, and is never of high risk.
    fn of_batch(
        &self,
        id: ApprovalId,
        decision: &DecisionRequest,
        risk: Risk,
    ) -> Result<(), TestCaseError> {
        let sent = Shown {
            revision: decision.revision.unwrap_or(0),
            digest: decision.digest.clone(),
            ..Shown::of(&self.state.model.world().approvals[&id])
        };
        let equal = |read: &Shown| Shown { id, ..read.clone() } == sent;
        prop_assert!(self.read.iter().any(equal), "never shown in full");
        if decision.decision == DecisionKind::Approve {
            prop_assert!(risk < Risk::High, "high risk in a table");
        }
        Ok(())
    }

    fn event(&mut self, body: EventBody) {
        self.seq += 1;
        let event = Event {
            seq: Some(self.seq),
            at: fixture::NOW,
            session_id: Some(fixture::session_id(1)),
            continuation_id: None,
            body,
        };
        self.hear(DaemonMessage::Event(Arc::new(event)));
    }

    fn keys(&mut self, keys: &str) -> Result<(), TestCaseError> {
        for key in keys.split_whitespace() {
            self.press(parse_sequence(key).unwrap()[0], KeyEventKind::Press)?;
            self.draw();
        }
        Ok(())
    }

    fn wait(&mut self, millis: u64) {
        self.steady += millis;
        self.send(Message::Tick);
    }

    fn answered(&mut self, well: bool) -> Result<(), TestCaseError> {
        if let Some(query) = self.preview.take() {
            let problem = Problem::new(ProblemKind::Invalid, "invalid", "not a word");
            self.hear(DaemonMessage::Answered {
                query: Box::new(query),
                result: Err(Box::new(problem)),
            });
        }
        if self.out.is_empty() {
            return Ok(());
        }
        let (approval_id, decision) = self.out.remove(0);
        let mut approval = self.state.model.world().approvals[&approval_id].clone();
        let stays = [DecisionKind::Snooze, DecisionKind::Edit].contains(&decision.decision);
        if well && !stays {
            approval.state = if decision.decision == DecisionKind::Approve {
                ApprovalState::Approved
            } else {
                ApprovalState::Denied
            };
            self.event(EventBody::ApprovalDecided {
                approval: Box::new(approval.clone()),
            });
        }
        let effects = self.hear(DaemonMessage::Submitted {
            command: Box::new(Command::Decide(Decide {
                approval_id,
                decision,
            })),
            result: if well {
                Ok(Box::new(Outcome::Decide(approval)))
            } else {
                let problem = Problem::new(ProblemKind::Conflict, "conflict", "somebody was first");
                Err(Box::new(problem))
            },
        });
        for effect in effects {
            if let Effect::Submit(Command::Decide(Decide {
                approval_id,
                decision,
            })) = effect
            {
                self.sound(approval_id, &decision)?;
                let risk = self.state.model.world().approvals[&approval_id].risk;
                self.of_batch(approval_id, &decision, risk)?;
                self.out.push((approval_id, decision));
            }
        }
        Ok(())
    }

    fn happen(&mut self, happening: &Happening) -> Result<(), TestCaseError> {
        match happening {
            Happening::Key(key) => return self.keys(key),
            Happening::Held(key) => {
                self.press(parse_sequence(key).unwrap()[0], KeyEventKind::Repeat)?;
            }
            Happening::Read(wait, key) => {
                self.keys("j")?;
                self.wait(*wait);
                self.keys("ctrl-d ctrl-d ctrl-d")?;
                return self.keys(key);
            }
            Happening::Accept(wait) => {
                self.keys("tab tab tab tab tab tab tab tab tab ctrl-d")?;
                self.wait(*wait);
                return self.keys("enter");
            }
            Happening::Again(wait) => {
                self.keys("ctrl-d")?;
                self.wait(*wait);
                return self.keys("s");
            }
            Happening::Type(text) => {
                for c in text.chars() {
                    let key = Key::plain(crossterm::event::KeyCode::Char(c));
                    self.press(key, KeyEventKind::Press)?;
                }
                self.keys("enter")?;
            }
            Happening::Paste(text) => {
                self.note_read();
                let effects = self.send(Message::Paste((*text).to_owned()));
                self.log.push((self.steady, Logged::Key));
                let sent = effects.iter().any(|e| matches!(e, Effect::Submit(_)));
                prop_assert!(!sent, "a paste sent a command");
            }
            Happening::Wait(millis) => self.wait(*millis),
            Happening::Focus(true) => {
                self.send(Message::FocusGained);
                self.log.push((self.steady, Logged::Focus));
            }
            Happening::Focus(false) => drop(self.send(Message::FocusLost)),
            Happening::Arrives(n, risk) => {
                let id = fixture::approval_id(*n);
                if !self.state.model.world().approvals.contains_key(&id) {
                    self.event(EventBody::ApprovalRequested {
                        approval: Box::new(fixture::approval(*n, *risk)),
                    });
                }
            }
            Happening::Revised(n) => {
                let known = self
                    .state
                    .model
                    .world()
                    .approvals
                    .get(&fixture::approval_id(*n));
                if let Some(mut approval) = known.cloned() {
                    approval.revision += 1;
                    approval.digest = format!("{:064x}", approval.revision);
                    self.event(EventBody::ApprovalRequested {
                        approval: Box::new(approval),
                    });
                }
            }
            Happening::Elsewhere(n) => {
                let known = self
                    .state
                    .model
                    .world()
                    .approvals
                    .get(&fixture::approval_id(*n));
                if let Some(mut approval) = known.cloned() {
                    approval.state = ApprovalState::Denied;
                    self.event(EventBody::ApprovalDecided {
                        approval: Box::new(approval),
                    });
                }
            }
            Happening::Resize(width, height) => {
                self.send(Message::Resize(*width, *height));
            }
            Happening::Answered(well) => self.answered(*well)?,
            Happening::Lost => {
                self.hear(DaemonMessage::Disconnected { why: "gone".into() });
                let nothing = Logged::Frame {
                    card: None,
                    dialog: None,
                };
                self.log.push((self.steady, nothing));
                self.read.clear();
            }
            Happening::Back => {
                let approvals = self
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
                self.hear(DaemonMessage::Snapshot(Box::new(snapshot)));
            }
        }
        self.draw();
        Ok(())
    }
}

#[test]
fn ten_thousand_streams_decide_nothing_outside_the_rule() {
    let config = Config {
        cases: STREAMS,
        max_shrink_iters: 2_000,
        failure_persistence: None,
        ..Config::default()
    };
    let steps = prop::collection::vec(happening(), 1..30);
    let result = TestRunner::new(config).run(&steps, |steps| {
        let mut stream = Stream::new();
        for step in &steps {
            stream.happen(step)?;
        }
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
    // A property about decisions is worth something only where they are made: in tables, shapes, rules, on cards.
    for (place, count) in ["tables", "shapes", "rules", "cards"].iter().zip(&DECIDED) {
        let count = count.load(Ordering::Relaxed);
        assert!(count >= 20, "{place}: only {count} decisions in all");
    }
}
