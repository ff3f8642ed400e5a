//! The decoder of Gemini's chunks.

#![allow(clippy::format_collect)] // short texts of a test

use std::collections::VecDeque;
use std::time::Duration;

use leverframe::model::decode::Decode;
use leverframe::model::exchange::LIMITS;
use leverframe::model::gemini::decoder::Decoder;
use leverframe::model::request::{ModelAnswer, ModelErrorKind, ModelEvent, StopReason};
use leverframe::text::framing::{Format, Guard};
use proptest::prelude::*;
use serde_json::{Value, json};

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]})
}

fn text(text: &str) -> Value {
    parts(json!([{"text": text}]))
}

fn end(reason: &str) -> Value {
    json!({"candidates": [{"finishReason": reason}], "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2}})
}

fn call(name: &str, args: Value) -> Value {
    json!({"functionCall": {"name": name, "args": args}})
}

fn signed(mut part: Value, signature: &str) -> Value {
    part["thoughtSignature"] = json!(signature);
    part
}

fn feed(decoder: &mut Decoder, chunks: &[Value]) -> Vec<ModelEvent> {
    let events = chunks
        .iter()
        .map(|chunk| decoder.data(&chunk.to_string()).unwrap());
    events.flatten().collect()
}

fn decode(chunks: &[Value]) -> ModelAnswer {
    let mut decoder = Decoder::new(0);
    feed(&mut decoder, chunks);
    decoder.finish(400).unwrap()
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

fn kept(answer: &ModelAnswer) -> &Value {
    &answer.native.as_ref().expect("native content").content["parts"]
}

#[test]
fn text_arrives_and_plain_answers_need_no_replay() {
    let mut decoder = Decoder::new(0);
    let events = feed(&mut decoder, &[text("Grüße "), text("👋"), end("STOP")]);
    assert_eq!(
        events,
        [
            ModelEvent::TextDelta("Grüße ".to_owned()),
            ModelEvent::TextDelta("👋".to_owned()),
            ModelEvent::Heartbeat
        ]
    );
    let answer = decoder.finish(0).unwrap();
    assert_eq!(
        (answer.text.as_str(), &answer.stop),
        ("Grüße 👋", &StopReason::EndTurn)
    );
    assert!(answer.native.is_none());
    let plain_call = decode(&[parts(json!([call("f", json!({}))])), end("STOP")]);
    assert_eq!(plain_call.stop, StopReason::ToolUse, "calls end in STOP");
    assert!(plain_call.native.is_none());
}

#[test]
fn a_signature_stays_on_its_part() {
    // Parallel calls: only the first is signed.
    let two = json!([
        signed(call("read", json!({"p": "a"})), "s1"),
        call("read", json!({"p": "b"}))
    ]);
    let answer = decode(&[
        parts(json!([{"text": "I thought", "thought": true}])),
        text("I "),
        text("look."),
        parts(two.clone()),
        end("STOP"),
    ]);
    assert_eq!(answer.text, "I look.", "thoughts are not shown");
    assert_eq!(
        *kept(&answer),
        json!([{"text": "I thought", "thought": true}, {"text": "I look."}, two[0], two[1]])
    );
    assert_eq!(
        found(&answer),
        [
            ("call_local_0", "read", json!({"p": "a"})),
            ("call_local_1", "read", json!({"p": "b"}))
        ]
    );
}

#[test]
fn an_empty_part_with_a_signature_is_kept_and_nothing_is_joined_to_it() {
    let empty = signed(json!({"text": ""}), "s1");
    let full = signed(json!({"text": "c"}), "s2");
    let answer = decode(&[
        text("a"),
        parts(json!([{"text": ""}])),
        text("b"),
        parts(json!([full])),
        text("d"),
        text("e"),
        parts(json!([empty])),
        json!({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}]}),
    ]);
    assert_eq!(answer.text, "abcde");
    assert_eq!(
        *kept(&answer),
        json!([{"text": "ab"}, full, {"text": "de"}, empty])
    );
    assert_eq!(answer.native.unwrap().content["call_ids"], json!([]));
}

#[test]
fn a_repeated_call_is_not_a_second_call() {
    let first = signed(call("write", json!({"p": "a"})), "s1");
    let answer = decode(&[
        parts(json!([first])),
        parts(json!([call("write", json!({"p": "a"}))])),
        parts(json!([call("write", json!({"p": "b"}))])),
        end("STOP"),
    ]);
    let expected = json!([first, call("write", json!({"p": "b"}))]);
    assert_eq!(*kept(&answer), expected);
    assert_eq!(answer.tool_calls.len(), 2);

    // The other way round: the signature comes with the repetition.
    let answer = decode(&[
        parts(json!([call("write", json!({"p": "a"}))])),
        parts(json!([first])),
        end("STOP"),
    ]);
    assert_eq!(*kept(&answer), json!([first]));

    // Two equal calls of one chunk are two, and a later chunk may repeat both.
    let twice = json!([call("write", json!({})), call("write", json!({}))]);
    let answer = decode(&[parts(twice.clone()), parts(twice), end("STOP")]);
    assert_eq!(answer.tool_calls.len(), 2);

    // Ids say it best.
    let with_id = |id: &str| json!([{"functionCall": {"id": id, "name": "f", "args": {}}}]);
    let answer = decode(&[
        parts(with_id("x")),
        parts(with_id("y")),
        parts(with_id("x")),
        end("STOP"),
    ]);
    let ids: Vec<_> = found(&answer).into_iter().map(|call| call.0).collect();
    assert_eq!(ids, ["x", "y"]);
}

#[test]
fn ids_are_the_server_s_or_ours_and_never_taken_twice() {
    let mut decoder = Decoder::new(3);
    let with_id =
        |id: &str, p: &str| json!({"functionCall": {"id": id, "name": "f", "args": {"p": p}}});
    let chunk = parts(json!([
        with_id("x", "1"),
        with_id("x", "2"),
        call("f", json!({"p": "3"}))
    ]));
    feed(&mut decoder, &[chunk, end("STOP")]);
    let answer = decoder.finish(0).unwrap();
    let ids: Vec<_> = found(&answer).into_iter().map(|call| call.0).collect();
    assert_eq!(ids, ["x", "call_local_4", "call_local_5"]);
    let native = answer.native.as_ref().unwrap();
    assert_eq!(native.content["call_ids"], json!(ids));
    assert!(!native.content["parts"].to_string().contains("call_local"));
}

#[test]
fn only_a_reason_is_an_end() {
    let mut decoder = Decoder::new(0);
    feed(
        &mut decoder,
        &[text("half"), parts(json!([call("f", json!({}))]))],
    );
    let failure = decoder.finish(0).unwrap_err();
    assert_eq!(failure.kind, ModelErrorKind::Disconnected);
    let mut decoder = Decoder::new(0);
    feed(
        &mut decoder,
        &[text("half"), end("FINISH_REASON_UNSPECIFIED")],
    );
    assert!(!decoder.is_finishing());
}

#[test]
fn what_follows_a_reason_still_counts() {
    // Models that say STOP on every chunk, a last signature, usage on its own.
    let stop = |piece: &str| json!({"candidates": [{"content": {"parts": [{"text": piece}]}, "finishReason": "STOP"}]});
    let answer = decode(&[
        stop("a"),
        stop("b"),
        parts(json!([signed(json!({"text": ""}), "s")])),
        json!({"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1}}),
    ]);
    assert_eq!(answer.text, "ab");
    assert_eq!(answer.usage.input_tokens, 9);
    assert!(answer.native.is_some());
    let cut = json!({"candidates": [{"content": {"parts": [{"text": "b"}]}, "finishReason": "MAX_TOKENS"}]});
    assert_eq!(
        decode(&[stop("a"), cut.clone()]).stop,
        StopReason::MaxTokens
    );
    assert_eq!(
        decode(&[cut, stop("a")]).stop,
        StopReason::MaxTokens,
        "STOP does not soften it"
    );
}

#[test]
fn refusals_have_words_and_never_run_a_call() {
    for reason in [
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
    ] {
        for before in [
            vec![],
            vec![text("Half of")],
            vec![parts(json!([call("f", json!({}))]))],
        ] {
            let mut decoder = Decoder::new(0);
            let events = feed(
                &mut decoder,
                &[before, vec![end(reason), end(reason)]].concat(),
            );
            let answer = decoder.finish(0).unwrap();
            assert_eq!(answer.stop, StopReason::Refusal, "{reason}");
            assert!(
                answer
                    .text
                    .contains(&format!("stopped the answer ({reason})")),
                "{}",
                answer.text
            );
            assert_eq!(answer.text.matches(reason).count(), 1, "said once");
            assert!(answer.tool_calls.is_empty() && answer.native.is_none());
            let shown: String = events
                .into_iter()
                .filter_map(|event| match event {
                    ModelEvent::TextDelta(text) => Some(text),
                    _ => None,
                })
                .collect();
            assert_eq!(shown, answer.text);
        }
    }
}

#[test]
fn a_blocked_request_is_a_refusal_with_words() {
    let answer = decode(&[json!({
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "not this"},
        "usageMetadata": {"promptTokenCount": 4}
    })]);
    assert_eq!(answer.stop, StopReason::Refusal);
    assert_eq!(
        answer.text,
        "[the provider blocked the request (PROHIBITED_CONTENT): not this]"
    );
    assert_eq!(answer.usage.input_tokens, 4);
    // Ratings alone block nothing.
    let answer = decode(&[
        json!({"promptFeedback": {"safetyRatings": []}}),
        text("ok"),
        end("STOP"),
    ]);
    assert_eq!(
        (answer.text.as_str(), answer.stop),
        ("ok", StopReason::EndTurn)
    );
}

#[test]
fn ends_that_are_no_answer_are_errors() {
    for (reason, kind) in [
        ("MALFORMED_FUNCTION_CALL", ModelErrorKind::Unusable),
        ("MISSING_THOUGHT_SIGNATURE", ModelErrorKind::Unusable),
        ("UNEXPECTED_TOOL_CALL", ModelErrorKind::InvalidRequest),
        ("TOO_MANY_TOOL_CALLS", ModelErrorKind::InvalidRequest),
        ("OTHER", ModelErrorKind::Unusable),
        ("MALFORMED_RESPONSE", ModelErrorKind::Unusable),
    ] {
        let mut decoder = Decoder::new(0);
        let mut last = end(reason);
        last["candidates"][0]["finishMessage"] = json!("print(read_file(");
        feed(&mut decoder, &[parts(json!([call("f", json!({}))])), last]);
        let failure = decoder.finish(0).unwrap_err();
        assert_eq!(failure.kind, kind, "{reason}");
        assert!(
            failure.what.contains(reason) && failure.what.contains("print(read_file("),
            "{}",
            failure.what
        );
        assert_eq!(
            failure.usage.map(|usage| usage.input),
            Some(5),
            "failed tries count"
        );
    }
    let answer = decode(&[
        text("something"),
        parts(json!([call("f", json!({}))])),
        end("OTHER"),
    ]);
    assert_eq!(answer.stop, StopReason::Other("OTHER".to_owned()));
    assert!(
        answer.tool_calls.is_empty(),
        "what ended badly does not run"
    );
}

#[test]
fn arguments_that_are_no_whole_object_never_run() {
    let args = |call: Value, reason: &str| {
        let answer = decode(&[parts(json!([{"functionCall": call}])), end(reason)]);
        answer.tool_calls[0].args.clone()
    };
    let with = |args: Value| json!({"name": "f", "args": args});
    assert_eq!(
        args(with(json!({"a": 1})), "MAX_TOKENS"),
        Ok(json!({"a": 1}))
    );
    assert_eq!(args(json!({"name": "f"}), "STOP"), Ok(json!({})));
    for (call, reason) in [
        (with(json!("{\"a\":1")), "STOP"),
        (with(json!([1])), "STOP"),
        (with(json!({})), "MAX_TOKENS"),
        (
            json!({"name": "f", "args": {"a": 1}, "willContinue": true}),
            "STOP",
        ),
        (
            json!({"name": "f", "partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}]}),
            "STOP",
        ),
    ] {
        assert!(args(call.clone(), reason).is_err(), "{call} {reason}");
    }
    let answer = decode(&[
        parts(json!([signed(call("f", json!("x")), "s")])),
        end("STOP"),
    ]);
    assert_eq!(
        kept(&answer)[0]["functionCall"]["args"],
        json!({}),
        "what goes back is legal"
    );
}

#[test]
fn the_last_usage_wins_and_thoughts_are_output() {
    let usage = |usage: Value| json!({"candidates": [{"content": {"parts": [{"text": "a"}]}}], "usageMetadata": usage});
    let answer = decode(&[
        usage(json!({"promptTokenCount": 10, "candidatesTokenCount": 1})),
        usage(json!({"promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 40})),
        json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": {
            "promptTokenCount": 12, "cachedContentTokenCount": 8, "toolUsePromptTokenCount": 2,
            "candidatesTokenCount": 4, "thoughtsTokenCount": 50, "totalTokenCount": 68}}),
    ]);
    assert_eq!(
        (
            answer.usage.input_tokens,
            answer.usage.output_tokens,
            answer.usage.cached_input_tokens
        ),
        (14, 54, 8)
    );
    let mut decoder = Decoder::new(0);
    feed(
        &mut decoder,
        &[
            text("abcd"),
            json!({"candidates": [{"finishReason": "STOP"}]}),
        ],
    );
    let usage = decoder.finish(400).unwrap().usage;
    assert_eq!(usage.input_tokens, 100, "estimated where not reported");
    assert!(usage.output_tokens > 0);
}

#[test]
fn errors_in_the_stream_carry_the_wait() {
    let error = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED",
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [
                {"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]}});
    for chunk in [error.clone(), json!([error])] {
        let mut decoder = Decoder::new(0);
        feed(&mut decoder, &[text("half")]);
        let failure = decoder.data(&chunk.to_string()).unwrap_err();
        assert_eq!(failure.kind, ModelErrorKind::RateLimited);
        assert_eq!(decoder.retry_after(), Some(Duration::from_millis(34_500)));
        assert!(
            failure.what.contains("resource_exhausted"),
            "{}",
            failure.what
        );
    }
    let busy = json!({"error": {"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded."}});
    let failure = Decoder::new(0).data(&busy.to_string()).unwrap_err();
    assert_eq!(failure.kind, ModelErrorKind::Overloaded);
    let failure = Decoder::new(0).data("<html>hotel").unwrap_err();
    assert_eq!(failure.kind, ModelErrorKind::Protocol);
}

#[test]
fn unknown_parts_are_kept_and_unknown_reasons_named() {
    let code = json!({"executableCode": {"language": "PYTHON", "code": "1"}});
    let answer = decode(&[text("a"), parts(json!([code])), end("CONTINUATION")]);
    assert_eq!(*kept(&answer), json!([{"text": "a"}, code]));
    assert_eq!(answer.stop, StopReason::Other("CONTINUATION".to_owned()));
    let answer = decode(&[parts(json!([call("f", json!({}))])), end("FUNCTION_CALL")]);
    assert_eq!(answer.stop, StopReason::ToolUse);
}

#[test]
fn an_endless_list_of_parts_is_refused() {
    let mut decoder = Decoder::new(0);
    let many: Vec<Value> = (0..3000).map(|n| call("f", json!({"n": n}))).collect();
    let failure = decoder.data(&parts(json!(many)).to_string()).unwrap_err();
    assert_eq!(failure.kind, ModelErrorKind::Protocol);
}

fn answer_bytes() -> Vec<u8> {
    let chunks = [
        parts(json!([{"text": "denk", "thought": true}])),
        text("Grüße 👋 "),
        text("und mehr\u{2028}"),
        parts(json!([
            signed(call("f", json!({"city": "París 🗼"})), "s=="),
            call("g", json!({}))
        ])),
        end("STOP"),
    ];
    let text: String = chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\r\n\r\n"))
        .collect();
    format!("\u{feff}{text}").into_bytes()
}

fn decode_chunks<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> (Vec<ModelEvent>, ModelAnswer) {
    let mut guard = Guard::new(Format::Events, LIMITS);
    let mut slices = VecDeque::new();
    for chunk in chunks {
        guard.push(chunk, &mut slices).unwrap();
    }
    guard.finish(&mut slices).unwrap();
    let clean = slices.into_iter().collect::<String>();
    let mut decoder = Decoder::new(0);
    let mut events = Vec::new();
    for line in clean.lines().filter_map(|line| line.strip_prefix("data:")) {
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
        Just(json!("STOP")),
        Just(json!("SAFETY")),
    ];
    let key = prop_oneof![
        Just("text"),
        Just("thought"),
        Just("thoughtSignature"),
        Just("functionCall"),
        Just("name"),
        Just("args"),
        Just("id"),
        Just("willContinue"),
        Just("content"),
        Just("parts"),
        Just("error"),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key.clone().prop_map(str::to_owned), inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn chunk() -> impl Strategy<Value = Value> {
    prop_oneof![
        nonsense(),
        nonsense().prop_map(parts),
        proptest::collection::vec(nonsense(), 0..4).prop_map(|list| parts(json!(list))),
        nonsense().prop_map(|call| parts(json!([{"functionCall": call}]))),
        nonsense().prop_map(
            |reason| json!({"candidates": [{"finishReason": reason}], "usageMetadata": reason})
        ),
        nonsense().prop_map(|reason| json!({"promptFeedback": {"blockReason": reason}})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nonsense_never_crashes_it(chunks in proptest::collection::vec(chunk(), 0..8)) {
        let mut decoder = Decoder::new(0);
        let mut shown = String::new();
        for chunk in chunks.iter().chain([&end("STOP")]) {
            match decoder.data(&chunk.to_string()) {
                Ok(events) => for event in events {
                    if let ModelEvent::TextDelta(text) = event {
                        shown.push_str(&text);
                    }
                },
                Err(_) => return Ok(()),
            }
        }
        if let Ok(answer) = decoder.finish(0) {
            prop_assert_eq!(&answer.text, &shown);
            prop_assert!(answer.tool_calls.iter().all(|call| call.args.as_ref().map_or(true, Value::is_object)));
            if let Some(native) = &answer.native {
                prop_assert_eq!(native.content["call_ids"].as_array().unwrap().len(), answer.tool_calls.len());
            }
        }
    }
}
