//! How the bot comes into rooms, and what happens to rooms while it is in them.

use leverframe::protocol::bridge::SendOutcome;
use leverframe::protocol::enums::ChannelState;
use reqwest::Method;
use serde_json::json;

use crate::matrix::bridging::{connected, others, run};
use crate::matrix::synapse::synapse;
use crate::telegram::port::TestPort;

const UNCHECKED: &str = "rooms of Matrix";

#[tokio::test]
async fn an_invite_is_accepted_from_people_who_may_talk_and_from_nobody_else() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let mallory = server.user("mallory").await;
    let port = TestPort::new();
    port.change(|ledger| ledger.welcome = Some(anna.user.clone()));
    // This one waits since before the bot runs.
    let early = anna.direct_room(&bot).await;
    let running = connected(server.url(), &bot, &port).await;
    anna.sees_come(&early, &bot).await;
    let foreign = mallory.direct_room(&bot).await;
    let late = anna
        .room(json!({ "preset": "private_chat", "invite": [bot.user] }))
        .await;
    anna.sees_come(&late, &bot).await;
    port.wait_until("both are recorded", |ledger| {
        let told = others(ledger);
        told.contains(&format!("an invite by {}, accepted", anna.user))
            && told
                .iter()
                .any(|what| what.contains(&mallory.user) && what.contains("left alone"))
    })
    .await;
    let members = mallory.events(&foreign).await;
    let came = members.iter().any(|event| {
        event["state_key"] == bot.user.as_str() && event["content"]["membership"] == "join"
    });
    assert!(!came, "the bot followed somebody whom nobody let in");
    running.stop().await;
}

#[tokio::test]
async fn a_room_that_removes_the_bot_is_named_and_gets_nothing_more() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    let room = anna
        .room(json!({ "preset": "private_chat", "name": "Ops", "invite": [bot.user] }))
        .await;
    anna.sees_come(&room, &bot).await;
    anna.say(&room, "hello").await;
    port.wait_until("hello", |ledger| ledger.texts() == ["hello"])
        .await;
    let body = json!({ "user_id": bot.user, "reason": "too loud" });
    anna.call(Method::POST, &format!("rooms/{room}/kick"), &body)
        .await;
    let what = format!("removed from the room by {}: too loud", anna.user);
    port.wait_until("the removal", |ledger| {
        let health = ledger.last_health();
        let told = health.is_some_and(|health| {
            let detail = health.detail.as_deref().unwrap_or_default();
            health.state == ChannelState::Degraded
                && detail.contains("Ops")
                && detail.contains(&what)
        });
        told && others(ledger).contains(&what)
    })
    .await;
    let part = port.say(&room, "are you there?");
    match port.outcome(part).await {
        SendOutcome::Failed { error } => assert!(error.contains("M_FORBIDDEN"), "{error}"),
        other => panic!("{other:?}"),
    }
    // Other rooms go on, and this one does when it wants the bot back.
    anna.invite(&room, &bot).await;
    anna.sees_come(&room, &bot).await;
    anna.say(&room, "welcome back").await;
    port.wait_until("it hears again", |ledger| {
        ledger.texts() == ["hello", "welcome back"]
    })
    .await;
    running.stop().await;
}

#[tokio::test]
async fn an_upgraded_room_is_followed_with_what_was_meant_for_the_old_one() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    let old = anna
        .room(json!({ "preset": "public_chat", "room_version": "11", "invite": [bot.user] }))
        .await;
    anna.sees_come(&old, &bot).await;
    anna.say(&old, "hello").await;
    port.wait_until("hello", |ledger| ledger.texts() == ["hello"])
        .await;
    let upgrade = json!({ "new_version": "12" });
    let answer = anna
        .call(Method::POST, &format!("rooms/{old}/upgrade"), &upgrade)
        .await;
    let new = answer["replacement_room"].as_str().unwrap().to_owned();
    anna.sees_come(&new, &bot).await;
    anna.say(&new, "here now").await;
    port.wait_until("the new room", |ledger| {
        ledger.texts() == ["hello", "here now"]
    })
    .await;
    let said = others(&port.ledger()).join("\n");
    assert!(said.contains(&format!("replaced by `{new}`")), "{said}");
    let part = port.say(&old, "the answer to hello");
    assert!(matches!(port.outcome(part).await, SendOutcome::Sent { .. }));
    anna.hears(&new, "the answer to hello").await;
    running.stop().await;

    // A start later, too.
    let running = run(server.url(), &bot.token, &port);
    let part = port.say(&old, "and one more");
    assert!(matches!(port.outcome(part).await, SendOutcome::Sent { .. }));
    anna.hears(&new, "and one more").await;
    running.stop().await;
}

#[tokio::test]
async fn an_encrypted_room_is_told_once_that_nobody_can_read_it() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    let room = anna.direct_room(&bot).await;
    anna.sees_come(&room, &bot).await;
    let algorithm = json!({ "algorithm": "m.megolm.v1.aes-sha2" });
    anna.set_state(&room, "m.room.encryption", &algorithm).await;
    let secret = json!({ "algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "x",
                         "session_id": "s", "device_id": "d", "sender_key": "k" });
    anna.send(&room, "m.room.encrypted", &secret).await;
    let words = "I cannot read encrypted rooms";
    let told = anna.hears(&room, words).await;
    assert_eq!(told["content"]["msgtype"], "m.notice");
    // What waits for it is not written for the server to read.
    let part = port.say(&room, "in clear");
    assert!(matches!(
        port.outcome(part).await,
        SendOutcome::Failed { .. }
    ));
    running.stop().await;

    // Neither the next message nor the next start says it again.
    let running = run(server.url(), &bot.token, &port);
    let before = port.ledger().inbox.len();
    anna.send(&room, "m.room.encrypted", &secret).await;
    port.wait_until("it came in", |ledger| ledger.inbox.len() > before)
        .await;
    let other = anna.direct_room(&bot).await;
    anna.sees_come(&other, &bot).await;
    anna.say(&other, "hello").await;
    port.wait_until("the one behind", |ledger| ledger.texts() == ["hello"])
        .await;
    let said = anna.said_by(&room, &bot).await;
    let count = said.iter().filter(|event| {
        let body = event["content"]["body"].as_str();
        body.is_some_and(|body| body.contains(words))
    });
    assert_eq!(count.count(), 1, "{said:#?}");
    assert!(
        others(&port.ledger())
            .iter()
            .any(|what| what.contains("encrypted message"))
    );
    running.stop().await;
}

#[tokio::test]
async fn a_card_for_a_person_finds_their_room_or_makes_one() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let ben = server.user("ben").await;
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    let room = anna.direct_room(&bot).await;
    anna.sees_come(&room, &bot).await;
    anna.say(&room, "hello").await;
    port.wait_until("hello", |ledger| ledger.texts() == ["hello"])
        .await;
    let part = port.say(&anna.user, "for Anna");
    port.outcome(part).await;
    anna.hears(&room, "for Anna").await;
    // Ben and the bot have no room yet. It makes one, and only one.
    for said in ["for Ben", "for Ben again"] {
        let part = port.say(&ben.user, said);
        match port.outcome(part).await {
            SendOutcome::Sent { external_refs } => {
                let made = external_refs[0].split_once("/$").unwrap().0.to_owned();
                ben.join(&made).await;
                ben.hears(&made, said).await;
            }
            other => panic!("{other:?}"),
        }
    }
    let rooms = ben.call(Method::GET, "joined_rooms", &json!(null)).await;
    assert_eq!(rooms["joined_rooms"].as_array().unwrap().len(), 1);
    running.stop().await;
}
