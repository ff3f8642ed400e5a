//! Take-over, drain and test keys: nothing goes out before a yes, and only the console that holds a conversation
//! writes in it as the bot.

use std::sync::Arc;

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::channel::ChannelDrain;
use leverframe::protocol::doctor::{Finding, Standing};
use leverframe::protocol::enums::{OutboxClass, SessionState, Surface};
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::ids::TakeOverId;
use leverframe::protocol::request::{
    CheckChannel, Command, DrainChannel, GiveBackSession, Outcome, ResumeSession, SendAsBot,
    TakeOverSession, TestChannel,
};
use leverframe::protocol::session::Session;
use leverframe::protocol::snapshot::{Page, Snapshot};
use leverframe::protocol::take_over::TakeOver;
use leverframe::tui::message::Effect;

use crate::api_http::samples;
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

pub fn held(n: u8, by: &str, seconds: i64) -> TakeOver {
    TakeOver {
        id: TakeOverId::from_bytes([n; 16]),
        by: by.into(),
        by_id: format!("operator:{by}"),
        surface: Surface::Console,
        at: fixture::ago(seconds),
    }
}

/// The first session of Live is held by somebody.
pub fn world(by: Option<TakeOver>) -> Snapshot {
    let mut world = fixture::busy();
    newest(&mut world).taken_over = by;
    world
}

fn newest(world: &mut Snapshot) -> &mut Session {
    world
        .sessions
        .iter_mut()
        .max_by_key(|session| session.updated_at)
        .unwrap()
}

#[test]
fn taking_over_asks_first_and_then_writes_as_the_bot() {
    let mut driver = Driver::with(80, 24, world(None));
    driver.press("2 j T enter");
    assert!(sent(&driver).is_empty(), "cancel is focused");
    driver.press("T right enter");
    let commands = sent(&driver);
    let [
        Command::TakeOverSession(TakeOverSession { session_id, force }),
        ..,
    ] = commands.as_slice()
    else {
        panic!("{commands:?}")
    };
    assert!(!force);
    let hold = held(9, "anna", 0);
    let mut session = newest(&mut world(None)).clone();
    assert_eq!(session.id, *session_id);
    session.taken_over = Some(hold.clone());
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(commands[0].clone()),
        result: Ok(Box::new(Outcome::TakeOverSession(session))),
    });
    driver.press("i");
    assert!(driver.text().contains("AS THE BOT"), "{}", driver.text());
    driver.type_text("I am on it.");
    driver.press("enter");
    let said = sent(&driver);
    assert!(
        matches!(said.last(), Some(Command::SendAsBot(SendAsBot { take_over_id, text, .. }))
            if *take_over_id == hold.id && text == "I am on it."),
        "{said:?}"
    );
    driver.press("T");
    assert!(matches!(
        sent(&driver).last(),
        Some(Command::GiveBackSession(GiveBackSession {
            force: false,
            ..
        }))
    ));
}

#[test]
fn what_somebody_else_holds_is_not_written_in_and_taken_only_after_a_yes() {
    let mut driver = Driver::with(80, 24, world(Some(held(9, "ben", 600))));
    driver.press("2 j i");
    assert!(driver.state.modals.is_empty(), "no field opens");
    let toast = &driver.state.toast.as_ref().unwrap().text;
    assert!(toast.contains("ben has taken"), "{toast}");
    assert!(
        driver.text().contains("TAKEN OVER by ben"),
        "{}",
        driver.text()
    );
    driver.press("T");
    assert!(
        driver
            .text()
            .contains("ben took it over in another console 10m ago"),
        "{}",
        driver.text()
    );
    driver.press("right enter");
    assert!(matches!(
        sent(&driver).as_slice(),
        [Command::TakeOverSession(TakeOverSession {
            force: true,
            ..
        })]
    ));
}

#[test]
fn draining_asks_and_undraining_does_not() {
    let mut driver = Driver::with(80, 24, fixture::busy());
    driver.press("4 j j D enter");
    assert!(sent(&driver).is_empty());
    driver.press("D right enter");
    assert!(matches!(
        sent(&driver).as_slice(),
        [Command::DrainChannel(DrainChannel { drain: true, channel })] if channel == "telegram"
    ));
    let mut driver = Driver::with(80, 24, draining());
    driver.press("4 j j D");
    assert!(matches!(
        sent(&driver).as_slice(),
        [Command::DrainChannel(DrainChannel { drain: false, .. })]
    ));
}

/// Telegram drains.
pub fn draining() -> Snapshot {
    let mut world = fixture::busy();
    for channel in &mut world.channels {
        if channel.name == "telegram" {
            channel.draining = Some(ChannelDrain {
                since: fixture::ago(240),
                running: 1,
                waiting: 2,
                held_back: 3,
            });
            channel.taken_over = 1;
        }
    }
    world
}

#[test]
fn a_test_says_how_it_ended_and_only_this_consoles() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("4 j j t right enter");
    let mut commands = sent(&driver);
    let check = commands.remove(0);
    assert!(
        matches!(&check, Command::CheckChannel(CheckChannel { channel }) if channel == "telegram"),
        "{check:?}"
    );
    assert!(
        matches!(commands.as_slice(), [Command::TestChannel(TestChannel { channel, conversation: Some(_) })] if channel == "telegram"),
        "{commands:?}"
    );
    let item = samples::delivery();
    let sent_event = |id| {
        DaemonMessage::Event(Arc::new(Event {
            seq: None,
            at: fixture::ago(0),
            session_id: None,
            continuation_id: None,
            body: EventBody::ReplySent {
                outbox_id: id,
                class: OutboxClass::Notice,
                channel: "telegram".into(),
                part: 1,
            },
        }))
    };
    let mut pending = item.clone();
    pending.state = leverframe::protocol::enums::OutboxState::Pending;
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(commands[0].clone()),
        result: Ok(Box::new(Outcome::TestChannel(pending))),
    });
    let before = driver.state.toast.clone().unwrap().text;
    driver.hear(sent_event(leverframe::protocol::ids::OutboxId::from_bytes(
        [7; 16],
    )));
    assert_eq!(driver.state.toast.as_ref().unwrap().text, before);
    driver.hear(sent_event(item.id));
    assert_eq!(
        driver.state.toast.as_ref().unwrap().text,
        "test through telegram: delivered"
    );
    // A check that the platform answers late does not hide how the test ended.
    let found = Page {
        items: vec![finding(Standing::Ok, "token", "of @team_bot", None)],
        next_cursor: None,
    };
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(check),
        result: Ok(Box::new(Outcome::CheckChannel(found))),
    });
    assert_eq!(
        driver.state.toast.as_ref().unwrap().text,
        "test through telegram: delivered"
    );
}

#[test]
fn a_test_that_ended_before_its_answer_came_says_so_too() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("4 j j t right enter");
    let test = sent(&driver).remove(1);
    let mut pending = samples::delivery();
    pending.state = leverframe::protocol::enums::OutboxState::Pending;
    driver.hear(DaemonMessage::Event(Arc::new(Event {
        seq: None,
        at: fixture::ago(0),
        session_id: None,
        continuation_id: None,
        body: EventBody::ReplySent {
            outbox_id: pending.id,
            class: OutboxClass::Notice,
            channel: "telegram".into(),
            part: 1,
        },
    })));
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(test),
        result: Ok(Box::new(Outcome::TestChannel(pending))),
    });
    assert_eq!(
        driver.state.toast.as_ref().unwrap().text,
        "test through telegram: delivered"
    );
}

fn finding(verdict: Standing, about: &str, detail: &str, fix: Option<&str>) -> Finding {
    Finding {
        verdict,
        about: about.to_owned(),
        detail: detail.to_owned(),
        fix: fix.map(str::to_owned),
    }
}

/// The platform of the newest question of this console answers.
fn checked(driver: &mut Driver, findings: Vec<Finding>) {
    let all = sent(driver);
    let check = all
        .iter()
        .rfind(|one| matches!(one, Command::CheckChannel(_)))
        .unwrap();
    let found = Page {
        items: findings,
        next_cursor: None,
    };
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(check.clone()),
        result: Ok(Box::new(Outcome::CheckChannel(found))),
    });
}

#[test]
fn the_question_before_a_test_says_what_the_platform_says_of_the_account() {
    let mut driver = Driver::with(100, 40, fixture::busy());
    driver.press("4 j j t");
    assert!(driver.text().contains("asking the platform"));
    checked(
        &mut driver,
        vec![
            finding(Standing::Ok, "token", "of @team_bot", None),
            finding(
                Standing::Warn,
                "groups",
                "privacy mode is on",
                Some("ask @BotFather"),
            ),
        ],
    );
    let text = driver.text();
    for word in [
        "Send a test through telegram?",
        "of @team_bot",
        "privacy mode is on",
        "ask @BotFather",
        "It says that it is a test",
    ] {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    assert!(!text.contains("asking the platform"), "{text}");
    driver.press("right enter");
    assert!(matches!(
        sent(&driver).last(),
        Some(Command::TestChannel(_))
    ));
    // What does not work stands in the title, and nothing goes out by itself.
    driver.press("t");
    let before = sent(&driver).len();
    let revoked = || finding(Standing::Fail, "token", "revoked", Some("make a new one"));
    checked(&mut driver, vec![revoked()]);
    let text = driver.text();
    assert!(text.contains("telegram is not set up"), "{text}");
    assert!(text.contains("make a new one"), "{text}");
    driver.press("enter");
    assert_eq!(sent(&driver).len(), before, "cancel is focused");
    // The answer comes after the question was closed.
    driver.press("t esc");
    checked(&mut driver, vec![revoked()]);
    let toast = driver.state.toast.as_ref().unwrap().text.clone();
    assert!(
        toast.contains("telegram: fail") && toast.contains("revoked"),
        "{toast}"
    );
}

#[test]
fn writing_in_an_ended_session_asks_whether_to_go_back_to_it() {
    let mut driver = Driver::with(80, 24, world(None));
    driver.press("2 j enter");
    let id = driver.state.screens.session.session_id.unwrap();
    let session = driver
        .state
        .model
        .world_mut()
        .sessions
        .get_mut(&id)
        .unwrap();
    session.state = SessionState::Ended;
    driver.press("i");
    assert!(
        driver.text().contains("Go back to this session?"),
        "{}",
        driver.text()
    );
    driver.press("enter");
    assert!(sent(&driver).is_empty(), "cancel is focused");
    driver.press("i right enter");
    let resume = Command::ResumeSession(ResumeSession { session_id: id });
    assert_eq!(sent(&driver).last(), Some(&resume));
}
