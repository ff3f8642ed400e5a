//! Turns of the real binary, with a model that counts how often it is asked.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::response_cache::model_server::ModelServer;
use crate::support::daemon::{DEADLINE, Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;

fn config(model: &ModelServer, more: &str) -> String {
    format!(
        "[model]\ndefault = \"local/m\"\n\n[providers.local]\nkind = \"openai-chat\"\nbase_url = \"{}\"\n\
         max_concurrent = 64\nprices = {{ m = {{ input = 1.0, output = 2.0 }} }}\n\n{more}",
        model.base_url
    )
}

const BY_CHANNEL: &str =
    "[channels.api]\nresponse_cache = \"channel\"\nauto_approve = [\"list_files\"]\n";
const BY_USER: &str = "[channels.api]\nresponse_cache = \"user\"\n";

/// The token's holder asks.
async fn ask(daemon: &Daemon, text: &str) -> Value {
    ask_with(daemon, json!({ "text": text })).await
}

async fn ask_with(daemon: &Daemon, body: Value) -> Value {
    let done = daemon.post("/v1/ask?wait=30", body).await;
    assert_eq!(done["state"], "completed", "{done:#}");
    done
}

fn text(done: &Value) -> &str {
    done["response"]["text"].as_str().unwrap()
}

/// Somebody else asks: the person at the socket.
async fn operator_asks(home: &Home, question: &str) -> Value {
    let mut socket = tokio::net::UnixStream::connect(home.data().join("leverframe.sock"))
        .await
        .unwrap();
    let body = json!({ "text": question }).to_string();
    let request = format!(
        "POST /v1/ask?wait=30 HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut reply = String::new();
    tokio::time::timeout(DEADLINE, socket.read_to_string(&mut reply))
        .await
        .unwrap()
        .unwrap();
    let body = reply.split_once("\r\n\r\n").unwrap().1;
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {reply}"))
}

async fn stats(daemon: &Daemon) -> Value {
    daemon.get("/v1/cache").await
}

async fn model_step(daemon: &Daemon, done: &Value) -> Value {
    let id = done["id"].as_str().unwrap();
    let steps = daemon.get(&format!("/v1/continuations/{id}/steps")).await;
    steps["items"][0]["body"].clone()
}

#[tokio::test]
async fn two_people_of_different_roles_are_two_calls_in_every_scope() {
    for more in [BY_CHANNEL, BY_USER] {
        let model = ModelServer::start().await;
        let home = Home::new(&config(&model, more));
        let daemon = home.daemon();
        let first = ask(&daemon, "When is lunch?").await;
        let second = operator_asks(&home, "  When is lunch?\n").await;
        assert_eq!(model.calls(), 2, "{more}");
        assert_ne!(text(&second), text(&first), "{second:#}");
        // And each of them again.
        let again = ask(&daemon, "When is lunch?").await;
        assert_eq!(text(&again), text(&first));
        let again = operator_asks(&home, "When is lunch?").await;
        assert_eq!(text(&again), text(&second));
        assert_eq!(model.calls(), 2, "{more}");
    }
}

#[tokio::test]
async fn a_hit_costs_nothing_says_so_and_looks_like_an_answer() {
    let model = ModelServer::start().await;
    let home = Home::new(&config(&model, BY_CHANNEL));
    let daemon = home.daemon();
    let first = ask(&daemon, "When is lunch?").await;
    assert_eq!(first["usage"]["input_tokens"], 1000);
    let hit = ask(&daemon, "When is lunch?").await;
    assert_eq!(model.calls(), 1);
    assert_eq!(hit["usage"]["input_tokens"], 0, "{hit:#}");
    assert_eq!(hit["usage"]["cost_usd"], 0.0, "{hit:#}");
    let asked = model_step(&daemon, &first).await;
    let kept = model_step(&daemon, &hit).await;
    assert_eq!(asked["cached"], Value::Null);
    assert_eq!(kept["cached"]["saved"]["input_tokens"], 1000, "{kept:#}");
    assert_eq!(kept["attempts"], 0);
    assert_eq!(kept["model"], "local/m");
    let entries = daemon.get("/v1/cache/entries").await;
    assert_eq!(entries["items"][0]["id"], kept["cached"]["entry"]);
    assert_eq!(entries["items"][0]["scope"], "channel");

    let stats = stats(&daemon).await;
    let today = &stats["today"];
    assert_eq!(
        (&today["hits"], &today["stores"]),
        (&json!(1), &json!(1)),
        "{today:#}"
    );
    assert_eq!(today["misses"]["no_entry"], 1);
    assert_eq!(today["input_tokens_saved"], 1000);
    assert_eq!(today["output_tokens_saved"], 204);
    // 1000 at 1 $ and 204 at 2 $ a million.
    let saved = today["cost_usd_saved"].as_f64().unwrap();
    assert!((saved - 0.001_408).abs() < 1e-9, "{saved}");
    // Nothing of it is spend.
    let snapshot = daemon.get("/v1/snapshot").await;
    let spent = &snapshot["engine"]["usage_today"];
    assert_eq!(spent["input_tokens"], 1000, "{spent:#}");
    assert_eq!(snapshot["cache"]["today"]["hits"], 1);
}

#[tokio::test]
async fn the_events_of_a_hit_are_those_of_an_answer_and_one_more() {
    let model = ModelServer::start().await;
    let home = Home::new(&config(&model, BY_CHANNEL));
    let daemon = home.daemon();
    ask(&daemon, "When is lunch?").await;
    let session = daemon.session().await;
    let url = format!("{}/v1/events?deltas={session}", daemon.base);
    let mut stream = crate::support::daemon::client()
        .get(url)
        .bearer_auth(&daemon.token)
        .send()
        .await
        .unwrap();
    daemon.send(&session, "When is lunch?").await;
    let mut seen = String::new();
    while !seen.contains("event: continuation.completed") {
        let chunk = tokio::time::timeout(DEADLINE, stream.chunk()).await;
        let chunk = chunk.expect(&seen).unwrap().expect("more events");
        seen.push_str(&String::from_utf8_lossy(&chunk));
    }
    let kinds: Vec<&str> = seen
        .lines()
        .filter_map(|line| line.strip_prefix("event: "))
        .collect();
    for kind in [
        "continuation.streaming",
        "message.delta",
        "cache.hit",
        "model.finished",
    ] {
        assert!(kinds.contains(&kind), "{kind} of {kinds:?}");
    }
    assert!(
        !kinds.contains(&"model.started"),
        "no model was asked: {kinds:?}"
    );
    let said: String = seen
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter_map(|data| serde_json::from_str::<Value>(data).ok())
        .filter(|event| event["kind"] == "message.delta")
        .map(|event| event["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(said, "answer 1 to When is lunch?");
    // The same session again: now there is a turn before it.
    let before = model.calls();
    let id = daemon.send(&session, "When is lunch?").await;
    daemon.wait_state(&id, "completed").await;
    assert_eq!(model.calls(), before + 1);
}

#[tokio::test]
async fn a_question_behind_another_is_never_answered_from_a_fresh_one() {
    let model = ModelServer::start().await;
    let home = Home::new(&config(&model, BY_CHANNEL));
    let daemon = home.daemon();
    let fresh = ask(&daemon, "and tomorrow?").await;
    let session = daemon.session().await;
    for question in ["When is lunch?", "and tomorrow?", "and the day after?"] {
        let id = daemon.send(&session, question).await;
        let done = daemon.wait_state(&id, "completed").await;
        assert_ne!(text(&done), text(&fresh));
    }
    assert_eq!(model.calls(), 4);
    // And what was said behind something is kept for nobody.
    ask(&daemon, "and the day after?").await;
    assert_eq!(model.calls(), 5);
    let stats = stats(&daemon).await;
    let misses = &stats["channels"][0]["misses"];
    assert_eq!(misses["different_history"], 1, "{stats:#}");
    assert_eq!(misses["not_fresh"], 1, "{stats:#}");
}

#[tokio::test]
async fn ten_at_once_are_one_call() {
    let model = ModelServer::start().await;
    let home = Home::new(&config(&model, BY_CHANNEL));
    let daemon = home.daemon();
    model.hold(true);
    let asks = (0..10).map(|_| ask(&daemon, "When is lunch?"));
    let all = futures_util::future::join_all(asks);
    let release = async {
        // All ten run before the first is answered.
        let running = |snapshot: &Value| {
            let list = snapshot["continuations"].as_array().unwrap();
            list.iter()
                .filter(|turn| turn["state"] == "running")
                .count()
                == 10
        };
        daemon.wait("/v1/snapshot", "ten turns", running).await;
        model.hold(false);
    };
    let (answers, ()) = tokio::join!(all, release);
    assert!(
        answers
            .iter()
            .all(|done| text(done) == "answer 1 to When is lunch?")
    );
    assert_eq!(model.calls(), 1);
    let stats = stats(&daemon).await;
    let (hits, coalesced) = (&stats["today"]["hits"], &stats["today"]["coalesced"]);
    let shared = hits.as_u64().unwrap() + coalesced.as_u64().unwrap();
    assert_eq!(shared, 9, "{stats:#}");
    assert_eq!(stats["today"]["misses"]["no_entry"], 1, "{stats:#}");
}

#[tokio::test]
async fn a_leader_that_is_cancelled_or_fails_takes_nobody_with_it() {
    let model = ModelServer::start().await;
    let home = Home::new(&config(&model, BY_CHANNEL));
    let daemon = home.daemon();
    model.hold(true);
    let leader_session = daemon.session().await;
    let leader = daemon.send(&leader_session, "When is lunch?").await;
    let deadline = Instant::now() + DEADLINE;
    while model.calls() < 1 {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut others = Vec::new();
    for _ in 0..3 {
        let session = daemon.session().await;
        let id = daemon.send(&session, "When is lunch?").await;
        daemon.wait_state(&id, "running").await;
        others.push(id);
    }
    assert_eq!(model.calls(), 1);
    daemon
        .post(&format!("/v1/continuations/{leader}/cancel"), json!({}))
        .await;
    while model.calls() < 2 {
        assert!(Instant::now() < deadline, "nobody was promoted");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    model.hold(false);
    for id in &others {
        let done = daemon.wait_state(id, "completed").await;
        assert_eq!(text(&done), "answer 2 to When is lunch?");
    }
    assert_eq!(model.calls(), 2);
    daemon.wait_state(&leader, "cancelled").await;
}

#[tokio::test]
async fn answers_with_tools_and_cut_ones_are_never_kept_and_the_reason_is_told() {
    let model = ModelServer::start().await;
    let home = Home::new(&config(&model, BY_CHANNEL));
    let daemon = home.daemon();
    for _ in 0..2 {
        ask(&daemon, "TOOLS please").await;
        ask(&daemon, "CUT it").await;
    }
    assert_eq!(model.calls(), 6);
    let entries = daemon.get("/v1/cache/entries").await;
    assert_eq!(entries["items"].as_array().unwrap().len(), 0);
    let stats = stats(&daemon).await;
    let today = &stats["today"];
    assert_eq!(today["not_kept"]["tools_used"], 2, "{today:#}");
    assert_eq!(today["not_kept"]["cut"], 2, "{today:#}");
    assert_eq!(today["misses"]["tools_used"], 1, "{today:#}");
    assert_eq!(today["misses"]["ineligible"], 1, "{today:#}");
    assert_eq!(today["misses"]["no_entry"], 2, "{today:#}");
}

#[tokio::test]
async fn a_new_answer_on_request_replaces_the_kept_one() {
    let model = ModelServer::start().await;
    let home = Home::new(&config(&model, BY_CHANNEL));
    let daemon = home.daemon();
    ask(&daemon, "When is lunch?").await;
    let anew = ask_with(&daemon, json!({ "text": "When is lunch?", "fresh": true })).await;
    assert_eq!(text(&anew), "answer 2 to When is lunch?");
    let kept = ask(&daemon, "When is lunch?").await;
    assert_eq!(text(&kept), text(&anew));
    // Asking again is asking for something else.
    let id = kept["id"].as_str().unwrap();
    let retry = daemon
        .post(&format!("/v1/continuations/{id}/retry"), json!({}))
        .await;
    let retry = daemon
        .wait_state(retry["id"].as_str().unwrap(), "completed")
        .await;
    assert_eq!(text(&retry), "answer 3 to When is lunch?");
    assert_eq!(model.calls(), 3);
    // From the command line.
    let mut command = home.command();
    command.args(["ask", "--fresh", "When is lunch?"]);
    // Elsewhere, because the model runs on this thread.
    let out = tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap();
    assert!(out.status.success(), "{out:?}");
    let stats = stats(&daemon).await;
    assert_eq!(stats["today"]["misses"]["bypass"], 2, "{stats:#}");
}

#[tokio::test]
async fn another_policy_prompt_or_model_finds_nothing_and_says_that_something_changed() {
    let model = ModelServer::start().await;
    let home = Home::new(&config(&model, BY_CHANNEL));
    let mut daemon = home.daemon();
    ask(&daemon, "When is lunch?").await;
    let (status, changed) = daemon
        .request(
            "PATCH",
            "/v1/channels/api/policy",
            Some(json!({ "block": ["write_file"] })),
        )
        .await;
    assert_eq!(status, 200, "{changed:#}");
    ask(&daemon, "When is lunch?").await;
    assert_eq!(model.calls(), 2);
    // The same rules as before: the first answer again.
    let (status, _) = daemon
        .request(
            "PATCH",
            "/v1/channels/api/policy",
            Some(json!({ "block": [] })),
        )
        .await;
    assert_eq!(status, 200);
    let back = ask(&daemon, "When is lunch?").await;
    assert_eq!(text(&back), "answer 1 to When is lunch?");
    ask_with(
        &daemon,
        json!({ "text": "When is lunch?", "model": "local/m2" }),
    )
    .await;
    assert_eq!(model.calls(), 3);
    assert_eq!(stats(&daemon).await["today"]["misses"]["changed"], 2);
    daemon.terminate();
    let path = home.path().join("config/config.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{config}note = \"Be brief.\"\n")).unwrap();
    let daemon = home.daemon();
    ask(&daemon, "When is lunch?").await;
    assert_eq!(model.calls(), 4);
    assert_eq!(stats(&daemon).await["total"]["misses"]["changed"], 3);
}

#[tokio::test]
async fn turns_go_on_while_the_file_is_deleted_broken_or_locked() {
    let model = ModelServer::start().await;
    let home = Home::new(&config(&model, BY_CHANNEL));
    let mut daemon = home.daemon();
    let path = home.data().join("response_cache.db");
    ask(&daemon, "When is lunch?").await;
    std::fs::remove_file(&path).unwrap();
    ask(&daemon, "When is lunch?").await;
    ask(&daemon, "When is lunch?").await;
    assert_eq!(model.calls(), 2, "a miss, then a hit in the new file");
    daemon.terminate();
    std::fs::write(&path, b"garbage ".repeat(2000)).unwrap();
    let mut daemon = home.daemon();
    ask(&daemon, "When is lunch?").await;
    ask(&daemon, "When is lunch?").await;
    assert_eq!(model.calls(), 3);
    daemon.terminate();
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE")
        .unwrap();
    let daemon = home.daemon();
    ask(&daemon, "When is lunch?").await;
    assert_eq!(model.calls(), 4);
    let stats = stats(&daemon).await;
    assert!(stats["problem"].is_string(), "{stats:#}");
    let doctor = daemon.get("/v1/doctor").await.to_string();
    assert!(doctor.contains("response cache"), "{doctor}");
}

#[tokio::test]
async fn no_secret_reaches_the_file_and_what_is_forgotten_is_gone() {
    let model = ModelServer::start().await;
    let home = Home::new(&config(&model, BY_CHANNEL));
    let mut daemon = home.daemon();
    for _ in 0..2 {
        let done = ask(&daemon, "SECRET of sk-questionquestionquestion99?").await;
        assert!(text(&done).contains("[redacted]"), "{done:#}");
    }
    assert_eq!(model.calls(), 1, "the second one was kept");
    // While it is kept, before it is forgotten below.
    let mut kept = String::new();
    for name in ["response_cache.db", "response_cache.db-wal"] {
        let bytes = std::fs::read(home.data().join(name)).unwrap_or_default();
        kept.push_str(&String::from_utf8_lossy(&bytes));
    }
    assert!(kept.contains("answer 1 to SECRET of [redacted]"));
    assert!(!kept.contains("sk-canary") && !kept.contains("sk-question"));
    ask(&daemon, "something else entirely").await;
    let id = daemon.get("/v1/cache/entries").await["items"][0]["id"].clone();
    let pinned = daemon
        .post(
            &format!("/v1/cache/entries/{}/pin", id.as_str().unwrap()),
            json!({}),
        )
        .await;
    assert_eq!(pinned["pinned"], true);
    let (status, purged) = daemon
        .request("DELETE", "/v1/cache/entries?channel=api", None)
        .await;
    assert_eq!((status, &purged["entries"]), (200, &json!(2)), "{purged:#}");
    ask(&daemon, "something else entirely").await;
    assert_eq!(model.calls(), 3);
    daemon.terminate();
    for file in std::fs::read_dir(home.data()).unwrap() {
        let path = file.unwrap().path();
        let Ok(bytes) = std::fs::read(&path) else {
            continue;
        };
        let content = String::from_utf8_lossy(&bytes);
        assert!(!content.contains("sk-canary"), "{}", path.display());
        assert!(!content.contains("sk-question"), "{}", path.display());
        if path.to_string_lossy().contains("response_cache") {
            assert!(!content.contains("[redacted]"), "purged text is gone");
        }
    }
    let audit = home
        .command()
        .args(["audit", "export", "-"])
        .output()
        .unwrap();
    let audit = String::from_utf8(audit.stdout).unwrap();
    assert!(
        audit.contains("cache.pinned") && audit.contains("cache.purged"),
        "{audit}"
    );
    assert!(!audit.contains("something else"), "{audit}");
}

#[tokio::test]
async fn nothing_is_kept_unless_somebody_says_so() {
    let model = ModelServer::start().await;
    let home = Home::new(&config(&model, ""));
    let mut daemon = home.daemon();
    ask(&daemon, "When is lunch?").await;
    ask(&daemon, "When is lunch?").await;
    assert_eq!(model.calls(), 2);
    assert!(!home.data().join("response_cache.db").exists());
    assert_eq!(stats(&daemon).await["enabled"], false);
    daemon.terminate();
    // The variable alone: for each user.
    let mut daemon = home.daemon_with(&[("LEVERFRAME_RESPONSE_CACHE_ENABLED", "true")]);
    ask(&daemon, "When is lunch?").await;
    ask(&daemon, "When is lunch?").await;
    assert_eq!(model.calls(), 3);
    operator_asks(&home, "When is lunch?").await;
    assert_eq!(model.calls(), 4);
    daemon.terminate();
    let limits = [
        ("LEVERFRAME_RESPONSE_CACHE_ENABLED", "true"),
        ("LEVERFRAME_RESPONSE_CACHE_TTL_MINUTES", "7"),
        ("LEVERFRAME_RESPONSE_CACHE_MAX_ENTRIES", "1"),
    ];
    let daemon = home.daemon_with(&limits);
    ask(&daemon, "When is dinner?").await;
    let stats = stats(&daemon).await;
    assert_eq!(stats["ttl_minutes"], 7);
    assert_eq!(
        (&stats["max_entries"], &stats["entries"]),
        (&json!(1), &json!(1)),
        "{stats:#}"
    );
}

#[tokio::test]
async fn a_channel_that_keeps_none_is_given_none_while_another_keeps_them() {
    let model = ModelServer::start().await;
    let more = "[channels.desk]\nresponse_cache = \"channel\"\n";
    let home = Home::new(&config(&model, more));
    let daemon = home.daemon();
    for calls in 1..=2 {
        ask(&daemon, "When is lunch?").await;
        assert_eq!(model.calls(), calls);
    }
    let stats = stats(&daemon).await;
    assert_eq!(stats["today"]["misses"], json!({"off": 2}), "{stats:#}");
    assert_eq!(stats["entries"], 0);
}

#[tokio::test]
async fn an_answer_outlives_its_hour_under_no_clock() {
    let model = ModelServer::start().await;
    let home = Home::new(&config(&model, BY_CHANNEL));
    let offset = home.path().join("offset");
    // From noon on: an answer is one for a day, and these hours must not leave it.
    let since_midnight = leverframe::clock::Clock::System.now().as_millis() / 1000 % 86_400;
    let noon = 86_400 - since_midnight + 43_200;
    let set = |seconds: i64| std::fs::write(&offset, (noon + seconds).to_string()).unwrap();
    set(0);
    let file = offset.to_str().unwrap().to_owned();
    let daemon = home.daemon_with(&[("LEVERFRAME_CLOCK_OFFSET_FILE", &file)]);
    ask(&daemon, "When is lunch?").await;
    set(3500);
    ask(&daemon, "When is lunch?").await;
    assert_eq!(model.calls(), 1);
    set(3700);
    ask(&daemon, "When is lunch?").await;
    assert_eq!(model.calls(), 2);
    // Set back by an hour: what was just kept lives on for its hour at most.
    set(0);
    ask(&daemon, "When is lunch?").await;
    set(7400);
    ask(&daemon, "When is lunch?").await;
    assert_eq!(model.calls(), 3);
    let stats = stats(&daemon).await;
    assert_eq!(stats["total"]["misses"]["expired"], 2, "{stats:#}");
}

#[tokio::test]
async fn a_group_shares_and_a_chat_of_two_does_not() {
    let model = ModelServer::start().await;
    let telegram = FakeTelegram::start();
    let more = format!(
        "[channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         allowed_users = [\"100\", \"101\"]\nrequire_mention = false\nsession_scope = \"sender\"\n\
         response_cache = \"channel\"\n",
        telegram.url()
    );
    let home = Home::new(&config(&model, &more));
    let token = telegram.state().token.clone();
    let _daemon = home.daemon_with(&[("TEAM_TOKEN", &token)]);
    let (ada, ben) = (User::new(100, "Ada"), User::new(101, "Ben"));
    let group = -500;
    telegram.change(|state| state.know_chat(group));
    let said = |chat: i64, text: &str| {
        telegram
            .messages(chat)
            .iter()
            .filter(|message| message.text.contains(text))
            .count()
    };
    telegram.user_says(group, &ada, "When is lunch?");
    let first = "answer 1 to When is lunch?";
    telegram
        .wait_until("the first answer", |state| {
            state.messages.iter().any(|m| m.text.contains(first))
        })
        .await;
    telegram.user_says(group, &ben, "When is lunch?");
    let twice = |state: &crate::support::fake_telegram::state::State| {
        state
            .messages
            .iter()
            .filter(|m| m.text.contains(first))
            .count()
            == 2
    };
    telegram.wait_until("the same answer for Ben", twice).await;
    assert_eq!((model.calls(), said(group, first)), (1, 2));
    // In a chat of two, with the same channel: nobody else's answer, and then their own.
    telegram.user_says(101, &ben, "When is lunch?");
    telegram
        .wait_until("an answer of Ben's own", |state| {
            state
                .messages
                .iter()
                .any(|m| m.chat == 101 && m.text.contains("answer 2"))
        })
        .await;
    telegram.user_says(100, &ada, "When is lunch?");
    telegram
        .wait_until("an answer of Ada's own", |state| {
            state
                .messages
                .iter()
                .any(|m| m.chat == 100 && m.text.contains("answer 3"))
        })
        .await;
    // A word of the chat: a new session, and the question once more.
    telegram.user_says(100, &ada, "/new");
    telegram.user_says(100, &ada, "When is lunch?");
    let again = |state: &crate::support::fake_telegram::state::State| {
        let own = |m: &&crate::support::fake_telegram::state::BotMessage| {
            m.chat == 100 && m.text.contains("answer 3")
        };
        state.messages.iter().filter(own).count() == 2
    };
    telegram.wait_until("Ada's cached response", again).await;
    telegram.user_says(100, &ada, "/new");
    telegram.user_says(100, &ada, "/fresh When is lunch?");
    telegram
        .wait_until("a new answer", |state| {
            state
                .messages
                .iter()
                .any(|m| m.chat == 100 && m.text.contains("answer 4"))
        })
        .await;
    assert_eq!(model.calls(), 4);
}
