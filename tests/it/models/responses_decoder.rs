//! The Responses decoder: items, usage, ends, and everything that must not become a call.

use leverframe::model::decode::Decode;
use leverframe::model::failure::Failure;
use leverframe::model::openai_responses::decoder::{Decoder, FAMILY};
use leverframe::model::request::{ModelAnswer, ModelErrorKind, ModelEvent, StopReason};
use proptest::prelude::*;
use serde_json::{Value, json};

/// What a sequence of events gives: what was shown, and the end.
fn decode(events: &[Value]) -> (Vec<String>, Result<ModelAnswer, Failure>) {
    let mut decoder = Decoder::new(0);
    let mut shown = Vec::new();
    for event in events {
        match decoder.data(&event.to_string()) {
            Ok(found) => shown.extend(found.into_iter().filter_map(|event| match event {
                ModelEvent::TextDelta(text) => Some(text),
                ModelEvent::Heartbeat => None,
                ModelEvent::Finished(_) => panic!("a decoder never says that itself"),
            })),
            Err(failure) => return (shown, Err(failure)),
        }
    }
    (shown, decoder.finish(400))
}

fn answer(events: &[Value]) -> ModelAnswer {
    let (shown, end) = decode(events);
    let answer = end.expect("an answer");
    assert_eq!(answer.text, shown.concat(), "what was shown is the answer");
    answer
}

fn added(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn args(index: u64, part: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": part})
}

fn text(index: u64, part: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": index, "content_index": 0, "delta": part})
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
           "arguments": arguments, "status": "completed"})
}

fn message(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
           "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn reasoning(id: &str, content: Option<&str>) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": content})
}

fn completed(output: Option<Value>) -> Value {
    let mut response = json!({"id": "resp_1", "object": "response", "status": "completed", "error": null,
        "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
                  "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 15}, "total_tokens": 120}});
    if let Some(output) = output {
        response["output"] = output;
    }
    json!({"type": "response.completed", "response": response})
}

fn incomplete(reason: &str) -> Value {
    json!({"type": "response.incomplete", "response": {"status": "incomplete",
        "incomplete_details": {"reason": reason}, "output": []}})
}

/// (id, name, arguments) of each call; malformed ones as null.
fn found(answer: &ModelAnswer) -> Vec<(&str, &str, Value)> {
    let calls = answer.tool_calls.iter();
    calls
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
fn interleaved_calls_split_at_every_byte() {
    let whole = r#"{"city":"Par\u00eds 🗼","n":[1]}"#;
    for cut in (0..=whole.len()).filter(|cut| whole.is_char_boundary(*cut)) {
        let answer = answer(&[
            added(0, call("a", "one", "")),
            added(1, call("b", "two", "")),
            args(0, &whole[..cut]),
            args(1, "{\"p\":"),
            args(0, &whole[cut..]),
            args(1, "1}"),
            done(1, call("b", "two", "{\"p\":1}")),
            done(0, call("a", "one", whole)),
            completed(None),
        ]);
        assert_eq!(
            found(&answer),
            [
                ("a", "one", json!({"city": "París 🗼", "n": [1]})),
                ("b", "two", json!({"p": 1})),
            ],
            "cut at {cut}"
        );
        assert_eq!(answer.stop, StopReason::ToolUse);
    }
}

#[test]
fn the_closed_item_is_the_truth() {
    let whole = call("a", "f", "{\"path\":\"right\"}");
    let expected = [("a", "f", json!({"path": "right"}))];
    // Deltas that are cut short, that say something else, that come before the item, or that never come.
    for before in [
        vec![added(0, call("a", "f", "")), args(0, "{\"path\":\"ri")],
        vec![
            added(0, call("a", "f", "")),
            args(0, "{\"path\":\"wrong\"}"),
        ],
        vec![args(0, "{\"path\""), added(0, call("", "", ""))],
        vec![],
    ] {
        let mut events = before;
        events.extend([done(0, whole.clone()), completed(None)]);
        assert_eq!(found(&answer(&events)), expected, "{events:?}");
    }
    // Closed by the terminal event alone, in place of the item's own event.
    let answer_ = answer(&[
        added(0, call("a", "f", "")),
        args(0, "{\"path\":\"wro"),
        completed(Some(json!([whole]))),
    ]);
    assert_eq!(found(&answer_), expected);
    // An item that leaves out what was streamed.
    let answer_ = answer(&[
        added(0, call("a", "f", "")),
        args(0, "{\"path\":"),
        args(0, "\"right\"}"),
        done(0, json!({"type": "function_call", "id": "fc_a"})),
        completed(None),
    ]);
    assert_eq!(found(&answer_), expected);
    // Without indices: by the item's id.
    let answer_ = answer(&[
        json!({"type": "response.output_item.added", "item": call("a", "f", "")}),
        json!({"type": "response.output_item.added", "item": call("b", "g", "")}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc_a", "delta": "{}"}),
        json!({"type": "response.output_item.done", "item": whole}),
        json!({"type": "response.output_item.done", "item": call("b", "g", "{}")}),
        completed(None),
    ]);
    assert_eq!(
        found(&answer_),
        [("a", "f", json!({"path": "right"})), ("b", "g", json!({}))]
    );
}

#[test]
fn arguments_that_are_not_complete_are_never_run() {
    let with_status = |status: &str| {
        let mut item = call("a", "f", "{\"p\":1}");
        item["status"] = json!(status);
        item
    };
    let cut = |end: Value| answer(&[added(0, call("a", "f", "")), args(0, "{\"p\":1}"), end]);
    for (what, answer, words) in [
        ("never closed", cut(completed(None)), "ended inside"),
        (
            "cut by the limit",
            cut(incomplete("max_output_tokens")),
            "length limit",
        ),
        (
            "closed as incomplete",
            answer(&[
                done(0, with_status("incomplete")),
                incomplete("max_output_tokens"),
            ]),
            "length limit",
        ),
        (
            "listed as in progress",
            answer(&[completed(Some(json!([with_status("in_progress")])))]),
            "ended inside",
        ),
        (
            "half",
            answer(&[done(0, call("a", "f", "{\"city\": \"Par")), completed(None)]),
            "not complete JSON",
        ),
        (
            "a list",
            answer(&[done(0, call("a", "f", "[1]")), completed(None)]),
            "not a JSON object",
        ),
        (
            "more behind it",
            answer(&[done(0, call("a", "f", "{} and")), completed(None)]),
            "not complete JSON",
        ),
    ] {
        assert_eq!(answer.tool_calls.len(), 1, "{what}");
        let malformed = answer.tool_calls[0].args.as_ref().expect_err(what);
        assert!(malformed.error.contains(words), "{what}: {malformed:?}");
    }
    for empty in ["", "null", "{}", " "] {
        let answer = answer(&[done(0, call("a", "f", empty)), completed(None)]);
        assert_eq!(found(&answer), [("a", "f", json!({}))], "{empty:?}");
    }
    // A complete call of a cut answer is a call.
    let answer_ = answer(&[
        done(0, call("a", "f", "{\"p\":1}")),
        added(1, call("b", "g", "")),
        args(1, "{\"p\":"),
        incomplete("max_output_tokens"),
    ]);
    assert_eq!(
        found(&answer_),
        [("a", "f", json!({"p": 1})), ("b", "g", Value::Null)]
    );
    assert_eq!(answer_.stop, StopReason::MaxTokens);
    // Two megabytes, streamed or whole.
    let large = format!("{{\"p\":\"{}\"}}", "x".repeat(2 * 1024 * 1024));
    for events in [
        vec![done(0, call("a", "f", &large)), completed(None)],
        vec![
            added(0, call("a", "f", "")),
            args(0, &large[..900_000]),
            args(0, &large[900_000..1_800_000]),
            args(0, &large[1_800_000..]),
            done(0, json!({"type": "function_call"})),
            completed(None),
        ],
    ] {
        let answer = answer(&events);
        let malformed = answer.tool_calls[0].args.as_ref().expect_err("too large");
        assert!(malformed.error.contains("larger than 1024 KiB"));
        assert!(malformed.raw.len() < 2000, "what is kept is short");
    }
}

#[test]
fn ids_that_are_missing_or_repeated_are_made_distinct() {
    let mut nameless = call("a", "f", "{}");
    nameless.as_object_mut().unwrap().remove("call_id");
    let mut decoder = Decoder::new(5);
    for event in [
        done(0, call("a", "f", "{}")),
        done(1, call("a", "g", "{}")),
        done(2, nameless),
        // Anything that makes the items worth keeping.
        done(3, reasoning("rs_1", Some("x"))),
        completed(None),
    ] {
        decoder.data(&event.to_string()).unwrap();
    }
    let answer = decoder.finish(0).unwrap();
    let ids: Vec<_> = found(&answer)
        .iter()
        .map(|(id, _, _)| (*id).to_owned())
        .collect();
    assert_eq!(ids, ["a", "call_local_6", "call_local_7"]);
    let items = answer.native.unwrap().content;
    let sent: Vec<_> = (0..3)
        .map(|at| items[at]["call_id"].as_str().unwrap())
        .collect();
    assert_eq!(sent, ids, "the kept items carry the same ids");
}

#[test]
fn what_must_be_sent_back_is_kept_verbatim_and_in_order() {
    let mut odd_call = call("a", "f", "{\"p\":1}");
    odd_call["namespace"] = json!("files");
    odd_call["caller"] = json!({"type": "direct"});
    let mut early = message("I look.");
    early["phase"] = json!("commentary");
    let items = [
        reasoning("rs_1", Some("blob one")),
        early,
        odd_call,
        reasoning("rs_2", Some("blob two")),
        json!({"type": "web_search_call", "id": "ws_1", "status": "completed"}),
    ];
    let mut events: Vec<Value> = Vec::new();
    for (index, item) in (0..).zip(&items) {
        events.push(added(
            index,
            json!({"type": item["type"], "id": item["id"]}),
        ));
        events.push(done(index, item.clone()));
    }
    events.push(completed(Some(json!(items))));
    let native = answer(&events).native.expect("native items");
    assert_eq!(native.family, FAMILY);
    assert_eq!(native.content, json!(items));

    // What we can say ourselves is not kept twice, and reasoning without content is worth nothing.
    for plain in [
        vec![message("hello")],
        vec![message("I look."), call("a", "f", "{}")],
        vec![reasoning("rs_1", None), message("hello")],
    ] {
        let mut events: Vec<Value> = (0..).zip(plain).map(|(at, item)| done(at, item)).collect();
        events.push(completed(None));
        assert_eq!(answer(&events).native, None, "{events:?}");
    }

    // Arguments that are none are not sent back either; the refusal of the call is.
    let kept = answer(&[
        done(0, reasoning("rs_1", Some("blob"))),
        done(1, call("a", "f", "{\"p\": \"cut o")),
        completed(None),
    ]);
    assert_eq!(
        kept.native.unwrap().content[1],
        json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"})
    );
}

#[test]
fn text_in_its_forms() {
    let plain = answer(&[
        added(0, json!({"type": "message", "id": "msg_1", "content": []})),
        text(0, "Hel"),
        text(0, ""),
        text(0, "lo"),
        done(0, message("Hello")),
        completed(Some(json!([message("Hello")]))),
    ]);
    assert_eq!(
        (plain.text.as_str(), plain.stop),
        ("Hello", StopReason::EndTurn)
    );
    // What was not streamed is shown when the item closes; what was shown is not taken back.
    assert_eq!(
        answer(&[text(0, "Hel"), done(0, message("Hello")), completed(None)]).text,
        "Hello"
    );
    assert_eq!(
        answer(&[done(0, message("Hello")), completed(None)]).text,
        "Hello"
    );
    assert_eq!(
        answer(&[completed(Some(json!([message("Hello")])))]).text,
        "Hello"
    );
    assert_eq!(
        answer(&[
            text(0, "Hello "),
            done(0, message("Hello")),
            completed(None)
        ])
        .text,
        "Hello "
    );
    // Two messages of one answer stand apart.
    let two = answer(&[
        text(0, "I look."),
        done(0, message("I look.")),
        text(2, "Done"),
        text(2, "."),
        done(2, message("Done.")),
        completed(None),
    ]);
    assert_eq!(two.text, "I look.\n\nDone.");
    // Reasoning is not text.
    let thought = answer(&[
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "hm"}),
        json!({"type": "response.reasoning_text.delta", "output_index": 0, "delta": "hm"}),
        done(
            0,
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}),
        ),
        text(1, "Yes."),
        done(1, message("Yes.")),
        completed(None),
    ]);
    assert_eq!(thought.text, "Yes.");
}

#[test]
fn refusals_and_cuts_are_named() {
    let refused = answer(&[
        json!({"type": "response.refusal.delta", "output_index": 0, "delta": "I can"}),
        json!({"type": "response.refusal.delta", "output_index": 0, "delta": "not"}),
        done(
            0,
            json!({"type": "message", "content": [{"type": "refusal", "refusal": "I cannot"}]}),
        ),
        completed(None),
    ]);
    assert_eq!(
        (refused.text.as_str(), refused.stop),
        ("I cannot", StopReason::Refusal)
    );
    let whole = json!({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]});
    assert_eq!(
        answer(&[done(0, whole), completed(None)]).stop,
        StopReason::Refusal
    );
    assert_eq!(
        answer(&[text(0, "a"), incomplete("content_filter")]).stop,
        StopReason::Refusal
    );
    let cut = answer(&[text(0, "a"), incomplete("max_output_tokens")]);
    assert_eq!((cut.text.as_str(), cut.stop), ("a", StopReason::MaxTokens));
    // The status of the response counts for more than the name of the event.
    let misnamed = json!({"type": "response.completed", "response": {"status": "incomplete"}});
    assert_eq!(answer(&[misnamed]).stop, StopReason::MaxTokens);
    // A cut in the middle of reasoning keeps what there is; nothing of it is text.
    let thinking = answer(&[
        done(0, reasoning("rs_1", Some("blob"))),
        incomplete("max_output_tokens"),
    ]);
    assert_eq!(thinking.text, "");
}

#[test]
fn usage_counts_nothing_twice() {
    let usage = answer(&[text(0, "a"), completed(None)]).usage;
    assert_eq!(
        (
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_input_tokens,
            usage.cache_write_tokens
        ),
        (100, 20, 60, 30)
    );
    // A snapshot: the last one counts, and a missing one takes nothing back.
    let early = json!({"type": "response.in_progress", "response": {"usage": {"input_tokens": 7, "output_tokens": 1}}});
    assert_eq!(
        answer(&[early.clone(), completed(None)]).usage.input_tokens,
        100
    );
    let unsaid =
        json!({"type": "response.completed", "response": {"status": "completed", "usage": null}});
    assert_eq!(answer(&[early, unsaid.clone()]).usage.input_tokens, 7);
    // Not reported at all, or as nothing: estimated, so that a budget still counts.
    let nothing = json!({"type": "response.completed", "response":
        {"status": "completed", "usage": {"input_tokens": 0, "output_tokens": 0}}});
    for end in [unsaid, nothing] {
        let estimated = answer(&[text(0, "12345678"), end]).usage;
        assert_eq!((estimated.input_tokens, estimated.output_tokens), (100, 2));
    }
}

#[test]
fn errors_in_the_stream_end_it() {
    let fails = |event: Value| decode(&[text(0, "Hel"), event]).1.expect_err("an error");
    let failed = |error: Value| {
        fails(
            json!({"type": "response.failed", "response": {"status": "failed", "error": error,
            "usage": {"input_tokens": 9, "output_tokens": 4}}}),
        )
    };
    for (failure, kind, words) in [
        (
            failed(json!({"code": "server_error", "message": "it broke"})),
            ModelErrorKind::Overloaded,
            "server_error): it broke",
        ),
        (
            failed(json!({"code": "rate_limit_exceeded", "message": "slow down"})),
            ModelErrorKind::RateLimited,
            "rate_limit_exceeded): slow down",
        ),
        (
            failed(json!({"code": "invalid_prompt", "message": "not allowed"})),
            ModelErrorKind::InvalidRequest,
            "invalid_prompt",
        ),
        (failed(Value::Null), ModelErrorKind::Overloaded, "failed"),
    ] {
        assert_eq!(failure.kind, kind, "{failure:?}");
        assert!(failure.what.contains(words), "{failure:?}");
        assert_eq!(
            failure.usage.map(|usage| (usage.input, usage.output)),
            Some((9, 4))
        );
    }
    let flat = fails(
        json!({"type": "error", "code": "context_length_exceeded", "message": "too long", "param": "input"}),
    );
    assert_eq!(flat.kind, ModelErrorKind::ContextTooLong);
    assert!(
        flat.what.contains("context_length_exceeded") && flat.what.contains("too long"),
        "{flat:?}"
    );
    let nested = fails(
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}),
    );
    assert_eq!(nested.kind, ModelErrorKind::InvalidRequest);
    let bare = fails(json!({"error": {"message": "upstream", "code": 502}}));
    assert_eq!(bare.kind, ModelErrorKind::Overloaded);
    let misnamed = fails(
        json!({"type": "response.completed", "response": {"status": "failed", "error": null}}),
    );
    assert_eq!(misnamed.kind, ModelErrorKind::Overloaded);
    assert_eq!(
        Decoder::new(0).data("not json").unwrap_err().kind,
        ModelErrorKind::Protocol
    );
    assert_eq!(
        Decoder::new(0).data("[DONE]").unwrap_err().kind,
        ModelErrorKind::Disconnected
    );
}

#[test]
fn success_needs_a_terminal_event() {
    let whole = [
        text(0, "Hello"),
        done(0, message("Hello")),
        done(1, call("a", "f", "{}")),
    ];
    for end in 0..=whole.len() {
        let (_, outcome) = decode(&whole[..end]);
        assert_eq!(
            outcome.expect_err("no end").kind,
            ModelErrorKind::Disconnected
        );
    }
    for unknown in [
        "response.queued",
        "response.output_text.done",
        "keepalive",
        "response.new_thing",
    ] {
        let mut decoder = Decoder::new(0);
        let event = json!({"type": unknown, "response": {"status": "completed"}});
        assert_eq!(
            decoder.data(&event.to_string()).unwrap(),
            [ModelEvent::Heartbeat]
        );
        assert!(!decoder.is_complete(), "{unknown}");
    }
}

#[test]
fn a_whole_response_is_an_answer_by_its_status() {
    let whole = |status: &str| {
        let mut decoder = Decoder::new(0);
        let body = json!({"object": "response", "status": status, "error": null,
            "output": [message("Hello"), call("a", "f", "{}")]});
        decoder.whole(&body).and_then(|_| decoder.finish(0))
    };
    let answer = whole("completed").unwrap();
    assert_eq!((answer.text.as_str(), found(&answer).len()), ("Hello", 1));
    assert_eq!(whole("incomplete").unwrap().stop, StopReason::MaxTokens);
    assert_eq!(
        whole("failed").unwrap_err().kind,
        ModelErrorKind::Overloaded
    );
    for other in ["", "queued", "in_progress"] {
        assert_eq!(
            whole(other).unwrap_err().kind,
            ModelErrorKind::Protocol,
            "{other}"
        );
    }
}

/// One complete answer with everything in it, as it comes on the wire.
fn wire() -> Vec<u8> {
    let events = [
        json!({"type": "response.created", "response": {"status": "in_progress"}}),
        added(0, json!({"type": "reasoning", "id": "rs_1", "summary": []})),
        done(0, reasoning("rs_1", Some("blob"))),
        added(1, json!({"type": "message", "id": "msg_1", "content": []})),
        text(1, "Grüße "),
        text(1, "👋"),
        done(1, message("Grüße 👋")),
        added(2, call("a", "f", "")),
        args(2, "{\"p\":\"Par\\u00e"),
        args(2, "ds 🗼\"}"),
        done(2, call("a", "f", "{\"p\":\"Par\\u00eds 🗼\"}")),
        completed(None),
    ];
    let lines = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap();
        format!(": x\nevent: {name}\r\ndata: {event}\r\n\r\n")
    });
    format!("\u{feff}{}", lines.collect::<String>()).into_bytes()
}

/// The shown text and the answer of `bytes` delivered in these chunks.
fn through_the_reader(chunks: Vec<Vec<u8>>) -> (Vec<String>, ModelAnswer) {
    use futures_util::StreamExt;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let bytes =
            futures_util::stream::iter(chunks.into_iter().map(Ok::<_, std::convert::Infallible>));
        let idle = std::time::Duration::from_secs(5);
        let mut events = std::pin::pin!(leverframe::text::framing::events(
            bytes,
            idle,
            leverframe::model::exchange::LIMITS
        ));
        let mut found = Vec::new();
        while let Some(event) = events.next().await {
            found.push(serde_json::from_str(&event.unwrap().data).unwrap());
        }
        let (shown, end) = decode(&found);
        (shown, end.unwrap())
    })
}

#[test]
fn the_same_answer_however_the_bytes_are_cut() {
    let bytes = wire();
    let whole = through_the_reader(vec![bytes.clone()]);
    assert_eq!(whole.1.text, "Grüße 👋");
    assert_eq!(found(&whole.1), [("a", "f", json!({"p": "París 🗼"}))]);
    for cut in 0..=bytes.len() {
        let (left, right) = bytes.split_at(cut);
        assert_eq!(
            through_the_reader(vec![left.to_vec(), right.to_vec()]),
            whole,
            "cut at {cut}"
        );
    }
    let single = bytes.iter().map(|byte| vec![*byte]).collect();
    assert_eq!(through_the_reader(single), whole);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_rechunking_gives_the_same_answer(cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..12)) {
        let bytes = wire();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let chunks = places.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect();
        prop_assert_eq!(through_the_reader(chunks), through_the_reader(vec![bytes]));
    }
}

#[test]
fn a_call_with_the_users_own_key_costs_both_charges() {
    let end = json!({"type": "response.completed", "response": {"status": "completed", "usage":
        {"input_tokens": 100, "output_tokens": 9, "cost": 0, "is_byok": true,
         "cost_details": {"upstream_inference_cost": 0.5}}}});
    assert_eq!(answer(&[text(0, "a"), end]).usage.cost_usd, Some(0.5));
}
