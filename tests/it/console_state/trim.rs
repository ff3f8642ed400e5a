//! A console that stays open for weeks holds what is open and the newest of what ended, not everything.

use std::sync::Arc;

use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::ids::{ApprovalId, ContinuationId, SessionId, ToolCallId};
use leverframe::protocol::words::*;
use leverframe::tui::message::Message;
use leverframe::tui::state::queue::ItemKey;
use leverframe::tui::state::trim::NEWEST;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn bytes(n: u32) -> [u8; 16] {
    let mut bytes = [1, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes[12..].copy_from_slice(&n.to_be_bytes());
    bytes
}

/// A console that hears events one after the other.
struct Listener {
    driver: Driver,
    seq: u64,
}

impl Listener {
    fn new() -> Self {
        Self {
            driver: Driver::with(120, 40, fixture::busy()),
            seq: 1_000_000,
        }
    }

    fn hear(&mut self, n: u32, body: EventBody) {
        self.seq += 1;
        let event = Event {
            seq: Some(self.seq),
            at: self.driver.now().wall,
            session_id: Some(SessionId::from_bytes(bytes(n))),
            continuation_id: Some(ContinuationId::from_bytes(bytes(n))),
            body,
        };
        self.driver.send(Message::Event(Arc::new(event)));
    }

    /// A session with one turn that asks, is denied, leaves output behind and ends.
    fn day(&mut self, n: u32) {
        let mut session = fixture::session(1, "desk", "ana", "hello");
        session.id = SessionId::from_bytes(bytes(n));
        session.open_continuation = None;
        session.pending_approvals = 0;
        self.hear(
            n,
            EventBody::SessionStarted {
                session: Box::new(session),
            },
        );
        self.ask(n);
        let call_id = ToolCallId::from_bytes(bytes(n));
        let text = "output".into();
        self.hear(n, EventBody::ToolOutput { call_id, text });
        let mut approval = Self::approval(n);
        approval.state = ApprovalState::Denied;
        self.hear(
            n,
            EventBody::ApprovalDecided {
                approval: Box::new(approval),
            },
        );
        self.hear(
            n,
            EventBody::ContinuationCompleted {
                preview: "done".into(),
                usage: fixture::usage(),
            },
        );
        self.hear(
            n,
            EventBody::SessionEnded {
                reason: "idle".into(),
            },
        );
        // What was decided stays on screen some seconds.
        self.driver.wait(100);
    }

    fn approval(n: u32) -> leverframe::protocol::approval::Approval {
        let mut approval = fixture::approval(1, Risk::Medium);
        approval.id = ApprovalId::from_bytes(bytes(n));
        approval.session_id = Some(SessionId::from_bytes(bytes(n)));
        approval
    }

    fn ask(&mut self, n: u32) {
        let approval = Box::new(Self::approval(n));
        self.hear(n, EventBody::ApprovalRequested { approval });
    }
}

#[test]
fn a_month_of_decisions_leaves_the_newest_and_all_that_waits() {
    let mut console = Listener::new();
    let first: Vec<ApprovalId> = console
        .driver
        .state
        .world
        .pending()
        .map(|approval| approval.id)
        .collect();
    assert!(!first.is_empty(), "something waits from the beginning");
    console.ask(1);
    let waits = ApprovalId::from_bytes(bytes(1));
    for n in 2..1_500 {
        console.day(n);
    }
    let world = &console.driver.state.world;
    let most = NEWEST + 60;
    let held = [
        ("approvals", world.approvals.len() - first.len()),
        ("turns", world.continuations.len()),
        ("sessions", world.sessions.len()),
        ("outputs", world.tool_output.len()),
        ("rows of the queue", console.driver.state.queue.order.len()),
        ("rows of Live", console.driver.state.live.order.len()),
    ];
    for (what, count) in held {
        assert!(count <= most, "{what}: {count}");
    }
    for id in first.iter().chain([&waits]) {
        assert!(
            world.approvals.contains_key(id),
            "{id} waits and is forgotten"
        );
    }
    assert!(
        world
            .approvals
            .contains_key(&ApprovalId::from_bytes(bytes(1_499))),
        "the newest is still known"
    );
}

#[test]
fn the_selected_row_stays_however_much_comes_after_it() {
    let mut console = Listener::new();
    console.ask(1);
    let key = ItemKey::Approval(ApprovalId::from_bytes(bytes(1)));
    for _ in 0..20 {
        if console.driver.state.queue.selected.as_ref() == Some(&key) {
            break;
        }
        console.driver.press("j");
    }
    assert_eq!(console.driver.state.queue.selected.as_ref(), Some(&key));
    let mut approval = Listener::approval(1);
    approval.state = ApprovalState::Denied;
    console.hear(
        1,
        EventBody::ApprovalDecided {
            approval: Box::new(approval),
        },
    );
    for n in 2..700 {
        console.day(n);
    }
    assert_eq!(console.driver.state.queue.selected.as_ref(), Some(&key));
    assert!(
        console
            .driver
            .state
            .world
            .approvals
            .contains_key(&ApprovalId::from_bytes(bytes(1)))
    );
}
