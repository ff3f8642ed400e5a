//! Updates that Telegram sends: genuine by their secret, answered once durable, in order.

use std::collections::BTreeMap;
use std::time::Duration;

use leverframe::channels::channel::ChannelError;
use leverframe::client::webhooks::{WebhookAnswer, WebhookRefusal, WebhookRequest, Webhooks};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::support::fake_telegram::{DEADLINE, FakeTelegram, TOKEN};
use crate::telegram::port::{TestPort, ada, bridge_at, options, run};

const BASE: &str = "https://bots.example";

/// Sends an update as Telegram would.
async fn send(webhooks: &Webhooks, secret: Option<&str>, update: &Value) -> WebhookAnswer {
    let (answer, answered) = oneshot::channel();
    let headers = secret
        .map(|secret| {
            (
                "x-telegram-bot-api-secret-token".to_owned(),
                secret.to_owned(),
            )
        })
        .into_iter()
        .collect::<BTreeMap<_, _>>();
    let request = WebhookRequest {
        headers,
        body: update.to_string().into_bytes(),
        wait: None,
        answer,
    };
    webhooks.deliver("tg", request).expect("the bridge listens");
    tokio::time::timeout(DEADLINE, answered)
        .await
        .expect("an answer in time")
        .expect("an answer")
}

/// The update that the fake would give to a poll.
fn update(fake: &FakeTelegram, text: &str) -> Value {
    fake.user_says(4242, &ada(), text);
    fake.change(|state| state.pending.pop_back().expect("an update").1)
}

#[tokio::test]
async fn updates_are_taken_with_the_secret_once_they_are_durable_and_nothing_is_polled() {
    let fake = FakeTelegram::start();
    let (port, webhooks) = (TestPort::new(), Webhooks::default());
    let bridge = bridge_at(fake.url(), TOKEN, options())
        .with_webhook(Some(BASE.to_owned()), webhooks.clone());
    let running = run(bridge, &port);
    fake.wait_until("a webhook", |state| state.webhook.is_some())
        .await;
    let (url, secret) = fake.change(|state| (state.webhook.clone(), state.webhook_secret.clone()));
    assert_eq!(url.as_deref(), Some("https://bots.example/webhooks/tg"));
    let secret = secret.expect("a secret");
    assert!(secret.len() >= 32 && !TOKEN.contains(&secret), "{secret}");
    port.wait_until("health", |ledger| ledger.last_health().is_some())
        .await;

    let first = update(&fake, "one");
    for wrong in [None, Some("guessed"), Some("00".repeat(32).as_str())] {
        assert_eq!(send(&webhooks, wrong, &first).await.status, 401);
    }
    assert!(port.ledger().texts().is_empty());

    port.change(|ledger| ledger.ingest_script = "fail".to_owned());
    assert_eq!(send(&webhooks, Some(&secret), &first).await.status, 503);
    for (update, texts) in [
        (first.clone(), vec!["one"]),
        // Telegram did not get the answer.
        (first, vec!["one"]),
        (update(&fake, "two"), vec!["one", "two"]),
        (json!({"update_id": 99, "new_kind": {}}), vec!["one", "two"]),
        (json!({"no": "number"}), vec!["one", "two"]),
    ] {
        assert_eq!(send(&webhooks, Some(&secret), &update).await.status, 200);
        assert_eq!(port.ledger().texts(), texts);
    }
    assert!(fake.calls("getUpdates").is_empty());
    running.stop().await;
    let (answer, _) = oneshot::channel();
    let late = WebhookRequest {
        headers: BTreeMap::new(),
        body: Vec::new(),
        wait: Some(Duration::from_secs(1)),
        answer,
    };
    assert_eq!(
        webhooks.deliver("tg", late),
        Err(WebhookRefusal::NotListening)
    );
    // The webhook stays: Telegram keeps what comes while we are away.
    assert!(fake.state().webhook.is_some());
}

#[tokio::test]
async fn an_address_that_telegram_does_not_take_stops_the_channel_with_the_fix() {
    let fake = FakeTelegram::start();
    let port = TestPort::new();
    let bridge = bridge_at(fake.url(), TOKEN, options())
        .with_webhook(Some("http://bots.example".to_owned()), Webhooks::default());
    let error = run(bridge, &port).error().await;
    assert!(
        matches!(&error, ChannelError::Fatal { fix, .. } if fix.contains("webhook_url")),
        "{error}"
    );
}
