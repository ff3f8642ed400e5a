//! What we send: bodies that are legal, stable and never leak another family's blocks.

use leverframe::model::anthropic::wire as anthropic;
use leverframe::model::openai_chat::wire::{self as chat, Parameters};
use leverframe::model::request::ModelMessage;
use leverframe::protocol::session::NativeBlocks;
use serde_json::{Value, json};

use crate::models::helpers::{exchange, request, user};

const ALL: Parameters = Parameters {
    stream_options: true,
    max_completion_tokens: false,
    parallel_tool_calls: true,
};

fn with_native(family: &str, content: Value) -> Vec<ModelMessage> {
    let mut messages = exchange(["c1", "c2"]);
    if let ModelMessage::Assistant { native, .. } = &mut messages[1] {
        *native = Some(NativeBlocks {
            family: family.to_owned(),
            content,
        });
    }
    messages
}

fn blocks() -> Value {
    json!([
        {"type": "thinking", "thinking": "", "signature": "sig=="},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a"}},
        {"type": "tool_use", "id": "dropped", "name": "read_file", "input": {}},
        {"type": "tool_use", "id": "c2", "name": "list_files", "input": {}},
    ])
}

#[test]
fn own_native_blocks_are_replayed_verbatim() {
    let body = anthropic::body(&request(with_native("anthropic", blocks())));
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            {"type": "thinking", "thinking": "", "signature": "sig=="},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a"}},
            {"type": "tool_use", "id": "c2", "name": "list_files", "input": {}},
        ])
    );
}

#[test]
fn foreign_or_unfitting_native_blocks_are_left_out() {
    let plain = anthropic::body(&request(exchange(["c1", "c2"])));
    for (family, content) in [
        ("gemini", blocks()),
        (
            "anthropic",
            json!([{"type": "thinking", "thinking": "", "signature": "s"}]),
        ),
        ("anthropic", json!("not a list")),
    ] {
        assert_eq!(
            anthropic::body(&request(with_native(family, content))),
            plain
        );
    }
    let body = chat::body(&request(with_native("anthropic", blocks())), ALL);
    assert_eq!(body, chat::body(&request(exchange(["c1", "c2"])), ALL));
    assert!(!body.to_string().contains("sig=="));
}

#[test]
fn results_stand_alone_in_one_message() {
    let mut messages = exchange(["c1", "c.2/x"]);
    messages.push(user("and now?"));
    let body = anthropic::body(&request(messages));
    let results = body["messages"][2]["content"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(results[1]["tool_use_id"], "c_2_x", "ids are made legal");
    assert_eq!(
        body["messages"][1]["content"][2]["id"], "c_2_x",
        "on both sides"
    );
    assert_eq!(results[1]["is_error"], true);
    assert!(results.iter().all(|block| block["type"] == "tool_result"));
}

#[test]
fn cache_marks_are_on_tools_system_and_the_last_block() {
    let body = anthropic::body(&request(exchange(["c1", "c2"])));
    assert!(body["tools"][1]["cache_control"].is_object());
    assert!(body["system"][0]["cache_control"].is_object());
    assert!(body["messages"][2]["content"][1]["cache_control"].is_object());
    assert_eq!(body.to_string().matches("cache_control").count(), 3);
}

#[test]
fn optional_parts_are_left_out_rather_than_empty() {
    let mut bare = request(vec![user("  ")]);
    bare.tools.clear();
    bare.system.clear();
    bare.one_tool_per_step = true;
    let body = anthropic::body(&bare);
    for name in ["tools", "system", "tool_choice"] {
        assert!(body.get(name).is_none(), "{name}");
    }
    assert_eq!(body["messages"][0]["content"][0]["text"], "(empty message)");
    let body = chat::body(&bare, ALL);
    for name in ["tools", "parallel_tool_calls", "max_completion_tokens"] {
        assert!(body.get(name).is_none(), "{name}");
    }
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn one_call_an_answer_is_asked_for_in_the_provider_s_way() {
    let mut asked = request(vec![user("hi")]);
    asked.one_tool_per_step = true;
    assert_eq!(
        anthropic::body(&asked)["tool_choice"]["disable_parallel_tool_use"],
        true
    );
    assert_eq!(chat::body(&asked, ALL)["parallel_tool_calls"], false);
    asked.one_tool_per_step = false;
    assert!(anthropic::body(&asked).get("tool_choice").is_none());
    assert!(chat::body(&asked, ALL).get("parallel_tool_calls").is_none());
}

#[test]
fn a_longer_history_keeps_the_prefix_byte_for_byte() {
    let short = chat::body(&request(vec![user("look at both")]), ALL).to_string();
    let long = chat::body(&request(exchange(["c1", "c2"])), ALL).to_string();
    let shared = short.find("look at both").unwrap();
    assert_eq!(short[..shared], long[..shared]);
}
