//! The real binary: what would go is listed, goes, comes back, and goes by itself when it is time.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::process::Output;

use leverframe::clock::Clock;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::hygiene::world::{DAY_MS, Row, everything_of};
use crate::support::daemon::{Daemon, Home};

/// The database of a home, read behind the daemon's back.
pub fn open(home: &Home) -> Connection {
    Connection::open(home.data().join("leverframe.db")).unwrap()
}

/// A home whose stopped daemon left this many memories of a channel, each as old as `days` says; nothing runs by itself.
pub fn remembering(config: &str, count: i64, days: fn(i64) -> i64) -> Home {
    let home = Home::new(config);
    assert!(home.daemon().terminate().success());
    let conn = open(&home);
    let now = Clock::System.now().as_millis();
    conn.execute_batch("BEGIN").unwrap();
    for n in 0..count {
        Row::old(now, days(n)).insert(&conn);
    }
    // The sizes of today are noted again.
    conn.execute_batch("DELETE FROM growth; COMMIT").unwrap();
    ran(&home, now);
    home
}

/// Says that hygiene ran last at this time.
fn ran(home: &Home, at: i64) {
    let set = "INSERT OR REPLACE INTO meta (key, value) VALUES ('last_hygiene', ?1)";
    open(home).execute(set, [at.to_string()]).unwrap();
}

/// Every rule of the database holds.
pub async fn checked(daemon: &Daemon) {
    let doctor = daemon.get("/v1/doctor?check=true").await;
    assert_eq!(doctor["check"]["violations"], 0, "{doctor:#}");
}

async fn run(home: &Home, words: &str) -> Output {
    let mut command = home.command();
    command.args(words.split(' '));
    tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap()
}

async fn json_of(home: &Home, words: &str) -> Value {
    let output = run(home, words).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

async fn words_of(home: &Home, words: &str) -> String {
    let output = run(home, words).await;
    assert!(
        output.status.success(),
        "{words}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn what_the_preview_lists_goes_and_comes_back() {
    let home = remembering("[memory.hygiene]\nretention_days = 20\n", 30, |n| n * 2);
    let before = everything_of(&open(&home));
    let daemon = home.daemon();

    let said = daemon.get("/v1/memory/hygiene/preview").await;
    assert_eq!(said["archived"], 20, "{said:#}");
    assert_eq!(
        json_of(&home, "memory hygiene --preview --json").await,
        said
    );
    let text = words_of(&home, "memory hygiene --preview").await;
    assert!(
        text.contains("channel  team     memories  retention  20"),
        "{text}"
    );
    assert!(
        text.contains(said["memories"][0].as_str().unwrap()),
        "{text}"
    );
    assert!(text.contains("nothing was changed"), "{text}");
    assert_eq!(everything_of(&open(&home)), before);

    // Too much of a small scope is no sign of a wrong clock.
    let run = json_of(&home, "memory hygiene --run --json").await;
    assert_eq!(run["report"], said);
    let by = run["by"].as_str().unwrap();
    assert!(!by.is_empty() && by != "engine", "{by}");
    let status = daemon.get("/v1/memory/hygiene").await;
    assert_eq!(status["sizes"]["memories"], 10, "{status:#}");
    assert_eq!(status["sizes"]["archived"], 20);
    assert_eq!(status["last"]["id"], run["id"]);
    assert_eq!(
        status["retention_days"],
        json!({"session": 20, "channel": 20, "global": 20})
    );
    let text = words_of(&home, "memory hygiene").await;
    assert!(text.contains("10 memories, 20 archived"), "{text}");
    assert!(text.contains(run["id"].as_str().unwrap()), "{text}");
    let doctor = words_of(&home, "doctor").await;
    assert!(doctor.contains("10 remembered, 20 archived"), "{doctor}");
    assert!(
        doctor.contains("hygiene") && doctor.contains("the next is due"),
        "{doctor}"
    );
    checked(&daemon).await;

    // By a beginning of its id.
    let id = run["id"].as_str().unwrap();
    let back = json_of(
        &home,
        &format!("memory hygiene --undo {} --json", &id[..22]),
    )
    .await;
    assert_eq!(
        (&back["state"], &back["restored"]),
        (&json!("undone"), &json!(20))
    );
    assert_eq!(everything_of(&open(&home)), before);
    checked(&daemon).await;
    let again = self::run(&home, &format!("memory hygiene --undo {id}")).await;
    assert_eq!(again.status.code(), Some(5));
    let nobody = self::run(&home, "memory hygiene --undo hyg_zzzz").await;
    assert_eq!(nobody.status.code(), Some(2));
    let text = words_of(&home, "memory hygiene --runs").await;
    assert!(
        text.contains("undone") && text.lines().count() == 2,
        "{text}"
    );
    let audit = daemon.get("/v1/audit").await.to_string();
    assert!(
        audit.contains("hygiene.run") && audit.contains("hygiene.undone"),
        "{audit}"
    );
    let (status, problem) = daemon
        .request("POST", "/v1/memory/hygiene", Some(json!({"all": true})))
        .await;
    assert_eq!(status, 400, "{problem}");
}

#[tokio::test]
async fn too_much_at_once_waits_for_a_person_who_says_yes() {
    let home = remembering("", 120, |_| 60);
    ran(&home, 0);
    let daemon = home.daemon();
    // It was overdue, began by itself and did not go on.
    let runs = daemon
        .wait("/v1/memory/hygiene/runs", "it stops", |runs| {
            runs["items"][0]["state"] == "stopped"
        })
        .await;
    assert_eq!(runs["items"][0]["report"]["archived"], 0, "{runs:#}");
    let engine = daemon
        .wait("/v1/snapshot", "the problem is told", |snapshot| {
            snapshot["engine"]["problems"]
                .to_string()
                .contains("hygiene waits for a person")
        })
        .await;
    assert!(
        engine["engine"]["problems"]
            .to_string()
            .contains("120 of the 120")
    );
    let text = words_of(&home, "memory hygiene --preview").await;
    assert!(
        text.contains("120 of 120 memories") && text.contains("--yes"),
        "{text}"
    );
    let refused = run(&home, "memory hygiene --run").await;
    assert_eq!(refused.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--yes"));
    let doctor = words_of(&home, "doctor").await;
    assert!(doctor.contains("hygiene waits for a person"), "{doctor}");
    drop(daemon);

    // The next start still says so.
    let daemon = home.daemon();
    daemon
        .wait("/v1/snapshot", "the problem is told", |snapshot| {
            snapshot["engine"]["problems"]
                .to_string()
                .contains("hygiene waits for a person")
        })
        .await;
    let run = json_of(&home, "memory hygiene --run --yes --json").await;
    assert_eq!(run["report"]["archived"], 120);
    let engine = daemon.get("/v1/snapshot").await["engine"].clone();
    assert_eq!(engine["problems"], json!([]));
}

#[tokio::test]
async fn a_run_goes_on_when_nobody_waits_for_it_any_more() {
    const COUNT: i64 = 4_000;
    let home = remembering("[memory.hygiene]\nretention_days = 20\n", COUNT, |_| 30);
    let daemon = home.daemon();
    let mut asking = UnixStream::connect(home.data().join("leverframe.sock")).unwrap();
    let body = r#"{"yes":true}"#;
    write!(
        asking,
        "POST /v1/memory/hygiene HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let began = daemon
        .wait("/v1/memory/hygiene", "it is under way", |status| {
            status["last"]["report"]["archived"].as_i64() > Some(0)
        })
        .await;
    assert_eq!(began["running"], true, "too few memories: {began:#}");
    drop(asking);
    let ended = daemon
        .wait("/v1/memory/hygiene", "it is over", |status| {
            status["running"] == false
        })
        .await;
    assert_eq!(ended["last"]["state"], "done", "{ended:#}");
    assert_eq!(ended["last"]["report"]["archived"], COUNT);
    checked(&daemon).await;
}

#[tokio::test]
async fn it_runs_by_itself_at_the_start_when_half_a_day_has_passed_and_not_before() {
    let home = remembering("", 10, |n| n * 10);
    let now = Clock::System.now().as_millis();
    ran(&home, now - 11 * 3600 * 1000);
    let mut daemon = home.daemon();
    // The day's sizes are noted by the same task before it looks whether a run is due.
    daemon
        .wait("/v1/memory/hygiene", "a look", |status| {
            status["growth"][0]["memories"] == 10 && status["running"] == false
        })
        .await;
    assert!(daemon.terminate().success());
    assert_eq!(everything_of(&open(&home)).rows.len(), 10);
    let runs = |home: &Home| -> i64 {
        open(home)
            .query_row("SELECT count(*) FROM hygiene_runs", [], |row| row.get(0))
            .unwrap()
    };
    assert_eq!(runs(&home), 0);

    // A later start, as the wall clock tells it: half a day and the longest jitter after the last run.
    let offset = home.path().join("offset");
    std::fs::write(&offset, (2 * 3600).to_string()).unwrap();
    let late = [("LEVERFRAME_CLOCK_OFFSET_FILE", offset.to_str().unwrap())];
    let daemon = home.daemon_with(&late);
    let status = daemon
        .wait("/v1/memory/hygiene", "it ran", |status| {
            status["last"]["state"] == "done"
        })
        .await;
    assert_eq!(status["last"]["by"], "engine");
    assert_eq!(status["last"]["report"]["archived"], 7, "{status:#}");
    let events = daemon.get("/v1/memory/hygiene/runs").await;
    assert_eq!(events["items"].as_array().unwrap().len(), 1);
    drop(daemon);

    // Half a day later, with nothing left to do.
    std::fs::write(&offset, (16 * 3600).to_string()).unwrap();
    let daemon = home.daemon_with(&late);
    daemon
        .wait("/v1/memory/hygiene/runs", "it ran again", |runs| {
            runs["items"].as_array().unwrap().len() == 2
        })
        .await;
    drop(daemon);

    // A week later what was archived is gone for good.
    std::fs::write(&offset, (8 * DAY_MS / 1000).to_string()).unwrap();
    let daemon = home.daemon_with(&late);
    daemon
        .wait("/v1/memory/hygiene", "removed", |status| {
            status["last"]["report"]["removed"] == 7
        })
        .await;
    checked(&daemon).await;
    assert_eq!(everything_of(&open(&home)).rows.len(), 3);
}

#[tokio::test]
async fn the_variable_comes_before_the_file_and_zero_keeps_for_ever() {
    let home = remembering("[memory.hygiene]\nretention_days = 5\n", 10, |n| n * 10);
    let daemon = home.daemon_with(&[("LEVERFRAME_MEMORY_RETENTION_DAYS", "0")]);
    assert_eq!(
        daemon.get("/v1/memory/hygiene/preview").await["archived"],
        0
    );
    drop(daemon);
    let daemon = home.daemon_with(&[("LEVERFRAME_MEMORY_RETENTION_DAYS", "45")]);
    assert_eq!(
        daemon.get("/v1/memory/hygiene/preview").await["archived"],
        5
    );
    drop(daemon);
    let mut command = home.command();
    command
        .args(["--daemon"])
        .env("LEVERFRAME_MEMORY_RETENTION_DAYS", "a month");
    let output = tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("LEVERFRAME_MEMORY_RETENTION_DAYS") && said.contains("a month"),
        "{said}"
    );
}

#[tokio::test]
async fn turns_go_on_while_it_runs() {
    let home = remembering("", 4000, |n| if n < 3900 { 60 } else { 1 });
    let daemon = home.daemon();
    let session = daemon.session().await;
    let tidy = daemon.request("POST", "/v1/memory/hygiene", Some(json!({"yes": true})));
    let talk = async {
        for n in 0..5 {
            let id = daemon.send(&session, &format!("SAY:answer {n}")).await;
            daemon.wait_state(&id, "completed").await;
        }
    };
    let ((status, run), ()) = tokio::join!(tidy, talk);
    assert_eq!(status, 200, "{run}");
    assert_eq!(run["report"]["archived"], 3900);
    checked(&daemon).await;
}
