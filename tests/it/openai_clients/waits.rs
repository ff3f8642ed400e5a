//! Turns that wait for a person, callers that hang up or repeat themselves, and a daemon that dies.

use serde_json::{Value, json};

use crate::openai_clients::caller::{
    Events, assistant, chat, chat_with, home, post, requests, sessions, stream, text_of, user,
};
use crate::support::daemon::Home;

const CHAT: &str = "/v1/chat/completions";
const WRITE: &str = "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"x\"}\nSAY:written";

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_says_that_it_waits_and_ends_with_the_answer() {
    let home = home();
    let daemon = home.daemon();
    let mut events = stream(&daemon, &[user(WRITE)]).await;
    let told = events.until("code ").await;
    let approval = daemon.wait_approval().await;
    let code = approval["short_code"].as_str().unwrap();
    assert_eq!(
        told,
        format!(
            "> Leverframe: this waits for a person to decide about a call of write_file, code {code}."
        )
    );
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let text = told + &text_of(&events.all().await);
    assert!(text.ends_with(".\n\nwritten"), "{text}");
    assert_eq!(
        std::fs::read_to_string(home.workspace("api").join("a.txt")).unwrap(),
        "x"
    );
    // The note is no part of the conversation.
    chat(&daemon, &[user(WRITE), assistant(&text), user("SAY:more")]).await;
    assert_eq!(sessions(&daemon).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_waits_too_long_says_so_and_the_next_one_has_the_answer() {
    let home = home();
    let daemon = home.daemon();
    let short = [("Prefer", "wait=1")];
    let told = chat_with(&daemon, &short, &[user(WRITE)]).await;
    let approval = daemon.wait_approval().await;
    let code = approval["short_code"].as_str().unwrap();
    assert!(told.text().contains(&format!("code {code}")), "{told:?}");
    assert_eq!(told.body["choices"][0]["finish_reason"], "stop");
    let next = [user(WRITE), assistant(told.text()), user("SAY:and now?")];
    // Nobody has decided yet: it says that again.
    let body = json!({ "messages": next });
    let waiting = post(&daemon, CHAT, &short, body).await;
    assert!(
        waiting.text().contains(&format!("code {code}")),
        "{waiting:?}"
    );
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let more = [&next[..], &[assistant(waiting.text()), user("SAY:more")]].concat();
    let reply = chat(&daemon, &more).await;
    assert_eq!(reply.text(), "written\n\nand now?\n\nmore");
    let last = [&more[..], &[assistant(reply.text()), user("SAY:last")]].concat();
    assert_eq!(chat(&daemon, &last).await.text(), "last");
    let all = sessions(&daemon).await;
    assert_eq!((all.len(), &all[0]["turns"]), (1, &json!(4)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_message_waits_behind_the_turn_that_waits_and_has_both_answers() {
    let home = home();
    let daemon = home.daemon();
    let told = chat_with(&daemon, &[("Prefer", "wait=1")], &[user(WRITE)]).await;
    let next = [user(WRITE), assistant(told.text()), user("SAY:and now?")];
    let mut events = stream(&daemon, &next).await;
    let mut text = events.until("code ").await;
    let approval = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    text.push_str(&text_of(&events.all().await));
    assert!(text.ends_with("\n\nwritten\n\nand now?"), "{text}");
    let all = sessions(&daemon).await;
    assert_eq!(all.len(), 1);
    // What the client has now is the conversation.
    chat(
        &daemon,
        &[&next[..], &[assistant(&text), user("SAY:more")]].concat(),
    )
    .await;
    assert_eq!(requests(&daemon, &all[0]).await.len(), 3);
    assert_eq!(sessions(&daemon).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_hangs_up_loses_nothing_and_nothing_runs_twice() {
    let home = home();
    let daemon = home.daemon();
    let events = stream(&daemon, &[user(WRITE)]).await;
    drop(events);
    let approval = daemon.wait_approval().await;
    // It comes back with the same message: the turn is the same.
    let mut events = stream(&daemon, &[user(WRITE)]).await;
    events.until("code ").await;
    assert_eq!(daemon.pending_approvals().await.len(), 1);
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    assert!(text_of(&events.all().await).ends_with("written"));
    let all = sessions(&daemon).await;
    assert_eq!(all.len(), 1);
    assert_eq!(all[0]["turns"], 1);
    // A library that repeats a request whose answer was lost gets that answer.
    let retry = [("x-stainless-retry-count", "1")];
    let reply = chat_with(&daemon, &retry, &[user(WRITE)]).await;
    assert_eq!(reply.text(), "written");
    assert_eq!(sessions(&daemon).await.len(), 1);
}

/// A message with a picture of these bytes, in base64.
fn with_picture(text: &str, data: &str) -> Value {
    let url = format!("data:image/png;base64,{data}");
    let mut content = vec![json!({ "type": "image_url", "image_url": { "url": url } })];
    if !text.is_empty() {
        content.insert(0, json!({ "type": "text", "text": text }));
    }
    json!({ "role": "user", "content": content })
}

const PICTURE: &str = "iVBORw0KGgo=";
const OTHER_PICTURE: &str = "iVBORw0KGgoAAAA=";

#[tokio::test(flavor = "multi_thread")]
async fn the_same_words_about_another_picture_are_another_turn_while_the_first_is_open() {
    let home = home();
    let daemon = home.daemon();
    let short = [("Prefer", "wait=1")];
    let turn = async |names: &[(&str, &str)], picture: &str| {
        let headers = [&short[..], names].concat();
        let reply = chat_with(&daemon, &headers, &[with_picture(WRITE, picture)]).await;
        reply.header("leverframe-continuation")
    };
    for names in [&[][..], &[("leverframe-conversation", "pictures")]] {
        let first = turn(names, PICTURE).await;
        let other = turn(names, OTHER_PICTURE).await;
        assert_ne!(first, other, "{names:?}");
        assert_eq!(turn(names, OTHER_PICTURE).await, other, "{names:?}");
        if names.is_empty() {
            assert_eq!(turn(names, PICTURE).await, first);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_gets_the_answer_about_its_own_picture() {
    let home = home();
    let daemon = home.daemon();
    let retry = [("x-stainless-retry-count", "1")];
    for text in ["", "SAY:seen"] {
        let [first, other] = [PICTURE, OTHER_PICTURE].map(|data| with_picture(text, data));
        let turn = async |headers: &[(&str, &str)], message: &Value| {
            let messages = std::slice::from_ref(message);
            let reply = chat_with(&daemon, headers, messages).await;
            reply.header("leverframe-continuation")
        };
        let answered = turn(&[], &first).await;
        let repeated = turn(&retry, &other).await;
        assert_ne!(answered, repeated, "{text:?}");
        assert_eq!(turn(&retry, &first).await, answered, "{text:?}");
        assert_eq!(turn(&retry, &other).await, repeated, "{text:?}");
        // Without the mark of a repeat, each request is a turn.
        let again = turn(&[], &first).await;
        assert_ne!(again, answered, "{text:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_makes_a_repeated_request_the_same_turn() {
    let home = home();
    let daemon = home.daemon();
    let key = [("Idempotency-Key", "k-1")];
    let history = [user("SAY:hello"), assistant("hello"), user("SAY:more")];
    chat(&daemon, &history[..1]).await;
    let first = chat_with(&daemon, &key, &history).await;
    let again = chat_with(&daemon, &key, &history).await;
    assert_eq!(first.body["id"], again.body["id"]);
    let all = sessions(&daemon).await;
    assert_eq!((all.len(), &all[0]["turns"]), (1, &json!(2)));
    let other = [("Idempotency-Key", "k-2")];
    let third = chat_with(&daemon, &other, &history).await;
    assert_ne!(first.body["id"], third.body["id"]);
    let body = json!({ "messages": [user("SAY:something else")] });
    let reused = post(&daemon, CHAT, &key, body).await;
    assert_eq!(reused.status, 409, "{reused:?}");
    assert!(reused.body["error"]["message"].is_string(), "{reused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_dies_in_a_stream_has_the_turn_afterwards() {
    let home = Home::new("[channels.api]\nautonomy = \"semi_auto\"\n");
    let mut daemon = home.daemon();
    let key = [("Idempotency-Key", "k-1")];
    let asked = "SLOW:60\nSAY:the end";
    let body = json!({ "messages": [user(asked)], "stream": true });
    let mut events = Events::open(&daemon, CHAT, &key, &body).await;
    let turn = events.headers["leverframe-continuation"]
        .to_str()
        .unwrap()
        .to_owned();
    events.until("(2)").await;
    daemon.kill();
    let daemon = home.daemon();
    let mut events = Events::open(&daemon, CHAT, &key, &body).await;
    assert_eq!(
        events.headers["leverframe-continuation"].to_str().unwrap(),
        turn
    );
    let state = daemon.get(&format!("/v1/continuations/{turn}")).await["state"].clone();
    if state == "interrupted" {
        events.until("> Leverframe: the turn was interrupted").await;
        daemon
            .post(&format!("/v1/continuations/{turn}/resume"), json!({}))
            .await;
    }
    let text = text_of(&events.all().await);
    assert!(text.ends_with("the end"), "{text}");
    assert_eq!(sessions(&daemon).await[0]["turns"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_a_person_ends_is_an_error_in_words() {
    let home = home();
    let daemon = home.daemon();
    let mut events = stream(&daemon, &[user(WRITE)]).await;
    events.until("code ").await;
    let turn = events.headers["leverframe-continuation"]
        .to_str()
        .unwrap()
        .to_owned();
    daemon
        .post(
            &format!("/v1/continuations/{turn}/cancel"),
            json!({ "reason": "not today" }),
        )
        .await;
    let chunks = events.all().await;
    let last: Value = serde_json::from_str(chunks.last().unwrap()).unwrap();
    assert!(last["error"]["message"].is_string(), "{chunks:?}");
    assert_eq!(last["error"]["type"], "invalid_request_error");
    // The conversation goes on behind it.
    let reply = chat(&daemon, &[user("SAY:hello")]).await;
    assert_eq!(reply.status, 200);
}
