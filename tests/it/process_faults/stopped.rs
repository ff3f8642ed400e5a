//! SIGSTOP and a second start: the lock outlives a pause (I6, I7).

use rustix::process::Signal;

use crate::process_faults::world::{FULL, count, eventually, lines, script, sound};
use crate::support::daemon::Home;
use crate::support::record;

#[tokio::test]
async fn a_second_start_beside_a_stopped_process_is_refused() {
    let home = Home::new(FULL);
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let ledger = home.workspace("api").join("ledger");
    let text = script("echo begun >> ledger; sleep 0.3; echo ended >> ledger");
    let continuation = daemon.send(&session, &text).await;
    eventually("the tool runs", || !lines(&ledger).is_empty()).await;
    daemon.signal(Signal::STOP);
    let epoch = count(
        &home,
        "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'epoch'",
    );
    for _ in 0..2 {
        let output = home
            .command()
            .args(["--daemon", "--listen", "127.0.0.1:0"])
            .output()
            .expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("in use by process") && said.contains(&daemon.pid().to_string()),
            "{said}"
        );
    }
    assert_eq!(
        count(
            &home,
            "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'epoch'"
        ),
        epoch,
        "the second process wrote"
    );
    daemon.signal(Signal::CONT);
    daemon.wait_state(&continuation, "completed").await;
    assert_eq!(lines(&ledger), ["begun", "ended"]);
    let next = daemon.send(&session, "SAY:still here").await;
    daemon.wait_state(&next, "completed").await;
    assert!(daemon.terminate().success());
    sound(&home).await;
    record::fault(
        "sigstop-second-start",
        "SIGSTOP in the middle of a tool, two further starts on the directory, SIGCONT",
        "both were refused and wrote nothing; the first continued with its epoch unchanged",
    );
}
