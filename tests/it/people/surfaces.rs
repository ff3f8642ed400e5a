//! One person on every surface of a running daemon: who asked in a chat does not decide by socket, token, command line
//! or chat, and what anybody does has their name.

use serde_json::{Value, json};

use crate::console_pty::door::Door;
use crate::people::{audit, decides, people, run, token, with};
use crate::stories::bot::{self, WRITE, anna, shown};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;

fn home(telegram: &FakeTelegram, self_approval: &str) -> Home {
    let rest = format!(
        "{}[approvals]\nself_approval = \"{self_approval}\"\n",
        people()
    );
    bot::home(telegram, "allowed_users = [\"100\"]", &rest)
}

async fn asked(daemon: &Daemon, telegram: &FakeTelegram) -> Value {
    telegram.user_says(200, &anna(), WRITE);
    daemon.wait_approval().await
}

/// Whether the command line decided.
fn by_command_line(home: &Home, approval: &Value) -> Result<(), String> {
    let (id, digest) = (
        approval["id"].as_str().unwrap(),
        approval["digest"].as_str().unwrap(),
    );
    let output = run(home, &["approvals", "approve", id, "--digest", digest]);
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asked_decides_nowhere_where_nobody_decides_their_own() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "never");
    let daemon = bot::start(&home, &telegram, &[200, 300], &[]);
    let own = token(
        &home,
        "annas",
        &["--scope", "read,operate,approve", "--person", "anna"],
    );
    let bens = token(
        &home,
        "bens",
        &["--scope", "read,approve", "--person", "ben"],
    );
    let approval = asked(&daemon, &telegram).await;
    let says = "your own request is decided by somebody else";

    for decision in ["approve", "deny", "deny_and_stop", "snooze"] {
        let (status, problem) = decides(&daemon, &own, &approval, decision).await;
        assert_eq!(status, 403, "{decision}: {problem}");
        assert!(problem.to_string().contains(says), "{problem}");
    }
    let path = format!(
        "/v1/approvals/{}/decision",
        approval["id"].as_str().unwrap()
    );
    let more = [
        json!({ "decision": "edit", "args": { "path": "note.txt", "content": "mine" } }),
        json!({ "decision": "answer", "answer": "done" }),
        json!({ "decision": "approve", "batch": true }),
        json!({ "decision": "approve", "scope": "session" }),
        json!({ "decision": "approve", "rule": { "tool": "write_file", "matcher": "exact", "value": "note.txt", "field": "path", "verdict": "allow" } }),
    ];
    for mut body in more {
        body["digest"] = approval["digest"].clone();
        let (status, problem) =
            crate::people::with(&daemon, &own, "POST", &path, Some(body.clone())).await;
        assert_eq!(status, 403, "{body}: {problem}");
        assert!(problem.to_string().contains(says), "{problem}");
    }
    let refused = by_command_line(&home, &approval).unwrap_err();
    assert!(refused.contains(says), "{refused}");
    let code = approval["short_code"].as_str().unwrap();
    telegram.user_says(200, &anna(), &format!("/approve {code}"));
    shown(&telegram, 200, says).await;
    assert_eq!(daemon.get("/v1/rules").await["items"], json!([]));
    assert_eq!(
        daemon.wait_approval().await["revision"],
        approval["revision"]
    );
    assert!(!home.workspace("team").join("note.txt").exists());

    let (status, decided) = decides(&daemon, &bens, &approval, "approve").await;
    assert_eq!(status, 200, "{decided}");
    assert_eq!(decided["decision"]["by"], "ben");
    shown(&telegram, 200, "all done").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asked_decides_from_the_console_and_not_from_the_chat() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "console");
    let daemon = bot::start(&home, &telegram, &[200, 300], &[]);
    let approval = asked(&daemon, &telegram).await;
    let code = approval["short_code"].as_str().unwrap();
    telegram.user_says(200, &anna(), &format!("/approve {code}"));
    shown(
        &telegram,
        200,
        "your own request is decided from the console",
    )
    .await;
    by_command_line(&home, &approval).unwrap();
    shown(&telegram, 200, "all done").await;
    let row = audit(&daemon, "approval.decided").await.remove(0);
    let uid = rustix::process::getuid().as_raw();
    assert_eq!(row["actor"], "anna", "{row}");
    assert_eq!(row["actor_id"], format!("operator:{uid}"), "{row}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asked_through_a_socket_or_a_token_is_known_in_the_chat_too() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "never");
    let daemon = bot::start(&home, &telegram, &[200, 300], &[]);
    let own = token(
        &home,
        "annas",
        &["--scope", "read,operate", "--person", "anna"],
    );
    let says = "your own request is decided by somebody else";
    // By the socket.
    let by_socket = Door::of(&home).ask(WRITE).await;
    assert_eq!(by_socket["requester"]["person"], "anna", "{by_socket}");
    // By a token of hers.
    let session = daemon.session().await;
    let path = format!("/v1/sessions/{session}/messages");
    let body = json!({ "text": WRITE });
    let (status, _) = crate::people::with(&daemon, &own, "POST", &path, Some(body)).await;
    assert_eq!(status, 202);
    let pending = daemon.wait_approvals(2).await;
    for approval in &pending {
        assert_eq!(approval["requester"]["display"], "anna", "{approval}");
        let code = approval["short_code"].as_str().unwrap();
        // The other one has the card.
        shown(&telegram, 300, code).await;
        telegram.user_says(200, &anna(), &format!("/deny {code}"));
        shown(&telegram, 200, says).await;
        telegram.change(|state| state.messages.retain(|message| message.chat != 200));
    }
    assert_eq!(daemon.wait_approvals(2).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_names_users_who_are_let_in_and_are_nobody() {
    let telegram = FakeTelegram::start();
    let users = "allowed_users = [\"100\", \"666\"]";
    let finding = |self_approval: &str| {
        let rest = format!(
            "{}[approvals]\nself_approval = \"{self_approval}\"\n",
            people()
        );
        let home = bot::home(&telegram, users, &rest);
        let _daemon = bot::start(&home, &telegram, &[], &[]);
        let output = run(&home, &["--json", "doctor"]);
        let doctor: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = doctor["findings"].as_array().unwrap().iter();
        let mut details = findings.map(|one| one["detail"].as_str().unwrap().to_owned());
        details.find(|detail| detail.contains("of allowed_users"))
    };
    // Cleo has the other one.
    let expected = "self_approval = \"never\" compares people, and [people] does not name telegram:666 of allowed_users";
    assert_eq!(finding("never").as_deref(), Some(expected));
    assert_eq!(finding("console"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_claims_no_surface_that_leaves_out_the_policy_of_the_api() {
    let home = Home::new(
        "[model]\nallow_scripted_on_channels = true\n\n[channels.shop]\nkind = \"webhook\"\n\
         secret_env = \"SHOP_SECRET\"\nautonomy = \"full\"\npermanent_full = true\nallowed_users = [\"ada\"]\n\n\
         [channels.api]\nautonomy = \"supervised\"\n",
    );
    let secret = "a secret of forty-two characters, at least";
    let daemon = home.daemon_with(&[("SHOP_SECRET", secret)]);
    let operator = token(&home, "worker", &["--scope", "read,operate"]);
    let place = json!({ "channel": "shop", "conversation": "ada" });
    let session = daemon.post("/v1/sessions", place).await;
    let submit = async |(by, token): (&str, &str), surface: &str| {
        let call = json!({
            "command": {
                "command": "call_tool", "session_id": session["id"], "tool": "write_file",
                "arguments": { "path": format!("{by}-{surface}.md"), "content": "x" },
            },
            "surface": surface,
        });
        let (status, said) = with(&daemon, token, "POST", "/v1/submit", Some(call)).await;
        assert_eq!(status, 200, "{said}");
        let find = |value: &Value| value["continuation_id"].as_str().map(str::to_owned);
        let nested = said
            .as_object()
            .and_then(|fields| fields.values().find_map(find));
        find(&said).or(nested).unwrap()
    };
    let admin = daemon.token.clone();
    let turn = submit(("admin", admin.as_str()), "console").await;
    let by_admin = daemon.wait_state(&turn, "completed").await;
    assert_eq!(
        by_admin["tool_calls"][0]["state"], "succeeded",
        "{by_admin}"
    );
    for surface in ["http", "cli", "console"] {
        let turn = submit(("worker", operator.as_str()), surface).await;
        let waits = daemon.wait_state(&turn, "awaiting_approval").await;
        let verdict = waits["tool_calls"][0]["verdict"].to_string();
        assert!(verdict.contains("supervised"), "{surface}: {waits}");
        let cancel = format!("/v1/continuations/{turn}/cancel");
        daemon.post(&cancel, json!({})).await;
    }
}
