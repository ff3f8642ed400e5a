//! Rows of the audit as sentences: how long something was allowed, and what was only rehearsed.

use leverframe::clock::Timestamp;
use leverframe::console::audit_sentence::sentence;
use leverframe::protocol::doctor::AuditRow;
use leverframe::protocol::enums::Surface;
use serde_json::{Value, json};

fn said(action: &str, detail: &Value) -> String {
    let row = AuditRow {
        seq: 1,
        at: Timestamp(0),
        action: action.to_owned(),
        actor: "ana".to_owned(),
        actor_id: "operator:1000".to_owned(),
        surface: Surface::Console,
        channel: Some("team".to_owned()),
        subject: "apr_1".to_owned(),
        detail: detail.to_string(),
        prev: String::new(),
        hash: String::new(),
    };
    sentence(&row, Some("write_file"))
}

#[test]
fn a_sentence_says_how_long_something_is_allowed() {
    let decided = |more: Value| {
        let mut detail = json!({ "decision": "approve" });
        for (name, value) in more.as_object().expect("an object") {
            detail[name] = value.clone();
        }
        said("approval.decided", &detail)
    };
    assert_eq!(
        decided(json!({ "scope": "once" })),
        "ana allowed write_file on team"
    );
    assert_eq!(
        decided(json!({ "scope": "turn", "until": null })),
        "ana allowed write_file on team, until its turn ends"
    );
    assert_eq!(
        decided(json!({ "scope": "session", "until": null })),
        "ana allowed write_file on team, for its session"
    );
    let until = decided(json!({ "scope": "session", "until": "2026-12-24T18:00:00Z" }));
    assert!(
        until.starts_with("ana allowed write_file on team, for its session, until ")
            && until.contains("2026-12-2"),
        "{until}"
    );
    assert_eq!(
        said(
            "grant.removed",
            &json!({ "tool": "write_file", "ended_with": "con_1" })
        ),
        "the grant for write_file on team ended with its turn"
    );
    let rule = json!({ "rule": "allow write_file", "turn": "con_1", "expires_at": null });
    assert_eq!(
        said("rule.added", &rule),
        "ana made a rule on team: allow write_file, until its turn ends"
    );
}

#[test]
fn sentences_say_who_used_a_shell() {
    let detail =
        json!({ "command": "make", "outcome": "exit status 2 after 0.1 s", "kind": "bash" });
    assert_eq!(
        said("shell.started", &detail),
        "ana ran in the shell of a session on team: make"
    );
    assert_eq!(
        said("shell.ended", &detail),
        "the command of ana in a shell on team ended: exit status 2 after 0.1 s"
    );
    let code = json!({ "command": "1 / 0", "outcome": "error after 0.1 s", "kind": "python" });
    assert_eq!(
        said("shell.started", &code),
        "ana ran in the Python of a session on team: 1 / 0"
    );
    assert_eq!(
        said("shell.ended", &code),
        "the code of ana in a Python on team ended: error after 0.1 s"
    );
    assert_eq!(
        said("tool.called", &json!({ "tool": "read_file" })),
        "ana called read_file on team, without a model"
    );
    assert_eq!(
        said("interpreter.ended", &detail),
        "ana ended the bash of a session on team"
    );
}

#[test]
fn a_sentence_of_a_rehearsal_says_that_it_is_one() {
    let detail = json!({ "tool": "execute_command", "outcome": "exit status 3 after 0.1 s" });
    assert_eq!(
        said("rehearsal.started", &detail),
        "ana rehearsed execute_command on team, in a throw-away copy of the workspace"
    );
    assert_eq!(
        said("rehearsal.ended", &detail),
        "the rehearsal of execute_command on team by ana ended: exit status 3 after 0.1 s"
    );
}
