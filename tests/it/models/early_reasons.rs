//! Servers that name a reason for the end with each piece of an answer: the reason alone ends nothing.

use std::time::Duration;

use leverframe::config::settings::ProviderKind;
use leverframe::model::request::ModelErrorKind;
use serde_json::json;

use crate::models::byte_peer::{Close, Play};
use crate::models::faults::call;

/// Between two pieces: three of them are longer than a trailer is waited for.
const PAUSE: Duration = Duration::from_millis(750);

fn piece(kind: ProviderKind, text: &str) -> String {
    let chunk = if kind == ProviderKind::Gemini {
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}],
               "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 4}})
    } else {
        json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}],
               "usage": {"prompt_tokens": 7, "completion_tokens": 4}})
    };
    format!("data: {chunk}\n\n")
}

#[tokio::test]
async fn a_reason_on_each_piece_cuts_no_answer() {
    for kind in [ProviderKind::Gemini, ProviderKind::OpenAiChat] {
        let mut play = Play::events(piece(kind, "one "));
        for text in ["two ", "three ", "four"] {
            play = play.then(PAUSE, piece(kind, text));
        }
        let outcome = call(kind, play).await;
        assert_eq!(outcome.answer().text, "one two three four", "{kind:?}");
    }
}

#[tokio::test]
async fn such_an_answer_that_breaks_off_is_not_whole() {
    for kind in [ProviderKind::Gemini, ProviderKind::OpenAiChat] {
        let play = Play::events(piece(kind, "one "))
            .then(PAUSE, piece(kind, "two "))
            .then(PAUSE, ": and\n\n")
            .closing(Close::Rst);
        let outcome = call(kind, play).await;
        assert_eq!(
            outcome.error().kind,
            ModelErrorKind::Disconnected,
            "{kind:?}"
        );
        assert_eq!(outcome.shown(), "one two ");
    }
}
