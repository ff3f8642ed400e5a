//! `z`: what was last done here is taken back while that can be, and named.

use std::sync::Arc;

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::approval::Approval;
use leverframe::protocol::command::DecisionRequest;
use leverframe::protocol::enums::*;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::policy::PolicyPatch;
use leverframe::protocol::request::{Command, Decide, Outcome, RemoveGrant, SetPolicy};
use leverframe::tui::message::Effect;
use leverframe::tui::state::modal::Modal;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn sent(driver: &Driver) -> Vec<Command> {
    driver
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Submit(command) => Some(command.clone()),
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

fn allowed() -> (Driver, Approval) {
    allowed_with(0)
}

/// The first card is allowed, and the engine says so, and that the call starts so much later.
fn allowed_with(grace_seconds: i64) -> (Driver, Approval) {
    let mut driver = Driver::with(160, 60, fixture::busy());
    driver.press("j");
    driver.wait(800);
    driver.press("a");
    let command = sent(&driver).pop().unwrap();
    let mut approval = fixture::approval(1, Risk::Medium);
    approval.state = ApprovalState::Approved;
    approval.tool_call_id = Some(fixture::tool_call(9, ToolCallState::Approved, None).id);
    approval.decision = Some(leverframe::protocol::approval::Decision {
        decision: DecisionKind::Approve,
        scope: Some(DecisionScope::Once),
        by: "operator:1000".into(),
        surface: Surface::Console,
        at: driver.now().wall,
        reason: None,
        until: None,
        answer: None,
        starts_at: (grace_seconds > 0).then(|| driver.now().wall.plus_seconds(grace_seconds)),
    });
    event(
        &mut driver,
        200,
        EventBody::ApprovalDecided {
            approval: Box::new(approval.clone()),
        },
    );
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(command),
        result: Ok(Box::new(Outcome::Decide(approval.clone()))),
    });
    (driver, approval)
}

#[test]
fn an_approval_is_revoked_until_its_call_starts() {
    let (mut driver, approval) = allowed();
    driver.press("z");
    let Some(Command::Decide(Decide {
        approval_id,
        decision,
    })) = sent(&driver).pop()
    else {
        panic!("{:?}", sent(&driver))
    };
    assert_eq!(
        (approval_id, decision.decision, decision.digest),
        (approval.id, DecisionKind::Revoke, approval.digest.clone())
    );
    assert!(
        toast(&driver).contains("allowed once write_file"),
        "{}",
        toast(&driver)
    );
    // Once is enough.
    let count = sent(&driver).len();
    driver.press("z");
    assert_eq!(sent(&driver).len(), count);

    let (mut driver, approval) = allowed();
    event(
        &mut driver,
        201,
        EventBody::ToolStarted {
            call_id: approval.tool_call_id.unwrap(),
            name: "write_file".into(),
            attempt: 1,
        },
    );
    assert_eq!(
        driver.state.model.world().approvals[&approval.id].state,
        ApprovalState::Consumed
    );
    let count = sent(&driver).len();
    driver.press("z");
    assert_eq!(sent(&driver).len(), count);
    assert!(
        toast(&driver).contains("cannot undo") && toast(&driver).contains("it has started"),
        "{}",
        toast(&driver)
    );
}

#[test]
fn a_call_that_is_held_back_says_when_it_starts() {
    let mut driver = allowed_with(3).0;
    assert!(
        driver.text().contains("starts in 3 s, z revokes"),
        "{}",
        driver.text()
    );
    // A second later it says so by itself.
    let next = driver.state.next_deadline().unwrap();
    assert!(next.0 - driver.steady <= 1_000);
    driver.wait(1_100);
    assert!(driver.text().contains("starts in 2 s"), "{}", driver.text());
    driver.wait(2_000);
    assert!(!driver.text().contains("starts in"), "{}", driver.text());
}

fn decided(driver: &mut Driver, decision: DecisionRequest, state: ApprovalState) {
    let mut approval = fixture::approval(1, Risk::Medium);
    approval.state = state;
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(Command::Decide(Decide {
            approval_id: approval.id,
            decision,
        })),
        result: Ok(Box::new(Outcome::Decide(approval))),
    });
}

fn request(word: DecisionKind) -> DecisionRequest {
    DecisionRequest {
        decision: word,
        scope: None,
        expires_in_seconds: None,
        digest: "01".repeat(32),
        revision: Some(1),
        confirm_code: None,
        reason: None,
        args: None,
        answer: None,
        minutes: None,
        extra: None,
        seen_ms: Some(600),
        rule: None,
        batch: false,
    }
}

#[test]
fn a_permission_goes_when_its_call_has_started_and_a_refusal_stays() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("z");
    assert!(
        toast(&driver).contains("no decision of this console"),
        "{}",
        toast(&driver)
    );
    decided(
        &mut driver,
        request(DecisionKind::Deny),
        ApprovalState::Denied,
    );
    let shape = DecisionRequest {
        scope: Some(DecisionScope::Session),
        ..request(DecisionKind::Approve)
    };
    driver
        .state
        .model
        .world_mut()
        .approvals
        .get_mut(&fixture::approval_id(1))
        .unwrap()
        .state = ApprovalState::Consumed;
    decided(&mut driver, shape, ApprovalState::Approved);
    driver.press("z");
    assert_eq!(
        sent(&driver).pop(),
        Some(Command::RemoveGrant(RemoveGrant {
            id: fixture::approval_id(1)
        }))
    );
    driver.press("z");
    assert!(
        toast(&driver).contains("the model has been told"),
        "{}",
        toast(&driver)
    );

    // Put off: it is back at once.
    let snooze = DecisionRequest {
        minutes: Some(15),
        ..request(DecisionKind::Snooze)
    };
    driver
        .state
        .model
        .world_mut()
        .approvals
        .get_mut(&fixture::approval_id(1))
        .unwrap()
        .state = ApprovalState::Pending;
    decided(&mut driver, snooze, ApprovalState::Pending);
    assert_eq!(driver.state.model.queue.snoozed.len(), 1);
    driver.press("z");
    assert!(driver.state.model.queue.snoozed.is_empty());
}

#[test]
fn lowered_autonomy_comes_back_only_after_a_question() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    let set = |driver: &mut Driver, to: Autonomy| {
        driver.press("4 j j A");
        let steps = if to == Autonomy::Supervised { "k" } else { "j" };
        driver.press(steps);
        driver.press("enter");
    };
    // `telegram` is semi_auto; down to supervised.
    set(&mut driver, Autonomy::Supervised);
    let Some(command @ Command::SetPolicy(_)) = sent(&driver).pop() else {
        panic!("{:?} {}", sent(&driver), toast(&driver))
    };
    let mut channel = driver.state.model.world().channels["telegram"].clone();
    channel.policy.autonomy = Autonomy::Supervised;
    channel.policy.version = 4;
    event(
        &mut driver,
        200,
        EventBody::ChannelState {
            channel: Box::new(channel.clone()),
        },
    );
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(command),
        result: Ok(Box::new(Outcome::SetPolicy(channel))),
    });
    let count = sent(&driver).len();
    driver.press("z");
    assert_eq!(sent(&driver).len(), count, "it asks first");
    assert!(matches!(
        driver.state.modals.last(),
        Some(Modal::Confirm(_))
    ));
    driver.press("tab enter");
    assert_eq!(
        sent(&driver).pop(),
        Some(Command::SetPolicy(SetPolicy {
            channel: "telegram".into(),
            patch: PolicyPatch {
                autonomy: Some(Autonomy::SemiAuto),
                if_version: Some(4),
                ..PolicyPatch::default()
            }
        }))
    );
}

/// The level of `telegram` is set, and the engine says so.
fn levelled(driver: &mut Driver, command: Command, to: Autonomy, version: u64) {
    let mut channel = driver.state.model.world().channels["telegram"].clone();
    channel.policy.autonomy = to;
    channel.policy.version = version;
    event(
        driver,
        200 + version,
        EventBody::ChannelState {
            channel: Box::new(channel.clone()),
        },
    );
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(command),
        result: Ok(Box::new(Outcome::SetPolicy(channel))),
    });
}

#[test]
fn a_step_stays_the_last_until_it_is_taken_back_and_is_no_step_then() {
    let (mut driver, approval) = allowed();
    driver.press("4 j j A k enter");
    let command = sent(&driver).pop().unwrap();
    assert!(matches!(command, Command::SetPolicy(_)), "{command:?}");
    levelled(&mut driver, command, Autonomy::Supervised, 4);
    let count = sent(&driver).len();
    for _ in 0..2 {
        driver.press("z");
        assert!(matches!(
            driver.state.modals.last(),
            Some(Modal::Confirm(_))
        ));
        assert!(driver.text().contains("supervised on telegram"));
        driver.press("esc");
        assert_eq!(sent(&driver).len(), count, "the step before is not touched");
    }
    driver.press("z");
    driver.press("tab enter");
    let command = sent(&driver).pop().unwrap();
    assert!(matches!(command, Command::SetPolicy(_)), "{command:?}");
    levelled(&mut driver, command, Autonomy::SemiAuto, 5);
    // The next is the step before, not the taking back.
    driver.press("z");
    assert!(driver.state.modals.is_empty());
    let Some(Command::Decide(Decide {
        approval_id,
        decision,
    })) = sent(&driver).pop()
    else {
        panic!("{:?}", sent(&driver))
    };
    assert_eq!(
        (approval_id, decision.decision),
        (approval.id, DecisionKind::Revoke)
    );
}

#[test]
fn a_level_that_would_have_ended_by_now_does_not_come_back_for_good() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    // `telegram` was semi_auto for a while only.
    let known = driver
        .state
        .model
        .world_mut()
        .channels
        .get_mut("telegram")
        .unwrap();
    known.policy.expires_at = Some(fixture::NOW);
    driver.press("4 j j A k enter");
    let Some(command @ Command::SetPolicy(_)) = sent(&driver).pop() else {
        panic!("{:?} {}", sent(&driver), toast(&driver))
    };
    let mut channel = driver.state.model.world().channels["telegram"].clone();
    channel.policy.autonomy = Autonomy::Supervised;
    event(
        &mut driver,
        200,
        EventBody::ChannelState {
            channel: Box::new(channel.clone()),
        },
    );
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(command),
        result: Ok(Box::new(Outcome::SetPolicy(channel))),
    });
    let count = sent(&driver).len();
    driver.press("z");
    assert_eq!(sent(&driver).len(), count);
    assert!(driver.state.modals.is_empty());
    assert!(
        toast(&driver).contains("would have ended"),
        "{}",
        toast(&driver)
    );
}
