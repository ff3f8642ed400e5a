//! Answers that pass each other, and news that comes in another order than it was made.

use std::time::{Duration, Instant};

use leverframe::protocol::bridge::SendOutcome;
use leverframe::protocol::ids::OutboxId;
use serde_json::json;

use crate::discord::world as discord_world;
use crate::platform_faults::every_fault::platforms::{Discord, Matrix, Slack, Telegram};
use crate::platform_faults::every_fault::{Adapter, MOST_MESSAGES, start, well};
use crate::slack;
use crate::support::daemon::DEADLINE;
use crate::support::fake_slack::{ADA, ADA_DIRECT};
use crate::support::fake_telegram::TOKEN;
use crate::support::fault_proxy::Fault;
use crate::support::record;
use crate::telegram::port as telegram;

/// Waits for something that comes soon, or not at all.
async fn soon(is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(2);
    while !is_so() && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Each first call is answered only after a later answer to the second one was delivered.
async fn crossed(platform: &str, adapter: &dyn Adapter, pairs: &[(&'static str, &'static str)]) {
    let (proxy, port, stop, task) = start(adapter).await;
    let places = adapter.places();
    let mut number = 0;
    for (held, passing) in pairs {
        let before = proxy.reordered();
        let mut tried = 0;
        while proxy.reordered() == before {
            assert!(tried < MOST_MESSAGES, "{passing} never passed {held}");
            tried += 1;
            if proxy.is_over() {
                proxy.fault(held, Fault::Reorder(passing));
            }
            let text = format!("message{number}.");
            let send = || -> Vec<OutboxId> {
                let answers = places.iter().enumerate();
                answers
                    .map(|(at, place)| port.say(place, &format!("answer{number}-{at}.")))
                    .collect()
            };
            let parts = if *held == adapter.sends().0 {
                let parts = send();
                soon(|| proxy.is_holding() || proxy.reordered() > before).await;
                adapter.say(&text).await;
                parts
            } else {
                adapter.say(&text).await;
                soon(|| proxy.is_holding() || port.ledger().texts().contains(&text)).await;
                send()
            };
            for part in parts {
                let outcome = port.outcome(part).await;
                let is_one = matches!(&outcome, SendOutcome::Sent { external_refs } if external_refs.len() == 1);
                assert!(is_one, "{held} {passing}: {outcome:?}");
            }
            port.wait_until(&text, |ledger| ledger.texts().contains(&text))
                .await;
            number += 1;
        }
    }
    well(&port).await;
    stop.cancel();
    tokio::time::timeout(DEADLINE, task).await.unwrap().unwrap();
    let mut texts = port.ledger().texts();
    texts.retain(|text| text.starts_with("message"));
    let expected: Vec<String> = (0..number).map(|n| format!("message{n}.")).collect();
    assert_eq!(texts, expected, "each came in once, in order");
    for (at, place) in places.iter().enumerate() {
        let said = adapter.said_in(place).await;
        for n in 0..number {
            let answer = format!("answer{n}-{at}.");
            let count = said.iter().filter(|text| text.contains(&answer)).count();
            assert_eq!(count, 1, "{answer} in {said:?}");
        }
    }
    record::fault(
        &format!("answers-reordered-{platform}"),
        "of two calls that run at once, the later one gets its answer first",
        "the engine received each message once and sent each answer once, to its conversation",
    );
}

#[tokio::test]
async fn telegram_answers_that_pass_each_other_belong_to_their_calls() {
    let pairs = [
        ("sendMessage", "sendMessage"),
        ("sendMessage", "getUpdates"),
        ("getUpdates", "sendMessage"),
    ];
    crossed("telegram", &Telegram::start(), &pairs).await;
}

#[tokio::test]
async fn discord_answers_that_pass_each_other_belong_to_their_calls() {
    let pairs = [("/messages ", "/messages ")];
    crossed("discord", &Discord(discord_world::start()), &pairs).await;
}

#[tokio::test]
async fn slack_answers_that_pass_each_other_belong_to_their_calls() {
    let pairs = [("chat.postMessage", "chat.postMessage")];
    let slack = Slack(crate::support::fake_slack::FakeSlack::start());
    crossed("slack", &slack, &pairs).await;
}

#[tokio::test]
async fn matrix_answers_that_pass_each_other_belong_to_their_calls() {
    let Some(matrix) = Matrix::start("reordered answers at Matrix").await else {
        return;
    };
    let pairs = [
        ("/send/", "/send/"),
        ("/send/", "since="),
        ("since=", "/send/"),
    ];
    crossed("matrix", &matrix, &pairs).await;
}

/// Dies after the first item that comes from here on.
fn dies_after_one(port: &telegram::TestPort) {
    port.change(|ledger| "store-and-hang".clone_into(&mut ledger.ingest_script));
}

#[tokio::test]
async fn telegram_updates_in_another_order_and_a_kill_between_them_lose_nothing() {
    let (fake, port, running) = telegram::connected().await;
    running.stop().await;
    for text in ["one", "two", "three"] {
        fake.user_says(4_242, &telegram::ada(), text);
    }
    fake.change(|state| state.pending.make_contiguous().reverse());
    dies_after_one(&port);
    let bridge = || telegram::bridge_at(fake.url(), TOKEN, telegram::options());
    let running = telegram::run(bridge(), &port);
    port.wait_until("the first", |ledger| ledger.texts().len() == 1)
        .await;
    running.kill().await;
    let running = telegram::run(bridge(), &port);
    port.wait_until("all", |ledger| ledger.texts().len() == 3)
        .await;
    fake.wait_until("all are confirmed", |state| state.pending.is_empty())
        .await;
    running.stop().await;
    assert_eq!(port.ledger().texts(), ["one", "two", "three"]);
    record::fault(
        "updates-reordered-telegram",
        "a batch has its updates in reverse order, and a kill comes after the first stored one",
        "the engine stores each once; the position never passes an update that is not stored",
    );
}

#[tokio::test]
async fn discord_events_in_another_order_and_a_lost_session_lose_nothing() {
    let (fake, port, running) = discord_world::connected().await;
    fake.user_says(discord_world::CHANNEL, &discord_world::ada(), "known");
    port.wait_until("known", |ledger| ledger.texts() == ["known"])
        .await;
    dies_after_one(&port);
    fake.change(|state| {
        let write = |state: &mut crate::support::fake_discord::State, text: &str| {
            let extra = json!({ "content": text });
            let message = state.message(discord_world::CHANNEL, &discord_world::ada(), &extra);
            state.event_of(&message)
        };
        let events = [write(state, "one"), write(state, "two")];
        for event in events.iter().rev() {
            state.push("MESSAGE_CREATE", event);
        }
    });
    port.wait_until("the later one", |ledger| ledger.texts() == ["known", "two"])
        .await;
    running.kill().await;
    fake.change(|state| state.sessions.clear());
    let stop = discord_world::supervised(&fake, &port);
    port.wait_until("both", |ledger| ledger.texts().len() == 3)
        .await;
    stop.cancel();
    assert_eq!(port.ledger().texts(), ["known", "two", "one"]);
    assert_eq!(port.ledger().repeated, 0, "what came is not read again");
    record::fault(
        "events-reordered-discord",
        "the later of two messages comes first, then the process is killed, and the session is lost",
        "both arrive once: the bot asks for missed messages from some time before the newest one",
    );
}

#[tokio::test]
async fn slack_envelopes_in_another_order_and_a_kill_between_them_lose_nothing() {
    let (fake, port, running) = slack::port::connected().await;
    fake.says(ADA_DIRECT, ADA, "known");
    port.wait_until("known", |ledger| ledger.texts() == ["known"])
        .await;
    slack::port::all_acknowledged(&fake).await;
    dies_after_one(&port);
    fake.change(|state| {
        state.holds = true;
        for text in ["one", "two"] {
            state.person_writes(ADA_DIRECT, ADA, &json!({ "text": text }));
        }
        state.deliver_reversed();
    });
    port.wait_until("the later one", |ledger| ledger.texts() == ["known", "two"])
        .await;
    // Slack delivers again for some minutes only.
    fake.change(|state| state.forgets = true);
    running.kill().await;
    fake.wait_until("gone", |state| state.sockets.is_empty())
        .await;
    let running = slack::port::run(slack::port::bridge(&fake), &port);
    port.wait_until("both", |ledger| ledger.texts().len() == 3)
        .await;
    running.stop().await;
    assert_eq!(port.ledger().texts(), ["known", "two", "one"]);
    assert_eq!(port.ledger().repeated, 0, "what came is not read again");
    record::fault(
        "envelopes-reordered-slack",
        "the later of two messages comes first, the process is killed after it, and Slack delivers neither again",
        "both arrive once: after a restart the bot reads the last minute before the newest message again",
    );
}
