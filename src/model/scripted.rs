//! The built-in model that is no LLM: it answers by rules, without network, keys or chance.
//!
//! Nothing here pretends: every answer follows from the last user message and the tool results after
//! it. It exists so that the program can be tried and tested through the real engine.
//!
//! A message may hold directives, one a line ([`directive`]), be one of the phrases of [`phrases`] or a request that
//! [`scenario`] knows; anything else is answered with "You said: …" and with how to connect a real model.

pub mod compaction;
pub mod demo;
pub mod directive;
pub mod phrases;
pub mod prefix;
pub mod scenario;
pub mod script;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use regex::Regex;
use serde_json::{Map, Value};

use crate::model::producer::{EventSink, produce};
use crate::model::request::{
    MalformedArgs, Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelMessage,
    ModelRequest, ModelStream, ModelToolCall, StopReason, ToolResultMessage,
};
use crate::model::scripted::prefix::Prefixes;
use crate::model::scripted::script::{FailureKind, Script, ScriptedArgs, ScriptedFailure};
use crate::protocol::session::Usage;

/// Characters of one streamed piece.
const DELTA_CHARS: usize = 12;
/// Time between pieces where it is paced.
const DEMO_PACE: Duration = Duration::from_millis(15);
/// Time between the extra pieces of `SLOW:n`.
const SLOW_PACE: Duration = Duration::from_millis(25);
/// Texts whose failed tries are counted at a time.
const REMEMBERED_TEXTS: usize = 1024;
/// Lines of a tool result that a final answer quotes.
const QUOTED_LINES: usize = 6;
/// Longest quoted line, in characters.
const QUOTED_CHARS: usize = 160;

#[derive(Debug, Clone)]
pub struct ScriptedModel {
    provider: String,
    paced: bool,
    // Per user text (and session, where that counts), how many tries have failed.
    failures: Arc<Mutex<HashMap<String, u32>>>,
    prefixes: Arc<Mutex<Prefixes>>,
    numbered: Arc<AtomicU64>,
}

impl ScriptedModel {
    /// A scripted model named `scripted`; `paced` streams every answer at reading speed.
    pub fn new(paced: bool) -> Self {
        Self {
            provider: "scripted".to_owned(),
            paced,
            failures: Arc::default(),
            prefixes: Arc::default(),
            numbered: Arc::default(),
        }
    }

    /// The same under another provider name.
    pub fn named(self, provider: String) -> Self {
        Self { provider, ..self }
    }

    /// Whether this try fails, and how; counts it.
    fn failure_now(
        &self,
        request: &ModelRequest,
        text: &str,
        failure: Option<ScriptedFailure>,
    ) -> Option<ScriptedFailure> {
        let failure = failure?;
        let Some(times) = failure.times else {
            return Some(failure);
        };
        // Directives count for everybody; a phrase for the session that said it.
        let session = request
            .prompt_cache_key
            .as_deref()
            .filter(|_| failure.again);
        let key = format!("{}\n{text}", session.unwrap_or_default());
        // A count is valid however a holder of the lock ended.
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= REMEMBERED_TEXTS {
            failures.clear();
        }
        let failed = failures.entry(key.clone()).or_insert(0);
        if *failed < times {
            *failed += 1;
            return Some(failure);
        }
        if failure.again {
            failures.remove(&key);
        }
        None
    }

    /// Input tokens of a request, all and cached.
    fn input_tokens(&self, request: &ModelRequest) -> (u64, u64) {
        let mut prefixes = self.prefixes.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = prefixes.count(request);
        ((counted.all as u64).div_ceil(4), (counted.known as u64) / 4)
    }
}

impl Model for ScriptedModel {
    fn provider(&self) -> &str {
        &self.provider
    }

    fn family(&self) -> &'static str {
        "scripted"
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let model = self.clone();
        produce(move |sink| async move { answer(&model, &request, &sink).await })
    }
}

async fn answer(
    model: &ScriptedModel,
    request: &ModelRequest,
    sink: &EventSink,
) -> Result<(), ModelError> {
    if let Some(text) = compaction::answer(request) {
        let tokens = model.input_tokens(request);
        finish(tokens, text, Vec::new(), StopReason::EndTurn, sink).await;
        return Ok(());
    }
    let asked = ScriptInput::of(request);
    let script = directive::script(asked.text)
        .or_else(|| phrases::script(asked.text, &request.tools))
        .or_else(|| phrases::earlier(asked.text, &request.messages))
        .or_else(|| scenario::scenario(asked.text))
        .unwrap_or_default();
    let mut planned = plan(&script, &asked, request.one_tool_per_step);
    if let Some(failure) = model.failure_now(request, asked.text, script.failure) {
        if failure.kind == FailureKind::Cut {
            sink.send(ModelEvent::TextDelta("I was about to".to_owned()))
                .await;
        }
        return Err(scripted_error(&model.provider, failure));
    }
    if script.numbered {
        let number = model.numbered.fetch_add(1, Ordering::Relaxed) + 1;
        planned
            .text
            .push_str(&format!(" (My answer number {number} of this kind.)"));
    }
    let tokens = model.input_tokens(request);
    let mut text = String::new();
    for number in 1..=script.slow {
        tokio::time::sleep(SLOW_PACE).await;
        let piece = format!("({number}) ");
        text.push_str(&piece);
        sink.send(ModelEvent::TextDelta(piece)).await;
    }
    for piece in pieces(&planned.text) {
        if model.paced {
            tokio::time::sleep(DEMO_PACE).await;
        }
        text.push_str(&piece);
        sink.send(ModelEvent::TextDelta(piece)).await;
    }
    let stop = if planned.calls.is_empty() {
        script.stop.unwrap_or(StopReason::EndTurn)
    } else {
        StopReason::ToolUse
    };
    finish(tokens, text, planned.calls, stop, sink).await;
    Ok(())
}

/// Ends an answer to a request of so many input tokens, all and cached.
async fn finish(
    (input_tokens, cached_input_tokens): (u64, u64),
    text: String,
    tool_calls: Vec<ModelToolCall>,
    stop: StopReason,
    sink: &EventSink,
) {
    let written = text.chars().count() + tool_calls.iter().map(call_size).sum::<usize>();
    sink.send(ModelEvent::Finished(Box::new(ModelAnswer {
        usage: Usage {
            input_tokens,
            output_tokens: (written as u64).div_ceil(4),
            cached_input_tokens,
            // What was not known yet is known from now on.
            cache_write_tokens: input_tokens - cached_input_tokens,
            cost_usd: Some(0.0),
        },
        text,
        tool_calls,
        stop,
        model: None,
        native: None,
        notes: Vec::new(),
    })))
    .await;
}

/// The part of a request that an answer depends on.
struct ScriptInput<'a> {
    text: &'a str,
    rounds: Vec<&'a [ToolResultMessage]>,
    earlier_calls: usize,
}

impl<'a> ScriptInput<'a> {
    fn of(request: &'a ModelRequest) -> Self {
        let mut asked = Self {
            text: "",
            rounds: Vec::new(),
            earlier_calls: 0,
        };
        for message in &request.messages {
            match message {
                ModelMessage::User { text, .. } => {
                    asked.text = without_blocks(text);
                    asked.rounds.clear();
                }
                ModelMessage::Assistant { tool_calls, .. } => {
                    asked.earlier_calls += tool_calls.len();
                }
                ModelMessage::ToolResults { results } => asked.rounds.push(results),
            }
        }
        asked
    }

    fn last_results(&self) -> &'a [ToolResultMessage] {
        self.rounds.last().copied().unwrap_or_default()
    }
}

/// What a person said, without what the engine put before it.
fn without_blocks(text: &str) -> &str {
    let mut said = text;
    while let Some((name, _)) = said
        .strip_prefix('<')
        .and_then(|rest| rest.split_once(" note=\""))
        && let Some((_, rest)) = said.split_once(&format!("\n</{name}>\n"))
    {
        said = rest.trim_start_matches('\n');
    }
    said
}

struct ScriptPlan {
    text: String,
    calls: Vec<ModelToolCall>,
}

fn plan(script: &Script, asked: &ScriptInput<'_>, one_call: bool) -> ScriptPlan {
    // After a refusal the rest of the plan would be built on nothing: say so instead.
    let refused = asked
        .last_results()
        .iter()
        .find(|result| is_refusal(result));
    match script.steps.get(asked.rounds.len()) {
        Some(step) if refused.is_none() => {
            let limit = if one_call { 1 } else { usize::MAX };
            let calls = step.calls.iter().take(limit).enumerate();
            ScriptPlan {
                text: step.say.clone(),
                calls: calls
                    .map(|(index, call)| ModelToolCall {
                        provider_call_id: format!("call_scripted_{}", asked.earlier_calls + index),
                        name: call.name.clone(),
                        args: args_of(&call.args, asked.last_results()),
                    })
                    .collect(),
            }
        }
        Some(_) | None => ScriptPlan {
            text: final_text(script, asked, refused),
            calls: Vec::new(),
        },
    }
}

fn args_of(args: &ScriptedArgs, results: &[ToolResultMessage]) -> Result<Value, MalformedArgs> {
    match args {
        ScriptedArgs::Given(value) => Ok(value.clone()),
        ScriptedArgs::Malformed(raw) => Err(MalformedArgs {
            raw: raw.clone(),
            error: "the arguments are not complete JSON (they end in the middle)".to_owned(),
        }),
        ScriptedArgs::Insert { path, after, lines } => {
            let read = results
                .iter()
                .find(|result| result.name == "read_file" && !result.is_error)
                .map_or("", |result| result.content.as_str());
            let mut object = Map::new();
            object.insert("path".to_owned(), Value::from(path.as_str()));
            object.insert(
                "content".to_owned(),
                Value::from(insert(read, after, lines)),
            );
            // It read the file, so the file exists.
            object.insert("mode".to_owned(), Value::from("overwrite"));
            Ok(Value::Object(object))
        }
    }
}

fn insert(content: &str, after: &str, lines: &str) -> String {
    let mut output = String::new();
    let mut inserted = false;
    for line in content.lines() {
        output.push_str(line);
        output.push('\n');
        if !inserted && line.starts_with(after) {
            output.push_str(lines);
            output.push('\n');
            inserted = true;
        }
    }
    if !inserted {
        output.push_str(lines);
        output.push('\n');
    }
    output
}

fn final_text(
    script: &Script,
    asked: &ScriptInput<'_>,
    refused: Option<&ToolResultMessage>,
) -> String {
    if let Some(result) = refused {
        return format!(
            "I did not do it: {} was not allowed. {}\nTell me if there is another way you would like.",
            result.name,
            first_lines(&result.content, 3)
        );
    }
    if script.claims_success
        && let Some(result) = asked.last_results().iter().find(|result| result.is_error)
    {
        return format!("That did not work: {}", first_lines(&result.content, 3));
    }
    if let Some(text) = &script.ending {
        return text.clone();
    }
    if asked.last_results().is_empty() {
        return echo(asked.text);
    }
    let told = asked.last_results().iter().map(|result| {
        let quoted = first_lines(&result.content, QUOTED_LINES);
        let how = if result.is_error {
            "did not work"
        } else {
            "says"
        };
        format!("{} {how}:\n{quoted}", result.name)
    });
    told.collect::<Vec<_>>().join("\n\n")
}

/// Results the model reads where a person or a rule said no.
fn is_refusal(result: &ToolResultMessage) -> bool {
    let content = result
        .content
        .to_lowercase()
        .replace("permission denied", "");
    result.is_error
        && [
            "denied",
            "blocked by",
            "not allowed",
            "expired",
            "cancelled",
        ]
        .iter()
        .any(|word| content.contains(word))
}

static BENCH_TOKEN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("bench-[0-9A-Za-z_]+(?:-[0-9A-Za-z_]+)*").ok());

fn echo(text: &str) -> String {
    let token = BENCH_TOKEN
        .as_ref()
        .and_then(|pattern| pattern.find_iter(text).last());
    match token {
        Some(token) => format!("re:{} You said: {text}{NO_MODEL}", token.as_str()),
        None => format!("You said: {text}{NO_MODEL}"),
    }
}

/// What stands below every answer that no phrase called for.
const NO_MODEL: &str = "\n\nI am the built-in script, no AI model: I know some phrases, `help` lists them. \
    A real model is connected with `leverframe init`, or, with its key in the environment, with \
    `leverframe --model anthropic/claude-sonnet-5`.";

fn first_lines(text: &str, count: usize) -> String {
    let mut lines: Vec<String> = text
        .lines()
        .take(count)
        .map(|line| line.chars().take(QUOTED_CHARS).collect())
        .collect();
    if text.lines().nth(count).is_some() {
        lines.push("…".to_owned());
    }
    lines.join("\n")
}

fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars
        .chunks(DELTA_CHARS)
        .map(|piece| piece.iter().collect())
        .collect()
}

fn call_size(call: &ModelToolCall) -> usize {
    let args = match &call.args {
        Ok(value) => value.to_string().len(),
        Err(malformed) => malformed.raw.len(),
    };
    call.name.len() + args
}

fn scripted_error(provider: &str, failure: ScriptedFailure) -> ModelError {
    let (kind, what) = match failure.kind {
        FailureKind::Auth => (ModelErrorKind::Authentication, "the key is wrong"),
        FailureKind::RateLimit => (ModelErrorKind::RateLimited, "too many requests"),
        FailureKind::Overloaded => (ModelErrorKind::Overloaded, "it is overloaded (529)"),
        FailureKind::Cut => (ModelErrorKind::Disconnected, "the connection broke"),
        FailureKind::Timeout => (ModelErrorKind::Timeout, "no byte came"),
    };
    let retry_after =
        (failure.kind == FailureKind::RateLimit).then_some(Duration::from_millis(failure.wait_ms));
    ModelError {
        retry_after,
        ..ModelError::new(
            kind,
            format!("provider {provider} (built in): {what}, because the message asked for it"),
        )
    }
}
