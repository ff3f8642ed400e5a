//! `leverframe continuations show`: why a call failed stands beside it.

use crate::support::daemon::Home;
use crate::take_overs::daemon::cli;

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_failed_is_shown_with_the_reason() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let turn = daemon
        .send(
            &session,
            "TOOL:read_file{\"path\":\"nowhere.txt\"}\nSAY:looked",
        )
        .await;
    daemon.wait_state(&turn, "completed").await;
    let (status, text) = cli(&home, &["continuations", "show", &turn]).await;
    assert_eq!(status, Some(0), "{text}");
    let mut lines = text.lines().skip_while(|line| !line.starts_with("call "));
    let call = lines.next().unwrap();
    assert!(call.contains("read_file  failed"), "{text}");
    let why = lines.next().unwrap();
    assert!(
        why.starts_with("          why: ") && why.contains("nowhere.txt"),
        "{text}"
    );
}
