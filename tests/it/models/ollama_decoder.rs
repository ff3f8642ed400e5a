//! The decoder of Ollama's lines.

#![allow(clippy::format_collect)] // short texts of a test

use std::collections::VecDeque;

use leverframe::model::decode::Decode;
use leverframe::model::exchange::LIMITS;
use leverframe::model::ollama::decoder::Decoder;
use leverframe::model::request::{ModelAnswer, ModelErrorKind, ModelEvent, StopReason};
use leverframe::text::framing::{Format, Guard};
use proptest::prelude::*;
use serde_json::{Value, json};

fn decode(lines: &[Value]) -> ModelAnswer {
    let mut decoder = Decoder::new(0);
    for line in lines {
        decoder.data(&line.to_string()).unwrap();
    }
    decoder.finish(400).unwrap()
}

fn message(message: Value) -> Value {
    json!({"model": "m", "message": message, "done": false})
}

fn end(reason: &str) -> Value {
    json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
           "prompt_eval_count": 26, "eval_count": 9})
}

fn call(name: &str, args: Value) -> Value {
    json!({"function": {"name": name, "arguments": args}})
}

/// (id, name, arguments) of each call; malformed ones as null.
fn found(answer: &ModelAnswer) -> Vec<(&str, &str, Value)> {
    answer
        .tool_calls
        .iter()
        .map(|call| {
            (
                call.provider_call_id.as_str(),
                call.name.as_str(),
                call.args.clone().unwrap_or(Value::Null),
            )
        })
        .collect()
}

#[test]
fn one_line_carries_thinking_text_and_two_calls() {
    let answer = decode(&[
        message(json!({
            "role": "assistant",
            "thinking": "Both, then.",
            "content": "I look.",
            "tool_calls": [call("read_file", json!({"path": "a"})), call("read_file", json!({"path": "a"}))],
        })),
        end("stop"),
    ]);
    assert_eq!(answer.text, "I look.");
    assert_eq!(
        answer.stop,
        StopReason::ToolUse,
        "the reason does not know about calls"
    );
    assert_eq!(
        found(&answer),
        [
            ("call_local_0", "read_file", json!({"path": "a"})),
            ("call_local_1", "read_file", json!({"path": "a"})),
        ]
    );
    assert_eq!(
        (answer.usage.input_tokens, answer.usage.output_tokens),
        (26, 9)
    );
    let native = answer.native.unwrap();
    assert_eq!(native.family, "ollama");
    assert_eq!(native.content, json!({"thinking": "Both, then."}));
    assert!(answer.notes.is_empty());
}

#[test]
fn made_up_ids_go_on_where_the_history_ends_and_given_ones_are_kept_once() {
    let mut decoder = Decoder::new(5);
    let with_id = |id: &str| json!({"id": id, "function": {"name": "f", "arguments": {}}});
    let line = message(json!({"tool_calls": [call("f", json!({})), with_id("x"), with_id("x")]}));
    decoder.data(&line.to_string()).unwrap();
    decoder.data(&end("stop").to_string()).unwrap();
    let answer = decoder.finish(0).unwrap();
    let ids: Vec<_> = found(&answer).into_iter().map(|call| call.0).collect();
    assert_eq!(ids, ["call_local_5", "x", "call_local_7"]);
}

#[test]
fn thinking_is_a_sign_of_life_and_never_shown() {
    let mut decoder = Decoder::new(0);
    let thought = message(json!({"role": "assistant", "content": "", "thinking": "hm"}));
    assert_eq!(
        decoder.data(&thought.to_string()).unwrap(),
        [ModelEvent::Heartbeat]
    );
    let text = message(json!({"role": "assistant", "content": "Yes."}));
    decoder.data(&text.to_string()).unwrap();
    assert!(!decoder.is_complete());
    decoder.data(&end("stop").to_string()).unwrap();
    assert!(decoder.is_complete());
    let answer = decoder.finish(0).unwrap();
    assert_eq!(answer.text, "Yes.");
    assert!(
        answer.native.is_none(),
        "only calls need their thoughts again"
    );
}

#[test]
fn only_done_is_an_end() {
    let mut decoder = Decoder::new(0);
    let line = message(json!({"role": "assistant", "content": "half"}));
    decoder.data(&line.to_string()).unwrap();
    let failure = decoder.finish(0).unwrap_err();
    assert_eq!(failure.kind, ModelErrorKind::Disconnected);
    let old = json!({"message": {"content": "x"}, "done": true});
    assert_eq!(
        decode(&[old]).stop,
        StopReason::EndTurn,
        "older servers give no reason"
    );
}

#[test]
fn reasons_of_the_end() {
    let text = message(json!({"content": "x"}));
    for (reason, stop) in [
        ("stop", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("load", StopReason::EndTurn),
        ("novel", StopReason::Other("novel".to_owned())),
    ] {
        assert_eq!(decode(&[text.clone(), end(reason)]).stop, stop, "{reason}");
    }
    for reason in ["load", "unload"] {
        let mut decoder = Decoder::new(0);
        decoder.data(&end(reason).to_string()).unwrap();
        let failure = decoder.finish(0).unwrap_err();
        assert_eq!(failure.kind, ModelErrorKind::Unusable);
        assert!(
            failure.what.contains(&format!("{reason}ed")),
            "{}",
            failure.what
        );
    }
}

#[test]
fn arguments_that_are_no_whole_object_never_run() {
    let args = |value: Value, reason: &str| {
        let answer = decode(&[
            message(json!({"tool_calls": [call("f", value)]})),
            end(reason),
        ]);
        answer.tool_calls[0].args.clone()
    };
    assert_eq!(args(json!({"a": 1}), "stop"), Ok(json!({"a": 1})));
    assert_eq!(args(json!({"a": 1}), "length"), Ok(json!({"a": 1})));
    assert_eq!(args(Value::Null, "stop"), Ok(json!({})));
    assert_eq!(
        args(json!("{\"a\":1}"), "stop"),
        Ok(json!({"a": 1})),
        "the text of an object"
    );
    for (value, reason) in [
        (json!("{\"city\": \"Par"), "stop"),
        (json!("\"x\""), "stop"),
        (json!([1]), "stop"),
        (json!(1), "stop"),
        (json!({}), "length"),
        (Value::Null, "length"),
    ] {
        assert!(args(value.clone(), reason).is_err(), "{value} {reason}");
    }
}

#[test]
fn errors_in_the_stream_are_errors() {
    for (line, kind) in [
        (
            json!({"error": "an error was encountered while running the model"}),
            ModelErrorKind::Overloaded,
        ),
        (
            json!({"error": "unauthorized", "status_code": 401}),
            ModelErrorKind::Authentication,
        ),
        (
            json!({"error": "the input exceeds the context window"}),
            ModelErrorKind::ContextTooLong,
        ),
        (json!([1]), ModelErrorKind::Protocol),
    ] {
        let mut decoder = Decoder::new(0);
        decoder
            .data(&message(json!({"content": "half"})).to_string())
            .unwrap();
        let failure = decoder.data(&line.to_string()).unwrap_err();
        assert_eq!(failure.kind, kind, "{}", failure.what);
    }
    let failure = Decoder::new(0).data("<html>hotel").unwrap_err();
    assert_eq!(failure.kind, ModelErrorKind::Protocol);
    assert!(failure.what.contains("<html>hotel"));
}

#[test]
fn counts_that_never_come_are_estimated() {
    let mut decoder = Decoder::new(0);
    let line = json!({"message": {"content": "eight by"}, "done": true, "prompt_eval_count": 0, "eval_count": 0});
    decoder.data(&line.to_string()).unwrap();
    let usage = decoder.finish(400).unwrap().usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (100, 2));
}

#[test]
fn a_count_far_below_what_was_sent_is_noted() {
    let notes = |read: u64, sent: usize| {
        let mut decoder = Decoder::new(0);
        let line = json!({"message": {"content": "x"}, "done": true, "prompt_eval_count": read});
        decoder.data(&line.to_string()).unwrap();
        decoder.finish(sent).unwrap().notes
    };
    let noted = notes(2048, 40_000);
    assert_eq!(noted.len(), 1);
    assert!(
        noted[0].contains("cut the context") && noted[0].contains("2048"),
        "{noted:?}"
    );
    assert!(notes(6_000, 40_000).is_empty(), "an estimate is not exact");
    assert!(notes(100, 3_000).is_empty(), "too small to judge");
    assert!(
        !notes(0, 40_000).concat().contains("cut the context"),
        "no count is no evidence"
    );
}

fn answer_bytes() -> Vec<u8> {
    let lines = [
        message(json!({"role": "assistant", "thinking": "schön", "content": "Grüße 👋 "})),
        message(
            json!({"content": "und mehr\u{2028}", "tool_calls": [call("f", json!({"city": "París 🗼"}))]}),
        ),
        message(json!({"tool_calls": [call("g", json!({}))]})),
        end("stop"),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("\u{feff}{text}").into_bytes()
}

fn decode_chunks<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> (Vec<ModelEvent>, ModelAnswer) {
    let mut guard = Guard::new(Format::JsonLines, LIMITS);
    let mut lines = VecDeque::new();
    for chunk in chunks {
        guard.push(chunk, &mut lines).unwrap();
    }
    guard.finish(&mut lines).unwrap();
    let mut decoder = Decoder::new(0);
    let mut events = Vec::new();
    for line in &lines {
        events.extend(decoder.data(line).unwrap());
    }
    (events, decoder.finish(0).unwrap())
}

#[test]
fn cut_at_every_byte_the_answer_is_the_same() {
    let bytes = answer_bytes();
    let expected = decode_chunks([bytes.as_slice()].into_iter());
    assert_eq!(expected.1.text, "Grüße 👋 und mehr\u{2028}");
    assert_eq!(expected.1.tool_calls.len(), 2);
    for cut in 0..=bytes.len() {
        let (left, right) = bytes.split_at(cut);
        assert_eq!(
            decode_chunks([left, right].into_iter()),
            expected,
            "cut at {cut}"
        );
    }
    assert_eq!(decode_chunks(bytes.chunks(1)), expected);
}

fn nonsense() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..5).prop_map(Value::from),
        Just(json!("x")),
        Just(json!("{\"a\":1}")),
    ];
    let key = prop_oneof![
        Just("message"),
        Just("content"),
        Just("thinking"),
        Just("tool_calls"),
        Just("function"),
        Just("name"),
        Just("arguments"),
        Just("id"),
        Just("done"),
        Just("done_reason"),
        Just("error"),
        Just("eval_count"),
        Just("prompt_eval_count"),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key.clone().prop_map(str::to_owned), inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nonsense_never_crashes_it(lines in proptest::collection::vec(nonsense(), 0..8)) {
        let mut decoder = Decoder::new(0);
        for line in &lines {
            if decoder.data(&line.to_string()).is_err() {
                return Ok(());
            }
        }
        decoder.data(&end("stop").to_string()).unwrap();
        if let Ok(answer) = decoder.finish(0) {
            prop_assert!(answer.tool_calls.iter().all(|call| call.args.as_ref().map_or(true, Value::is_object)));
        }
    }
}
