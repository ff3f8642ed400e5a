//! What came of a call is seen where it was allowed.

use std::sync::Arc;

use leverframe::console::message::DaemonMessage;
use leverframe::console::queue::LINGER_MS;
use leverframe::protocol::approval::{Approval, Decision};
use leverframe::protocol::enums::*;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::tui::state::background_search::SearchTarget;
use leverframe::tui::state::screen::Screen;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn event(driver: &mut Driver, seq: u64, body: EventBody) {
    let event = Event {
        seq: Some(seq),
        at: driver.now().wall,
        session_id: Some(fixture::session_id(1)),
        continuation_id: Some(fixture::continuation_id(1)),
        body,
    };
    driver.hear(DaemonMessage::Event(Arc::new(event)));
}

fn decided(driver: &Driver, word: DecisionKind, state: ApprovalState) -> Approval {
    let mut approval = fixture::approval(1, Risk::Medium);
    approval.tool_call_id = Some(fixture::tool_call(9, ToolCallState::Approved, None).id);
    approval.state = state;
    approval.decision = Some(Decision {
        until: None,
        answer: None,
        starts_at: None,
        decision: word,
        scope: Some(DecisionScope::Once),
        by: "jo".into(),
        surface: Surface::Chat,
        at: driver.now().wall,
        reason: None,
    });
    approval
}

fn decide(driver: &mut Driver, word: DecisionKind, state: ApprovalState) -> Approval {
    let approval = decided(driver, word, state);
    event(
        driver,
        200,
        EventBody::ApprovalDecided {
            approval: Box::new(approval.clone()),
        },
    );
    approval
}

fn start(driver: &mut Driver, approval: &Approval) {
    let body = EventBody::ToolStarted {
        call_id: approval.tool_call_id.unwrap(),
        name: "write_file".into(),
        attempt: 1,
    };
    event(driver, 201, body);
}

fn finish(driver: &mut Driver, approval: &Approval, state: ToolCallState, preview: &str) {
    let body = EventBody::ToolFinished {
        call_id: approval.tool_call_id.unwrap(),
        name: "write_file".into(),
        state,
        preview: preview.into(),
        duration_ms: Some(1_230),
        cached: None,
    };
    event(driver, 202, body);
}

/// The list without the card: whether the row is there, and what it says.
fn row(driver: &mut Driver, words: &str) -> bool {
    driver.text().lines().any(|line| line.contains(words))
}

#[test]
fn the_row_and_the_card_follow_the_call_that_was_allowed() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("j");
    let approval = decide(&mut driver, DecisionKind::Approve, ApprovalState::Approved);
    start(&mut driver, &approval);
    let text = driver.text();
    assert!(text.contains("allowed once by jo, running"), "{text}");
    assert!(text.contains("allowed once by jo (chat) at "), "{text}");
    finish(
        &mut driver,
        &approval,
        ToolCallState::Failed,
        "exit status 3 after 1.2 s\nno such\u{7} table",
    );
    let text = driver.text();
    assert!(
        text.contains("allowed once by jo, failed after 1.2s"),
        "{text}"
    );
    assert!(text.contains("exit status 3 after 1.2 s"), "{text}");
    assert!(text.contains("no such"), "{text}");
    assert!(!text.contains('\u{7}'), "{text:?}");
}

#[test]
fn a_row_stays_while_its_call_runs_and_some_seconds_longer() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    let approval = decide(&mut driver, DecisionKind::Approve, ApprovalState::Approved);
    start(&mut driver, &approval);
    driver.wait(3 * LINGER_MS);
    assert!(row(&mut driver, "by jo, running"), "{}", driver.text());
    finish(&mut driver, &approval, ToolCallState::Succeeded, "written");
    driver.wait(LINGER_MS - 100);
    assert!(row(&mut driver, "succeeded in 1.2s"), "{}", driver.text());
    driver.wait(200);
    assert!(!row(&mut driver, "by jo"), "{}", driver.text());
}

#[test]
fn a_call_that_was_denied_has_no_result() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("j");
    let approval = decide(&mut driver, DecisionKind::Deny, ApprovalState::Denied);
    finish(
        &mut driver,
        &approval,
        ToolCallState::Denied,
        "denied by jo",
    );
    let text = driver.text();
    assert!(text.contains("denied by jo"), "{text}");
    assert!(!text.contains("result"), "{text}");
}

#[test]
fn a_new_connection_knows_what_came_of_the_newest_calls() {
    let mut snapshot = fixture::busy();
    let mut driver = Driver::with(120, 40, snapshot.clone());
    driver.press("j");
    let approval = decided(&driver, DecisionKind::Approve, ApprovalState::Consumed);
    let mut turn = fixture::continuation(1, ContinuationState::Completed);
    let mut call = fixture::tool_call(9, ToolCallState::Succeeded, Some("12 bytes written"));
    call.approval_id = Some(approval.id);
    call.duration_ms = Some(40);
    turn.tool_calls = vec![call];
    snapshot.approvals.retain(|one| one.id != approval.id);
    snapshot.approvals.push(approval);
    snapshot.continuations.push(turn);
    driver.hear(DaemonMessage::Snapshot(Box::new(snapshot)));
    let text = driver.text();
    assert!(text.contains("succeeded in 40ms"), "{text}");
    assert!(text.contains("12 bytes written"), "{text}");
}

/// `enter` on an open card goes to the step of its call, among others of the session.
#[test]
fn enter_on_a_card_goes_to_its_call_in_the_transcript() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("j");
    let mut approval = fixture::approval(1, Risk::Medium);
    approval.revision = 2;
    let call = fixture::tool_call(9, ToolCallState::Awaiting, None);
    approval.tool_call_id = Some(call.id);
    let body = EventBody::ApprovalRequested {
        approval: Box::new(approval),
    };
    event(&mut driver, 200, body);
    driver.press("enter enter");
    assert_eq!(driver.state.screen, Screen::Session);
    let mut entries = vec![
        fixture::user(1, "first"),
        fixture::model(2, "asks", vec![call]),
    ];
    entries.extend((3..40).map(|n| fixture::user(n, "later")));
    driver.answer_transcript(entries);
    assert_eq!(driver.state.screens.session.selected, Some(2));
    assert!(driver.text().contains("asks"), "{}", driver.text());
}

/// Where the step is not among the newest entries, it is looked for further back.
#[test]
fn an_old_call_is_looked_for_further_back() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("j");
    let approval = decide(&mut driver, DecisionKind::Approve, ApprovalState::Approved);
    driver.press("enter enter");
    let newest: Vec<_> = (500..600).map(|n| fixture::user(n, "later")).collect();
    driver.answer_transcript(newest);
    let background_search = driver.state.screens.session.background_search.as_ref();
    let call = approval.tool_call_id.map(SearchTarget::Call);
    assert_eq!(
        background_search.map(|background_search| background_search.target.clone()),
        call
    );
}
