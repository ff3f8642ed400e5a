//! The second look right before the start, and hooks that are in the way of a halt or a crash.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::hooks::scripts::{configure, script, table};
use crate::hooks::turns::{counts, detail, result};
use crate::support::daemon::{DEADLINE, Home};

const WRITE: &str = "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"a\"}\nSAY:done";

#[tokio::test]
async fn a_hook_vetoes_an_approved_call_at_its_start() {
    let home = Home::new("");
    let path = script(
        home.path(),
        "freeze",
        "case \"$(cat)\" in\n*'\"phase\":\"start\"'*) echo '{\"verdict\":\"cancel\",\"reason\":\"frozen\"}';;\n\
         *) echo '{\"verdict\":\"pass\"}';;\nesac",
    );
    configure(&home, &table("freeze", &path, "\"before_tool_call\"", ""));
    let daemon = home.daemon();
    let session = daemon.session().await;
    let turn = daemon.send(&session, WRITE).await;
    let approval = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let done = daemon.wait_state(&turn, "completed").await;
    assert_eq!(
        result(&done),
        "cancelled by the hook `freeze`: frozen. Nothing ran"
    );
    let call = &done["tool_calls"][0];
    assert_eq!(call["state"], "denied");
    assert_eq!(call["attempts"], 0);
    assert!(!home.workspace("api").join("a.txt").exists());
    let id = call["id"].as_str().unwrap();
    let why = daemon.get(&format!("/v1/tool-calls/{id}/why")).await;
    assert_eq!(why["hooks"][0]["at_start"], true, "{why:#}");
    assert_eq!(why["approval"]["state"], "revoked", "{why:#}");
    let audit = daemon.get("/v1/audit?action=hook.cancelled").await;
    assert_eq!(detail(&audit)["at_start"], true);
    assert_eq!(counts(&daemon, "freeze").await["cancels"], 1);
}

/// What a hook on trial says right before the start stops nothing and is kept with the call.
#[tokio::test]
async fn a_hook_on_trial_stops_no_start_and_what_it_said_is_kept() {
    let home = Home::new("");
    let path = script(
        home.path(),
        "trial",
        "case \"$(cat)\" in\n*'\"phase\":\"start\"'*) echo '{\"verdict\":\"cancel\",\"reason\":\"frozen\"}';;\n\
         *) echo '{\"verdict\":\"pass\"}';;\nesac",
    );
    let more = table("trial", &path, "\"before_tool_call\"", "dry_run = true\n");
    configure(&home, &more);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let turn = daemon.send(&session, WRITE).await;
    let approval = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let done = daemon.wait_state(&turn, "completed").await;
    let call = &done["tool_calls"][0];
    assert_eq!(
        (&call["state"], &call["attempts"]),
        (&"succeeded".into(), &1.into())
    );
    assert!(home.workspace("api").join("a.txt").exists());
    let id = call["id"].as_str().unwrap();
    let why = daemon.get(&format!("/v1/tool-calls/{id}/why")).await;
    let notes = why["hooks"].as_array().unwrap();
    assert_eq!(notes.len(), 1, "{why:#}");
    assert_eq!(
        (&notes[0]["at_start"], &notes[0]["dry_run"]),
        (&true.into(), &true.into())
    );
    assert_eq!(notes[0]["reason"], "frozen");
    let audit = daemon.get("/v1/audit?action=hook.cancelled").await;
    assert_eq!(audit["items"].as_array().unwrap().len(), 0, "{audit:#}");
}

#[tokio::test]
async fn after_a_crash_a_call_is_not_changed_a_second_time() {
    let home = Home::new("");
    let log = home.path().join("log");
    // Each proposal would make the text longer.
    let body = format!(
        "read doc\ncase \"$doc\" in\n*'\"phase\":\"propose\"'*) echo propose >> {log}\n\
         echo '{{\"verdict\":\"change\",\"args\":{{\"path\":\"a.txt\",\"content\":\"changed\"}}}}';;\n\
         *) echo start >> {log}; echo '{{\"verdict\":\"pass\"}}';;\nesac",
        log = log.display()
    );
    let path = script(home.path(), "once", &body);
    configure(&home, &table("once", &path, "\"before_tool_call\"", ""));
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let turn = daemon.send(&session, WRITE).await;
    daemon.wait_approval().await;
    daemon.kill();
    let daemon = home.daemon();
    let approval = daemon.wait_approval().await;
    assert_eq!(approval["args"]["content"], "changed");
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let path = format!("/v1/continuations/{turn}");
    let done = daemon
        .wait(&path, "an end or an interruption", |body| {
            body["state"] == "completed" || body["state"] == "interrupted"
        })
        .await;
    if done["state"] == "interrupted" {
        daemon
            .post(
                &format!("/v1/continuations/{turn}/resume"),
                serde_json::json!({}),
            )
            .await;
        daemon.wait_state(&turn, "completed").await;
    }
    let written = std::fs::read_to_string(home.workspace("api").join("a.txt")).unwrap();
    assert_eq!(written, "changed");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "propose\nstart\n");
}

fn wait_for(file: &Path) -> String {
    let deadline = Instant::now() + DEADLINE;
    loop {
        match std::fs::read_to_string(file) {
            Ok(text) if text.ends_with('\n') => return text,
            Ok(_) | Err(_) => assert!(Instant::now() < deadline, "{} never came", file.display()),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[tokio::test]
async fn a_hook_that_hangs_is_in_nobodys_way_when_the_turn_is_cancelled_or_everything_is_stopped() {
    for stop in ["cancel", "emergency"] {
        let home = Home::new("");
        let pid = home.path().join("pid");
        let path = script(
            home.path(),
            "hang",
            &format!("echo $$ > {}\nsleep 600", pid.display()),
        );
        let more = table("hang", &path, "\"before_tool_call\"", "")
            .replace("timeout_ms = 10000", "timeout_ms = 30000");
        configure(&home, &more);
        let daemon = home.daemon();
        let session = daemon.session().await;
        let turn = daemon.send(&session, WRITE).await;
        let pid = wait_for(&pid);
        let began = Instant::now();
        let body = serde_json::json!({});
        if stop == "cancel" {
            daemon
                .post(&format!("/v1/continuations/{turn}/cancel"), body)
                .await;
            daemon.wait_state(&turn, "cancelled").await;
        } else {
            daemon.post("/v1/emergency-stop", body).await;
            daemon.wait_state(&turn, "pending").await;
        }
        let stat = format!("/proc/{}/stat", pid.trim());
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(began.elapsed() < DEADLINE, "the hook still runs");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(counts(&daemon, "hang").await["failures"], 0, "{stop}");
    }
}
