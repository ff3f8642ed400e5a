//! Threats to a decision: what is allowed is what was shown, to whom it was shown, once.

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::enums::Risk;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::request::Command;
use leverframe::tui::message::{Effect, Message};
use serde_json::{Value, json};

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::people::{decides, people, run, token};
use crate::stories::bot::{self, WRITE, anna, shown};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;

/// A message whose command must be approved.
fn command(argv: &[&str]) -> String {
    format!("TOOL:execute_command{}\nSAY:done", json!({ "argv": argv }))
}

async fn say(daemon: &Daemon, text: &str) -> String {
    let session = daemon.session().await;
    daemon.send(&session, text).await
}

/// A program in the workspace of `api` that writes this word into `ran.txt`.
fn program(home: &Home, word: &str) {
    let dir = home.workspace("api");
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("run.sh");
    std::fs::write(&file, format!("#!/bin/sh\necho {word} >> ran.txt\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(file, mode).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn t06_what_changed_since_it_was_shown_does_not_run() {
    let home = Home::new("");
    program(&home, "good");
    let daemon = home.daemon();
    let turn = say(&daemon, &command(&["./run.sh"])).await;
    let shown = daemon.wait_approval().await;
    // The same name, other content, after the card was drawn.
    program(&home, "evil");
    let _ = daemon.decide(&shown, "approve").await;
    let path = format!("/v1/continuations/{turn}");
    let settled = |body: &Value| {
        let call = &body["tool_calls"][0]["state"];
        body["state"] == "completed" || (body["state"] == "awaiting_approval" && call == "awaiting")
    };
    daemon
        .wait(&path, "the call is settled, or asked anew", settled)
        .await;
    let ran = home.workspace("api").join("ran.txt");
    assert!(!ran.exists(), "{:?}", std::fs::read_to_string(ran));
    // A digest of anything else decides nothing.
    let session = daemon.session().await;
    daemon.send(&session, WRITE).await;
    let write = |list: &Value| {
        let items = list["items"].as_array().unwrap();
        items.iter().any(|one| one["tool"] == "write_file")
    };
    let list = daemon
        .wait("/v1/approvals?state=pending", "a write", write)
        .await;
    let mut waiting = list["items"].as_array().unwrap().iter();
    let mut asked = waiting
        .find(|one| one["tool"] == "write_file")
        .cloned()
        .unwrap();
    asked["digest"] = shown["digest"].clone();
    assert_eq!(daemon.decide(&asked, "approve").await.0, 409);
    assert!(!home.workspace("api").join("note.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn t07_a_card_shows_all_of_a_call_and_nothing_that_is_not_in_it() {
    let home = Home::new("");
    let daemon = home.daemon();
    let long = format!("{}THE-END", "A".repeat(40_000));
    let words = [
        "printf",
        &long,
        "trailing ",
        "\u{202e}txt.exe",
        "\u{200b}",
        "a\r\nb",
        "\u{e0041}",
        "p\u{430}ypal",
        "\u{1b}[2Kls",
    ];
    say(&daemon, &command(&words)).await;
    let approval = daemon.wait_approval().await;
    let code = approval["short_code"].as_str().unwrap();
    let output = tokio::task::block_in_place(|| run(&home, &["approvals", "show", code]));
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let letters = text.matches('A').count();
    assert!(letters >= 40_000 && text.contains("THE-END"), "{letters}");
    for hidden in ['\u{202e}', '\u{200b}', '\u{e0041}', '\u{1b}', '\r'] {
        assert!(!text.contains(hidden), "{hidden:?} is as it was");
    }
    // Each of them is named; a Cyrillic letter among Latin ones too.
    for name in ["202e", "200b", "e0041", "1b"] {
        assert!(text.to_lowercase().contains(name), "{name} is not named");
    }
    // A screen that shows a part allows nothing by it: the digest is of the whole.
    assert_eq!(daemon.decide(&approval, "deny").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn t08_a_decision_is_of_one_request_and_counts_once() {
    let home = Home::new("");
    let daemon = home.daemon();
    say(&daemon, WRITE).await;
    daemon.wait_approvals(1).await;
    say(&daemon, &WRITE.replace("note.txt", "other.txt")).await;
    let asked = daemon.wait_approvals(2).await;
    // The digest of one with the id of the other.
    let mut mixed = asked[0].clone();
    mixed["digest"] = asked[1]["digest"].clone();
    assert_eq!(daemon.decide(&mixed, "approve").await.0, 409);
    daemon.wait_approvals(2).await;
    assert_eq!(daemon.decide(&asked[0], "deny").await.0, 200);
    // The card is still on somebody's screen.
    let (late, problem) = daemon.decide(&asked[0], "approve").await;
    assert!([409, 410].contains(&late), "{late} {problem}");
    let left = daemon.wait_approvals(1).await;
    assert_eq!(left[0]["id"], asked[1]["id"], "the other one is untouched");
    for file in ["note.txt", "other.txt"] {
        assert!(!home.workspace("api").join(file).exists(), "{file}");
    }
}

#[test]
fn t09_no_key_decides_what_nobody_had_time_to_read() {
    let keys = [
        "a", "d", "x", "D", "e", "o", "y", "A", "enter", "space", "j", "k", "G", "1", "s",
    ];
    let mut driver = Driver::with(100, 30, fixture::busy());
    let mut seed = 7_u64;
    for n in 0..600_u64 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // A card arrives under the fingers of somebody who types.
        let arrives = Event {
            seq: Some(1_000 + n),
            at: fixture::ago(0),
            session_id: None,
            continuation_id: None,
            body: EventBody::ApprovalRequested {
                approval: Box::new(fixture::approval((n % 200) as u8, Risk::Medium)),
            },
        };
        driver.hear(DaemonMessage::Event(std::sync::Arc::new(arrives)));
        driver.draw();
        if n % 7 == 0 {
            driver.send(Message::Paste("a\na\ny\n".to_owned()));
        }
        let key = keys[(seed >> 33) as usize % keys.len()];
        if n % 5 == 0 {
            driver.press("esc");
        }
        driver.press(key);
    }
    let decided = |effect: &&Effect| matches!(effect, Effect::Submit(Command::Decide(_)));
    assert_eq!(driver.effects.iter().filter(decided).count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn t10_no_trick_of_a_shell_gets_past_a_rule() {
    let home = Home::new("");
    let daemon = home.daemon();
    for rule in [
        json!({ "tool": "execute_command", "matcher": "exact", "value": "git status" }),
        json!({ "tool": "execute_command", "matcher": "prefix", "value": "git log" }),
    ] {
        let (status, made) = daemon.request("POST", "/v1/rules", Some(rule)).await;
        assert_eq!(status, 201, "{made}");
    }
    let verdict = async |argv: Value| {
        let args = json!({ "argv": argv }).to_string();
        let args = args
            .bytes()
            .fold(String::new(), |text, byte| format!("{text}%{byte:02x}"));
        let path = format!("/v1/rules/test?tool=execute_command&args={args}&channel=api");
        let test = daemon.get(&path).await;
        test["verdict"]["decision"].as_str().unwrap().to_owned()
    };
    for argv in [
        json!(["env", "git", "status"]),
        json!(["env", "-S", "git status; id"]),
        json!(["sh", "-c", "git status; id"]),
        json!(["sh", "-lc", "git status"]),
        json!(["bash", "-c", "git status | node"]),
        json!(["busybox", "sh", "-c", "git status"]),
        json!(["git status"]),
        json!(["git", "status", ";", "id"]),
        json!(["git", "status\nid"]),
        json!(["git", "status", "$HOME"]),
        json!(["xargs", "git", "status"]),
        json!(["find", ".", "-exec", "git", "status", ";"]),
        json!(["git", "-c", "core.pager=sh -c id", "log"]),
        json!(["./git", "status"]),
        json!(["GIT", "status"]),
    ] {
        assert_ne!(verdict(argv.clone()).await, "allow", "{argv}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t11_every_way_in_goes_through_the_same_gate() {
    // Webhooks, programs and gates have suites of their own; these are the ways in of one daemon without a person.
    let home = Home::new("[channels.api]\nautonomy = \"supervised\"\n");
    let mut daemon = home.daemon();
    let routine = json!({ "name": "nightly", "schedule": "every 1d", "prompt": WRITE });
    assert_eq!(
        daemon
            .request("POST", "/v1/routines", Some(routine))
            .await
            .0,
        201
    );
    let run = daemon.post("/v1/routines/nightly/run", json!({})).await;
    let of_routine = run["continuation_id"].as_str().unwrap().to_owned();
    let done = daemon.wait_state(&of_routine, "completed").await;
    assert_eq!(done["tool_calls"][0]["state"], "denied", "{done:#}");
    // A message, a question of the command line's kind, and a client of OpenAI.
    say(&daemon, WRITE).await;
    daemon.wait_approvals(1).await;
    daemon.post("/v1/ask", json!({ "text": WRITE })).await;
    daemon.wait_approvals(2).await;
    let chat = json!({ "model": "api", "stream": true, "messages": [{ "role": "user", "content": WRITE }] });
    let asked = crate::support::daemon::client()
        .post(format!("{}/v1/chat/completions", daemon.base))
        .bearer_auth(&daemon.token)
        .json(&chat)
        .send()
        .await
        .unwrap();
    assert_eq!(asked.status().as_u16(), 200);
    daemon.wait_approvals(3).await;
    // A turn that goes on after a crash has not been decided by it.
    daemon.kill();
    let daemon = home.daemon();
    daemon.wait_approvals(3).await;
    for channel in ["api", "routine"] {
        assert!(
            !home.workspace(channel).join("note.txt").exists(),
            "{channel}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t12_a_crash_runs_nothing_twice() {
    for point in [
        "tool.started:1",
        "tool.effect_done:1",
        "result.pre_commit:1",
        "decide.post:1",
    ] {
        let home = Home::new("");
        program(&home, "once");
        let mut daemon = home.daemon_with(&[("LEVERFRAME_CRASH", point)]);
        let turn = say(&daemon, &command(&["./run.sh"])).await;
        let approval = daemon.wait_approval().await;
        let id = approval["id"].as_str().unwrap();
        let body = json!({
            "decision": "approve", "digest": approval["digest"], "confirm_code": approval["short_code"],
        });
        // It may die before it answers.
        let path = format!("/v1/approvals/{id}/decision");
        let _ = daemon.try_request("POST", &path, Some(body)).await;
        assert!(daemon.wait_exit().is_some(), "{point}: it does not die");
        let daemon = home.daemon();
        let path = format!("/v1/continuations/{turn}");
        let rests = |body: &Value| {
            ["completed", "awaiting_approval", "interrupted"]
                .iter()
                .any(|state| body["state"] == *state)
        };
        let mut body = daemon.wait(&path, "it comes to rest", rests).await;
        // A person lets it go on. That runs nothing a second time either.
        if body["state"] == "interrupted" {
            daemon.post(&format!("{path}/resume"), json!({})).await;
            let went_on = |body: &Value| rests(body) && body["state"] != "interrupted";
            body = daemon.wait(&path, "it goes on", went_on).await;
        }
        let ran = std::fs::read_to_string(home.workspace("api").join("ran.txt"));
        let times = ran.unwrap_or_default().lines().count();
        assert!(times <= 1, "{point}: {times} times");
        // Whether it ran is asked where nobody knows, and never guessed.
        if body["state"] == "awaiting_approval" {
            assert_eq!(
                daemon.wait_approval().await["kind"],
                "resolve_unknown",
                "{point}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t13_neither_the_model_nor_who_asked_decides() {
    let telegram = FakeTelegram::start();
    let rest = format!("{}[approvals]\nself_approval = \"never\"\n", people());
    let home = bot::home(&telegram, "allowed_users = [\"100\"]", &rest);
    let daemon = bot::start(&home, &telegram, &[100, 200, 300], &[]);
    let own = token(
        &home,
        "annas",
        &["--scope", "read,approve", "--person", "anna"],
    );
    telegram.user_says(200, &anna(), WRITE);
    let approval = daemon.wait_approval().await;
    let code = approval["short_code"].as_str().unwrap().to_owned();
    // The model writes the command that decides, in the chat of somebody who may.
    telegram.user_says(
        100,
        &User::new(100, "Cleo"),
        &format!("SAY:/approve {code}"),
    );
    shown(&telegram, 100, &format!("/approve {code}")).await;
    // Who asked clicks nothing and types nothing that decides.
    telegram.user_says(200, &anna(), &format!("/approve {code}"));
    shown(&telegram, 200, "decided by somebody else").await;
    assert_eq!(decides(&daemon, &own, &approval, "approve").await.0, 403);
    assert_eq!(daemon.wait_approval().await["id"], approval["id"]);
    assert!(!home.workspace("team").join("note.txt").exists());
}
