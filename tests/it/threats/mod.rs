//! Threats against who may do what, each with a test of its name.

// Helpers of a suite fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use serde_json::json;

use crate::people::{decides, people, token, with};
use crate::stories::bot::{self, WRITE, anna, shown};
use crate::support::daemon::{Home, client};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;

#[tokio::test(flavor = "multi_thread")]
async fn threat_3_a_client_picks_neither_its_scope_nor_its_name() {
    let home = Home::new(&people());
    let daemon = home.daemon();
    let value = token(&home, "reader", &["--scope", "read", "--person", "cleo"]);
    let path = "/v1/emergency-stop";
    // Whatever it says of itself, the record counts.
    for (name, claim) in [
        ("Leverframe-Scopes", "admin"),
        ("Leverframe-Actor", "anna"),
        ("X-Forwarded-User", "anna"),
        ("X-Scopes", "read operate approve admin"),
    ] {
        let answer = client()
            .post(format!("{}{path}", daemon.base))
            .bearer_auth(&value)
            .header(name, claim)
            .json(&json!({}))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), 403, "{name}");
        assert_eq!(answer.headers().get("Leverframe-Scopes").unwrap(), "read");
    }
    let claims = json!({
        "command": { "command": "emergency_stop" }, "surface": "console",
        "actor": { "type": "operator", "uid": 0, "name": "root", "person": "anna" },
    });
    let (status, _) = with(&daemon, &value, "POST", "/v1/submit", Some(claims)).await;
    assert!((400..500).contains(&status), "{status}");
    let mut near = value.clone();
    near.pop();
    for wrong in [
        "",
        " ",
        "lf_",
        &near,
        &format!("{value}0"),
        &value.to_uppercase(),
    ] {
        let (status, _) = with(&daemon, wrong, "GET", "/v1/sessions", None).await;
        assert_eq!(status, 401, "{wrong:?}");
    }
    assert!(daemon.get("/v1/snapshot").await["engine"]["held_since"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn threat_4_a_revoked_token_loses_its_streams_within_a_second() {
    let home = Home::new("");
    let daemon = home.daemon();
    let value = token(&home, "watcher", &["--scope", "read"]);
    let other = token(&home, "stays", &["--scope", "read"]);
    let open = async |token: &str| {
        let answer = client()
            .get(format!("{}/v1/events", daemon.base))
            .bearer_auth(token)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), 200);
        answer.bytes_stream()
    };
    let (mut ends, mut stays) = (open(&value).await, open(&other).await);
    let (status, _) = daemon.request("DELETE", "/v1/tokens/watcher", None).await;
    assert_eq!(status, 200);
    // Long before the next ping would have come.
    let revoked = Instant::now();
    let ended = async { while let Some(Ok(_)) = ends.next().await {} };
    tokio::time::timeout(Duration::from_secs(5), ended)
        .await
        .expect("the stream ends");
    assert!(
        revoked.elapsed() < Duration::from_secs(5),
        "{:?}",
        revoked.elapsed()
    );
    // The other one goes on.
    daemon.session().await;
    let next = tokio::time::timeout(Duration::from_secs(20), stays.next()).await;
    assert!(next.expect("it speaks").expect("it goes on").is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn threat_13_neither_the_model_nor_who_asked_decides() {
    let telegram = FakeTelegram::start();
    let rest = format!("{}[approvals]\nself_approval = \"never\"\n", people());
    let home = bot::home(&telegram, "allowed_users = [\"100\"]", &rest);
    let daemon = bot::start(&home, &telegram, &[100, 200, 300], &[]);
    let own = token(
        &home,
        "annas",
        &["--scope", "read,approve", "--person", "anna"],
    );
    telegram.user_says(200, &anna(), WRITE);
    let approval = daemon.wait_approval().await;
    let code = approval["short_code"].as_str().unwrap().to_owned();
    // The model writes the command that decides, in the chat of somebody who may.
    telegram.user_says(
        100,
        &User::new(100, "Cleo"),
        &format!("SAY:/approve {code}"),
    );
    shown(&telegram, 100, &format!("/approve {code}")).await;
    // Who asked clicks nothing and types nothing that decides.
    telegram.user_says(200, &anna(), &format!("/approve {code}"));
    shown(&telegram, 200, "decided by somebody else").await;
    assert_eq!(decides(&daemon, &own, &approval, "approve").await.0, 403);
    assert_eq!(daemon.wait_approval().await["id"], approval["id"]);
    assert!(!home.workspace("team").join("note.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn threat_14_a_name_is_no_identity() {
    let telegram = FakeTelegram::start();
    let home = bot::home(&telegram, "allowed_users = [\"100\", \"666\"]", &people());
    let daemon = bot::start(&home, &telegram, &[100, 200, 300, 666], &[]);
    telegram.user_says(100, &User::new(100, "Cleo"), WRITE);
    let approval = daemon.wait_approval().await;
    let code = approval["short_code"].as_str().unwrap().to_owned();
    shown(&telegram, 200, &code).await;
    // Called like a person, a token of a person, and an operator: none of them is one.
    for name in ["anna", "token:annas", "unix:0", "operator:0"] {
        telegram.user_says(666, &User::new(666, name), &format!("/approve {code}"));
        shown(&telegram, 666, "only approvers and owners").await;
        telegram.change(|state| state.messages.retain(|message| message.chat != 666));
    }
    // A token that is called like a person is not that person.
    let value = token(&home, "anna", &["--scope", "read,approve"]);
    let (status, decided) = decides(&daemon, &value, &approval, "deny").await;
    assert_eq!(status, 200, "{decided}");
    assert_eq!(decided["decision"]["by"], "token anna", "{decided}");
}
