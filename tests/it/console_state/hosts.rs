//! Several daemons in one console: what belongs to one never reaches another.

use std::sync::Arc;

use leverframe::console::hosts::HostAddress;
use leverframe::console::ids::HostId;
use leverframe::console::message::DaemonMessage;
use leverframe::protocol::approval::Approval;
use leverframe::protocol::command::DecisionRequest;
use leverframe::protocol::enums::*;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{
    Answer, Command, Decide, EmergencyStop, GetTranscript, Outcome, Query, StartSession,
};
use leverframe::protocol::snapshot::Snapshot;
use leverframe::tui::message::{Effect, Message};
use leverframe::tui::state::hosts::open;
use leverframe::tui::state::screen::Screen;
use proptest::prelude::*;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

pub const ATLAS: HostId = HostId(0);
pub const LAB: HostId = HostId(1);

/// A console on these daemons, named by the operator where the name is not empty; none has answered yet.
pub fn on(width: u16, height: u16, names: &[&str]) -> Driver {
    let mut driver = Driver::new(width, height);
    let hosts = names.iter().zip(1..).map(|(name, n)| HostAddress {
        name: (!name.is_empty()).then(|| (*name).to_owned()),
        address: format!("http://127.0.0.1:{n}"),
    });
    open(&mut driver.state, hosts.collect());
    driver
}

pub fn says(driver: &mut Driver, host: HostId, message: DaemonMessage) -> Vec<Effect> {
    driver.send(Message::Daemon(host, message))
}

/// What keys want done, and by whom.
fn press(driver: &mut Driver, keys: &str) -> Vec<(HostId, Effect)> {
    driver.addressed.clear();
    driver.press(keys);
    std::mem::take(&mut driver.addressed)
}

pub fn snapshot(driver: &mut Driver, host: HostId, snapshot: Snapshot) {
    says(driver, host, DaemonMessage::Snapshot(Box::new(snapshot)));
    driver.draw();
}

/// A snapshot with these questions, of a daemon that calls itself so.
pub fn asks(instance: &str, approvals: Vec<Approval>) -> Snapshot {
    let mut snapshot = fixture::snapshot();
    snapshot.engine.instance = instance.into();
    snapshot.approvals = approvals;
    snapshot
}

fn requested(seq: u64, approval: Approval) -> DaemonMessage {
    DaemonMessage::Event(Arc::new(Event {
        seq: Some(seq),
        at: fixture::NOW,
        session_id: None,
        continuation_id: None,
        body: EventBody::ApprovalRequested {
            approval: Box::new(approval),
        },
    }))
}

/// Two daemons with a question each: of the same id, because one is a restored copy of the other.
fn twins() -> Driver {
    let mut driver = on(120, 60, &["", ""]);
    let mut other = fixture::approval(1, Risk::Medium);
    other.digest = "ee".repeat(32);
    other.revision = 4;
    other.channel = "desk".into();
    other.expires_at = other.expires_at.map(|at| at.plus_seconds(60));
    snapshot(
        &mut driver,
        ATLAS,
        asks("atlas", vec![fixture::approval(1, Risk::Medium)]),
    );
    snapshot(&mut driver, LAB, asks("lab", vec![other]));
    driver
}

/// The decision that was sent, and to whom.
fn decisions(effects: &[(HostId, Effect)]) -> Vec<(HostId, DecisionRequest)> {
    let decision = |(host, effect): &(HostId, Effect)| match effect {
        Effect::Submit(Command::Decide(Decide { decision, .. })) => Some((*host, decision.clone())),
        _ => None,
    };
    effects.iter().filter_map(decision).collect()
}

fn decide(driver: &mut Driver, key: &str) -> Vec<(HostId, Effect)> {
    driver.draw();
    driver.wait(600);
    driver.draw();
    press(driver, key)
}

fn toast(driver: &Driver) -> String {
    driver
        .state
        .toast
        .as_ref()
        .map_or_else(String::new, |toast| toast.text.clone())
}

#[test]
fn a_decision_goes_to_the_host_of_its_card_with_the_digest_that_was_shown() {
    let mut driver = twins();
    assert_eq!(
        driver.state.model.queue.order.len(),
        2,
        "equal ids do not collide"
    );
    driver.press("j");
    assert_eq!(driver.state.model.hosts.focused(), ATLAS);
    let first = decide(&mut driver, "d");
    let [(ATLAS, decision)] = &decisions(&first)[..] else {
        panic!("{first:?}");
    };
    assert_eq!(decision.digest, "01".repeat(32));
    assert_eq!(decision.revision, Some(1));
    // The same id at the other daemon is another question: nothing is under way there.
    driver.press("j");
    assert_eq!(driver.state.model.hosts.focused(), LAB);
    let second = decide(&mut driver, "a");
    let [(LAB, decision)] = &decisions(&second)[..] else {
        panic!("{second:?}");
    };
    assert_eq!(decision.digest, "ee".repeat(32));
    assert_eq!(decision.revision, Some(4));
}

#[test]
fn what_was_seen_of_one_card_arms_nothing_on_the_other_host() {
    let mut driver = twins();
    // Exactly the same card on both, as on a daemon and its restored copy.
    let same = fixture::approval(1, Risk::Medium);
    snapshot(&mut driver, LAB, asks("lab", vec![same]));
    driver.press("j");
    driver.draw();
    driver.wait(600);
    driver.draw();
    driver.press("j");
    assert_eq!(driver.state.model.hosts.focused(), LAB);
    let effects = press(&mut driver, "a");
    assert!(decisions(&effects).is_empty(), "{effects:?}");
    assert!(toast(&driver).contains("not armed"), "{}", toast(&driver));
}

#[test]
fn the_first_press_of_a_high_risk_decision_does_not_count_on_another_host() {
    let mut driver = on(120, 60, &["", ""]);
    let risky = || fixture::command_approval(1, Risk::High);
    snapshot(&mut driver, ATLAS, asks("atlas", vec![risky()]));
    snapshot(&mut driver, LAB, asks("lab", vec![risky()]));
    driver.press("j");
    assert!(decisions(&decide(&mut driver, "a")).is_empty());
    assert!(driver.state.high.is_some());
    driver.press("ctrl-n");
    assert_eq!(driver.state.model.hosts.focused(), LAB);
    assert_eq!(driver.state.high, None);
    driver.wait(800);
    driver.press("G");
    assert_eq!(driver.state.model.hosts.focused(), LAB);
    assert!(decisions(&decide(&mut driver, "a")).is_empty());
}

#[test]
fn losing_one_stops_decisions_there_and_nowhere_else() {
    let mut driver = twins();
    says(
        &mut driver,
        LAB,
        DaemonMessage::Disconnected {
            why: "connection refused".into(),
        },
    );
    assert!(driver.state.is_live(), "the other one goes on");
    // Its last known question stays, and cannot be decided.
    assert_eq!(driver.state.model.queue.order.len(), 2);
    driver.press("j j");
    assert_eq!(driver.state.model.hosts.focused(), LAB);
    assert!(decisions(&decide(&mut driver, "a")).is_empty());
    assert!(
        toast(&driver).contains("not connected"),
        "{}",
        toast(&driver)
    );
    driver.press("k");
    assert_eq!(decisions(&decide(&mut driver, "a")).len(), 1);
    // It comes back: what was decided meanwhile is gone, and it works again.
    let again = fixture::approval(7, Risk::Low);
    snapshot(&mut driver, LAB, asks("lab", vec![again]));
    driver.press("G");
    assert_eq!(driver.state.model.hosts.focused(), LAB);
    let effects = decide(&mut driver, "a");
    assert_eq!(decisions(&effects)[0].0, LAB, "{effects:?}");
}

#[test]
fn the_stop_goes_to_all_names_all_and_reports_on_each() {
    let mut driver = on(120, 40, &["atlas", "lab", "west"]);
    snapshot(&mut driver, ATLAS, asks("x", vec![]));
    driver.press("ctrl-x");
    assert!(
        toast(&driver).ends_with("again within 1.5 s: STOP atlas, lab, west"),
        "{}",
        toast(&driver)
    );
    let effects = driver.press("ctrl-x");
    let stop = Command::EmergencyStop(EmergencyStop { reason: None });
    assert_eq!(
        effects,
        [Effect::SubmitToAll(stop)],
        "also where nobody answers"
    );
    let answer = |result| DaemonMessage::Submitted {
        command: Box::new(Command::EmergencyStop(EmergencyStop { reason: None })),
        result,
    };
    let done = || Ok(Box::new(Outcome::EmergencyStop(fixture::engine())));
    says(&mut driver, LAB, answer(done()));
    assert_eq!(
        toast(&driver),
        "EMERGENCY STOP is in force on lab; no answer yet from atlas, west"
    );
    let refused = Problem::new(ProblemKind::Unavailable, "daemon not reachable", "gone");
    says(&mut driver, HostId(2), answer(Err(Box::new(refused))));
    says(&mut driver, ATLAS, answer(done()));
    assert_eq!(
        toast(&driver),
        "west NOT STOPPED (daemon not reachable: gone); EMERGENCY STOP is in force on atlas, lab"
    );
}

#[test]
fn another_host_has_its_own_screens_and_comes_back_to_them() {
    let mut driver = on(120, 40, &["atlas", "lab"]);
    snapshot(&mut driver, ATLAS, fixture::busy());
    snapshot(&mut driver, LAB, asks("lab", vec![]));
    driver.press("2 j enter");
    assert_eq!(driver.state.screen, Screen::Session);
    let open = driver.state.screens.session.session_id;
    assert!(open.is_some());
    let effects = press(&mut driver, "ctrl-n");
    assert_eq!(driver.state.model.hosts.focused(), LAB);
    assert_eq!(driver.state.screens.session.session_id, None);
    let none = (ATLAS, Effect::SetDeltas(vec![]));
    assert!(effects.contains(&none), "{effects:?}");
    driver.press("2");
    assert!(driver.text().contains("No session yet"));
    driver.press("ctrl-n 3");
    assert_eq!(driver.state.model.hosts.focused(), ATLAS);
    assert_eq!(driver.state.screens.session.session_id, open);
}

#[test]
fn an_answer_that_comes_after_the_focus_went_on_changes_nothing_here() {
    let mut driver = on(120, 40, &["atlas", "lab"]);
    snapshot(&mut driver, ATLAS, fixture::busy());
    snapshot(&mut driver, LAB, fixture::busy());
    driver.press("2 j enter ctrl-n 2 j enter");
    assert_eq!(driver.state.model.hosts.focused(), LAB);
    let session_id = driver.state.screens.session.session_id.unwrap();
    // The same session id is open at both.
    says(
        &mut driver,
        ATLAS,
        DaemonMessage::Answered {
            query: Box::new(Query::GetTranscript(GetTranscript {
                session_id,
                before: None,
                limit: Some(100),
            })),
            result: Ok(Box::new(Answer::GetTranscript(
                leverframe::protocol::snapshot::Page {
                    items: fixture::transcript(),
                    next_cursor: None,
                },
            ))),
        },
    );
    assert!(driver.state.screens.session.entries.is_empty());
    // A session that was opened there opens nothing here.
    let session = fixture::session(9, "desk", "operator", "x");
    says(
        &mut driver,
        ATLAS,
        DaemonMessage::Submitted {
            command: Box::new(Command::StartSession(StartSession {
                channel: Some("desk".into()),
                conversation: None,
                title: None,
                model: None,
            })),
            result: Ok(Box::new(Outcome::StartSession(session))),
        },
    );
    assert!(driver.state.modals.is_empty());
    assert_eq!(driver.state.screens.session.session_id, Some(session_id));
    assert_eq!(toast(&driver), "atlas: session opened");
}

#[test]
fn names_are_the_operators_or_the_daemons_and_never_the_same() {
    let mut driver = on(120, 40, &["", "prod", ""]);
    assert_eq!(driver.state.model.hosts.name(ATLAS), "http://127.0.0.1:1");
    // One that calls itself what the operator calls another does not become it.
    snapshot(&mut driver, ATLAS, asks("prod", vec![]));
    snapshot(&mut driver, LAB, asks("something", vec![]));
    snapshot(&mut driver, HostId(2), asks("prod", vec![]));
    let names: Vec<&str> = [0, 1, 2]
        .map(|n| driver.state.model.hosts.name(HostId(n)))
        .to_vec();
    assert_eq!(names, ["prod-1", "prod", "prod-3"]);
    driver.press(":");
    driver.type_text("host prod-3");
    driver.press("enter");
    assert_eq!(driver.state.model.hosts.focused(), HostId(2));
    driver.press(":");
    driver.type_text("host prodd");
    driver.press("enter");
    assert_eq!(
        toast(&driver),
        "there is no host `prodd`; did you mean `prod`?"
    );
    assert_eq!(driver.state.model.hosts.focused(), HostId(2));
}

#[test]
fn a_token_without_the_scope_decides_nothing_and_says_why() {
    let mut driver = Driver::new(120, 40);
    driver.hear(DaemonMessage::Scopes(Some(vec![
        Scope::Read,
        Scope::Operate,
    ])));
    driver.hear(DaemonMessage::Snapshot(Box::new(fixture::busy())));
    driver.press("j");
    let effects = decide(&mut driver, "a");
    assert!(effects.is_empty(), "{effects:?}");
    let why = "the token lacks the scope `approve` (it has read, operate)";
    assert_eq!(toast(&driver), format!("allow once: {why}"));
    driver.wait(7_000);
    assert!(driver.text().contains(why), "{}", driver.text());
    // What it has the scope for works; release takes `admin`.
    driver.press("2 j p");
    assert!(!driver.effects.is_empty());
    let mut held = fixture::busy();
    held.engine.held_since = Some(fixture::ago(60));
    driver.hear(DaemonMessage::Snapshot(Box::new(held)));
    driver.press(":");
    driver.type_text("release-stop");
    driver.press("enter");
    assert!(
        toast(&driver).contains("lacks the scope `admin`"),
        "{}",
        toast(&driver)
    );
    assert!(driver.state.modals.is_empty());
}

fn arbitrary() -> impl Strategy<Value = (u8, u8, u8)> {
    (0..3_u8, 0..12_u8, 1..5_u8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Keys, focus changes and what three daemons say, in any order.
    #[test]
    fn every_effect_is_addressed_and_the_selection_is_of_the_focused_host(
        steps in prop::collection::vec(arbitrary(), 1..60)
    ) {
        let mut driver = on(100, 30, &["a", "b", "c"]);
        let mut seq = [100_u64; 3];
        for (host, what, n) in steps {
            let id = HostId(host);
            match what {
                0 => snapshot(&mut driver, id, asks("x", vec![fixture::approval(n, Risk::Low)])),
                1 => { says(&mut driver, id, DaemonMessage::Disconnected { why: "cut".into() }); }
                2 | 3 => {
                    seq[usize::from(host)] += 1;
                    says(&mut driver, id, requested(seq[usize::from(host)], fixture::approval(n, Risk::High)));
                }
                4 => { driver.press("j"); }
                5 => { driver.press("k"); }
                6 => { driver.press("ctrl-n"); }
                7 => { driver.press("2"); }
                8 => { driver.press("1"); }
                9 => { driver.wait(u64::from(n) * 300); driver.draw(); }
                10 => { driver.press("d"); }
                _ => { driver.press("enter esc"); }
            }
            let state = &driver.state;
            let focused = state.model.hosts.focused();
            let selected = state.model.queue.selected.as_ref();
            prop_assert!(selected.is_none_or(|key| key.host == focused));
            for key in &state.model.queue.order {
                prop_assert!(state.model.hosts.get(key.host).is_some());
            }
            for effect in std::mem::take(&mut driver.addressed) {
                // A decision goes where the selection is, and only to a daemon that answers.
                for (to, _) in decisions(&[effect]) {
                    prop_assert_eq!(to, driver.state.model.hosts.focused());
                    prop_assert!(driver.state.is_live());
                }
            }
        }
    }
}
