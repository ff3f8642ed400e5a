//! The real binary on Discord and Slack: somebody unknown is let in, a person writes as the bot, a channel drains.

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::fake_discord::state::State;
use crate::support::fake_discord::{self, FakeDiscord, User};
use crate::support::fake_slack::{APP_TOKEN, BEN, BEN_DIRECT, BOT_TOKEN, FakeSlack};
use crate::take_overs::daemon::cli;

/// Somebody with a direct chat with the bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Person {
    /// May talk.
    Ben,
    /// Is unknown.
    Mallory,
}

/// A platform with its people.
#[async_trait]
trait Chat: Sync {
    fn says(&self, who: Person, text: &str);
    /// Waits until a message of the bot to somebody shows this.
    async fn shown(&self, who: Person, text: &str);
    /// Waits until the bot said so much to somebody.
    async fn said(&self, who: Person, count: usize);
    /// What the bot said to somebody, in order.
    fn heard(&self, who: Person) -> Vec<String>;
    fn violations(&self) -> Vec<String>;
}

const BEN_ID: u64 = 100;
const MALLORY_ID: u64 = 999;

fn user(who: Person) -> User {
    match who {
        Person::Ben => User::new(BEN_ID, "Ben"),
        Person::Mallory => User::new(MALLORY_ID, "Mallory"),
    }
}

#[async_trait]
impl Chat for FakeDiscord {
    fn says(&self, who: Person, text: &str) {
        let user = user(who);
        self.user_says(State::direct_of(user.id), &user, text);
    }

    async fn shown(&self, who: Person, text: &str) {
        FakeDiscord::shown(self, State::direct_of(user(who).id), text).await;
    }

    async fn said(&self, who: Person, count: usize) {
        let place = State::direct_of(user(who).id);
        self.wait_until("the bot says more", |state| {
            let ours = state
                .messages
                .iter()
                .filter(|m| m.channel == place && m.by_bot);
            ours.count() >= count
        })
        .await;
    }

    fn heard(&self, who: Person) -> Vec<String> {
        let messages = self.messages(State::direct_of(user(who).id));
        messages.iter().map(fake_discord::Message::text).collect()
    }

    fn violations(&self) -> Vec<String> {
        self.state().violations.clone()
    }
}

fn place(who: Person) -> (&'static str, &'static str) {
    match who {
        Person::Ben => (BEN_DIRECT, BEN),
        Person::Mallory => ("DU0MALLORY", "U0MALLORY"),
    }
}

#[async_trait]
impl Chat for FakeSlack {
    fn says(&self, who: Person, text: &str) {
        let (channel, user) = place(who);
        FakeSlack::says(self, channel, user, text);
    }

    async fn shown(&self, who: Person, text: &str) {
        FakeSlack::shown(self, place(who).0, text).await;
    }

    async fn said(&self, who: Person, count: usize) {
        self.wait_until("the bot says more", |state| {
            state.bot_messages(place(who).0).len() >= count
        })
        .await;
    }

    fn heard(&self, who: Person) -> Vec<String> {
        let messages = self.messages(place(who).0);
        messages.into_iter().map(|message| message.text).collect()
    }

    fn violations(&self) -> Vec<String> {
        self.state().violations.clone()
    }
}

/// A fake with the home and the variables of a daemon on it.
fn discord() -> (FakeDiscord, Home, Vec<(&'static str, &'static str)>) {
    let fake = FakeDiscord::start();
    fake.change(|state| {
        for id in [BEN_ID, MALLORY_ID] {
            state.people.insert(id);
            state.know_direct(State::direct_of(id));
        }
    });
    let table = format!(
        "kind = \"discord\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\nallowed_users = [\"100\"]",
        fake.api_base()
    );
    (
        fake,
        home(&table),
        vec![("TEAM_TOKEN", fake_discord::TOKEN)],
    )
}

fn slack() -> (FakeSlack, Home, Vec<(&'static str, &'static str)>) {
    let fake = FakeSlack::start();
    let (direct, mallory) = place(Person::Mallory);
    fake.change(|state| {
        let channel = state.channels[BEN_DIRECT].clone();
        state.channels.insert(direct.to_owned(), channel);
        state.directs.insert(mallory.to_owned(), direct.to_owned());
    });
    let table = format!(
        "kind = \"slack\"\ntoken_env = \"TEAM_TOKEN\"\napp_token_env = \"TEAM_APP_TOKEN\"\n\
         api_base = \"{}\"\nallowed_users = [\"{BEN}\"]",
        fake.api_base()
    );
    let environment = vec![("TEAM_TOKEN", BOT_TOKEN), ("TEAM_APP_TOKEN", APP_TOKEN)];
    (fake, home(&table), environment)
}

fn home(table: &str) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n[channels.team]\n{table}\n"
    ))
}

/// A daemon whose channel is connected.
async fn connected(home: &Home, environment: &[(&str, &str)]) -> Daemon {
    let daemon = home.daemon_with(environment);
    daemon
        .wait("/v1/channels/team", "it is connected", |channel| {
            channel["health"]["state"] == "connected"
        })
        .await;
    daemon
}

/// Ben was answered: what came in before was taken in.
async fn answered(chat: &dyn Chat, text: &str) {
    chat.says(Person::Ben, &format!("SAY:{text}"));
    chat.shown(Person::Ben, text).await;
}

async fn queued(daemon: &Daemon, count: usize) {
    daemon
        .wait("/v1/continuations?state=pending", "they wait", |list| {
            list["items"].as_array().map(Vec::len) == Some(count)
        })
        .await;
}

/// How many messages of the bot to somebody show this.
fn times(chat: &dyn Chat, who: Person, text: &str) -> usize {
    let heard = chat.heard(who);
    heard
        .iter()
        .filter(|message| message.contains(text))
        .count()
}

/// Somebody unknown hears a code once and nothing else, gets access by it, and loses it again.
async fn pairing(chat: &dyn Chat, home: &Home, environment: &[(&str, &str)]) {
    let mut daemon = connected(home, environment).await;
    answered(chat, "here").await;
    chat.says(Person::Mallory, "SAY:never");
    chat.shown(Person::Mallory, "not on this bot's list").await;
    chat.says(Person::Mallory, "SAY:nor this");
    answered(chat, "between").await;
    let heard = chat.heard(Person::Mallory);
    assert_eq!(heard.len(), 1, "{heard:?}");
    let asked = daemon.wait_approval().await;
    assert_eq!(asked["kind"], "pairing");
    let code = asked["short_code"].as_str().unwrap();
    assert!(heard[0].contains(code), "{heard:?}");

    let (status, text) = cli(home, &["channels", "pair", code]).await;
    assert_eq!(status, Some(0), "{text}");
    chat.shown(Person::Mallory, "have access").await;
    chat.says(Person::Mallory, "SAY:now read");
    chat.shown(Person::Mallory, "now read").await;
    // As a user: they cannot decide what they ask for.
    chat.says(
        Person::Mallory,
        "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"hi\\n\"}\nSAY:all done",
    );
    let call = daemon.wait_approval().await;
    chat.shown(Person::Mallory, "Waiting for").await;
    let said = chat.heard(Person::Mallory).len();
    let approve = format!("/approve {}", call["short_code"].as_str().unwrap());
    chat.says(Person::Mallory, &approve);
    chat.said(Person::Mallory, said + 1).await;
    assert_eq!(daemon.wait_approval().await["id"], call["id"]);
    assert_eq!(daemon.decide(&call, "deny_and_stop").await.0, 200);

    daemon.terminate();
    let daemon = connected(home, environment).await;
    chat.says(Person::Mallory, "SAY:still in");
    chat.shown(Person::Mallory, "still in").await;
    let listed = daemon.get("/v1/pairings").await;
    let sender = listed["items"][0]["sender"].as_str().unwrap().to_owned();
    let (_, id) = sender.split_once(':').unwrap();
    let (status, text) = cli(home, &["channels", "revoke", "team", id]).await;
    assert_eq!(status, Some(0), "{text}");
    chat.says(Person::Mallory, "SAY:out again");
    answered(chat, "the end").await;
    assert_eq!(times(chat, Person::Mallory, "out again"), 0);
    assert_eq!(chat.violations(), Vec::<String>::new());
}

/// A person writes as the bot, across a restart; the agent answers what came meanwhile that was not answered.
async fn take_over(chat: &dyn Chat, home: &Home, environment: &[(&str, &str)]) {
    let mut daemon = connected(home, environment).await;
    answered(chat, "one").await;
    let sessions = daemon.get("/v1/sessions?channel=team").await;
    let session = sessions["items"][0]["id"].as_str().unwrap().to_owned();
    let conversation = sessions["items"][0]["conversation"].clone();
    let taken = json!({ "conversation": conversation });
    let held = daemon.post("/v1/channels/team/take-over", taken).await;
    assert_eq!(held["id"], session.as_str());
    let hold = held["taken_over"]["id"].clone();
    chat.says(Person::Ben, "SAY:two");
    chat.says(Person::Ben, "SAY:three");
    queued(&daemon, 2).await;
    let said = json!({ "take_over_id": hold, "text": "I am **on** it." });
    daemon
        .post(&format!("/v1/sessions/{session}/say"), said)
        .await;
    chat.shown(Person::Ben, "on").await;
    queued(&daemon, 0).await;
    chat.says(Person::Ben, "SAY:four");
    queued(&daemon, 1).await;
    daemon.terminate();
    let mut daemon = connected(home, environment).await;
    queued(&daemon, 1).await;
    let (status, text) = cli(home, &["sessions", "release", &session, "--force"]).await;
    assert_eq!(status, Some(0), "{text}");
    chat.shown(Person::Ben, "four").await;
    let heard = chat.heard(Person::Ben);
    assert_eq!(heard.len(), 3, "{heard:?}");
    assert!(
        heard[1].contains("I am") && heard[1].contains("it."),
        "{heard:?}"
    );
    for unanswered in ["two", "three"] {
        assert_eq!(times(chat, Person::Ben, unanswered), 0, "{heard:?}");
    }
    assert_eq!(chat.violations(), Vec::<String>::new());
    daemon.terminate();
    let (_, text) = cli(home, &["doctor", "--check"]).await;
    assert!(text.contains(" 0 violations"), "{text}");
}

/// A drained channel finishes what it began and sends it, holds back what comes, also across a restart, and loses none.
async fn drain(chat: &dyn Chat, home: &Home, environment: &[(&str, &str)]) {
    let mut daemon = connected(home, environment).await;
    chat.says(Person::Ben, "SLOW:60\nSAY:begun before");
    daemon
        .wait("/v1/continuations?state=running", "it runs", |list| {
            list["items"].as_array().map(Vec::len) == Some(1)
        })
        .await;
    let (status, text) = cli(home, &["channels", "drain", "team", "--wait"]).await;
    assert_eq!(status, Some(0), "{text}");
    assert_eq!(times(chat, Person::Ben, "begun before"), 1);
    chat.says(Person::Ben, "SAY:held back");
    let held_back = |channel: &Value| channel["draining"]["held_back"] == 1;
    daemon
        .wait("/v1/channels/team", "it is held back", held_back)
        .await;
    daemon.terminate();
    let daemon = connected(home, environment).await;
    daemon
        .wait("/v1/channels/team", "it still is", held_back)
        .await;
    assert_eq!(times(chat, Person::Ben, "held back"), 0);
    let (status, text) = cli(home, &["channels", "undrain", "team"]).await;
    assert_eq!(status, Some(0), "{text}");
    chat.shown(Person::Ben, "held back").await;
    assert_eq!(times(chat, Person::Ben, "held back"), 1);
    assert_eq!(chat.violations(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn discord_lets_somebody_in_by_their_code() {
    let (fake, home, environment) = discord();
    pairing(&fake, &home, &environment).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slack_lets_somebody_in_by_their_code() {
    let (fake, home, environment) = slack();
    pairing(&fake, &home, &environment).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn discord_hears_a_person_in_place_of_the_agent() {
    let (fake, home, environment) = discord();
    take_over(&fake, &home, &environment).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slack_hears_a_person_in_place_of_the_agent() {
    let (fake, home, environment) = slack();
    take_over(&fake, &home, &environment).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn discord_drains_and_loses_nothing() {
    let (fake, home, environment) = discord();
    drain(&fake, &home, &environment).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slack_drains_and_loses_nothing() {
    let (fake, home, environment) = slack();
    drain(&fake, &home, &environment).await;
}
