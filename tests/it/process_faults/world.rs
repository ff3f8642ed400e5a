//! Short names for what the fault tests do with daemons, and what must be true of what they leave behind.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use leverframe::clock::{Clock, Timestamp};
use leverframe::store::{OpenOptions, Store, check};
use serde_json::{Value, json};

use crate::support::daemon::{DEADLINE, Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;

/// Everything runs without a person, so that faults meet tools and not approvals.
pub const FULL: &str = "[channels.api]\nautonomy = \"full\"\npermanent_full = true\n";

/// A home with a Telegram bot on `team` and everything at `full`.
pub fn telegram_home(telegram: &FakeTelegram) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n{FULL}\n\
         [channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         allowed_users = [\"100\"]\n",
        telegram.url()
    ))
}

/// A message whose answer is `text` after about `pieces` × 25 ms of streaming.
pub fn slow(text: &str, pieces: u32) -> String {
    format!("SLOW:{pieces}\nSAY:{text}")
}

/// A message that makes the model run this script, then say `done`.
pub fn script(script: &str) -> String {
    format!(
        "TOOL:execute_command{}\nSAY:done",
        json!({ "script": script })
    )
}

/// A script that ignores SIGTERM, has a grandchild in a session of its own that does too, and never ends. It makes
/// the file `up` when both run; `tag` is on their command lines.
pub fn stubborn(tag: &str) -> String {
    format!(
        "trap '' TERM INT HUP; setsid sh -c 'trap \"\" TERM INT HUP; touch up; while :; do sleep 0.1; done' {tag} & \
         while :; do sleep 0.1; done"
    )
}

/// A word that no other process carries.
pub fn tag(home: &Home) -> String {
    let name = home.path().file_name().expect("a name");
    format!("tag-{}", name.to_str().expect("UTF-8"))
}

/// Whether a process carries the tag on its command line.
pub fn alive(tag: &str) -> bool {
    std::fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit())
        .any(|entry| {
            std::fs::read(entry.path().join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(tag))
        })
}

/// Waits for something outside the daemon.
pub async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until a model's answer is being streamed.
pub async fn wait_stream(daemon: &Daemon) {
    daemon
        .wait("/v1/snapshot", "an open stream", |body| {
            body["streams"].as_array().is_some_and(|s| !s.is_empty())
        })
        .await;
}

/// The engine's own status.
pub async fn engine(daemon: &Daemon) -> Value {
    daemon.get("/v1/snapshot").await["engine"].clone()
}

/// Lines of a file; none while it does not exist.
pub fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Runs a program; its standard output and error. It must succeed.
pub fn tool(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{program} {arguments:?}: {text}");
    text
}

/// One number from the database as it lies there, without opening it as ours.
pub fn count(home: &Home, query: &str) -> i64 {
    let conn = rusqlite::Connection::open_with_flags(
        home.data().join("leverframe.db"),
        rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY,
    )
    .expect("the database");
    conn.query_row(query, [], |row| row.get(0))
        .unwrap_or_else(|error| panic!("{query}: {error}"))
}

/// I28: what a process that was told to end leaves behind. Nothing runs, the log is empty, the lock free, the end
/// recorded beside the epoch.
pub fn ended_in_order(home: &Home) {
    let data = home.data();
    let log = std::fs::metadata(data.join("leverframe.db-wal")).map_or(0, |data| data.len());
    assert_eq!(log, 0, "the write-ahead log is not empty");
    let lock = std::fs::File::open(data.join("leverframe.lock")).expect("the lock file");
    lock.try_lock().expect("the lock is free");
    drop(lock);
    let sidecar = std::fs::read_to_string(data.join("epoch")).expect("the side-car");
    assert_eq!(sidecar.split_whitespace().count(), 2, "{sidecar}");
    for query in [
        "SELECT count(*) FROM continuations WHERE state = 'running'",
        "SELECT count(*) FROM tool_calls WHERE state = 'started'",
        "SELECT count(*) FROM outbox WHERE state = 'sending'",
        "SELECT 1 - count(*) FROM meta WHERE key = 'clean'",
    ] {
        assert_eq!(count(home, query), 0, "{query}");
    }
    assert!(
        !data.join("leverframe.sock").exists(),
        "the socket is still there"
    );
}

/// Every invariant the database alone can show. Nothing may run on it. Its times may be far from ours.
pub async fn sound(home: &Home) {
    let options = OpenOptions {
        dir: home.data(),
        clock: Clock::manual(Timestamp(0)),
        readers: 1,
        instance: "the fault suite".to_owned(),
    };
    let opened = tokio::task::spawn_blocking(move || Store::open(options))
        .await
        .expect("opening does not panic")
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(!opened.recovery.quarantine, "quarantined");
    let broken = opened.store.read(check::check).await.expect("a check");
    assert_eq!(broken, Vec::new());
    opened.store.close().await;
}
