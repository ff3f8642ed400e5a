//! read_file, write_file, list_files.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use leverframe::protocol::approval::Preview;
use leverframe::protocol::enums::{Access, Risk};
use leverframe::tools::atomic::{Replace, write_atomically};
use leverframe::tools::guard::Guard;
use leverframe::tools::risk::highest;
use leverframe::tools::tool::{EffectDisposition, Plan};
use serde_json::json;

use crate::tools::harness::{Bench, text};

fn diff(plan: &Plan) -> &str {
    match &plan.preview {
        Preview::Diff { unified, .. } => unified,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn reading_is_by_lines_and_says_how_to_go_on() {
    let bench = Bench::new();
    let lines: String = (1..=5000).fold(String::new(), |all, line| all + &format!("line {line}\n"));
    bench.put("long", &lines);
    let plan = bench.prepare("read_file", json!({"path": "long"})).unwrap();
    assert_eq!(
        (plan.access, highest(&plan.risk_reasons)),
        (Access::ReadLocal, Risk::Low)
    );

    let first = bench.call("read_file", json!({"path": "long"})).await;
    assert_eq!(first.disposition, EffectDisposition::Done);
    assert!(first.content.starts_with("line 1\n") && first.content.contains("line 2000\n"));
    assert!(!first.content.contains("line 2001"));
    assert!(
        first.content.contains("continue with offset 2001"),
        "{}",
        &first.content[first.content.len() - 200..]
    );
    let part = bench
        .call(
            "read_file",
            json!({"path": "long", "offset": 4999, "limit": 10}),
        )
        .await;
    assert_eq!(part.content, "line 4999\nline 5000\n");
    let exact = bench
        .call(
            "read_file",
            json!({"path": "long", "offset": 10, "limit": 1}),
        )
        .await;
    assert!(
        exact
            .content
            .starts_with("line 10\n[lines 10–10 of a file of"),
        "{}",
        exact.content
    );
    let past = bench
        .call("read_file", json!({"path": "long", "offset": 6000}))
        .await;
    assert!(
        past.content.contains("fewer than 6000 lines"),
        "{}",
        past.content
    );

    bench.put("all", "one\ntwo");
    assert_eq!(
        bench
            .call("read_file", json!({"path": "all", "limit": 2}))
            .await
            .content,
        "one\ntwo"
    );
    bench.put("empty", "");
    assert!(
        bench
            .call("read_file", json!({"path": "empty"}))
            .await
            .content
            .contains("is empty")
    );
}

#[tokio::test]
async fn reading_is_bounded_by_bytes() {
    let bench = Bench::new();
    let wide = format!("{}\n", "é".repeat(500));
    bench.put("wide", wide.repeat(1000));
    let mut offset = 1;
    let mut together = String::new();
    // Follow the notes to the end: nothing is lost and nothing comes twice.
    loop {
        let page = bench
            .call("read_file", json!({"path": "wide", "offset": offset}))
            .await
            .content;
        assert!(page.len() <= 64 * 1024);
        let (lines, note) = page
            .split_once("\n[")
            .map_or((page.as_str(), ""), |(lines, note)| (lines, note));
        together.push_str(lines.trim_end());
        together.push('\n');
        let Some(next) = note.split("offset ").nth(1) else {
            break;
        };
        offset = next
            .trim_end_matches(|c: char| !c.is_ascii_digit())
            .parse()
            .unwrap();
    }
    assert_eq!(together, wide.repeat(1000));

    bench.put("one-line", "x".repeat(10_000_000));
    let cut = bench
        .call("read_file", json!({"path": "one-line"}))
        .await
        .content;
    assert!(
        cut.len() <= 64 * 1024 && cut.contains("is longer than"),
        "{}",
        &cut[cut.len() - 100..]
    );
    bench.put("after", format!("{}\nsecond\n", "é".repeat(100_000)));
    let second = bench
        .call("read_file", json!({"path": "after", "offset": 2}))
        .await
        .content;
    assert_eq!(second, "second\n");
}

#[tokio::test]
async fn what_is_not_text_is_said() {
    let bench = Bench::new();
    bench.put("binary", b"\x7fELF\0\0\0\x01");
    let binary = bench.call("read_file", json!({"path": "binary"})).await;
    assert!(
        binary.is_error && binary.content.contains("binary file (8 bytes)"),
        "{}",
        binary.content
    );
    bench.put("latin1", b"caf\xe9\n");
    let lossy = bench.call("read_file", json!({"path": "latin1"})).await;
    assert!(
        !lossy.is_error && lossy.content.starts_with("caf\u{fffd}\n[not UTF-8"),
        "{}",
        lossy.content
    );
    let missing = bench
        .prepare("read_file", json!({"path": "nothing"}))
        .unwrap_err()
        .to_string();
    assert!(missing.contains("`nothing` does not exist"), "{missing}");
    let directory = bench
        .prepare("read_file", json!({"path": "."}))
        .unwrap_err()
        .to_string();
    assert!(directory.contains("list_files"), "{directory}");
}

#[tokio::test]
async fn creating_shows_the_whole_file_and_never_replaces_one() {
    let bench = Bench::new();
    let args = json!({"path": "new/deep/file.txt", "content": "one\ntwo\n"});
    let plan = bench.prepare("write_file", args.clone()).unwrap();
    assert_eq!(
        (plan.access, highest(&plan.risk_reasons)),
        (Access::WriteAdditive, Risk::Medium)
    );
    assert_eq!(
        plan.operands,
        [("new/deep/file.txt".to_owned(), "absent".to_owned())]
    );
    assert_eq!(
        diff(&plan),
        "--- /dev/null\n+++ b/new/deep/file.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"
    );
    assert!(
        !bench.workspace.join("new").exists(),
        "a plan has no effect"
    );

    let done = bench.execute("write_file", args.clone()).await;
    assert_eq!(
        (done.is_error, done.disposition),
        (false, EffectDisposition::Done),
        "{}",
        done.content
    );
    assert_eq!(
        text(&bench.workspace.join("new/deep/file.txt")),
        "one\ntwo\n"
    );

    let again = bench
        .prepare("write_file", args.clone())
        .unwrap_err()
        .to_string();
    assert!(again.contains("exists already"), "{again}");
    std::fs::write(bench.workspace.join("new/deep/file.txt"), "other").unwrap();
    let late = bench.execute("write_file", args).await;
    assert_eq!(
        (late.is_error, late.disposition),
        (true, EffectDisposition::ConfirmedNoEffect)
    );
    assert_eq!(text(&bench.workspace.join("new/deep/file.txt")), "other");
}

#[tokio::test]
async fn overwriting_is_high_risk_and_bound_to_what_was_there() {
    let bench = Bench::new();
    let path = bench.put("file", "one\ntwo\nthree\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    let args = json!({"path": "file", "content": "one\n2\nthree\n", "mode": "overwrite"});
    let plan = bench.prepare("write_file", args.clone()).unwrap();
    assert_eq!(
        (plan.access, highest(&plan.risk_reasons)),
        (Access::Write, Risk::High)
    );
    assert_eq!(
        plan.reasons(),
        [
            "overwrites 14 bytes",
            "reversible by git: no (no repository in the workspace)"
        ]
    );
    assert_eq!(
        diff(&plan),
        "--- a/file\n+++ b/file\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    );
    std::fs::write(&path, "one\ntwo\nTHREE\n").unwrap();
    let changed = bench.prepare("write_file", args.clone()).unwrap();
    assert_ne!(
        plan.operands, changed.operands,
        "a changed file is another plan"
    );

    bench.execute("write_file", args).await;
    assert_eq!(text(&path), "one\n2\nthree\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o750);
    let left: Vec<_> = std::fs::read_dir(&bench.workspace)
        .unwrap()
        .flatten()
        .map(|e| e.file_name())
        .collect();
    assert_eq!(left, ["file"], "no temporary file stays");

    let fresh = bench
        .prepare(
            "write_file",
            json!({"path": "x", "content": "", "mode": "overwrite"}),
        )
        .unwrap();
    assert_eq!(
        highest(&fresh.risk_reasons),
        Risk::Medium,
        "nothing is there to be replaced"
    );
}

#[tokio::test]
async fn appending_keeps_what_is_there() {
    let bench = Bench::new();
    let path = bench.put("log", "a\n");
    let args = json!({"path": "log", "content": "b\n", "mode": "append"});
    let plan = bench.prepare("write_file", args.clone()).unwrap();
    assert_eq!(
        (plan.access, highest(&plan.risk_reasons)),
        (Access::WriteAdditive, Risk::Medium)
    );
    assert_eq!(diff(&plan), "--- a/log\n+++ b/log\n@@ -1 +1,2 @@\n a\n+b\n");
    bench.execute("write_file", args).await;
    assert_eq!(text(&path), "a\nb\n");
    bench
        .call(
            "write_file",
            json!({"path": "new", "content": "x", "mode": "append"}),
        )
        .await;
    assert_eq!(text(&bench.workspace.join("new")), "x");
}

#[tokio::test]
async fn a_hard_link_is_replaced_not_written_through() {
    let bench = Bench::new();
    let outside = bench.root.join("outside");
    std::fs::write(&outside, "precious").unwrap();
    std::fs::hard_link(&outside, bench.workspace.join("inside")).unwrap();
    for mode in ["append", "overwrite"] {
        bench
            .call(
                "write_file",
                json!({"path": "inside", "content": "evil", "mode": mode}),
            )
            .await;
        assert_eq!(text(&outside), "precious");
    }
}

#[tokio::test]
async fn replacing_what_is_not_shown_says_so() {
    let bench = Bench::new();
    bench.put("image", b"\x89PNG\0\0");
    bench.put("large", "x\n".repeat(1 << 20));
    for (path, words) in [
        ("image", "replaces a binary file of 6 bytes"),
        ("large", "replaces a large file of 2097152 bytes"),
    ] {
        let plan = bench
            .prepare(
                "write_file",
                json!({"path": path, "content": "new\n", "mode": "overwrite"}),
            )
            .unwrap();
        assert!(
            diff(&plan).starts_with(words) && diff(&plan).ends_with("+new\n"),
            "{}",
            diff(&plan)
        );
        assert_eq!(plan.operands[0].1.len(), 64);
    }
    let same = bench
        .prepare("write_file", json!({"path": "e", "content": ""}))
        .unwrap();
    assert!(diff(&same).contains("(an empty file)"));
}

#[tokio::test]
async fn a_diff_is_complete_even_when_everything_changes() {
    let bench = Bench::new();
    let old: String = (0..20_000).fold(String::new(), |all, line| all + &format!("old {line}\n"));
    let new: String = (0..20_000).fold(String::new(), |all, line| all + &format!("new {line}\n"));
    bench.put("file", old);
    let plan = bench
        .prepare(
            "write_file",
            json!({"path": "file", "content": new, "mode": "overwrite"}),
        )
        .unwrap();
    assert_eq!(
        diff(&plan)
            .lines()
            .filter(|line| line.starts_with("+new"))
            .count(),
        20_000
    );
    assert_eq!(
        diff(&plan)
            .lines()
            .filter(|line| line.starts_with("-old"))
            .count(),
        20_000
    );
}

#[tokio::test]
async fn listing_is_sorted_bounded_and_follows_no_link() {
    let bench = Bench::new();
    std::fs::write(bench.hidden.join("token"), "secret").unwrap();
    for path in ["b.rs", "a/x.rs", "a/deep/er/y.rs", ".env", ".gitignore"] {
        bench.put(path, "12345");
    }
    bench.put(".gitignore", "*\n");
    symlink(&bench.hidden, bench.workspace.join("door")).unwrap();
    let list = async |args| bench.call("list_files", args).await.content;
    assert_eq!(
        list(json!({})).await,
        ".env  5 bytes\n.gitignore  2 bytes\na/\na/deep/\na/x.rs  5 bytes\nb.rs  5 bytes\ndoor  link\n"
    );
    assert_eq!(
        list(json!({"depth": 1, "path": "a"})).await,
        "deep/\nx.rs  5 bytes\n"
    );
    assert_eq!(
        list(json!({"glob": "*.rs"})).await,
        "a/deep/er/y.rs  5 bytes\na/x.rs  5 bytes\nb.rs  5 bytes\n"
    );
    assert_eq!(list(json!({"glob": "a/*.rs"})).await, "a/x.rs  5 bytes\n");
    assert_eq!(
        list(json!({"glob": "a/**/*.rs"})).await,
        "a/deep/er/y.rs  5 bytes\na/x.rs  5 bytes\n"
    );
    assert_eq!(list(json!({"glob": "*.py"})).await, "[nothing found]");
    assert!(
        bench
            .prepare("list_files", json!({"path": "door"}))
            .is_err()
    );
    assert!(
        bench
            .prepare("list_files", json!({"glob": "a[" }))
            .unwrap_err()
            .to_string()
            .contains("glob")
    );

    for number in 0..1500 {
        bench.put(&format!("many/{number:05}"), "");
    }
    let many = list(json!({"path": "many"})).await;
    assert_eq!(many.lines().count(), 1001);
    assert!(many.starts_with("00000  0 bytes\n") && many.contains("only the first 1000 entries"));
}

#[test]
fn a_name_taken_at_the_last_moment_is_not_replaced() {
    let bench = Bench::new();
    let guard = Guard::of(bench.workspace.clone(), Vec::new());
    let checked = guard.writable("file").unwrap();
    let (parent, name) = guard.open_parent(&checked).unwrap();
    // After the check and before the rename somebody else creates it.
    let path = bench.put("file", "theirs");
    let failure =
        write_atomically(&parent, name, &[b"ours"], 0o644.into(), Replace::Never).unwrap_err();
    assert!(!failure.named, "{failure:?}");
    assert_eq!(text(&path), "theirs");
    write_atomically(&parent, name, &[b"ours"], 0o600.into(), Replace::Existing).unwrap();
    assert_eq!(text(&path), "ours");
    let names: Vec<_> = std::fs::read_dir(&bench.workspace)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(names, ["file"], "no temporary file stays");
}
