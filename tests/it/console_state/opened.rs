//! Large arguments and diffs come when a card is opened, and nothing is decided before they are there.

use std::sync::Arc;

use leverframe::console::message::DaemonMessage;
use leverframe::console::opened::KEPT;
use leverframe::protocol::approval::{Approval, Preview};
use leverframe::protocol::enums::*;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{Answer, Command, Decide, GetApproval, Outcome, Query};
use leverframe::tui::message::Effect;
use leverframe::tui::state::screen::Screen;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_state::month::question;

/// A call whose arguments are larger than a list says, and fit on a large screen.
fn large() -> Approval {
    let mut approval = fixture::approval(1, Risk::Medium);
    approval.args =
        serde_json::json!({ "path": "notes/a.txt", "content": "x".repeat(2_500) + "THE END" });
    approval.preview = Preview::None;
    approval
}

/// A console whose first card is this one, selected.
fn opened(approval: Approval) -> (Driver, Vec<Effect>) {
    let mut snapshot = fixture::busy();
    snapshot.approvals[0] = approval;
    let mut driver = Driver::with(160, 70, snapshot);
    let effects = driver.press("j");
    (driver, effects)
}

fn asked(effects: &[Effect]) -> usize {
    let is_one = |effect: &&Effect| matches!(effect, Effect::Query(Query::GetApproval(_)));
    effects.iter().filter(is_one).count()
}

fn answer(driver: &mut Driver, approval: Approval) -> Vec<Effect> {
    driver.hear(DaemonMessage::Answered {
        query: Box::new(Query::GetApproval(GetApproval { id: approval.id })),
        result: Ok(Box::new(Answer::GetApproval(approval))),
    })
}

fn told(driver: &mut Driver, body: EventBody) -> Vec<Effect> {
    let event = Event {
        seq: Some(driver.state.model.world().seq + 1),
        at: driver.now().wall,
        session_id: Some(fixture::session_id(1)),
        continuation_id: Some(fixture::continuation_id(1)),
        body,
    };
    driver.hear(DaemonMessage::Event(Arc::new(event)))
}

/// Whether `a` sends a decision now, and what is said where it does not.
fn allows(driver: &mut Driver) -> (bool, String) {
    driver.state.toast = None;
    let sent = driver.press("a");
    let sends = sent
        .iter()
        .any(|effect| matches!(effect, Effect::Submit(_)));
    let said = driver.state.toast.as_ref();
    (sends, said.map_or_else(String::new, |one| one.text.clone()))
}

#[test]
fn a_card_that_is_still_loading_says_so_and_is_not_armed() {
    let (mut driver, effects) = opened(large());
    assert_eq!(asked(&effects), 1);
    let text = driver.text();
    assert!(
        text.contains("loading…") && !text.contains("THE END"),
        "{text}"
    );
    driver.wait(800);
    let (sends, said) = allows(&mut driver);
    assert!(!sends && said.contains("not loaded in full"), "{said}");

    assert_eq!(
        asked(&answer(&mut driver, large())),
        0,
        "it is asked for once"
    );
    let text = driver.text();
    assert!(
        text.contains("THE END") && !text.contains("loading…"),
        "{text}"
    );
    // It has just appeared: what stood there before was not it.
    let (sends, said) = allows(&mut driver);
    assert!(!sends && said.contains("not armed"), "{said}");
    driver.wait(800);
    let (sends, said) = allows(&mut driver);
    assert!(sends, "{said}");
}

#[test]
fn a_card_that_cannot_be_loaded_says_why_and_what_to_do() {
    let (mut driver, _) = opened(large());
    driver.hear(DaemonMessage::Answered {
        query: Box::new(Query::GetApproval(GetApproval { id: large().id })),
        result: Err(Box::new(Problem::new(
            ProblemKind::Unavailable,
            "not now",
            "the store is busy",
        ))),
    });
    let text = driver.text();
    assert!(
        text.contains("not loaded:") && text.contains("the store is busy"),
        "{text}"
    );
    assert!(text.contains("ctrl-r tries again"), "{text}");
    driver.wait(800);
    driver.draw();
    assert!(!allows(&mut driver).0);
    assert_eq!(asked(&driver.press("ctrl-r")), 1);
    assert!(driver.text().contains("loading…"));
    answer(&mut driver, large());
    driver.draw();
    driver.wait(800);
    assert!(allows(&mut driver).0);
}

#[test]
fn what_changed_while_it_was_loading_is_loaded_again() {
    let (mut driver, _) = opened(large());
    let mut newer = large();
    newer.revision = 2;
    newer.digest = "ab".repeat(32);
    newer.args["content"] = ("y".repeat(2_500) + "ANOTHER END").into();
    let approval = Box::new(newer.clone());
    told(&mut driver, EventBody::ApprovalRequested { approval });
    let again = answer(&mut driver, large());
    assert_eq!(asked(&again), 1, "the answer is about what it was before");
    assert!(!driver.text().contains("THE END"));
    answer(&mut driver, newer);
    assert!(driver.text().contains("ANOTHER END"));
    driver.wait(800);
    let sent = driver.press("a");
    let decision = sent.iter().find_map(|effect| match effect {
        Effect::Submit(Command::Decide(Decide { decision, .. })) => {
            Some((decision.digest.clone(), decision.revision))
        }
        _ => None,
    });
    assert_eq!(decision, Some(("ab".repeat(32), Some(2))));
}

#[test]
fn an_event_and_a_new_connection_leave_a_whole_card_whole() {
    let (mut driver, _) = opened(large());
    answer(&mut driver, large());
    driver.draw();
    let mut decided = large();
    decided.notified = false;
    let approval = Box::new(decided);
    let effects = told(&mut driver, EventBody::ApprovalAssigned { approval });
    assert_eq!(asked(&effects), 0);
    assert!(driver.text().contains("THE END"));
    let why = "gone".to_owned();
    driver.hear(DaemonMessage::Disconnected { why });
    let mut snapshot = fixture::busy();
    snapshot.approvals[0] = large();
    let effects = driver.hear(DaemonMessage::Snapshot(Box::new(snapshot)));
    assert_eq!(asked(&effects), 0);
    assert!(driver.text().contains("THE END"));
}

#[test]
fn only_the_cards_opened_last_stay_whole() {
    let mut snapshot = fixture::busy();
    let count = u32::try_from(KEPT).unwrap() + 4;
    snapshot.approvals = (1..=count).map(question).collect();
    let mut driver = Driver::with(120, 40, snapshot);
    let whole = |driver: &Driver| {
        let all = driver.state.model.world().approvals.values();
        all.filter(|approval| !approval.shortened).count()
    };
    assert_eq!(whole(&driver), 0);
    for _ in 0..count {
        for effect in driver.press("j") {
            if let Effect::Query(Query::GetApproval(GetApproval { id })) = effect {
                let n = u32::from_be_bytes(id.to_bytes()[12..].try_into().unwrap());
                answer(&mut driver, question(n));
            }
        }
    }
    assert_eq!(whole(&driver), KEPT);
    // The one on screen is among them.
    let open = driver.state.model.selected_approval();
    assert!(!open.unwrap().shortened);
}

/// `n` is pressed on Live; what comes of it is told later.
fn new_session(driver: &mut Driver) -> DaemonMessage {
    driver.press("2 n");
    let command = driver.effects.iter().find_map(|effect| match effect {
        Effect::Submit(command @ Command::StartSession(_)) => Some(command.clone()),
        _ => None,
    });
    let session = fixture::session(9, "desk", "operator", "x");
    DaemonMessage::Submitted {
        command: Box::new(command.unwrap()),
        result: Ok(Box::new(Outcome::StartSession(session))),
    }
}

#[test]
fn a_session_that_opens_late_takes_no_screen_and_no_keyboard() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    let answer = new_session(&mut driver);
    driver.hear(answer);
    assert_eq!(driver.state.screen, Screen::Session);
    assert_eq!(driver.state.modals.len(), 1);

    // Who writes a reason meanwhile goes on writing it.
    let mut driver = Driver::with(120, 40, fixture::busy());
    let answer = new_session(&mut driver);
    driver.press("1 j");
    driver.wait(800);
    driver.press("D");
    driver.type_text("ab");
    driver.hear(answer);
    driver.type_text("c");
    assert_eq!(driver.state.screen, Screen::Queue);
    assert_eq!(driver.state.modals.len(), 1);
    assert!(driver.text().contains("abc"), "{}", driver.text());

    // Who went elsewhere stays there.
    let mut driver = Driver::with(120, 40, fixture::busy());
    let answer = new_session(&mut driver);
    driver.press("1");
    driver.hear(answer);
    assert_eq!(driver.state.screen, Screen::Queue);
    assert!(driver.state.modals.is_empty());
}
