//! Refused calls and equal calls on the Queue of the console.

use leverframe::console::item::ItemKey;
use leverframe::protocol::approval::Approval;
use leverframe::protocol::enums::Risk;
use leverframe::protocol::request::{Command, DismissRefusedCalls};
use leverframe::protocol::session::{RefusedCall, RefusedCalls};
use leverframe::protocol::snapshot::Snapshot;
use leverframe::tui::message::Effect;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_frames::screens::check;

fn submitted(driver: &Driver) -> Vec<&Command> {
    driver
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Submit(command) => Some(command),
            _ => None,
        })
        .collect()
}

fn refusing() -> Snapshot {
    let mut snapshot = fixture::busy();
    snapshot.approvals = vec![fixture::approval(1, Risk::Low)];
    snapshot.continuations.clear();
    snapshot.deliveries.clear();
    snapshot.sessions[0].refused_calls = Some(RefusedCalls {
        count: 12,
        last_at: fixture::ago(90),
        newest: vec![RefusedCall {
            continuation_id: fixture::continuation_id(1),
            tool: "write_file".to_owned(),
            preview: "write_file notes\u{1b}[2J.md".to_owned(),
            rule: "too many approvals wait in this session (approvals.max_pending_per_session = 5)"
                .to_owned(),
        }],
    });
    snapshot
}

fn selected(w: u16, h: u16) -> Driver {
    let mut driver = Driver::with(w, h, refusing());
    let session = driver.state.model.world().sessions.values();
    let refused = session
        .filter(|session| session.refused_calls.is_some())
        .map(|session| ItemKey::RefusedCalls(session.id))
        .next()
        .unwrap();
    let row = fixture::key(refused);
    let order = &driver.state.model.queue.order;
    let at = order.iter().position(|key| *key == row).unwrap();
    for _ in 0..=at {
        driver.press("j");
    }
    driver.press("enter");
    driver.wait(600);
    driver
}

#[test]
fn queue_refused_calls() {
    check("queue_refused_calls", selected);
}

#[test]
fn one_key_dismisses_them() {
    let mut driver = selected(120, 40);
    driver.press("a");
    assert!(submitted(&driver).is_empty(), "{:?}", submitted(&driver));
    driver.press("n");
    let sent = submitted(&driver);
    let [Command::DismissRefusedCalls(DismissRefusedCalls { session_id })] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    let world = driver.state.model.world();
    assert!(world.sessions[session_id].refused_calls.is_some());
}

/// Three equal calls of one session, and one of the same arguments that is of high risk.
fn equal() -> Snapshot {
    let call = |n: u8, risk: Risk| Approval {
        digest: "the same".to_owned(),
        session_id: Some(fixture::session_id(1)),
        ..fixture::approval(n, risk)
    };
    let mut snapshot = fixture::busy();
    snapshot.approvals = vec![
        call(1, Risk::Medium),
        call(2, Risk::Medium),
        call(3, Risk::Medium),
        call(4, Risk::High),
    ];
    snapshot.continuations.clear();
    snapshot.deliveries.clear();
    snapshot
}

#[test]
fn equal_calls_are_one_row_and_one_decision() {
    let mut driver = Driver::with(120, 40, equal());
    let rows: Vec<_> = driver
        .state
        .model
        .queue
        .order
        .iter()
        .filter(|key| matches!(key.item, ItemKey::Approval(_)))
        .cloned()
        .collect();
    assert_eq!(
        rows.len(),
        2,
        "the high risk has a row of its own: {rows:?}"
    );
    let screen = driver.text();
    assert!(screen.contains("×3 "), "{screen}");
    let at = rows
        .iter()
        .position(|key| key.item == ItemKey::Approval(fixture::approval_id(1)))
        .unwrap();
    for _ in 0..=at {
        driver.press("j");
    }
    driver.press("enter");
    driver.wait(600);
    driver.press("end");
    driver.wait(600);
    driver.press("a");
    let screen = driver.text();
    assert!(screen.contains("Allow 3 once"), "{screen}");
}
