//! The platforms, each with its words.

use std::time::Duration;

use async_trait::async_trait;
use leverframe::channels::channel::Bridge;
use leverframe::channels::discord::bridge::DiscordBridge;
use leverframe::channels::slack::bridge::SlackBridge;
use leverframe::clock::Clock;
use leverframe::config::secret::Secret;
use serde_json::Value;

use crate::discord::world::{self as discord_world, CHANNEL, DIRECT};
use crate::matrix::synapse::{Account, synapse};
use crate::platform_faults::every_fault::{Adapter, recorded, story};
use crate::support::fake_discord::{self, FakeDiscord, Order};
use crate::support::fake_slack::{self, ADA, ADA_DIRECT, FakeSlack, TEAM};
use crate::support::fake_telegram::{self, FakeTelegram};
use crate::support::fault_proxy::{Fault, Proxy};
use crate::telegram::port::{ada, bridge_at, options};

/// Telegram.
pub struct Telegram(FakeTelegram);

#[async_trait(?Send)]
impl Adapter for Telegram {
    fn address(&self) -> String {
        self.0.url().to_owned()
    }

    fn bridge(&self, address: &str) -> Box<dyn Bridge> {
        Box::new(bridge_at(address, fake_telegram::TOKEN, options()))
    }

    fn limit(&self) -> &'static str {
        r#"{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":1}}"#
    }

    fn reads(&self) -> Vec<(&'static str, bool)> {
        vec![("getMe", true), ("getUpdates", false)]
    }

    fn sends(&self) -> (&'static str, bool) {
        // Telegram has no keys: what comes twice is shown twice.
        ("sendMessage", false)
    }

    fn break_off(&self, proxy: &Proxy, _word: &str) {
        proxy.fault("getUpdates", Fault::ResetBefore);
    }

    async fn say(&self, text: &str) {
        self.0.user_says(4_242, &ada(), text);
    }

    fn places(&self) -> [String; 2] {
        ["4242", "4243"].map(str::to_owned)
    }

    async fn said_in(&self, place: &str) -> Vec<String> {
        let messages = self.0.messages(place.parse().unwrap()).into_iter();
        messages.map(|message| message.text).collect()
    }
}

impl Telegram {
    pub fn start() -> Self {
        let fake = FakeTelegram::start();
        fake.change(|state| {
            state.know_chat(4_242);
            state.know_chat(4_243);
        });
        Self(fake)
    }
}

#[tokio::test]
async fn telegram_answers_each_message_once_whatever_happens_to_a_call() {
    story(&Telegram::start()).await;
    recorded("telegram");
}

/// Discord.
pub struct Discord(pub FakeDiscord);

#[async_trait(?Send)]
impl Adapter for Discord {
    fn address(&self) -> String {
        self.0.api_base().replace("/api/v10", "")
    }

    fn bridge(&self, address: &str) -> Box<dyn Bridge> {
        Box::new(DiscordBridge::new(
            "dc",
            &format!("{address}/api/v10"),
            Some(Secret::new(fake_discord::TOKEN)),
            Clock::System,
            discord_world::options(),
        ))
    }

    fn limit(&self) -> &'static str {
        r#"{"message":"You are being rate limited.","retry_after":1.0,"global":false}"#
    }

    fn reads(&self) -> Vec<(&'static str, bool)> {
        vec![("/users/@me", true)]
    }

    fn sends(&self) -> (&'static str, bool) {
        ("/messages ", true)
    }

    fn break_off(&self, _proxy: &Proxy, _word: &str) {
        self.0.order(Order::Drop);
    }

    async fn say(&self, text: &str) {
        let ada = discord_world::ada();
        self.0.user_says(DIRECT, &ada, text);
    }

    fn places(&self) -> [String; 2] {
        [DIRECT, CHANNEL].map(|place| place.to_string())
    }

    async fn said_in(&self, place: &str) -> Vec<String> {
        let messages = self.0.messages(place.parse().unwrap());
        messages.iter().map(fake_discord::Message::text).collect()
    }
}

#[tokio::test]
async fn discord_answers_each_message_once_whatever_happens_to_a_call() {
    story(&Discord(discord_world::start())).await;
    recorded("discord");
}

/// Slack.
pub struct Slack(pub FakeSlack);

#[async_trait(?Send)]
impl Adapter for Slack {
    fn address(&self) -> String {
        self.0.api_base().replace("/api", "")
    }

    fn bridge(&self, address: &str) -> Box<dyn Bridge> {
        let secret = |token: &str| Some(Secret::new(token));
        Box::new(SlackBridge::new(
            "team",
            &format!("{address}/api"),
            (secret(fake_slack::BOT_TOKEN), secret(fake_slack::APP_TOKEN)),
            Clock::System,
            crate::slack::port::options(),
        ))
    }

    fn limit(&self) -> &'static str {
        r#"{"ok":false,"error":"ratelimited"}"#
    }

    fn reads(&self) -> Vec<(&'static str, bool)> {
        vec![("auth.test", true), ("apps.connections.open", true)]
    }

    fn sends(&self) -> (&'static str, bool) {
        // Slack has no keys: what comes twice is shown twice.
        ("chat.postMessage", false)
    }

    fn break_off(&self, _proxy: &Proxy, _word: &str) {
        self.0.break_sockets();
    }

    async fn say(&self, text: &str) {
        self.0.says(ADA_DIRECT, ADA, text);
    }

    fn places(&self) -> [String; 2] {
        [ADA_DIRECT, TEAM].map(str::to_owned)
    }

    async fn said_in(&self, place: &str) -> Vec<String> {
        let messages = self.0.messages(place).into_iter();
        messages.map(|message| message.text).collect()
    }
}

#[tokio::test]
async fn slack_answers_each_message_once_whatever_happens_to_a_call() {
    story(&Slack(FakeSlack::start())).await;
    recorded("slack");
}

/// Matrix.
pub struct Matrix {
    server: String,
    bot: Account,
    anna: Account,
    room: String,
    other: String,
}

#[async_trait(?Send)]
impl Adapter for Matrix {
    fn address(&self) -> String {
        self.server.clone()
    }

    fn bridge(&self, address: &str) -> Box<dyn Bridge> {
        let mut options = crate::matrix::bridging::options();
        options.http.request = Duration::from_secs(2);
        Box::new(crate::matrix::bridging::bridge(
            address,
            &self.bot.token,
            options,
        ))
    }

    fn limit(&self) -> &'static str {
        r#"{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":50}"#
    }

    fn reads(&self) -> Vec<(&'static str, bool)> {
        vec![("whoami", true), ("since=", false)]
    }

    fn sends(&self) -> (&'static str, bool) {
        ("/send/", true)
    }

    fn break_off(&self, proxy: &Proxy, _word: &str) {
        proxy.fault("since=", Fault::ResetBefore);
    }

    async fn say(&self, text: &str) {
        self.anna.say(&self.room, text).await;
    }

    fn places(&self) -> [String; 2] {
        [self.room.clone(), self.other.clone()]
    }

    async fn said_in(&self, place: &str) -> Vec<String> {
        let events = self.anna.said_by(place, &self.bot).await;
        let body = |event: &Value| {
            event["content"]["body"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        events.iter().map(body).collect()
    }
}

impl Matrix {
    /// None where there is no homeserver.
    pub async fn start(unchecked: &str) -> Option<Self> {
        let server = synapse(unchecked)?;
        let (bot, anna) = (server.user("bot").await, server.user("anna").await);
        let room = anna.direct_room(&bot).await;
        bot.join(&room).await;
        let other = anna.direct_room(&bot).await;
        bot.join(&other).await;
        Some(Self {
            server: server.url().to_owned(),
            bot,
            anna,
            room,
            other,
        })
    }
}

#[tokio::test]
async fn matrix_answers_each_message_once_whatever_happens_to_a_call() {
    let Some(matrix) = Matrix::start("every fault at Matrix").await else {
        return;
    };
    story(&matrix).await;
    recorded("matrix");
}
