//! Plays a case against the real adapter, as the registry builds it, over a real socket.
//!
//! Every case is played as it is written, then cut at other places, and must come out the same.

use std::time::{Duration, Instant};

use leverframe::model::registry::Models;
use leverframe::model::request::{
    AssistantToolCall, Model, ModelAnswer, ModelErrorKind, ModelMessage, ModelRequest, StopReason,
    ToolResultMessage,
};
use leverframe::model::retry::retry_delay;
use leverframe::protocol::session::NativeBlocks;
use serde_json::{Value, json};

use crate::conformance::case::Case;
use crate::conformance::issued;
use crate::conformance::matching::mismatches;
use crate::conformance::script::{self, Cut};
use crate::models::byte_peer::{BytePeer, Rules, Seen};
use crate::models::helpers::{KEY, Outcome, run, user};
use crate::models::lookup::all_settings;

/// Largest body that is sent byte by byte.
const BYTE_BY_BYTE: usize = 32 * 1024;

/// Plays one case in all its cuts; panics with everything that is not as expected.
pub async fn play_all(case: Case) {
    play(&case, Cut::AsWritten).await;
    if !case.file.rechunk {
        return;
    }
    let last = case.responses.last().expect("an answer").body();
    for at in script::places(&last) {
        play(&case, Cut::At(at)).await;
    }
    if last.len() <= BYTE_BY_BYTE {
        play(&case, Cut::EveryByte).await;
    }
}

async fn play(case: &Case, cut: Cut) {
    let (found, seen) = exchange(case, cut).await;
    let what = format!("{} ({}), {cut:?}", case.name, case.file.shows);
    let mut wrong = mismatches(&case.outcome, Some(&found), "outcome");
    for (at, seen) in seen.iter().enumerate() {
        let expected = case.requests.get(at).or(case.requests.last());
        let expected = expected.expect("an expectation");
        let request = as_value(seen);
        wrong.extend(mismatches(
            expected,
            Some(&request),
            &format!("request {at}"),
        ));
    }
    assert!(
        wrong.is_empty(),
        "{what}:\n  {}\n  outcome: {found}",
        wrong.join("\n  ")
    );
}

/// A request as `request.expect.json` speaks of it.
fn as_value(seen: &Seen) -> Value {
    let mut lines = seen.head.lines();
    let path = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .expect("a request line");
    let headers: serde_json::Map<String, Value> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), json!(value.trim())))
        .collect();
    json!({"path": path, "headers": headers, "body": seen.body})
}

async fn exchange(case: &Case, cut: Cut) -> (Value, Vec<Seen>) {
    let asked = case.request();
    let mut rules = Rules {
        issued: Some(issued::in_history(&asked.messages)),
        api_version: case.settings("http://127.0.0.1").api_version,
        ..Rules::default()
    };
    let mut plays = Vec::new();
    for response in &case.responses {
        let body = response.body();
        let issued = rules.issued.as_mut().expect("set above");
        issued.extend(issued::in_answer(&body));
        rules.ends_with_assistant |= String::from_utf8_lossy(&body).contains("pause_turn");
        plays.push(response.play(cut));
    }
    let peer = BytePeer::start_with(case.kind, plays, rules).await;
    let settings = case.settings(&peer.base_url);
    let models = Models::new(&all_settings(vec![("peer", settings)])).expect("an adapter");
    let (model, id) = models.get("peer/test-model").expect("the provider");
    let asked = ModelRequest { model: id, ..asked };

    let mut attempts = 0;
    let mut waits = Vec::new();
    let started = Instant::now();
    let outcome = loop {
        attempts += 1;
        let outcome = run(model.as_ref(), asked.clone()).await;
        let Err(error) = &outcome.end else {
            break outcome;
        };
        check_message(&error.message);
        let shown = !outcome.deltas.is_empty();
        match retry_delay(error, attempts, case.file.attempts, shown, 0.0) {
            Some(wait) => waits.push(wait.as_millis()),
            None => break outcome,
        }
    };
    if let Some(limit) = case.file.within_ms {
        let took = started.elapsed();
        assert!(
            took < Duration::from_millis(limit),
            "{}: took {took:?}",
            case.name
        );
    }
    let again = match (&outcome.end, case.file.next) {
        (Ok(answer), true) => Some(go_on(model.as_ref(), &asked, answer).await),
        (_, _) => None,
    };
    let seen = peer.seen().await;
    let mut found = told(&outcome);
    found["attempts"] = json!(attempts);
    found["waits_ms"] = json!(waits);
    if let (Some(again), Ok(answer)) = (again, &outcome.end) {
        found["next"] = told(&again);
        found["replayed"] = json!(replayed(answer, seen.last().expect("a request")));
        check_prefix(
            &case.name,
            &seen[seen.len() - 2].body,
            &seen[seen.len() - 1].body,
        );
    }
    (found, seen)
}

/// What no error may say.
fn check_message(message: &str) {
    assert!(
        message.starts_with("provider peer (127.0.0.1:"),
        "{message}"
    );
    assert!(!message.contains(KEY), "the key is in: {message}");
    assert!(message.len() < 1200, "{message}");
}

/// The conversation goes on as the engine would go on with it, after a restart: what is kept went through text.
async fn go_on(model: &dyn Model, asked: &ModelRequest, answer: &ModelAnswer) -> Outcome {
    let native: Option<NativeBlocks> = answer
        .native
        .as_ref()
        .map(|native| serde_json::from_str(&serde_json::to_string(native).unwrap()).unwrap());
    let mut asked = asked.clone();
    asked.messages.push(ModelMessage::Assistant {
        text: answer.text.clone(),
        tool_calls: answer
            .tool_calls
            .iter()
            .map(|call| AssistantToolCall {
                provider_call_id: call.provider_call_id.clone(),
                name: call.name.clone(),
                args: call.args.clone().unwrap_or_else(|_| json!({})),
            })
            .collect(),
        native,
    });
    if !answer.tool_calls.is_empty() {
        let results = answer.tool_calls.iter().map(|call| ToolResultMessage {
            provider_call_id: call.provider_call_id.clone(),
            name: call.name.clone(),
            content: call
                .args
                .as_ref()
                .map_or_else(|malformed| malformed.error.clone(), |_| "done".to_owned()),
            is_error: call.args.is_err(),
        });
        asked.messages.push(ModelMessage::ToolResults {
            results: results.collect(),
        });
    } else if answer.stop != StopReason::Paused {
        asked.messages.push(user("go on"));
    }
    run(model, asked).await
}

/// Whether every native block of `answer` stands in the request, byte for byte.
fn replayed(answer: &ModelAnswer, seen: &Seen) -> bool {
    let Some(native) = &answer.native else {
        return false;
    };
    let sent = without_marks(&seen.body).to_string();
    blocks(&native.content)
        .iter()
        .all(|block| sent.contains(&block.to_string()))
}

/// The elements of the lists in native content.
fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(items) => items.clone(),
        Value::Object(fields) => fields.values().flat_map(blocks).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Two requests of one session begin with the same bytes: all of the first is in the second.
fn check_prefix(name: &str, first: &Value, second: &Value) {
    let (first, second) = (without_marks(first), without_marks(second));
    for part in ["tools", "system", "instructions", "systemInstruction"] {
        let same = first.get(part).map(Value::to_string) == second.get(part).map(Value::to_string);
        assert!(same, "{name}: {part} changed between two requests");
    }
    let history = ["messages", "input", "contents"]
        .into_iter()
        .find(|part| first.get(part).is_some())
        .expect("a history");
    let bytes = |body: &Value| body[history].to_string();
    let start = bytes(&first);
    let start = start.trim_end_matches(']');
    assert!(
        bytes(&second).starts_with(start),
        "{name}: the second request does not begin as the first:\n  {}\n  {}",
        bytes(&first),
        bytes(&second)
    );
}

/// A body without its cache marks, which move on.
fn without_marks(body: &Value) -> Value {
    match body {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| {
                !["cache_control", "prompt_cache_breakpoint"].contains(&name.as_str())
            })
            .map(|(name, inner)| (name.clone(), without_marks(inner)))
            .collect(),
        Value::Array(items) => items.iter().map(without_marks).collect(),
        other => other.clone(),
    }
}

/// An outcome as `outcome.json` speaks of it.
fn told(outcome: &Outcome) -> Value {
    let mut told = json!({"shown": outcome.shown()});
    match &outcome.end {
        Ok(answer) => {
            let calls: Vec<Value> = answer
                .tool_calls
                .iter()
                .map(|call| {
                    let mut told = json!({"id": call.provider_call_id, "name": call.name});
                    match &call.args {
                        Ok(args) => told["args"] = args.clone(),
                        Err(malformed) => told["malformed"] = json!(malformed.error),
                    }
                    told
                })
                .collect();
            told["text"] = json!(answer.text);
            told["calls"] = Value::Array(calls);
            told["stop"] = json!(stop_word(&answer.stop));
            told["usage"] = json!({
                "input": answer.usage.input_tokens,
                "output": answer.usage.output_tokens,
                "cached": answer.usage.cached_input_tokens,
                "written": answer.usage.cache_write_tokens,
                "cost": answer.usage.cost_usd,
            });
            told["native"] = match &answer.native {
                Some(native) => json!({"family": native.family, "content": native.content}),
                None => Value::Null,
            };
        }
        Err(error) => {
            told["error"] = json!({
                "kind": kind_word(error.kind),
                "message": error.message,
                "retry_after_ms": error.retry_after.map(|wait| wait.as_millis()),
                "usage": error.usage.map(|usage| [usage.input, usage.output]),
            });
        }
    }
    told
}

fn stop_word(stop: &StopReason) -> String {
    match stop {
        StopReason::EndTurn => "end_turn".to_owned(),
        StopReason::ToolUse => "tool_use".to_owned(),
        StopReason::MaxTokens => "max_tokens".to_owned(),
        StopReason::Refusal => "refusal".to_owned(),
        StopReason::RefusedFor(rule) => format!("refusal: {rule}"),
        StopReason::Paused => "paused".to_owned(),
        StopReason::Other(word) => format!("other: {word}"),
    }
}

fn kind_word(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::Authentication => "authentication",
        ModelErrorKind::NotFound => "not_found",
        ModelErrorKind::InvalidRequest => "invalid_request",
        ModelErrorKind::ContextTooLong => "context_too_long",
        ModelErrorKind::QuotaExceeded => "quota_exceeded",
        ModelErrorKind::RateLimited => "rate_limited",
        ModelErrorKind::Overloaded => "overloaded",
        ModelErrorKind::Unreachable => "unreachable",
        ModelErrorKind::Timeout => "timeout",
        ModelErrorKind::Disconnected => "disconnected",
        ModelErrorKind::Protocol => "protocol",
        ModelErrorKind::Cancelled => "cancelled",
        ModelErrorKind::Unusable => "unusable",
    }
}
