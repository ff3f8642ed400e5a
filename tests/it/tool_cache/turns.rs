//! Turns of the real binary with the scripted model, over HTTP.
//!
//! Whether a tool ran is seen by a file that somebody else puts into the workspace: a kept result does not know it.

use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::daemon::{DEADLINE, Daemon, Home};

const ON: &str = "[channels.api]\nautonomy = \"semi_auto\"\ntool_cache = true\n";
const FULL: &str =
    "[channels.api]\nautonomy = \"full\"\npermanent_full = true\ntool_cache = true\n";
const LIST: &str = "TOOL:list_files{\"path\":\".\"}\nSAY:done";
const SEARCH: &str = "TOOL:search_files{\"pattern\":\"needle\"}\nSAY:done";

/// A daemon whose clock the test moves.
struct World {
    home: Home,
    daemon: Daemon,
}

impl World {
    fn new(config: &str) -> Self {
        let home = Home::new(config);
        let daemon = start(&home, &[]);
        let world = Self { home, daemon };
        world.put("one.txt", "needle one\n");
        world
    }

    fn put(&self, name: &str, content: &str) {
        // Where the channel names another one, this one is not there.
        std::fs::create_dir_all(self.workspace()).unwrap();
        std::fs::write(self.workspace().join(name), content).unwrap();
    }

    fn workspace(&self) -> PathBuf {
        self.home.workspace("api")
    }

    fn later(&self, seconds: u32) {
        std::fs::write(self.home.path().join("offset"), seconds.to_string()).unwrap();
    }

    async fn run(&self, text: &str) -> Value {
        run(&self.daemon, text).await
    }

    async fn tools(&self) -> Value {
        self.daemon.get("/v1/cache").await["today"]["tools"].clone()
    }
}

fn start(home: &Home, more: &[(&str, &str)]) -> Daemon {
    let offset = home.path().join("offset");
    std::fs::write(&offset, "0").unwrap();
    let mut environment = vec![("LEVERFRAME_CLOCK_OFFSET_FILE", offset.to_str().unwrap())];
    environment.extend(more);
    home.daemon_with(&environment)
}

/// A turn in a new session; whatever asks is allowed.
async fn run(daemon: &Daemon, text: &str) -> Value {
    let session = daemon.session().await;
    let id = daemon.send(&session, text).await;
    ended(daemon, &id).await
}

async fn ended(daemon: &Daemon, id: &str) -> Value {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let done = daemon.get(&format!("/v1/continuations/{id}")).await;
        if done["state"] == "completed" {
            return done;
        }
        assert!(Instant::now() < deadline, "{done:#}\n{}", "not in time");
        let waiting = daemon.get("/v1/approvals?state=pending").await;
        for approval in waiting["items"].as_array().unwrap() {
            let (status, body) = daemon.decide(approval, "approve").await;
            assert_eq!(status, 200, "{body:#}");
        }
        tokio::time::sleep(std::time::Duration::from_millis(15)).await;
    }
}

/// The turn's call with this number.
fn call(done: &Value, n: usize) -> &Value {
    &done["tool_calls"][n]
}

fn is_cached(done: &Value, n: usize) -> bool {
    let call = call(done, n);
    assert_eq!(call["state"], "succeeded", "{call:#}");
    call["cached"].is_object()
}

fn result(done: &Value, n: usize) -> &str {
    call(done, n)["result"].as_str().unwrap()
}

#[tokio::test]
async fn the_same_call_twice_runs_once_and_says_how_old_its_result_is() {
    for tool in [LIST, SEARCH] {
        let world = World::new(ON);
        let first = world.run(tool).await;
        assert!(!is_cached(&first, 0));
        // Somebody else's change shows when the result is too old, and not before.
        world.put("two.txt", "needle two\n");
        world.later(12);
        let again = world.run(tool).await;
        assert!(is_cached(&again, 0), "{again:#}");
        assert_eq!(result(&again, 0), result(&first, 0));
        assert_eq!(call(&again, 0)["attempts"], 1);
        let age = call(&again, 0)["cached"]["age_ms"].as_u64().unwrap();
        assert!((12_000..25_000).contains(&age), "{age}");
        // The step that the model reads says the same, and the events and the story say that nothing ran.
        let id = again["id"].as_str().unwrap();
        let steps = world
            .daemon
            .get(&format!("/v1/continuations/{id}/steps"))
            .await;
        let body = &steps["items"][1]["body"];
        assert_eq!(body["type"], "tool_result", "{steps:#}");
        assert_eq!(body["content"], result(&first, 0));
        assert_eq!(body["cached"], call(&again, 0)["cached"]);
        let call_id = call(&again, 0)["id"].as_str().unwrap();
        let why = world
            .daemon
            .get(&format!("/v1/tool-calls/{call_id}/why"))
            .await;
        assert!(why.to_string().contains("Nothing ran"), "{why:#}");
        let tools = world.tools().await;
        assert_eq!(tools["hits"], 1, "{tools:#}");
        assert_eq!(tools["misses"], json!({"first": 1}), "{tools:#}");
        assert_eq!(tools["stores"], 1);

        world.later(40);
        let third = world.run(tool).await;
        assert!(!is_cached(&third, 0));
        assert!(result(&third, 0).contains("two"), "{third:#}");
        let tools = world.tools().await;
        assert_eq!(tools["misses"]["expired"], 1, "{tools:#}");
        let snapshot = world.daemon.get("/v1/snapshot").await;
        assert_eq!(snapshot["cache"]["today"]["tools"], tools);
        let groups = snapshot["cache"]["channels"].as_array().unwrap();
        let api = groups.iter().find(|group| group["name"] == "api").unwrap();
        assert_eq!(api["tools"], tools);
    }
}

#[tokio::test]
async fn other_arguments_are_another_call_and_their_order_is_none() {
    let world = World::new(ON);
    world
        .run("TOOL:search_files{\"pattern\":\"needle\",\"path\":\".\"}\nSAY:x")
        .await;
    let other = world
        .run("TOOL:search_files{\"pattern\":\"one\",\"path\":\".\"}\nSAY:x")
        .await;
    assert!(!is_cached(&other, 0));
    let same = world
        .run("TOOL:search_files{\"path\":\".\",\"pattern\":\"needle\"}\nSAY:x")
        .await;
    assert!(is_cached(&same, 0));
}

#[tokio::test]
async fn whatever_may_write_makes_everything_of_the_workspace_stale() {
    for change in [
        "TOOL:write_file{\"path\":\"two.txt\",\"content\":\"needle two\"}\nSAY:x",
        "TOOL:execute_command{\"argv\":[\"touch\",\"two.txt\"]}\nSAY:x",
    ] {
        let world = World::new(FULL);
        world.run(LIST).await;
        let done = world.run(change).await;
        assert_eq!(call(&done, 0)["state"], "succeeded", "{done:#}");
        let after = world.run(LIST).await;
        assert!(!is_cached(&after, 0), "{change}");
        assert!(result(&after, 0).contains("two.txt"), "{after:#}");
        let tools = world.tools().await;
        assert_eq!(tools["misses"]["workspace_changed"], 1, "{tools:#}");
        assert!(is_cached(&world.run(LIST).await, 0));
    }
    // In one turn, between two listings.
    let world = World::new(FULL);
    let done = world
        .run(
            "TOOL:list_files{}\nTHEN TOOL:write_file{\"path\":\"two.txt\",\"content\":\"x\"}\n\
             THEN TOOL:list_files{}\nTHEN TOOL:list_files{}\nSAY:x",
        )
        .await;
    assert!(
        !is_cached(&done, 2) && result(&done, 2).contains("two.txt"),
        "{done:#}"
    );
    assert!(is_cached(&done, 3));
    // What does not write changes nothing.
    world
        .run("TOOL:read_file{\"path\":\"one.txt\"}\nSAY:x")
        .await;
    assert!(is_cached(&world.run("TOOL:list_files{}\nSAY:x").await, 0));
}

#[tokio::test]
async fn while_something_that_may_write_runs_nothing_is_given_or_kept() {
    let world = World::new(FULL);
    world.run(LIST).await;
    let session = world.daemon.session().await;
    let slow = world
        .daemon
        .send(
            &session,
            "TOOL:execute_command{\"argv\":[\"sleep\",\"60\"]}\nSAY:x",
        )
        .await;
    let deadline = Instant::now() + DEADLINE;
    loop {
        let turn = world.daemon.get(&format!("/v1/continuations/{slow}")).await;
        if call(&turn, 0)["state"] == "started" {
            break;
        }
        let waiting = world.daemon.get("/v1/approvals?state=pending").await;
        for approval in waiting["items"].as_array().unwrap() {
            world.daemon.decide(approval, "approve").await;
        }
        assert!(Instant::now() < deadline, "{turn:#}");
        tokio::time::sleep(std::time::Duration::from_millis(15)).await;
    }
    // The row says so a moment before the program starts; from the first miss on it does.
    loop {
        if !is_cached(&world.run(LIST).await, 0) {
            break;
        }
        assert!(Instant::now() < deadline, "given while a program runs");
    }
    for _ in 0..2 {
        assert!(!is_cached(&world.run(LIST).await, 0));
    }
    world
        .daemon
        .post(&format!("/v1/continuations/{slow}/cancel"), json!({}))
        .await;
    let ended = |turn: &Value| call(turn, 0)["state"] != "started";
    let path = format!("/v1/continuations/{slow}");
    world.daemon.wait(&path, "the program's end", ended).await;
    world.run(LIST).await;
    assert!(is_cached(&world.run(LIST).await, 0));
}

#[tokio::test]
async fn other_channels_that_write_in_the_same_workspace_or_around_it_count() {
    for (own, other, shared) in [("ws", "ws", true), ("ws/a", "ws", true), ("ws", "b", false)] {
        let world = World::new(&format!(
            "{FULL}workspace = \"{{home}}/{own}\"\n[channels.desk]\nautonomy = \"full\"\n\
             permanent_full = true\nworkspace = \"{{home}}/{other}\"\n"
        ));
        world.run(LIST).await;
        let session = world
            .daemon
            .post("/v1/sessions", json!({ "channel": "desk" }))
            .await;
        let write = "TOOL:write_file{\"path\":\"new.txt\",\"content\":\"x\"}\nSAY:x";
        let id = world
            .daemon
            .send(session["id"].as_str().unwrap(), write)
            .await;
        ended(&world.daemon, &id).await;
        assert_eq!(
            is_cached(&world.run(LIST).await, 0),
            !shared,
            "{own} {other}"
        );
    }
}

/// Somebody else asks: the person at the socket.
async fn operator_runs(world: &World, text: &str) -> Value {
    let socket = world.home.data().join("leverframe.sock");
    let mut socket = tokio::net::UnixStream::connect(socket).await.unwrap();
    let body = json!({ "text": text }).to_string();
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
    serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn nobody_is_given_what_another_person_or_channel_was() {
    let world = World::new(&format!(
        "{ON}workspace = \"{{home}}/ws\"\n[channels.desk]\nautonomy = \"semi_auto\"\ntool_cache = true\n\
         workspace = \"{{home}}/ws\"\n"
    ));
    world.run(LIST).await;
    assert!(is_cached(&world.run(LIST).await, 0));
    assert!(!is_cached(&operator_runs(&world, LIST).await, 0));
    assert!(is_cached(&operator_runs(&world, LIST).await, 0));
    for cached in [false, true] {
        let session = world
            .daemon
            .post("/v1/sessions", json!({ "channel": "desk" }))
            .await;
        let id = world
            .daemon
            .send(session["id"].as_str().unwrap(), LIST)
            .await;
        let done = ended(&world.daemon, &id).await;
        assert_eq!(is_cached(&done, 0), cached);
    }
    let tools = world.tools().await;
    assert_eq!(tools["misses"], json!({"first": 3}), "{tools:#}");
}

#[tokio::test]
async fn under_another_policy_it_runs_again() {
    let world = World::new(ON);
    world.run(LIST).await;
    for block in [json!(["write_file"]), json!([])] {
        let (status, body) = world
            .daemon
            .request(
                "PATCH",
                "/v1/channels/api/policy",
                Some(json!({ "block": block })),
            )
            .await;
        assert_eq!(status, 200, "{body:#}");
        // Even where it says the same as before: it is another version.
        assert!(!is_cached(&world.run(LIST).await, 0));
    }
    let tools = world.tools().await;
    assert_eq!(tools["misses"]["policy_changed"], 2, "{tools:#}");
    // What is not allowed any more is given to nobody.
    let (status, _) = world
        .daemon
        .request(
            "PATCH",
            "/v1/channels/api/policy",
            Some(json!({ "block": ["list_files"] })),
        )
        .await;
    assert_eq!(status, 200);
    let refused = world.run(LIST).await;
    assert_eq!(call(&refused, 0)["state"], "blocked", "{refused:#}");
    assert_eq!(world.tools().await["hits"], 0);
}

#[tokio::test]
async fn a_call_that_asks_still_asks_and_the_start_is_recorded_as_ever() {
    let world = World::new("[channels.api]\ntool_cache = true\n");
    for cached in [false, true] {
        let session = world.daemon.session().await;
        let id = world.daemon.send(&session, LIST).await;
        let approval = world.daemon.wait_approval().await;
        world.daemon.wait_state(&id, "awaiting_approval").await;
        let (status, body) = world.daemon.decide(&approval, "approve").await;
        assert_eq!(status, 200, "{body:#}");
        let done = world.daemon.wait_state(&id, "completed").await;
        assert_eq!(is_cached(&done, 0), cached, "{done:#}");
    }
    // A refused one is given nothing.
    let session = world.daemon.session().await;
    let id = world.daemon.send(&session, LIST).await;
    let approval = world.daemon.wait_approval().await;
    world.daemon.decide(&approval, "deny").await;
    let done = world.daemon.wait_state(&id, "completed").await;
    assert_eq!(call(&done, 0)["state"], "denied");
    assert_eq!(world.tools().await["hits"], 1);
    let audit = world
        .home
        .command()
        .args(["audit", "export", "-"])
        .output()
        .unwrap();
    let audit = String::from_utf8(audit.stdout).unwrap();
    assert_eq!(audit.matches("tool.started").count(), 2, "{audit}");
    assert_eq!(audit.matches("tool.finished").count(), 2, "{audit}");
    assert_eq!(audit.matches("cached_since").count(), 1, "{audit}");
}

#[tokio::test]
async fn nothing_is_kept_unless_the_channel_says_so_and_what_was_asked_anew_runs() {
    let world = World::new("[channels.api]\nautonomy = \"semi_auto\"\n");
    for _ in 0..2 {
        assert!(!is_cached(&world.run(LIST).await, 0));
    }
    assert!(!world.home.data().join("response_cache.db").exists());
    let world = World::new(&format!(
        "[channels.api]\nautonomy = \"semi_auto\"\n{}",
        "[channels.desk]\ntool_cache = true\n"
    ));
    for _ in 0..2 {
        assert!(!is_cached(&world.run(LIST).await, 0));
    }
    assert_eq!(world.tools().await["misses"], json!({"off": 2}));
    let stats = world.daemon.get("/v1/cache").await;
    assert_eq!(stats["tool_channels"], json!(["desk"]), "{stats:#}");

    let world = World::new(ON);
    world.run(LIST).await;
    world.put("two.txt", "x");
    let session = world.daemon.session().await;
    let accepted = world
        .daemon
        .post(
            &format!("/v1/sessions/{session}/messages"),
            json!({ "text": LIST, "fresh": true }),
        )
        .await;
    let id = accepted["continuation_id"].as_str().unwrap();
    let anew = ended(&world.daemon, id).await;
    assert!(!is_cached(&anew, 0) && result(&anew, 0).contains("two.txt"));
    assert_eq!(world.tools().await["misses"]["bypass"], 1);
    // And takes the place of the old one.
    let after = world.run(LIST).await;
    assert!(is_cached(&after, 0) && result(&after, 0).contains("two.txt"));
    // Reading a file is as cheap as knowing that it is the same.
    for _ in 0..2 {
        let read = world
            .run("TOOL:read_file{\"path\":\"one.txt\"}\nSAY:x")
            .await;
        assert!(!is_cached(&read, 0));
    }
}

#[tokio::test]
async fn results_that_are_a_part_or_large_are_not_kept() {
    let world = World::new(ON);
    world.put("two.txt", "needle\nneedle\n");
    world.put("big.txt", &"a long line of straw\n".repeat(800));
    for text in [
        "TOOL:search_files{\"pattern\":\"needle\",\"limit\":1}\nSAY:x",
        "TOOL:search_files{\"pattern\":\"straw\",\"limit\":1000}\nSAY:x",
    ] {
        for _ in 0..2 {
            assert!(!is_cached(&world.run(text).await, 0), "{text}");
        }
    }
    let tools = world.tools().await;
    assert_eq!(tools["not_kept"], json!({"partial": 4}), "{tools:#}");
    assert_eq!((&tools["stores"], &tools["hits"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn a_file_that_is_deleted_broken_or_locked_is_a_miss() {
    let mut world = World::new(ON);
    let path = world.home.data().join("response_cache.db");
    world.run(LIST).await;
    std::fs::remove_file(&path).unwrap();
    assert!(!is_cached(&world.run(LIST).await, 0));
    assert!(is_cached(&world.run(LIST).await, 0));
    // Overwritten where it lies, while the daemon has it open.
    use std::io::{Seek as _, Write as _};
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    let _ = std::fs::remove_file(path.with_extension("db-wal"));
    file.seek(std::io::SeekFrom::Start(0)).unwrap();
    file.write_all(&b"garbage ".repeat(8_000)).unwrap();
    drop(file);
    for _ in 0..3 {
        world.run(LIST).await;
    }
    assert!(is_cached(&world.run(LIST).await, 0), "it began anew");
    world.daemon.terminate();
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE")
        .unwrap();
    world.daemon = start(&world.home, &[]);
    for _ in 0..2 {
        assert!(!is_cached(&world.run(LIST).await, 0));
    }
    let stats = world.daemon.get("/v1/cache").await;
    assert!(stats["problem"].is_string(), "{stats:#}");
}

#[tokio::test]
async fn a_result_outlives_no_process() {
    let mut world = World::new(ON);
    world.run(LIST).await;
    world.daemon.terminate();
    world.put("two.txt", "x");
    world.daemon = start(&world.home, &[]);
    let after = world.run(LIST).await;
    assert!(!is_cached(&after, 0) && result(&after, 0).contains("two.txt"));
    assert_eq!(world.tools().await["misses"]["workspace_changed"], 1);
}

#[tokio::test]
async fn killed_with_a_kept_result_in_hand_the_call_runs_once_more_and_every_rule_holds() {
    for (point, nth) in [
        ("tool.started", 2),
        ("tool.effect_done", 2),
        ("result.post", 2),
    ] {
        let home = Home::new(FULL);
        let crash = format!("{point}:{nth}");
        let mut daemon = start(&home, &[("LEVERFRAME_CRASH", &crash)]);
        run(&daemon, LIST).await;
        let session = daemon.session().await;
        let id = daemon.send(&session, LIST).await;
        daemon.wait_exit().expect("it dies at the point");
        let mut daemon = start(&home, &[]);
        let done = daemon.wait_state(&id, "completed").await;
        let recorded = point == "result.post";
        assert_eq!(is_cached(&done, 0), recorded, "{point}: {done:#}");
        assert_eq!(
            call(&done, 0)["attempts"],
            if recorded { 1 } else { 2 },
            "{point}"
        );
        daemon.terminate();
        let check = home.command().args(["doctor", "--check"]).output().unwrap();
        let text = String::from_utf8_lossy(&check.stdout);
        assert!(check.status.success(), "{text}");
        assert!(text.contains(" 0 violations"), "{text}");
    }
}

#[tokio::test]
async fn a_purge_takes_results_too_and_the_command_line_says_what_happened() {
    let world = World::new(ON);
    world.run(LIST).await;
    world.run(LIST).await;
    let cli = |words: &[&str]| {
        let out = world.home.command().args(words).output().unwrap();
        assert!(out.status.success(), "{out:?}");
        String::from_utf8(out.stdout).unwrap()
    };
    let stats = cli(&["cache", "stats"]);
    assert!(stats.contains("on api: 1 of 512 results"), "{stats}");
    assert!(
        stats.contains("tools: 1 cached, 1 ran (first 1); 1 stored, 0 not stored"),
        "{stats}"
    );
    let purged = cli(&["cache", "purge", "--channel", "api"]);
    assert!(
        purged.contains("0 cached responses and 1 results of tools"),
        "{purged}"
    );
    assert!(!is_cached(&world.run(LIST).await, 0));
}

#[tokio::test]
async fn what_changed_while_a_tool_ran_is_not_kept() {
    let world = World::new(FULL);
    for n in 0..3_000 {
        world.put(&format!("{n}.txt"), &"straw\n".repeat(200));
    }
    let write =
        "TOOL:write_file{\"path\":\"new.txt\",\"content\":\"x\",\"mode\":\"overwrite\"}\nSAY:x";
    let deadline = Instant::now() + DEADLINE;
    // One that began in the middle of a search, sooner or later.
    loop {
        let (_, _) = tokio::join!(world.run(SEARCH), world.run(write));
        if world.tools().await["not_kept"]["workspace_changed"].is_u64() {
            break;
        }
        assert!(Instant::now() < deadline, "{:#}", world.tools().await);
    }
}

#[tokio::test]
async fn no_secret_reaches_the_file() {
    let mut world = World::new(ON);
    world.put("two.txt", "needle sk-canarycanarycanarycanary1234\n");
    for cached in [false, true] {
        let done = world.run(SEARCH).await;
        assert_eq!(is_cached(&done, 0), cached);
        assert!(result(&done, 0).contains("[redacted]"), "{done:#}");
    }
    world.daemon.terminate();
    let bytes = std::fs::read(world.home.data().join("response_cache.db")).unwrap();
    let content = String::from_utf8_lossy(&bytes);
    assert!(content.contains("[redacted]") && !content.contains("sk-canary"));
}

#[tokio::test]
async fn a_program_reaches_other_workspaces_exactly_where_no_sandbox_confines_it() {
    let world = World::new(&format!("{FULL}[channels.desk]\nautonomy = \"full\"\n"));
    world.run(LIST).await;
    let session = world
        .daemon
        .post("/v1/sessions", json!({ "channel": "desk" }))
        .await;
    let exec = "TOOL:execute_command{\"argv\":[\"true\"]}\nSAY:x";
    let id = world
        .daemon
        .send(session["id"].as_str().unwrap(), exec)
        .await;
    ended(&world.daemon, &id).await;
    let engine = world.daemon.get("/v1/snapshot").await["engine"].clone();
    let level = engine["sandbox"].as_str().unwrap();
    let after = world.run(LIST).await;
    assert_eq!(is_cached(&after, 0), level == "bubblewrap", "{level}");
}
