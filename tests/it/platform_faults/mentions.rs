//! Words that call a whole room: read, they are no question to the bot; said by a model, they call nobody.

use leverframe::protocol::enums::ChannelState;
use reqwest::Method;
use serde_json::{Value, json};

use crate::discord::world::{self as discord_world, CHANNEL};
use crate::matrix::bridging::connected;
use crate::matrix::synapse::{Account, synapse};
use crate::slack;
use crate::support::daemon::Home;
use crate::support::fake_discord;
use crate::support::fake_slack::{self, ADA, BEN, BEN_DIRECT, FakeSlack, TEAM};
use crate::telegram::port::TestPort;

/// What a model says when somebody told it to.
const CALLS: &str =
    "@everyone @here @channel @room <@&555> <@4242> <!everyone> <!channel> <!here> <!subteam^S1>";
/// A question of which a card asks somebody, with the same words.
const WRITE: &str =
    "TOOL:write_file{\"path\":\"@everyone <!channel>.txt\",\"content\":\"@here <!here>\"}";

#[tokio::test]
async fn a_mass_mention_in_discord_is_no_question_to_the_bot() {
    let (fake, port, running) = discord_world::connected().await;
    for (text, more) in [
        ("@everyone lunch", json!({ "mention_everyone": true })),
        ("@here lunch", json!({ "mention_everyone": true })),
        ("<@&555> lunch", json!({ "mention_roles": ["555"] })),
    ] {
        let mut message = json!({ "content": text });
        for (name, value) in more.as_object().unwrap() {
            message[name] = value.clone();
        }
        fake.user_sends(CHANNEL, &discord_world::ada(), message);
    }
    let bot = fake.state().bot.id;
    fake.user_says(
        CHANNEL,
        &discord_world::ada(),
        &format!("@everyone and <@{bot}>"),
    );
    port.wait_until("heard", |ledger| ledger.texts().len() == 4)
        .await;
    running.stop().await;
    let addressed: Vec<bool> = slack::port::addressed(&port.ledger())
        .into_iter()
        .map(|(_, addressed)| addressed)
        .collect();
    assert_eq!(addressed, [false, false, false, true]);
}

#[tokio::test]
async fn a_mass_mention_in_slack_is_no_question_to_the_bot() {
    let (fake, port, running) = slack::port::connected().await;
    for text in [
        "<!everyone> lunch",
        "<!channel> lunch",
        "<!here|here> lunch",
        "<!subteam^S1|@devs> lunch",
    ] {
        fake.says(TEAM, ADA, text);
    }
    fake.says(TEAM, ADA, &format!("<!channel> and <@{}>", fake_slack::BOT));
    port.wait_until("heard", |ledger| ledger.texts().len() == 5)
        .await;
    running.stop().await;
    let addressed: Vec<bool> = slack::port::addressed(&port.ledger())
        .into_iter()
        .map(|(_, addressed)| addressed)
        .collect();
    assert_eq!(addressed, [false, false, false, false, true]);
}

/// A room of three, so that nobody speaks to the bot alone.
async fn room_of_three(anna: &Account, others: [&Account; 2]) -> String {
    let room = anna
        .room(json!({ "preset": "private_chat", "name": "Ops",
            "power_level_content_override": { "notifications": { "room": 0 } } }))
        .await;
    for other in others {
        anna.invite(&room, other).await;
        other.join(&room).await;
    }
    room
}

#[tokio::test]
async fn a_mention_of_a_matrix_room_is_no_question_to_the_bot() {
    let Some(server) = synapse("mentions of a whole room") else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let ben = server.user("ben").await;
    let room = room_of_three(&anna, [&ben, &bot]).await;
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    let mentions = |value: Value| json!({ "m.mentions": value });
    anna.say(&room, "@room old clients name nobody").await;
    anna.say_with(&room, "@room lunch", mentions(json!({ "room": true })))
        .await;
    let both = json!({ "room": true, "user_ids": [bot.user] });
    anna.say_with(&room, "@room and the bot", mentions(both))
        .await;
    port.wait_until("heard", |ledger| ledger.texts().len() == 3)
        .await;
    running.stop().await;
    let addressed: Vec<bool> = slack::port::addressed(&port.ledger())
        .into_iter()
        .map(|(_, addressed)| addressed)
        .collect();
    assert_eq!(addressed, [false, false, true]);
}

/// A configuration with this channel and the scripted model.
fn configuration(channel: &str) -> String {
    format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n[channels.team]\n{channel}\n"
    )
}

#[tokio::test]
async fn no_answer_of_a_model_calls_anybody_in_discord() {
    let fake = discord_world::start();
    fake.change(|state| state.people.insert(77));
    let home = Home::new(&configuration(&format!(
        "kind = \"discord\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\nallowed_users = [\"4242\"]\n\n\
         [people.anna]\nids = [\"discord:77\"]\nrole = \"owner\"",
        fake.api_base()
    )));
    let daemon = home.daemon_with(&[("TEAM_TOKEN", fake_discord::TOKEN)]);
    fake.wait_until("a session", |state| state.identified == 1)
        .await;
    let bot = fake.state().bot.id;
    let ask = |text: &str| {
        fake.user_says(CHANNEL, &discord_world::ada(), &format!("<@{bot}> {text}"));
    };
    ask(&format!("SAY:first {CALLS}"));
    fake.shown(CHANNEL, "first").await;
    ask(&format!("{WRITE}\nSAY:second {CALLS}"));
    let approval = daemon.wait_approval().await;
    fake.shown(fake_discord::State::direct_of(77), "May").await;
    let (status, answer) = daemon.decide(&approval, "approve").await;
    assert_eq!(status, 200, "{answer}");
    fake.shown(CHANNEL, "second").await;
    let state = fake.state();
    let said: Vec<&Value> = state
        .ledger
        .iter()
        .filter(|call| matches!(call.route.as_str(), "send" | "edit"))
        .map(|call| &call.body)
        .collect();
    assert!(said.len() >= 2);
    assert!(
        said.iter()
            .any(|body| body.to_string().contains("@everyone"))
    );
    for body in said {
        let allowed = &body["allowed_mentions"];
        assert_eq!(allowed["parse"], json!([]), "{body}");
        for list in ["users", "roles"] {
            assert!(allowed[list].as_array().is_none_or(Vec::is_empty), "{body}");
        }
    }
}

#[tokio::test]
async fn no_answer_of_a_model_calls_anybody_in_slack() {
    let fake = FakeSlack::start();
    let home = Home::new(&configuration(&format!(
        "kind = \"slack\"\ntoken_env = \"BOT\"\napp_token_env = \"APP\"\napi_base = \"{}\"\nallowed_users = [\"{ADA}\"]\n\n\
         [people.ben]\nids = [\"slack:{BEN}\"]\nrole = \"owner\"",
        fake.api_base()
    )));
    let tokens = [
        ("BOT", fake_slack::BOT_TOKEN),
        ("APP", fake_slack::APP_TOKEN),
    ];
    let daemon = home.daemon_with(&tokens);
    fake.wait_until("a socket", |state| !state.sockets.is_empty())
        .await;
    // As Slack hands it on: what a person typed is escaped.
    let escaped = |text: &str| text.replace('<', "&lt;").replace('>', "&gt;");
    let ask = |text: &str| {
        let text = escaped(text);
        fake.says(TEAM, ADA, &format!("<@{}> {text}", fake_slack::BOT));
    };
    ask(&format!("SAY:first {CALLS}"));
    fake.shown(TEAM, "first").await;
    ask(&format!("{WRITE}\nSAY:second {CALLS}"));
    let approval = daemon.wait_approval().await;
    fake.shown(BEN_DIRECT, "May").await;
    let (status, answer) = daemon.decide(&approval, "approve").await;
    assert_eq!(status, 200, "{answer}");
    fake.shown(TEAM, "second").await;
    let said: Vec<Value> = fake
        .ledger()
        .into_iter()
        .filter(|call| matches!(call.method.as_str(), "chat.postMessage" | "chat.update"))
        .map(|call| json!(call.params))
        .collect();
    assert!(said.len() >= 2);
    assert!(
        said.iter()
            .any(|body| body.to_string().contains("!channel"))
    );
    for body in said {
        let text = body.to_string();
        for call in ["<!", "<@", "<#"] {
            assert!(!text.contains(call), "{call} in {text}");
        }
        // Else Slack makes mentions of plain names.
        assert_ne!(body["link_names"], json!(true), "{body}");
        if body["blocks"].is_null() {
            assert_eq!(body["parse"], "none", "{body}");
        }
    }
}

/// How many messages call somebody in a room, as the homeserver counts for them.
async fn highlights(account: &Account, room: &str, hold: u32) -> u64 {
    // Each question differs a little, because Synapse keeps answers.
    let answer = account
        .call(Method::GET, &format!("sync?timeout={hold}"), &Value::Null)
        .await;
    let unread = &answer["rooms"]["join"][room]["unread_notifications"];
    unread["highlight_count"].as_u64().unwrap()
}

#[tokio::test]
async fn no_answer_of_a_model_calls_a_matrix_room() {
    let Some(server) = synapse("calls of a whole room") else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let ben = server.user("ben").await;
    let room = room_of_three(&anna, [&ben, &bot]).await;
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    port.wait_until("well", |ledger| {
        let health = ledger.last_health();
        health.is_some_and(|health| health.state == ChannelState::Connected)
    })
    .await;
    let text = format!("{CALLS} {} {}", anna.user, ben.user);
    let part = port.say(&room, &text);
    port.outcome(part).await;
    let said = anna.hears(&room, "@room").await;
    assert_eq!(said["content"]["m.mentions"], json!({}));
    assert_eq!(highlights(&anna, &room, 1).await, 0);
    // A person may, and the homeserver counts that.
    ben.say_with(
        &room,
        "@room lunch",
        json!({ "m.mentions": { "room": true } }),
    )
    .await;
    anna.hears(&room, "lunch").await;
    assert_eq!(highlights(&anna, &room, 2).await, 1);
    running.stop().await;
}
