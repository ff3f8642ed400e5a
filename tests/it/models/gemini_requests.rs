//! What we send to Gemini, and what a call makes of its refusals.

use std::time::Duration;

use leverframe::config::settings::ProviderKind;
use leverframe::model::gemini::wire::{self, NO_SIGNATURE, Parameters};
use leverframe::model::parameters::Support;
use leverframe::model::request::{ModelErrorKind, ModelMessage, StopReason};
use leverframe::protocol::session::NativeBlocks;
use serde_json::{Value, json};

use crate::models::byte_peer::{BytePeer, Play};
use crate::models::helpers::{KEY, adapter, answered, exchange, request, run, settings, user};

const KIND: ProviderKind = ProviderKind::Gemini;
const PLAIN: Parameters = Parameters {
    thinking: true,
    mark_unsigned: false,
    replay: true,
    support: Support {
        temperature: true,
        top_p: true,
        tool_choice: true,
        pictures: true,
    },
};
const MARKED: Parameters = Parameters {
    mark_unsigned: true,
    ..PLAIN
};

fn with_native(family: &str, parts: Value, ids: Value) -> Vec<ModelMessage> {
    let mut messages = exchange(["c1", "c2"]);
    if let ModelMessage::Assistant { native, .. } = &mut messages[1] {
        *native = Some(NativeBlocks {
            family: family.to_owned(),
            content: json!({"role": "model", "parts": parts, "call_ids": ids}),
        });
    }
    messages
}

fn native_parts() -> Value {
    json!([
        {"text": "hm", "thought": true},
        {"text": "I look."},
        {"functionCall": {"id": "c1", "name": "read_file", "args": {"path": "a"}}, "thoughtSignature": "sig=="},
        {"functionCall": {"name": "default_api:list_files", "args": {}}},
        {"text": "", "thoughtSignature": "end=="},
    ])
}

fn good(text: &str) -> Play {
    let chunk = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}]});
    Play::events(format!("data: {chunk}\n\n"))
}

fn refusal(status: &str, error: Value) -> Play {
    let body = json!({"error": error}).to_string();
    Play::whole(
        status,
        "content-type: application/json; charset=UTF-8\r\n",
        &body,
    )
}

#[test]
fn the_form_of_a_request() {
    let body = wire::body(&request(exchange(["c1", "c2"])), PLAIN);
    assert_eq!(
        body["systemInstruction"],
        json!({"parts": [{"text": "You help."}]})
    );
    assert_eq!(body["generationConfig"], json!({"maxOutputTokens": 500}));
    assert_eq!(
        body["contents"],
        json!([
            {"role": "user", "parts": [{"text": "look at both"}]},
            {"role": "model", "parts": [
                {"text": "I look."},
                {"functionCall": {"name": "read_file", "args": {"path": "a"}}},
                {"functionCall": {"name": "list_files", "args": {}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "read_file", "response": {"output": "content of a"}}},
                {"functionResponse": {"name": "list_files", "response": {"error": "denied by operator: not now"}}},
            ]},
        ]),
        "no id where the server gave none"
    );
    let tool = &body["tools"][0]["functionDeclarations"][0];
    assert_eq!(tool["parametersJsonSchema"]["type"], "object");
    let mut bare = request(vec![user("  ")]);
    bare.tools.clear();
    bare.system.clear();
    let body = wire::body(&bare, PLAIN);
    assert!(body.get("tools").is_none() && body.get("systemInstruction").is_none());
    assert_eq!(body["contents"][0]["parts"][0]["text"], "(empty message)");
}

#[test]
fn thinking_is_asked_for_by_profile() {
    let mut asked = request(vec![user("hi")]);
    let config = |asked: &_, parameters| {
        wire::body(asked, parameters)["generationConfig"]
            .get("thinkingConfig")
            .cloned()
    };
    assert_eq!(config(&asked, PLAIN), None);
    asked.profile.reasoning = true;
    assert_eq!(
        config(&asked, PLAIN),
        Some(json!({"includeThoughts": true}))
    );
    asked.profile.effort = Some("low".to_owned());
    assert_eq!(config(&asked, PLAIN).unwrap()["thinkingLevel"], "low");
    asked.profile.effort = Some("-1".to_owned());
    assert_eq!(config(&asked, PLAIN).unwrap()["thinkingBudget"], -1);
    let without = Parameters {
        thinking: false,
        ..PLAIN
    };
    assert_eq!(config(&asked, without), None);
}

#[test]
fn own_content_goes_back_verbatim_in_one_piece() {
    let messages = with_native("gemini", native_parts(), json!(["c1", "c2"]));
    let body = wire::body(&request(messages), MARKED);
    assert_eq!(
        body["contents"][1],
        json!({"role": "model", "parts": native_parts()})
    );
    let results = &body["contents"][2]["parts"];
    assert_eq!(
        results[0]["functionResponse"]["id"], "c1",
        "the server's id"
    );
    assert!(
        results[1]["functionResponse"].get("id").is_none(),
        "it gave none"
    );
    let name = &results[1]["functionResponse"]["name"];
    assert_eq!(
        name, "default_api:list_files",
        "the name that the model used"
    );
}

#[test]
fn a_call_that_was_not_taken_up_is_left_out() {
    let mut parts = native_parts();
    parts[3] = json!({"functionCall": {"id": "dropped", "name": "list_files", "args": {}}});
    parts[4] = json!({"functionCall": {"name": "list_files", "args": {}}});
    let messages = with_native("gemini", parts.clone(), json!(["c1", "dropped", "c2"]));
    let body = wire::body(&request(messages), PLAIN);
    let sent = body["contents"][1]["parts"].as_array().unwrap();
    assert_eq!(sent.len(), 4);
    assert_eq!(sent[2], parts[2]);
    // The one that carries the signature cannot be left out: the neutral form stands in.
    let messages = with_native("gemini", parts, json!(["dropped", "c1", "c2"]));
    let plain = wire::body(&request(exchange(["c1", "c2"])), MARKED);
    assert_eq!(wire::body(&request(messages), MARKED), plain);
}

#[test]
fn foreign_or_unfitting_content_is_flattened() {
    let plain = wire::body(&request(exchange(["c1", "c2"])), PLAIN);
    for (family, parts, ids) in [
        ("anthropic", native_parts(), json!(["c1", "c2"])),
        (
            "gemini",
            json!([{"text": "x", "thoughtSignature": "s"}]),
            json!([]),
        ),
        ("gemini", native_parts(), json!(["c1"])),
        ("gemini", json!("nothing"), json!(["c1", "c2"])),
    ] {
        let body = wire::body(&request(with_native(family, parts, ids)), PLAIN);
        assert_eq!(body, plain, "{family}");
    }
    let without = Parameters {
        replay: false,
        ..PLAIN
    };
    let messages = with_native("gemini", native_parts(), json!(["c1", "c2"]));
    assert_eq!(wire::body(&request(messages), without), plain);
}

#[test]
fn unsigned_calls_are_marked_where_the_model_demands_it() {
    let body = wire::body(&request(exchange(["c1", "c2"])), MARKED);
    let parts = &body["contents"][1]["parts"];
    assert_eq!(parts[1]["thoughtSignature"], NO_SIGNATURE);
    assert!(
        parts[0].get("thoughtSignature").is_none() && parts[2].get("thoughtSignature").is_none()
    );
    assert_eq!(
        body.to_string().matches(NO_SIGNATURE).count(),
        1,
        "the first call only"
    );
}

#[test]
fn results_come_in_the_order_of_their_calls_and_names_are_legal() {
    let mut messages = exchange(["c1", "c2"]);
    if let ModelMessage::ToolResults { results } = &mut messages[2] {
        results.reverse();
        results[1].name = "read file/1".to_owned();
    }
    if let ModelMessage::Assistant { tool_calls, .. } = &mut messages[1] {
        tool_calls[0].name = "read file/1".to_owned();
    }
    let body = wire::body(&request(messages), PLAIN);
    assert_eq!(
        body["contents"][1]["parts"][1]["functionCall"]["name"],
        "read_file_1"
    );
    let results = &body["contents"][2]["parts"];
    assert_eq!(results[0]["functionResponse"]["name"], "read_file_1");
    assert_eq!(results[1]["functionResponse"]["name"], "list_files");
}

#[test]
fn a_longer_history_keeps_the_prefix_byte_for_byte() {
    let short = wire::body(&request(vec![user("look at both")]), PLAIN).to_string();
    let long = wire::body(&request(exchange(["c1", "c2"])), PLAIN).to_string();
    let shared = short.find("look at both").unwrap();
    assert_eq!(short[..shared], long[..shared]);
}

#[tokio::test]
async fn an_answer_goes_back_as_it_came() {
    let first = json!({"candidates": [{"content": {"role": "model", "parts": [
        {"functionCall": {"name": "read_file", "args": {"path": "a"}}, "thoughtSignature": "sig=="},
        {"functionCall": {"name": "read_file", "args": {"path": "b"}}},
    ]}, "finishReason": "STOP"}]});
    let repeated = json!({"candidates": [{"content": {"role": "model", "parts": [
        {"functionCall": {"name": "read_file", "args": {"path": "a"}}},
    ]}, "finishReason": "STOP"}]});
    let play = Play::events(format!("data: {first}\n\ndata: {repeated}\n\n"));
    let peer = BytePeer::start(KIND, vec![play, good("Done.")]).await;
    let model = adapter(KIND, &settings(KIND, &peer.base_url));
    let mut asked = request(vec![user("read both")]);
    let outcome = run(model.as_ref(), asked.clone()).await;
    assert_eq!(outcome.answer().stop, StopReason::ToolUse);
    asked
        .messages
        .extend(answered(outcome.answer(), &["A", "denied by operator: no"]));
    assert_eq!(run(model.as_ref(), asked).await.answer().text, "Done.");
    let seen = peer.seen().await;
    let sent = &seen[1].body["contents"];
    assert_eq!(sent[1], first["candidates"][0]["content"]);
    assert_eq!(
        sent[2]["parts"],
        json!([
            {"functionResponse": {"name": "read_file", "response": {"output": "A"}}},
            {"functionResponse": {"name": "read_file", "response": {"error": "denied by operator: no"}}},
        ])
    );
}

#[tokio::test]
async fn the_base_url_may_name_the_version_and_the_model_cannot_leave_its_place() {
    for (suffix, version, model) in [
        ("", None, "test-model"),
        ("/", None, "models/test-model"),
        ("/v1beta", None, "test-model"),
        ("/v1beta/", Some("v1beta"), "test-model"),
    ] {
        let peer = BytePeer::start(KIND, vec![good("Hello")]).await;
        let mut there = settings(KIND, &format!("{}{suffix}", peer.base_url));
        there.api_version = version.map(str::to_owned);
        let mut asked = request(vec![user("hi")]);
        asked.model = model.to_owned();
        let outcome = run(adapter(KIND, &there).as_ref(), asked).await;
        assert_eq!(outcome.answer().text, "Hello", "{suffix}");
        // The peer has checked the address, and that the key is in its header only.
        assert_eq!(peer.seen().await[0].head.matches(KEY).count(), 1);
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        use tokio::io::{AsyncBufReadExt, BufReader};
        let (socket, _) = listener.accept().await.unwrap();
        let mut line = String::new();
        BufReader::new(socket).read_line(&mut line).await.unwrap();
        line
    });
    let mut asked = request(vec![user("hi")]);
    asked.model = "a/../../x?key=1#y".to_owned();
    let _ = run(adapter(KIND, &settings(KIND, &base)).as_ref(), asked).await;
    assert_eq!(
        server.await.unwrap().trim(),
        "POST /v1beta/models/a%2F..%2F..%2Fx%3Fkey=1%23y:streamGenerateContent?alt=sse HTTP/1.1"
    );
}

#[tokio::test]
async fn a_demanded_mark_and_a_refused_parameter_are_remembered() {
    let invalid = |message: &str| {
        let error = json!({"code": 400, "status": "INVALID_ARGUMENT", "message": message});
        refusal("400 Bad Request", error)
    };
    let peer = BytePeer::start(
        KIND,
        vec![
            invalid("Function call is missing a thought_signature in functionCall parts."),
            invalid("Thinking level is not supported for this model."),
            good("A"),
            good("B"),
            invalid("Request contains an invalid argument."),
        ],
    )
    .await;
    let model = adapter(KIND, &settings(KIND, &peer.base_url));
    let mut asked = request(exchange(["c1", "c2"]));
    asked.profile.effort = Some("low".to_owned());
    assert_eq!(run(model.as_ref(), asked.clone()).await.answer().text, "A");
    assert_eq!(run(model.as_ref(), asked.clone()).await.answer().text, "B");
    let outcome = run(model.as_ref(), asked).await;
    assert_eq!(outcome.error().kind, ModelErrorKind::InvalidRequest);
    let seen = peer.seen().await;
    let marked = |at: usize| seen[at].body.to_string().contains(NO_SIGNATURE);
    let thinks = |at: usize| seen[at].body.to_string().contains("thinkingLevel");
    assert!(!marked(0) && thinks(0));
    assert!(marked(1) && thinks(1));
    assert!((2..5).all(|at| marked(at) && !thinks(at)));
}

#[tokio::test]
async fn gemini_3_is_asked_with_marks_at_once() {
    for (model, marked) in [
        ("gemini-3-pro-preview", true),
        ("models/gemini-3.8-flash", true),
        ("gemini-10-x", true),
        ("gemini-2.5-pro", false),
        ("gemini-flash-latest", false),
    ] {
        let first = leverframe::model::gemini::wire::Parameters::of(model);
        assert_eq!(first.mark_unsigned, marked, "{model}");
    }
}

#[tokio::test]
async fn signatures_that_are_refused_are_left_out_once() {
    let refuse = || {
        let error = json!({"code": 400, "status": "INVALID_ARGUMENT", "message": "Corrupted thought signature."});
        refusal("400 Bad Request", error)
    };
    let peer = BytePeer::start(KIND, vec![refuse(), good("A"), refuse(), refuse()]).await;
    let model = adapter(KIND, &settings(KIND, &peer.base_url));
    let asked = request(with_native("gemini", native_parts(), json!(["c1", "c2"])));
    assert_eq!(run(model.as_ref(), asked.clone()).await.answer().text, "A");
    let outcome = run(model.as_ref(), asked).await;
    assert_eq!(
        outcome.error().kind,
        ModelErrorKind::InvalidRequest,
        "not for ever"
    );
    let seen = peer.seen().await;
    let signed = |at: usize| seen[at].body.to_string().contains("sig==");
    assert!(
        signed(0) && !signed(1) && signed(2) && !signed(3),
        "tried with them again"
    );
}

#[tokio::test]
async fn a_missing_signature_in_the_answer_is_mended_by_the_next_try() {
    let chunk = json!({"candidates": [{"finishReason": "MISSING_THOUGHT_SIGNATURE"}]});
    let play = Play::events(format!("data: {chunk}\n\n"));
    let peer = BytePeer::start(KIND, vec![play, good("A")]).await;
    let model = adapter(KIND, &settings(KIND, &peer.base_url));
    let asked = request(exchange(["c1", "c2"]));
    let outcome = run(model.as_ref(), asked.clone()).await;
    assert_eq!(outcome.error().kind, ModelErrorKind::Unusable);
    assert!(
        outcome.error().message.ends_with("choose another model"),
        "{}",
        outcome.error()
    );
    assert_eq!(run(model.as_ref(), asked).await.answer().text, "A");
    let seen = peer.seen().await;
    assert!(!seen[0].body.to_string().contains(NO_SIGNATURE));
    assert!(seen[1].body.to_string().contains(NO_SIGNATURE));
}

fn exhausted(quota: Option<&str>, wait: Option<&str>, message: &str) -> Value {
    let mut details = Vec::new();
    if let Some(id) = quota {
        details.push(json!({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": id}]}));
    }
    if let Some(wait) = wait {
        details
            .push(json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": wait}));
    }
    json!({"code": 429, "status": "RESOURCE_EXHAUSTED", "message": message, "details": details})
}

#[tokio::test]
async fn errors_of_google_s_form() {
    let plan = "You exceeded your current quota, please check your plan and billing details.";
    let info =
        json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]);
    let table = [
        (
            "400 Bad Request",
            json!({"code": 400, "status": "INVALID_ARGUMENT", "message": format!("API key not valid: {KEY}"), "details": info}),
            ModelErrorKind::Authentication,
            None,
        ),
        (
            "403 Forbidden",
            json!({"code": 403, "status": "PERMISSION_DENIED", "message": "no"}),
            ModelErrorKind::Authentication,
            None,
        ),
        (
            "404 Not Found",
            json!({"code": 404, "status": "NOT_FOUND", "message": "models/x is not found for API version v1beta"}),
            ModelErrorKind::NotFound,
            None,
        ),
        (
            "400 Bad Request",
            json!({"code": 400, "status": "INVALID_ARGUMENT",
                   "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}),
            ModelErrorKind::ContextTooLong,
            None,
        ),
        (
            "429 Too Many Requests",
            exhausted(
                Some("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"),
                Some("34s"),
                plan,
            ),
            ModelErrorKind::RateLimited,
            Some(34),
        ),
        (
            "429 Too Many Requests",
            exhausted(
                Some("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
                Some("34s"),
                plan,
            ),
            ModelErrorKind::QuotaExceeded,
            Some(34),
        ),
        (
            "429 Too Many Requests",
            exhausted(
                Some("GenerateRequestsPerMinutePerProject"),
                Some("9s"),
                "Quota exceeded, limit: 0, model: x",
            ),
            ModelErrorKind::QuotaExceeded,
            Some(9),
        ),
        (
            "429 Too Many Requests",
            exhausted(None, Some("2s"), "slow down"),
            ModelErrorKind::RateLimited,
            Some(2),
        ),
        (
            "429 Too Many Requests",
            exhausted(None, None, "Resource has been exhausted"),
            ModelErrorKind::RateLimited,
            None,
        ),
        (
            "429 Too Many Requests",
            exhausted(None, None, plan),
            ModelErrorKind::QuotaExceeded,
            None,
        ),
        (
            "503 Service Unavailable",
            json!({"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded."}),
            ModelErrorKind::Overloaded,
            None,
        ),
    ];
    for (status, error, kind, wait) in table {
        for wrapped in [false, true] {
            let body = json!({"error": error});
            let body = if wrapped { json!([body]) } else { body };
            let play = Play::whole(
                status,
                "content-type: application/json\r\n",
                &body.to_string(),
            );
            let peer = BytePeer::start(KIND, vec![play]).await;
            let model = adapter(KIND, &settings(KIND, &peer.base_url));
            let outcome = run(model.as_ref(), request(vec![user("hi")])).await;
            let found = outcome.error();
            assert_eq!(found.kind, kind, "{error}");
            assert_eq!(found.retry_after, wait.map(Duration::from_secs), "{error}");
            assert!(
                found.message.starts_with("provider peer (127.0.0.1:"),
                "{found}"
            );
            assert!(!found.message.contains(KEY), "{found}");
        }
    }
}

#[tokio::test]
async fn a_header_s_wait_comes_before_the_body_s() {
    let body = json!({"error": exhausted(None, Some("34s"), "slow")}).to_string();
    let headers = "content-type: application/json\r\nretry-after: 2\r\n";
    let peer = BytePeer::start(
        KIND,
        vec![Play::whole("429 Too Many Requests", headers, &body)],
    )
    .await;
    let model = adapter(KIND, &settings(KIND, &peer.base_url));
    let outcome = run(model.as_ref(), request(vec![user("hi")])).await;
    assert_eq!(outcome.error().retry_after, Some(Duration::from_secs(2)));
}

#[tokio::test]
async fn an_error_in_the_stream_carries_its_wait() {
    let half = json!({"candidates": [{"content": {"parts": [{"text": "half"}]}}]});
    let error = json!([{"error": exhausted(None, Some("1.5s"), "slow")}]);
    let play = Play::events(format!("data: {half}\n\ndata: {error}"));
    let peer = BytePeer::start(KIND, vec![play]).await;
    let model = adapter(KIND, &settings(KIND, &peer.base_url));
    let outcome = run(model.as_ref(), request(vec![user("hi")])).await;
    assert_eq!(outcome.shown(), "half");
    assert_eq!(outcome.error().kind, ModelErrorKind::RateLimited);
    assert_eq!(
        outcome.error().retry_after,
        Some(Duration::from_millis(1500))
    );
}
