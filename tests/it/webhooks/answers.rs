//! Replies in the answers of requests that wait, and requests that are not what they should be.

use std::time::Duration;

use leverframe::channels::webhook::signature::{SIGNATURE_HEADER, TIMESTAMP_HEADER, sign};
use leverframe::config::settings::Secret;
use serde_json::{Value, json};

use crate::webhooks::world::{SECRET, home, message, now, post, say, start};

#[tokio::test]
async fn a_request_that_waits_gets_the_reply_and_a_repeated_one_begins_nothing() {
    let home = home("");
    let daemon = start(&home, &[]).await;
    let (status, answer) = say(&daemon, &message("m1", "SAY:hello shop"), Some(20)).await;
    assert_eq!(status, 200, "{answer:#}");
    assert_eq!(answer["state"], "answered");
    let first = answer.clone();
    let last = answer["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["type"], "reply", "{answer:#}");
    assert_eq!(last["reply_to"], "m1");
    assert_eq!(last["conversation"], "ada");
    assert!(last["text"].as_str().unwrap().ends_with("hello shop"));

    let (status, answer) = say(&daemon, &message("m1", "SAY:hello shop"), None).await;
    assert_eq!((status, answer["state"].as_str()), (202, Some("repeated")));
    let all = daemon.get("/v1/continuations?limit=50").await;
    assert_eq!(all["items"].as_array().unwrap().len(), 1);

    // Who lost the first answer gets it again, and does not wait for a second reply.
    let same = message("m1", "SAY:hello shop");
    let asked = tokio::time::timeout(Duration::from_secs(60), say(&daemon, &same, Some(300)));
    let (status, again) = asked.await.expect("an answer at once");
    assert_eq!((status, &again["state"]), (200, &json!("answered")));
    let replies = |answer: &Value| {
        let all = answer["messages"].as_array().unwrap().iter();
        let replies = all.filter(|message| message["type"] == "reply").cloned();
        replies.collect::<Vec<Value>>()
    };
    assert_eq!(replies(&again), replies(&first));
    // A command is answered once; a repeated one waits for nothing.
    let command = message("c1", "/help");
    let (status, first) = say(&daemon, &command, Some(2)).await;
    assert_eq!(status, 202, "{first:#}");
    let asked = tokio::time::timeout(Duration::from_secs(60), say(&daemon, &command, Some(300)));
    let (status, again) = asked.await.expect("an answer at once");
    assert_eq!((status, &again["state"]), (202, &json!("repeated")));
    assert_eq!(again["messages"], first["messages"]);

    // The channel says where it listens and that it heard something.
    let channel = daemon
        .wait("/v1/channels/shop", "an inbound", |channel| {
            !channel["health"]["last_inbound_at"].is_null()
        })
        .await;
    assert_eq!(channel["health"]["state"], "connected", "{channel:#}");
    assert_eq!(channel["account"], "/webhooks/shop");
}

#[tokio::test]
async fn nothing_that_is_not_genuine_is_looked_into() {
    let home = home("");
    let daemon = start(&home, &[]).await;
    let body = message("m1", "SAY:no").to_string().into_bytes();
    let signed = |seconds: i64, secret: &str, body: &[u8]| {
        vec![
            (TIMESTAMP_HEADER, seconds.to_string()),
            (
                SIGNATURE_HEADER,
                sign(&Secret::new(secret), seconds, body).unwrap(),
            ),
        ]
    };
    let refused = [
        Vec::new(),
        signed(now(), "another secret", &body),
        signed(now() - 400, SECRET, &body),
        signed(now() + 400, SECRET, &body),
        signed(now(), SECRET, b"{}"),
    ];
    for headers in refused {
        let (status, answer) = post(&daemon, &headers, body.clone()).await;
        assert_eq!(status, 401, "{answer:#}");
        assert!(answer["error"].is_string(), "{answer:#}");
    }
    let channel = daemon.get("/v1/channels/shop").await;
    let detail = channel["health"]["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("not genuine"), "{channel:#}");
    let all = daemon.get("/v1/continuations?limit=50").await;
    assert!(all["items"].as_array().unwrap().is_empty());

    // A genuine one that says nothing usable names the field.
    for (message, says) in [
        (json!({"id": "x", "text": "a"}), "sender"),
        (json!({"id": "x", "sender": {"id": "ada"}}), "text"),
        (
            json!({"id": "", "sender": {"id": "ada"}, "text": "a"}),
            "`id`",
        ),
        (
            json!({"id": "x", "sender": {"id": "ada"}, "files": [{"name": "a", "data": "%"}]}),
            "files[0].data",
        ),
    ] {
        let (status, answer) = say(&daemon, &message, None).await;
        assert_eq!(status, 400, "{answer:#}");
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains(says), "{error}");
    }
    // What stands there beside what we know is passed over.
    let mut more = message("m2", "SAY:yes");
    more["colour"] = json!("blue");
    let (status, answer) = say(&daemon, &more, Some(20)).await;
    assert_eq!(status, 200, "{answer:#}");
    // A stranger who knocks later says nothing about the channel.
    let (status, _) = post(&daemon, &[], body.clone()).await;
    assert_eq!(status, 401);
    let channel = daemon.get("/v1/channels/shop").await;
    assert_eq!(channel["health"]["state"], "connected", "{channel:#}");
    // One with the right secret and a wrong clock does.
    let late = signed(now() - 400, SECRET, &body);
    let (status, answer) = post(&daemon, &late, body).await;
    assert_eq!(status, 401);
    assert!(answer["error"].as_str().unwrap().contains("clocks"));
    let channel = daemon.get("/v1/channels/shop").await;
    assert_eq!(channel["health"]["state"], "degraded", "{channel:#}");
}

#[tokio::test]
async fn a_path_of_no_channel_is_not_found_and_a_paused_one_asks_for_another_try() {
    let home = home("");
    let daemon = start(&home, &[]).await;
    let response = crate::support::daemon::client()
        .post(format!("{}/webhooks/nobody", daemon.base))
        .body("{}")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 404);
    daemon.post("/v1/channels/shop/pause", json!({})).await;
    daemon
        .wait("/v1/channels/shop", "paused", |channel| {
            channel["health"]["state"] == "paused"
        })
        .await;
    let (status, _) = say(&daemon, &message("m1", "SAY:hello"), None).await;
    assert_eq!(status, 503);
    let body = message("m1", "SAY:hello").to_string();
    let response = crate::support::daemon::client()
        .post(format!("{}/webhooks/shop", daemon.base))
        .body(body)
        .send()
        .await
        .unwrap();
    assert_eq!(response.headers()["retry-after"], "30");
    daemon.post("/v1/channels/shop/resume", json!({})).await;
    daemon
        .wait("/v1/channels/shop", "connected", |channel| {
            channel["health"]["state"] == "connected"
        })
        .await;
    let (status, answer) = say(&daemon, &message("m1", "SAY:hello"), Some(20)).await;
    assert_eq!(status, 200, "{answer:#}");
}

#[tokio::test]
async fn nobody_decides_by_a_claim() {
    let home = home("");
    let daemon = start(&home, &[]).await;
    let call = "TOOL:execute_command{\"argv\":[\"true\"]}\nSAY:done";
    let (status, answer) = say(&daemon, &message("m1", call), None).await;
    assert_eq!(status, 202, "{answer:#}");
    let asked = daemon.wait_approval().await;
    assert_eq!(asked["requester"]["id"], "webhook/shop:ada");
    let code = asked["short_code"].as_str().unwrap();
    let approve = message("m2", &format!("/approve {code}"));
    let (status, _) = say(&daemon, &approve, Some(5)).await;
    assert!((200..300).contains(&status));
    assert_eq!(daemon.pending_approvals().await.len(), 1);
}

#[tokio::test]
async fn conversations_that_differ_behind_a_hash_get_their_own_answers() {
    for scope in ["chat", "sender"] {
        let home = home(&format!("session_scope = \"{scope}\""));
        let daemon = start(&home, &[]).await;
        for (n, conversation) in ["acme/shop#17", "acme/shop#18", "50%#23", "plain"]
            .iter()
            .enumerate()
        {
            let mut said = message(&format!("m{n}"), &format!("SAY:for {conversation}"));
            said["conversation"] = json!(conversation);
            let (status, answer) = say(&daemon, &said, Some(20)).await;
            assert_eq!(status, 200, "{answer:#}");
            for one in answer["messages"].as_array().unwrap() {
                assert_eq!(one["conversation"], **conversation, "{answer:#}");
            }
        }
        let all = daemon.get("/v1/sessions?limit=50").await;
        assert_eq!(all["items"].as_array().unwrap().len(), 4, "{all:#}");
        // Nobody waits for this notice by the id of its message, so its conversation finds the request.
        let mut direct = message("d1", "SAY:alone");
        direct["sender"] = json!({"id": "ada"});
        let (status, answer) = say(&daemon, &direct, Some(20)).await;
        assert_eq!(status, 200, "{answer:#}");
        assert_eq!(answer["messages"][0]["conversation"], "ada");
    }
}

#[tokio::test]
async fn a_sender_with_a_hash_is_answered_alone_and_talks_where_only_direct_messages_are_welcome() {
    let home = home("allowed_chats = [\"acme\"]");
    let config = home.path().join("config/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("[\"ada\"]", "[\"user#1\", \"user\"]")).unwrap();
    let daemon = start(&home, &[]).await;
    for id in ["user#1", "user"] {
        let said = json!({"id": format!("m-{id}"), "sender": {"id": id}, "text": "SAY:hello"});
        let (status, answer) = say(&daemon, &said, Some(20)).await;
        assert_eq!(status, 200, "{answer:#}");
        assert_eq!(answer["messages"][0]["conversation"], id, "{answer:#}");
    }
}
