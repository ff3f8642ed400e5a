//! One corruption for each rule, and the rule that names it.

use std::collections::BTreeSet;
use std::path::Path;

use leverframe::protocol::doctor::CheckReport;
use leverframe::store::check;
use leverframe::store::offline::Offline;

use crate::doctor::base::{corrupt, sound_database};

const DONE: &str = "(SELECT c.id FROM continuations c JOIN sessions s ON s.id = c.session_id WHERE s.conversation = 'done')";
const WAITING: &str = "(SELECT c.id FROM continuations c JOIN sessions s ON s.id = c.session_id WHERE s.conversation = 'waiting')";
const BUSY: &str = "(SELECT c.id FROM continuations c JOIN sessions s ON s.id = c.session_id WHERE s.conversation = 'busy')";
const FREE_CALL: &str = "(SELECT id FROM tool_calls WHERE effect = 'read_only')";
const LOST_CALL: &str = "(SELECT id FROM tool_calls WHERE effect = 'non_idempotent')";
const USED_GATE: &str = "(SELECT id FROM approvals WHERE kind = 'execute' AND state = 'consumed')";
const USED_CALL: &str =
    "(SELECT tool_call_id FROM approvals WHERE kind = 'execute' AND state = 'consumed')";

/// What the rule calls broken, what breaks it, and every invariant that is then named.
const CASES: &[(&str, &str, &[&str])] = &[
    ("page that SQLite finds broken", "", &["file"]),
    ("row that refers to one that is not there", "INSERT INTO approval_snoozes VALUES (zeroblob(16), 'anna', 1)", &["file"]),
    ("artifact whose file is not there or has another content",
        "INSERT INTO artifacts VALUES (zeroblob(32), 5, 'text/plain', 1)", &["I25"]),
    ("dataset whose file is not there or has another content",
        "INSERT INTO datasets (id, channel, name, source, row_count, columns, bytes, sha256, notes, uploaded_by, created_at)
         VALUES (zeroblob(16), 'team', 'sales', 'sales.csv', 1, '[]', 5, printf('%064d', 0), '[]', 'anna', 1)",
        &["I32"]),
    ("continuation without exactly one inbox row",
        "UPDATE inbox SET continuation_id = NULL, disposition = 'ignored' WHERE continuation_id = {DONE}", &["I1"]),
    ("idempotency key stored twice",
        "DROP INDEX inbox_once;
         INSERT INTO inbox (id, channel, principal, key, body_digest, disposition, received_at) VALUES
            (randomblob(16), 'team', 'bot', 'k', zeroblob(32), 'ignored', 1), (randomblob(16), 'team', 'bot', 'k', zeroblob(32), 'ignored', 1)",
        &["I2"]),
    ("step written after the end of its continuation",
        "INSERT INTO steps (continuation_id, n, kind, body, at) VALUES ({DONE}, 99, 'operator_note', '{}', 1)", &["I4"]),
    ("call of an ended continuation that may still start",
        "UPDATE tool_calls SET state = 'ready' WHERE id = {FREE_CALL}", &["I4", "I14"]),
    ("session with more than one running continuation",
        "UPDATE continuations SET session_id = (SELECT session_id FROM continuations WHERE id = {BUSY}) WHERE state = 'running'",
        &["I5", "I23"]),
    ("continuation of an epoch that has not begun", "UPDATE continuations SET epoch = 9 WHERE id = {BUSY}", &["I6"]),
    ("running continuation of an earlier epoch", "UPDATE continuations SET epoch = 1 WHERE id = {BUSY}", &["I6"]),
    ("request of an external agent that was allowed for more than one call",
        "UPDATE continuations SET options = json_set(coalesce(options, '{}'), '$.call',
            json('{\"tool\":\"claude__Bash\",\"arguments\":{},\"external\":{\"agent\":\"claude\",\"request\":\"k\"}}'))
         WHERE id IN (SELECT continuation_id FROM tool_calls WHERE attempts > 0 );
         UPDATE steps SET body = json_set(body, '$.name', 'claude__Bash') WHERE kind = 'tool_result';
         UPDATE tool_calls SET name = 'claude__Bash';", &["A1"]),
    ("call of an external agent that was allowed after its turn had ended",
        "UPDATE continuations SET options = json_set(coalesce(options, '{}'), '$.call',
            json('{\"tool\":\"claude__Bash\",\"arguments\":{},\"external\":{\"agent\":\"claude\",\"request\":\"k\"}}'))
         WHERE id IN (SELECT continuation_id FROM tool_calls WHERE attempts > 0 AND id = {FREE_CALL});
         UPDATE steps SET body = json_set(body, '$.name', 'claude__Bash') WHERE kind = 'tool_result';
         UPDATE tool_calls SET name = 'claude__Bash';
         UPDATE tool_calls SET started_at = 4000000000000 WHERE id = {FREE_CALL}", &["A1"]),
    ("call of an external agent that was allowed and is not what the agent asked about",
        "UPDATE continuations SET options = json_set(coalesce(options, '{}'), '$.call',
            json('{\"tool\":\"claude__Bash\",\"arguments\":{},\"external\":{\"agent\":\"claude\"}}'))
         WHERE id IN (SELECT continuation_id FROM tool_calls WHERE attempts > 0 AND id = {FREE_CALL});", &["A4"]),
    ("tool attempt of an epoch that has not begun", "UPDATE tool_attempts SET epoch = 9 WHERE call_id = {FREE_CALL}", &["I7"]),
    ("model attempt of an epoch that has not begun", "UPDATE model_attempts SET epoch = 9", &["I7"]),
    ("send of an epoch that has not begun", "UPDATE outbox SET epoch = 9 WHERE class = 'final' AND part = 2", &["I7"]),
    ("compaction of an ended epoch that is still under way", "UPDATE compactions SET epoch = 1 WHERE state = 'running'",
        &["I7"]),
    ("turn that is not sent any more though no summary covers it", "UPDATE summaries SET covers_to = 0", &["I24"]),
    ("turn that a summary covers though it is open, or still sent",
        "UPDATE continuations SET archived_at = NULL WHERE id = {DONE}", &["I24"]),
    ("summary without the compaction that wrote it", "DELETE FROM compactions WHERE state = 'done'", &["I24"]),
    ("model attempt of an ended epoch that was never settled",
        "UPDATE model_attempts SET settled_at = NULL, epoch = 1 WHERE continuation_id = {DONE}", &["I23"]),
    ("continuation that counts fewer tokens than its model calls used",
        "UPDATE continuations SET output_tokens = 1 WHERE id = {DONE}", &["I23"]),
    ("day whose spending is less than its model calls used", "UPDATE spend SET calls = calls - 1", &["I23"]),
    ("session that spent less than its turns",
        "UPDATE sessions SET spent_usd = 0.0 WHERE conversation = 'done'", &["I23"]),
    ("addition to a budget that no question about it was answered with",
        "INSERT INTO budget_grants (approval_id, budget, day, amount, at) VALUES ({USED_GATE}, 'day_cost', 1, 1.0, 1)",
        &["I23"]),
    ("question about a shared budget that was answered yes and added nothing",
        "UPDATE approvals SET kind = 'budget', budget = 'day_cost' WHERE id = (SELECT id FROM approvals WHERE kind = 'resend');
         UPDATE approvals SET state = 'consumed' WHERE kind = 'budget'", &["I16", "I23", "I31"]),
    ("open continuation of a session that has ended",
        "UPDATE sessions SET state = 'ended' WHERE conversation = 'busy'", &["I24"]),
    ("call whose approval is gone", "UPDATE tool_calls SET approval_id = randomblob(16) WHERE id = {FREE_CALL}", &["I24"]),
    ("question about a delivery that is gone",
        "UPDATE approvals SET outbox_id = randomblob(16) WHERE kind = 'resend'", &["I16", "I24"]),
    ("started call without an attempt row that carries its key",
        "DELETE FROM tool_attempts WHERE call_id = {FREE_CALL}", &["I8"]),
    ("outcome of a run without a start",
        "DELETE FROM tool_attempts WHERE call_id = {LOST_CALL}; UPDATE tool_calls SET attempts = 0 WHERE id = {LOST_CALL}",
        &["I8"]),
    ("start of a call that a hook had stopped when it was proposed",
        "UPDATE tool_calls SET hooks = '[{\"verdict\":\"cancel\",\"at_start\":false,\"dry_run\":false}]' WHERE id = {FREE_CALL}",
        &["I8"]),
    ("non-idempotent call started again without a person's word",
        "UPDATE tool_calls SET attempts = 2 WHERE id = {LOST_CALL};
         INSERT INTO tool_attempts (id, call_id, attempt, epoch, idempotency_key, started_at)
            SELECT randomblob(16), call_id, 2, epoch, idempotency_key, started_at FROM tool_attempts WHERE call_id = {LOST_CALL}",
        &["I9", "I21"]),
    ("attempt with another key than its call",
        "UPDATE tool_attempts SET idempotency_key = 'x' WHERE call_id = {FREE_CALL}", &["I8", "I10"]),
    ("start whose approval was not consumed, was another call's or came too late",
        "UPDATE approvals SET state = 'revoked' WHERE id = {USED_GATE}", &["I11"]),
    ("approval used by more than one start",
        "UPDATE tool_attempts SET approval_id = {USED_GATE} WHERE call_id = {FREE_CALL}", &["I11"]),
    ("call that had to ask and started without an approval",
        "UPDATE tool_calls SET verdict = 'ask' WHERE id = {FREE_CALL}", &["I11"]),
    ("approval whose digest is not its call's", "UPDATE approvals SET digest = 'x' WHERE id = {USED_GATE}", &["I11"]),
    ("call that waits without a pending approval",
        "UPDATE tool_calls SET approval_id = {USED_GATE} WHERE state = 'awaiting'", &["I11", "I12"]),
    ("unknown outcome of an open continuation that nobody is asked about",
        "UPDATE approvals SET state = 'revoked' WHERE kind = 'resolve_unknown'", &["I12"]),
    ("awaiting_approval without a pending gate",
        "UPDATE approvals SET state = 'revoked' WHERE continuation_id = {WAITING}", &["I12", "I13", "I16"]),
    ("waiting continuation with a started call",
        "UPDATE tool_calls SET state = 'started', attempts = 1 WHERE state = 'awaiting'", &["I8", "I13"]),
    ("ended continuation with a pending gate",
        "UPDATE approvals SET continuation_id = {DONE} WHERE kind = 'resolve_unknown'", &["I13"]),
    ("call with more or less than the one result its state asks for",
        "DELETE FROM steps WHERE kind = 'tool_result' AND continuation_id = {DONE}", &["I14"]),
    ("model call after a step whose calls have no results",
        "UPDATE tool_calls SET result_step = 99 WHERE id = {FREE_CALL}", &["I14"]),
    ("completed without a final step, or a final step without completion",
        "UPDATE steps SET kind = 'operator_note' WHERE kind = 'final' AND continuation_id = {DONE}", &["I15"]),
    ("reply with missing parts", "DELETE FROM outbox WHERE class = 'final' AND part = 2", &["I15"]),
    ("reply of a continuation that did not complete",
        "UPDATE outbox SET continuation_id = {BUSY} WHERE class = 'final' AND continuation_id = {DONE}", &["I15"]),
    ("card of a settled approval that is still to be sent",
        "UPDATE outbox SET state = 'pending', settled_at = NULL, attempts = 0 WHERE class = 'approval_card' AND approval_id = {USED_GATE}",
        &["I16"]),
    ("part being sent by an earlier epoch",
        "UPDATE outbox SET state = 'sending', settled_at = NULL, epoch = 1 WHERE class = 'approval_card' AND approval_id = {USED_GATE}",
        &["I16"]),
    ("delivery of unknown outcome that nobody is asked about",
        "UPDATE approvals SET state = 'revoked' WHERE kind = 'resend'", &["I16"]),
    ("part begun before an earlier one of its reply was tried",
        "UPDATE outbox SET state = 'pending', settled_at = NULL, attempts = 0 WHERE class = 'final' AND part = 1 AND parts = 2",
        &["I18"]),
    ("part queued before an earlier one of its reply",
        "UPDATE outbox SET part = 3 - part WHERE class = 'final' AND parts = 2", &["I18"]),
    ("approval that was given without a person's decision",
        "UPDATE approvals SET decision = NULL, decision_body = NULL WHERE id = {USED_GATE}", &["I31"]),
    ("continuation whose events are no legal path to its state",
        "UPDATE continuations SET state = 'interrupted' WHERE id = {BUSY}", &["I3"]),
    ("event outside of every epoch that has begun",
        "UPDATE events SET seq = 4294967295 WHERE seq = (SELECT min(seq) FROM events WHERE continuation_id IS NULL)", &["I19"]),
    ("event that was said to be pruned",
        "INSERT INTO meta SELECT 'events_pruned', min(seq) FROM events", &["I19"]),
    ("audit row that does not fit its chain", "UPDATE audit SET actor = 'mallory' WHERE seq = 2", &["I21"]),
    ("tool start that the audit does not name",
        "UPDATE audit SET subject = 'another' WHERE seq = (SELECT min(seq) FROM audit WHERE action = 'tool.started')", &["I21"]),
    ("decision that the audit does not name",
        "UPDATE audit SET subject = 'another' WHERE action = 'approval.decided'", &["I21"]),
    ("policy version that the audit does not count",
        "INSERT INTO policy_versions SELECT channel, 99, policy, by_label, by_id, surface, at FROM policy_versions LIMIT 1",
        &["I21"]),
    ("routine that is due though it does not run by itself, or begins before it is due",
        "UPDATE routines SET enabled = 0", &["routine"]),
    ("turn that two runs claim, or that is not bounded as one of a routine",
        "UPDATE continuations SET autonomy_ceiling = NULL", &["routine"]),
    ("question about a call of a turn that nobody attends to",
        "UPDATE continuations SET unattended = 'deny' WHERE id = {WAITING}", &["routine"]),
    ("memory archived by a run that was undone or removed",
        "UPDATE hygiene_runs SET state = 'removed'", &["M2"]),
    ("memory that names a run and is not archived, or a run that is not there",
        "UPDATE memories SET state = 'active', archived_from = NULL WHERE state = 'archived'", &["M2"]),
    ("run with more memories than it says it archived",
        "UPDATE memories SET state = 'archived', archived_from = 'active', archived_by = (SELECT id FROM hygiene_runs)", &["M2"]),
    ("run whose end does not fit its state", "UPDATE hygiene_runs SET ended_at = NULL", &["M2"]),
    ("memory that the index does not have, or entry of the index without a memory",
        "INSERT INTO memory_fts (memory_fts, rowid, text) SELECT 'delete', position, text FROM memories LIMIT 1", &["M2"]),
    ("memory that is replaced by nothing, or replaced and recalled all the same",
        "UPDATE memories SET superseded_by = id WHERE scope = 'global'", &["M1"]),
    ("memory of a session that is not in its session's channel",
        "UPDATE memories SET channel = 'desk' WHERE scope = 'session'", &["M1"]),
    ("rule that counts fewer uses than the calls it decided", "UPDATE rules SET uses = 0", &["rule"]),
    ("rule of a session that has ended", "UPDATE sessions SET state = 'ended' WHERE conversation = 'done'", &["rule"]),
    ("rule of a turn that has ended",
        "UPDATE rules SET scope = 'turn', continuation_id = (SELECT c.id FROM continuations c
            JOIN sessions s ON s.id = c.session_id WHERE s.conversation = 'done' AND c.ended_at IS NOT NULL LIMIT 1)
         WHERE scope = 'session'", &["rule"]),
    ("grant of a turn that has ended",
        "UPDATE session_grants SET continuation_id = (SELECT c.id FROM continuations c
            JOIN sessions s ON s.id = c.session_id WHERE s.conversation = 'done' AND c.ended_at IS NOT NULL LIMIT 1)",
        &["rule"]),
    ("grant for a call of high risk or with untrusted content",
        "UPDATE tool_calls SET risk = 'high' WHERE id = {USED_CALL}", &["rule"]),
    ("embedding of a memory that is gone, or of a text that its memory does not have",
        "UPDATE memory_vectors SET digest = zeroblob(32)", &["M1"]),
    ("embedding that is not of length 1", "UPDATE memory_vectors SET vector = zeroblob(4)", &["M1"]),
    ("memory whose digest is not that of its text", "UPDATE memories SET digest = zeroblob(32)", &["M1"]),
    ("take-over on a channel that does not exist",
        "INSERT INTO take_overs VALUES ('gone', 'chat', randomblob(16), 'anna', 'operator:anna', 'console', 1)",
        &["take-over"]),
    ("pairing that says otherwise than the question about it",
        "UPDATE pairings SET state = 'accepted', decided_at = 1 WHERE state = 'pending';
         UPDATE approvals SET state = 'denied' WHERE kind = 'pairing' AND state = 'pending'", &["pairing"]),
    ("question about somebody new without a pairing", "DELETE FROM pairings WHERE state = 'pending'", &["pairing"]),
    ("channel on which more than three ask at a time",
        "INSERT INTO pairings SELECT channel, 'telegram:' || n, display, conversation, code, randomblob(16), 'pending', 1, 2,
            NULL, NULL FROM pairings, (SELECT 100 AS n UNION SELECT 101 UNION SELECT 102) WHERE state = 'pending'",
        &["pairing"]),
    ("question about a tool server that does not wait",
        "UPDATE approvals SET state = 'revoked' WHERE kind = 'server_pin' AND state = 'pending'", &["server_pin"]),
    ("question that waits and is not about what its tool server offers",
        "UPDATE tool_servers SET offered_sha256 = printf('%064d', 0)", &["server_pin"]),
    ("tool that is trusted of a server that is not",
        "UPDATE tool_servers SET identity = NULL, trusted_at = NULL, by_label = NULL", &["server_pin"]),
    ("question that waits for somebody without a name, a time or whoever assigned it",
        "UPDATE approvals SET waiting_for = '{\"to\":\"\",\"by\":\"ben\",\"at\":1}' WHERE state = 'pending'", &["assign"]),
    ("first of two approvals without a person, or of a revision that never was",
        "UPDATE approvals SET allowed_by = json_set(allowed_by, '$.revision', 9) WHERE allowed_by IS NOT NULL", &["assign"]),
    ("escalation whose steps are not in order",
        "UPDATE approvals SET escalation = json_set(escalation, '$.steps[0]', json('{\"step\":2,\"to\":\"on-call\",\"at\":\"2026-01-01T00:00:00Z\",\"outcome\":\"sent\"}')) WHERE escalation IS NOT NULL", &["assign"]),
    ("somebody on call without a name or a time", "UPDATE meta SET value = 'ben' WHERE key = 'on_call'", &["assign"]),
];

fn filled(sql: &str) -> String {
    [
        ("{DONE}", DONE),
        ("{WAITING}", WAITING),
        ("{BUSY}", BUSY),
        ("{FREE_CALL}", FREE_CALL),
        ("{LOST_CALL}", LOST_CALL),
        ("{USED_GATE}", USED_GATE),
        ("{USED_CALL}", USED_CALL),
    ]
    .iter()
    .fold(sql.to_owned(), |sql, (name, query)| {
        sql.replace(name, query)
    })
}

/// In the header of an index page that no rule reads.
fn flip_a_bit(path: &Path) {
    use std::os::unix::fs::FileExt as _;
    let conn = rusqlite::Connection::open(path).unwrap();
    let number = |sql: &str| -> u64 { conn.query_row(sql, [], |row| row.get(0)).unwrap() };
    let page = number("SELECT rootpage FROM sqlite_schema WHERE name = 'sessions_by_change'");
    let at = (page - 1) * number("PRAGMA page_size") + 7;
    drop(conn);
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&[1], at).unwrap();
}

fn report(path: &Path) -> CheckReport {
    let database = Offline::open(path).unwrap();
    database.read(check::report).unwrap()
}

#[tokio::test]
async fn every_rule_names_what_breaks_it_and_nothing_else() {
    let (path, _world) = Box::pin(sound_database()).await;
    let sound = report(&path);
    assert_eq!(sound.violations, 0, "{sound:#?}");
    for rule in &sound.rules {
        let rare = [
            "events",
            "idempotency key",
            "event that was said",
            "part being sent",
            "artifact whose file",
            "dataset whose file",
            "budget",
        ];
        assert!(
            rule.rows > 0 || rare.iter().any(|word| rule.broken.contains(word)),
            "nothing was looked at for {}: {}",
            rule.invariant,
            rule.broken
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let mut shown = BTreeSet::new();
    for (at, (broken, sql, invariants)) in CASES.iter().enumerate() {
        let copy = dir.path().join(format!("{at}.db"));
        std::fs::copy(&path, &copy).unwrap();
        corrupt(&copy, &filled(sql));
        if sql.is_empty() {
            flip_a_bit(&copy);
        }
        let found = report(&copy);
        let named: BTreeSet<&str> = found
            .rules
            .iter()
            .filter(|rule| rule.violations > 0)
            .map(|rule| rule.invariant.as_str())
            .collect();
        let wanted: BTreeSet<&str> = invariants.iter().copied().collect();
        assert_eq!(
            named,
            wanted,
            "{broken}: {:#?}",
            found
                .rules
                .iter()
                .filter(|r| r.violations > 0)
                .collect::<Vec<_>>()
        );
        let rule = found
            .rules
            .iter()
            .find(|rule| rule.broken == *broken)
            .unwrap_or_else(|| panic!("no rule says: {broken}"));
        assert!(rule.violations > 0, "{broken} was not found");
        assert!(
            rule.found
                .iter()
                .all(|what| what.contains('_') || what.contains(' ')),
            "{:?} name nothing",
            rule.found
        );
        shown.insert(*broken);
    }
    let all: BTreeSet<&str> = sound
        .rules
        .iter()
        .map(|rule| rule.broken.as_str())
        .collect();
    assert_eq!(all, shown, "a rule was never seen to fail");
    assert_eq!(check::count(), sound.rules.len());
}
