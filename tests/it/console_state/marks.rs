//! The Queue as a list: filter, groups, putting off, marks, and decisions about several cards.

use std::sync::Arc;

use leverframe::console::item::ItemKey;
use leverframe::console::message::DaemonMessage;
use leverframe::protocol::command::DecisionRequest;
use leverframe::protocol::enums::*;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::ids::ApprovalId;
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{Command, Decide, Outcome};
use leverframe::protocol::snapshot::Snapshot;
use leverframe::tui::message::{Effect, Message};

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

/// Five cards on two channels: 1 and 2 low, 3 medium, 4 high, 5 low and not on `telegram`.
fn five() -> Snapshot {
    let mut desk = fixture::approval(5, Risk::Low);
    desk.channel = "desk".into();
    desk.tool = "read_file".into();
    Snapshot {
        approvals: vec![
            fixture::approval(1, Risk::Low),
            fixture::approval(2, Risk::Low),
            fixture::approval(3, Risk::Medium),
            fixture::approval(4, Risk::High),
            desk,
        ],
        continuations: vec![],
        ..fixture::busy()
    }
}

fn shown(driver: &Driver) -> Vec<u8> {
    driver
        .state
        .model
        .queue
        .order
        .iter()
        .filter_map(|key| match &key.item {
            ItemKey::Approval(id) => (1..9).find(|n| fixture::approval_id(*n) == *id),
            _ => None,
        })
        .collect()
}

fn decided(driver: &Driver) -> Vec<(ApprovalId, DecisionRequest)> {
    driver
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Submit(Command::Decide(Decide {
                approval_id,
                decision,
            })) => Some((*approval_id, decision.clone())),
            _ => None,
        })
        .collect()
}

fn toast(driver: &Driver) -> String {
    driver
        .state
        .toast
        .as_ref()
        .map_or_else(String::new, |toast| toast.text.clone())
}

fn arrives(driver: &mut Driver, seq: u64, approval: leverframe::protocol::approval::Approval) {
    let event = Event {
        seq: Some(seq),
        at: driver.now().wall,
        session_id: None,
        continuation_id: None,
        body: EventBody::ApprovalRequested {
            approval: Box::new(approval),
        },
    };
    driver.hear(DaemonMessage::Event(Arc::new(event)));
}

#[test]
fn a_filter_says_what_it_hides_and_unmarks_it() {
    let mut driver = Driver::with(120, 40, five());
    driver.press("j space j j j j space");
    assert_eq!(driver.state.model.queue.marks.len(), 2);
    driver.press("/");
    driver.type_text("telegram LOW");
    driver.press("enter");
    assert_eq!(shown(&driver), [1, 2]);
    assert_eq!(
        driver
            .state
            .model
            .queue
            .marks
            .iter()
            .cloned()
            .collect::<Vec<_>>(),
        [fixture::key(ItemKey::Approval(fixture::approval_id(1)))],
        "what is hidden is not marked"
    );
    let text = driver.text();
    assert!(text.contains("3 hidden by `telegram LOW`"), "{text}");
    assert!(text.contains("5 need you"), "{text}");
    // What comes and does not fit is counted and not shown; what fits is appended.
    arrives(&mut driver, 200, fixture::approval(6, Risk::High));
    arrives(&mut driver, 201, fixture::approval(7, Risk::Low));
    assert_eq!(shown(&driver), [1, 2, 7]);
    let text = driver.text();
    assert!(
        text.contains("4 hidden") && text.contains("7 need you"),
        "{text}"
    );
    // Nothing fits: it says so, and how to see the rest.
    driver.press("/");
    driver.type_text(" nowhere");
    driver.press("enter");
    assert!(
        driver.text().contains("7 items without them are hidden"),
        "{}",
        driver.text()
    );
    driver.press("esc");
    assert_eq!(shown(&driver).len(), 7);
}

#[test]
fn groups_keep_the_deadline_inside_and_nothing_moves_under_the_cursor() {
    let mut driver = Driver::with(120, 40, five());
    driver.press("V");
    assert_eq!(shown(&driver), [5, 1, 2, 3, 4]);
    let text = driver.text();
    assert!(
        text.contains("by channel") && text.contains("channel telegram"),
        "{text}"
    );
    driver.press("V");
    assert_eq!(shown(&driver), [5, 1, 2, 3, 4], "by tool");
    driver.press("V");
    assert_eq!(shown(&driver), [4, 3, 1, 2, 5], "by risk");
    driver.press("j j");
    let selected = driver.state.model.queue.selected.clone();
    let mut critical = fixture::approval(8, Risk::Critical);
    critical.expires_at = Some(fixture::NOW.plus_seconds(1000));
    arrives(&mut driver, 200, critical);
    assert_eq!(
        shown(&driver),
        [4, 3, 1, 2, 5, 8],
        "what arrives stands at the end"
    );
    assert_eq!(driver.state.model.queue.selected, selected);
    driver.press("V");
    assert!(driver.text().contains("by who asks"), "{}", driver.text());
    driver.press("V");
    assert_eq!(shown(&driver), [8, 1, 2, 3, 4, 5], "by deadline again");
    assert_eq!(driver.state.model.queue.selected, selected);
}

#[test]
fn what_is_put_off_goes_below_and_comes_back_before_its_deadline() {
    let mut driver = Driver::with(160, 60, five());
    driver.press("j");
    driver.wait(800);
    driver.press("w");
    let text = driver.text();
    // The first card has 35 minutes left: an hour or a day would be past ten minutes before that.
    assert!(text.contains("15 minutes, until 12:15"), "{text}");
    assert!(text.contains("1 hour, until 12:25"), "{text}");
    assert!(text.contains("tomorrow, until 12:25"), "{text}");
    driver.press("j enter");
    let (id, request) = decided(&driver).pop().unwrap();
    assert_eq!(
        (request.decision, request.minutes),
        (DecisionKind::Snooze, Some(60))
    );
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(Command::Decide(Decide {
            approval_id: id,
            decision: request,
        })),
        result: Ok(Box::new(Outcome::Decide(fixture::approval(1, Risk::Low)))),
    });
    assert_eq!(shown(&driver), [1, 2, 3, 4, 5], "it stays under the cursor");
    let text = driver.text();
    assert!(
        text.contains("put off until 12:25") && text.contains("4 need you"),
        "{text}"
    );
    driver.press("j");
    assert_eq!(shown(&driver), [2, 3, 4, 5, 1]);
    driver.send(Message::FocusLost);
    driver.wait(24 * 60_000);
    assert_eq!(driver.state.model.queue.snoozed.len(), 1);
    let before = driver.effects.len();
    driver.wait(2 * 60_000);
    assert!(driver.state.model.queue.snoozed.is_empty());
    assert!(
        driver.effects[before..].contains(&Effect::Bell),
        "it rings when it is back"
    );
    assert!(driver.text().contains("5 need you"));

    // Too close to its deadline.
    let mut late = five();
    late.approvals[0].expires_at = Some(fixture::NOW.plus_seconds(599));
    let mut driver = Driver::with(160, 60, late);
    driver.press("j");
    driver.wait(800);
    driver.press("w");
    assert!(
        toast(&driver).contains("within ten minutes"),
        "{}",
        toast(&driver)
    );
}

/// All five are marked; all but the third have been read.
fn marked() -> Driver {
    let mut driver = Driver::with(160, 60, five());
    for n in 1..=5 {
        driver.press("j");
        driver.wait(if n == 3 { 100 } else { 800 });
        driver.press("space");
    }
    assert_eq!(driver.state.model.queue.marks.len(), 5);
    driver
}

fn answer(driver: &mut Driver, id: ApprovalId, request: &DecisionRequest, problem: Option<&str>) {
    let result = match problem {
        Some(problem) => Err(Box::new(Problem::new(
            ProblemKind::Conflict,
            "already decided",
            problem,
        ))),
        None => {
            let mut approval = driver.state.model.world().approvals[&id].clone();
            approval.state = ApprovalState::Approved;
            Ok(Box::new(Outcome::Decide(approval)))
        }
    };
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(Command::Decide(Decide {
            approval_id: id,
            decision: request.clone(),
        })),
        result,
    });
    driver.draw();
}

#[test]
fn marks_open_a_table_that_leaves_out_with_reasons_and_sends_one_by_one() {
    let mut driver = marked();
    driver.press("a");
    let text = driver.text();
    for said in [
        "5 marked cards",
        "3 of 5 marked: each runs once.",
        "left out: high risk: only on its own card",
        "left out: its card was not read to the end",
        "[ Cancel ]",
        "Allow 3 once",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    // Cancel has the focus.
    driver.wait(2_000);
    driver.press("enter");
    assert!(driver.state.modals.is_empty() && decided(&driver).is_empty());

    driver.press("a tab enter");
    assert!(decided(&driver).is_empty(), "too soon");
    assert!(toast(&driver).contains("not armed"), "{}", toast(&driver));
    driver.wait(700);
    driver.press("enter");
    // One at a time, each bound to what was read.
    let sent = decided(&driver);
    assert_eq!(sent.len(), 1);
    let (first, request) = sent[0].clone();
    assert_eq!(first, fixture::approval_id(1));
    assert_eq!(
        (request.decision, request.digest.as_str(), request.revision),
        (DecisionKind::Approve, "01".repeat(32).as_str(), Some(1))
    );
    assert!(request.seen_ms.is_some_and(|ms| ms >= 500));
    assert!(request.batch, "its call can be taken back for a while");
    // The second changes before it is its turn: it is not sent.
    driver
        .state
        .model
        .world_mut()
        .approvals
        .get_mut(&fixture::approval_id(2))
        .unwrap()
        .revision = 2;
    answer(&mut driver, first, &request, None);
    let sent = decided(&driver);
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[1].0, fixture::approval_id(5));
    answer(&mut driver, sent[1].0, &sent[1].1, Some("denied by ben"));
    let text = driver.text();
    for said in [
        "not taken: changed or settled meanwhile",
        "denied by ben",
        "1 of 5 done",
        "[ Close ]",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(
        toast(&driver).contains("1; 2 not taken, 2 left out"),
        "{}",
        toast(&driver)
    );
    driver.press("enter");
    assert!(driver.state.modals.is_empty());
    assert_eq!(decided(&driver).len(), 2);
}

#[test]
fn marked_shapes_hold_as_long_as_the_table_says() {
    let mut driver = marked();
    driver.press("s");
    let text = driver.text();
    for said in [
        "3 of 5 marked: each runs; the same call runs again without asking.",
        "until 20:00 (in 8h), while this session lasts",
        "+ longer, - shorter",
        "Allow 3 shapes",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    driver.wait(800);
    driver.press("+");
    let text = driver.text();
    assert!(text.contains("(in 24h)"), "{text}");
    driver.press("s");
    assert!(decided(&driver).is_empty(), "what it says has just changed");
    driver.wait(800);
    driver.press("s");
    let (first, request) = decided(&driver).pop().unwrap();
    // Two looks of 800 ms went by since the table opened.
    let expected = (Some(DecisionScope::Session), Some(24 * 3600 - 1));
    assert_eq!((request.scope, request.expires_in_seconds), expected);
    // What was sent says how long: it is the same for the others.
    driver.press("-");
    answer(&mut driver, first, &request, None);
    let (second, request) = decided(&driver).pop().unwrap();
    assert_ne!(first, second);
    assert_eq!((request.scope, request.expires_in_seconds), expected);
}

#[test]
fn closing_the_table_stops_what_was_not_sent() {
    let mut driver = marked();
    driver.press("d tab");
    driver.wait(800);
    driver.press("enter");
    let sent = decided(&driver);
    assert_eq!((sent.len(), sent[0].1.decision), (1, DecisionKind::Deny));
    driver.press("esc");
    assert!(
        toast(&driver).contains("stopped: 3 were not sent"),
        "{}",
        toast(&driver)
    );
    answer(&mut driver, sent[0].0, &sent[0].1, None);
    assert_eq!(decided(&driver).len(), 1);
}

#[test]
fn a_reason_is_asked_first_and_some_keys_take_one_card() {
    let mut driver = marked();
    driver.press("e");
    assert!(driver.state.modals.is_empty());
    assert!(
        toast(&driver).contains("one card at a time"),
        "{}",
        toast(&driver)
    );
    driver.press("D");
    driver.type_text("not today");
    driver.press("enter tab");
    assert!(driver.text().contains("not today"));
    driver.wait(800);
    driver.press("enter");
    let sent = decided(&driver);
    assert_eq!(sent[0].1.reason.as_deref(), Some("not today"));
    // Shapes: with the permission for the session.
    let mut driver = marked();
    driver.press("s tab");
    driver.wait(800);
    driver.press("enter");
    assert_eq!(decided(&driver)[0].1.scope, Some(DecisionScope::Session));
    // A lost connection ends it.
    let mut driver = marked();
    driver.press("a tab");
    driver.wait(800);
    driver.hear(DaemonMessage::Disconnected { why: "gone".into() });
    driver.draw();
    driver.wait(800);
    driver.press("enter");
    assert!(decided(&driver).is_empty());
}
