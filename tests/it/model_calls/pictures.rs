//! Pictures of messages: shown to models that take them, with the message they came with, and named where they are not.

use serde_json::{Value, json};

use crate::model_calls::server::{ModelServer, fails, home, says, steps};
use crate::support::daemon::Daemon;

const PICTURE: &str = "iVBORw0KGgoA/w==";

fn configuration(more: &str) -> String {
    format!("[model]\ndefault = \"one/m\"\n{more}")
}

fn message(text: &str, pictures: usize) -> Value {
    let picture =
        |n| json!({ "name": format!("{n}.png"), "media_type": "image/png", "data": PICTURE });
    let files: Vec<Value> = (0..pictures).map(picture).collect();
    json!({ "text": text, "attachments": files })
}

async fn send(daemon: &Daemon, session: &str, body: Value) -> Value {
    let path = format!("/v1/sessions/{session}/messages");
    let accepted = daemon.post(&path, body).await;
    let id = accepted["continuation_id"].as_str().unwrap();
    daemon.wait_state(id, "completed").await
}

/// The pictures of each message of a user.
fn shown(request: &Value) -> Vec<usize> {
    let messages = request["messages"].as_array().unwrap().iter();
    let of_user = messages.filter(|message| message["role"] == "user");
    let count = |message: &Value| {
        let parts = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        let pictures = parts.iter().filter(|part| part["type"] == "image_url");
        pictures.count()
    };
    of_user.map(count).collect()
}

#[tokio::test]
async fn a_model_sees_the_pictures_of_this_message_and_of_earlier_ones() {
    let one = ModelServer::chat(vec![says("a cat"), says("white"), says("ten")]);
    let home = home(&configuration(""), &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    send(&daemon, &session, message("what is this?", 1)).await;
    send(&daemon, &session, message("which colour?", 0)).await;
    let done = send(&daemon, &session, message("and these?", 10)).await;
    let seen = one.seen();
    assert_eq!(shown(&seen[0]), [1]);
    assert_eq!(shown(&seen[1]), [1, 0]);
    let parts = &seen[0]["messages"][1]["content"];
    let url = format!("data:image/png;base64,{PICTURE}");
    assert_eq!(parts[1]["image_url"]["url"], url);
    assert!(parts[0]["text"].as_str().unwrap().contains("what is this?"));
    // The newest eight; the others are named.
    assert_eq!(shown(&seen[2]), [0, 0, 8]);
    let notes = steps(&daemon, &done, "model").await[0]["notes"].to_string();
    assert!(
        notes.contains("3 earlier picture(s) were not sent"),
        "{notes}"
    );
}

#[tokio::test]
async fn a_model_that_takes_no_pictures_answers_without_them_and_that_is_said() {
    let refusal = || fails(400, "", "this model does not support image input");
    let one = ModelServer::chat(vec![refusal(), says("blind"), says("still blind")]);
    let home = home(&configuration(""), &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let done = send(&daemon, &session, message("what is this?", 1)).await;
    let notes = steps(&daemon, &done, "model").await[0]["notes"].to_string();
    assert!(
        notes.contains("takes no pictures; it was asked without 1"),
        "{notes}"
    );
    send(&daemon, &session, message("and now?", 1)).await;
    let seen: Vec<usize> = one
        .seen()
        .iter()
        .map(|one| shown(one).iter().sum())
        .collect();
    assert_eq!(
        seen,
        [1, 0, 0],
        "a model is asked with pictures that refused them"
    );
}

#[tokio::test]
async fn a_profile_that_says_no_pictures_is_obeyed() {
    let one = ModelServer::chat(vec![says("blind")]);
    let table = "[providers.one.models.m]\npictures = false\n";
    let home = home(&configuration(table), &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let done = send(&daemon, &session, message("what is this?", 1)).await;
    assert_eq!(shown(&one.seen()[0]), [0]);
    let notes = steps(&daemon, &done, "model").await[0]["notes"].to_string();
    assert!(
        notes.contains("1 picture(s) were not sent: one/m takes none"),
        "{notes}"
    );
}
