//! A bot in Discord with the real binary: messages, cards, buttons, files, and a kill -9 at every point.

use leverframe::engine::turn::finish::SCRIPTED_LABEL;
use serde_json::{Value, json};

use crate::discord::world::{CHANNEL, DIRECT, start};
use crate::stories::bot::WRITE;
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_discord::state::State;
use crate::support::fake_discord::{FakeDiscord, Message, Order, TOKEN, User};
use crate::support::record;

const BEN: u64 = 100;
const ANNA: u64 = 200;

fn ben() -> User {
    User::new(BEN, "Ben")
}

fn anna() -> User {
    User::new(ANNA, "Anna")
}

fn platform() -> FakeDiscord {
    let fake = start();
    fake.change(|state| {
        state.people.insert(BEN);
        state.people.insert(ANNA);
    });
    fake
}

fn home(fake: &FakeDiscord) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"discord\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         allowed_users = [\"100\"]\n\n\
         [people.anna]\nids = [\"discord:200\"]\nrole = \"owner\"\n",
        fake.api_base()
    ))
}

async fn connected(home: &Home, fake: &FakeDiscord, environment: &[(&str, &str)]) -> Daemon {
    let before = {
        let state = fake.state();
        state.identified as usize + state.resumed.len()
    };
    let mut all = vec![("TEAM_TOKEN", TOKEN)];
    all.extend(environment);
    let daemon = home.daemon_with(&all);
    fake.wait_until("a session", |state| {
        state.identified as usize + state.resumed.len() > before
    })
    .await;
    daemon
}

/// Anna's card, in her direct channel.
async fn card(fake: &FakeDiscord) -> Message {
    let place = State::direct_of(ANNA);
    let is_card = |m: &&Message| m.channel == place && m.by_bot && !m.buttons().is_empty();
    fake.wait_until("a card for Anna", |state| {
        state.messages.iter().any(|m| is_card(&m))
    })
    .await;
    let messages = fake.messages(place);
    messages.iter().find(is_card).expect("it was there").clone()
}

fn answers(fake: &FakeDiscord, channel: u64, text: &str) -> usize {
    let messages = fake.messages(channel);
    messages.iter().filter(|m| m.text().contains(text)).count()
}

#[tokio::test]
async fn a_message_is_answered_and_a_write_is_approved_by_a_button() {
    let fake = platform();
    let home = home(&fake);
    let _daemon = connected(&home, &fake, &[]).await;
    // Nobody asked the bot.
    fake.user_says(CHANNEL, &ben(), "hello all");
    let mention = format!("<@{}> SAY:hello Ben", fake.state().bot.id);
    fake.user_says(CHANNEL, &ben(), &mention);
    let answer = fake.shown(CHANNEL, "hello Ben").await;
    assert_eq!(answer.json["type"], 19, "it answers his message");

    fake.user_says(DIRECT, &ben(), WRITE);
    let card = card(&fake).await;
    let text = card.text();
    assert!(
        text.contains("write") && text.contains("note.txt"),
        "{text}"
    );
    let note = home.workspace("team").join("note.txt");
    assert!(!note.exists());
    // Somebody who may not decide; only they are told.
    let mallory = User::new(999, "Mallory");
    let click = fake.user_clicks(&card, "Allow once", &mallory);
    fake.wait_until("the refusal", |state| {
        state.interactions[&click].answer.is_some()
    })
    .await;
    let said = fake.state().interactions[&click].answer.clone().unwrap();
    let words = said["data"]["content"].as_str().unwrap().to_owned();
    assert!(words.starts_with("Not decided"), "{words}");
    assert!(!note.exists());

    let click = fake.user_clicks(&card, "Allow once", &anna());
    fake.shown(DIRECT, "all done").await;
    assert_eq!(std::fs::read_to_string(note).unwrap(), "hi\n");
    fake.wait_until("the card is disarmed", |state| {
        let shown = state.messages.iter().find(|m| m.id == card.id).unwrap();
        shown.buttons().is_empty() && shown.edits > 0
    })
    .await;
    assert!(fake.state().interactions[&click].answer.is_some());
    assert_eq!(answers(&fake, DIRECT, "all done"), 1);
    assert_eq!(answers(&fake, CHANNEL, "hello"), 1);
    assert_eq!(fake.state().violations, Vec::<String>::new());
}

#[tokio::test]
async fn a_click_that_discord_lost_leaves_the_card_as_it_was_and_the_next_click_counts() {
    let fake = platform();
    let home = home(&fake);
    let daemon = connected(&home, &fake, &[]).await;
    fake.user_says(DIRECT, &ben(), WRITE);
    let card = card(&fake).await;
    // The session ends, and what is pressed before the next one is told to nobody.
    fake.change(|state| state.closes_with = Some(4_000));
    fake.order(Order::Invalidate);
    fake.wait_until("the session is gone", |state| state.sessions.is_empty())
        .await;
    let lost = fake.user_clicks(&card, "Allow once", &anna());
    fake.change(|state| state.closes_with = None);
    fake.wait_until("another session", |state| state.identified == 2)
        .await;
    assert_eq!(fake.state().interactions[&lost].answer, None);
    assert_eq!(daemon.pending_approvals().await.len(), 1);
    let shown = fake.messages(card.channel);
    let shown = shown.iter().find(|message| message.id == card.id).unwrap();
    assert_eq!(shown.buttons(), card.buttons(), "the card stays armed");
    assert_eq!(shown.edits, 0);

    let click = fake.user_clicks(&card, "Allow once", &anna());
    fake.shown(DIRECT, "all done").await;
    let note = home.workspace("team").join("note.txt");
    assert_eq!(std::fs::read_to_string(note).unwrap(), "hi\n");
    fake.wait_until("the card is disarmed", |state| {
        let shown = state.messages.iter().find(|m| m.id == card.id).unwrap();
        shown.buttons().is_empty() && state.interactions[&click].answer.is_some()
    })
    .await;
    assert_eq!(answers(&fake, DIRECT, "all done"), 1);
    assert_eq!(fake.state().violations, Vec::<String>::new());
}

#[tokio::test]
async fn a_kill_at_any_point_loses_nothing_and_doubles_nothing() {
    for point in [
        // The second: the first is the session that begins.
        "ingest.pre_commit:2",
        "ingest.post_commit:2",
        "send.started:1",
        "send.effect_done:1",
        "send.post:1",
    ] {
        let fake = platform();
        let home = home(&fake);
        let mut daemon = connected(&home, &fake, &[("LEVERFRAME_CRASH", point)]).await;
        fake.user_says(DIRECT, &ben(), "SAY:only once");
        let died = tokio::task::spawn_blocking(move || daemon.wait_exit());
        assert!(died.await.unwrap().is_some(), "{point}: it was not killed");
        let daemon = connected(&home, &fake, &[]).await;
        fake.shown(DIRECT, "only once").await;
        daemon
            .wait("/v1/outbox?state=sent", "it is recorded", |page| {
                !page["items"].as_array().unwrap().is_empty()
            })
            .await;
        fake.user_says(DIRECT, &ben(), "SAY:and then");
        fake.shown(DIRECT, "and then").await;
        let turns = daemon.get("/v1/continuations").await;
        assert_eq!(
            turns["items"].as_array().unwrap().len(),
            2,
            "{point}: {turns:#}"
        );
        assert_eq!(
            answers(&fake, DIRECT, "only once"),
            1,
            "{point}: {}",
            fake.story()
        );
        assert_eq!(
            daemon.pending_approvals().await,
            Vec::<Value>::new(),
            "{point}: nobody is asked"
        );
        assert_eq!(fake.state().violations, Vec::<String>::new(), "{point}");
    }
    record::fault(
        "discord-killed",
        "the process was killed between receipt, commit, send and record",
        "nothing lost, nothing doubled, nobody asked",
    );
}

#[tokio::test]
async fn files_come_and_go() {
    let fake = platform();
    let home = home(&fake);
    let daemon = connected(&home, &fake, &[]).await;
    fake.user_sends_file(DIRECT, &ben(), "SAY:thanks", "notes.txt", b"some notes");
    fake.shown(DIRECT, "thanks").await;
    let turns = daemon.get("/v1/continuations").await;
    let path = turns["items"][0]["attachments"][0]["path"].as_str();
    let path = path.unwrap_or_else(|| panic!("{turns:#}"));
    let file = home.workspace("team").join(path);
    assert_eq!(std::fs::read(file).unwrap(), b"some notes");
}

#[tokio::test]
async fn a_long_answer_arrives_whole_in_parts_in_order() {
    let fake = platform();
    let home = home(&fake);
    let _daemon = connected(&home, &fake, &[]).await;
    let words: Vec<String> = (0..900).map(|n| format!("word{n}")).collect();
    // Longer than a person could write; the platform's limit for people is not the question here.
    fake.user_says(DIRECT, &ben(), &format!("SAY:{}", words.join(" ")));
    fake.shown(DIRECT, "word899").await;
    let messages = fake.messages(DIRECT);
    assert!(messages.len() > 2);
    let said: Vec<String> = messages
        .iter()
        .flat_map(|m| {
            m.text()
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    let label = SCRIPTED_LABEL.split_whitespace().count();
    assert_eq!(said[label..], words);
    assert_eq!(fake.state().violations, Vec::<String>::new());
}

#[tokio::test]
async fn a_revoked_token_and_other_bots_show_and_stop_what_they_must() {
    let fake = platform();
    let home = home(&fake);
    let daemon = connected(&home, &fake, &[]).await;
    // Two bots in one room answer each other for ever, if one of them lets itself be asked.
    let mut robot = User::new(BEN, "Robot");
    robot.bot = true;
    let mention = format!("<@{}> SAY:again", fake.state().bot.id);
    fake.user_says(CHANNEL, &robot, &mention);
    fake.user_says(DIRECT, &ben(), "SAY:to a person");
    fake.shown(DIRECT, "to a person").await;
    assert_eq!(answers(&fake, CHANNEL, "again"), 0);

    let channels = |page: &Value, word: &str| {
        let items = page["items"].as_array().cloned().unwrap_or_default();
        items
            .iter()
            .any(|one| one["name"] == "team" && one["health"]["state"] == word)
    };
    let page = daemon
        .wait("/v1/channels", "it is well", |page| {
            channels(page, "connected")
        })
        .await;
    let team = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "team");
    assert_eq!(team.unwrap()["account"], json!("@lever"));
    fake.change(|state| "other".clone_into(&mut state.token));
    fake.order(Order::Close(4_004));
    let page = daemon
        .wait("/v1/channels", "it failed", |page| channels(page, "failed"))
        .await;
    assert!(page.to_string().contains("Reset Token"), "{page:#}");
    assert!(!page.to_string().contains("MustNeverShow"));
    assert!(!home.log().contains("MustNeverShow"));
}
