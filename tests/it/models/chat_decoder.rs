//! The Chat Completions decoder on the chunk shapes that servers really send.

use leverframe::model::decode::{Decode, Progress};
use leverframe::model::openai_chat::decoder::Decoder;
use leverframe::model::request::{ModelAnswer, ModelErrorKind, ModelEvent, StopReason};
use serde_json::{Value, json};

fn decode(chunks: &[Value]) -> ModelAnswer {
    let mut decoder = Decoder::new(0);
    for chunk in chunks {
        decoder.data(&chunk.to_string()).unwrap();
    }
    decoder.finish(400).unwrap()
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn calls(fragments: Value) -> Value {
    delta(json!({"tool_calls": fragments}))
}

fn end(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// (id, name, arguments) of each call; malformed ones as null.
fn found(answer: &ModelAnswer) -> Vec<(String, String, Value)> {
    answer
        .tool_calls
        .iter()
        .map(|call| {
            (
                call.provider_call_id.clone(),
                call.name.clone(),
                call.args.clone().unwrap_or(Value::Null),
            )
        })
        .collect()
}

fn expect(list: &[(&str, &str, Value)]) -> Vec<(String, String, Value)> {
    list.iter()
        .map(|(id, name, args)| ((*id).to_owned(), (*name).to_owned(), args.clone()))
        .collect()
}

#[test]
fn parallel_calls_split_at_every_byte() {
    let args = [r#"{"city":"Par\u00eds 🗼"}"#, r#"{"a":{"b":[1,2]}}"#];
    for cut in 0..=args[0].len() {
        if !args[0].is_char_boundary(cut) {
            continue;
        }
        let answer = decode(&[
            delta(json!({"role": "assistant", "content": null})),
            calls(
                json!([{"index": 0, "id": "c0", "type": "function", "function": {"name": "one", "arguments": ""}}]),
            ),
            calls(json!([{"index": 0, "function": {"arguments": &args[0][..cut]}}])),
            calls(
                json!([{"index": 1, "id": "c1", "function": {"name": "two", "arguments": args[1]}}]),
            ),
            calls(json!([{"index": 0, "function": {"arguments": &args[0][cut..]}}])),
            end("tool_calls"),
        ]);
        assert_eq!(
            found(&answer),
            expect(&[
                ("c0", "one", json!({"city": "París 🗼"})),
                ("c1", "two", json!({"a": {"b": [1, 2]}})),
            ]),
            "cut at {cut}"
        );
        assert_eq!(answer.stop, StopReason::ToolUse);
    }
}

#[test]
fn slots_without_or_with_wrong_index() {
    let x = json!({"p": "x"});
    let y = json!({"p": "y"});
    let two = expect(&[("a", "f", x.clone()), ("b", "g", y.clone())]);
    let whole = |id: &str, name: &str, args: &Value| json!({"id": id, "function": {"name": name, "arguments": args.to_string()}});

    // No index; separated by id.
    let answer = decode(&[
        calls(json!([{"id": "a", "function": {"name": "f", "arguments": ""}}])),
        calls(json!([{"function": {"arguments": "{\"p\":"}}])),
        calls(json!([{"function": {"arguments": "\"x\"}"}}])),
        calls(json!([whole("b", "g", &y)])),
        end("stop"),
    ]);
    assert_eq!(found(&answer), two);
    assert_eq!(
        answer.stop,
        StopReason::ToolUse,
        "calls beside `stop` are calls"
    );

    // Always index 0, distinct ids.
    let with_index = |id: &str, name: &str, args: &Value| json!([{"index": 0, "id": id, "function": {"name": name, "arguments": args.to_string()}}]);
    let answer = decode(&[
        calls(with_index("a", "f", &x)),
        calls(with_index("b", "g", &y)),
        end("tool_calls"),
    ]);
    assert_eq!(found(&answer), two);

    // Always index 0, in one delta, arguments as objects.
    let answer = decode(&[
        calls(json!([
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": x}},
            {"index": 0, "id": "b", "function": {"name": "g", "arguments": y}},
        ])),
        end("tool_calls"),
    ]);
    assert_eq!(found(&answer), two);

    // The same, and the first call has no arguments.
    let answer = decode(&[
        calls(json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}])),
        calls(with_index("b", "g", &y)),
        end("tool_calls"),
    ]);
    assert_eq!(
        found(&answer),
        expect(&[("a", "f", json!({})), ("b", "g", y.clone())])
    );

    // Neither index nor id: a complete object followed by another one.
    let answer = decode(&[
        calls(json!([{"function": {"name": "f", "arguments": "{\"p\":\"x\"}"}}])),
        calls(json!([{"function": {"name": "f", "arguments": "{\"p\":\"y\"}"}}])),
        end("tool_calls"),
    ]);
    assert_eq!(
        found(&answer),
        expect(&[
            ("call_local_0", "f", x.clone()),
            ("call_local_1", "f", y.clone())
        ])
    );

    // The id repeated on every delta, the name too.
    let answer = decode(&[
        calls(json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"p\":"}}])),
        calls(json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "\"x\"}"}}])),
        end("tool_calls"),
    ]);
    assert_eq!(found(&answer), expect(&[("a", "f", x.clone())]));

    // An empty id on continuations.
    let answer = decode(&[
        calls(json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}])),
        calls(
            json!([{"index": 0, "id": "", "function": {"name": "", "arguments": "{\"p\":\"x\"}"}}]),
        ),
        end("tool_calls"),
    ]);
    assert_eq!(found(&answer), expect(&[("a", "f", x.clone())]));

    // The same id twice: both run under their own.
    let answer = decode(&[
        calls(
            json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": x.to_string()}},
                     {"index": 1, "id": "a", "function": {"name": "f", "arguments": y.to_string()}}]),
        ),
        end("tool_calls"),
    ]);
    assert_eq!(
        found(&answer),
        expect(&[("a", "f", x), ("call_local_1", "f", y)])
    );
}

#[test]
fn names_in_pieces_and_repeated() {
    for pieces in [
        &["read_", "file"][..],
        &["read_file", "read_file"],
        &["read_file", ""],
    ] {
        let mut chunks: Vec<Value> = pieces
            .iter()
            .map(|name| calls(json!([{"index": 0, "id": "a", "function": {"name": name}}])))
            .collect();
        chunks.push(calls(
            json!([{"index": 0, "function": {"arguments": "{}"}}]),
        ));
        chunks.push(end("tool_calls"));
        assert_eq!(
            found(&decode(&chunks)),
            expect(&[("a", "read_file", json!({}))]),
            "{pieces:?}"
        );
    }
}

#[test]
fn arguments_that_are_not_complete_are_never_run() {
    for (args, reason, good) in [
        ("{\"city\": \"Par", "tool_calls", false),
        ("{\"city\": \"Par", "length", false),
        ("", "length", false),
        ("", "tool_calls", true),
        ("{}", "length", true),
        ("[1]", "tool_calls", false),
        ("\"x\"", "tool_calls", false),
        ("{} trailing", "tool_calls", false),
    ] {
        let answer = decode(&[
            calls(json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": args}}])),
            end(reason),
        ]);
        assert_eq!(answer.tool_calls[0].args.is_ok(), good, "{args:?} {reason}");
        if reason == "length" {
            assert_eq!(answer.stop, StopReason::MaxTokens);
        }
    }
    let large = "x".repeat(2 * 1024 * 1024);
    let answer = decode(&[
        calls(
            json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": format!("{{\"p\":\"{large}\"}}")}}]),
        ),
        end("tool_calls"),
    ]);
    let malformed = answer.tool_calls[0].args.as_ref().unwrap_err();
    assert!(malformed.raw.len() < 2000, "what is kept is short");
}

#[test]
fn content_in_its_forms() {
    let answer = decode(&[
        delta(json!({"content": null})),
        delta(json!({"content": ""})),
        delta(json!({"reasoning_content": "hm"})),
        delta(json!({"content": "a"})),
        delta(
            json!({"content": [{"type": "thinking", "text": "no"}, {"type": "text", "text": "b"}]}),
        ),
        delta(json!({})),
        json!({"choices": []}),
        end("stop"),
    ]);
    assert_eq!(answer.text, "ab");
    assert_eq!(answer.stop, StopReason::EndTurn);
    assert_eq!(
        decode(&[end("tool_calls")]).stop,
        StopReason::EndTurn,
        "no calls, no loop"
    );
    assert_eq!(decode(&[end("content_filter")]).stop, StopReason::Refusal);
    let refused = decode(&[delta(json!({"refusal": "I cannot"})), end("stop")]);
    assert_eq!(
        (refused.text.as_str(), refused.stop),
        ("I cannot", StopReason::Refusal)
    );
    assert_eq!(
        decode(&[end("odd")]).stop,
        StopReason::Other("odd".to_owned())
    );
}

#[test]
fn usage_wherever_it_comes_the_last_one_counts() {
    let usage = |n: u64| json!({"prompt_tokens": 100, "completion_tokens": n, "prompt_tokens_details": {"cached_tokens": 60}, "cost": 0.5});
    let with = |mut chunk: Value, n: u64| {
        chunk["usage"] = usage(n);
        chunk
    };
    for chunks in [
        vec![end("stop"), json!({"choices": [], "usage": usage(9)})],
        vec![end("stop"), with(delta(json!({})), 9)],
        vec![
            with(delta(json!({"content": "a"})), 1),
            with(end("stop"), 9),
        ],
    ] {
        let found = decode(&chunks).usage;
        assert_eq!(
            (
                found.input_tokens,
                found.output_tokens,
                found.cached_input_tokens,
                found.cost_usd
            ),
            (100, 9, 60, Some(0.5))
        );
    }
}

#[test]
fn errors_in_the_stream() {
    let fails = |chunk: Value| Decoder::new(0).data(&chunk.to_string()).unwrap_err();
    assert_eq!(
        fails(json!({"error": {"message": "x", "code": 502}})).kind,
        ModelErrorKind::Overloaded
    );
    assert_eq!(
        fails(json!({"error": "slow down: rate limit"})).kind,
        ModelErrorKind::RateLimited
    );
    assert_eq!(
        fails(json!({"error": {"code": "context_length_exceeded"}})).kind,
        ModelErrorKind::ContextTooLong
    );
    assert_eq!(
        fails(json!({"error": {"code": "429", "message": "x"}})).kind,
        ModelErrorKind::RateLimited
    );
    assert_eq!(
        fails(json!({"choices": [{"delta": {}, "error": {"message": "upstream"}, "finish_reason": "error"}]})).kind,
        ModelErrorKind::Overloaded
    );
    assert_eq!(fails(end("error")).kind, ModelErrorKind::Overloaded);
    assert_eq!(fails(json!(["text"])).kind, ModelErrorKind::Protocol);
    assert_eq!(
        Decoder::new(0).data("not json").unwrap_err().kind,
        ModelErrorKind::Protocol
    );
    assert_eq!(
        Decoder::new(0).data("[DONE]").unwrap_err().kind,
        ModelErrorKind::Disconnected
    );
    assert_eq!(
        Decoder::new(0).finish(0).unwrap_err().kind,
        ModelErrorKind::Disconnected
    );
}

#[test]
fn progress_and_events() {
    let mut decoder = Decoder::new(0);
    assert_eq!(
        decoder
            .data(&delta(json!({"content": "a"})).to_string())
            .unwrap(),
        [ModelEvent::TextDelta("a".to_owned())]
    );
    assert_eq!(
        decoder
            .data(&delta(json!({"reasoning": "hm"})).to_string())
            .unwrap(),
        [ModelEvent::Heartbeat]
    );
    assert_eq!(decoder.progress(), Progress::Open);
    decoder.data(&end("stop").to_string()).unwrap();
    assert_eq!(decoder.progress(), Progress::Finishing);
    decoder.data("[DONE]").unwrap();
    assert_eq!(decoder.progress(), Progress::Done);
}

#[test]
fn made_up_ids_go_on_where_the_conversation_stands() {
    let mut decoder = Decoder::new(5);
    decoder
        .data(&calls(json!([{"function": {"name": "f", "arguments": "{}"}}])).to_string())
        .unwrap();
    decoder.data(&end("tool_calls").to_string()).unwrap();
    assert_eq!(
        decoder.finish(0).unwrap().tool_calls[0].provider_call_id,
        "call_local_5"
    );
}

#[test]
fn a_call_with_the_users_own_key_costs_both_charges() {
    let cost = |usage: Value| {
        decode(&[end("stop"), json!({"choices": [], "usage": usage})])
            .usage
            .cost_usd
            .unwrap()
    };
    let usage = |own: bool| {
        json!({"prompt_tokens": 100, "completion_tokens": 9, "cost": 0.25, "is_byok": own,
        "cost_details": {"upstream_inference_cost": 0.5}})
    };
    assert!((cost(usage(true)) - 0.75).abs() < 1e-12);
    // With a key of the router its price holds the other.
    assert!((cost(usage(false)) - 0.25).abs() < 1e-12);
}
