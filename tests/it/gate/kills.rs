//! kill -9 of the daemon at every point that a question passes, with a caller that comes back each time.
//!
//! A call is never allowed whose approval was not used, and it is answered once.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::daemon::{DEADLINE, Daemon, Home, client};

/// The points, in order.
const POINTS: &[&str] = &[
    "ingest.pre_commit",
    "ingest.post_commit",
    "claim.post",
    "propose.pre_commit",
    "propose.post",
    "decide.pre_commit",
    "decide.post",
    "tool.started",
    "tool.effect_done",
    "result.pre_commit",
    "result.post",
    "final.pre_commit",
    "final.post",
];

fn question() -> Value {
    json!({
        "session_id": "22222222-2222-4222-8222-222222222222",
        "transcript_path": "/home/user/.claude/projects/p/2.jsonl",
        "cwd": "/home/user/shop",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "git push origin main"},
        "tool_use_id": "t1",
    })
}

/// Asks once; none = the daemon went away.
async fn dial(base: &str, token: &str) -> Option<String> {
    let response = client()
        .post(format!("{base}/v1/gate/claude"))
        .bearer_auth(token)
        .header("Idempotency-Key", "one")
        .header("Prefer", "wait=60")
        .json(&question())
        .send()
        .await
        .ok()?;
    let verdict = response.headers().get("leverframe-verdict")?;
    Some(verdict.to_str().ok()?.to_owned())
}

/// Approves what waits, until there is an answer or the daemon is gone.
async fn work(daemon: &Daemon) -> Option<String> {
    let (base, token) = (daemon.base.clone(), daemon.token.clone());
    let mut asking = tokio::spawn(async move { dial(&base, &token).await });
    let end = Instant::now() + DEADLINE;
    while Instant::now() < end {
        if asking.is_finished() {
            return (&mut asking).await.expect("it ends");
        }
        let pending = daemon
            .try_request("GET", "/v1/approvals?state=pending", None)
            .await;
        if let Ok((200, list)) = pending {
            for approval in list["items"].as_array().into_iter().flatten() {
                let id = approval["id"].as_str().expect("an id");
                let body = json!({"decision": "approve", "digest": approval["digest"]});
                let path = format!("/v1/approvals/{id}/decision");
                // The daemon may go away in the midst of it.
                let _ = daemon.try_request("POST", &path, Some(body)).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no answer in time");
}

async fn killed_at(point: &str) {
    let home = Home::new("");
    let Some(mut daemon) = home.try_daemon_with(&[("LEVERFRAME_CRASH", &format!("{point}:1"))])
    else {
        panic!("{point} is passed before the daemon listens");
    };
    let mut answer = work(&daemon).await;
    let died = daemon.wait_exit().is_some();
    if died {
        daemon = home.daemon();
    }
    if answer.is_none() {
        answer = work(&daemon).await;
    }
    assert!(died, "{point} was never reached");
    assert_eq!(answer.as_deref(), Some("allow"), "{point}: {}", home.log());
    let list = daemon.get("/v1/approvals").await;
    let states: BTreeSet<&str> = list["items"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|approval| approval["state"].as_str())
        .collect();
    assert_eq!(states, BTreeSet::from(["consumed"]), "{point}: {list}");
    let turns = daemon.get("/v1/continuations").await;
    assert_eq!(
        turns["items"].as_array().expect("a list").len(),
        1,
        "{point}"
    );
    daemon.kill();
    let check = home.command().args(["doctor", "--check"]).output();
    let check = check.expect("the doctor runs");
    let said = String::from_utf8_lossy(&check.stdout);
    assert!(check.status.success(), "{point}: {said}");
}

#[tokio::test]
async fn a_kill_at_any_point_allows_nothing_unasked_and_costs_no_question() {
    for point in POINTS {
        killed_at(point).await;
    }
}

/// The real caller, with the question on its standard input.
fn caller(home: &Home) -> Child {
    let mut command = home.command();
    let mut child = command
        .args(["gate", "claude"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the caller starts");
    let mut input = child.stdin.take().expect("a pipe");
    write!(input, "{}", question()).expect("the question");
    child
}

#[tokio::test]
async fn a_daemon_that_is_started_again_costs_the_caller_nothing() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let caller = caller(&home);
    let first = daemon.wait_approval().await;
    assert!(daemon.terminate().success());
    let daemon = home.daemon();
    let again = daemon.wait_approval().await;
    assert_eq!(again["id"], first["id"]);
    let (status, said) = daemon.decide(&again, "approve").await;
    assert_eq!(status, 200, "{said}");
    let ended = tokio::task::spawn_blocking(move || caller.wait_with_output());
    let ended = ended.await.expect("it ends").expect("its output");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success() && said.contains("\"allow\""),
        "{ended:?}"
    );
}
