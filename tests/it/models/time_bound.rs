//! The time of a whole call: an answer that drips for ever meets neither the bound of silence nor that of size.

use std::time::{Duration, Instant};

use leverframe::config::settings::ProviderKind;
use leverframe::model::request::ModelErrorKind;

use crate::models::byte_peer::{BytePeer, Close, Play};
use crate::models::faults::{ALL, base_of, end_part, text_part};
use crate::models::helpers::{Outcome, adapter, request, run, settings, user};

/// A little more of an answer that [`text_part`] began.
fn drip(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::OpenAiChat => {
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\".\"}}]}\n\n"
        }
        ProviderKind::Anthropic => {
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\".\"}}\n\n"
        }
        ProviderKind::OpenAiResponses => {
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"msg_1\",\"output_index\":0,\"delta\":\".\"}\n\n"
        }
        ProviderKind::Gemini => {
            "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\".\"}]}}]}\n\n"
        }
        ProviderKind::Ollama => {
            "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\".\"},\"done\":false}\n"
        }
        ProviderKind::Scripted => unreachable!(),
    }
}

/// `count` drips, 50 ms apart.
fn dripping(mut play: Play, count: usize, piece: &str) -> Play {
    for _ in 0..count {
        play = play.then(Duration::from_millis(50), piece);
    }
    play
}

async fn call(kind: ProviderKind, seconds: u64, play: Play) -> (Outcome, Duration) {
    let peer = BytePeer::start(kind, vec![play]).await;
    let mut settings = settings(kind, &base_of(kind, &peer));
    settings.idle_timeout_seconds = 5;
    settings.request_timeout_seconds = seconds;
    let model = adapter(kind, &settings);
    let begun = Instant::now();
    let outcome = run(model.as_ref(), request(vec![user("hi")])).await;
    (outcome, begun.elapsed())
}

#[tokio::test]
async fn an_answer_that_drips_for_ever_ends_at_the_time_of_a_call() {
    for kind in ALL {
        // Ten seconds of drips, were it listened to.
        let play = dripping(Play::stream(kind, text_part(kind)), 200, drip(kind));
        let (outcome, took) = call(kind, 1, play).await;
        let error = outcome.end.as_ref().unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Timeout, "{kind:?}: {error:?}");
        assert!(outcome.shown().starts_with("Hello."), "{kind:?}");
        let text = format!(
            "expected the whole answer within 1 s (request_timeout_seconds), {} bytes of text came in",
            outcome.shown().len()
        );
        let message = &error.message;
        assert!(
            message.starts_with("provider peer (127.0.0.1:"),
            "{message}"
        );
        assert!(message.contains(&text), "{kind:?}: {message}");
        assert!(message.contains("no end"), "{message}");
        assert!(
            took >= Duration::from_secs(1) && took < Duration::from_secs(8),
            "{took:?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_only_says_that_it_lives_ends_there_too() {
    let play = dripping(Play::events(""), 200, ": busy\n\n");
    let (outcome, _) = call(ProviderKind::OpenAiChat, 1, play).await;
    let error = outcome.end.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Timeout);
    assert!(
        error.message.contains("no part of it arrived"),
        "{}",
        error.message
    );
    // Nothing at all, not even a status: counted from sending.
    let silent = Play {
        parts: Vec::new(),
        close: Close::Wait,
    };
    let (outcome, _) = call(ProviderKind::OpenAiChat, 1, silent).await;
    let error = outcome.end.unwrap_err();
    assert!(
        error.message.contains("request_timeout_seconds"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn no_bound_is_no_bound_and_a_slow_answer_in_time_is_an_answer() {
    for kind in ALL {
        for seconds in [0, 30] {
            // Longer than the second that is too short above.
            let play = dripping(Play::stream(kind, text_part(kind)), 24, drip(kind));
            let play = play.then(Duration::from_millis(50), end_part(kind));
            let (outcome, took) = call(kind, seconds, play).await;
            // Responses says in its last event what the whole text was; how often it dripped is not asked.
            assert!(
                outcome.end.is_ok() || kind == ProviderKind::OpenAiResponses,
                "{kind:?}"
            );
            assert!(took > Duration::from_millis(1200), "{kind:?}: {took:?}");
        }
    }
}

#[tokio::test]
async fn a_trailer_that_drips_is_not_waited_for() {
    let kind = ProviderKind::OpenAiChat;
    let finished =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let play = Play::stream(kind, format!("{}{finished}", text_part(kind)));
    let play = dripping(play, 200, "data: {\"choices\":[]}\n\n");
    let (outcome, took) = call(kind, 60, play).await;
    assert_eq!(outcome.end.unwrap().text, "Hello");
    assert!(took < Duration::from_secs(8), "{took:?}");
}
