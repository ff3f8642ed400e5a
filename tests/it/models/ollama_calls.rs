//! What we send to Ollama, and what a call makes of its refusals.

use leverframe::config::settings::ProviderKind;
use leverframe::model::ollama::wire::{self, Parameters};
use leverframe::model::parameters::Support;
use leverframe::model::request::{ModelErrorKind, ModelMessage, ModelRequest};
use leverframe::protocol::session::NativeBlocks;
use serde_json::{Value, json};

use crate::models::byte_peer::{BytePeer, Play};
use crate::models::helpers::{KEY, adapter, exchange, request, run, settings, user};

const KIND: ProviderKind = ProviderKind::Ollama;
const ALL: Parameters = Parameters {
    tools: true,
    think: true,
    support: Support {
        temperature: true,
        top_p: true,
        tool_choice: false,
        pictures: true,
    },
};

fn line(text: &str) -> String {
    let line = json!({"message": {"role": "assistant", "content": text}, "done": true, "done_reason": "stop"});
    format!("{line}\n")
}

fn refusal(status: &str, message: &str) -> Play {
    let body = json!({"error": message}).to_string();
    Play::whole(
        status,
        "content-type: application/json; charset=utf-8\r\n",
        &body,
    )
}

#[test]
fn the_window_and_the_limit_go_into_the_options() {
    let mut asked = request(exchange(["c1", "c2"]));
    asked.profile.context_window = 32_768;
    let body = wire::body(&asked, ALL);
    assert_eq!(
        body["options"],
        json!({"num_ctx": 32_768, "num_predict": 500})
    );
    assert_eq!(body["stream"], true);
    assert!(
        body.get("think").is_none(),
        "only models that reason are asked to think"
    );
    assert_eq!(
        body["messages"][0],
        json!({"role": "system", "content": "You help."})
    );
    assert_eq!(
        body["messages"][2]["tool_calls"][0],
        json!({"function": {"name": "read_file", "arguments": {"path": "a"}}})
    );
    assert_eq!(
        body["messages"][3],
        json!({"role": "tool", "tool_name": "read_file", "content": "content of a"})
    );
    assert_eq!(body["tools"][0]["function"]["parameters"]["type"], "object");
}

#[test]
fn thinking_is_asked_for_by_profile() {
    let mut asked = request(vec![user("hi")]);
    asked.profile.reasoning = true;
    assert_eq!(wire::body(&asked, ALL)["think"], true);
    asked.profile.effort = Some("high".to_owned());
    assert_eq!(wire::body(&asked, ALL)["think"], "high");
    let without = Parameters {
        think: false,
        ..ALL
    };
    assert!(wire::body(&asked, without).get("think").is_none());
    asked.profile.reasoning = false;
    assert!(wire::body(&asked, ALL).get("think").is_none());
}

#[test]
fn thoughts_go_back_to_the_same_family_only() {
    let with = |family: &str| {
        let mut messages = exchange(["c1", "c2"]);
        if let ModelMessage::Assistant { native, .. } = &mut messages[1] {
            *native = Some(NativeBlocks {
                family: family.to_owned(),
                content: json!({"thinking": "both, then"}),
            });
        }
        wire::body(&request(messages), ALL)
    };
    assert_eq!(with("ollama")["messages"][2]["thinking"], "both, then");
    assert_eq!(
        with("gemini"),
        wire::body(&request(exchange(["c1", "c2"])), ALL)
    );
}

#[test]
fn equal_requests_give_equal_bytes_and_a_longer_history_keeps_the_prefix() {
    let short = wire::body(&request(vec![user("look at both")]), ALL).to_string();
    let long = wire::body(&request(exchange(["c1", "c2"])), ALL).to_string();
    let shared = short.find("look at both").unwrap();
    assert_eq!(short[..shared], long[..shared]);
    assert_eq!(
        long,
        wire::body(&request(exchange(["c1", "c2"])), ALL).to_string()
    );
    let mut bare = request(vec![user("hi")]);
    bare.tools.clear();
    bare.system.clear();
    let body = wire::body(&bare, ALL);
    assert!(body.get("tools").is_none());
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn no_key_is_needed_and_a_given_one_is_sent() {
    let peer = BytePeer::start(KIND, vec![Play::lines(line("A")), Play::lines(line("B"))]).await;
    let mut open = settings(KIND, &peer.base_url);
    let keyed = adapter(KIND, &open);
    open.api_key = None;
    let keyless = adapter(KIND, &open);
    let asked = || request(exchange(["c1", "c2"]));
    assert_eq!(run(keyless.as_ref(), asked()).await.answer().text, "A");
    assert_eq!(run(keyed.as_ref(), asked()).await.answer().text, "B");
    let seen = peer.seen().await;
    assert!(!seen[0].head.to_lowercase().contains("authorization"));
    assert!(seen[1].head.contains(KEY));
    assert!(
        seen[0]
            .head
            .to_lowercase()
            .contains("accept: application/x-ndjson")
    );
}

async fn told(model: &dyn leverframe::model::request::Model, asked: ModelRequest) -> Vec<String> {
    run(model, asked).await.answer().notes.clone()
}

#[tokio::test]
async fn what_a_model_does_not_support_is_left_out_and_said() {
    let no_tools = "registry.ollama.ai/library/gemma:latest does not support tools";
    let peer = BytePeer::start(
        KIND,
        vec![
            refusal(
                "400 Bad Request",
                "\"test-model\" does not support thinking",
            ),
            refusal("400 Bad Request", no_tools),
            Play::lines(line("A")),
            Play::lines(line("B")),
            Play::lines(line("C")),
            refusal("400 Bad Request", "invalid options"),
        ],
    )
    .await;
    let model = adapter(KIND, &settings(KIND, &peer.base_url));
    let mut asked = request(vec![user("hi")]);
    asked.profile.reasoning = true;
    for _ in 0..2 {
        let notes = told(model.as_ref(), asked.clone()).await;
        assert_eq!(
            notes,
            [
                "the model test-model takes no tools; it was asked without them",
                "the server counted no tokens; those of this answer are estimated"
            ]
        );
    }
    let mut other = asked.clone();
    other.model = "other".to_owned();
    assert_eq!(
        told(model.as_ref(), other).await,
        ["the server counted no tokens; those of this answer are estimated"],
        "learnt for one model"
    );
    let outcome = run(model.as_ref(), asked).await;
    assert_eq!(outcome.error().kind, ModelErrorKind::InvalidRequest);
    let seen = peer.seen().await;
    let has = |at: usize, name: &str| seen[at].body.get(name).is_some();
    assert!(has(0, "think") && has(0, "tools"));
    assert!(!has(1, "think") && has(1, "tools"));
    for at in [2, 3, 5] {
        assert!(!has(at, "think") && !has(at, "tools"), "{at}");
    }
    assert!(has(4, "think") && has(4, "tools"));
}

#[tokio::test]
async fn a_missing_model_names_the_command_that_fetches_it() {
    let play = refusal("404 Not Found", "model 'test-model' not found");
    let peer = BytePeer::start(KIND, vec![play]).await;
    let model = adapter(KIND, &settings(KIND, &peer.base_url));
    let outcome = run(model.as_ref(), request(vec![user("hi")])).await;
    let error = outcome.error();
    assert_eq!(error.kind, ModelErrorKind::NotFound);
    assert!(
        error.message.contains("`ollama pull test-model`"),
        "{error}"
    );
    assert!(
        error.message.starts_with("provider peer (127.0.0.1:"),
        "{error}"
    );
}

#[tokio::test]
async fn an_error_line_ends_the_call_wherever_it_comes() {
    let error = "{\"error\":\"llama runner process has terminated\"}";
    let half = json!({"message": {"content": "half"}, "done": false}).to_string();
    for (body, shown) in [
        (format!("{error}\n"), ""),
        (error.to_owned(), ""),
        (format!("{half}\n{error}\n{}", line("more")), "half"),
        (format!("{half}\n{error}"), "half"),
    ] {
        let peer = BytePeer::start(KIND, vec![Play::lines(&body)]).await;
        let model = adapter(KIND, &settings(KIND, &peer.base_url));
        let outcome = run(model.as_ref(), request(vec![user("hi")])).await;
        let error = outcome.error();
        assert_eq!(error.kind, ModelErrorKind::Overloaded, "{body}");
        assert!(
            error.message.contains("runner process has terminated"),
            "{error}"
        );
        assert_eq!(outcome.shown(), shown);
    }
}

#[tokio::test]
async fn an_event_stream_is_not_what_was_asked_for() {
    let peer = BytePeer::start(KIND, vec![Play::events("data: {}\n\n")]).await;
    let model = adapter(KIND, &settings(KIND, &peer.base_url));
    let outcome = run(model.as_ref(), request(vec![user("hi")])).await;
    let error = outcome.error();
    assert_eq!(error.kind, ModelErrorKind::Protocol);
    assert!(error.message.contains("expected JSON lines"), "{error}");
}

#[tokio::test]
async fn calls_go_out_and_come_back_in_order() {
    let call = |path: &str| json!({"function": {"name": "read_file", "arguments": {"path": path}}});
    let first = json!({
        "message": {"role": "assistant", "content": "", "thinking": "two files", "tool_calls": [call("a"), call("b")]},
        "done": true, "done_reason": "stop"
    });
    let peer = BytePeer::start(
        KIND,
        vec![
            Play::lines(format!("{first}\n")),
            Play::lines(line("Done.")),
        ],
    )
    .await;
    let model = adapter(KIND, &settings(KIND, &peer.base_url));
    let mut asked = request(vec![user("read both")]);
    let outcome = run(model.as_ref(), asked.clone()).await;
    asked.messages.extend(crate::models::helpers::answered(
        outcome.answer(),
        &["A", "B"],
    ));
    assert_eq!(run(model.as_ref(), asked).await.answer().text, "Done.");
    let seen = peer.seen().await;
    let messages = seen[1].body["messages"].as_array().unwrap();
    assert_eq!(messages[2]["thinking"], "two files");
    let contents: Vec<&Value> = messages[3..]
        .iter()
        .map(|message| &message["content"])
        .collect();
    assert_eq!(contents, ["A", "B"]);
}
