//! The Messages decoder: blocks, usage, stop reasons, and everything that must not become a call.

use leverframe::model::anthropic::decoder::Decoder;
use leverframe::model::decode::Decode;
use leverframe::model::failure::Failure;
use leverframe::model::request::{ModelAnswer, ModelErrorKind, ModelEvent, StopReason};
use serde_json::{Value, json};

fn decode(events: &[Value]) -> Result<ModelAnswer, Failure> {
    let mut decoder = Decoder::new(0);
    for event in events {
        decoder.data(&event.to_string())?;
    }
    decoder.finish(400)
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn args(index: u64, part: &str) -> Value {
    delta(
        index,
        json!({"type": "input_json_delta", "partial_json": part}),
    )
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn tool(index: u64, id: &str, name: &str) -> Value {
    start(
        index,
        json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
    )
}

fn ending(reason: &str) -> Vec<Value> {
    vec![
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 20}}),
        json!({"type": "message_stop"}),
    ]
}

fn with_end(mut events: Vec<Value>, reason: &str) -> Vec<Value> {
    events.extend(ending(reason));
    events
}

#[test]
fn interleaved_calls_split_at_every_byte() {
    let text = r#"{"city":"Par\u00eds 🗼","n":[1]}"#;
    for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
        let answer = decode(&with_end(
            vec![
                tool(0, "t0", "one"),
                tool(1, "t1", "two"),
                args(0, ""),
                args(0, &text[..cut]),
                args(1, "{\"b\":"),
                json!({"type": "ping"}),
                args(0, &text[cut..]),
                args(1, "2}"),
                stop(1),
                stop(0),
            ],
            "tool_use",
        ))
        .unwrap();
        let calls: Vec<_> = answer
            .tool_calls
            .iter()
            .map(|call| (call.provider_call_id.as_str(), call.args.clone().unwrap()))
            .collect();
        assert_eq!(
            calls,
            [
                ("t0", json!({"city": "París 🗼", "n": [1]})),
                ("t1", json!({"b": 2}))
            ],
            "cut at {cut}"
        );
        assert_eq!(answer.stop, StopReason::ToolUse);
        assert!(answer.native.is_none(), "nothing needs replaying");
    }
}

#[test]
fn only_closed_calls_have_arguments() {
    let malformed = |events: Vec<Value>, reason: &str| {
        let answer = decode(&with_end(events, reason)).unwrap();
        answer.tool_calls[0].args.is_err()
    };
    let call = || tool(0, "t", "f");
    assert!(
        !malformed(vec![call(), stop(0)], "tool_use"),
        "no arguments are {{}}"
    );
    assert!(!malformed(vec![call(), args(0, ""), stop(0)], "tool_use"));
    assert!(malformed(vec![call()], "max_tokens"));
    assert!(
        malformed(vec![call(), stop(0)], "max_tokens"),
        "cut before the first byte"
    );
    assert!(
        malformed(vec![call(), args(0, "{\"a\":1}")], "max_tokens"),
        "complete by luck is not closed"
    );
    assert!(malformed(
        vec![call(), args(0, "{\"a\":"), stop(0)],
        "tool_use"
    ));
    assert!(malformed(vec![call(), args(0, "[1]"), stop(0)], "tool_use"));
    let large = "x".repeat(2 * 1024 * 1024);
    assert!(malformed(
        vec![call(), args(0, &format!("{{\"a\":\"{large}\"}}")), stop(0)],
        "tool_use"
    ));
    let answer = decode(&with_end(vec![call()], "max_tokens")).unwrap();
    assert_eq!(answer.stop, StopReason::MaxTokens);
}

#[test]
fn thinking_is_kept_verbatim_and_in_order() {
    let events = with_end(
        vec![
            start(
                0,
                json!({"type": "thinking", "thinking": "", "signature": "se"}),
            ),
            delta(0, json!({"type": "thinking_delta", "thinking": "let me "})),
            delta(0, json!({"type": "thinking_delta", "thinking": "see"})),
            delta(0, json!({"type": "signature_delta", "signature": "ed"})),
            delta(0, json!({"type": "signature_delta", "signature": "=="})),
            stop(0),
            start(1, json!({"type": "redacted_thinking", "data": "opaque"})),
            stop(1),
            start(
                2,
                json!({"type": "thinking", "thinking": "", "signature": "only"}),
            ),
            stop(2),
            start(3, json!({"type": "new_kind", "x": 1})),
            delta(3, json!({"type": "new_delta", "y": 2})),
            stop(3),
            start(4, json!({"type": "text", "text": ""})),
            delta(4, json!({"type": "text_delta", "text": "I look."})),
            stop(4),
            tool(5, "t", "f"),
            args(5, "{\"a\":1}"),
            stop(5),
        ],
        "tool_use",
    );
    let answer = decode(&events).unwrap();
    assert_eq!(answer.text, "I look.");
    let native = answer.native.unwrap();
    assert_eq!(native.family, "anthropic");
    assert_eq!(
        native.content,
        json!([
            {"type": "thinking", "thinking": "let me see", "signature": "seed=="},
            {"type": "redacted_thinking", "data": "opaque"},
            {"type": "thinking", "thinking": "", "signature": "only"},
            {"type": "new_kind", "x": 1},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
        ])
    );
}

#[test]
fn usage_is_a_snapshot() {
    let answer = decode(&[
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 0}}}),
        json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 10, "output_tokens": 8, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 30}}),
        json!({"type": "message_stop"}),
    ])
    .unwrap();
    let usage = answer.usage;
    assert_eq!(
        (
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_input_tokens,
            usage.cache_write_tokens
        ),
        (140, 8, 100, 30)
    );
    let by_life = decode(&[
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 10, "cache_creation": {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 4}}}}),
        json!({"type": "message_stop"}),
    ])
    .unwrap();
    assert_eq!(
        (by_life.usage.input_tokens, by_life.usage.cache_write_tokens),
        (44, 34)
    );
    let silent = decode(&[json!({"type": "message_stop"})]).unwrap();
    assert_eq!(
        silent.usage.input_tokens, 100,
        "estimated where not reported"
    );
}

#[test]
fn stop_reasons() {
    for (word, expected) in [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::EndTurn),
        ("max_tokens", StopReason::MaxTokens),
        ("model_context_window_exceeded", StopReason::MaxTokens),
        ("refusal", StopReason::Refusal),
        ("pause_turn", StopReason::Paused),
        (
            "something_new",
            StopReason::Other("something_new".to_owned()),
        ),
    ] {
        assert_eq!(decode(&ending(word)).unwrap().stop, expected, "{word}");
    }
}

#[test]
fn a_refusal_names_its_rule_and_a_pause_keeps_its_content() {
    let refused = decode(&[
        json!({"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": {"type": "refusal", "category": "cyber"}}}),
        json!({"type": "message_stop"}),
    ])
    .unwrap();
    assert_eq!(refused.stop, StopReason::RefusedFor("cyber".to_owned()));
    let text = start(0, json!({"type": "text", "text": "Searching"}));
    let paused = decode(&with_end(vec![text, stop(0)], "pause_turn")).unwrap();
    assert_eq!(
        paused.native.unwrap().content,
        json!([{"type": "text", "text": "Searching"}])
    );
}

#[test]
fn unknown_events_are_signs_of_life() {
    let mut decoder = Decoder::new(0);
    for event in [
        json!({"type": "ping"}),
        json!({"type": "brand_new", "index": 4}),
        json!({}),
    ] {
        assert_eq!(
            decoder.data(&event.to_string()).unwrap(),
            [ModelEvent::Heartbeat]
        );
    }
}

#[test]
fn errors_in_the_stream_carry_what_was_used() {
    let error =
        |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "because"}});
    for (word, expected) in [
        ("overloaded_error", ModelErrorKind::Overloaded),
        ("api_error", ModelErrorKind::Overloaded),
        ("rate_limit_error", ModelErrorKind::RateLimited),
        ("authentication_error", ModelErrorKind::Authentication),
        ("invalid_request_error", ModelErrorKind::InvalidRequest),
        ("not_found_error", ModelErrorKind::NotFound),
        ("never_seen", ModelErrorKind::Overloaded),
    ] {
        let failure = decode(&[
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}}),
            error(word),
        ])
        .unwrap_err();
        assert_eq!(failure.kind, expected, "{word}");
        assert_eq!(
            failure.usage.map(|usage| (usage.input, usage.output)),
            Some((10, 1))
        );
        assert!(failure.what.contains("because"));
    }
}

#[test]
fn success_needs_message_stop() {
    let mut events = vec![start(0, json!({"type": "text", "text": "hi"})), stop(0)];
    events.extend(ending("end_turn"));
    assert_eq!(decode(&events).unwrap().text, "hi");
    events.pop();
    assert_eq!(
        decode(&events).unwrap_err().kind,
        ModelErrorKind::Disconnected
    );
    let stray = decode(&[delta(3, json!({"type": "text_delta", "text": "x"}))]);
    assert_eq!(stray.unwrap_err().kind, ModelErrorKind::Protocol);
}
