//! What a card says first, what it folds, and that what it folds need not be read.

use leverframe::client::approval_lines::{arguments_left, sentence};
use leverframe::protocol::approval::{Approval, Preview};
use leverframe::protocol::enums::*;
use leverframe::protocol::request::Command;
use leverframe::protocol::snapshot::Snapshot;
use leverframe::tui::message::Effect;
use serde_json::json;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn write(mode: &str, unified: &str) -> Approval {
    let mut approval = fixture::approval(1, Risk::Medium);
    approval.args = json!({"path": "a.md", "content": "x\n", "mode": mode});
    approval.preview = Preview::Diff {
        path: "a.md".to_owned(),
        unified: unified.to_owned(),
    };
    approval
}

fn run(args: serde_json::Value, argv: &[&str]) -> Approval {
    let mut approval = fixture::command_approval(1, Risk::High);
    approval.args = args;
    approval.plan.cwd = Some("/w".to_owned());
    approval.preview = Preview::Exec {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
    };
    approval
}

#[test]
fn one_sentence_counts_over_all_files_of_a_change() {
    // The lines `--- old` and `+++ new` stand in the file.
    let two = "--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n same\n--- old\n+++ new\n\
               --- /dev/null\n+++ b/b.md\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n";
    let of = |tool: &str, args: serde_json::Value, unified: &str, paths: &[&str]| {
        let mut approval = write("overwrite", unified);
        approval.tool = tool.to_owned();
        approval.args = args;
        approval.plan.paths = paths.iter().map(|path| (*path).to_owned()).collect();
        approval
    };
    let patch = of("apply_patch", json!({"patch": "…"}), two, &["a.md", "b.md"]);
    assert_eq!(
        sentence(&patch),
        "Changes 2 files: 3 lines added, 1 removed."
    );
    assert_eq!(arguments_left(&patch), None, "the difference shows all");
    let args = json!({"from": "a.md", "to": "b.md"});
    let moved = of(
        "move_file",
        args,
        "rename from a.md\nrename to b.md\n",
        &["a.md", "b.md"],
    );
    assert_eq!(sentence(&moved), "Moves a.md to b.md.");
    let gone = "--- a/a.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n";
    let deleted = of("delete_file", json!({"path": "a.md"}), gone, &[]);
    assert_eq!(sentence(&deleted), "Deletes a.md with 1 line.");
}

#[test]
fn one_sentence_says_what_would_happen() {
    let new = "--- /dev/null\n+++ b/a.md\n@@ -0,0 +1,2 @@\n+one\n+two\n";
    let change = "--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n same\n--- old\n++ new\n";
    let binary = "replaces a binary file of 9 bytes, which is not shown (sha256 ab)\n--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(
        sentence(&write("create", new)),
        "Creates a.md with 2 lines."
    );
    assert_eq!(
        sentence(&write("overwrite", change)),
        "Changes a.md: 1 line added, 1 removed."
    );
    assert_eq!(
        sentence(&write("append", change)),
        "Adds 1 line to the end of a.md."
    );
    assert_eq!(
        sentence(&write("overwrite", binary)),
        "Replaces all of a.md with 1 line."
    );
    let mut cut = write("overwrite", change);
    cut.shortened = true;
    assert_eq!(
        sentence(&cut),
        "Writes a.md.",
        "what is cut cannot be counted"
    );
    let argv = ["git", "commit", "-m", "two words"];
    assert_eq!(
        sentence(&run(json!({"argv": argv}), &argv)),
        "Runs git commit -m 'two words' in /w."
    );
    let script = ["/bin/sh", "-c", "a\nb"];
    assert_eq!(
        sentence(&run(json!({"script": "a\nb"}), &script)),
        "Runs a shell script of 2 lines in /w."
    );
}

#[test]
fn what_the_preview_shows_is_no_argument_left() {
    let shown = write("overwrite", "--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-y\n+x\n");
    assert_eq!(arguments_left(&shown), None);
    // A path that leads elsewhere, and a tool that is not ours, are told.
    let mut linked = shown.clone();
    linked.args["path"] = json!("link.md");
    assert_eq!(arguments_left(&linked), Some(json!({"path": "link.md"})));
    let mut other = shown;
    other.tool = "patch".to_owned();
    assert_eq!(arguments_left(&other), Some(other.args.clone()));
    let argv = ["ls"];
    let more = run(json!({"argv": argv, "stdin": "in"}), &argv);
    assert_eq!(arguments_left(&more), Some(json!({"stdin": "in"})));
    assert_eq!(
        arguments_left(&run(json!({"argv": argv}), &["ls", "-l"])),
        Some(json!({"argv": argv})),
        "the preview shows another command"
    );
    let script = run(json!({"script": "a"}), &["/bin/sh", "-c", "a"]);
    assert_eq!(arguments_left(&script), None);
}

fn waiting() -> Driver {
    let mut driver = Driver::with(
        120,
        50,
        Snapshot {
            approvals: vec![fixture::approval(1, Risk::Medium)],
            ..fixture::busy()
        },
    );
    driver.press("j");
    driver
}

#[test]
fn the_order_of_a_card_is_sentence_reasons_story_and_change() {
    let mut driver = waiting();
    let text = driver.text();
    let mut at = 0;
    for part in [
        "Changes notes/today.md: 1 line added, 1 removed.",
        "risk because",
        "What led here",
        "the bot",
        "Yes, replace it.",
        "+- water the plants",
        "model says",
        "asks because",
        "v shows more",
    ] {
        let found = text[at..].find(part);
        assert!(found.is_some(), "{part} is missing or too early:\n{text}");
        at += found.unwrap_or_default();
    }
    assert!(!text.contains("\"content\""), "{text}");
    assert!(!text.contains("digest   "), "{text}");
}

#[test]
fn a_key_unfolds_the_card_and_the_fold_asks_for_no_reading() {
    let mut driver = waiting();
    driver.wait(800);
    driver.draw();
    driver.press("v");
    let text = driver.text();
    assert!(
        text.contains("digest   ") && text.contains("\"content\""),
        "{text}"
    );
    driver.press("v");
    assert!(!driver.text().contains("\"content\""));
    // The card fits: it was read at once, and its fold was never opened for long.
    driver.wait(800);
    driver.draw();
    driver.press("a");
    let decided = driver
        .effects
        .iter()
        .any(|effect| matches!(effect, Effect::Submit(Command::Decide(_))));
    assert!(decided, "{}", driver.text());
}

#[test]
fn a_carriage_return_of_the_diff_is_shown() {
    let mut approval = write(
        "overwrite",
        "--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-y\n+x\r\n",
    );
    approval.id = fixture::approval_id(1);
    let mut driver = Driver::with(
        120,
        50,
        Snapshot {
            approvals: vec![approval],
            ..fixture::busy()
        },
    );
    driver.press("j");
    let text = driver.text();
    assert!(text.contains("+x<U+000D>"), "{text}");
}
