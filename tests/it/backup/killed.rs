//! kill -9 in the middle of a backup or a restore, and a disk that is full by then.

use std::time::Instant;

use serde_json::json;

use crate::backup::tools::{members, plain_home, run, run_command, run_json, said, sound};
use crate::support::daemon::DEADLINE;
use crate::support::record::fault;

#[tokio::test]
async fn a_daemon_killed_in_the_middle_of_a_backup_leaves_no_backup_and_starts_again() {
    let home = plain_home();
    let mut daemon = home.daemon_with(&[("LEVERFRAME_CRASH", "backup.mid:1")]);
    let session = daemon.session().await;
    let id = daemon.send(&session, "SAY:one").await;
    daemon.wait_state(&id, "completed").await;
    let file = home.path().join("backup.tar");
    let body = json!({"path": file.to_str().unwrap()});
    let died = daemon.try_request("POST", "/v1/backup", Some(body)).await;
    assert!(died.is_err(), "{died:?}");
    daemon.wait_exit().expect("it was killed");
    assert!(!file.exists());
    assert!(
        home.path().join("backup.tar.partial").exists(),
        "it died before it began"
    );
    let mut daemon = home.daemon();
    assert_eq!(daemon.get("/readyz").await["quarantine"], false);
    daemon
        .post("/v1/backup", json!({"path": file.to_str().unwrap()}))
        .await;
    assert!(file.exists());
    assert!(!home.path().join("backup.tar.partial").exists());
    assert!(!home.path().join("backup.tar.partial.db").exists());
    daemon.terminate();
    sound(&home).await;
    fault(
        "kill-during-backup",
        "SIGKILL at backup.mid in the daemon",
        "no file under the backup's name, restart without quarantine, the next backup removes the leftovers",
    );
}

/// `RLIMIT_FSIZE` stands for a full disk: a write beyond it fails, and the signal is ignored.
fn limited(home: &crate::support::daemon::Home, blocks: u32) -> std::process::Command {
    let inner = home.command();
    let mut command = std::process::Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""))
        .arg("sh")
        .arg(inner.get_program())
        .args(inner.get_args())
        .env_clear();
    for (name, value) in inner.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command
}

#[tokio::test]
async fn a_full_disk_leaves_no_backup_and_no_part_of_one() {
    let home = plain_home();
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let id = daemon.send(&session, "SAY:one").await;
    daemon.wait_state(&id, "completed").await;
    daemon.terminate();
    let before = std::fs::read(home.data().join("leverframe.db")).unwrap();
    let file = home.path().join("backup.tar");
    let whole = home.path().join("whole.tar");
    run_json(&home, &["--json", "backup", whole.to_str().unwrap()]);
    // 512-byte blocks: less than the copy of the database; then all of it, but less than the whole file.
    let blocks = u32::try_from(members(&whole)[1].1.len() / 512).unwrap();
    for blocks in [blocks / 2, blocks + 1] {
        let output = run_command(limited(&home, blocks), &["backup", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains("disk is full"), "{}", said(&output));
        let left: Vec<_> = std::fs::read_dir(home.path())
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name().into_string().unwrap())
            .filter(|name| name.starts_with("backup"))
            .collect();
        assert_eq!(left, Vec::<String>::new());
    }
    assert_eq!(
        std::fs::read(home.data().join("leverframe.db")).unwrap(),
        before
    );
    // With room again the same command works.
    let began = Instant::now();
    run_json(&home, &["--json", "backup", file.to_str().unwrap()]);
    assert!(began.elapsed() < DEADLINE);
    // Restoring onto a full disk changes nothing either.
    let other = plain_home();
    let output = run_command(
        limited(&other, blocks / 2),
        &["restore", file.to_str().unwrap()],
    );
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("disk is full"), "{}", said(&output));
    assert!(!other.data().exists());
    assert!(!other.path().join("data.restoring").exists());
    sound(&home).await;
    fault(
        "full-disk-during-backup",
        "file-size limit below the copy, and below the tar; the same for a restore",
        "exit 1 with the reason, no part of a backup left, the database byte for byte as before",
    );
}

#[tokio::test]
async fn a_restore_killed_between_the_two_directories_loses_nothing_and_nobody_starts_anew() {
    let home = plain_home();
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let id = daemon.send(&session, "SAY:one").await;
    daemon.wait_state(&id, "completed").await;
    daemon.terminate();
    let file = home.path().join("backup.tar");
    run_json(&home, &["--json", "backup", file.to_str().unwrap()]);
    let kept = std::fs::read(home.data().join("leverframe.db")).unwrap();
    let mut command = home.command();
    command.env("LEVERFRAME_CRASH", "restore.mid:1");
    let words = ["restore", file.to_str().unwrap(), "--force"];
    let died = run_command(command, &words);
    assert_eq!(died.status.code(), None, "{}", said(&died));
    assert!(!home.data().exists(), "it died before it began");

    // An empty start would look as if everything were lost.
    for words in [&["--daemon"][..], &["sessions"], &["doctor"]] {
        let refused = run(&home, words);
        assert_ne!(refused.status.code(), Some(0), "{}", said(&refused));
        assert!(!home.data().exists(), "{words:?} began anew");
    }
    let refused = run(&home, &["--daemon"]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    for word in ["was not finished", "restore FILE", "before-restore"] {
        assert!(said(&refused).contains(word), "{}", said(&refused));
    }
    let aside = std::fs::read_dir(home.path())
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.to_string_lossy().contains("data.before-restore-"))
        .expect("what was there lies beside");
    assert_eq!(std::fs::read(aside.join("leverframe.db")).unwrap(), kept);

    run_json(&home, &["--json", "restore", file.to_str().unwrap()]);
    assert!(!home.path().join("data.restoring").exists());
    assert!(aside.exists());
    assert!(sound(&home).await, "restored, so quarantined");
    fault(
        "kill-during-restore",
        "SIGKILL after the former data directory was moved aside, before the restored one took its place",
        "no new database starts there, and the error names both next steps; the former directory is intact beside it; the same restore again succeeds",
    );
}
