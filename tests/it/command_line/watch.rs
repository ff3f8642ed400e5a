//! `--watch` on a list prints what is there, and each row again that changes.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;

use crate::support::daemon::{DEADLINE, Home};

const WRITE: &str = "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"x\"}\nSAY:done";

/// A list that is watched, with its lines as they come.
struct Watch {
    process: Child,
    lines: Receiver<String>,
}

impl Watch {
    fn new(home: &Home, words: &[&str]) -> Self {
        let mut process = home
            .command()
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(process.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { process, lines }
    }

    /// The next line with this text.
    fn line(&self, text: &str) -> String {
        let end = std::time::Instant::now() + DEADLINE;
        loop {
            let left = end.saturating_duration_since(std::time::Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("no line with {text}"));
            if line.contains(text) {
                return line;
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_comes_again_when_it_changes_and_a_new_one_when_it_is_there() {
    let home = Home::new("");
    let daemon = home.daemon();
    let first = daemon.session().await;
    let watch = Watch::new(&home, &["sessions", "list", "--watch", "--json"]);
    let row: Value = serde_json::from_str(&watch.line(&first)).unwrap();
    assert_eq!(row["turns"], 0, "{row}");
    let turn = daemon.send(&first, "SAY:hello").await;
    daemon.wait_state(&turn, "completed").await;
    loop {
        let row: Value = serde_json::from_str(&watch.line(&first)).unwrap();
        if row["turns"] == 1 && row["open_continuation"].is_null() {
            break;
        }
    }
    let second = daemon.session().await;
    watch.line(&second);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_leaves_the_list_is_named() {
    let home = Home::new("");
    let daemon = home.daemon();
    let watch = Watch::new(&home, &["approvals", "list", "--watch"]);
    let session = daemon.session().await;
    daemon.send(&session, WRITE).await;
    let approval = daemon.wait_approval().await;
    let id = approval["id"].as_str().unwrap();
    let row = watch.line(id);
    assert!(
        row.contains("pending") && row.contains("write_file"),
        "{row}"
    );
    daemon.decide(&approval, "deny").await;
    assert_eq!(watch.line(id), format!("{id}  is no longer in this list"));
}
