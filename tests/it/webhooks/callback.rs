//! Replies at an address: signed, in order, again after a failure, and under the same id.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::daemon::DEADLINE;
use crate::support::fake_http::Reply;
use crate::webhooks::world::{Got, home, message, post_at, say, start, system};

async fn wait_for(got: &Got, what: &str, condition: impl Fn(&[(String, Value)]) -> bool) {
    let end = Instant::now() + DEADLINE;
    loop {
        {
            let got = got.lock().unwrap();
            if condition(&got) {
                return;
            }
            assert!(Instant::now() < end, "no {what}: {got:#?}");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn replies(got: &[(String, Value)]) -> Vec<(&str, &str)> {
    got.iter()
        .filter(|(_, body)| body["type"] == "reply")
        .map(|(key, body)| (key.as_str(), body["text"].as_str().unwrap()))
        .collect()
}

#[tokio::test]
async fn a_reply_that_was_not_taken_comes_again_under_the_same_id() {
    let faults = vec![
        Reply::Json(500, json!({"error": "not now"})),
        Reply::Reset,
        Reply::Json(503, json!({})),
    ];
    let (http, got) = system(faults);
    let home = home(&format!("callback_url = \"{}/in\"", http.url()));
    let daemon = start(&home, &[]).await;
    let (status, answer) = say(&daemon, &message("m1", "SAY:one"), Some(30)).await;
    // Replies go to the address, so nobody waits here.
    assert_eq!((status, answer["state"].as_str()), (202, Some("accepted")));
    wait_for(&got, "fourth attempt", |got| replies(got).len() == 4).await;
    {
        let got = got.lock().unwrap();
        let replies = replies(&got);
        assert!(
            replies
                .iter()
                .all(|(key, text)| *key == replies[0].0 && text.ends_with("one")),
            "{replies:?}"
        );
        assert!(!replies[0].0.is_empty());
        assert_eq!(got[0].1["id"], replies[0].0);
    }
    say(&daemon, &message("m2", "SAY:two"), None).await;
    wait_for(&got, "second reply", |got| replies(got).len() == 5).await;
    // The answer to the last one may still be on its way into the database.
    daemon
        .wait("/v1/outbox?limit=50", "every delivery sent", |all| {
            let items = all["items"].as_array();
            items.is_some_and(|items| items.iter().all(|item| item["state"] == "sent"))
        })
        .await;
}

#[tokio::test]
async fn a_refusal_is_shown_and_sent_no_more() {
    let (http, got) = system(vec![Reply::Json(410, json!({"error": "gone"}))]);
    let home = home(&format!("callback_url = \"{}/in\"", http.url()));
    let daemon = start(&home, &[]).await;
    say(&daemon, &message("m1", "SAY:one"), None).await;
    let failed = daemon
        .wait("/v1/outbox?limit=50", "a failed delivery", |all| {
            all["items"][0]["state"] == "failed"
        })
        .await;
    let error = failed["items"][0]["last_error"]
        .as_str()
        .unwrap_or_default();
    assert!(error.contains("gone"), "{failed:#}");
    assert_eq!(got.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_killed_process_sends_a_reply_again_under_the_same_id_and_takes_a_message_once() {
    for crash in ["send.started", "send.effect_done", "ingest.post_commit"] {
        let (http, got) = system(Vec::new());
        let home = home(&format!("callback_url = \"{}/in\"", http.url()));
        let mut daemon = start(&home, &[("LEVERFRAME_CRASH", &format!("{crash}:1"))]).await;
        let body = message("m1", "SAY:one");
        let taken = post_at(&daemon.base, body.to_string().into_bytes()).await;
        assert!(daemon.wait_exit().is_some(), "{crash} was not reached");
        let daemon = start(&home, &[]).await;
        // Whoever got no answer sends it again.
        if taken.is_none() {
            let (status, answer) = say(&daemon, &body, None).await;
            assert_eq!(status, 202, "{crash}: {answer:#}");
        }
        wait_for(&got, "a reply", |got| !replies(got).is_empty()).await;
        daemon
            .wait("/v1/outbox?limit=50", "everything sent", |all| {
                let items = all["items"].as_array().unwrap();
                !items.is_empty() && items.iter().all(|item| item["state"] == "sent")
            })
            .await;
        {
            let got = got.lock().unwrap();
            let replies = replies(&got);
            assert!(
                replies.iter().all(|(key, _)| *key == replies[0].0),
                "{crash}: {replies:?}"
            );
        }
        let all = daemon.get("/v1/continuations?limit=50").await;
        assert_eq!(all["items"].as_array().unwrap().len(), 1, "{crash}");
    }
}

#[tokio::test]
async fn answers_at_an_address_name_the_conversation_as_it_came() {
    for scope in ["chat", "sender"] {
        let (http, got) = system(Vec::new());
        let home = home(&format!(
            "session_scope = \"{scope}\"\ncallback_url = \"{}/in\"",
            http.url()
        ));
        let daemon = start(&home, &[]).await;
        for conversation in ["a#1", "a#2"] {
            let call = format!("SAY:{conversation}");
            let mut said = message(&format!("m-{conversation}"), &call);
            said["conversation"] = json!(conversation);
            say(&daemon, &said, None).await;
        }
        wait_for(&got, "a word in both", |got| {
            ["a#1", "a#2"].iter().all(|conversation| {
                let mut bodies = got.iter().map(|(_, body)| body);
                bodies.any(|body| body["conversation"] == *conversation)
            })
        })
        .await;
        let got = got.lock().unwrap();
        assert!(
            got.iter().all(|(_, body)| body["conversation"] != "a"),
            "{got:#?}"
        );
    }
}
