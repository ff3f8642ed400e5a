//! Characters that a server splits over pieces, and servers that count nothing, on all five wires.

use leverframe::config::settings::ProviderKind;
use leverframe::model::surrogates::{Joiner, join, parse};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::models::helpers::{Outcome, adapter, request, run, settings, user};
use crate::support::fake_http::{FakeHttp, Reply};

const KINDS: [ProviderKind; 5] = [
    ProviderKind::OpenAiChat,
    ProviderKind::Anthropic,
    ProviderKind::OpenAiResponses,
    ProviderKind::Gemini,
    ProviderKind::Ollama,
];

/// One answer of this wire with `pieces` of text, given as the inside of JSON strings. It counts no token.
fn answer(kind: ProviderKind, pieces: &[&str]) -> Vec<String> {
    let each = |around: &str| -> Vec<String> {
        pieces
            .iter()
            .map(|piece| around.replace("TEXT", piece))
            .collect()
    };
    match kind {
        ProviderKind::OpenAiChat => [
            each(r#"{"choices":[{"index":0,"delta":{"content":"TEXT"}}]}"#),
            vec![
                r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":0,"completion_tokens":0}}"#.to_owned(),
                "[DONE]".to_owned(),
            ],
        ]
        .concat(),
        ProviderKind::Anthropic => [
            vec![
                r#"{"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0}}}"#.to_owned(),
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#.to_owned(),
            ],
            each(r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"TEXT"}}"#),
            vec![
                r#"{"type":"content_block_stop","index":0}"#.to_owned(),
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":0}}"#.to_owned(),
                r#"{"type":"message_stop"}"#.to_owned(),
            ],
        ]
        .concat(),
        ProviderKind::OpenAiResponses => [
            vec![r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","role":"assistant","content":[]}}"#.to_owned()],
            each(r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"TEXT"}"#),
            vec![r#"{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":0,"output_tokens":0}}}"#.to_owned()],
        ]
        .concat(),
        ProviderKind::Gemini => [
            each(r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"TEXT"}]}}]}"#),
            vec![r#"{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":0,"candidatesTokenCount":0}}"#.to_owned()],
        ]
        .concat(),
        ProviderKind::Ollama => [
            each(r#"{"message":{"role":"assistant","content":"TEXT"},"done":false}"#),
            vec![r#"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":0,"eval_count":0}"#.to_owned()],
        ]
        .concat(),
        ProviderKind::Scripted => panic!("no wire"),
    }
}

async fn ask(kind: ProviderKind, events: Vec<String>) -> Outcome {
    let lines = kind == ProviderKind::Ollama;
    let (content_type, before, after) = if lines {
        ("application/x-ndjson", "", "\n")
    } else {
        ("text/event-stream", "data: ", "\n\n")
    };
    let mut bytes = format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\n\r\n");
    for event in events {
        bytes.push_str(&format!("{before}{event}{after}"));
    }
    let server = FakeHttp::start(move |_| Reply::Raw(bytes.clone().into_bytes()));
    let model = adapter(kind, &settings(kind, server.url()));
    run(model.as_ref(), request(vec![user("hello")])).await
}

#[tokio::test]
async fn halves_of_a_character_are_joined_across_pieces() {
    for kind in KINDS {
        let outcome = ask(
            kind,
            answer(
                kind,
                &["a \\ud83d", "\\ude00 b", " \\ud83d", "c", "\\ude00"],
            ),
        )
        .await;
        assert_eq!(
            outcome.answer().text,
            "a 😀 b \u{fffd}c\u{fffd}",
            "{kind:?}"
        );
        let outcome = ask(kind, answer(kind, &["so \\uD83D"])).await;
        assert_eq!(outcome.answer().text, "so \u{fffd}", "{kind:?}");
    }
}

#[tokio::test]
async fn a_count_of_nothing_beside_an_answer_is_not_believed() {
    for kind in KINDS {
        let outcome = ask(kind, answer(kind, &["one answer of some length"])).await;
        let answer = outcome.answer();
        assert!(answer.usage.input_tokens > 0, "{kind:?}");
        assert!(answer.usage.output_tokens > 0, "{kind:?}");
        let noted = answer.notes.iter().any(|note| note.contains("estimated"));
        assert!(noted, "{kind:?}: {:?}", answer.notes);
    }
}

#[tokio::test]
async fn arguments_with_half_a_character_are_arguments() {
    for args in [
        json!("{\"path\":\"a\\ud83d\"}").to_string(),
        "\"{\\\"path\\\":\\\"a\\ud83d\\\"}\"".to_owned(),
    ] {
        let call = format!(
            r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"c1","function":{{"name":"read_file","arguments":{args}}}}}]}},"finish_reason":"tool_calls"}}]}}"#
        );
        let outcome = ask(ProviderKind::OpenAiChat, vec![call, "[DONE]".to_owned()]).await;
        let calls = &outcome.answer().tool_calls;
        assert_eq!(calls[0].args, Ok(json!({"path": "a\u{fffd}"})));
    }
}

#[test]
fn an_escaped_backslash_is_no_half() {
    let text = r#"{"a":"\\ud83d \ud83d\ude00 \ude00"}"#;
    let mut value = parse(text).unwrap();
    let Value::String(text) = &mut value["a"] else {
        panic!("a string");
    };
    join(text);
    assert_eq!(text, "\\ud83d 😀 \u{fffd}");
    assert!(parse(r#"{"a":"\ud83"}"#).is_err());
    assert!(parse("{\"a\":\"\\ud83d").is_err());
}

proptest! {
    #[test]
    fn however_it_is_cut_a_text_comes_out_as_lossy_utf16_says(
        units in prop::collection::vec(prop_oneof![
            Just(0xD83D_u16), Just(0xDE00), Just(0x61), Just(0x5C), Just(0x22), Just(0xE9), Just(0xDAFF), Just(0xDFFF),
        ], 0..24),
        cuts in prop::collection::vec(0_usize..24, 0..8),
    ) {
        let mut joiner = Joiner::default();
        let mut out = String::new();
        let mut piece = String::from("\"");
        for (position, unit) in units.iter().enumerate() {
            if cuts.contains(&position) {
                piece.push('"');
                out.push_str(&joiner.push(parse(&piece).unwrap().as_str().unwrap()));
                piece = String::from("\"");
            }
            piece.push_str(&format!("\\u{unit:04x}"));
        }
        piece.push('"');
        out.push_str(&joiner.push(parse(&piece).unwrap().as_str().unwrap()));
        out.extend(joiner.finish());
        prop_assert_eq!(out, String::from_utf16_lossy(&units));
    }
}
