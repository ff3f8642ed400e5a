//! Callers that have a trace of their own: what they begin is a part of it (W3C Trace Context).

use leverframe::protocol::hex::hex;
use leverframe::protocol::trace_parent::TraceParent;
use opentelemetry_proto::tonic::trace::v1::Span;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::support::daemon::{Daemon, client};
use crate::telemetry::collector::{Collector, Exports, body};
use crate::telemetry::turns::{TOKEN, home, trace_of};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn header() -> String {
    format!("00-{TRACE}-{SPAN}-01")
}

/// A request to the daemon.
fn post(daemon: &Daemon, path: &str, body: &Value) -> RequestBuilder {
    client()
        .post(format!("{}{path}", daemon.base))
        .bearer_auth(&daemon.token)
        .header("Accept", "application/json, text/event-stream")
        .json(body)
}

async fn sent(request: RequestBuilder) -> Value {
    let answer = request.send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.status());
    let text = answer.text().await.unwrap();
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

/// Begins a turn and waits for its end.
async fn turn(daemon: &Daemon, session: &str, text: &str, traces: &[&str]) -> String {
    let path = format!("/v1/sessions/{session}/messages");
    let mut request = post(daemon, &path, &json!({ "text": text }));
    for trace in traces {
        request = request.header("traceparent", *trace);
    }
    let accepted = sent(request).await;
    let turn = accepted["continuation_id"].as_str().unwrap().to_owned();
    daemon.wait_state(&turn, "completed").await;
    turn
}

/// The spans of whole turns.
fn roots(seen: &Exports) -> Vec<&Span> {
    let spans = seen.spans.iter();
    spans
        .filter(|span| span.name.starts_with("invoke_agent"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_door_begins_turns_within_the_trace_of_its_caller() {
    let collector = Collector::start();
    let home = home(&collector);
    let mut daemon = home.daemon_with(&[("COLLECTOR_TOKEN", TOKEN)]);
    let session = daemon.session().await;
    turn(&daemon, &session, "SAY:one", &[&header()]).await;
    let chat = json!({ "model": "api", "messages": [{ "role": "user", "content": "SAY:two" }] });
    let ask = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "ask", "arguments": { "text": "SAY:three" } },
    });
    let hook = json!({
        "session_id": "11111111-1111-4111-8111-111111111111",
        "transcript_path": "/home/user/.claude/projects/p/1.jsonl",
        "cwd": "/home/user/shop",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Read",
        "tool_input": { "file_path": "/home/user/shop/a.rs" },
        "tool_use_id": "t1",
    });
    for (path, body) in [
        ("/v1/chat/completions", chat),
        ("/mcp", ask),
        ("/v1/gate/claude", hook),
    ] {
        let request = post(&daemon, path, &body)
            .header("traceparent", header())
            .header("MCP-Protocol-Version", "2025-11-25");
        sent(request).await;
    }
    assert!(daemon.terminate().success());
    let seen = collector.seen();
    let whole = roots(&seen);
    let mut names: Vec<&str> = whole.iter().map(|span| span.name.as_str()).collect();
    names.sort_unstable();
    let expected = ["api", "api", "gate", "mcp"].map(|channel| format!("invoke_agent {channel}"));
    assert_eq!(names, expected);
    for root in &whole {
        assert_eq!(hex(&root.parent_span_id), SPAN, "{root:#?}");
    }
    let ids: Vec<&[u8]> = whole.iter().map(|span| span.span_id.as_slice()).collect();
    for span in &seen.spans {
        assert_eq!(hex(&span.trace_id), TRACE, "{span:#?}");
        let is_below = ids.contains(&span.parent_span_id.as_slice());
        assert!(is_below || ids.contains(&span.span_id.as_slice()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_stays_in_the_trace_of_its_caller_after_a_crash_and_its_lines_name_it() {
    let collector = Collector::start();
    let home = home(&collector);
    let mut daemon = home.daemon_with(&[("COLLECTOR_TOKEN", TOKEN)]);
    let session = daemon.session().await;
    let path = format!("/v1/sessions/{session}/messages");
    let write = json!({ "text": "TOOL:write_file {\"path\": \"a.txt\", \"content\": \"b\"}" });
    sent(post(&daemon, &path, &write).header("traceparent", header())).await;
    daemon.wait_approval().await;
    daemon.kill();
    let mut daemon = home.daemon_with(&[("COLLECTOR_TOKEN", TOKEN)]);
    let approval = daemon.wait_approval().await;
    daemon.decide(&approval, "deny").await;
    let turn = approval["continuation_id"].as_str().unwrap();
    daemon.wait_state(turn, "completed").await;
    // A line of the log is about this one.
    let fail = post(&daemon, &path, &json!({ "text": "FAIL:auth" }));
    let failed = sent(fail.header("traceparent", header())).await;
    let failed = failed["continuation_id"].as_str().unwrap().to_owned();
    daemon.wait_state(&failed, "failed").await;
    assert!(daemon.terminate().success());
    let seen = collector.seen();
    let whole = roots(&seen);
    assert_eq!(whole.len(), 2, "{:#?}", seen.spans);
    for root in whole {
        assert_eq!(hex(&root.parent_span_id), SPAN);
    }
    for span in &seen.spans {
        assert_eq!(hex(&span.trace_id), TRACE, "{span:#?}");
    }
    let of_turn = seen
        .records
        .iter()
        .filter(|one| body(one).contains(&failed));
    let traces: Vec<String> = of_turn.map(|one| hex(&one.trace_id)).collect();
    assert!(!traces.is_empty(), "no line names the turn");
    assert!(traces.iter().all(|trace| trace == TRACE), "{traces:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_names_no_trace_changes_nothing() {
    let collector = Collector::start();
    let home = home(&collector);
    let mut daemon = home.daemon_with(&[("COLLECTOR_TOKEN", TOKEN)]);
    let session = daemon.session().await;
    let invalid = format!("00-{}-{SPAN}-01", TRACE.to_uppercase());
    let own = [
        turn(&daemon, &session, "SAY:one", &[&invalid]).await,
        turn(&daemon, &session, "SAY:two", &[&header(), &header()]).await,
        turn(&daemon, &session, "SAY:three", &[]).await,
    ];
    // Its caller does not record the trace, so nobody does.
    let unrecorded = header().replace("-01", "-00");
    turn(&daemon, &session, "SAY:four", &[&unrecorded]).await;
    assert!(daemon.terminate().success());
    let seen = collector.seen();
    let mut traces: Vec<&[u8]> = Vec::new();
    for root in roots(&seen) {
        assert!(root.parent_span_id.is_empty(), "{root:#?}");
        traces.push(&root.trace_id);
    }
    let expected = own.map(|turn| trace_of(&turn));
    assert_eq!(traces, expected);
}

#[test]
fn a_header_is_read_as_the_specification_says() {
    let read = |text: &str| text.parse::<TraceParent>().ok();
    let parent = read(&header()).unwrap();
    assert_eq!(parent.to_string(), header());
    assert_eq!(hex(&parent.trace_id()), TRACE);
    assert_eq!(hex(&parent.span_id()), SPAN);
    assert!(parent.is_sampled());
    // Flags of later versions of the specification count as they are, and say nothing of this one.
    for (flags, sampled) in [("00", false), ("02", false), ("ff", true)] {
        let parent = read(&format!("00-{TRACE}-{SPAN}-{flags}")).unwrap();
        assert_eq!(parent.is_sampled(), sampled, "{flags}");
    }
    // A later version may say more.
    for later in [
        format!("01-{TRACE}-{SPAN}-01"),
        format!("cc-{TRACE}-{SPAN}-01-what-comes"),
    ] {
        assert_eq!(read(&later), Some(parent), "{later}");
    }
    let zeros = "0".repeat(32);
    for invalid in [
        String::new(),
        format!("00-{TRACE}-{SPAN}"),
        format!("00-{TRACE}-{SPAN}-1"),
        format!("00-{TRACE}-{SPAN}-01-more"),
        format!("cc-{TRACE}-{SPAN}-01.more"),
        format!("ff-{TRACE}-{SPAN}-01"),
        format!("00-{zeros}-{SPAN}-01"),
        format!("00-{TRACE}-{}-01", &zeros[..16]),
        format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
        format!("00-{TRACE}_{SPAN}-01"),
        format!("00-{}-{SPAN}-01", TRACE.replace('4', "+")),
        format!("00-{}é-{SPAN}-01", &TRACE[2..]),
        format!(" {}", header()),
    ] {
        assert_eq!(read(&invalid), None, "{invalid:?}");
    }
}
