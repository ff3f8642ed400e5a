//! `leverframe backup verify FILE`: it restores for real, proves what it says, and leaves nothing behind.

use std::path::Path;

use crate::backup::tools::{members, pack, plain_home, run, run_json, said};
use crate::support::daemon::Home;

/// A home with a turn, and a backup of it.
async fn backed_up() -> (Home, std::path::PathBuf) {
    let home = plain_home();
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let turn = daemon.send(&session, "SAY:hello").await;
    daemon.wait_state(&turn, "completed").await;
    assert!(daemon.terminate().success());
    let file = home.path().join("b.tar");
    let output = run(&home, &["backup", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    (home, file)
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

fn verify(home: &Home, file: &Path, within: &Path) -> (Option<i32>, String) {
    let output = run(
        home,
        &[
            "backup",
            "verify",
            file.to_str().unwrap(),
            "--within",
            within.to_str().unwrap(),
        ],
    );
    (output.status.code(), said(&output))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_good_one_is_restored_and_counted() {
    let (home, file) = backed_up().await;
    let within = tempfile::tempdir().unwrap();
    let (status, text) = verify(&home, &file, within.path());
    assert_eq!(status, Some(0), "{text}");
    for words in [
        "each with the SHA-256 of the manifest",
        "1 sessions, 1 turns",
        "0 violations",
        "the audit chain holds over",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(entries(within.path()), 0, "something stays behind");
    let found = run_json(
        &home,
        &["backup", "verify", file.to_str().unwrap(), "--json"],
    );
    assert_eq!(found["sessions"], 1);
    assert_eq!(found["violations"], serde_json::json!([]));
    assert!(found["audit_rows"].as_u64().unwrap() > 0);
    // It verifies what a person has, wherever they are: no data directory is needed, and none is made.
    let other = plain_home();
    let (status, text) = verify(&other, &file, within.path());
    assert_eq!(status, Some(0), "{text}");
    assert!(!other.data().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_one_is_told_apart() {
    let (home, file) = backed_up().await;
    let within = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(&file).unwrap();
    let bad = home.path().join("bad.tar");
    // One bit in the middle of the database.
    let mut flipped = bytes.clone();
    let middle = bytes.len() / 2;
    flipped[middle] ^= 1;
    std::fs::write(&bad, flipped).unwrap();
    let (status, text) = verify(&home, &bad, within.path());
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("is damaged"), "{text}");
    // Cut off.
    std::fs::write(&bad, &bytes[..middle]).unwrap();
    let (status, text) = verify(&home, &bad, within.path());
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("is not a whole backup"), "{text}");
    // No file, and a place that is none.
    let (status, text) = verify(&home, &home.path().join("none.tar"), within.path());
    assert_ne!(status, Some(0), "{text}");
    let (status, text) = verify(&home, &file, &within.path().join("nowhere"));
    assert_ne!(status, Some(0), "{text}");
    assert_eq!(entries(within.path()), 0, "something stays behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_can_be_restored_and_breaks_a_rule_is_no_good_one() {
    let (home, file) = backed_up().await;
    let within = tempfile::tempdir().unwrap();
    let conn = rusqlite::Connection::open(home.data().join("leverframe.db")).unwrap();
    conn.execute(
        "INSERT INTO steps (continuation_id, n, kind, body, at)
         SELECT id, 99, 'operator_note', '{}', 1 FROM continuations",
        [],
    )
    .unwrap();
    drop(conn);
    let broken = home.path().join("broken.tar");
    let output = run(&home, &["backup", broken.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let (status, text) = verify(&home, &broken, within.path());
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("does not hold: I4"), "{text}");
    assert_eq!(entries(within.path()), 0);
    // A member that is exchanged, with its digest in the manifest: the audit is no longer the one that was counted.
    let mut packed = members(&file);
    let manifest = String::from_utf8(packed[0].1.clone()).unwrap();
    let head = manifest.find("\"audit_seq\": ").unwrap() + "\"audit_seq\": ".len();
    let mut forged = manifest.clone();
    forged.insert(head, '9');
    packed[0].1 = forged.into_bytes();
    let exchanged = home.path().join("exchanged.tar");
    pack(&exchanged, &packed);
    let (status, text) = verify(&home, &exchanged, within.path());
    assert_eq!(status, Some(1), "{text}");
    assert!(
        text.contains("its audit does not end where its manifest says"),
        "{text}"
    );
}
