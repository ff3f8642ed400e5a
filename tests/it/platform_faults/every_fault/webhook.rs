//! The same for webhooks, with the whole program: what comes in and what goes out pass a proxy each.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::platform_faults::every_fault::{faults, recorded};
use crate::support::daemon::Daemon;
use crate::support::fault_proxy::{Fault, Proxy};
use crate::support::record;
use crate::webhooks;

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

#[tokio::test]
async fn webhook_answers_that_come_in_another_order_belong_to_their_messages() {
    let (http, got) = webhooks::world::system(Vec::new());
    let out = Proxy::start(http.url());
    let home = webhooks::world::home(&format!(
        "callback_url = \"{}/in\"\npause_after_turns = 0",
        out.url()
    ));
    let daemon = webhooks::world::start(&home, &[]).await;
    let inward = Proxy::start(&daemon.base);
    let mut number = 0;
    for proxy in [&inward, &out] {
        let mut tried = 0;
        let before = proxy.reordered();
        while proxy.reordered() == before {
            assert!(tried < 4, "no answer passed another one");
            tried += 1;
            proxy.fault("POST", Fault::Reorder("POST"));
            let body = |number: usize| {
                let mut body = webhooks::world::message(
                    &format!("m{number}"),
                    &format!("SAY:answer{number}."),
                );
                body["conversation"] = format!("c{number}").into();
                body
            };
            let (one, two) = (body(number), body(number + 1));
            tokio::join!(post(&inward, &one), post(&inward, &two));
            number += 2;
            all_sent(&daemon, number).await;
        }
    }
    let turns = daemon.get("/v1/continuations?limit=100").await;
    assert_eq!(turns["items"].as_array().unwrap().len(), number);
    let got = got.lock().unwrap();
    for n in 0..number {
        let text = format!("answer{n}.");
        let told: Vec<&Value> = got
            .iter()
            .map(|(_, body)| body)
            .filter(|body| {
                body["type"] == "reply"
                    && body["text"]
                        .as_str()
                        .is_some_and(|said| said.contains(&text))
            })
            .collect();
        assert_eq!(told.len(), 1, "{text}");
        assert_eq!(told[0]["conversation"], format!("c{n}"), "{text}");
    }
    record::fault(
        "answers-reordered-webhook",
        "two posts run at once, and the first answer comes after the second one, inbound and outbound",
        "one turn and one reply for each message, in its conversation",
    );
}
