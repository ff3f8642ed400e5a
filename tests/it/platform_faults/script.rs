//! A file that an approved command runs is changed between the decision and the start.

use serde_json::Value;

use crate::support::daemon::Home;
use crate::support::record::fault;

const BEFORE: &str = "echo approved >> ledger.txt\n";
const AFTER: &str = "echo changed >> ledger.txt\n";

#[tokio::test]
async fn a_script_changed_after_its_approval_does_not_run_and_is_asked_about_again() {
    let home = Home::new("");
    let daemon = home.daemon();
    let workspace = home.workspace("api");
    std::fs::create_dir_all(&workspace).unwrap();
    std::fs::write(workspace.join("do.sh"), BEFORE).unwrap();
    let session = daemon.session().await;
    // The first call runs until the test lets it go; the script is behind it in the same step.
    let text = "TOOL:execute_command{\"argv\":[\"sh\",\"-c\",\"while [ ! -e go ]; do sleep 0.05; done\"]}\n\
                TOOL:execute_command{\"argv\":[\"sh\",\"do.sh\"]}\nSAY:done";
    let continuation = daemon.send(&session, text).await;
    let asked = daemon.wait_approvals(2).await;
    let script = |approval: &&Value| approval["args"].to_string().contains("do.sh");
    let first = asked.iter().find(script).unwrap().clone();
    for approval in &asked {
        let (status, answer) = daemon.decide(approval, "approve").await;
        assert_eq!(status, 200, "{answer}");
    }
    let path = format!("/v1/continuations/{continuation}");
    daemon
        .wait(&path, "the first call runs", |body| {
            body["tool_calls"][0]["state"] == "started"
        })
        .await;
    std::fs::write(workspace.join("do.sh"), AFTER).unwrap();
    std::fs::write(workspace.join("go"), "").unwrap();

    let again = daemon.wait_approvals(1).await.remove(0);
    assert!(script(&&again), "{again:#}");
    assert_ne!(
        again["digest"], first["digest"],
        "another plan, another digest"
    );
    assert!(
        !workspace.join("ledger.txt").exists(),
        "it ran without being asked about"
    );
    // What was shown before is not what waits now.
    let (status, answer) = daemon.decide(&first, "deny").await;
    assert_eq!(status, 409, "{answer}");
    let (status, answer) = daemon.decide(&again, "deny").await;
    assert_eq!(status, 200, "{answer}");
    let done = daemon.wait_state(&continuation, "completed").await;
    assert_eq!(done["tool_calls"][1]["state"], "denied");
    assert!(
        !workspace.join("ledger.txt").exists(),
        "it ran though it was refused"
    );
    fault(
        "script-changed-after-approval",
        "the file that an approved command runs is rewritten while the call before it runs",
        "it does not run; the changed plan asks again, and the old decision does not count",
    );
}
