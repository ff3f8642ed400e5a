//! Four platforms with people who write, and what goes wrong on them.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

use crate::matrix::synapse::{Account, Synapse};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_discord::{self, FakeDiscord, Order};
use crate::support::fake_slack::message::Channel;
use crate::support::fake_slack::{self, APP_TOKEN, BEN, BOT_TOKEN, FakeSlack};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::{Fault as TelegramFault, User as TelegramUser};
use crate::support::fault_proxy::{Fault as MatrixFault, Proxy};

/// Chats of each platform: no platform takes more than about one message a second in one.
pub const CHATS: u64 = 30;
const BEN_AT_DISCORD: u64 = 100;

/// A platform, and with it a channel of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    Telegram,
    Discord,
    Slack,
    Matrix,
}

impl Name {
    pub const ALL: [Self; 4] = [Self::Telegram, Self::Discord, Self::Slack, Self::Matrix];

    /// Name of its channel.
    pub const fn channel(self) -> &'static str {
        match self {
            Self::Telegram => "telegram",
            Self::Discord => "discord",
            Self::Slack => "slack",
            Self::Matrix => "matrix",
        }
    }

    /// Where message number `number` comes from. The homeserver is a real one, and gets one of ten.
    pub const fn of(number: u64) -> Self {
        match number % 10 {
            0 | 3 | 6 => Self::Telegram,
            1 | 4 | 7 => Self::Discord,
            2 | 5 | 8 => Self::Slack,
            _ => Self::Matrix,
        }
    }
}

/// The four of them.
pub struct Platforms {
    telegram: FakeTelegram,
    discord: FakeDiscord,
    slack: FakeSlack,
    matrix: Proxy,
    bot: Account,
    ben: Account,
    rooms: Vec<String>,
}

impl Platforms {
    pub async fn start(homeserver: &Synapse) -> Self {
        let (telegram, discord, slack) = (
            FakeTelegram::start(),
            FakeDiscord::start(),
            FakeSlack::start(),
        );
        telegram.change(|state| (0..CHATS).for_each(|chat| state.know_chat(telegram_chat(chat))));
        discord.change(|state| {
            state.people.insert(BEN_AT_DISCORD);
            (0..CHATS).for_each(|chat| state.know_direct(discord_chat(chat)));
        });
        slack.change(|state| {
            for chat in 0..CHATS {
                let direct = Channel {
                    name: String::new(),
                    joined: true,
                    archived: false,
                };
                state.channels.insert(slack_chat(chat), direct);
            }
        });
        Self {
            telegram,
            discord,
            slack,
            matrix: Proxy::start(homeserver.url()),
            bot: homeserver.user("bot").await,
            ben: homeserver.user("ben").await,
            rooms: Vec::new(),
        }
    }

    /// A home with a channel for each.
    pub fn home(&self) -> Home {
        let users: Vec<String> = (0..CHATS)
            .map(|chat| format!("\"{}\"", telegram_chat(chat)))
            .collect();
        let channel = |name: Name, table: &str| {
            format!(
                "[channels.{0}]\nkind = \"{0}\"\npause_after_turns = 0\nmax_queue = 1000\n{table}\n\n",
                name.channel()
            )
        };
        let tables = [
            channel(
                Name::Telegram,
                &format!(
                    "token_env = \"TELEGRAM_TOKEN\"\napi_base = \"{}\"\nallowed_users = [{}]",
                    self.telegram.url(),
                    users.join(", ")
                ),
            ),
            channel(
                Name::Discord,
                &format!(
                    "token_env = \"DISCORD_TOKEN\"\napi_base = \"{}\"\nallowed_users = [\"{BEN_AT_DISCORD}\"]",
                    self.discord.api_base()
                ),
            ),
            channel(
                Name::Slack,
                &format!(
                    "token_env = \"SLACK_TOKEN\"\napp_token_env = \"SLACK_APP_TOKEN\"\napi_base = \"{}\"\n\
                     allowed_users = [\"{BEN}\"]",
                    self.slack.api_base()
                ),
            ),
            channel(
                Name::Matrix,
                &format!(
                    "token_env = \"MATRIX_TOKEN\"\napi_base = \"{}\"\nallowed_users = [\"{}\"]",
                    self.matrix.url(),
                    self.ben.user
                ),
            ),
        ];
        Home::new(&format!(
            "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n{}",
            tables.concat()
        ))
    }

    /// A daemon whose four channels are connected.
    pub async fn daemon(&mut self, home: &Home) -> Daemon {
        let token = self.telegram.state().token.clone();
        let daemon = home.daemon_with(&[
            ("TELEGRAM_TOKEN", token.as_str()),
            ("DISCORD_TOKEN", fake_discord::TOKEN),
            ("SLACK_TOKEN", BOT_TOKEN),
            ("SLACK_APP_TOKEN", APP_TOKEN),
            ("MATRIX_TOKEN", self.bot.token.as_str()),
        ]);
        for name in Name::ALL {
            let path = format!("/v1/channels/{}", name.channel());
            daemon
                .wait(&path, "it is connected", |channel| {
                    channel["health"]["state"] == "connected"
                })
                .await;
        }
        while (self.rooms.len() as u64) < CHATS {
            let room = self.ben.direct_room(&self.bot).await;
            self.ben.sees_come(&room, &self.bot).await;
            self.rooms.push(room);
        }
        daemon
    }

    /// Somebody writes message number `number`, which asks for an answer with the same number.
    pub fn say(&self, number: u64) {
        let text = format!("SAY:m{number:07}.");
        let chat = number / 10 % CHATS;
        match Name::of(number) {
            Name::Telegram => {
                let id = telegram_chat(chat);
                self.telegram
                    .user_says(id, &TelegramUser::new(id, "Ben"), &text);
            }
            Name::Discord => {
                let ben = fake_discord::User::new(BEN_AT_DISCORD, "Ben");
                self.discord.user_says(discord_chat(chat), &ben, &text);
            }
            Name::Slack => {
                self.slack.says(&slack_chat(chat), BEN, &text);
            }
            Name::Matrix => {
                let (ben, room) = (self.ben.clone(), self.rooms[chat as usize].clone());
                // The homeserver takes its time.
                tokio::spawn(async move { ben.say(&room, &text).await });
            }
        }
    }

    /// Something goes wrong, the next thing each time; what it was.
    pub fn misbehave(&self, step: usize) -> &'static str {
        match step % 20 {
            0 => {
                self.telegram
                    .fault("getUpdates", TelegramFault::ResetBefore);
                "telegram: connection reset"
            }
            1 => {
                self.discord.order(Order::Drop);
                "discord: gateway dropped"
            }
            2 => {
                self.slack.break_sockets();
                "slack: socket broken"
            }
            3 => {
                self.matrix.fault("/sync", MatrixFault::ResetAfter);
                "matrix: answer lost"
            }
            4 => {
                self.telegram
                    .fault("sendMessage", TelegramFault::TooMany(1));
                "telegram: 429"
            }
            5 => {
                let limit = fake_discord::Fault::TooMany(1.0, false);
                self.discord.fault("send", limit);
                "discord: 429"
            }
            6 => {
                self.slack
                    .fault("chat.postMessage", fake_slack::Fault::TooMany(1));
                "slack: 429"
            }
            7 => {
                let limit = "{\"errcode\":\"M_LIMIT_EXCEEDED\",\"retry_after_ms\":900}";
                self.matrix.fault("/send/", MatrixFault::Status(429, limit));
                "matrix: 429"
            }
            8 => {
                self.telegram
                    .fault("sendMessage", TelegramFault::ResetAfter);
                "telegram: answer of a send lost"
            }
            9 => {
                self.discord.fault("send", fake_discord::Fault::ResetAfter);
                "discord: answer of a send lost"
            }
            10 => {
                self.slack
                    .fault("chat.postMessage", fake_slack::Fault::ResetAfter);
                "slack: answer of a send lost"
            }
            11 => {
                self.matrix.fault("/send/", MatrixFault::ResetAfter);
                "matrix: answer of a send lost"
            }
            12 => {
                self.telegram
                    .fault("getUpdates", TelegramFault::Slow(Duration::from_secs(3)));
                "telegram: slow"
            }
            13 => {
                self.discord.order(Order::Invalidate);
                "discord: session given up"
            }
            14 => {
                self.slack.freeze_sockets();
                "slack: socket half open"
            }
            15 => {
                self.matrix.fault("/sync", MatrixFault::Silence);
                "matrix: connection half open"
            }
            16 => {
                self.telegram.fault("getUpdates", TelegramFault::CutBody);
                "telegram: answer cut"
            }
            17 => {
                self.discord.fault("send", fake_discord::Fault::Server(502));
                "discord: 502"
            }
            18 => {
                self.slack.disconnect("refresh_requested");
                "slack: asked to connect anew"
            }
            _ => {
                self.matrix.fault("/sync", MatrixFault::Status(502, ""));
                "matrix: 502"
            }
        }
    }

    /// How often each platform shows the answer to each message.
    pub async fn answers(&self) -> BTreeMap<u64, u32> {
        let mut texts: Vec<String> = Vec::new();
        let telegram = self.telegram.state().messages.clone();
        texts.extend(telegram.into_iter().map(|message| message.text));
        for chat in 0..CHATS {
            let discord = self.discord.messages(discord_chat(chat));
            texts.extend(discord.iter().map(fake_discord::Message::text));
            let slack = self.slack.messages(&slack_chat(chat));
            texts.extend(slack.into_iter().map(|message| message.text));
        }
        for room in &self.rooms {
            texts.extend(self.said_in(room).await);
        }
        let mut answers = BTreeMap::new();
        for number in texts.iter().filter_map(|text| number_in(text)) {
            *answers.entry(number).or_default() += 1;
        }
        answers
    }

    /// What the bot said in a room, edits aside.
    async fn said_in(&self, room: &str) -> Vec<String> {
        let mut said = Vec::new();
        let mut from = String::new();
        loop {
            let path = format!("rooms/{room}/messages?dir=b&limit=500{from}");
            let page = self.ben.call(Method::GET, &path, &Value::Null).await;
            let events = page["chunk"].as_array().cloned().unwrap_or_default();
            let ours = events.iter().filter(|event| {
                event["sender"] == self.bot.user.as_str()
                    && event["content"]["m.relates_to"]["rel_type"] != "m.replace"
            });
            said.extend(
                ours.filter_map(|event| Some(event["content"]["body"].as_str()?.to_owned())),
            );
            match page["end"].as_str() {
                Some(end) if !events.is_empty() => from = format!("&from={end}"),
                Some(_) | None => return said,
            }
        }
    }
}

/// The number of the message that a text answers.
pub fn number_in(text: &str) -> Option<u64> {
    text.match_indices('m').find_map(|(at, _)| {
        let rest = text.get(at + 1..at + 9)?;
        let digits = rest.strip_suffix('.')?;
        digits.parse().ok()
    })
}

const fn telegram_chat(chat: u64) -> i64 {
    1_000 + chat.cast_signed()
}

const fn discord_chat(chat: u64) -> u64 {
    3_000_000_000_000_000_000 + chat
}

fn slack_chat(chat: u64) -> String {
    format!("D0SOAK{chat}")
}
