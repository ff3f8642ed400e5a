//! The emergency stop kills what runs, survives a restart, and comes by itself after three crashes.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::console_pty::door::command;
use crate::process_faults::world::{FULL, alive, engine, eventually, script, sound, stubborn, tag};
use crate::support::daemon::{Daemon, Home};
use crate::support::pty::Pty;
use crate::support::record;

/// The specification's limit from the command to the death of every process.
const LIMIT: Duration = Duration::from_secs(2);

fn leverframe(home: &Home, arguments: &[&str]) -> (Option<i32>, String) {
    let output = home
        .command()
        .args(arguments)
        .output()
        .expect("the binary starts");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (output.status.code(), text)
}

async fn nothing_starts(daemon: &Daemon) -> String {
    let session = daemon.session().await;
    let waiting = daemon.send(&session, "SAY:after the release").await;
    let seen = daemon.get(&format!("/v1/continuations/{waiting}")).await;
    assert_eq!(seen["state"], "pending");
    waiting
}

#[tokio::test]
async fn it_kills_a_stubborn_tool_with_all_it_started_and_holds_over_a_restart() {
    let home = Home::new(FULL);
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let tag = tag(&home);
    let continuation = daemon.send(&session, &script(&stubborn(&tag))).await;
    let up = home.workspace("api").join("up");
    eventually("the tool runs", || up.exists()).await;
    assert!(alive(&tag));
    let began = Instant::now();
    daemon
        .post("/v1/emergency-stop", json!({"reason": "a test"}))
        .await;
    // A process that was killed stays visible until it is reaped.
    while alive(&tag) && began.elapsed() < LIMIT {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let took = began.elapsed();
    assert!(!alive(&tag), "alive {took:?} after the stop");
    let waits = daemon.wait_state(&continuation, "awaiting_approval").await;
    assert_eq!(waits["tool_calls"][0]["state"], "indeterminate");
    let waiting = nothing_starts(&daemon).await;
    assert!(daemon.terminate().success());

    let mut daemon = home.daemon();
    let status = engine(&daemon).await;
    assert!(status["held_since"].is_string(), "{status:#}");
    assert!(
        status["held_reason"]
            .as_str()
            .is_some_and(|why| why.contains("a test")),
        "{status:#}"
    );
    let ready = daemon.get("/readyz").await;
    assert_eq!(ready["held"], json!(true));
    nothing_starts(&daemon).await;
    let (code, said) = leverframe(&home, &["release"]);
    assert_eq!(code, Some(0), "{said}");
    daemon.wait_state(&waiting, "completed").await;
    assert!(daemon.terminate().success());
    sound(&home).await;
    record::fault(
        "emergency-stop",
        "emergency stop while a program runs that ignores signals and has a grandchild in a session of its own",
        &format!(
            "every process dead after {} ms (limit 2000); held over a restart; released explicitly",
            took.as_millis()
        ),
    );
}

#[tokio::test]
async fn three_crashes_in_ten_minutes_start_held_and_say_how_to_go_on() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    for _ in 0..3 {
        assert_eq!(engine(&daemon).await["held_since"], Value::Null);
        daemon.kill();
        daemon = home.daemon();
    }
    let status = engine(&daemon).await;
    let why = status["held_reason"].as_str().expect("a reason");
    assert!(why.contains("3 crashes within ten minutes"), "{why}");
    assert!(
        home.log().contains("leverframe release"),
        "the log says how to go on: {}",
        home.log()
    );
    assert_eq!(daemon.get("/readyz").await["held"], json!(true));
    let mut pty = Pty::start(&command(&home), 140, 30);
    pty.see("EMERGENCY STOP");
    pty.see("3 crashes within ten minutes");
    pty.see("ctrl-x r");
    pty.kill();
    let waiting = daemon.send(&session, "SAY:after the release").await;
    assert_eq!(
        daemon.get(&format!("/v1/continuations/{waiting}")).await["state"],
        "pending"
    );
    let (code, said) = leverframe(&home, &["emergency-stop", "--reason", "look first"]);
    assert_eq!(code, Some(0));
    assert!(
        said.contains("3 crashes within ten minutes") && said.contains("leverframe release"),
        "pressing again keeps the first reason and says how to go on: {said}"
    );
    // Held also after a clean restart.
    assert!(daemon.terminate().success());
    let mut daemon = home.daemon();
    assert!(engine(&daemon).await["held_since"].is_string());
    let (code, said) = leverframe(&home, &["release"]);
    assert_eq!(code, Some(0), "{said}");
    daemon.wait_state(&waiting, "completed").await;
    assert!(daemon.terminate().success());
    let mut daemon = home.daemon();
    assert_eq!(engine(&daemon).await["held_since"], Value::Null);
    assert!(daemon.terminate().success());
    sound(&home).await;
    record::fault(
        "crash-loop",
        "kill -9 three times within ten minutes",
        "the fourth start is held; console, HTTP, log and command line say why and how to release",
    );
}
