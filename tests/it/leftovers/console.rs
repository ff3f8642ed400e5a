//! What a run left, on the Queue of the console.

use std::sync::Arc;

use leverframe::console::item::ItemKey;
use leverframe::console::message::DaemonMessage;
use leverframe::protocol::enums::Risk;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::ids::ToolCallId;
use leverframe::protocol::leftovers::{BlockedRename, Leftovers, NewPlaces, SetAside};
use leverframe::protocol::request::{Command, DismissLeftovers};
use leverframe::protocol::snapshot::Snapshot;
use leverframe::tui::message::Effect;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture::{self, NOW};
use crate::console_frames::screens::{check, check_at};

fn call_id() -> ToolCallId {
    ToolCallId::from_bytes([7; 16])
}

/// A run with names that want to be the screen's.
fn left() -> Leftovers {
    let name = |path: &str| format!("{path}.set-aside-{}", call_id());
    Leftovers {
        tool_call_id: call_id(),
        session_id: fixture::session_id(1),
        continuation_id: fixture::continuation_id(1),
        channel: "telegram".into(),
        conversation: "100".into(),
        tool: "execute_command".into(),
        preview: "sh -c 'npm install'".into(),
        workspace: "/home/anna/bots/team".into(),
        new: NewPlaces {
            set_aside: vec![
                SetAside {
                    path: "node_modules/x/.vscode".into(),
                    name: name(".vscode"),
                },
                SetAside {
                    path: "a\u{1b}[2J\u{202e}b/.envrc".into(),
                    name: name(".envrc"),
                },
            ],
            in_place: vec![BlockedRename {
                path: "locked/.git".into(),
                problem: "Operation not permitted".into(),
            }],
            more: 3,
            incomplete: None,
            interrupted: true,
        },
        found_at: fixture::ago(90),
        dismissed_at: None,
        by: None,
    }
}

fn world() -> Snapshot {
    Snapshot {
        approvals: vec![fixture::approval(1, Risk::Low)],
        continuations: vec![],
        deliveries: vec![],
        leftovers: vec![left()],
        ..fixture::busy()
    }
}

fn selected(w: u16, h: u16) -> Driver {
    let mut driver = Driver::with(w, h, world());
    let at = driver
        .state
        .model
        .queue
        .order
        .iter()
        .position(|key| *key == fixture::key(ItemKey::Leftovers(call_id())))
        .unwrap();
    for _ in 0..=at {
        driver.press("j");
    }
    driver.press("enter");
    driver.wait(600);
    driver
}

#[test]
fn queue_leftovers() {
    check("queue_leftovers", selected);
    check_at("queue_leftovers", &[(160, 45)], selected);
}

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

#[test]
fn one_key_dismisses_it_once_it_was_seen() {
    let mut driver = selected(120, 40);
    // Keys of other decisions mean nothing here.
    driver.press("a u");
    assert!(submitted(&driver).is_empty(), "{:?}", submitted(&driver));
    driver.press("n");
    let dismiss = Command::DismissLeftovers(DismissLeftovers {
        tool_call_id: call_id(),
    });
    assert_eq!(submitted(&driver), [&dismiss]);
}

#[test]
fn it_comes_and_goes_with_the_events_of_the_engine() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    let mut tell = |seq: u64, leftovers: Leftovers| {
        let event = Event {
            seq: Some(seq),
            at: NOW,
            session_id: Some(leftovers.session_id),
            continuation_id: Some(leftovers.continuation_id),
            body: EventBody::LeftoversChanged {
                leftovers: Box::new(leftovers),
            },
        };
        driver.hear(DaemonMessage::Event(Arc::new(event)));
        driver
            .state
            .model
            .queue
            .order
            .contains(&fixture::key(ItemKey::Leftovers(call_id())))
    };
    assert!(tell(101, left()));
    let dismissed = Leftovers {
        dismissed_at: Some(NOW),
        by: Some("anna".into()),
        ..left()
    };
    assert!(!tell(102, dismissed));
}
