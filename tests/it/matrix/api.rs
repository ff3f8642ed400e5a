//! What an answer of the server means, and how ids stand in a path.

use std::time::Duration;

use leverframe::channels::http::{Answer, CallError};
use leverframe::channels::matrix::api::{REST, judge, media_path, named, segment};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

fn answer(status: u16, body: Value) -> Answer {
    Answer {
        status,
        headers: HeaderMap::new(),
        body,
    }
}

fn judged(status: u16, body: Value) -> Result<Value, CallError> {
    judge(answer(status, body), &str::to_owned)
}

#[test]
fn a_limit_rests_the_account_for_as_long_as_the_server_says() {
    let limited = |status, body| match judged(status, body) {
        Err(CallError::Limited {
            retry_after,
            everything,
        }) => {
            assert!(everything);
            retry_after
        }
        other => panic!("{other:?}"),
    };
    let said = json!({ "errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 4_470 });
    assert_eq!(limited(429, said.clone()), Duration::from_millis(4_470));
    assert_eq!(limited(400, said), Duration::from_millis(4_470));
    assert_eq!(limited(429, Value::Null), REST);
    let mut both = answer(429, json!({ "retry_after_ms": 10 }));
    both.headers.insert("retry-after", "7".parse().unwrap());
    assert!(matches!(
        judge(both, &str::to_owned),
        Err(CallError::Limited { retry_after, .. }) if retry_after == Duration::from_secs(7)
    ));
}

#[test]
fn only_a_refusal_promises_that_nothing_was_done() {
    assert!(matches!(
        judged(403, json!({ "errcode": "M_FORBIDDEN" })),
        Err(CallError::Refused { code: 403, name, .. }) if name == "M_FORBIDDEN"
    ));
    assert!(matches!(
        judged(502, Value::Null),
        Err(CallError::Server { status: 502, .. })
    ));
    assert!(matches!(
        judged(200, Value::Null),
        Err(CallError::Lost { .. })
    ));
    assert!(matches!(
        judged(302, json!({})),
        Err(CallError::Lost { .. })
    ));
    assert!(matches!(
        named(&json!({}), "event_id"),
        Err(CallError::Lost { .. })
    ));
}

#[test]
fn ids_are_one_segment_of_a_path() {
    assert_eq!(segment("!a/b:c?d#e"), "%21a%2Fb%3Ac%3Fd%23e");
    assert_eq!(segment(".."), "%2E%2E");
    assert_eq!(
        media_path("mxc://example.org:8448/aB-1_").as_deref(),
        Some("example.org%3A8448/aB-1_")
    );
    for wrong in [
        "https://example.org/a",
        "mxc://example.org",
        "mxc:///a",
        "mxc://example.org/a/b",
        "mxc://example.org/..",
        "mxc://example.org/a?b",
    ] {
        assert_eq!(media_path(wrong), None, "{wrong}");
    }
}
