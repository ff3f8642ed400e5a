//! A paused conversation on the Queue of the console.

use leverframe::console::item::ItemKey;
use leverframe::protocol::enums::{FloodKind, Risk};
use leverframe::protocol::request::{Command, UpdateSession};
use leverframe::protocol::session::Flood;
use leverframe::protocol::snapshot::Snapshot;
use leverframe::tui::message::Effect;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_frames::screens::check;

fn flooded() -> Snapshot {
    let mut snapshot = fixture::busy();
    snapshot.approvals = vec![fixture::approval(1, Risk::Low)];
    snapshot.continuations.clear();
    snapshot.deliveries.clear();
    snapshot.sessions[0].paused = true;
    snapshot.sessions[0].queued = 2;
    snapshot.sessions[0].flood = Some(Flood {
        of: FloodKind::Denials,
        count: 3,
        at: fixture::ago(90),
    });
    snapshot
}

fn selected(w: u16, h: u16) -> Driver {
    let mut driver = Driver::with(w, h, flooded());
    let order = &driver.state.model.queue.order;
    let at = order
        .iter()
        .position(|key| matches!(key.item, ItemKey::Flood(_)))
        .unwrap();
    for _ in 0..=at {
        driver.press("j");
    }
    driver.wait(600);
    driver
}

#[test]
fn queue_flood() {
    check("queue_flood", selected);
}

#[test]
fn one_key_lets_it_go_on() {
    let mut driver = selected(120, 40);
    for key in ["a", "n"] {
        driver.press(key);
    }
    driver.press("c");
    let sent: Vec<&Command> = driver
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Submit(command) => Some(command),
            _ => None,
        })
        .collect();
    let [
        Command::UpdateSession(UpdateSession {
            paused, session_id, ..
        }),
    ] = sent.as_slice()
    else {
        panic!("{sent:?}");
    };
    assert_eq!(*paused, Some(false));
    assert_eq!(*session_id, fixture::session_id(1));
}
