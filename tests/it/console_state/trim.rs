//! A console that stays open for weeks holds what is open and the newest of what ended, not everything.

use leverframe::console::item::ItemKey;
use leverframe::console::opened::KEPT;
use leverframe::console::trim::NEWEST;
use leverframe::protocol::enums::*;
use leverframe::protocol::event::EventBody;
use leverframe::protocol::ids::ApprovalId;
use leverframe::protocol::shorten::PREVIEW_BYTES;

use crate::console_frames::fixture;
use crate::console_state::month::{Listener, bytes, question};

fn ask(console: &mut Listener, n: u32) {
    let approval = Box::new(question(n));
    console.hear(n, EventBody::ApprovalRequested { approval });
}

#[test]
fn a_month_of_decisions_leaves_the_newest_and_all_that_waits() {
    let mut console = Listener::new();
    let first: Vec<ApprovalId> = console
        .driver
        .state
        .model
        .world()
        .pending()
        .map(|approval| approval.id)
        .collect();
    assert!(!first.is_empty(), "something waits from the beginning");
    ask(&mut console, 1);
    let waits = ApprovalId::from_bytes(bytes(1));
    for _ in 2..600 {
        console.turn();
    }
    let world = &console.driver.state.model.world();
    let most = NEWEST + 60;
    for (what, count) in console.held() {
        if what == "bytes of arguments and diffs" {
            // The marks of what was cut, and what JSON escapes, come on top.
            let preview = 3 * PREVIEW_BYTES;
            let whole = 40 * 1024;
            assert!(count <= most * preview + KEPT * whole, "{what}: {count}");
        } else {
            assert!(count <= most + first.len(), "{what}: {count}");
        }
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
            .contains_key(&ApprovalId::from_bytes(bytes(599))),
        "the newest is still known"
    );
}

#[test]
fn the_selected_row_stays_however_much_comes_after_it() {
    let mut console = Listener::new();
    ask(&mut console, 1);
    let key = fixture::key(ItemKey::Approval(ApprovalId::from_bytes(bytes(1))));
    for _ in 0..20 {
        if console.driver.state.model.queue.selected.as_ref() == Some(&key) {
            break;
        }
        console.driver.press("j");
    }
    assert_eq!(
        console.driver.state.model.queue.selected.as_ref(),
        Some(&key)
    );
    let mut approval = question(1);
    approval.state = ApprovalState::Denied;
    console.hear(
        1,
        EventBody::ApprovalDecided {
            approval: Box::new(approval),
        },
    );
    for _ in 2..400 {
        console.hear_turn();
    }
    assert_eq!(
        console.driver.state.model.queue.selected.as_ref(),
        Some(&key)
    );
    assert!(
        console
            .driver
            .state
            .model
            .world()
            .approvals
            .contains_key(&ApprovalId::from_bytes(bytes(1)))
    );
}
