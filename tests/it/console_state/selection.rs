//! Selection is by id and always valid; nothing that arrives moves it.

use std::sync::Arc;

use leverframe::console::item::ItemKey;
use leverframe::console::message::DaemonMessage;
use leverframe::protocol::enums::*;
use leverframe::protocol::event::{Event, EventBody};
use proptest::prelude::*;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn event(driver: &mut Driver, seq: u64, session: u8, body: EventBody) {
    let event = Event {
        seq: Some(seq),
        at: driver.now().wall,
        session_id: Some(fixture::session_id(session)),
        continuation_id: Some(fixture::continuation_id(session)),
        body,
    };
    driver.hear(DaemonMessage::Event(Arc::new(event)));
}

fn body(which: u8, n: u8) -> EventBody {
    let mut approval = fixture::approval(n, Risk::Medium);
    match which % 8 {
        0 => EventBody::ApprovalRequested {
            approval: Box::new(approval),
        },
        1 => {
            approval.state = ApprovalState::Denied;
            EventBody::ApprovalDecided {
                approval: Box::new(approval),
            }
        }
        2 => {
            approval.state = ApprovalState::Expired;
            EventBody::ApprovalExpired {
                approval: Box::new(approval),
            }
        }
        3 => EventBody::SessionStarted {
            session: Box::new(fixture::session(n, "telegram", "x", "y")),
        },
        4 => EventBody::SessionEnded {
            reason: "idle".into(),
        },
        5 => EventBody::ContinuationInterrupted {
            reason: "stopped".into(),
        },
        6 => EventBody::ContinuationResumed { by: "ana".into() },
        _ => EventBody::ChannelState {
            channel: Box::new(fixture::channel(
                &format!("c{n}"),
                ChannelKind::Telegram,
                Autonomy::Supervised,
            )),
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn events_never_move_a_selection(steps in prop::collection::vec((0u8..10, 1u8..9, 0u64..7000), 1..60)) {
        let mut driver = Driver::with(80, 24, fixture::busy());
        let mut seq = 100;
        for (which, n, wait) in steps {
            driver.wait(wait);
            if which >= 8 {
                driver.press(["j", "k", "G", "1", "2", "4", "2 j", "4 j", "esc"][usize::from(n) % 9]);
            } else {
                let before = (driver.state.model.queue.selected.clone(), driver.state.screens.live.selected, driver.state.screens.channels.selected.clone());
                let row = |d: &Driver| d.state.model.queue.selected.as_ref().and_then(|s| d.state.model.queue.order.iter().position(|k| k == s));
                let at = row(&driver);
                seq += 1;
                event(&mut driver, seq, n, body(which, n));
                let after = (driver.state.model.queue.selected.clone(), driver.state.screens.live.selected, driver.state.screens.channels.selected.clone());
                prop_assert_eq!(&before.0, &after.0);
                prop_assert_eq!(before.1, after.1);
                prop_assert_eq!(&before.2, &after.2);
                prop_assert_eq!(at, row(&driver), "a row moved under the cursor");
            }
            let state = &driver.state;
            prop_assert!(state.model.queue.selected.as_ref().is_none_or(|s| state.model.queue.order.contains(s)));
            prop_assert!(state.screens.live.selected.is_none_or(|s| state.screens.live.order.contains(&s) && state.model.world().sessions.contains_key(&s)));
            prop_assert!(state.screens.channels.selected.as_ref().is_none_or(|s| state.screens.channels.order.contains(s)));
        }
    }
}

#[test]
fn a_decided_row_stays_with_its_outcome_and_then_goes() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    let mut approval = fixture::approval(1, Risk::Medium);
    approval.state = ApprovalState::Consumed;
    approval.decision = Some(leverframe::protocol::approval::Decision {
        until: None,
        answer: None,
        starts_at: None,
        decision: DecisionKind::Approve,
        scope: None,
        by: "bo".into(),
        surface: Surface::Chat,
        at: fixture::NOW,
        reason: None,
    });
    event(
        &mut driver,
        101,
        1,
        EventBody::ApprovalDecided {
            approval: Box::new(approval),
        },
    );
    assert!(driver.text().contains("allowed once by bo"));
    driver.wait(5_001);
    assert!(!driver.text().contains("allowed once by bo"));
}

#[test]
fn new_items_append_below_even_when_more_urgent() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("j");
    let mut urgent = fixture::approval(7, Risk::Low);
    urgent.expires_at = Some(fixture::NOW.plus_seconds(60));
    event(
        &mut driver,
        101,
        1,
        EventBody::ApprovalRequested {
            approval: Box::new(urgent),
        },
    );
    assert_eq!(
        driver.state.model.queue.order.last(),
        Some(&fixture::key(ItemKey::Approval(fixture::approval_id(7))))
    );
    driver.press("2 1");
    assert_eq!(
        driver.state.model.queue.order.first(),
        Some(&fixture::key(ItemKey::Approval(fixture::approval_id(7)))),
        "opening the screen sorts by deadline"
    );
}
