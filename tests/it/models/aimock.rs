//! The network adapters against aimock, a mock server that others wrote (`tests/peers/install.sh`).
//!
//! Checks nothing, loudly, where aimock is not installed.

use std::time::Duration;

use leverframe::config::settings::ProviderKind;
use leverframe::model::request::{Model, ModelErrorKind, ModelMessage, ModelRequest, StopReason};
use serde_json::json;

use crate::models::helpers::{adapter, answered, request, run, settings, user};
use crate::support::aimock::Aimock;

fn models(peer: &Aimock) -> [Box<dyn Model>; 5] {
    let of = |kind, path: &str| adapter(kind, &settings(kind, &format!("{}{path}", peer.base)));
    [
        of(ProviderKind::OpenAiChat, "/v1"),
        of(ProviderKind::Anthropic, ""),
        of(ProviderKind::OpenAiResponses, ""),
        of(ProviderKind::Gemini, ""),
        of(ProviderKind::Ollama, ""),
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
        let usage = (answer.usage.input_tokens, answer.usage.output_tokens);
        if model.family() == "ollama" {
            // Its counts are always 0 there: ours are estimates.
            assert!(usage.0 > 50 && usage.1 > 10, "{usage:?}");
        } else {
            assert_eq!(usage, (11, 7));
        }
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
            let ids = if model.family() == "ollama" {
                ["call_local_0", "call_local_1"]
            } else {
                ["call_a", "call_b"]
            };
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
                    (ids[0], "read_file", Ok(json!({"path": "README.md"}))),
                    (ids[1], "list_files", Ok(json!({"path": "."}))),
                ]
            );
            asked
                .messages
                .extend(answered(answer, &["# Read me", second]));
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
            matches!(model.family(), "anthropic" | "openai-responses"),
            "its Gemini signs nothing"
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
