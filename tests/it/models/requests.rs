//! What we send: bodies that are legal, stable and never leak another family's blocks.

use leverframe::config::model_tables::PromptCache;
use leverframe::model::anthropic::wire as anthropic_wire;
use leverframe::model::openai_chat::wire as chat_wire;
use leverframe::model::request::{ModelMessage, ModelRequest};
use leverframe::protocol::session::NativeBlocks;
use serde_json::{Value, json};

use crate::models::helpers::{exchange, request, user};

const HOST: &str = "openrouter.ai";

fn anthropic(request: &ModelRequest) -> Value {
    anthropic_wire::body(request, anthropic_wire::Parameters::default())
}

fn chat(request: &ModelRequest) -> Value {
    chat_wire::body(request, chat_wire::Parameters::default(), HOST)
}

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
    let body = anthropic(&request(with_native("anthropic", blocks())));
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
    let plain = anthropic(&request(exchange(["c1", "c2"])));
    for (family, content) in [
        ("gemini", blocks()),
        (
            "anthropic",
            json!([{"type": "thinking", "thinking": "", "signature": "s"}]),
        ),
        ("anthropic", json!("not a list")),
    ] {
        assert_eq!(anthropic(&request(with_native(family, content))), plain);
    }
    let body = chat(&request(with_native("anthropic", blocks())));
    assert_eq!(body, chat(&request(exchange(["c1", "c2"]))));
    assert!(!body.to_string().contains("sig=="));
}

#[test]
fn results_stand_alone_in_one_message() {
    let mut messages = exchange(["c1", "c.2/x"]);
    messages.push(user("and now?"));
    let body = anthropic(&request(messages));
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

/// Where `cache_control` stands, as paths.
fn marks(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                if name == "cache_control" {
                    found.push(path.to_owned());
                }
                marks(inner, &format!("{path}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (at, inner) in items.iter().enumerate() {
                marks(inner, &format!("{path}/{at}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn cache_marks_stand_at_four_places_and_only_where_the_model_has_such_a_cache() {
    let mut messages = exchange(["c1", "c2"]);
    messages.push(ModelMessage::Assistant {
        text: "Both are fine.".to_owned(),
        tool_calls: Vec::new(),
        native: None,
    });
    messages.extend(exchange(["c3", "c4"]));
    let mut asked = request(messages);
    assert!(!anthropic(&asked).to_string().contains("cache_control"));
    asked.profile.prompt_cache = PromptCache::Breakpoints;
    let mut found = Vec::new();
    marks(&anthropic(&asked), "", &mut found);
    assert_eq!(
        found,
        [
            "/tools/1",
            "/system/0",
            "/messages/3/content/0",
            "/messages/6/content/1"
        ]
    );
    // In a fresh session the newest message is the only one.
    let mut fresh = request(vec![user("hi")]);
    fresh.profile.prompt_cache = PromptCache::Breakpoints;
    let mut found = Vec::new();
    marks(&anthropic(&fresh), "", &mut found);
    assert_eq!(found, ["/tools/1", "/system/0", "/messages/0/content/0"]);
}

#[test]
fn a_mark_never_stands_on_thinking() {
    let mut messages = vec![
        user("hi"),
        ModelMessage::Assistant {
            text: "So.".to_owned(),
            tool_calls: Vec::new(),
            native: Some(NativeBlocks {
                family: "anthropic".to_owned(),
                content: json!([
                    {"type": "text", "text": "So."},
                    {"type": "thinking", "thinking": "", "signature": "s"},
                ]),
            }),
        },
    ];
    messages.push(user("and?"));
    let mut asked = request(messages);
    asked.profile.prompt_cache = PromptCache::Breakpoints;
    let body = anthropic(&asked);
    let content = &body["messages"][1]["content"];
    assert!(content[0]["cache_control"].is_object());
    assert_eq!(
        content[1],
        json!({"type": "thinking", "thinking": "", "signature": "s"})
    );
}

#[test]
fn thinking_is_asked_for_as_the_profile_says() {
    let mut asked = request(vec![user("hi")]);
    let plain = anthropic(&asked);
    assert!(plain.get("thinking").is_none() && plain.get("output_config").is_none());
    let with = |asked: &mut ModelRequest, effort: &str| {
        asked.profile.effort = Some(effort.to_owned());
        let body = anthropic(asked);
        (
            body.get("thinking").cloned(),
            body.get("output_config").cloned(),
        )
    };
    let adaptive = json!({"type": "adaptive"});
    assert_eq!(
        with(&mut asked, "high"),
        (Some(adaptive), Some(json!({"effort": "high"})))
    );
    assert_eq!(
        with(&mut asked, "none"),
        (Some(json!({"type": "disabled"})), None)
    );
    // A budget that leaves no room for an answer is not asked for.
    assert_eq!(with(&mut asked, "2000"), (None, None));
    asked.max_output_tokens = 4000;
    let budget = |tokens: u32| Some(json!({"type": "enabled", "budget_tokens": tokens}));
    assert_eq!(with(&mut asked, "2000"), (budget(2000), None));
    assert_eq!(with(&mut asked, "1"), (budget(1024), None));
    assert_eq!(with(&mut asked, "9999"), (budget(3999), None));
    // A tool loop that began without thinking goes on without.
    asked.messages = exchange(["c1", "c2"]);
    assert_eq!(with(&mut asked, "2000"), (None, None));
    asked.messages = with_native("anthropic", blocks());
    assert_eq!(with(&mut asked, "2000"), (budget(2000), None));
}

#[test]
fn what_a_400_names_is_left_out_and_nothing_else() {
    let mut asked = request(vec![user("hi")]);
    asked.profile.effort = Some("high".to_owned());
    let all = anthropic_wire::Parameters::default();
    let body = anthropic(&asked);
    let fewer = all
        .without_refused(&asked, &body, "output_config.effort: extra inputs")
        .unwrap();
    assert_eq!((fewer.thinking, fewer.effort), (true, false));
    let fewer = all
        .without_refused(&asked, &body, "adaptive thinking is not supported")
        .unwrap();
    assert!(!fewer.thinking);
    let body = anthropic_wire::body(&asked, fewer);
    assert!(body.get("thinking").is_none() && body.get("output_config").is_none());
    assert_eq!(
        fewer.without_refused(&asked, &body, "thinking is not allowed"),
        None
    );
    assert_eq!(
        all.without_refused(&asked, &body, "max_tokens is too large"),
        None
    );

    let all = chat_wire::Parameters::default();
    let body = chat(&asked);
    assert_eq!(body["reasoning_effort"], "high");
    let words = "unsupported value: 'messages[0].role' does not support 'system' with this model.";
    let fewer = all.without_refused(&asked, &body, words).unwrap();
    let body = chat_wire::body(&asked, fewer, HOST);
    assert_eq!(body["messages"][0]["role"], "developer");
    assert_eq!(fewer.without_refused(&asked, &body, words), None, "once");
    assert!(
        !all.without_refused(&asked, &body, "unknown parameter: reasoning_effort")
            .unwrap()
            .reasoning_effort
    );
    assert_eq!(all.without_refused(&asked, &body, "no such model"), None);
}

#[test]
fn a_router_s_reasoning_goes_back_to_its_host_only() {
    let details = json!([{"type": "reasoning.encrypted", "data": "opaque", "index": 0}]);
    let from = |host: &str| json!({"host": host, "reasoning_details": details});
    let body = chat(&request(with_native("openai-chat", from(HOST))));
    assert_eq!(body["messages"][2]["reasoning_details"], details);
    let plain = chat(&request(exchange(["c1", "c2"])));
    for (family, content) in [
        ("openai-chat", from("127.0.0.1:8080")),
        ("anthropic", from(HOST)),
        ("openai-chat", json!({"reasoning_details": details})),
    ] {
        assert_eq!(chat(&request(with_native(family, content))), plain);
    }
}

#[test]
fn optional_parts_are_left_out_rather_than_empty() {
    let mut bare = request(vec![user("  ")]);
    bare.tools.clear();
    bare.system.clear();
    bare.one_tool_per_step = true;
    let body = anthropic(&bare);
    for name in ["tools", "system", "tool_choice"] {
        assert!(body.get(name).is_none(), "{name}");
    }
    assert_eq!(body["messages"][0]["content"][0]["text"], "(empty message)");
    let body = chat(&bare);
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
        anthropic(&asked)["tool_choice"]["disable_parallel_tool_use"],
        true
    );
    assert_eq!(chat(&asked)["parallel_tool_calls"], false);
    asked.one_tool_per_step = false;
    assert!(anthropic(&asked).get("tool_choice").is_none());
    assert!(chat(&asked).get("parallel_tool_calls").is_none());
}

#[test]
fn a_longer_history_keeps_the_prefix_byte_for_byte() {
    let short = chat(&request(vec![user("look at both")])).to_string();
    let long = chat(&request(exchange(["c1", "c2"]))).to_string();
    let shared = short.find("look at both").unwrap();
    assert_eq!(short[..shared], long[..shared]);
}
