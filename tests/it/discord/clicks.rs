//! Buttons and the menu of commands: durable first, answered in time, decided by whoever acted.

use leverframe::protocol::bridge::InboundBody;
use leverframe::protocol::bridge::OutboundBody;
use leverframe::protocol::enums::OutboxClass;
use leverframe::protocol::slash::SlashCommand;
use serde_json::json;

use crate::discord::world::{CHANNEL, DIRECT, ada, came_in, connected};
use crate::support::fake_discord::{FakeDiscord, Fault, Message, User};
use crate::telegram::port::{TestPort, approval, buttons};

/// A card with its buttons in a channel.
async fn card(fake: &FakeDiscord, port: &TestPort) -> Message {
    let body = OutboundBody::Card {
        approval: Box::new(approval()),
        buttons: buttons(),
    };
    let id = port.send(&CHANNEL.to_string(), OutboxClass::ApprovalCard, body);
    port.outcome(id).await;
    fake.messages(CHANNEL)[0].clone()
}

#[tokio::test]
async fn a_click_is_that_of_whoever_clicks_and_is_answered_once_it_is_durable() {
    let (fake, port, running) = connected().await;
    let card = card(&fake, &port).await;
    let mallory = User::new(6_666, "Mallory");
    let click = fake.user_clicks(&card, "Approve", &mallory);
    fake.wait_until("the answer", |state| {
        state.interactions[&click].answer.is_some()
    })
    .await;
    let inbound = came_in(&port)[0].clone();
    let token = "t0kenApprove".to_owned();
    assert_eq!(inbound.body, InboundBody::Click { token });
    assert_eq!(inbound.sender.unwrap().id, "6666");
    assert_eq!(inbound.conversation, CHANNEL.to_string());
    assert_eq!(inbound.message_ref, Some(card.id.to_string()));
    // Nothing to say: the message with the button changes later.
    let answer = fake.state().interactions[&click].answer.clone();
    assert_eq!(answer, Some(json!({ "type": 6 })));

    port.change(|ledger| ledger.feedback = Some("Not decided: you may not *decide*.".to_owned()));
    let click = fake.user_clicks(&card, "Deny", &mallory);
    fake.wait_until("the words", |state| {
        state.interactions[&click].answer.is_some()
    })
    .await;
    let answer = fake.state().interactions[&click].answer.clone().unwrap();
    assert_eq!(answer["type"], 4);
    assert_eq!(answer["data"]["flags"], 64 | 4, "only they see it");
    assert_eq!(
        answer["data"]["content"],
        "Not decided: you may not \\*decide\\*."
    );
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn a_click_that_cannot_be_stored_is_not_answered() {
    let (fake, port, running) = connected().await;
    let card = card(&fake, &port).await;
    port.change(|ledger| "fail".clone_into(&mut ledger.ingest_script));
    let click = fake.user_clicks(&card, "Approve", &ada());
    let error = running.error().await;
    assert!(error.to_string().contains("cannot be stored"), "{error}");
    assert_eq!(fake.state().interactions[&click].answer, None);
}

#[tokio::test]
async fn an_answer_that_comes_too_late_or_fails_stops_nothing() {
    let (fake, port, running) = connected().await;
    let card = card(&fake, &port).await;
    for fault in [
        Fault::Refuse(404, 10_062, "Unknown interaction".to_owned()),
        Fault::Server(502),
        Fault::ResetBefore,
    ] {
        fake.fault("callback", fault);
        fake.user_clicks(&card, "Approve", &ada());
    }
    fake.user_says(DIRECT, &ada(), "and on");
    port.wait_until("the message behind", |ledger| ledger.texts() == ["and on"])
        .await;
    let clicks = came_in(&port)
        .iter()
        .filter(|inbound| matches!(inbound.body, InboundBody::Click { .. }))
        .count();
    assert_eq!(clicks, 3);
    running.stop().await;
}

#[tokio::test]
async fn the_menu_has_every_command_and_a_picked_one_is_as_if_written() {
    let (fake, port, running) = connected().await;
    fake.wait_until("the menu", |state| !state.commands.is_empty())
        .await;
    let named = |state: &crate::support::fake_discord::State| {
        let names = state.commands.iter().map(|one| one["name"].clone());
        names.collect::<Vec<_>>()
    };
    let all: Vec<_> = SlashCommand::ALL
        .iter()
        .map(|one| json!(one.as_str()))
        .collect();
    assert_eq!(named(&fake.state()), all);

    let picked = fake.user_commands(CHANNEL, &ada(), "deny", "K7Q2MX not today");
    fake.wait_until("its answer", |state| {
        state.interactions[&picked].answer.is_some()
    })
    .await;
    let inbound = came_in(&port)[0].clone();
    let InboundBody::Text {
        text,
        direct,
        addressed,
        indirect,
        ..
    } = inbound.body
    else {
        panic!("a command is a text");
    };
    assert_eq!(text, "/deny K7Q2MX not today");
    assert_eq!((direct, addressed, indirect), (false, true, false));
    assert_eq!(inbound.sender.unwrap().id, "4242");
    let answer = fake.state().interactions[&picked].answer.clone().unwrap();
    assert_eq!(answer["data"]["content"], "/deny K7Q2MX not today");
    assert_eq!(answer["data"]["flags"], 64 | 4);
    assert_eq!(fake.calls("commands").len(), 1, "the menu is set once");
    running.stop().await;
}
