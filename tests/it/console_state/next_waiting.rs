//! The key that goes to the next card that waits: it moves, and it decides nothing.

use std::sync::Arc;

use leverframe::console::item::ItemKey;
use leverframe::console::message::DaemonMessage;
use leverframe::protocol::enums::*;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::ids::ApprovalId;
use leverframe::protocol::request::{Command, Decide};
use leverframe::protocol::snapshot::Snapshot;
use leverframe::tui::message::Effect;
use leverframe::tui::state::screen::Screen;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

/// Cards that wait, one in a session of its own each, in the order of their numbers.
fn cards(risks: &[Risk]) -> Snapshot {
    let mut snapshot = fixture::snapshot();
    for (n, risk) in (1..).zip(risks) {
        let mut approval = fixture::approval(n, *risk);
        approval.expires_at = Some(fixture::NOW.plus_seconds(600 + i64::from(n)));
        approval.messages.truncate(1);
        approval.session_id = Some(fixture::session_id(n));
        snapshot.approvals.push(approval);
        let session = fixture::session(n, "telegram", &format!("chat {n}"), "ana");
        snapshot.sessions.push(session);
    }
    snapshot
}

fn selected(driver: &Driver) -> Option<ApprovalId> {
    match driver.state.model.selected()? {
        ItemKey::Approval(id) => Some(*id),
        _ => None,
    }
}

fn decided(driver: &mut Driver, n: u8) {
    let mut approval = fixture::approval(n, Risk::Medium);
    approval.state = ApprovalState::Denied;
    let event = Event {
        seq: Some(100 + u64::from(n)),
        at: driver.now().wall,
        session_id: Some(fixture::session_id(n)),
        continuation_id: None,
        body: EventBody::ApprovalDecided {
            approval: Box::new(approval),
        },
    };
    driver.hear(DaemonMessage::Event(Arc::new(event)));
}

fn decisions(effects: &[Effect]) -> Vec<ApprovalId> {
    let one = |effect: &Effect| match effect {
        Effect::Submit(Command::Decide(Decide { approval_id, .. })) => Some(*approval_id),
        _ => None,
    };
    effects.iter().filter_map(one).collect()
}

#[test]
fn it_passes_over_what_does_not_wait_and_begins_anew_at_the_end() {
    let mut driver = Driver::with(100, 40, cards(&[Risk::Medium; 5]));
    let mut seen = Vec::new();
    driver.press("tab");
    seen.push(selected(&driver));
    // Another operator decides the second, and this one puts off the third.
    decided(&mut driver, 2);
    let third = fixture::key(ItemKey::Approval(fixture::approval_id(3)));
    let until = fixture::NOW.plus_seconds(500);
    driver.state.model.queue.snooze(&third, until);
    for key in ["tab", "]", "tab"] {
        driver.press(key);
        seen.push(selected(&driver));
    }
    let ids = [1, 4, 5, 1].map(|n| Some(fixture::approval_id(n)));
    assert_eq!(seen, ids);
    for n in [4, 5] {
        decided(&mut driver, n);
    }
    driver.press("tab");
    assert_eq!(selected(&driver), Some(fixture::approval_id(1)));
    let screen = driver.text();
    assert!(
        screen.contains("nothing else waits for a person"),
        "{screen}"
    );
}

#[test]
fn a_medium_card_takes_two_keys_and_a_high_one_three() {
    let mut driver = Driver::with(80, 24, cards(&[Risk::Medium, Risk::High, Risk::Medium]));
    let mut submitted = Vec::new();
    for keys in [&["tab", "a"][..], &["tab", "a", "a"], &["tab", "a"]] {
        for key in keys {
            submitted.extend(decisions(&driver.press(key)));
            // Nothing else happens meanwhile: the console is idle.
            driver.wait(710);
        }
    }
    assert_eq!(submitted, [1, 2, 3].map(fixture::approval_id));
}

#[test]
fn a_card_that_it_shows_is_armed_no_sooner_than_any_other() {
    let mut driver = Driver::with(80, 24, cards(&[Risk::Medium; 2]));
    driver.press("tab");
    driver.wait(490);
    assert!(decisions(&driver.press("a")).is_empty());
    assert!(driver.text().contains("not armed"), "{}", driver.text());
    // A second tab within a moment shows another card: its time begins anew.
    driver.wait(600);
    driver.press("tab");
    driver.wait(300);
    assert!(decisions(&driver.press("a")).is_empty());
    driver.wait(600);
    assert_eq!(decisions(&driver.press("a")), [fixture::approval_id(2)]);
}

#[test]
fn it_does_not_come_back_to_what_is_being_decided() {
    let mut driver = Driver::with(80, 24, cards(&[Risk::Medium; 2]));
    driver.press("tab");
    driver.wait(510);
    driver.press("a");
    // The daemon has not answered yet.
    driver.press("tab");
    assert_eq!(selected(&driver), Some(fixture::approval_id(2)));
    driver.press("tab");
    assert_eq!(selected(&driver), Some(fixture::approval_id(2)));
}

#[test]
fn from_a_session_it_goes_to_the_card_of_that_session() {
    for (open, screen, key) in [
        ("2 j j enter", Screen::Session, "tab"),
        ("2 j j", Screen::Live, "]"),
    ] {
        let mut driver = Driver::with(80, 24, cards(&[Risk::Medium; 3]));
        driver.press(open);
        assert_eq!(driver.state.screen, screen);
        let session = leverframe::tui::state::selection::focused_session(&driver.state);
        driver.press(key);
        assert_eq!(driver.state.screen, Screen::Queue);
        let card = driver.state.model.selected_approval().unwrap();
        assert_eq!(card.session_id, session, "{open}");
        assert!(driver.text().contains("· code "), "{}", driver.text());
    }
    // Nothing of the session waits: the first of the list.
    let mut snapshot = cards(&[Risk::Medium; 2]);
    let quiet = fixture::session(9, "telegram", "quiet", "bo");
    snapshot.sessions.push(quiet);
    let mut driver = Driver::with(80, 24, snapshot);
    driver.press("2");
    driver.state.screens.live.selected = Some(fixture::session_id(9));
    driver.press("]");
    assert_eq!(selected(&driver), Some(fixture::approval_id(1)));
}

#[test]
fn every_screen_has_it() {
    for screen in ["2", "3", "4", "5", "6", "7", "8", "9", "0"] {
        let mut driver = Driver::with(80, 24, cards(&[Risk::Medium]));
        driver.press(screen);
        driver.press(if screen == "3" { "] ]" } else { "]" });
        assert_eq!(selected(&driver), Some(fixture::approval_id(1)), "{screen}");
        assert!(driver.text().contains("· code "), "{}", driver.text());
    }
}

#[test]
fn where_one_pane_fits_it_opens_the_card() {
    let mut driver = Driver::with(58, 16, cards(&[Risk::Medium]));
    driver.press("4 tab");
    assert!(driver.text().contains("· code "), "{}", driver.text());
}

#[test]
fn what_the_filter_hides_is_named_and_not_shown() {
    let mut driver = Driver::with(80, 24, cards(&[Risk::Medium]));
    driver.press("/");
    driver.type_text("nothing-has-this");
    driver.press("enter tab");
    assert_eq!(selected(&driver), None);
    let screen = driver.text();
    assert!(
        screen.contains("only items that the filter hides"),
        "{screen}"
    );
}
