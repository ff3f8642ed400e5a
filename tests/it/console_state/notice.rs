//! The bell and notifications: only for who looks elsewhere, together, and not too often.

use std::sync::Arc;

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::enums::{ApprovalState, Risk};
use leverframe::protocol::event::{Event, EventBody};
use leverframe::tui::message::{Effect, Message};

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn quiet() -> Driver {
    let mut snapshot = fixture::snapshot();
    snapshot.approvals.clear();
    Driver::with(80, 24, snapshot)
}

fn send(driver: &mut Driver, seq: u64, body: EventBody) -> Vec<Effect> {
    let event = Event {
        seq: Some(1_000_000 + seq),
        at: driver.now().wall,
        session_id: Some(fixture::session_id(1)),
        continuation_id: Some(fixture::continuation_id(1)),
        body,
    };
    driver.hear(DaemonMessage::Event(Arc::new(event)))
}

fn arrives(driver: &mut Driver, n: u8) -> Vec<Effect> {
    let approval = Box::new(fixture::approval(n, Risk::Medium));
    send(
        driver,
        u64::from(n) * 2,
        EventBody::ApprovalRequested { approval },
    )
}

fn rung(effects: &[Effect]) -> Option<usize> {
    let waiting = effects.iter().find_map(|effect| match effect {
        Effect::Notify(waiting) => Some(*waiting),
        _ => None,
    });
    assert_eq!(effects.contains(&Effect::Bell), waiting.is_some());
    waiting
}

#[test]
fn who_looks_is_not_rung_for() {
    let mut driver = quiet();
    assert_eq!(rung(&arrives(&mut driver, 1)), None);
    driver.send(Message::FocusLost);
    driver.effects.clear();
    driver.wait(60_000);
    assert_eq!(rung(&driver.effects), None, "what was seen is no news");
}

#[test]
fn what_comes_together_is_told_together() {
    let mut driver = quiet();
    driver.send(Message::FocusLost);
    assert_eq!(rung(&arrives(&mut driver, 1)), Some(1));
    driver.wait(100);
    assert_eq!(rung(&arrives(&mut driver, 2)), None);
    assert_eq!(rung(&arrives(&mut driver, 3)), None);
    let due = driver.state.next_deadline().unwrap();
    assert!(due <= driver.now().steady.plus(9_900), "{due:?}");
    driver.effects.clear();
    driver.wait(9_800);
    assert_eq!(rung(&driver.effects), None);
    driver.wait(100);
    assert_eq!(rung(&driver.effects), Some(3));
    driver.effects.clear();
    driver.wait(60_000);
    assert_eq!(rung(&driver.effects), None, "once is enough");
}

#[test]
fn what_was_seen_or_decided_meanwhile_does_not_ring() {
    let mut driver = quiet();
    driver.send(Message::FocusLost);
    assert_eq!(rung(&arrives(&mut driver, 1)), Some(1));
    arrives(&mut driver, 2);
    driver.send(Message::FocusGained);
    driver.send(Message::FocusLost);
    driver.effects.clear();
    driver.wait(20_000);
    assert_eq!(rung(&driver.effects), None);

    arrives(&mut driver, 3);
    arrives(&mut driver, 4);
    for n in 1..5 {
        let mut approval = fixture::approval(n, Risk::Medium);
        approval.state = ApprovalState::Denied;
        let approval = Box::new(approval);
        send(
            &mut driver,
            u64::from(n) * 2 + 9,
            EventBody::ApprovalDecided { approval },
        );
    }
    driver.effects.clear();
    driver.wait(20_000);
    assert_eq!(rung(&driver.effects), None);
}
