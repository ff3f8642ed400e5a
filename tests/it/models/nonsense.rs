//! Decoders and the scripted model on nonsense: any answer or error, never a crash.

use leverframe::model::anthropic::decoder::Decoder as Anthropic;
use leverframe::model::decode::Decode;
use leverframe::model::openai_chat::decoder::Decoder as Chat;
use leverframe::model::openai_responses::decoder::Decoder as Responses;
use leverframe::model::request::ModelEvent;
use leverframe::model::scripted::directive::script;
use leverframe::model::scripted::scenario::scenario;
use proptest::prelude::*;
use serde_json::{Value, json};

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..5).prop_map(Value::from),
        Just(json!(1e300)),
        "[a-z{}\":é👋]{0,8}".prop_map(Value::from),
        Just(json!("text_delta")),
        Just(json!("input_json_delta")),
        Just(json!("tool_use")),
        Just(json!("{\"a\":1}")),
        Just(json!("stop")),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((word(), inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("type"),
        Just("id"),
        Just("name"),
        Just("arguments"),
        Just("function"),
        Just("content"),
        Just("text"),
        Just("index"),
        Just("partial_json"),
        Just("input"),
        Just("error"),
        Just("message"),
        Just("usage"),
        Just("tool_calls"),
    ]
    .prop_map(str::to_owned)
}

fn chat_chunk() -> impl Strategy<Value = Value> {
    prop_oneof![
        value(),
        value().prop_map(|delta| json!({"choices": [{"delta": delta}]})),
        proptest::collection::vec(value(), 0..3)
            .prop_map(|calls| json!({"choices": [{"delta": {"tool_calls": calls}}]})),
        value().prop_map(
            |reason| json!({"choices": [{"delta": {}, "finish_reason": reason}], "usage": {}})
        ),
        Just(json!({"choices": [{"delta": {}, "finish_reason": "stop"}]})),
    ]
}

fn anthropic_event() -> impl Strategy<Value = Value> {
    prop_oneof![
        value(),
        (0..3_u64, value()).prop_map(|(index, block)| json!({"type": "content_block_start", "index": index, "content_block": block})),
        (0..3_u64, value()).prop_map(|(index, delta)| json!({"type": "content_block_delta", "index": index, "delta": delta})),
        (0..3_u64).prop_map(|index| json!({"type": "content_block_stop", "index": index})),
        value().prop_map(|usage| json!({"type": "message_delta", "delta": {"stop_reason": usage}, "usage": usage})),
        Just(json!({"type": "message_stop"})),
    ]
}

fn responses_event() -> impl Strategy<Value = Value> {
    let kinds = prop_oneof![
        Just("response.output_item.added"),
        Just("response.output_item.done"),
        Just("response.output_text.delta"),
        Just("response.refusal.delta"),
        Just("response.function_call_arguments.delta"),
        Just("response.function_call_arguments.done"),
        Just("response.completed"),
        Just("response.incomplete"),
    ];
    let call = (value(), value()).prop_map(|(id, args)| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": args}));
    prop_oneof![
        value(),
        (kinds, 0..3_u64, prop_oneof![value(), call]).prop_map(
            |(kind, index, it)| json!({"type": kind, "output_index": index, "item": it, "delta": it, "arguments": it, "response": {"output": [it], "usage": it}})
        ),
        Just(json!({"type": "response.completed", "response": {}})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_chat_decoder_never_crashes_and_its_calls_have_distinct_ids(chunks in proptest::collection::vec(chat_chunk(), 0..8)) {
        let mut decoder = Chat::new(0);
        for chunk in &chunks {
            if decoder.data(&chunk.to_string()).is_err() {
                return Ok(());
            }
        }
        if let Ok(answer) = decoder.finish(0) {
            let mut ids: Vec<_> = answer.tool_calls.iter().map(|call| &call.provider_call_id).collect();
            let all = ids.len();
            ids.sort();
            ids.dedup();
            prop_assert_eq!(ids.len(), all);
            prop_assert!(answer.tool_calls.iter().all(|call| call.args.as_ref().map_or(true, Value::is_object)));
        }
    }

    #[test]
    fn an_anthropic_decoder_never_crashes_and_its_calls_have_distinct_ids(events in proptest::collection::vec(anthropic_event(), 0..10)) {
        let mut decoder = Anthropic::new(0);
        for event in &events {
            if decoder.data(&event.to_string()).is_err() {
                return Ok(());
            }
        }
        if let Ok(answer) = decoder.finish(0) {
            let mut ids: Vec<_> = answer.tool_calls.iter().map(|call| &call.provider_call_id).collect();
            let all = ids.len();
            ids.sort();
            ids.dedup();
            prop_assert_eq!(ids.len(), all);
            prop_assert!(answer.tool_calls.iter().all(|call| call.args.as_ref().map_or(true, Value::is_object)));
        }
    }

    #[test]
    fn a_responses_decoder_never_crashes_and_its_calls_have_distinct_ids(events in proptest::collection::vec(responses_event(), 0..10)) {
        let mut decoder = Responses::new(0);
        let mut shown = String::new();
        for event in &events {
            match decoder.data(&event.to_string()) {
                Ok(found) => for event in found {
                    if let ModelEvent::TextDelta(text) = event {
                        shown.push_str(&text);
                    }
                },
                Err(_) => return Ok(()),
            }
        }
        if let Ok(answer) = decoder.finish(0) {
            prop_assert_eq!(&answer.text, &shown);
            let mut ids: Vec<_> = answer.tool_calls.iter().map(|call| &call.provider_call_id).collect();
            let all = ids.len();
            ids.sort();
            ids.dedup();
            prop_assert_eq!(ids.len(), all);
            prop_assert!(answer.tool_calls.iter().all(|call| call.args.as_ref().map_or(true, Value::is_object)));
        }
    }

    #[test]
    fn scripts_read_any_text(text in "(TOOL:|THEN TOOL:|SAY:|SLOW:|FAIL:|BADARGS:|release note for |search the docs for |FAQ entry |[ -~]{0,10}|\\PC{0,6}|\n){0,12}") {
        let _ = script(&text);
        let _ = scenario(&text);
    }
}
