//! A process that runs for months does not fill the disk with its log.

use leverframe::runtime::logging::LogFile;

const LIMIT: u64 = 1_000;

#[test]
fn a_log_is_rotated_while_it_is_written_and_loses_no_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("leverframe.log");
    let before = dir.path().join("leverframe.log.1");
    let mut log = LogFile::open(path.clone(), LIMIT).expect("the log");
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

    // What is too long when the process starts is the file before from then on.
    std::fs::write(&path, "x".repeat(2_000)).expect("a long log");
    let mut log = LogFile::open(path.clone(), LIMIT).expect("the log");
    log.write_line(b"new\n").expect("a line");
    assert_eq!(read(&path), "new\n");
    assert_eq!(read(&before).len(), 2_000);
}
