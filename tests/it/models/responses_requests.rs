//! What is sent to the Responses API: bodies that are legal, stable, and refer to nothing at the server.

use leverframe::config::model_tables::PromptCache;
use leverframe::model::openai_responses::wire::{Parameters, Replay, body};
use leverframe::model::request::{ModelMessage, ModelRequest};
use leverframe::protocol::session::NativeBlocks;
use serde_json::{Value, json};

use crate::models::helpers::{exchange, request, user};

fn sent(request: &ModelRequest) -> Value {
    body(request, Parameters::default(), Replay::Native)
}

fn with_native(family: &str, content: Value) -> ModelRequest {
    let mut messages = exchange(["c1", "c2"]);
    if let ModelMessage::Assistant { native, .. } = &mut messages[1] {
        *native = Some(NativeBlocks {
            family: family.to_owned(),
            content,
        });
    }
    request(messages)
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "read_file",
           "arguments": "{}", "status": "completed", "namespace": "files", "caller": {"type": "direct"}})
}

fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "blob"})
}

/// The input items between the first user message and the results.
fn answered(request: &ModelRequest) -> Vec<Value> {
    let body = sent(request);
    let input = body["input"].as_array().unwrap();
    let items = input
        .iter()
        .skip(1)
        .take_while(|item| item["type"] != "function_call_output");
    items.cloned().collect()
}

#[test]
fn a_body_says_what_is_meant_and_nothing_else() {
    let mut asked = request(vec![user("hi")]);
    assert_eq!(
        sent(&asked),
        json!({
            "model": "test-model",
            "store": false,
            "stream": true,
            "stream_options": {"include_obfuscation": false},
            "max_output_tokens": 500,
            "instructions": "You help.",
            "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
            "tools": [
                {"type": "function", "name": "read_file", "description": "the tool read_file", "strict": false,
                 "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
                {"type": "function", "name": "list_files", "description": "the tool list_files", "strict": false,
                 "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
            ],
        })
    );
    asked.profile.reasoning = true;
    asked.profile.effort = Some("low".to_owned());
    asked.one_tool_per_step = true;
    let full = sent(&asked);
    assert_eq!(full["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(full["reasoning"], json!({"effort": "low"}));
    assert_eq!(full["parallel_tool_calls"], false);
    asked.tools.clear();
    asked.system.clear();
    let bare = sent(&asked);
    for name in ["tools", "parallel_tool_calls", "instructions"] {
        assert!(bare.get(name).is_none(), "{name}");
    }
    let none = Parameters {
        stream_options: false,
        parallel_tool_calls: false,
        encrypted_reasoning: false,
        effort: false,
        cache_key: false,
        cache_breakpoints: false,
        strict: false,
        support: Parameters::default().support,
    };
    asked.tools = request(Vec::new()).tools;
    asked.prompt_cache_key = Some("k".to_owned());
    asked.profile.prompt_cache = PromptCache::Key;
    let least = body(&asked, none, Replay::Native);
    for name in [
        "stream_options",
        "include",
        "reasoning",
        "parallel_tool_calls",
        "prompt_cache_key",
        "prompt_cache_options",
    ] {
        assert!(least.get(name).is_none(), "{name}");
    }
    assert!(!least.to_string().contains("strict"));
}

#[test]
fn another_family_s_history_is_rebuilt_in_neutral_form() {
    let plain = sent(&request(exchange(["c1", "c.2/x"])));
    assert_eq!(
        plain["input"],
        json!([
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look at both"}]},
            {"type": "message", "role": "assistant", "content": "I look."},
            {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": "{\"path\":\"a\"}"},
            {"type": "function_call", "call_id": "c_2_x", "name": "list_files", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "content of a"},
            {"type": "function_call_output", "call_id": "c_2_x", "output": "denied by operator: not now"},
        ])
    );
    let plain = sent(&request(exchange(["c1", "c2"])));
    for (family, content) in [
        (
            "anthropic",
            json!([reasoning("rs_1"), call("c1"), call("c2")]),
        ),
        // Not every call that the history answers.
        ("openai-responses", json!([reasoning("rs_1"), call("c1")])),
        ("openai-responses", json!("not a list")),
    ] {
        assert_eq!(sent(&with_native(family, content)), plain);
    }
    let native = with_native(
        "openai-responses",
        json!([reasoning("rs_1"), call("c1"), call("c2")]),
    );
    let flat = body(&native, Parameters::default(), Replay::Flat);
    assert_eq!(flat, plain);
}

#[test]
fn own_items_go_back_verbatim_each_thought_before_what_it_produced() {
    let said = json!({"type": "message", "id": "msg_1", "role": "assistant", "phase": "commentary",
                      "content": [{"type": "output_text", "text": "I look."}]});
    let items = json!([
        reasoning("rs_1"),
        said,
        call("c1"),
        reasoning("rs_2"),
        reasoning("rs_3"),
        call("c2"),
    ]);
    let asked = with_native("openai-responses", items.clone());
    assert_eq!(json!(answered(&asked)), items);
}

#[test]
fn a_thought_goes_with_what_it_produced() {
    // A call nobody took up, an empty message, and a cut right behind a thought: each leaves nothing of the thought.
    let empty =
        json!({"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": ""}]});
    let items = json!([
        reasoning("rs_1"),
        call("dropped"),
        reasoning("rs_2"),
        empty,
        reasoning("rs_3"),
        call("c1"),
        call("dropped_too"),
        call("c2"),
        reasoning("rs_4"),
    ]);
    assert_eq!(
        answered(&with_native("openai-responses", items)),
        [reasoning("rs_3"), call("c1"), call("c2")]
    );
}

#[test]
fn a_thought_without_content_is_never_referred_to() {
    for gone in [json!(null), json!("")] {
        let empty =
            json!({"type": "reasoning", "id": "rs_gone", "summary": [], "encrypted_content": gone});
        let items = json!([empty, call("c1"), reasoning("rs_2"), call("c2")]);
        let found = answered(&with_native("openai-responses", items));
        let mut bare = call("c1");
        bare.as_object_mut().unwrap().remove("id");
        assert_eq!(
            found,
            [bare, reasoning("rs_2"), call("c2")],
            "without the id by which the server would look for it"
        );
    }
}

#[test]
fn the_cache_is_used_by_key_and_by_stable_breakpoints() {
    let mut asked = request(exchange(["c1", "c2"]));
    asked.prompt_cache_key = Some("session".to_owned());
    for other in [
        PromptCache::None,
        PromptCache::Automatic,
        PromptCache::Breakpoints,
    ] {
        asked.profile.prompt_cache = other;
        assert!(
            !sent(&asked).to_string().contains("prompt_cache"),
            "{other:?}"
        );
    }
    asked.profile.prompt_cache = PromptCache::Key;
    let keyed = sent(&asked);
    assert_eq!(keyed["prompt_cache_key"], "session");
    assert_eq!(keyed["prompt_cache_options"], json!({"mode": "explicit"}));
    let mark = json!({"mode": "explicit"});
    assert_eq!(
        keyed["input"][0]["content"][0]["prompt_cache_breakpoint"],
        mark
    );
    assert_eq!(
        keyed["input"][5]["output"][0]["prompt_cache_breakpoint"],
        mark
    );
    assert!(
        keyed["input"][4]["output"][0]
            .get("prompt_cache_breakpoint")
            .is_none()
    );

    // A later request holds the earlier one's last breakpoint, and never more than four.
    for turn in 0..6 {
        asked.messages.push(ModelMessage::Assistant {
            text: format!("answer {turn}"),
            tool_calls: Vec::new(),
            native: None,
        });
        asked.messages.push(user(&format!("question {turn}")));
        let later = sent(&asked);
        assert!(later.to_string().matches("prompt_cache_breakpoint").count() <= 4);
        if turn == 0 {
            assert_eq!(later["input"][5], keyed["input"][5]);
        }
    }
    // Without the breakpoints: the key alone, and results in their short form.
    let only_key = Parameters {
        cache_breakpoints: false,
        ..Parameters::default()
    };
    let short = body(&asked, only_key, Replay::Native);
    assert_eq!(short["prompt_cache_key"], "session");
    assert!(!short.to_string().contains("explicit"));
    assert!(short["input"][4]["output"].is_string());
    asked.prompt_cache_key = None;
    assert!(!sent(&asked).to_string().contains("prompt_cache"));
}

#[test]
fn a_longer_history_keeps_the_prefix_byte_for_byte() {
    let short = sent(&request(vec![user("look at both")])).to_string();
    let long = sent(&request(exchange(["c1", "c2"]))).to_string();
    let same = short
        .bytes()
        .zip(long.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    assert!(short[..same].contains("look at both"), "{}", &short[..same]);
    assert_eq!(
        sent(&request(vec![user("look at both")])).to_string(),
        short
    );
}
