//! The model that answered, as each wire names it: an alias is answered by a dated model, a router by another one.

use leverframe::model::decode::Decode;
use leverframe::model::{anthropic, gemini, ollama, openai_chat, openai_responses};
use serde_json::{Value, json};

const NAMED: Option<&str> = Some("big-2026-01-15");

fn streamed(mut decoder: impl Decode, events: &[Value]) -> Option<String> {
    for event in events {
        decoder.data(&event.to_string()).unwrap();
    }
    decoder.finish(400).unwrap().model
}

fn whole(mut decoder: impl Decode, body: &Value) -> Option<String> {
    decoder.whole(body).unwrap();
    decoder.finish(400).unwrap().model
}

#[test]
fn messages_name_it_at_the_start() {
    let end = [
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        json!({"type": "message_stop"}),
    ];
    let start = json!({"type": "message_start", "message": {"model": NAMED, "usage": {}}});
    let events = [&[start][..], &end].concat();
    let new = || anthropic::decoder::Decoder::new(0);
    assert_eq!(streamed(new(), &events).as_deref(), NAMED);
    assert_eq!(streamed(new(), &end), None);
    let body = json!({"model": NAMED, "content": [], "stop_reason": "end_turn"});
    assert_eq!(whole(new(), &body).as_deref(), NAMED);
}

#[test]
fn chat_completions_name_it_in_every_chunk() {
    let chunk = |model: &str, reason: Option<&str>| json!({"model": model, "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": reason}]});
    // Some servers leave it empty at first. The first name counts.
    let events = [
        chunk("", None),
        chunk("big-2026-01-15", None),
        chunk("other", Some("stop")),
    ];
    let new = || openai_chat::decoder::Decoder::new(0);
    assert_eq!(streamed(new(), &events).as_deref(), NAMED);
    let body = json!({"model": NAMED, "choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]});
    assert_eq!(whole(new(), &body).as_deref(), NAMED);
}

#[test]
fn responses_name_it_at_the_end() {
    let response = json!({"model": NAMED, "status": "completed", "output": []});
    let events = [json!({"type": "response.completed", "response": response})];
    let new = || openai_responses::decoder::Decoder::new(0);
    assert_eq!(streamed(new(), &events).as_deref(), NAMED);
    assert_eq!(whole(new(), &response).as_deref(), NAMED);
}

#[test]
fn gemini_names_its_version_also_where_a_filter_stopped_the_answer() {
    for reason in ["STOP", "SAFETY"] {
        let chunk = json!({
            "modelVersion": NAMED,
            "candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": reason}],
        });
        let decoder = gemini::decoder::Decoder::new(0);
        assert_eq!(streamed(decoder, &[chunk]).as_deref(), NAMED, "{reason}");
    }
}

#[test]
fn ollama_names_it_in_every_line() {
    let line = json!({"model": NAMED, "message": {"content": "a"}, "done": true});
    let new = || ollama::decoder::Decoder::new(0);
    assert_eq!(
        streamed(new(), std::slice::from_ref(&line)).as_deref(),
        NAMED
    );
    assert_eq!(whole(new(), &line).as_deref(), NAMED);
}

#[test]
fn a_name_without_end_is_cut() {
    let line = json!({"model": "x".repeat(100_000), "message": {"content": "a"}, "done": true});
    let name = streamed(ollama::decoder::Decoder::new(0), &[line]).unwrap();
    assert!(name.len() < 2_000, "{}", name.len());
}
