//! Whole calls to a Responses server: what is refused and asked again, and what goes back in the next step.

use leverframe::config::model_tables::PromptCache;
use leverframe::config::settings::ProviderKind;
use leverframe::model::request::{
    AssistantToolCall, Model, ModelAnswer, ModelErrorKind, ModelMessage, ModelRequest, StopReason,
    ToolResultMessage,
};
use leverframe::protocol::session::NativeBlocks;
use serde_json::{Value, json};

use crate::models::byte_peer::{BytePeer, Play};
use crate::models::helpers::{KEY, adapter, request, run, settings, user};

const KIND: ProviderKind = ProviderKind::OpenAiResponses;

fn stream(events: &[Value]) -> Play {
    let lines = events.iter().map(|event| format!("data: {event}\n\n"));
    Play::events(lines.collect::<String>())
}

fn answer_with(items: &[Value]) -> Play {
    let mut events: Vec<Value> = (0..)
        .zip(items)
        .map(|(index, item): (u64, _)| {
            json!({"type": "response.output_item.done", "output_index": index, "item": item})
        })
        .collect();
    events.push(json!({"type": "response.completed", "response": {"status": "completed"}}));
    stream(&events)
}

fn said(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

fn refusal(status: &str, code: &str, message: &str) -> Play {
    let body =
        json!({"error": {"message": message, "type": "invalid_request_error", "code": code}});
    Play::whole(
        status,
        "content-type: application/json\r\n",
        &body.to_string(),
    )
}

fn model_at(peer: &BytePeer) -> Box<dyn Model> {
    adapter(KIND, &settings(KIND, &format!("{}/v1", peer.base_url)))
}

/// The history after `answer`, with a result for every call.
fn continued(mut asked: ModelRequest, answer: &ModelAnswer) -> ModelRequest {
    let calls = answer.tool_calls.iter();
    asked.messages.push(ModelMessage::Assistant {
        text: answer.text.clone(),
        tool_calls: calls
            .clone()
            .map(|call| AssistantToolCall {
                provider_call_id: call.provider_call_id.clone(),
                name: call.name.clone(),
                args: call.args.clone().unwrap_or(json!({})),
            })
            .collect(),
        native: answer.native.clone(),
    });
    asked.messages.push(ModelMessage::ToolResults {
        results: calls
            .map(|call| ToolResultMessage {
                provider_call_id: call.provider_call_id.clone(),
                name: call.name.clone(),
                content: "done".to_owned(),
                is_error: call.args.is_err(),
            })
            .collect(),
    });
    asked
}

#[tokio::test]
async fn the_next_step_sends_the_items_back_as_they_came() {
    let items = [
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed=="}),
        json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read_file",
               "arguments": "{\"path\": \"a\"}", "status": "completed", "namespace": "files"}),
        json!({"type": "function_call", "id": "fc_2", "call_id": "c1", "name": "list_files",
               "arguments": "{\"path\": \"cut o", "status": "completed"}),
    ];
    let peer = BytePeer::start(
        KIND,
        vec![answer_with(&items), answer_with(&[said("Hello")])],
    )
    .await;
    let model = model_at(&peer);
    let mut asked = request(vec![user("look")]);
    asked.profile.reasoning = true;
    let first = run(model.as_ref(), asked.clone()).await;
    assert_eq!(first.answer().stop, StopReason::ToolUse);
    let ids: Vec<_> = first
        .answer()
        .tool_calls
        .iter()
        .map(|call| call.provider_call_id.as_str())
        .collect();
    assert_eq!(ids, ["c1", "call_local_1"]);
    assert!(first.answer().tool_calls[1].args.is_err(), "never repaired");
    let second = run(model.as_ref(), continued(asked, first.answer())).await;
    assert_eq!(second.answer().text, "Hello");
    let seen = peer.seen().await;
    let input = &seen[1].body["input"];
    assert_eq!((&input[1], &input[2]), (&items[0], &items[1]));
    assert_eq!(input[3]["call_id"], "call_local_1");
    assert_eq!(input[3]["arguments"], "{}");
    assert_eq!(input[5]["call_id"], "call_local_1");
    assert_eq!(
        seen[1].body["include"],
        json!(["reasoning.encrypted_content"])
    );
}

#[tokio::test]
async fn refused_parameters_are_dropped_once_and_remembered_for_that_model() {
    let bad = "400 Bad Request";
    let peer = BytePeer::start(
        KIND,
        vec![
            refusal(
                bad,
                "unknown_parameter",
                "Unknown parameter: 'stream_options.include_obfuscation'.",
            ),
            refusal(
                bad,
                "unsupported_parameter",
                "prompt_cache_options is not supported with this model",
            ),
            refusal(
                bad,
                "unsupported_parameter",
                "Unsupported parameter: 'prompt_cache_key'",
            ),
            refusal(
                bad,
                "",
                "parallel_tool_calls: Extra inputs are not permitted",
            ),
            refusal(
                bad,
                "invalid_request_error",
                "Encrypted content is not supported with this model.",
            ),
            refusal(
                bad,
                "unsupported_parameter",
                "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            ),
            refusal(
                bad,
                "unknown_parameter",
                "Unknown parameter: 'tools[0].strict'.",
            ),
            answer_with(&[said("Hello")]),
            answer_with(&[said("Hello")]),
            // A second refusal of what is not sent any more is an error, and so is a bound that is not taken.
            refusal(
                bad,
                "unknown_parameter",
                "Unknown parameter: 'stream_options'.",
            ),
            refusal(
                bad,
                "unsupported_parameter",
                "Unsupported parameter: 'max_output_tokens'",
            ),
            answer_with(&[said("Hello")]),
        ],
    )
    .await;
    let model = model_at(&peer);
    let mut asked = request(vec![user("hi")]);
    asked.one_tool_per_step = true;
    asked.profile.reasoning = true;
    asked.profile.effort = Some("low".to_owned());
    asked.profile.prompt_cache = PromptCache::Key;
    asked.prompt_cache_key = Some("session".to_owned());
    for _ in 0..2 {
        let outcome = run(model.as_ref(), asked.clone()).await;
        assert_eq!(outcome.answer().text, "Hello");
    }
    for _ in 0..2 {
        let outcome = run(model.as_ref(), asked.clone()).await;
        assert_eq!(outcome.error().kind, ModelErrorKind::InvalidRequest);
    }
    let mut other = asked.clone();
    other.model = "another-model".to_owned();
    run(model.as_ref(), other).await.answer();
    let seen = peer.seen().await;
    let has = |at: usize, name: &str| seen[at].body.get(name).is_some();
    let order = [
        "stream_options",
        "prompt_cache_options",
        "prompt_cache_key",
        "parallel_tool_calls",
        "include",
        "reasoning",
    ];
    for (at, name) in order.iter().enumerate() {
        assert!(has(at, name), "{name} is sent at first");
        for later in at + 1..11 {
            assert!(!has(later, name), "{name} in request {later}");
        }
        assert!(has(11, name), "{name}: other models keep it");
    }
    assert!(seen[6].body["tools"][0].get("strict").is_some());
    assert!(seen[7].body["tools"][0].get("strict").is_none());
}

#[tokio::test]
async fn a_refused_value_is_the_operator_s_to_correct() {
    let peer = BytePeer::start(
        KIND,
        vec![refusal(
            "400 Bad Request",
            "unsupported_value",
            "Unsupported value: 'reasoning.effort' does not support 'huge' with this model.",
        )],
    )
    .await;
    let mut asked = request(vec![user("hi")]);
    asked.profile.effort = Some("huge".to_owned());
    let outcome = run(model_at(&peer).as_ref(), asked).await;
    let error = outcome.error();
    assert_eq!(error.kind, ModelErrorKind::InvalidRequest);
    assert!(error.message.contains("reasoning.effort"), "{error}");
    assert_eq!(peer.seen().await.len(), 1);
}

fn thoughtful() -> ModelRequest {
    let mut asked = request(vec![
        user("one"),
        ModelMessage::Assistant {
            text: "First.".to_owned(),
            tool_calls: Vec::new(),
            native: Some(NativeBlocks {
                family: "openai-responses".to_owned(),
                content: json!([
                    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"},
                    {"type": "message", "id": "msg_1", "role": "assistant",
                     "content": [{"type": "output_text", "text": "First."}]},
                ]),
            }),
        },
        user("two"),
    ]);
    asked.profile.reasoning = true;
    asked
}

#[tokio::test]
async fn reasoning_that_is_not_taken_back_is_left_out_once() {
    for (status, code, message) in [
        (
            "404 Not Found",
            "",
            "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
        ),
        (
            "400 Bad Request",
            "",
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        ),
        (
            "400 Bad Request",
            "",
            "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
        ),
        (
            "400 Bad Request",
            "invalid_encrypted_content",
            "The encrypted content could not be verified.",
        ),
    ] {
        let plays = vec![
            refusal(status, code, message),
            answer_with(&[said("Hello")]),
        ];
        let peer = BytePeer::start(KIND, plays).await;
        let outcome = run(model_at(&peer).as_ref(), thoughtful()).await;
        assert_eq!(outcome.answer().text, "Hello", "{message}");
        let seen = peer.seen().await;
        assert_eq!(seen[0].body["input"][1]["type"], "reasoning");
        let flat = seen[1].body["input"].to_string();
        assert!(
            !flat.contains("rs_1") && !flat.contains("msg_1") && flat.contains("First."),
            "{flat}"
        );
        assert_eq!(
            seen[1].body["include"], seen[0].body["include"],
            "nothing else is given up"
        );

        // Twice is once too often, and without any reasoning in the history there is nothing to leave out.
        let plays = vec![
            refusal(status, code, message),
            refusal(status, code, message),
        ];
        let peer = BytePeer::start(KIND, plays).await;
        let outcome = run(model_at(&peer).as_ref(), thoughtful()).await;
        assert!(
            outcome.error().message.contains(&message[..12]),
            "{}",
            outcome.error()
        );
        assert_eq!(peer.seen().await.len(), 2);
        let peer = BytePeer::start(KIND, vec![refusal(status, code, message)]).await;
        let outcome = run(model_at(&peer).as_ref(), request(vec![user("hi")])).await;
        assert!(outcome.end.is_err());
        assert_eq!(peer.seen().await.len(), 1);
    }
}

#[tokio::test]
async fn an_answer_that_fails_or_is_cut_says_so() {
    let cut = [
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": "Half an ans"}),
        json!({"type": "response.output_item.added", "output_index": 1, "item":
            {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": ""}}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{\"path\":\"a\"}"}),
        json!({"type": "response.incomplete", "response": {"status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"}, "usage": {"input_tokens": 3, "output_tokens": 500}}}),
    ];
    let peer = BytePeer::start(KIND, vec![stream(&cut)]).await;
    let outcome = run(model_at(&peer).as_ref(), request(vec![user("hi")])).await;
    let answer = outcome.answer();
    assert_eq!(
        (answer.text.as_str(), &answer.stop),
        ("Half an ans", &StopReason::MaxTokens)
    );
    assert!(
        answer.tool_calls[0].args.is_err(),
        "what was not closed is never run"
    );

    let message = format!("it broke while it read {KEY}");
    for event in [
        json!({"type": "error", "code": "server_error", "message": message, "param": null}),
        json!({"type": "response.failed", "response": {"status": "failed",
            "error": {"code": "server_error", "message": message}}}),
    ] {
        // Nothing follows, and nothing is waited for.
        let play = stream(&[cut[0].clone(), event]).closing(crate::models::byte_peer::Close::Wait);
        let peer = BytePeer::start(KIND, vec![play]).await;
        let outcome = run(model_at(&peer).as_ref(), request(vec![user("hi")])).await;
        let error = outcome.error();
        assert_eq!(error.kind, ModelErrorKind::Overloaded);
        assert!(
            error.message.contains("server_error") && error.message.contains("it broke"),
            "{error}"
        );
        assert!(
            error.message.starts_with("provider peer (127.0.0.1:"),
            "{error}"
        );
        assert!(!error.message.contains(KEY), "{error}");
        assert_eq!(outcome.shown(), "Half an ans");
    }
}

#[tokio::test]
async fn base_urls_lead_to_one_endpoint() {
    for suffix in ["", "/", "/v1", "/v1/", "/v1/responses"] {
        // The peer checks the path.
        let peer = BytePeer::start(KIND, vec![answer_with(&[said("Hello")])]).await;
        let model = adapter(KIND, &settings(KIND, &format!("{}{suffix}", peer.base_url)));
        assert_eq!(
            run(model.as_ref(), request(vec![user("hi")]))
                .await
                .answer()
                .text,
            "Hello"
        );
        peer.seen().await;
    }
}
