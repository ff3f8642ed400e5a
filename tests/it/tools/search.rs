//! search_files.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::tools::harness::Bench;

#[tokio::test]
async fn matches_are_named_by_path_and_line() {
    let bench = Bench::new();
    std::fs::write(bench.hidden.join("token"), "needle secret").unwrap();
    bench.put("a.rs", "x\r\nneedle one\r\n");
    bench.put("sub/b.txt", "needle two");
    bench.put("sub/binary", b"needle\0three");
    bench.put(".git/objects/x", "needle four");
    bench.put("latin1", b"needle \xe9\n");
    symlink(&bench.hidden, bench.workspace.join("door")).unwrap();
    symlink(bench.hidden.join("token"), bench.workspace.join("link")).unwrap();
    let search = async |args| bench.call("search_files", args).await.content;
    assert_eq!(
        search(json!({"pattern": "need.e"})).await,
        "a.rs:2: needle one\nlatin1:1: needle \u{fffd}\nsub/b.txt:1: needle two\n"
    );
    assert_eq!(
        search(json!({"pattern": "needle", "glob": "*.rs"})).await,
        "a.rs:2: needle one\n"
    );
    assert_eq!(
        search(json!({"pattern": "(?i)NEEDLE", "path": "sub"})).await,
        "sub/b.txt:1: needle two\n"
    );
    assert_eq!(
        search(json!({"pattern": "^needle", "path": "sub/b.txt"})).await,
        "sub/b.txt:1: needle two\n"
    );
    assert_eq!(search(json!({"pattern": "absent"})).await, "[no match]\n");
    for args in [
        json!({"pattern": "("}),
        json!({"pattern": "x", "path": "door"}),
        json!({"pattern": "x", "path": "link"}),
        json!({"pattern": "x", "path": "missing"}),
        json!({"pattern": "(?:a{1000}){1000}"}),
    ] {
        assert!(
            bench.prepare("search_files", args.clone()).is_err(),
            "{args}"
        );
    }
}

#[tokio::test]
async fn answers_are_bounded() {
    let bench = Bench::new();
    bench.put("many", "hit\n".repeat(5000));
    let default = bench
        .call("search_files", json!({"pattern": "hit"}))
        .await
        .content;
    assert_eq!(default.lines().count(), 101);
    assert!(
        default.contains("stopped after 100 matches"),
        "{default:.200}"
    );
    let two = bench
        .call("search_files", json!({"pattern": "hit", "limit": 2}))
        .await
        .content;
    assert_eq!(two.lines().count(), 3);
    bench.put(
        "wide",
        format!("{}hit{}\n", "x".repeat(100_000), "y".repeat(100_000)).repeat(3),
    );
    let wide = bench
        .call(
            "search_files",
            json!({"pattern": "hit", "path": "wide", "limit": 1000}),
        )
        .await
        .content;
    assert!(
        wide.lines().count() == 3 && wide.len() < 2000 && wide.contains("xhity"),
        "{}",
        wide.len()
    );
    bench.put("huge", vec![b'a'; 9 << 20]);
    let huge = bench
        .call("search_files", json!({"pattern": "zzz"}))
        .await
        .content;
    assert!(
        huge.contains("1 files over 8 MiB were not searched"),
        "{huge}"
    );
}

#[tokio::test]
async fn a_hostile_pattern_takes_linear_time() {
    let bench = Bench::new();
    bench.put("as", "a".repeat(100_000));
    let began = Instant::now();
    bench
        .call("search_files", json!({"pattern": "(a*)*(a|aa)+$b"}))
        .await;
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn a_cancelled_search_stops() {
    let bench = Bench::new();
    bench.put("file", "x");
    bench.cancel.cancel();
    let outcome = bench.call("search_files", json!({"pattern": "x"})).await;
    assert!(
        outcome.is_error && outcome.content == "cancelled",
        "{outcome:?}"
    );
}
