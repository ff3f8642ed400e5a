//! What the agent remembers and recalls, through the real binary.

mod context;
mod crash;
mod store;
mod taint;
mod tools;

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};

/// Everything runs that is not blocked or tainted, and what was interrupted goes on by itself.
const FULL: &str = "[channels.api]\nautonomy = \"full\"\npermanent_full = true\n\
    [channels.desk]\nautonomy = \"full\"\npermanent_full = true\n";

/// Says something in a session and waits for the end of the turn.
async fn say(daemon: &Daemon, session: &str, text: &str) -> Value {
    let continuation = daemon.send(session, text).await;
    daemon.wait_state(&continuation, "completed").await
}

/// A session on another channel.
async fn session_on(daemon: &Daemon, channel: &str) -> String {
    let session = daemon
        .post("/v1/sessions", json!({ "channel": channel }))
        .await;
    session["id"].as_str().unwrap().to_owned()
}

/// Calls a tool in a session; the call as it ended.
async fn call(daemon: &Daemon, session: &str, tool: &str, args: Value) -> Value {
    let done = say(daemon, session, &format!("TOOL:{tool}{args}\nSAY:done")).await;
    done["tool_calls"][0].clone()
}

/// What `recall` gives.
async fn recalled(daemon: &Daemon, session: &str, query: &str) -> String {
    let call = call(daemon, session, "recall", json!({ "query": query })).await;
    assert_eq!(call["state"], "succeeded", "{call:#}");
    call["result"].as_str().unwrap().to_owned()
}

/// Everything that is remembered.
async fn memories(daemon: &Daemon) -> Vec<Value> {
    let list = daemon.get("/v1/memory").await;
    list["items"].as_array().unwrap().clone()
}

/// An operator remembers something.
async fn add(daemon: &Daemon, place: Value, text: &str) -> Value {
    daemon
        .post("/v1/memory", json!({ "place": place, "text": text }))
        .await
}

fn everywhere() -> Value {
    json!({ "scope": "global" })
}

fn on_api() -> Value {
    json!({ "scope": "channel", "channel": "api" })
}

/// Changes the database of a home whose daemon is gone.
fn change(home: &Home, statement: &str) {
    let changed = rusqlite::Connection::open(database(home))
        .unwrap()
        .execute(statement, [])
        .unwrap();
    assert_eq!(changed, 1, "{statement}");
}

fn database(home: &Home) -> std::path::PathBuf {
    std::fs::read_dir(home.data())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            path.extension().is_some_and(|end| end == "db") && !path.ends_with("response_cache.db")
        })
        .expect("a database")
}
