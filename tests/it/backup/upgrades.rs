//! Every earlier schema with rows in its tables, under this program (I26).
//!
//! Up to schema 7 the databases are those of `migrations`. A later one is the database of schema 7 with more rows, and
//! with the statements of each migration and rows of that time, in turn: what [`ROWS`] says for a schema is written
//! before the next migration changes the tables.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use leverframe::clock::Clock;
use leverframe::store::error::StoreError;
use leverframe::store::schema::SCHEMA_VERSION;
use leverframe::store::{OpenOptions, Store};
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::backup::migrations::{copy_of, old_home, schema, version};
use crate::backup::tools::{plain_home, run, said, sound};
use crate::support::daemon::Home;
use crate::support::record::fault;

/// The last schema of which a database was kept as it was.
const KEPT: i64 = 7;

/// Tables of which a row may change on the way: the epoch, and indexes.
const CHANGING: &[&str] = &["meta"];
/// Tables that stay empty: the audit is pruned after a year, by the engine alone.
const EMPTY: &[&str] = &["audit_segments"];

/// What artifact and dataset of [`ROWS`] hold, and its SHA-256.
const CONTENT: &str = "x";
const CONTENT_SHA256: &str = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";

/// Rows of each schema, by the ids of the database of schema 7: its session, its three turns (the third waits), their
/// calls and the question.
const ROWS: &[(i64, &str)] = &[
    (
        7,
        "INSERT INTO artifacts VALUES (x'2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881', 1, 'text/plain', 1);
         INSERT INTO artifact_references VALUES (:turn1, x'2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881', NULL);
         INSERT INTO outbox (id, channel, conversation, continuation_id, class, state, part, parts, text, external_refs,
                attempts, epoch, created_at, updated_at, settled_at)
            VALUES (x'0b000000000000000000000000000001', 'desk', '7', :turn1, 'final', 'sent', 1, 1,
                'hello from schema one', '[\"70\"]', 1, 1, 1, 1, 1);
         INSERT INTO outbox (id, channel, conversation, continuation_id, approval_id, class, state, part, parts, text,
                external_refs, attempts, epoch, created_at, updated_at, settled_at)
            VALUES (x'0b000000000000000000000000000002', 'desk', '7', :turn3, :question, 'approval_card', 'sent', 1, 1,
                'may it write?', '[\"71\"]', 1, 1, 1, 1, 1);
         INSERT INTO card_tokens SELECT 'button-of-a-card', id, x'0b000000000000000000000000000002', revision, digest, 'approve', NULL
            FROM approvals WHERE id = :question;
         INSERT INTO approval_snoozes VALUES (:question, 'operator:7', 1);
         INSERT INTO hygiene_runs (id, state, by_label, report, archived, at, undo_until, ended_at)
            VALUES (x'04000000000000000000000000000001', 'done', 'engine',
                '{\"groups\":[],\"memories\":[],\"archived\":1,\"removed\":0,\"bytes\":16,\"too_much\":[],\"note\":null}',
                1, 1795309950000, 4102444800000, 1795309950000);
         INSERT INTO memories (id, scope, kind, text, digest, author, author_id, confidence, state, created_at, updated_at)
            VALUES (x'03000000000000000000000000000001', 'global', 'fact', 'anna likes tea',
                x'e05bc47bdc6acbb5bacbba27d857dbcbb4af969a051a9e54e0fc9c0d4c62cada', 'operator', 'anna', 1.0, 'active',
                1795309950000, 1795309950000);
         INSERT INTO memories (id, scope, kind, text, digest, author, author_id, confidence, state, archived_from,
                archived_by, created_at, updated_at)
            VALUES (x'03000000000000000000000000000002', 'global', 'fact', 'ben liked coffee',
                x'8e01185a5dad537ac3429d8eb31a8dd872410a4d9c58c97299a509e7b5d7f762', 'operator', 'anna', 1.0, 'archived',
                'active', x'04000000000000000000000000000001', 1795309950000, 1795309950000);
         INSERT INTO memory_vectors VALUES (x'03000000000000000000000000000001', 'local/embedder', 1,
                x'e05bc47bdc6acbb5bacbba27d857dbcbb4af969a051a9e54e0fc9c0d4c62cada', x'0000803f', 1);
         INSERT INTO compactions (id, session_id, state, epoch, model, turns, tokens_before, started_at, ended_at)
            VALUES (x'06000000000000000000000000000001', :session, 'done', 1, 'scripted/demo', 1, 100, 1, 2);
         INSERT INTO summaries (session_id, version, text, covers_to, turns, model, at)
            VALUES (:session, 1, 'they said hello', 1, 1, 'scripted/demo', 2);
         UPDATE continuations SET archived_at = 2 WHERE position = 1;
         INSERT INTO growth VALUES (20779, 2, 1, 1, 1, 3, 500000, 0, 1);
         INSERT INTO routines (id, name, schedule, prompt, channel, conversation, budgets, autonomy_ceiling, missed,
                enabled, by_label, version, created_at, updated_at)
            VALUES (x'05000000000000000000000000000001', 'report', 'every 90m', 'SAY:report', 'routine', 'report', '{}',
                'supervised', 'skip', 0, 'anna', 1, 1795309950000, 1795309950000);
         INSERT INTO routine_runs (id, routine_id, state, detail, due_at, at)
            VALUES (x'05000000000000000000000000000002', x'05000000000000000000000000000001', 'skipped', 'missed', 1, 1);
         INSERT INTO take_overs VALUES ('desk', '8', x'07000000000000000000000000000001', 'anna', 'operator:anna', 'console', 1);
         INSERT INTO budget_warnings VALUES ('day_tokens', 'day', 20779, 1);",
    ),
    (
        8,
        "UPDATE approvals SET waiting_for = '{\"to\":\"anna\",\"by\":\"ben\",\"at\":\"2026-11-22T10:00:00Z\"}' WHERE id = :question;",
    ),
    (
        10,
        "UPDATE approvals SET old_codes = 'OLD234' WHERE id = :question;",
    ),
    (11, "UPDATE rules SET cwd = 'notes';"),
    (
        12,
        "INSERT INTO leftovers (call_id, session_id, continuation_id, channel, conversation, tool, preview, workspace,
                found, found_at)
            VALUES (:call, :session, :turn2, 'api', 'fixture', 'execute_command', 'make', '/srv/work',
                '{\"set_aside\":[],\"in_place\":[],\"more\":0,\"incomplete\":\"too many files\",\"interrupted\":false}',
                1795309950000);",
    ),
    (
        13,
        "UPDATE continuations SET speaker = '{\"id\":\"u1\",\"role\":\"operator\",\"at\":\"Sun 2026-11-22 10:00 +01:00\"}'
            WHERE position = 2;",
    ),
    (14, "UPDATE sessions SET removed_turns = 2;"),
    (
        15,
        "UPDATE sessions SET refused_calls = 1, refused_at = 1795309950000;",
    ),
    (
        16,
        "UPDATE continuations SET progress_told_at = 1795309950000 WHERE position = 3;",
    ),
    (
        17,
        "INSERT INTO reminders VALUES (:question, 'anna', 1, 1795309950000);",
    ),
    (18, "UPDATE sessions SET unpaused_at = 1795309950000;"),
    (
        19,
        "UPDATE channel_accounts SET last_exchange_at = 1795309950000 WHERE name = 'desk';",
    ),
    (
        20,
        "UPDATE continuations SET attachments = '[{\"path\":\"inbox/x.txt\",\"hash\":\"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881\",\"size\":1,\"media_type\":\"text/plain\"}]'
            WHERE position = 1;",
    ),
    (
        21,
        "UPDATE continuations SET options = '{}' WHERE position = 2;",
    ),
    (22, "UPDATE sessions SET preferences = 'answer in short';"),
    (
        23,
        "INSERT INTO inbound_files (continuation_id, channel, reference, name, media_type, created_at)
            VALUES (:turn1, 'desk', 'file-7', 'x.txt', 'text/plain', 1);
         INSERT INTO outbound_files VALUES (:call, :turn2,
            '{\"name\":\"x.txt\",\"hash\":\"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881\",\"size\":1,\"media_type\":\"text/plain\"}', 1);",
    ),
    (
        24,
        "INSERT INTO rules (id, tool, matcher, value, scope, session_id, continuation_id, verdict, by_label, version,
                created_at, updated_at)
            VALUES (x'08000000000000000000000000000001', 'list_files', 'exact', '{}', 'turn', :session, :turn3, 'allow',
                'anna', 1, 1795309950000, 1795309950000);",
    ),
    (
        25,
        "INSERT INTO skills VALUES (1, 'deploy', 'skill', NULL, 'How to deploy.',
                '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881', 1795309950000, 'anna');
         INSERT INTO skill_files VALUES (1, 'SKILL.md', '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881', 'x');",
    ),
    (
        27,
        "INSERT INTO datasets (id, channel, name, source, row_count, columns, bytes, sha256, notes, uploaded_by, created_at)
            VALUES (x'09000000000000000000000000000001', 'desk', 'cities', 'cities.csv', 1, '[]', 1,
                '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881', '[]', 'anna', 1795309950000);",
    ),
    (
        28,
        "INSERT INTO tool_servers (name, identity, trusted_at, by_label)
            VALUES ('notes', '{\"name\":\"notes\",\"version\":\"1\",\"place\":\"/usr/bin/notes\"}', 1795309950000, 'anna');
         INSERT INTO server_tools (server, name, trusted, trusted_sha256, usable)
            VALUES ('notes', 'note', '{\"name\":\"note\",\"description\":\"Takes a note.\",\"input_schema\":{\"type\":\"object\"}}',
                '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881', 0);",
    ),
    (
        29,
        "UPDATE continuations SET surface = 'mcp' WHERE position = 1;",
    ),
    (
        30,
        "INSERT INTO channel_accounts (name, kind, baseline, created_at, updated_at)
            SELECT 'guild', 'discord', baseline, 1, 1 FROM channel_accounts WHERE name = 'desk';
         INSERT INTO policies (channel, version, autonomy, auto_approve, block, always_ask, updated_at)
            SELECT 'guild', 1, autonomy, auto_approve, block, always_ask, 1 FROM policies WHERE channel = 'desk';",
    ),
    (
        31,
        "INSERT INTO call_reports (session_id, tool_call_id, tool, outcome, result, created_at)
            VALUES (:session, :call, 'list_files', 'succeeded', 'one file', 1795309950000);",
    ),
    (
        32,
        "INSERT INTO tokens (name, hash, scopes, created_at, created_by)
            VALUES ('ci', x'2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881', '[\"read\"]', 1795309950000, 'anna');
         UPDATE approvals SET allowed_by = '{\"person\":\"anna\",\"surface\":\"console\",\"at\":\"2026-11-22T10:00:00Z\",\"revision\":1}'
            WHERE id = :question;",
    ),
];

/// The statements of [`ROWS`] with the ids in their places.
fn rows(schema: i64) -> Option<String> {
    let (_, sql) = ROWS.iter().find(|(of, _)| *of == schema)?;
    let ids = [
        (":session", "01a200cfd6b5eaa0af57c5dfe84886f7"),
        (":turn1", "01a200cfd7642757e92622d8682751fb"),
        (":turn2", "01a200cfd7728bacc07f8842c8977b5f"),
        (":turn3", "01a200cfd7870253d8fb9804a3fe6064"),
        (":call", "01a200cfd776d03a0f9be325872645c1"),
        (":question", "01a200cfd78a3b8780694541e51d7b92"),
    ];
    let put = |sql: String, (name, id): (&str, &str)| sql.replace(name, &format!("x'{id}'"));
    Some(ids.into_iter().fold((*sql).to_owned(), put))
}

/// The statements of a migration.
fn migration(schema: i64) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/migrations");
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len() as i64, SCHEMA_VERSION);
    let file = &files[usize::try_from(schema - 1).unwrap()];
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(&format!("{schema:03}_")), "{name}");
    std::fs::read_to_string(file).unwrap()
}

/// A home with a database of an earlier schema.
fn home_of(schema: i64) -> Home {
    let home = old_home(schema.min(KEPT));
    let conn = Connection::open(home.data().join("leverframe.db")).unwrap();
    // A start settles what was open, and so changes rows. `migrations` looks at that.
    conn.execute("DELETE FROM model_attempts WHERE settled_at IS NULL", [])
        .unwrap();
    for now in KEPT..=schema {
        let statements = if now == KEPT {
            String::new()
        } else {
            migration(now)
        };
        let rows = rows(now).unwrap_or_default();
        conn.execute_batch(&format!(
            "BEGIN; {statements}\n{rows} PRAGMA user_version = {now}; COMMIT;"
        ))
        .unwrap_or_else(|error| panic!("schema {now}: {error}"));
    }
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    conn.close().unwrap();
    if schema < KEPT {
        return home;
    }
    let put = |path: &str| {
        let path = home.data().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, CONTENT).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    put(&format!(
        "artifacts/{}/{CONTENT_SHA256}",
        &CONTENT_SHA256[..2]
    ));
    if schema >= 27 {
        put("datasets/desk/cities.parquet");
    }
    home
}

/// Every table with its columns, without what SQLite and the search keep for themselves.
fn tables(conn: &Connection) -> BTreeMap<String, Vec<String>> {
    let names: Vec<String> = conn
        .prepare(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'",
        )
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let columns = |table: &str| -> Vec<String> {
        conn.prepare("SELECT name FROM pragma_table_info(?1) ORDER BY name")
            .unwrap()
            .query_map([table], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    };
    let tables = names.into_iter().map(|name| {
        let columns = columns(&name);
        (name, columns)
    });
    tables.collect()
}

/// The rows of a table, of these columns.
fn content(conn: &Connection, table: &str, columns: &[String]) -> BTreeSet<String> {
    let list = columns.join("\", \"");
    conn.prepare(&format!("SELECT \"{list}\" FROM \"{table}\""))
        .unwrap()
        .query_map([], |row| {
            let values: Result<Vec<Value>, _> = (0..columns.len()).map(|n| row.get(n)).collect();
            Ok(format!("{:?}", values?))
        })
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

#[tokio::test]
async fn what_removals_left_behind_goes_with_schema_35() {
    let home = home_of(34);
    let path = home.data().join("leverframe.db");
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(
        "PRAGMA foreign_keys = OFF;
         INSERT INTO reminders VALUES (zeroblob(16), 'anna', 1, 1);
         INSERT INTO inbound_files (continuation_id, channel, reference, name, media_type, created_at)
            VALUES (zeroblob(16), 'desk', 'file-8', 'left.txt', 'text/plain', 1);
         INSERT INTO outbound_files SELECT zeroblob(16), name, continuation_id, file, 1 FROM outbound_files;
         INSERT INTO call_reports (session_id, tool, outcome, created_at)
            VALUES (zeroblob(16), 'list_files', 'succeeded', 1);
         INSERT INTO model_attempts (id, continuation_id, epoch, step, attempt, model, estimated_tokens, started_at,
                settled_at, purpose)
            VALUES (zeroblob(16), zeroblob(16), 1, 0, 1, 'scripted/demo', 1, 1, 1, 'compaction');
         INSERT INTO sessions (id, channel, conversation, state, created_at, updated_at)
            VALUES (x'0c000000000000000000000000000001', 'desk', 'idle', 'expired', 1, 1);
         INSERT INTO rules (id, tool, matcher, value, scope, session_id, verdict, by_label, version, created_at, updated_at)
            VALUES (x'08000000000000000000000000000002', 'list_files', 'exact', '{}', 'session',
                x'0c000000000000000000000000000001', 'allow', 'anna', 1, 1, 1),
            (x'08000000000000000000000000000003', 'list_files', 'exact', '{}', 'session', zeroblob(16), 'allow', 'anna', 1, 1, 1);",
    )
    .unwrap();
    drop(conn);
    sound(&home).await;
    let conn = Connection::open(&path).unwrap();
    for table in [
        "reminders",
        "inbound_files",
        "outbound_files",
        "call_reports",
        "rules",
    ] {
        let query = format!("SELECT count(*) FROM {table}");
        let left: i64 = conn.query_row(&query, [], |row| row.get(0)).unwrap();
        assert!(left >= 1, "{table}: a row with its parent stays");
    }
}

#[tokio::test]
async fn every_earlier_schema_is_migrated_with_every_row() {
    let fresh = plain_home();
    sound(&fresh).await;
    let fresh = schema(&fresh.data().join("leverframe.db"));
    for from in 1..SCHEMA_VERSION {
        let home = home_of(from);
        let database = home.data().join("leverframe.db");
        assert_eq!(version(&database), from);
        let old = Connection::open(&database).unwrap();
        let before: Vec<_> = tables(&old)
            .into_iter()
            .map(|(table, columns)| {
                let rows = content(&old, &table, &columns);
                (table, columns, rows)
            })
            .collect();
        old.close().unwrap();
        if from == SCHEMA_VERSION - 1 {
            let empty = before.iter().filter(|(_, _, rows)| rows.is_empty());
            let empty: Vec<&str> = empty.map(|(table, _, _)| table.as_str()).collect();
            assert_eq!(empty, EMPTY, "ROWS has nothing for these tables");
        }

        assert!(!sound(&home).await, "schema {from}: in quarantine");

        assert_eq!(version(&database), SCHEMA_VERSION);
        assert_eq!(version(&copy_of(&home)), from);
        assert_eq!(schema(&database), fresh, "schema {from}");
        let new = Connection::open(&database).unwrap();
        for (table, columns, rows) in before {
            if CHANGING.contains(&table.as_str()) {
                continue;
            }
            let after = content(&new, &table, &columns);
            let lost: Vec<&String> = rows.difference(&after).collect();
            assert!(lost.is_empty(), "schema {from}, {table}: {lost:#?}");
        }
    }
    fault(
        "database-of-every-older-schema",
        "databases of all earlier schemas with rows in every table",
        "migrated to the schema of a fresh one; every row is there, and every rule of the database holds",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_earlier_schema_held_is_shown_and_backed_up() {
    for from in [1, 16, SCHEMA_VERSION - 1] {
        let home = home_of(from);
        let mut daemon = home.daemon();
        let shown = [
            (1, "/v1/sessions", "a session of schema"),
            (1, "/v1/continuations", "hello from schema one"),
            (1, "/v1/approvals", "write_file"),
            (7, "/v1/memory", "anna likes tea"),
            (7, "/v1/memory/hygiene/runs", "engine"),
            (7, "/v1/compactions", "scripted/demo"),
            (7, "/v1/routines", "every 90m"),
            (7, "/v1/rules", "notes/"),
            (7, "/v1/outbox", "hello from schema one"),
            (7, "/v1/pairings", "Ben"),
            (12, "/v1/leftovers", "too many files"),
            (27, "/v1/datasets", "cities"),
            (32, "/v1/tokens", "ci"),
        ];
        for (since, path, expected) in shown {
            if from >= since {
                let body = daemon.get(path).await.to_string();
                assert!(body.contains(expected), "schema {from}, {path}: {body}");
            }
        }
        assert!(daemon.terminate().success());
        let file = home.path().join("backup.tar");
        let file = file.to_str().unwrap();
        for arguments in [
            vec!["doctor", "--check"],
            vec!["backup", file],
            vec!["backup", "verify", file],
        ] {
            let output = run(&home, &arguments);
            let said = said(&output);
            assert_eq!(output.status.code(), Some(0), "{from} {arguments:?} {said}");
        }
    }
}

/// Each migration is a place where the process may die.
#[tokio::test]
async fn a_later_migration_killed_half_way_leaves_the_old_database_usable() {
    let last = SCHEMA_VERSION - 1;
    for (from, at) in [(8, 1), (8, 13), (8, SCHEMA_VERSION - 8), (last, 1)] {
        let home = home_of(from);
        let database = home.data().join("leverframe.db");
        let crash = format!("migrate.mid:{at}");
        let died = home.try_daemon_with(&[("LEVERFRAME_CRASH", &crash)]);
        assert!(died.is_none(), "schema {from} lived through {crash}");
        assert_eq!(version(&database), from, "half of {crash} was kept");
        assert_eq!(version(&copy_of(&home)), from);
        assert!(!sound(&home).await, "schema {from}: in quarantine");
        assert_eq!(version(&database), SCHEMA_VERSION);
    }
}

#[tokio::test]
async fn the_next_schema_is_refused_in_clear_words() {
    let home = home_of(SCHEMA_VERSION - 1);
    let conn = Connection::open(home.data().join("leverframe.db")).unwrap();
    conn.pragma_update(None, "user_version", SCHEMA_VERSION + 1)
        .unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    conn.close().unwrap();
    let refused = Store::open(OpenOptions {
        dir: home.data(),
        clock: Clock::System,
        readers: 1,
        instance: "test".to_owned(),
    });
    let Err(error) = refused else {
        panic!("a newer database was opened");
    };
    let newer = matches!(error, StoreError::Newer { found, .. } if found == SCHEMA_VERSION + 1);
    assert!(newer, "{error}");
    let words = format!("schema version {}", SCHEMA_VERSION + 1);
    assert!(error.to_string().contains(&words), "{error}");
}
