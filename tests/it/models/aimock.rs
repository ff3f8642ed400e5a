//! The network adapters against aimock, a mock server that others wrote (`tests/peers/install.sh`).
//!
//! Checks nothing, loudly, where aimock is not installed.

use std::time::Duration;

use leverframe::config::settings::ProviderKind;
use leverframe::model::request::{
    AssistantToolCall, Model, ModelErrorKind, ModelMessage, ModelRequest, StopReason,
    ToolResultMessage,
};
use serde_json::json;

use crate::models::helpers::{adapter, request, run, settings, user};
use crate::support::aimock::Aimock;

fn models(peer: &Aimock) -> [Box<dyn Model>; 3] {
    let of = |kind, path: &str| adapter(kind, &settings(kind, &format!("{}{path}", peer.base)));
    [
        of(ProviderKind::OpenAiChat, "/v1"),
        of(ProviderKind::Anthropic, ""),
        of(ProviderKind::OpenAiResponses, ""),
    ]
}

fn asking(text: &str) -> ModelRequest {
    request(vec![user(text)])
}

#[tokio::test]
async fn text_arrives_with_usage() {
    let Some(peer) = Aimock::start().await else {
        return;
    };
    for model in models(&peer) {
        let outcome = run(model.as_ref(), asking("plain-text")).await;
        let answer = outcome.answer();
        assert_eq!(
            answer.text,
            "Hello from the mock: grüße 👋, a text long enough for several chunks."
        );
        assert!(outcome.deltas.len() > 2, "it streams");
        assert_eq!(answer.stop, StopReason::EndTurn);
        assert_eq!(
            (answer.usage.input_tokens, answer.usage.output_tokens),
            (11, 7)
        );
    }
}

#[tokio::test]
async fn two_calls_go_out_and_their_results_come_back() {
    let Some(peer) = Aimock::start().await else {
        return;
    };
    for model in models(&peer) {
        for (second, expected) in [
            ("a.txt b.txt", "Both are there."),
            ("denied by operator: not now", "One of them was denied."),
        ] {
            let mut asked = asking("two-calls");
            let outcome = run(model.as_ref(), asked.clone()).await;
            let answer = outcome.answer();
            assert_eq!(answer.stop, StopReason::ToolUse);
            let calls: Vec<_> = answer
                .tool_calls
                .iter()
                .map(|call| {
                    (
                        call.provider_call_id.as_str(),
                        call.name.as_str(),
                        call.args.clone(),
                    )
                })
                .collect();
            assert_eq!(
                calls,
                [
                    ("call_a", "read_file", Ok(json!({"path": "README.md"}))),
                    ("call_b", "list_files", Ok(json!({"path": "."}))),
                ]
            );
            let result = |at: usize, content: &str, is_error| ToolResultMessage {
                provider_call_id: answer.tool_calls[at].provider_call_id.clone(),
                name: answer.tool_calls[at].name.clone(),
                content: content.to_owned(),
                is_error,
            };
            asked.messages.push(ModelMessage::Assistant {
                text: answer.text.clone(),
                tool_calls: answer
                    .tool_calls
                    .iter()
                    .map(|call| AssistantToolCall {
                        provider_call_id: call.provider_call_id.clone(),
                        name: call.name.clone(),
                        args: call.args.clone().unwrap(),
                    })
                    .collect(),
                native: answer.native.clone(),
            });
            asked.messages.push(ModelMessage::ToolResults {
                results: vec![
                    result(0, "# Read me", false),
                    result(1, second, second.contains("denied")),
                ],
            });
            assert_eq!(run(model.as_ref(), asked).await.answer().text, expected);
        }
    }
}

#[tokio::test]
async fn too_many_requests_carry_the_wait() {
    let Some(peer) = Aimock::start().await else {
        return;
    };
    for model in models(&peer) {
        let outcome = run(model.as_ref(), asking("too-fast")).await;
        let error = outcome.error();
        assert_eq!(error.kind, ModelErrorKind::RateLimited, "{error}");
        assert_eq!(error.retry_after, Some(Duration::from_secs(3)));
        assert!(error.message.contains("Slow down"), "{error}");
    }
}

#[tokio::test]
async fn a_socket_cut_in_mid_stream_is_no_answer() {
    let Some(peer) = Aimock::start().await else {
        return;
    };
    for model in models(&peer) {
        let outcome = run(model.as_ref(), asking("cut-off")).await;
        assert_eq!(outcome.error().kind, ModelErrorKind::Disconnected);
    }
}

#[tokio::test]
async fn reasoning_is_not_shown_and_is_replayed_where_it_must_be() {
    let Some(peer) = Aimock::start().await else {
        return;
    };
    for model in models(&peer) {
        let outcome = run(model.as_ref(), asking("think")).await;
        assert_eq!(outcome.answer().text, "Thought about it.");
        assert!(outcome.heartbeats > 0, "thinking is a sign of life");
        assert_eq!(
            outcome.answer().native.is_some(),
            model.family() != "openai-chat"
        );
    }
}

#[tokio::test]
async fn reasoning_items_go_back_to_the_server_that_made_them() {
    let Some(peer) = Aimock::start().await else {
        return;
    };
    let settings = settings(ProviderKind::OpenAiResponses, &format!("{}/v1", peer.base));
    let model = adapter(ProviderKind::OpenAiResponses, &settings);
    let mut asked = asking("think");
    asked.profile.reasoning = true;
    asked.profile.effort = Some("low".to_owned());
    let first = run(model.as_ref(), asked.clone()).await;
    let native = first
        .answer()
        .native
        .clone()
        .expect("reasoning to send back");
    assert_eq!(native.content[0]["type"], "reasoning");
    asked.messages.push(ModelMessage::Assistant {
        text: first.answer().text.clone(),
        tool_calls: Vec::new(),
        native: Some(native),
    });
    asked.messages.push(user("plain-text"));
    let second = run(model.as_ref(), asked).await;
    assert!(second.answer().text.starts_with("Hello from the mock"));
}
