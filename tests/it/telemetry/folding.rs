//! Events become spans: the pure part.

use std::collections::BTreeMap;

use leverframe::clock::Timestamp;
use leverframe::protocol::enums::{LogLevel, ToolCallState};
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use leverframe::protocol::log::LogLine;
use leverframe::protocol::session::Usage;
use leverframe::telemetry::spans::Spans;
use leverframe::telemetry::{logs, span_ids};
use leverframe::text::redact::Redactor;
use opentelemetry_proto::tonic::trace::v1::Span;

use crate::telemetry::collector::map;

const AT: Timestamp = Timestamp(1_800_000_000_000);
const SECRET: &str = "sk-0123456789abcdefghij";

fn spans(share: f64) -> Spans {
    let providers = BTreeMap::from([("work".to_owned(), "anthropic".to_owned())]);
    Spans::new(providers, share, Redactor::default())
}

fn event(turn: ContinuationId, seq: u64, millis: i64, body: EventBody) -> Event {
    Event {
        seq: Some(seq),
        at: AT.plus_millis(millis),
        session_id: Some(SessionId::from_bytes([7; 16])),
        continuation_id: Some(turn),
        body,
    }
}

fn finished(latency_ms: u64, error: Option<&str>, stop: Option<&str>) -> EventBody {
    EventBody::ModelFinished {
        model: "work/claude".to_owned(),
        step: 1,
        usage: Usage {
            input_tokens: 12,
            output_tokens: 3,
            cached_input_tokens: 5,
            ..Usage::default()
        },
        latency_ms,
        error: error.map(str::to_owned),
        stop: stop.map(str::to_owned),
        answered_by: None,
        notes: vec!["a note that nobody else reads".to_owned()],
    }
}

/// The same, with this name of the model that answered.
fn answered_by(mut body: EventBody, given: &str) -> EventBody {
    if let EventBody::ModelFinished { answered_by, .. } = &mut body {
        *answered_by = Some(given.to_owned());
    }
    body
}

fn tool(name: &str, state: ToolCallState) -> EventBody {
    EventBody::ToolFinished {
        call_id: ToolCallId::generate(),
        name: name.to_owned(),
        state,
        preview: "a result that nobody else reads".to_owned(),
        duration_ms: Some(250),
        cached: None,
    }
}

fn millis(span: &Span) -> (i64, i64) {
    let after = |nanos: u64| i64::try_from(nanos / 1_000_000).unwrap() - AT.as_millis();
    (
        after(span.start_time_unix_nano),
        after(span.end_time_unix_nano),
    )
}

#[test]
fn a_model_call_lasts_from_its_request_to_its_answer() {
    let turn = ContinuationId::generate();
    let mut spans = spans(1.0);
    let started = EventBody::ModelStarted {
        model: "work/claude".to_owned(),
        attempt: 1,
        not_before: None,
    };
    assert_eq!(spans.fold(&event(turn, 1, 1000, started)), None);
    let failed = finished(0, Some("HTTP 500: a text of the provider"), None);
    let span = spans.fold(&event(turn, 2, 1700, failed)).unwrap();
    assert_eq!(millis(&span), (1000, 1700));
    let said = map(&span.attributes);
    assert_eq!(said["error.type"], "_OTHER");
    assert_eq!(said["gen_ai.provider.name"], "anthropic");
    assert_eq!(said["gen_ai.usage.cache_read.input_tokens"], "5");
    assert!(!said.contains_key("gen_ai.response.finish_reasons"));
    assert!(!said.contains_key("gen_ai.response.model"));
    // Its beginning was in another process.
    let answered = answered_by(finished(300, None, Some("end_turn")), "claude-2026-01-15");
    let next = spans.fold(&event(turn, 3, 2500, answered)).unwrap();
    assert_eq!(millis(&next), (2200, 2500));
    assert_ne!(next.span_id, span.span_id);
    assert_eq!(next.parent_span_id, span_ids::root(turn));
    let said = map(&next.attributes);
    assert_eq!(said["gen_ai.request.model"], "claude");
    assert_eq!(said["gen_ai.response.model"], "claude-2026-01-15");
    for span in [span, next] {
        let text = format!("{span:?}");
        assert!(
            !text.contains("nobody else") && !text.contains("a text of"),
            "{text}"
        );
    }
}

#[test]
fn names_that_others_choose_stay_names() {
    let turn = ContinuationId::generate();
    let mut spans = spans(1.0);
    for given in ["rm -rf / please", SECRET, "", &"x".repeat(500)] {
        let body = tool(given, ToolCallState::Failed);
        let span = spans.fold(&event(turn, 1, 0, body)).unwrap();
        assert_eq!(span.name, "execute_tool other");
        let said = map(&span.attributes);
        assert_eq!(said["gen_ai.tool.name"], "other");
        assert_eq!(said["error.type"], "failed");
    }
    let stop = finished(1, None, Some("I stop because\nof you"));
    let stop = answered_by(stop, "the model that\nyou asked");
    let span = spans.fold(&event(turn, 2, 0, stop)).unwrap();
    let said = map(&span.attributes);
    assert_eq!(said["gen_ai.response.finish_reasons"], "[other]");
    assert_eq!(said["gen_ai.response.model"], "other");
    let body = tool("mcp__files__read", ToolCallState::Succeeded);
    let span = spans.fold(&event(turn, 3, 0, body)).unwrap();
    assert_eq!(span.name, "execute_tool mcp__files__read");
    assert_eq!(millis(&span), (-250, 0));
    assert_eq!(span.status, None);
}

#[test]
fn a_share_of_the_turns_is_traced_whole_or_not_at_all() {
    let turns: Vec<ContinuationId> = (0..2000).map(|_| ContinuationId::generate()).collect();
    let count = |share: f64| {
        let sampled = turns.iter().filter(|turn| {
            let mut spans = spans(share);
            let one = spans.fold(&event(**turn, 1, 0, finished(1, None, None)));
            let two = spans.fold(&event(**turn, 2, 0, tool("a", ToolCallState::Failed)));
            assert_eq!(one.is_some(), two.is_some());
            one.is_some()
        });
        sampled.count()
    };
    assert_eq!((count(0.0), count(1.0)), (0, 2000));
    let quarter = count(0.25);
    assert!((400..600).contains(&quarter), "{quarter}");
}

#[test]
fn a_line_of_the_log_names_the_trace_of_its_turn() {
    let turn = ContinuationId::generate();
    let line = |text: String| LogLine {
        number: 1,
        at: AT,
        level: LogLevel::Warn,
        target: "leverframe::engine".to_owned(),
        text,
    };
    let record = logs::record(
        &line(format!("turn failed continuation={turn} code=auth")),
        None,
        1.0,
    );
    assert_eq!(record.trace_id, span_ids::trace(turn, None));
    assert_eq!(record.flags, 1);
    for text in [
        "nothing of a turn".to_owned(),
        "cut off continuation=con_01".to_owned(),
    ] {
        let record = logs::record(&line(text), None, 1.0);
        assert!(record.trace_id.is_empty() && record.span_id.is_empty());
        assert_eq!(record.flags, 0);
    }
    let of_turn = line(format!("turn failed continuation={turn}"));
    let record = logs::record(&of_turn, None, 0.0);
    assert_eq!(record.flags, 0);
}
