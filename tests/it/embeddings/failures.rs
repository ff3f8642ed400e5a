//! Whatever the server does, memory is searched by words, and the search says why it was only that.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::embeddings::{Fake, add, cli, embedded, pair, search, text};
use crate::support::fake_http::Reply;

fn one(numbers: Value) -> Reply {
    Reply::Json(
        200,
        json!({ "data": [{ "index": 0, "embedding": numbers }] }),
    )
}

fn raw(status: &str, headers: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Raw(
        format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}")
            .into_bytes(),
    )
}

const JSON: &str = "content-type: application/json\r\n";

#[tokio::test]
async fn a_server_that_fails_leaves_the_words_and_the_reason() {
    let fake = Fake::start();
    let home = fake.home("dimensions = 26\n");
    let daemon = home.daemon();
    add(&daemon, "silent").await;
    embedded(&daemon, 1).await;

    let item = json!({ "index": 0, "embedding": vec![1.0; 26] });
    let second = json!({ "index": 1, "embedding": vec![1.0; 26] });
    let mut holed = vec![json!(1.0); 26];
    holed[3] = json!(null);
    let large = "1,".repeat(4_500_000);
    for (what, reply, reason) in [
        ("error", raw("500 X", JSON, "{}"), "500"),
        ("slow", Reply::Hang, "no embedding came within 2 s"),
        ("reset", Reply::Reset, "local"),
        (
            "two for one",
            Reply::Json(200, json!({ "data": [item, second] })),
            "expected 1 embeddings, got 2",
        ),
        (
            "none",
            Reply::Json(200, json!({ "data": [] })),
            "expected 1 embeddings, got 0",
        ),
        (
            "another index",
            Reply::Json(200, json!({ "data": [second] })),
            "index",
        ),
        (
            "short",
            one(json!([1.0, 2.0, 3.0])),
            "has 3 numbers, expected 26",
        ),
        ("holes", one(json!(holed)), "not a list of numbers"),
        ("nowhere", one(json!(vec![0.0; 26])), "points nowhere"),
        ("text", one(json!("AAAA")), "not a list of numbers"),
        (
            "infinite",
            raw("200 X", JSON, "{\"data\":[{\"embedding\":[1e40]}]}"),
            "not a list of numbers",
        ),
        (
            "NaN",
            raw("200 X", JSON, "{\"data\":[{\"embedding\":[NaN]}]}"),
            "expected JSON",
        ),
        ("garbage", raw("200 X", JSON, "hello"), "expected JSON"),
        (
            "page",
            raw("200 X", "content-type: text/html\r\n", "<h1>hello"),
            "expected JSON, got",
        ),
        ("untyped", raw("200 X", "", "{}"), "without a content type"),
        (
            "other",
            Reply::Json(200, json!({ "ok": true })),
            "the answer has none",
        ),
        // On a busy machine the time is over before the size is.
        (
            "large",
            raw("200 X", JSON, &large),
            "larger than|within 2 s",
        ),
        (
            "redirect",
            raw("302 X", "location: http://127.0.0.1:9/\r\n", ""),
            "redirect",
        ),
    ] {
        fake.reply(Some(reply));
        let began = Instant::now();
        let (found, words_only) = search(&daemon, &format!("silent {what}")).await;
        assert!(began.elapsed() < Duration::from_secs(10), "{what}");
        assert_eq!(found, [pair("silent", "words")], "{what}");
        let why = words_only
            .as_str()
            .unwrap_or_else(|| panic!("{what}: no reason"));
        let told = reason.split('|').any(|reason| why.contains(reason));
        assert!(told, "{what}: {why}");
    }
    fake.http().refuse(true);
    let shown = cli(&home, &["memory", "search", "silent", "and", "away"]);
    assert!(shown.status.success());
    let note = text(&shown.stderr);
    assert!(
        note.contains("searched by words only") && note.contains("could not connect"),
        "{note}"
    );
    let stats = daemon.get("/v1/memory/stats").await;
    assert_eq!(stats["embedding_failures"], 19, "{stats:#}");
    assert!(
        stats["embedding_error"]
            .as_str()
            .unwrap()
            .contains("could not connect"),
        "{stats:#}"
    );
    // The agent is told too.
    let session = daemon.session().await;
    let turn = format!("TOOL:recall{}\nSAY:done", json!({ "query": "silent" }));
    let turn = daemon.send(&session, &turn).await;
    let turn = daemon.wait_state(&turn, "completed").await;
    let result = turn["tool_calls"][0]["result"].as_str().unwrap();
    assert!(
        result.contains("only words were looked for") && result.contains("\"text\":\"silent\""),
        "{result}"
    );

    fake.http().refuse(false);
    fake.reply(None);
    let (found, words_only) = search(&daemon, "tinsel").await;
    assert_eq!(
        (found, words_only),
        (vec![pair("silent", "meaning")], json!(null))
    );
    let stats = daemon.get("/v1/memory/stats").await;
    assert_eq!(stats["embedding_error"], json!(null));
}

#[tokio::test]
async fn a_text_that_is_refused_holds_up_no_other() {
    let fake = Fake::start();
    let home = fake.home("");
    let daemon = home.daemon();
    fake.reply(Some(Reply::Json(503, json!({}))));
    add(&daemon, "silent").await;
    daemon
        .wait("/v1/memory/stats", "a failure", |stats| {
            stats["embedding_failures"].as_u64() >= Some(1)
        })
        .await;
    // Tried again by itself, after a while.
    fake.reply(None);
    embedded(&daemon, 1).await;

    fake.reply(Some(Reply::Json(
        400,
        json!({ "error": { "message": "too long" } }),
    )));
    add(&daemon, "tinsel").await;
    daemon
        .wait("/v1/memory/stats", "a refusal", |stats| {
            stats["embedding_error"]
                .as_str()
                .is_some_and(|why| why.contains("too long"))
        })
        .await;
    fake.reply(None);
    add(&daemon, "enlist").await;
    daemon
        .wait("/v1/memory/stats", "the next one", |stats| {
            stats["vectors"].as_u64() >= Some(2)
        })
        .await;
}

#[tokio::test]
async fn nothing_is_asked_while_work_is_held_or_the_budget_is_used_up() {
    let fake = Fake::start();
    let home = fake.home("");
    let daemon = home.daemon();
    daemon.post("/v1/emergency-stop", json!({})).await;
    add(&daemon, "silent").await;
    let (found, why) = search(&daemon, "silent").await;
    assert_eq!(found, [pair("silent", "words")]);
    assert_eq!(why, "an emergency stop blocks model calls");
    assert!(fake.seen().is_empty());
    daemon.post("/v1/emergency-stop/release", json!({})).await;
    embedded(&daemon, 1).await;
    drop(daemon);

    let poor = Fake::start();
    let home = poor.home("[budgets.day]\nmax_tokens = 1\n");
    let daemon = home.daemon();
    add(&daemon, "silent").await;
    let stats = daemon
        .wait("/v1/memory/stats", "a refusal", |stats| {
            stats["embedding_error"].is_string()
        })
        .await;
    let budget = "max_tokens of all channels today";
    assert!(
        stats["embedding_error"].as_str().unwrap().contains(budget),
        "{stats:#}"
    );
    let (_, why) = search(&daemon, "silent").await;
    assert!(why.as_str().unwrap().contains(budget), "{why}");
    assert!(poor.seen().is_empty());
    let costs = daemon.get("/v1/costs?by=model").await;
    assert_eq!(costs["total"]["calls"], 0, "{costs:#}");
}

#[tokio::test]
async fn a_kill_while_memories_are_embedded_loses_nothing() {
    let fake = Fake::start();
    let home = fake.home("");
    let mut daemon = home.daemon();
    fake.reply(Some(Reply::Hang));
    let all: Vec<String> = (0..70).map(|n| format!("number {n}")).collect();
    let items: Vec<Value> = all
        .iter()
        .map(|text| json!({ "place": { "scope": "global" }, "text": text }))
        .collect();
    daemon
        .post("/v1/memory/import", json!({ "items": items }))
        .await;
    let deadline = Instant::now() + Duration::from_secs(20);
    while fake.seen().is_empty() {
        assert!(Instant::now() < deadline, "nobody asked");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    daemon.signal(Signal::KILL);
    daemon.wait_exit().unwrap();
    // At most 64 at once.
    assert_eq!(fake.texts().len(), 64);
    fake.reply(None);
    let daemon = home.daemon();
    embedded(&daemon, 70).await;
    // The call that nobody heard the end of counts as it was reserved.
    let costs = daemon.get("/v1/costs?by=model").await;
    assert_eq!(costs["total"]["calls"], 3, "{costs:#}");
    assert!(
        costs["total"]["input_tokens"].as_u64().unwrap() > 14 + 64,
        "{costs:#}"
    );
    drop(daemon);
    let checked = cli(&home, &["doctor", "--check"]);
    assert!(checked.status.success(), "{}", text(&checked.stdout));
}
