//! What hangs on a turn, a session or a question goes with it, also where only the schema says that it hangs on it.

use leverframe::protocol::artifact::SentFile;
use leverframe::protocol::bridge::InboundFile;
use leverframe::protocol::enums::{ReportOutcome, ToolCallState};
use leverframe::protocol::ids::{ContinuationId, SessionId};
use leverframe::protocol::request::{Command, EraseUser, Outcome};
use leverframe::store::artifacts::TEXT;
use leverframe::store::commands::erase_user::{EndedTurns, Loose, LooseThings, WholeSessions};
use leverframe::store::commands::fail_compaction::FailCompaction;
use leverframe::store::commands::finish_tool::FinishTool;
use leverframe::store::commands::keep_outbound_file::KeepOutboundFile;
use leverframe::store::commands::record_call_report::RecordCallReport;
use leverframe::store::commands::remind::Remind;
use leverframe::store::commands::remove::Remove;
use leverframe::store::commands::resume_session::ResumeSession;
use leverframe::store::commands::settle_abandoned_calls::SettleAbandonedCalls;
use leverframe::store::commands::sweep_history::OldHistory;
use leverframe::store::commands::sweep_loose::OldQuestions;
use leverframe::store::input::{NewCallOutcome, NewCard};
use rusqlite::Connection;

use crate::retention::pieces::{settle, with_call};
use crate::retention::world::{DAY_MS, all_rows, dangling, sound, sweep};
use crate::rules::world::{fields, put};
use crate::support::world::{World, by, gated, submit, turn, usage};

const PERSON: &str = "telegram:1";
const NAME: &str = "zanzibarPlans.txt";

/// A turn whose question was asked again, whose call sent a file and was reported, and which is over.
async fn with_everything(world: &World, conversation: &str) -> (SessionId, ContinuationId) {
    use leverframe::protocol::enums::{DecisionKind, Effect};
    let (session_id, id) = world.running(conversation).await;
    let (mut call, approval_id) = gated(Effect::NonIdempotent);
    if let NewCallOutcome::Ask(question) = &mut call.outcome {
        question.expires_at = None;
    }
    let (call_id, digest) = (call.id, call.digest.clone());
    world.propose(id, vec![call]).await;
    let asked = world
        .store
        .read(move |reader| reader.approval(approval_id))
        .await
        .unwrap();
    world
        .ok(Remind {
            approval_id,
            revision: asked.revision,
            cards: vec![NewCard {
                person: "anna".to_owned(),
                channel: "team".to_owned(),
                conversation: "chat".to_owned(),
                buttons: Vec::new(),
                reply_to: None,
            }],
            due: 1,
            text: "still waits".to_owned(),
        })
        .await;
    let decide = world
        .decide_command(approval_id, DecisionKind::Approve, "anna")
        .await;
    world.ok(decide).await;
    world.start(call_id, &digest).await;
    let now = world.clock.now();
    let stored = world
        .store
        .put_artifact(b"whole".to_vec(), TEXT, now)
        .await
        .unwrap();
    world
        .ok(KeepOutboundFile {
            call_id,
            file: SentFile {
                name: NAME.to_owned(),
                artifact: stored.artifact.clone(),
            },
        })
        .await;
    world
        .ok(FinishTool {
            call_id,
            epoch: world.epoch(),
            attempt: 1,
            state: ToolCallState::Succeeded,
            content: "done".to_owned(),
            is_error: false,
            duration_ms: 3,
            artifact: None,
            cached: None,
            resolve: None,
        })
        .await;
    world
        .ok(RecordCallReport {
            session_id,
            continuation_id: Some(id),
            tool: "write_file".to_owned(),
            outcome: ReportOutcome::Succeeded,
            result: Some(format!("wrote {NAME}")),
        })
        .await;
    world.finish(id, 1).await;
    settle(world).await;
    drop(stored);
    world
        .store
        .with_writer(move |conn| {
            conn.execute(
                "INSERT INTO inbound_files (continuation_id, channel, reference, name, media_type, created_at)
                 SELECT id, 'team', 'file', ?1, 'text/plain', 1 FROM continuations WHERE id = ?2",
                rusqlite::params![NAME, id.to_bytes()],
            )
            .unwrap()
        })
        .await
        .unwrap();
    (session_id, id)
}

/// Rows of the tables that only a cascade would empty.
async fn children(world: &World) -> u64 {
    world
        .count(
            "SELECT (SELECT count(*) FROM reminders) + (SELECT count(*) FROM call_reports)
                + (SELECT count(*) FROM outbound_files) + (SELECT count(*) FROM inbound_files)",
        )
        .await
}

/// Files of the data directory that hold these bytes.
fn holding(world: &World, what: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![world.dir.clone()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap_or_default();
            if bytes
                .windows(what.len())
                .any(|part| part == what.as_bytes())
            {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

async fn erase(world: &World) {
    let erase = Command::EraseUser(EraseUser {
        person: PERSON.to_owned(),
    });
    let Outcome::EraseUser(gone) = submit(&world.engine(""), erase).await.unwrap() else {
        panic!("another outcome")
    };
    assert_eq!(gone.left, 0, "{gone:?}");
}

#[tokio::test]
async fn a_sweep_takes_reminders_files_and_reports_with_their_turn_and_counts_them() {
    let world = World::new().await;
    with_everything(&world, "gone").await;
    assert_eq!(children(&world).await, 4);
    sound(&world).await;
    world.clock.advance_millis(60 * DAY_MS);
    with_call(&world, "today").await;
    let rules = leverframe::engine::sweeper::rules(&world.engine(""));
    let old = world.store.old_turns(rules, usize::MAX).await.unwrap();
    let before = all_rows(&world).await;
    let swept = world
        .ok(Remove {
            what: OldHistory {
                rules,
                continuations_to: old.continuations_to,
                outbox_to: old.outbox_to,
            },
            keys: old.turns,
        })
        .await;
    assert_eq!(swept.removed, 1);
    assert_eq!(before - all_rows(&world).await, swept.rows);
    assert_eq!(children(&world).await, 0);
    sweep(&world).await;
    sound(&world).await;
}

#[tokio::test]
async fn an_erasure_leaves_no_name_of_a_file_on_the_disk() {
    let world = World::new().await;
    let (session, _) = with_everything(&world, "gone").await;
    // What an agent reports without a question of ours hangs on its session alone.
    world
        .ok(RecordCallReport {
            session_id: session,
            continuation_id: None,
            tool: "write_file".to_owned(),
            outcome: ReportOutcome::Succeeded,
            result: Some(NAME.to_owned()),
        })
        .await;
    world.ok(put(fields(session))).await;
    assert!(!holding(&world, NAME).is_empty());
    erase(&world).await;
    assert_eq!(children(&world).await, 0);
    assert_eq!(world.count("SELECT count(*) FROM rules").await, 0);
    assert_eq!(holding(&world, NAME), Vec::<String>::new());
    sound(&world).await;
}

#[tokio::test]
async fn a_session_that_expires_loses_its_rules_for_good() {
    let world = World::new().await;
    let (session_id, id) = world.running("idle").await;
    world.finish(id, 1).await;
    settle(&world).await;
    world.ok(put(fields(session_id))).await;
    sound(&world).await;
    world.clock.advance_millis(60 * DAY_MS);
    assert_eq!(sweep(&world).await.sessions_expired, 1);
    sound(&world).await;
    assert_eq!(world.count("SELECT count(*) FROM rules").await, 0);
    let by = by("anna");
    world.ok(ResumeSession { session_id, by }).await;
    assert_eq!(world.count("SELECT count(*) FROM rules").await, 0);
    let told = "SELECT count(*) FROM audit WHERE action = 'rule.removed'";
    assert_eq!(world.count(told).await, 1, "the audit says that it ended");
    sound(&world).await;
}

#[tokio::test]
async fn the_messages_of_a_group_are_one_turn_and_keep_every_rule() {
    let world = World::new().await;
    let part = |key: &str| {
        let mut part = turn("album", Some(key));
        part.files.group = Some("77".to_owned());
        part.files.remote = vec![InboundFile {
            reference: key.to_owned(),
            name: "photo.jpg".to_owned(),
            media_type: None,
            size: None,
        }];
        part
    };
    let first = world.ok(part("a")).await;
    let second = world.ok(part("b")).await;
    assert_eq!(first.continuation_id, second.continuation_id);
    assert_eq!(world.count("SELECT count(*) FROM inbox").await, 2);
    world.sound().await;
    // A turn without a message, and a turn of two messages that are no group, are still found.
    for wrong in [
        "DELETE FROM inbox",
        "UPDATE continuations SET message_group = NULL",
    ] {
        let found = world
            .store
            .with_writer(move |conn| {
                let tx = conn.unchecked_transaction().unwrap();
                tx.execute_batch(wrong).unwrap();
                let reader = leverframe::store::reader::Reader::over(&tx);
                leverframe::store::check::check(&reader).unwrap()
            })
            .await
            .unwrap();
        assert!(found.iter().any(|one| one.invariant == "I1"), "{wrong}");
    }
}

/// References of the schema to what is removed: table, column, parent.
fn references(conn: &Connection, parents: &[&str]) -> Vec<(String, String, String)> {
    conn.prepare(
        "SELECT m.name, f.\"from\", f.\"table\" FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) f
         WHERE m.type = 'table' ORDER BY 1, 2",
    )
    .unwrap()
    .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    .unwrap()
    .map(Result::unwrap)
    .filter(|(_, _, parent): &(String, String, String)| parents.contains(&parent.as_str()))
    .collect()
}

/// Makes up a row for each reference to the first row of these tables that no row has. How many references there are.
fn make_up(conn: &Connection, parents: &[&str], except: &[&str]) -> usize {
    conn.execute_batch("PRAGMA ignore_check_constraints = ON")
        .unwrap();
    let found = references(conn, parents);
    for (table, column, parent) in &found {
        let first = format!("(SELECT id FROM {parent} ORDER BY position LIMIT 1)");
        let there: bool = conn
            .query_row(
                &format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE {column} = {first})"),
                [],
                |row| row.get(0),
            )
            .unwrap();
        if there || except.contains(&table.as_str()) {
            continue;
        }
        let columns: Vec<(String, String, bool)> = conn
            .prepare(
                "SELECT name, type, \"notnull\" AND dflt_value IS NULL FROM pragma_table_info(?1)",
            )
            .unwrap()
            .query_map([table], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (name, kind, needed) in columns {
            let refers = found
                .iter()
                .find(|(of, from, _)| of == table && *from == name);
            let value = match (refers, kind.as_str()) {
                _ if name != *column && !needed => continue,
                (Some((_, _, to)), _) => format!("(SELECT id FROM {to} ORDER BY position LIMIT 1)"),
                (None, "BLOB") => "randomblob(16)".to_owned(),
                (None, "TEXT") => "'{}'".to_owned(),
                (None, _) => "1".to_owned(),
            };
            names.push(name);
            values.push(value);
        }
        let insert = format!(
            "INSERT INTO {table} ({}) VALUES ({})",
            names.join(", "),
            values.join(", ")
        );
        conn.execute(&insert, [])
            .unwrap_or_else(|error| panic!("{insert}: {error}"));
    }
    conn.execute_batch("PRAGMA ignore_check_constraints = OFF")
        .unwrap();
    found.len()
}

const PARENTS: &[&str] = &[
    "sessions",
    "continuations",
    "tool_calls",
    "approvals",
    "outbox",
];

#[tokio::test]
async fn whatever_the_schema_hangs_on_a_session_goes_with_an_erasure() {
    let world = World::new().await;
    with_everything(&world, "gone").await;
    let references = world
        .store
        .with_writer(|conn| make_up(conn, PARENTS, &[]))
        .await
        .unwrap();
    assert!(references >= 24, "{references}");
    erase(&world).await;
    assert_eq!(world.count("SELECT count(*) FROM sessions").await, 0);
    assert_eq!(dangling(&world).await, Vec::<String>::new());
}

#[tokio::test]
async fn whatever_the_schema_hangs_on_a_session_goes_with_its_retention() {
    let world = World::new().await;
    let (session, _) = with_everything(&world, "gone").await;
    world.ok(put(fields(session))).await;
    // A grant keeps its turn.
    world
        .store
        .with_writer(|conn| make_up(conn, PARENTS, &["session_grants"]))
        .await
        .unwrap();
    world.clock.advance_millis(60 * DAY_MS);
    with_call(&world, "today").await;
    assert_eq!(sweep(&world).await.continuations, 1);
    assert_eq!(dangling(&world).await, Vec::<String>::new());
    world.clock.advance_millis(31 * DAY_MS);
    assert_eq!(sweep(&world).await.sessions, 1);
    assert_eq!(dangling(&world).await, Vec::<String>::new());
}

#[tokio::test]
async fn whatever_the_schema_hangs_on_a_question_goes_with_it() {
    for erased in [false, true] {
        let world = World::new().await;
        with_everything(&world, "gone").await;
        world
            .sql("UPDATE approvals SET continuation_id = NULL, session_id = NULL, tool_call_id = NULL")
            .await;
        // A session has questions too, and this is about one.
        let except: &[&str] = if erased {
            &["approvals"]
        } else {
            &["approvals", "session_grants"]
        };
        let (id, position): ([u8; 16], i64) = world
            .store
            .with_writer(move |conn| {
                make_up(conn, &["approvals", "sessions"], except);
                conn.query_row("SELECT id, position FROM approvals", [], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })
                .unwrap()
            })
            .await
            .unwrap();
        world.clock.advance_millis(60 * DAY_MS);
        let removed = if erased {
            let keys = vec![Loose::Question(id)];
            let what = LooseThings;
            world.ok(Remove { what, keys }).await
        } else {
            let what = OldQuestions {
                before: world.clock.now(),
            };
            let keys = vec![position];
            world.ok(Remove { what, keys }).await
        };
        assert_eq!(removed.removed, 1);
        assert_eq!(world.count("SELECT count(*) FROM approvals").await, 0);
        let left = dangling(&world).await;
        // The test took the question away from its start.
        let left: Vec<_> = left
            .into_iter()
            .filter(|what| !what.contains("start without its approval"))
            .collect();
        assert_eq!(left, Vec::<String>::new(), "erased: {erased}");
    }
}

async fn talked(world: &World, turns: usize) -> (SessionId, Vec<ContinuationId>) {
    let (mut session, mut all) = (None, Vec::new());
    for _ in 0..turns {
        let (of, id) = world.running("talk").await;
        world.finish(id, 1).await;
        session = Some(of);
        all.push(id);
    }
    settle(world).await;
    (session.unwrap(), all)
}

/// Tokens that the days counted.
async fn spent(world: &World) -> u64 {
    world
        .count("SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM spend")
        .await
}

#[tokio::test]
async fn a_compaction_that_begins_during_an_erasure_leaves_no_call_behind() {
    for ended in [false, true] {
        let world = World::new().await;
        let (session, turns) = talked(&world, 3).await;
        let traces = world.store.traces(PERSON).await.unwrap();
        let before = spent(&world).await;
        // The traces do not list this call.
        let begun = world.compacting(session, turns[1]).await;
        if ended {
            world.compact(begun, &turns[..2]).await;
        }
        let what = EndedTurns;
        let keys = traces.turns.clone();
        assert_eq!(world.ok(Remove { what, keys }).await.removed, 3);
        let left = "SELECT count(*) FROM model_attempts";
        assert_eq!(world.count(left).await, 0);
        // The open call counts as it was reserved.
        let cost = if ended { 110 } else { 500 };
        assert_eq!(spent(&world).await - before, cost);
        if !ended {
            // Whoever asks the model finds out when it answers.
            assert!(
                world
                    .write(world.commit_of(begun, &turns[..2]))
                    .await
                    .is_err()
            );
            world
                .ok(FailCompaction {
                    id: begun.id,
                    epoch: world.epoch(),
                    call: Some((begun.attempt_id, usage())),
                    error: "a user was erased".to_owned(),
                })
                .await;
            let settled = world
                .ok(SettleAbandonedCalls {
                    continuation_id: turns[1],
                    reason: "given up".to_owned(),
                })
                .await;
            assert_eq!(settled, 0);
        }
        let what = WholeSessions;
        let keys = traces.sessions;
        assert_eq!(world.ok(Remove { what, keys }).await.removed, 1);
        let world = world.restart().await;
        assert_eq!(dangling(&world).await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_compaction_that_begins_during_a_sweep_keeps_its_turn() {
    let world = World::new().await;
    let (session, turns) = talked(&world, 9).await;
    world.clock.advance_millis(60 * DAY_MS);
    // A message of today: the session is in use.
    world.ingest("talk").await;
    let rules = leverframe::engine::sweeper::rules(&world.engine(""));
    let old = world.store.old_turns(rules, usize::MAX).await.unwrap();
    assert!(old.turns.len() >= 2, "{old:?}");
    let begun = world.compacting(session, turns[1]).await;
    let sweep = Remove {
        what: OldHistory {
            rules,
            continuations_to: old.continuations_to,
            outbox_to: old.outbox_to,
        },
        keys: old.turns.clone(),
    };
    let removed = world.ok(sweep.clone()).await.removed;
    assert_eq!(removed, old.turns.len() as u64 - 1);
    sound(&world).await;
    world
        .ok(FailCompaction {
            id: begun.id,
            epoch: world.epoch(),
            call: Some((begun.attempt_id, usage())),
            error: "it declines".to_owned(),
        })
        .await;
    // Now its call is settled. The search before did not list it.
    assert_eq!(world.ok(sweep).await.removed, 1);
    sound(&world.restart().await).await;
}

#[tokio::test]
async fn a_start_settles_a_call_whose_turn_an_earlier_version_removed() {
    let world = World::new().await;
    talked(&world, 1).await;
    world
        .sql(
            "PRAGMA foreign_keys = OFF;
             INSERT INTO model_attempts (id, continuation_id, epoch, step, attempt, model, estimated_tokens,
                estimated_cost_usd, started_at, channel, day, purpose)
             SELECT randomblob(16), randomblob(16), epoch, step, 1, model, 500, 0.05, started_at, channel, day,
                'compaction' FROM model_attempts LIMIT 1;
             PRAGMA foreign_keys = ON",
        )
        .await;
    let before = spent(&world).await;
    let world = world.crash().await;
    assert_eq!(spent(&world).await - before, 500);
    sound(&world).await;
}
