//! Calls, their answers, and what is no answer.

use std::time::{Duration, Instant};

use leverframe::config::mcp::McpPlace;
use leverframe::tools::tool::EffectDisposition::{ConfirmedNoEffect, Done, Unknown};
use serde_json::json;

use crate::mcp_client::world::{SERVER, Scripted, none, program, settings};
use crate::tools::harness::eventually;

#[tokio::test]
async fn a_call_gives_its_text_in_both_eras() {
    for words in [&["legacy"][..], &["modern"]] {
        let server = Scripted::new(words);
        let called = server.call("echo", json!({"text": "a\u{e4}\n\"b\""})).await;
        assert_eq!(called.outcome.content, "a\u{e4}\n\"b\"", "{words:?}");
        assert!(!called.outcome.is_error);
        assert_eq!(called.outcome.disposition, Done);
        assert_eq!(server.said("nothing", none()).await, "");
    }
}

#[tokio::test]
async fn what_belongs_to_no_call_changes_nothing() {
    for words in [&["legacy"][..], &["modern"]] {
        let server = Scripted::new(words);
        assert_eq!(server.said("wrong_ids", none()).await, "yours");
        assert_eq!(server.said("twice", none()).await, "first");
        assert_eq!(server.said("echo", json!({"text": "still"})).await, "still");
    }
}

#[tokio::test]
async fn an_answer_that_is_none_is_a_clear_failure() {
    let server = Scripted::new(&["modern"]);
    let task = server.call("task", none()).await;
    assert!(task.outcome.content.contains("task"), "{task:?}");
    assert_eq!(task.outcome.disposition, Unknown);
    let old = Scripted::new(&["legacy"]);
    let odd = old.call("odd", none()).await;
    assert!(odd.outcome.is_error, "{odd:?}");
    assert_eq!(odd.outcome.disposition, Unknown);
    let failed = server.call("fail", none()).await;
    assert!(failed.outcome.content.contains("it broke inside"));
    assert_eq!(failed.outcome.disposition, Unknown);
    let refused = server.call("refuse", none()).await;
    assert!(refused.outcome.content.contains("no such thing"));
    assert_eq!(refused.outcome.disposition, ConfirmedNoEffect);
    // Both a result and an error: whichever counts, the call ends and the connection stays.
    let both = server.call("both", none()).await;
    assert!(both.outcome.content.contains("a result") || both.outcome.is_error);
    assert_eq!(server.said("echo", json!({"text": "on"})).await, "on");
}

#[tokio::test]
async fn a_structured_result_that_lies_about_its_shape_is_left_out() {
    let server = Scripted::new(&[]);
    let fits = server.call("structured", json!({"n": 3})).await;
    assert_eq!(fits.structured, Some(json!({"n": 3})));
    assert!(fits.outcome.content.contains("\"n\": 3"));
    let lies = server.call("structured", json!({"n": "three"})).await;
    assert_eq!(lies.structured, None);
    assert!(
        lies.outcome
            .content
            .starts_with("said\n[the structured result")
    );
    assert!(!lies.outcome.is_error);
}

#[tokio::test]
async fn what_is_no_text_is_named_and_never_fetched() {
    let server = Scripted::new(&[]);
    let said = server.said("image", none()).await;
    assert!(
        said.contains("[image, image/png, 3 bytes: not shown]"),
        "{said}"
    );
    assert!(said.contains("[link to file:///etc/shadow (shadow): not fetched]"));
}

#[tokio::test]
async fn a_large_result_is_cut_with_a_note() {
    let mut small = settings(McpPlace::Program(program(&[])));
    small.max_result_bytes = 1000;
    let server = Scripted::with(small);
    let said = server.said("big", json!({"bytes": 3_000_000})).await;
    assert!(said.starts_with("bbbb") && said.contains("2999000 bytes left out"));
    assert!(said.len() < 1200);
}

#[tokio::test]
async fn progress_is_shown_and_a_flood_is_not() {
    let server = Scripted::new(&[]);
    assert_eq!(server.said("progress", none()).await, "done");
    let seen = server.person.seen.lock().unwrap().clone();
    assert_eq!(seen[0], "1 of 3: step 1\n");
    assert_eq!(seen.len(), 3, "{seen:?}");
    server.person.seen.lock().unwrap().clear();
    assert_eq!(server.said("flood", none()).await, "flooded");
    let seen = server.person.seen.lock().unwrap().len();
    assert!(seen < 100, "{seen}");
}

#[tokio::test]
async fn only_progress_that_grows_keeps_a_call_alive_and_none_beyond_the_longest_time() {
    let mut short = settings(McpPlace::Program(program(&[])));
    short.idle_timeout = Duration::from_millis(600);
    short.max_duration = Duration::from_secs(2);
    let server = Scripted::with(short);
    let (stuck, forever, wait) = (
        server.request("stuck", none()).await,
        server.request("forever", none()).await,
        server.request("wait", none()).await,
    );
    for (request, why) in [
        (wait, "no progress within"),
        (stuck, "no progress within"),
        (forever, "the longest time of a call"),
    ] {
        let began = Instant::now();
        let called = server.send(request).await;
        assert!(called.outcome.content.contains(why), "{called:?}");
        assert_eq!(called.outcome.disposition, Unknown);
        assert!(began.elapsed() < Duration::from_secs(10));
    }
    assert_eq!(server.said("echo", json!({"text": "on"})).await, "on");
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once_and_its_server_is_told() {
    for era in ["legacy", "modern"] {
        let root = tempfile::tempdir().unwrap();
        let state = root.path().join("state");
        let server = Scripted::new(&[era, "state", state.to_str().unwrap()]);
        let request = server.request("wait", none()).await;
        let cancel = server.cancel.clone();
        let received = state.clone();
        let cancelling = tokio::spawn(async move {
            eventually("the call arrives", || {
                std::fs::read_to_string(&received)
                    .unwrap_or_default()
                    .contains("tools/call")
            })
            .await;
            cancel.cancel();
            Instant::now()
        });
        let called = server.send(request).await;
        assert!(cancelling.await.unwrap().elapsed() < Duration::from_secs(2));
        assert_eq!(called.outcome.disposition, Unknown);
        assert!(called.outcome.content.contains("cancelled"), "{called:?}");
        eventually("the server is told", || {
            std::fs::read_to_string(&state)
                .unwrap_or_default()
                .contains("notifications/cancelled")
        })
        .await;
    }
}

#[tokio::test]
async fn a_changed_definition_gets_no_call() {
    let root = tempfile::tempdir().unwrap();
    let changed = root.path().join("changed");
    let server = Scripted::new(&["legacy", "change", changed.to_str().unwrap()]);
    let trusted = server.request("echo", json!({"text": "hi"})).await;
    assert_eq!(server.send(trusted.clone()).await.outcome.content, "hi");
    std::fs::write(&changed, "").unwrap();
    let mut changes = server.servers.changes();
    // The server says that something changed, as it should.
    assert_eq!(server.said("notify", none()).await, "told");
    assert_eq!(changes.recv().await.unwrap(), SERVER);
    let refused = server.send(trusted).await;
    assert!(
        refused.outcome.content.starts_with("not sent"),
        "{refused:?}"
    );
    assert_eq!(refused.outcome.disposition, ConfirmedNoEffect);
    assert_eq!(changes.recv().await.unwrap(), SERVER);
}

#[tokio::test]
async fn another_server_in_the_same_place_gets_no_call() {
    let server = Scripted::new(&["name", "somebody"]);
    let mut request = server.request("echo", none()).await;
    assert_eq!(request.identity.name, "somebody");
    request.identity.name = "scripted".to_owned();
    let refused = server.send(request).await;
    assert!(
        refused.outcome.content.contains("another one"),
        "{refused:?}"
    );
    assert_eq!(refused.outcome.disposition, ConfirmedNoEffect);
}

#[tokio::test]
async fn requests_of_a_server_for_a_model_or_directories_are_declined() {
    let server = Scripted::new(&["legacy"]);
    assert_eq!(server.said("sample", none()).await, "[true, true]");
}
