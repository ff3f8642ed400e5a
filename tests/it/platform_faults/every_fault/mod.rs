//! Every platform behind one and the same proxy: each fault once at each kind of call, and then quiet. Each message comes
//! in once and is answered once.
//!
//! The sockets of Discord and Slack go past the proxy; their faults are those of the fakes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use leverframe::channels::channel::Bridge;
use leverframe::channels::discord::bridge::DiscordBridge;
use leverframe::channels::slack::bridge::SlackBridge;
use leverframe::channels::supervisor::{Backoff, spawn};
use leverframe::client::channel_port::ChannelPort;
use leverframe::clock::Clock;
use leverframe::config::secret::Secret;
use leverframe::protocol::bridge::{Inbound, InboundBody, SendOutcome};
use leverframe::protocol::enums::ChannelState;
use leverframe::protocol::ids::OutboxId;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::discord::world::DIRECT;
use crate::matrix::synapse::{Account, synapse};
use crate::support::daemon::{DEADLINE, Daemon};
use crate::support::fake_discord::{self, FakeDiscord, Order};
use crate::support::fake_slack::{self, ADA, ADA_DIRECT, FakeSlack};
use crate::support::fake_telegram::{self, FakeTelegram};
use crate::support::fault_proxy::{Fault, Proxy};
use crate::support::record;
use crate::telegram::port::{TestPort, ada, bridge_at, options};
use crate::webhooks;

/// Messages that may pass until a fault has happened.
const MOST_MESSAGES: usize = 4;

/// A platform and its people.
#[async_trait(?Send)]
trait Adapter {
    /// Where it is, `http://127.0.0.1:PORT`.
    fn address(&self) -> String;

    /// Its bridge, at this address.
    fn bridge(&self, address: &str) -> Box<dyn Bridge>;

    /// What it says to who calls too often.
    fn limit(&self) -> &'static str;

    /// Words of the first lines of calls that only read, and whether such a call may be left without an answer here:
    /// a long poll is waited for longer than a test lasts.
    fn reads(&self) -> Vec<(&'static str, bool)>;

    /// The same of the call that sends, and whether it may come twice.
    fn sends(&self) -> (&'static str, bool);

    /// Breaks the connection off, so that the next is made with all calls of a beginning.
    fn break_off(&self, proxy: &Proxy, word: &str);

    /// A person writes.
    async fn say(&self, text: &str);

    /// What the bot said.
    async fn said(&self) -> Vec<String>;
}

/// The faults of one call.
fn faults(limit: &'static str, silent: bool, twice: bool) -> Vec<Fault> {
    let mut faults = vec![
        Fault::Limited(limit),
        Fault::Status(502, "<html>"),
        Fault::ResetBefore,
        Fault::ResetAfter,
        Fault::CutBody,
        Fault::Slow(Duration::from_millis(200)),
    ];
    if silent {
        faults.push(Fault::Silence);
    }
    if twice {
        faults.push(Fault::Twice);
    }
    faults
}

/// One message and its answer. Where nobody knows whether the answer arrived, a person looks, and has it sent again if
/// it did not.
async fn exchange(adapter: &dyn Adapter, port: &TestPort, number: usize) {
    let text = format!("message{number}.");
    adapter.say(&text).await;
    port.wait_until(&text, |ledger| ledger.texts().contains(&text))
        .await;
    let is_it = |inbound: &&Inbound| matches!(&inbound.body, InboundBody::Text { text: said, .. } if *said == text);
    let conversation = {
        let ledger = port.ledger();
        ledger
            .inbox
            .iter()
            .find(is_it)
            .unwrap()
            .conversation
            .clone()
    };
    let answer = format!("answer{number}.");
    let part = port.say(&conversation, &answer);
    let mut ends = 0;
    loop {
        let outcome = end_after(port, part, ends).await;
        ends = port
            .ledger()
            .ended
            .iter()
            .filter(|(id, _)| *id == part)
            .count();
        match outcome {
            SendOutcome::Sent { .. } | SendOutcome::Shortened { .. } => return,
            SendOutcome::Unknown { .. } => {
                if adapter
                    .said()
                    .await
                    .iter()
                    .any(|said| said.contains(&answer))
                {
                    return;
                }
                port.again(part);
            }
            SendOutcome::Retry { .. } => {}
            SendOutcome::Failed { error } => panic!("{answer} failed: {error}"),
        }
    }
}

/// How a part ended after so many ends of before.
async fn end_after(port: &TestPort, part: OutboxId, before: usize) -> SendOutcome {
    port.wait_until("the end of a send", |ledger| {
        ledger.ended.iter().filter(|(id, _)| *id == part).count() > before
    })
    .await;
    port.ledger().outcome(part).unwrap()
}

async fn story(adapter: &dyn Adapter) {
    let proxy = Proxy::start(&adapter.address());
    let port = TestPort::new();
    let stop = CancellationToken::new();
    let backoff = Backoff {
        floor: Duration::from_millis(20),
        ceiling: Duration::from_millis(100),
        stable_after: Duration::from_mins(1),
        stop_grace: Duration::from_secs(2),
    };
    let task = spawn(
        adapter.bridge(proxy.url()),
        Arc::clone(&port) as Arc<dyn ChannelPort>,
        backoff,
        stop.clone(),
    );
    let well = |port: &Arc<TestPort>| {
        let port = Arc::clone(port);
        async move {
            port.wait_until("well", |ledger| {
                let state = ledger.last_health().map(|health| health.state);
                state == Some(ChannelState::Connected)
            })
            .await;
        }
    };
    well(&port).await;
    let (send, twice) = adapter.sends();
    let mut plan: Vec<(&str, Fault)> = Vec::new();
    for (word, silent) in adapter.reads() {
        plan.extend(
            faults(adapter.limit(), silent, true)
                .into_iter()
                .map(|fault| (word, fault)),
        );
    }
    plan.extend(
        faults(adapter.limit(), true, twice)
            .into_iter()
            .map(|fault| (send, fault)),
    );
    let mut number = 0;
    for (word, fault) in plan {
        proxy.fault(word, fault.clone());
        if word != send {
            adapter.break_off(&proxy, word);
        }
        let mut tried = 0;
        while tried == 0 || !proxy.is_over() {
            assert!(tried < MOST_MESSAGES, "{word} {fault:?}: nothing called it");
            exchange(adapter, &port, number).await;
            number += 1;
            tried += 1;
        }
    }
    // Quiet again.
    exchange(adapter, &port, number).await;
    well(&port).await;
    stop.cancel();
    tokio::time::timeout(DEADLINE, task).await.unwrap().unwrap();
    let texts: Vec<String> = port
        .ledger()
        .texts()
        .into_iter()
        .filter(|text| text.starts_with("message"))
        .collect();
    let expected: Vec<String> = (0..=number).map(|n| format!("message{n}.")).collect();
    assert_eq!(texts, expected, "each came in once, in order");
    let said = adapter.said().await;
    for n in 0..=number {
        let answer = format!("answer{n}.");
        let count = said.iter().filter(|text| text.contains(&answer)).count();
        assert_eq!(count, 1, "{answer} in {said:?}");
    }
}

fn recorded(platform: &str) {
    record::fault(
        &format!("every-fault-{platform}"),
        "429, 502, reset before and after, cut, slow, silent and doubled, once at every kind of call",
        "each message came in once, in order, and was answered once",
    );
}

struct Telegram(FakeTelegram);

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

    async fn said(&self) -> Vec<String> {
        let messages = self.0.messages(4_242).into_iter();
        messages.map(|message| message.text).collect()
    }
}

#[tokio::test]
async fn telegram_answers_each_message_once_whatever_happens_to_a_call() {
    let telegram = Telegram(FakeTelegram::start());
    telegram.0.change(|state| state.know_chat(4_242));
    story(&telegram).await;
    recorded("telegram");
}

struct Discord(FakeDiscord);

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
            crate::discord::world::options(),
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
        let ada = crate::discord::world::ada();
        self.0.user_says(DIRECT, &ada, text);
    }

    async fn said(&self) -> Vec<String> {
        let messages = self.0.messages(DIRECT);
        messages.iter().map(fake_discord::Message::text).collect()
    }
}

#[tokio::test]
async fn discord_answers_each_message_once_whatever_happens_to_a_call() {
    story(&Discord(crate::discord::world::start())).await;
    recorded("discord");
}

struct Slack(FakeSlack);

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

    async fn said(&self) -> Vec<String> {
        let messages = self.0.messages(ADA_DIRECT).into_iter();
        messages.map(|message| message.text).collect()
    }
}

#[tokio::test]
async fn slack_answers_each_message_once_whatever_happens_to_a_call() {
    story(&Slack(FakeSlack::start())).await;
    recorded("slack");
}

struct Matrix {
    server: String,
    bot: Account,
    anna: Account,
    room: String,
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

    async fn said(&self) -> Vec<String> {
        let events = self.anna.said_by(&self.room, &self.bot).await;
        let body = |event: &Value| {
            event["content"]["body"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        events.iter().map(body).collect()
    }
}

#[tokio::test]
async fn matrix_answers_each_message_once_whatever_happens_to_a_call() {
    let Some(server) = synapse("every fault at Matrix") else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let room = anna.direct_room(&bot).await;
    bot.join(&room).await;
    let matrix = Matrix {
        server: server.url().to_owned(),
        bot,
        anna,
        room,
    };
    story(&matrix).await;
    recorded("matrix");
}

/// Posts until it is taken, as a careful sender does.
async fn post(proxy: &Proxy, body: &Value) {
    for _ in 0..4 {
        let bytes = body.to_string().into_bytes();
        let status = webhooks::world::post_at(proxy.url(), bytes).await;
        if matches!(status, Some(200 | 202)) {
            return;
        }
    }
    panic!("nobody takes {body}");
}

async fn all_sent(daemon: &Daemon, count: usize) {
    daemon
        .wait("/v1/outbox?limit=100", "everything is sent", |page| {
            let items = page["items"].as_array().unwrap();
            items.len() == count && items.iter().all(|item| item["state"] == "sent")
        })
        .await;
}

#[tokio::test]
async fn a_webhook_answers_each_message_once_whatever_happens_to_a_call() {
    let limit = r#"{"error":"not now"}"#;
    let (http, got) = webhooks::world::system(Vec::new());
    let out = Proxy::start(http.url());
    let home = webhooks::world::home(&format!(
        "callback_url = \"{}/in\"\npause_after_turns = 0",
        out.url()
    ));
    let daemon = webhooks::world::start(&home, &[]).await;
    let inward = Proxy::start(&daemon.base);
    let mut number = 0;
    for fault in faults(limit, false, true) {
        for proxy in [&inward, &out] {
            proxy.fault("POST", fault.clone());
            let message = format!("m{number}");
            let body = webhooks::world::message(&message, &format!("SAY:answer{number}."));
            post(&inward, &body).await;
            number += 1;
            all_sent(&daemon, number).await;
            assert!(proxy.is_over(), "{fault:?}");
        }
    }
    let turns = daemon.get("/v1/continuations?limit=100").await;
    assert_eq!(turns["items"].as_array().unwrap().len(), number);
    // What came twice to the address came under the same id.
    let mut ids: BTreeMap<String, String> = BTreeMap::new();
    for (id, body) in got
        .lock()
        .unwrap()
        .iter()
        .filter(|(_, body)| body["type"] == "reply")
    {
        let text = body["text"].as_str().unwrap_or_default().to_owned();
        let before = ids.insert(text.clone(), id.clone());
        assert!(before.is_none_or(|before| before == *id), "{text}");
    }
    assert_eq!(ids.len(), number, "{ids:?}");
    recorded("webhook");
}
