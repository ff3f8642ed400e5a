//! Outcomes that nobody knows: shown whole, answered on every surface, and decisions that come too late or at once.

mod answers;
mod card;
mod late;
mod races;

use serde_json::Value;

use crate::support::daemon::{Daemon, Home};

/// Calls run at once here, so that one can be in flight without being asked about first.
pub(crate) const FULL: &str = "[channels.api]\nautonomy = \"full\"\npermanent_full = true\n";

/// A home whose daemon was killed while a command ran, and the daemon after it.
pub(crate) async fn killed_mid_tool(text: &str) -> (Home, Daemon, String, Value) {
    let home = Home::new(FULL);
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let continuation = daemon.send(&session, text).await;
    daemon
        .wait(
            &format!("/v1/continuations/{continuation}"),
            "a call that runs",
            |body| body["tool_calls"][0]["state"] == "started",
        )
        .await;
    // Run long enough to have written its first line.
    let marker = home.workspace("api").join("ran");
    let deadline = std::time::Instant::now() + crate::support::daemon::DEADLINE;
    while !marker.exists() {
        assert!(
            std::time::Instant::now() < deadline,
            "the command did not begin"
        );
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    daemon.kill();
    let daemon = home.daemon();
    let question = daemon.wait_approval().await;
    (home, daemon, continuation, question)
}

/// A turn whose command leaves a mark each time it runs and then goes on for long.
pub(crate) const LONG: &str = "TOOL:execute_command{\"script\":\"echo once >> ran; test $(wc -l < ran) -gt 1 || sleep 30\"}\nSAY:went on";

/// Runs the binary beside a daemon: status, output, errors.
pub(crate) fn run(home: &Home, arguments: &[&str]) -> (i32, String, String) {
    let output = home
        .command()
        .args(arguments)
        .output()
        .expect("the binary runs");
    (
        output.status.code().expect("a status"),
        String::from_utf8(output.stdout).expect("text"),
        String::from_utf8(output.stderr).expect("text"),
    )
}
