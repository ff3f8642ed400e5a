//! A process that runs for months does not fill the disk with its log.

use leverframe::runtime::logging::LogFile;

use crate::support::daemon::{DEADLINE, Home};

const LIMIT: u64 = 1_000;

#[test]
fn a_log_is_rotated_while_it_is_written_and_loses_no_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("leverframe.log");
    let before = dir.path().join("leverframe.log.1");
    let mut log = LogFile::open(path.clone(), LIMIT, 1).expect("the log");
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap_or_default();
    for n in 0..15 {
        log.write_line(format!("{n:0>99}\n").as_bytes())
            .expect("a line");
    }
    assert_eq!(read(&before).lines().count(), 10);
    assert_eq!(read(&path).lines().count(), 5);
    for n in 15..500 {
        log.write_line(format!("{n:0>99}\n").as_bytes())
            .expect("a line");
        let size = std::fs::metadata(&path).expect("the log").len();
        assert!(size <= LIMIT, "{size} bytes");
    }
    assert!(read(&path).ends_with("499\n"), "the newest line is there");
    drop(log);

    // More of them, the newest first.
    let folder = tempfile::tempdir().expect("a directory");
    let several = folder.path().join("daemon.log");
    let mut kept = LogFile::open(several.clone(), LIMIT, 3).expect("the log");
    for n in 0..100 {
        kept.write_line(format!("{n:0>99}\n").as_bytes())
            .expect("a line");
    }
    let first = |ending: &str| {
        let text = read(&folder.path().join(format!("daemon.log{ending}")));
        text.lines()
            .next()
            .map(|line| line.trim_start_matches('0').to_owned())
    };
    let firsts: Vec<_> = ["", ".1", ".2", ".3", ".4"].map(first).into();
    assert_eq!(
        firsts,
        [Some("90"), Some("80"), Some("70"), Some("60"), None].map(|one| one.map(str::to_owned))
    );

    // What is too long when the process starts is the file before from then on.
    std::fs::write(&path, "x".repeat(2_000)).expect("a long log");
    let mut log = LogFile::open(path.clone(), LIMIT, 1).expect("the log");
    log.write_line(b"new\n").expect("a line");
    assert_eq!(read(&path), "new\n");
    assert_eq!(read(&before).len(), 2_000);
}

/// What a daemon logs into a file of its own, and what it does when somebody else puts that aside.
#[tokio::test]
async fn a_daemon_logs_into_its_file_and_opens_it_again() {
    let home = Home::new("[log]\nfile = \"{home}/daemon.log\"\njson = true\n");
    let daemon = home.daemon();
    let path = home.path().join("daemon.log");
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap_or_default();
    let text = read(&path);
    assert!(text.lines().count() > 0, "nothing is logged");
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert!(line["fields"]["message"].is_string(), "{line}");
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(&path).expect("the file").permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    let aside = home.path().join("aside.log");
    std::fs::rename(&path, &aside).expect("put aside");
    daemon.signal(rustix::process::Signal::HUP);
    let deadline = std::time::Instant::now() + DEADLINE;
    while !read(&path).contains("SIGHUP") {
        assert!(
            std::time::Instant::now() < deadline,
            "the file is not opened again: {}",
            read(&aside)
        );
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
