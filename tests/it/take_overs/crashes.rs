//! kill -9 around a take-over and around a word in place of the agent: it happened whole or not at all, and said again
//! under its key it is said once.

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};

async fn turns(daemon: &Daemon) -> Vec<Value> {
    let list = daemon.get("/v1/continuations?limit=100").await;
    list["items"].as_array().expect("a list").clone()
}

fn check(home: &Home) {
    let output = home
        .command()
        .args(["doctor", "--check"])
        .output()
        .expect("the binary runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

/// Says something under a key until it is answered; how often it was said in the end, and the answers that the agent
/// gave meanwhile.
async fn survives(point: &str) {
    let home = Home::new("");
    let mut daemon = home.daemon_with(&[("LEVERFRAME_CRASH", &format!("{point}:1"))]);
    let session = daemon.session().await;
    let path = format!("/v1/sessions/{session}");
    let take = format!("{path}/take-over");
    let (mut crashed, mut said) = (false, false);
    while !said {
        let held = daemon.try_request("POST", &take, Some(json!({}))).await;
        if let Ok((200, held)) = held {
            let turn = turns(&daemon).await;
            if turn.is_empty() {
                daemon.send(&session, "SAY:agent").await;
            }
            let word = json!({ "take_over_id": held["taken_over"]["id"], "text": "by hand" });
            let answer = daemon
                .try_post_keyed(&format!("{path}/say"), "key-1", word)
                .await;
            if let Ok((status, answer)) = answer {
                assert_eq!(status, 200, "{answer}");
                said = true;
            }
        }
        if !said {
            assert!(!crashed, "{point}: it died twice");
            crashed = true;
            assert!(daemon.wait_exit().is_some_and(|status| !status.success()));
            daemon = home.daemon();
            // A take-over that was answered, or whose commit came, is in force after the start.
            let session = daemon.get(&path).await;
            assert!(session["taken_over"]["by"].is_string(), "{session}");
        }
    }
    assert!(crashed, "{point} was not reached");
    let all = turns(&daemon).await;
    let texts = |text: &str| {
        let of = |turn: &&Value| turn["response"]["text"] == text;
        all.iter().filter(of).count()
    };
    assert_eq!((texts("by hand"), texts("agent")), (1, 0), "{all:#?}");
    assert!(
        all.iter().all(|turn| turn["state"] == "completed"),
        "{all:#?}"
    );
    let audit = daemon.get("/v1/audit?action=session.spoken").await;
    assert_eq!(audit["items"].as_array().map(Vec::len), Some(1));
    daemon.terminate();
    check(&home);
}

#[tokio::test]
async fn killed_inside_a_word_it_was_not_said() {
    survives("say.pre_commit").await;
}

#[tokio::test]
async fn killed_behind_a_word_it_is_not_said_again() {
    survives("say.post").await;
}

#[tokio::test]
async fn killed_behind_a_take_over_the_conversation_is_held() {
    survives("take_over.post").await;
}
