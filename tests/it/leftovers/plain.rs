//! What a run left, on a console of lines.

use crate::console_plain::typist::Typist;
use crate::leftovers::daemon::{items, left, run};
use crate::support::daemon::Home;

#[tokio::test(flavor = "multi_thread")]
async fn it_is_listed_read_and_dismissed() {
    let home = Home::new("");
    let daemon = home.daemon();
    let turn = run(&daemon, "mkdir -p \"a/.vscode\"; echo x > .envrc").await;
    daemon.wait_state(&turn, "completed").await;
    let item = left(&daemon).await;
    let mut typist = Typist::at(&home);
    let list = typist.enter("queue");
    assert!(
        list.contains("look") && list.contains("set aside: .envrc is now .envrc.set-aside-call_"),
        "{list}"
    );
    let card = typist.enter("1");
    for needed in [
        "left by a run",
        item["tool_call_id"].as_str().unwrap(),
        item["session_id"].as_str().unwrap(),
        "a/.vscode",
        item["set_aside"][1]["name"].as_str().unwrap(),
        "changes no file",
        "1 1  dismiss it",
    ] {
        assert!(card.contains(needed), "{needed}:\n{card}");
    }
    typist.look();
    let said = typist.enter("1 1");
    assert!(said.contains("dismissed; no file was changed"), "{said}");
    assert!(items(&daemon, "/v1/leftovers").await.is_empty());
    typist.quit();
}
