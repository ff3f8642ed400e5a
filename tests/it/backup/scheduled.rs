//! Backups that the daemon makes by itself: made, checked, shown, tidied up, and tried again.

use std::path::Path;

use serde_json::{Value, json};

use crate::backup::tools::{members, pack};
use crate::monitoring::scrape::{scrape, value};
use crate::support::daemon::{Daemon, Home};

const HOUR: i64 = 3600;

fn home(more: &str) -> Home {
    let home = Home::new(&format!(
        "[backup]\nevery = \"24h\"\nfolder = \"{{home}}/backups\"\n{more}"
    ));
    std::fs::create_dir(home.path().join("backups")).unwrap();
    home
}

/// Files in the folder of backups, sorted.
fn files(home: &Home) -> Vec<String> {
    let entries = std::fs::read_dir(home.path().join("backups")).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn finding(doctor: &Value) -> Value {
    let findings = doctor["findings"].as_array().unwrap().iter();
    let mut found: Vec<&Value> = findings.filter(|one| one["about"] == "backup").collect();
    assert_eq!(found.len(), 1, "{doctor:#}");
    found.remove(0).clone()
}

/// Waits until doctor says this of backups.
async fn wait(daemon: &Daemon, verdict: &str, says: &str) -> Value {
    let doctor = daemon
        .wait("/v1/doctor", says, |doctor| {
            let found = finding(doctor);
            found["verdict"] == verdict && found["detail"].as_str().unwrap().contains(says)
        })
        .await;
    finding(&doctor)
}

/// Starts a daemon so many seconds later and waits until it made the backup that is due.
async fn one_later(home: &Home, seconds: i64) -> Daemon {
    let before = made(home);
    let offset = home.path().join("offset");
    std::fs::write(&offset, seconds.to_string()).unwrap();
    let late = [("LEVERFRAME_CLOCK_OFFSET_FILE", offset.to_str().unwrap())];
    let daemon = home.daemon_with(&late);
    daemon
        .wait("/v1/audit", "a further backup", |_| made(home) > before)
        .await;
    wait(&daemon, "ok", "the next about").await;
    daemon
}

/// Rows of the audit that say that a backup was written.
fn made(home: &Home) -> usize {
    rows(home, "backup.written")
}

fn rows(home: &Home, action: &str) -> usize {
    let path = home.data().join("leverframe.db");
    if !path.exists() {
        return 0;
    }
    let conn =
        rusqlite::Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
            .unwrap();
    let count: i64 = conn
        .query_row(
            "SELECT count(*) FROM audit WHERE action = ?1",
            [action],
            |row| row.get(0),
        )
        .unwrap_or(0);
    count as usize
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_is_made_at_the_start_and_shown() {
    let home = home("");
    let daemon = home.daemon();
    let found = wait(&daemon, "ok", "the next about").await;
    assert!(
        found["detail"].as_str().unwrap().contains("1 in "),
        "{found:#}"
    );
    let names = files(&home);
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(names[0].starts_with("leverframe-20") && names[0].ends_with("Z.tar"));
    let held = members(&home.path().join("backups").join(&names[0]));
    assert_eq!(held[0].0, "manifest.json");
    // The login of this test may be noted before or after it.
    let audit = daemon.get("/v1/audit").await;
    let mut rows = audit["items"].as_array().unwrap().iter();
    let row = rows.find(|row| row["action"] == "backup.written");
    assert_eq!(row.unwrap()["actor"], "engine", "{audit:#}");
    let text = scrape(&daemon).await;
    assert_eq!(
        value(&text, "leverframe_backups_total{outcome=\"ok\"}"),
        Some(1.0)
    );
    assert!(value(&text, "leverframe_backup_last_success_timestamp_seconds").is_some());
    drop(daemon);
    // The next is not due: a start makes none.
    let daemon = home.daemon();
    wait(&daemon, "ok", "the next about").await;
    assert_eq!(files(&home), names);
}

#[tokio::test(flavor = "multi_thread")]
async fn old_ones_go_and_nothing_else_does() {
    let home = home("keep_daily = 2\nkeep_weekly = 0\n");
    let folder = home.path().join("backups");
    drop(one_later(&home, 0).await);
    let first = files(&home);
    // What it did not make stays: a backup of somebody, and one of its own that became something else.
    std::fs::copy(
        folder.join(&first[0]),
        folder.join("leverframe-by-hand.tar"),
    )
    .unwrap();
    drop(one_later(&home, 25 * HOUR).await);
    let second: Vec<String> = files(&home)
        .into_iter()
        .filter(|name| name.starts_with("leverframe-20") && !first.contains(name))
        .collect();
    std::fs::write(folder.join(&second[0]), "something else").unwrap();
    for day in 2..5 {
        drop(one_later(&home, day * 25 * HOUR).await);
    }
    let daemon = one_later(&home, 5 * 25 * HOUR).await;
    daemon
        .wait("/v1/audit", "it is tidied up", |_| files(&home).len() == 4)
        .await;
    let left = files(&home);
    // Two that are kept, what a person put there, and what is no backup any more.
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(
        left.contains(&"leverframe-by-hand.tar".to_owned()),
        "{left:?}"
    );
    assert!(left.contains(&second[0]), "{left:?}");
    assert!(!left.contains(&first[0]), "{left:?}");
    assert!(rows(&home, "backup.removed") >= 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_cannot_be_made_is_a_fault_until_it_is_made() {
    let home = home("");
    let folder = home.path().join("backups");
    std::fs::remove_dir(&folder).unwrap();
    let daemon = home.daemon();
    let found = wait(&daemon, "fail", "is not there: make it, or mount its disk").await;
    assert!(
        found["detail"].as_str().unwrap().contains("next try at"),
        "{found:#}"
    );
    assert!(!folder.exists(), "an empty directory may be a mount point");
    let engine = daemon.get("/v1/snapshot").await["engine"].clone();
    assert!(
        engine["problems"].to_string().contains("is not there"),
        "{engine:#}"
    );
    let text = scrape(&daemon).await;
    assert_eq!(value(&text, "leverframe_problems"), Some(1.0));
    // A file where the folder should be is no place either.
    std::fs::write(&folder, "x").unwrap();
    daemon.post("/v1/reload", json!({})).await;
    wait(&daemon, "fail", "is not there").await;
    std::fs::remove_file(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    daemon.post("/v1/reload", json!({})).await;
    wait(&daemon, "ok", "the next about").await;
    let engine = daemon.get("/v1/snapshot").await["engine"].clone();
    assert_eq!(engine["problems"], json!([]));
    assert_eq!(files(&home).len(), 1);
}

/// Starts a daemon a day later than the clock, whose database was changed before.
fn changed(home: &Home, sql: &str) -> Daemon {
    let conn = rusqlite::Connection::open(home.data().join("leverframe.db")).unwrap();
    conn.execute_batch(sql).unwrap();
    drop(conn);
    let offset = home.path().join("offset");
    std::fs::write(&offset, (25 * HOUR).to_string()).unwrap();
    home.daemon_with(&[("LEVERFRAME_CLOCK_OFFSET_FILE", offset.to_str().unwrap())])
}

#[tokio::test(flavor = "multi_thread")]
async fn one_with_damaged_content_never_counts() {
    let home = home("keep_daily = 1\nkeep_weekly = 0\n");
    // After a clean end the next start looks at no row either.
    assert!(one_later(&home, 0).await.terminate().success());
    let good = files(&home);
    // The copy is looked at before it is a backup.
    let daemon = changed(
        &home,
        "PRAGMA ignore_check_constraints = ON;
         INSERT INTO budget_grants (approval_id, budget, day, amount, at) VALUES (zeroblob(15), 'day_cost', 1, 1, 1)",
    );
    wait(&daemon, "fail", "the copy is not sound").await;
    // The good one is still there, and nothing of the other.
    assert_eq!(files(&home), good);
    let text = scrape(&daemon).await;
    assert_eq!(
        value(&text, "leverframe_backups_total{outcome=\"error\"}"),
        Some(1.0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_whose_database_breaks_a_rule_stays_and_names_the_rule() {
    let home = home("");
    drop(one_later(&home, 0).await);
    let before = files(&home);
    let daemon = changed(
        &home,
        "PRAGMA foreign_keys = OFF; INSERT INTO approval_snoozes VALUES (zeroblob(16), 'anna', 1)",
    );
    let rule = "file: 1 × row that refers to one that is not there";
    let found = wait(&daemon, "warn", rule).await;
    assert!(
        found["fix"].as_str().unwrap().contains("doctor --check"),
        "{found:#}"
    );
    let engine = daemon.get("/v1/snapshot").await["engine"].clone();
    assert!(engine["problems"].to_string().contains(rule), "{engine:#}");
    assert_eq!(files(&home).len(), before.len() + 1);
    let text = scrape(&daemon).await;
    assert_eq!(
        value(&text, "leverframe_backups_total{outcome=\"ok\"}"),
        Some(1.0)
    );
}

#[test]
fn a_backup_that_was_cut_off_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("b.tar");
    pack(&file, &[("manifest.json".to_owned(), b"{}".to_vec())]);
    let said = leverframe::store::backup_check::manifest(Path::new(&file)).unwrap_err();
    assert!(said.to_string().contains("names no format"), "{said}");
}
