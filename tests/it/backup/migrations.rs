//! Databases of released schemas in the hands of this program (I26).
//!
//! `schema_1` was written by the program of that time. `schema_2` is the same database with the statements of
//! `002_durability.sql` and user version 2, as the program brought it there, and three calls to models added with SQL:
//! one that had a price, one that failed and had none, and one that was still open. `schema_3` is that one with the
//! statements of `003_models.sql`, what a session's budget was extended by, and a learned ratio. `schema_4` is that one
//! with the statements of `004_memory.sql` and a permission for a shape. `schema_5` is that one with the statements of
//! `005_rules_and_pairs.sql` and a rule. `schema_6` is that one with the statements of `006_channels.sql` and a channel that
//! drains. `schema_7` is that one with the statements of
//! `007_pairings.sql` and somebody who was let in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use leverframe::store::schema::SCHEMA_VERSION;
use rusqlite::Connection;

use crate::backup::tools::{files, plain_home, run, said, sound};
use crate::support::daemon::Home;
use crate::support::record::fault;

fn fixture(schema: i64, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("tests/fixtures/schema_{schema}"))
        .join(name)
}

/// A home with the database of an earlier schema. Its approval has a deadline, which no test may run into.
pub(super) fn old_home(schema: i64) -> Home {
    use std::os::unix::fs::PermissionsExt as _;
    let home = plain_home();
    std::fs::create_dir(home.data()).unwrap();
    std::fs::set_permissions(home.data(), std::fs::Permissions::from_mode(0o700)).unwrap();
    for name in ["leverframe.db", "epoch"] {
        std::fs::copy(fixture(schema, name), home.data().join(name)).unwrap();
    }
    let conn = Connection::open(home.data().join("leverframe.db")).unwrap();
    conn.execute("UPDATE approvals SET expires_at = NULL", [])
        .unwrap();
    if schema >= 4 {
        conn.execute(
            "INSERT INTO memories (id, scope, kind, text, digest, author, author_id, confidence, state, created_at, updated_at)
             VALUES (randomblob(16), 'global', 'fact', '\u{4f1a}\u{8b70}\u{306f}\u{6771}\u{4eac}', ?1, 'operator', 'anna', 1.0,
                'active', 1, 1)",
            [DIGEST],
        )
        .unwrap();
    }
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    conn.close().unwrap();
    home
}

/// SHA-256 of the folded text of the memory that is added.
const DIGEST: [u8; 32] = [
    0xfb, 0x1f, 0x1f, 0xbb, 0xd4, 0x12, 0xfb, 0x62, 0x8b, 0xe2, 0xd7, 0xe9, 0xb5, 0xad, 0xd9, 0x5c,
    0x42, 0xfd, 0xa3, 0xd0, 0x38, 0xb0, 0xa8, 0x1f, 0x63, 0xd1, 0xb2, 0x8b, 0x03, 0xed, 0x85, 0xc9,
];

/// The copy that is kept before a migration.
pub(super) fn copy_of(home: &Home) -> PathBuf {
    home.data()
        .join(format!("leverframe.before-schema-{SCHEMA_VERSION}.db"))
}

pub(super) fn version(path: &Path) -> i64 {
    let conn = Connection::open(path).unwrap();
    conn.query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap()
}

/// Every object of a schema by name, white space folded.
pub(super) fn schema(path: &Path) -> BTreeMap<String, String> {
    let conn = Connection::open(path).unwrap();
    conn.prepare("SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema")
        .unwrap()
        .query_map([], |row| {
            let sql: String = row.get(1)?;
            Ok((
                row.get(0)?,
                sql.split_whitespace().collect::<Vec<_>>().join(" "),
            ))
        })
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

#[tokio::test]
async fn a_database_of_schema_1_is_migrated_and_what_waited_in_it_goes_on() {
    migrated(1).await;
    fault(
        "database-of-an-older-schema",
        "a database of schema 1 with a pending approval",
        "migrated to the schema of a fresh one, a sound copy of schema 1 kept, the approval answered and its turn completed",
    );
}

#[tokio::test]
async fn a_database_of_schema_2_is_migrated_with_what_was_spent() {
    let home = migrated(2).await;
    let conn = Connection::open(home.data().join("leverframe.db")).unwrap();
    let spent: Vec<(String, u64, u64, u64, f64, u64)> = conn
        .prepare(
            "SELECT model, calls, failed, input_tokens + output_tokens, cost_usd, unpriced_tokens FROM spend
             WHERE model <> 'scripted/demo' ORDER BY model",
        )
        .unwrap()
        .query_map([], |row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
            ))
        })
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    // The open call counts as failed, at its estimate.
    assert_eq!(
        spent,
        [
            ("local/priced".to_owned(), 2, 1, 1750, 0.75, 0),
            ("local/unpriced".to_owned(), 1, 1, 300, 0.0, 300),
        ]
    );
    let of_session: f64 = conn
        .query_row(
            "SELECT spent_usd FROM sessions WHERE position = 1",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert!((of_session - 0.75).abs() < 1e-9, "{of_session}");
}

#[tokio::test]
async fn a_database_of_schema_3_is_migrated_with_what_was_granted_and_remembers() {
    let home = migrated(3).await;
    let conn = Connection::open(home.data().join("leverframe.db")).unwrap();
    let (granted, ratio, sent): (f64, f64, u64) = conn
        .query_row(
            "SELECT (SELECT amount FROM budget_grants), estimate_ratio,
                (SELECT count(*) FROM continuations WHERE archived_at IS NULL) FROM sessions WHERE position = 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    assert!(
        (granted - 2.5).abs() < 1e-9 && ratio > 0.0,
        "{granted} {ratio}"
    );
    assert_eq!(sent, 3);
}

#[tokio::test]
async fn a_database_of_schema_4_is_migrated_with_its_permissions() {
    let home = migrated(4).await;
    let conn = Connection::open(home.data().join("leverframe.db")).unwrap();
    let (given, uses): (String, u64) = conn
        .query_row(
            "SELECT by_label, uses FROM session_grants WHERE tool = 'write_file'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!((given.as_str(), uses), ("anna", 0));
    // What was remembered before there was an index of pairs is found by them: the two characters of Tokyo.
    let found: i64 = conn
        .query_row(
            "SELECT count(*) FROM memory_pairs WHERE memory_pairs MATCH '6771x4eac'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(found, 1);
}

#[tokio::test]
async fn a_database_of_schema_5_is_migrated_with_its_rules() {
    let home = migrated(5).await;
    let conn = Connection::open(home.data().join("leverframe.db")).unwrap();
    let (value, draining): (String, Option<i64>) = conn
        .query_row(
            "SELECT value, (SELECT max(draining_since) FROM channel_accounts) FROM rules",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!((value.as_str(), draining), ("notes/", None));
}

#[tokio::test]
async fn a_database_of_schema_6_is_migrated_with_what_drains_and_nobody_let_in() {
    let home = migrated(6).await;
    let conn = Connection::open(home.data().join("leverframe.db")).unwrap();
    let (drains, paired): (String, u64) = conn
        .query_row(
            "SELECT name, (SELECT count(*) FROM pairings) FROM channel_accounts WHERE draining_since = 7",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!((drains.as_str(), paired), ("desk", 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_schema_7_is_migrated_and_nothing_waits_for_anybody() {
    let home = migrated(7).await;
    let conn = Connection::open(home.data().join("leverframe.db")).unwrap();
    let (paired, waiting): (String, u64) = conn
        .query_row(
            "SELECT (SELECT sender_id FROM pairings), (SELECT count(waiting_for) FROM approvals)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!((paired.as_str(), waiting), ("telegram:7", 0));
}

/// A database of an earlier schema goes on under this program.
async fn migrated(from: i64) -> Home {
    let home = old_home(from);
    let mut daemon = home.daemon();
    assert_eq!(daemon.get("/readyz").await["quarantine"], false);
    let sessions = daemon.get("/v1/sessions").await;
    assert_eq!(
        sessions["items"][0]["title"],
        format!("a session of schema {from}")
    );
    let approval = daemon.wait_approval().await;
    assert_eq!(approval["tool"], "write_file");
    let (status, body) = daemon.decide(&approval, "approve").await;
    assert_eq!(status, 200, "{body}");
    let turn = approval["continuation_id"].as_str().unwrap();
    // The plan of a call names where it would run: elsewhere it is another plan, and asks again.
    let done = daemon
        .wait(
            &format!("/v1/continuations/{turn}"),
            "the turn moves on",
            |body| body["state"] == "completed" || body["state"] == "awaiting_approval",
        )
        .await;
    if done["state"] == "awaiting_approval" {
        let again = daemon.wait_approval().await;
        assert_eq!(daemon.decide(&again, "approve").await.0, 200);
        daemon.wait_state(turn, "completed").await;
    }
    assert_eq!(
        std::fs::read_to_string(home.workspace("api").join("a.txt")).unwrap(),
        "x"
    );
    daemon.terminate();
    sound(&home).await;

    let database = home.data().join("leverframe.db");
    let copy = copy_of(&home);
    assert_eq!((version(&database), version(&copy)), (SCHEMA_VERSION, from));
    let conn = Connection::open(&copy).unwrap();
    let verdict: String = conn
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "ok");
    let turns: u64 = conn
        .query_row("SELECT count(*) FROM continuations", [], |row| row.get(0))
        .unwrap();
    assert_eq!(turns, 3);
    assert_eq!(schema(&copy), schema(&fixture_copy(from)));
    let fresh = plain_home();
    fresh.daemon().terminate();
    assert_eq!(
        schema(&database),
        schema(&fresh.data().join("leverframe.db"))
    );
    home
}

/// Reading a database in WAL mode leaves files beside it: never beside the fixture.
fn fixture_copy(schema: i64) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("schema-{schema}-{}.db", std::process::id()));
    std::fs::copy(fixture(schema, "leverframe.db"), &path).unwrap();
    path
}

#[tokio::test]
async fn a_migration_killed_half_way_leaves_the_old_database_usable() {
    for from in [1, 2, 3, 4, 5, 6, 7] {
        let home = old_home(from);
        assert!(
            home.try_daemon_with(&[("LEVERFRAME_CRASH", "migrate.mid:1")])
                .is_none()
        );
        let database = home.data().join("leverframe.db");
        assert_eq!(version(&database), from, "half a migration was kept");
        let copy = copy_of(&home);
        assert_eq!(version(&copy), from);
        let mut daemon = home.daemon();
        assert_eq!(daemon.get("/readyz").await["quarantine"], false);
        assert_eq!(daemon.wait_approval().await["tool"], "write_file");
        daemon.terminate();
        assert_eq!(version(&database), SCHEMA_VERSION);
        sound(&home).await;
    }
    fault(
        "kill-during-migration",
        "SIGKILL at migrate.mid on the way from schemas 1 to 7",
        "the old database is whole, its copy too, and the next start migrates it",
    );
}

#[tokio::test]
async fn a_newer_database_is_refused_and_not_touched() {
    let home = old_home(1);
    let database = home.data().join("leverframe.db");
    let conn = Connection::open(&database).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    conn.close().unwrap();
    let before = files(&home.data());
    let backup = home.path().join("backup.tar");
    for arguments in [vec!["--daemon"], vec!["backup", backup.to_str().unwrap()]] {
        let output = run(&home, &arguments);
        assert_ne!(output.status.code(), Some(0), "{}", said(&output));
        assert!(
            said(&output).contains("schema version 99"),
            "{}",
            said(&output)
        );
        let after = files(&home.data());
        assert!(after == before, "{arguments:?} touched it");
    }
    assert!(!backup.exists());
    fault(
        "newer-database",
        "user_version 99",
        "refused by the daemon and by backup with the versions named; no file changed or added",
    );
}
