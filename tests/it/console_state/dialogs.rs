//! Emergency stop, lock, read-only, texts, autonomy, quit.

use std::sync::Arc;

use leverframe::console::access::Access;
use leverframe::console::message::DaemonMessage;
use leverframe::protocol::command::Waiting;
use leverframe::protocol::enums::*;
use leverframe::protocol::problem::Problem;
use leverframe::protocol::request::{
    Command, Decide, EmergencyStop, Outcome, ReleaseEmergencyStop, SendMessage, SetPolicy,
};
use leverframe::protocol::uncertain::ConversationChoice;
use leverframe::tui::message::{Effect, Message, QuitKind};

use crate::api_http::samples;
use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn sent(driver: &Driver) -> Vec<Command> {
    driver
        .effects
        .iter()
        .filter_map(|e| {
            if let Effect::Submit(c) = e {
                Some(c.clone())
            } else {
                None
            }
        })
        .collect()
}

#[test]
fn the_emergency_stop_works_everywhere_but_not_read_only_or_pasted() {
    for place in ["", "j", "2", "?", ":", "2 j i", "q", "4 j A", "ctrl-k", "L"] {
        let mut driver = Driver::with(80, 24, fixture::busy());
        driver.press(place);
        driver.press("ctrl-x");
        assert!(
            driver
                .state
                .toast
                .as_ref()
                .unwrap()
                .text
                .contains("STOP atlas"),
            "{place}"
        );
        assert!(sent(&driver).is_empty(), "{place}");
        driver.wait(1_400);
        driver.press("ctrl-x");
        assert_eq!(
            sent(&driver),
            [Command::EmergencyStop(EmergencyStop { reason: None })],
            "{place}"
        );

        let mut driver = Driver::with(80, 24, fixture::busy());
        driver.press(place);
        driver.press("ctrl-x");
        driver.wait(1_500);
        driver.press("ctrl-x");
        driver.send(Message::Paste("\u{18}".into()));
        assert!(sent(&driver).is_empty(), "{place}: too late, or pasted");
    }
    let mut driver = Driver::with(80, 24, fixture::busy());
    driver.state.model.access = Access::ReadOnly;
    driver.press("ctrl-x ctrl-x");
    assert!(sent(&driver).is_empty());

    // Another key breaks the stop off, and the footer no longer offers it.
    let mut driver = Driver::with(80, 24, fixture::busy());
    driver.press("ctrl-x r");
    let offered = driver.state.toast.as_ref().map(|toast| toast.text.clone());
    assert!(
        !offered.is_some_and(|text| text.contains("STOP")),
        "the stop is still offered"
    );
}

#[test]
fn a_lock_and_a_lost_connection_send_nothing() {
    let mut driver = Driver::with(160, 60, fixture::busy());
    driver.press("j L");
    driver.wait(800);
    driver.press("a d");
    assert!(sent(&driver).is_empty());
    driver.press("L");
    driver.hear(DaemonMessage::Disconnected { why: "x".into() });
    driver.draw();
    driver.wait(800);
    driver.press("a d 2 j p");
    assert!(sent(&driver).is_empty());
    assert!(driver.text().contains("NOT CONNECTED"));
}

#[test]
fn edited_arguments_must_be_json_and_the_draft_survives() {
    let mut driver = Driver::with(160, 60, fixture::busy());
    driver.press("j");
    driver.wait(800);
    driver.press("e");
    driver.type_text(" oops");
    driver.press("alt-enter");
    assert!(sent(&driver).is_empty());
    assert!(driver.text().contains("not JSON"));
    driver.press("esc");
    driver.wait(800);
    driver.press("e");
    assert!(driver.text().contains("oops"), "the draft is kept");
    driver.press("backspace backspace backspace backspace backspace alt-enter");
    let sent = sent(&driver);
    let [Command::Decide(Decide { decision, .. })] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    assert_eq!(
        (decision.decision, decision.args.as_ref()),
        (
            DecisionKind::Edit,
            Some(&fixture::approval(1, Risk::Medium).args)
        )
    );
}

#[test]
fn a_text_about_a_card_that_changed_is_not_sent() {
    let mut driver = Driver::with(160, 60, fixture::busy());
    driver.press("j");
    driver.wait(800);
    driver.press("D");
    driver.type_text("not today");
    let mut revised = fixture::approval(1, Risk::Medium);
    revised.revision = 2;
    revised.digest = "ff".repeat(32);
    let event = leverframe::protocol::event::Event {
        seq: Some(101),
        at: fixture::NOW,
        session_id: None,
        continuation_id: None,
        body: leverframe::protocol::event::EventBody::ApprovalRequested {
            approval: Box::new(revised),
        },
    };
    driver.hear(DaemonMessage::Event(Arc::new(event)));
    driver.press("enter");
    assert!(sent(&driver).is_empty());
    assert!(
        driver
            .state
            .toast
            .as_ref()
            .unwrap()
            .text
            .contains("changed")
    );
}

#[test]
fn raising_autonomy_asks_with_cancel_focused_and_full_expires() {
    let mut driver = Driver::with(80, 24, fixture::busy());
    driver.press("4 j j A j enter enter");
    assert!(sent(&driver).is_empty(), "cancel is focused");
    driver.press("enter right enter");
    let sent = sent(&driver);
    let [Command::SetPolicy(SetPolicy { channel, patch })] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    assert_eq!(
        (
            channel.as_str(),
            patch.autonomy,
            patch.expires_in_seconds,
            patch.if_version
        ),
        ("telegram", Some(Autonomy::Full), Some(3600), Some(3))
    );
}

#[test]
fn a_raised_level_holds_as_long_as_was_chosen_and_full_never_for_good() {
    let lasts = |keys: &str| {
        let mut driver = Driver::with(80, 24, fixture::busy());
        driver.press(&format!("4 j j A {keys} enter right enter"));
        match sent(&driver).as_slice() {
            [Command::SetPolicy(SetPolicy { patch, .. })] => patch.expires_in_seconds,
            other => panic!("{keys}: {other:?}"),
        }
    };
    assert_eq!(lasts("j -"), Some(15 * 60));
    assert_eq!(lasts("j - - -"), Some(15 * 60));
    assert_eq!(lasts("j +"), Some(4 * 3600));
    assert_eq!(lasts("j + + + + +"), Some(12 * 3600));
}

#[test]
fn a_level_that_ends_by_itself_is_not_made_to_last_without_a_question() {
    let mut world = fixture::busy();
    let policy = &mut world
        .channels
        .iter_mut()
        .find(|channel| channel.name == "telegram")
        .unwrap()
        .policy;
    policy.autonomy = Autonomy::SemiAuto;
    policy.expires_at = Some(fixture::ago(-600));
    policy.reverts_to = Some(Autonomy::Supervised);
    let mut driver = Driver::with(80, 24, world);
    driver.press("4 j j A enter");
    assert!(sent(&driver).is_empty(), "it asks first");
    driver.press("esc + + + enter right enter");
    assert!(matches!(
        sent(&driver).as_slice(),
        [Command::SetPolicy(SetPolicy { patch, .. })]
            if patch.autonomy == Some(Autonomy::SemiAuto) && patch.expires_in_seconds.is_none()
    ));
}

#[test]
fn lowering_autonomy_needs_no_confirmation() {
    let mut driver = Driver::with(80, 24, fixture::busy());
    driver.press("4 j j A k enter");
    assert!(
        matches!(sent(&driver).as_slice(), [Command::SetPolicy(SetPolicy { patch, .. })] if patch.autonomy == Some(Autonomy::Supervised))
    );
}

/// What the release dialog submits after these keys, for a turn that waited and a stop of these ages in minutes.
fn released(waited: i64, held: i64, quarantine: bool, keys: &str) -> Vec<Command> {
    let mut snapshot = fixture::busy();
    snapshot.engine.held_since = Some(fixture::ago(held * 60));
    snapshot.engine.quarantine = quarantine;
    for turn in &mut snapshot.continuations {
        turn.created_at = fixture::ago(waited * 60);
    }
    let mut driver = Driver::with(80, 24, snapshot);
    driver.press("ctrl-x r");
    driver.press(keys);
    sent(&driver)
}

fn release(waiting: Waiting, conversations: &[(u8, Waiting)]) -> Vec<Command> {
    vec![Command::ReleaseEmergencyStop(ReleaseEmergencyStop {
        waiting,
        conversations: conversations
            .iter()
            .map(|(n, waiting)| ConversationChoice {
                session_id: fixture::session_id(*n),
                waiting: *waiting,
            })
            .collect(),
    })]
}

#[test]
fn release_asks_what_happens_only_after_a_quarter_of_an_hour() {
    // Young: everything goes on, after one look.
    assert_eq!(
        released(5, 5, false, "right enter"),
        release(Waiting::All, &[])
    );
    assert_eq!(released(5, 5, false, "enter"), [], "cancel has the focus");
    // Old, by the stop or by what waited, or a copy of unknown age: places are cancel, every conversation, the
    // conversations, release.
    for (waited, held, quarantine) in [(5, 20, false), (20, 5, false), (1, 1, true)] {
        let released = |keys| released(waited, held, quarantine, keys);
        assert_eq!(
            released("down down down enter"),
            release(Waiting::Newest, &[])
        );
        assert_eq!(
            released("down enter down down enter"),
            release(Waiting::All, &[])
        );
        assert_eq!(
            released("down enter enter down down enter"),
            release(Waiting::Drop, &[])
        );
        assert_eq!(released("enter"), [], "cancel has the focus");
        assert_eq!(released("down enter esc"), []);
    }
}

#[test]
fn a_release_names_the_conversations_where_something_else_happens() {
    let released = |keys| released(20, 20, false, keys);
    assert_eq!(
        released("down down enter enter down enter"),
        release(Waiting::Newest, &[(3, Waiting::Drop)])
    );
    // Back to what holds everywhere is no choice of its own.
    assert_eq!(
        released("down down enter enter enter down enter"),
        release(Waiting::Newest, &[])
    );
    // An own choice stays when the one for everywhere changes.
    assert_eq!(
        released("down down enter up enter down down enter"),
        release(Waiting::All, &[])
    );
}

#[test]
fn quitting_offers_detach_where_channels_depend_on_us() {
    let mut driver = Driver::with(80, 24, fixture::busy());
    driver.press("q");
    let text = driver.text();
    assert!(
        text.contains("Under way:") && text.contains("1 turn runs"),
        "{text}"
    );
    assert_eq!(driver.press("enter"), [], "stay is focused");
    assert_eq!(
        driver.press("q down enter"),
        [Effect::Quit(QuitKind::Detach)]
    );
    assert_eq!(
        driver.press("q down down enter"),
        [Effect::Quit(QuitKind::Stop)]
    );
    driver.state.model.hosting = leverframe::console::access::Hosting::Attached;
    assert_eq!(driver.press("q down enter"), [Effect::Quit(QuitKind::Stop)]);
}

#[test]
fn the_command_line_completes_and_has_no_decisions() {
    let mut driver = Driver::with(80, 24, fixture::busy());
    driver.press(":");
    driver.type_text("liv");
    driver.press("tab enter");
    assert_eq!(
        driver.state.screen,
        leverframe::tui::state::screen::Screen::Live
    );
    driver.press(":");
    driver.type_text("approve");
    driver.press("enter");
    assert!(
        driver
            .state
            .toast
            .as_ref()
            .unwrap()
            .text
            .contains("is not a command")
    );
    assert!(sent(&driver).is_empty());
}

fn refuse(driver: &mut Driver, command: Command) {
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(command),
        result: Err(Box::new(Problem::invalid("the engine says no"))),
    });
    driver.draw();
}

#[test]
fn a_refused_message_is_a_draft_again_and_an_accepted_one_is_not() {
    let mut driver = Driver::with(80, 24, fixture::busy());
    driver.press("2 j i");
    assert!(
        driver.text().contains("0 of 262144 bytes"),
        "{}",
        driver.text()
    );
    driver.type_text("first words");
    assert!(
        driver.text().contains("11 of 262144 bytes"),
        "{}",
        driver.text()
    );
    driver.press("enter");
    let first = sent(&driver).pop().unwrap();
    // While it is on its way the field is empty; what is written meanwhile comes behind it.
    driver.press("i");
    assert!(!driver.text().contains("first words"), "{}", driver.text());
    driver.type_text("second words");
    driver.press("esc");
    refuse(&mut driver, first);
    let notice = driver.state.toast.as_ref().unwrap().text.clone();
    assert!(
        notice.contains("the engine says no") && notice.contains("still there"),
        "{notice}"
    );
    driver.press("i enter");
    let Some(Command::SendMessage(SendMessage { text, .. })) = sent(&driver).pop() else {
        panic!("nothing was sent")
    };
    assert_eq!(text, "first words\nsecond words");
    let again = sent(&driver).pop().unwrap();
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(again),
        result: Ok(Box::new(Outcome::SendMessage(samples::accepted()))),
    });
    assert!(driver.state.model.host_mut().drafts.is_empty());
}

#[test]
fn a_message_that_is_too_long_stays_in_its_field() {
    let mut driver = Driver::with(80, 24, fixture::busy());
    driver.press("2 j i");
    driver.send(Message::Paste("x".repeat(256 * 1024 + 7)));
    driver.press("enter");
    assert!(sent(&driver).is_empty());
    assert!(
        driver.text().contains("7 bytes too long"),
        "{}",
        driver.text()
    );
}

#[test]
fn a_rule_that_the_server_refuses_is_a_draft_again() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("6 n");
    driver.send(Message::Edited(Ok(
        "{\"tool\": \"write_file\", \"verdict\": \"allow\"}".to_owned(),
    )));
    driver.press("alt-enter");
    let Some(rule @ Command::AddRule(_)) = sent(&driver).pop() else {
        panic!("{}", driver.text())
    };
    refuse(&mut driver, rule);
    driver.press("n");
    assert!(driver.text().contains("write_file"), "{}", driver.text());
}

#[test]
fn a_notice_goes_with_its_screen_its_time_and_what_it_offers() {
    let mut driver = Driver::with(80, 24, fixture::busy());
    driver.press("u");
    assert!(driver.state.toast.is_some(), "nothing to undo, it says");
    driver.wait(10);
    driver.press("2");
    assert!(driver.state.toast.is_none(), "{:?}", driver.state.toast);
    driver.press("1 u");
    driver.wait(6_001);
    assert!(driver.state.toast.is_none(), "{:?}", driver.state.toast);

    driver.press("ctrl-x");
    assert!(
        driver.text().contains("again within 1.5 s: STOP"),
        "{}",
        driver.text()
    );
    let due = driver.state.next_deadline().unwrap();
    driver.wait(due.0 - driver.steady);
    driver.wait(1_500);
    assert!(!driver.text().contains("STOP "), "{}", driver.text());
}
