//! Several calls in one answer, each with another fate: the model hears of all of them at once, in their own order.

use serde_json::{Value, json};

use crate::model_calls::server::{ModelServer, home, proposes, says};
use crate::support::daemon::{Daemon, Home};

const ONE: &str = "[model]\ndefault = \"one/m\"";
const DAY: i64 = 24 * 3600;

fn write(id: &str, file: &str) -> (String, String, String) {
    let args = json!({"path": file, "content": "x"}).to_string();
    (id.to_owned(), "write_file".to_owned(), args)
}

/// The pending approval that would write this file.
async fn approval_of(daemon: &Daemon, file: &str) -> Value {
    let list = daemon.get("/v1/approvals?state=pending").await;
    let items = list["items"].as_array().unwrap().iter();
    items
        .clone()
        .find(|item| item["args"]["path"] == file)
        .unwrap_or_else(|| panic!("no approval for {file}: {list:#}"))
        .clone()
}

/// A daemon with a turn that waits for three decisions.
async fn three(place: &Place) -> (Daemon, String, String) {
    let offset = place.offset.to_str().expect("UTF-8");
    let daemon = place
        .home
        .daemon_with(&[("LEVERFRAME_CLOCK_OFFSET_FILE", offset)]);
    let session = daemon.session().await;
    let turn = daemon.send(&session, "write three files").await;
    daemon
        .wait("/v1/approvals?state=pending", "three questions", |body| {
            body["items"]
                .as_array()
                .is_some_and(|items| items.len() == 3)
        })
        .await;
    (daemon, session, turn)
}

/// A home with a model that proposes three writes, and then has a word about them.
struct Place {
    one: ModelServer,
    home: Home,
    offset: std::path::PathBuf,
}

impl Place {
    fn new() -> Self {
        let one = ModelServer::chat(vec![
            proposes(&[
                write("call_a", "a.txt"),
                write("call_b", "b.txt"),
                write("call_c", "c.txt"),
            ]),
            says("I see."),
        ]);
        let home = home(ONE, &[("one", &one)]);
        let offset = home.path().join("offset");
        Self { one, home, offset }
    }

    fn files(&self) -> Vec<bool> {
        let workspace = self.home.workspace("api");
        ["a.txt", "b.txt", "c.txt"]
            .iter()
            .map(|file| workspace.join(file).exists())
            .collect()
    }
}

async fn deny(daemon: &Daemon, approval: &Value, reason: &str) {
    let body = json!({"decision": "deny", "digest": approval["digest"], "reason": reason});
    let id = approval["id"].as_str().unwrap();
    daemon
        .post(&format!("/v1/approvals/{id}/decision"), body)
        .await;
}

fn states(turn: &Value) -> Vec<&str> {
    let calls = turn["tool_calls"].as_array().unwrap().iter();
    calls.map(|call| call["state"].as_str().unwrap()).collect()
}

/// What a request says of the three calls, in its order; each must be answered right behind them, once.
fn results(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap();
    let proposed = messages
        .iter()
        .position(|message| message["tool_calls"].is_array())
        .expect("the answer with its calls");
    let ids = messages[proposed]["tool_calls"].as_array().unwrap().iter();
    let ids: Vec<&Value> = ids.map(|call| &call["id"]).collect();
    assert_eq!(ids, ["call_a", "call_b", "call_c"]);
    let results: Vec<&Value> = messages[proposed + 1..]
        .iter()
        .take_while(|message| message["role"] == "tool")
        .collect();
    let answered: Vec<&Value> = results
        .iter()
        .map(|result| &result["tool_call_id"])
        .collect();
    assert_eq!(answered, ids, "each call has its result, in order");
    let after = &messages[proposed + 1 + results.len()..];
    assert!(after.iter().all(|message| message["role"] != "tool"));
    results
        .iter()
        .map(|result| result["content"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn decisions_in_any_order_are_answered_in_one_request_in_the_order_of_the_calls() {
    let place = Place::new();
    let (daemon, _, turn) = three(&place).await;
    // The last one first.
    deny(&daemon, &approval_of(&daemon, "c.txt").await, "too late.").await;
    let second = approval_of(&daemon, "b.txt").await;
    assert_eq!(daemon.decide(&second, "approve").await.0, 200);
    assert_eq!(place.one.seen().len(), 1, "one question is still open");
    deny(
        &daemon,
        &approval_of(&daemon, "a.txt").await,
        "not this one",
    )
    .await;
    let done = daemon.wait_state(&turn, "completed").await;
    assert_eq!(done["response"]["text"], "I see.");
    assert_eq!(states(&done), ["denied", "succeeded", "denied"]);
    assert_eq!(place.files(), [false, true, false]);
    let requests = place.one.seen();
    assert_eq!(requests.len(), 2, "one follow-up for all three");
    let said = results(&requests[1]);
    for (text, word) in said.iter().zip(["not this one", "b.txt", "too late"]) {
        assert!(text.contains(word), "{word:?} is missing in {text:?}");
    }
    // What the operator wrote ends as a sentence, and so does what is said behind it.
    let denied = |reason: &str| {
        format!("denied by the operator. Reason: {reason}. Do not repeat this call.")
    };
    assert!(said[0].contains(&denied("not this one")), "{:?}", said[0]);
    assert!(said[2].contains(&denied("too late")), "{:?}", said[2]);
    assert!(!said[2].contains(".."), "{:?}", said[2]);
}

#[tokio::test]
async fn an_expired_one_ends_the_turn_and_none_of_its_calls_is_sent_without_a_result() {
    let place = Place::new();
    let (daemon, session, turn) = three(&place).await;
    let (first, second) = (
        approval_of(&daemon, "a.txt").await,
        approval_of(&daemon, "b.txt").await,
    );
    assert_eq!(daemon.decide(&first, "approve").await.0, 200);
    deny(&daemon, &second, "not this one").await;
    assert_eq!(approval_of(&daemon, "c.txt").await["state"], "pending");

    // Nobody answers the third for a day. Whole at once, for a reader must not see half of it.
    let new = place.offset.with_extension("new");
    std::fs::write(&new, (DAY + 60).to_string()).unwrap();
    std::fs::rename(&new, &place.offset).unwrap();
    // A new question makes the engine look at its deadlines.
    place.one.next(proposes(&[write("call_d", "d.txt")]));
    let other = daemon.session().await;
    daemon.send(&other, "write one more").await;
    let over = daemon.wait_state(&turn, "expired").await;
    assert_eq!(over["error"]["code"], "expired");
    // A turn that is over runs nothing, and no model is told of it before somebody speaks again.
    assert_eq!(states(&over), ["expired", "denied", "expired"]);
    assert_eq!(place.files(), [false, false, false]);
    assert_eq!(place.one.seen().len(), 2);

    let next = daemon.send(&session, "and now?").await;
    let done = daemon.wait_state(&next, "completed").await;
    assert_eq!(done["response"]["text"], "I see.");
    let requests = place.one.seen();
    assert_eq!(requests.len(), 3);
    // It is no part of what was said: no call of it goes out, so none goes out without its result.
    let sent = requests[2]["messages"].to_string();
    assert!(sent.contains("and now?"), "{sent}");
    assert!(
        !sent.contains("call_") && !sent.contains("write three"),
        "{sent}"
    );
}
