//! The newest lines of the log.

use leverframe::clock::Timestamp;
use leverframe::engine::log_lines::{KEPT_BYTES, LINE_BYTES, LogLines, bytes_of};
use leverframe::protocol::enums::LogLevel;
use leverframe::protocol::log::{Log, MAX_LINES};

fn texts(log: &Log) -> Vec<&str> {
    log.lines.iter().map(|line| line.text.as_str()).collect()
}

#[test]
fn the_newest_lines_stay_within_the_bytes() {
    let lines = LogLines::default();
    let long = "x".repeat(1000);
    // Many times what fits, so that a count that drifts would show.
    for n in 0..20_000 {
        lines.add(Timestamp(5), LogLevel::Info, "test", &format!("{n} {long}"));
    }
    let kept = lines.read(None, Some(0), Some(MAX_LINES), "").lines;
    assert!(kept.len() > 800 && kept.len() < MAX_LINES as usize);
    let bytes: usize = kept.iter().map(bytes_of).sum();
    assert!(bytes <= KEPT_BYTES && bytes + 2_000 > KEPT_BYTES, "{bytes}");
    assert!(
        kept.last()
            .is_some_and(|line| line.text.starts_with("19999 "))
    );
}

#[test]
fn a_reader_follows_without_losing_or_repeating_a_line() {
    let lines = LogLines::default();
    for n in 0..5 {
        let level = if n == 3 {
            LogLevel::Debug
        } else {
            LogLevel::Warn
        };
        lines.add(Timestamp(1_000), level, "test", &n.to_string());
    }
    let newest = lines.read(Some(LogLevel::Info), None, Some(2), "info");
    assert_eq!(texts(&newest), ["2", "4"]);
    assert_eq!(newest.last, 1_004);
    let begin = lines.read(None, Some(0), Some(3), "info");
    assert_eq!((texts(&begin), begin.last), (vec!["0", "1", "2"], 1_002));
    let rest = lines.read(Some(LogLevel::Warn), Some(begin.last), Some(3), "info");
    assert_eq!((texts(&rest), rest.last), (vec!["4"], 1_004));
    assert_eq!(texts(&lines.read(None, Some(rest.last), None, "")), [""; 0]);
}

#[test]
fn a_long_line_is_cut_at_a_character() {
    let lines = LogLines::default();
    lines.add(
        Timestamp(1),
        LogLevel::Error,
        "test",
        &"é".repeat(LINE_BYTES),
    );
    let log = lines.read(None, None, None, "");
    assert_eq!(
        log.lines.first().map(|line| line.text.len()),
        Some(LINE_BYTES)
    );
}
