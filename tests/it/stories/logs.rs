//! The log has one line for each turn, model call, tool call, decision and send, with the fields that the book lists.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::stories::bot::{self, ben, shown};
use crate::support::fake_telegram::FakeTelegram;

const WRITE: &str =
    "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"private words\"}\nSAY:secret answer";

/// The lines of one story, by what they are about.
async fn lines(filter: &str) -> BTreeMap<String, Vec<Value>> {
    let telegram = FakeTelegram::start();
    let log = format!("[log]\njson = true\nfilter = \"{filter}\"");
    let home = bot::home(&telegram, "allowed_users = [\"100\"]", &log);
    let mut daemon = bot::start(&home, &telegram, &[], &[]);
    telegram.user_says(100, &ben(), WRITE);
    let approval = daemon.wait_approval().await;
    daemon.decide(&approval, "approve").await;
    shown(&telegram, 100, "secret answer").await;
    daemon.terminate();
    let mut lines: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in home.log().lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        if line["target"] == "leverframe::activity" {
            let about = line["fields"]["message"].as_str().unwrap().to_owned();
            lines.entry(about).or_default().push(line);
        }
    }
    lines
}

/// The table of the book: the fields of each line.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let page = include_str!("../../../docs/src/operate/logs.md");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let mut words = row.split('`').skip(1).step_by(2).map(str::to_owned);
        (words.next().unwrap(), words.collect())
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_line_is_there_with_the_fields_of_the_book_and_without_texts() {
    let lines = lines("info").await;
    let book = documented();
    assert_eq!(
        lines.keys().collect::<Vec<_>>(),
        book.keys().collect::<Vec<_>>()
    );
    for (about, lines) in &lines {
        for line in lines {
            let fields = line["fields"].as_object().unwrap();
            for name in fields.keys() {
                let common = ["message", "event", "session", "continuation"];
                let known = common.contains(&name.as_str()) || book[about].contains(name);
                assert!(known, "{about}: the book has no {name}");
            }
            assert!(fields["session"].as_str().unwrap().starts_with("ses_"));
            assert!(!fields.contains_key("text"), "{line}");
        }
    }
    let one = |about: &str| &lines[about][0]["fields"];
    assert_eq!(one("turn")["state"], "completed");
    assert_eq!(one("turn")["channel"], "team");
    assert!(one("turn")["duration_ms"].is_u64());
    assert!(one("turn")["output_tokens"].as_u64() > Some(0));
    assert_eq!(lines["model call"].len(), 2);
    assert!(one("model call")["input_tokens"].as_u64() > Some(0));
    assert_eq!(one("tool call")["tool"], "write_file");
    assert_eq!(one("tool call")["state"], "succeeded");
    assert_eq!(one("tool call")["call"], one("decision")["call"]);
    assert_eq!(one("decision")["decision"], "approve");
    assert_eq!(one("decision")["surface"], "http");
    assert_eq!(one("send")["channel"], "team");
    let all = json!(lines).to_string();
    assert!(!all.contains("private words") && !all.contains("secret answer"));
}

#[tokio::test(flavor = "multi_thread")]
async fn debug_adds_how_the_texts_begin() {
    let lines = lines("info,leverframe::activity=debug").await;
    let text = &lines["turn"][0]["fields"]["text"];
    assert!(text.as_str().unwrap().contains("secret answer"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_leaves_the_lines_out() {
    assert!(lines("info,leverframe::activity=off").await.is_empty());
}
