//! Really asking a model, to see what works: a few small calls, each with a limit. What cannot be told is unknown, never
//! guessed.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::config::model_tables::PromptCache;
use crate::config::settings::{ProviderKind, ProviderSettings};
use crate::model::discovery::servers::{self, ServerModel};
use crate::model::profiles::Profile;
use crate::model::registry::{ModelLookupError, Models};
use crate::model::request::{
    Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelMessage, ModelRequest,
    ToolDefinition,
};
use crate::protocol::ids::ModelAttemptId;
use crate::protocol::models::{CheckVerdict, ModelCheck, ModelTest};
use crate::protocol::options::ModelParameters;
use crate::protocol::problem::Problem;
use crate::protocol::session::Usage;

/// Longest time of one call: a model that is loaded first may need a while.
const CALL_LIMIT: Duration = Duration::from_secs(120);
/// Longest time for what the server says of itself.
const TOLD_LIMIT: Duration = Duration::from_secs(3);
/// Most output tokens of one call; thinking counts.
const MOST_OUTPUT: u32 = 2048;
/// Repetitions that make a prompt long enough for the usual prompt caches (1 024 tokens).
const PADDING: usize = 120;
/// The tool of the test.
const TOOL: &str = "note_number";

/// Parts of a test, in order.
const STREAMING: &str = "streaming";
const CACHED: &str = "cached tokens";
const TOOLS: &str = "tools";
const PARALLEL: &str = "parallel calls";
const CONTEXT: &str = "context size";

/// Who counts the calls of a test: nothing is sent before it is reserved.
#[async_trait]
pub trait Account: Sync {
    /// Reserves a call; the problem says which budget forbids it.
    async fn reserve(&self, request: &ModelRequest) -> Result<ReservedCall, Problem>;

    /// Replaces a reservation by what the call used, as far as that is known; priced.
    async fn settle(&self, reserved: ReservedCall, asked: &CallReport) -> Result<Usage, Problem>;
}

/// A call that may be made.
#[derive(Debug, Clone, Copy)]
pub struct ReservedCall {
    pub attempt_id: ModelAttemptId,
    /// Its input tokens, as estimated.
    pub input_tokens: u64,
}

/// Why a test was not made, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum TestError {
    /// There is no such model.
    #[error(transparent)]
    Lookup(#[from] ModelLookupError),
    /// A call may not be made, or could not be counted.
    #[error(transparent)]
    Account(#[from] Problem),
}

/// One call and what came of it.
pub struct CallReport {
    /// Its text, as far as it came.
    pub text: String,
    /// Signs of life that brought no text.
    pub signs: u64,
    /// How it ended.
    pub end: Result<ModelAnswer, ModelError>,
    pieces: u32,
    /// Bytes of the first piece.
    first_bytes: usize,
    first: Option<Duration>,
}

impl CallReport {
    /// Pieces that the server sent. The end of an answer may be held back until it is known to be no secret: then it
    /// comes by itself, as the last word.
    fn sent_pieces(&self) -> u32 {
        let rest = self.text.get(self.first_bytes..).unwrap_or_default();
        match self.pieces {
            2 if !rest.contains(char::is_whitespace) => 1,
            pieces => pieces,
        }
    }
}

/// A test under way.
struct Run<'a> {
    model: std::sync::Arc<dyn Model>,
    id: String,
    profile: Profile,
    account: &'a dyn Account,
    calls: u32,
    usage: Usage,
    checks: Vec<ModelCheck>,
}

/// Tests `<provider>/<model>`. Costs what its calls cost.
pub async fn test(
    models: &Models,
    name: &str,
    clock: &Clock,
    account: &dyn Account,
) -> Result<ModelTest, TestError> {
    let (model, id) = models.get(name)?;
    let at = clock.now();
    let began = Instant::now();
    let mut run = Run {
        model,
        id,
        profile: models.profile(name),
        account,
        calls: 0,
        usage: Usage::default(),
        checks: Vec::new(),
    };
    if run.streaming_and_cache().await? {
        let told = match models.settings_of(name) {
            Some(provider) => {
                let asking = servers::told(provider, &run.id);
                tokio::time::timeout(TOLD_LIMIT, asking)
                    .await
                    .ok()
                    .flatten()
            }
            None => None,
        };
        run.tools(told.as_ref()).await?;
        run.context(told.as_ref(), models.settings_of(name));
    }
    Ok(ModelTest {
        model: name.to_owned(),
        at,
        took_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        calls: run.calls,
        usage: run.usage,
        checks: run.checks,
    })
}

impl Run<'_> {
    fn say(&mut self, check: &str, verdict: CheckVerdict, detail: impl Into<String>) {
        self.checks.push(ModelCheck {
            check: check.to_owned(),
            verdict,
            detail: detail.into(),
        });
    }

    fn request(&self, system: &str, text: &str, tools: Vec<ToolDefinition>) -> ModelRequest {
        ModelRequest {
            model: self.id.clone(),
            system: system.to_owned(),
            messages: vec![ModelMessage::user(text)],
            tools,
            max_output_tokens: self.profile.max_output_tokens.min(MOST_OUTPUT),
            one_tool_per_step: false,
            profile: self.profile.clone(),
            parameters: ModelParameters {
                // The test asks for calls by its words.
                tool_choice: None,
                ..self.profile.parameters.clone()
            },
            prompt_cache_key: Some("leverframe-models-test".to_owned()),
        }
    }

    async fn ask(&mut self, request: ModelRequest) -> Result<CallReport, Problem> {
        let reserved = self.account.reserve(&request).await?;
        self.calls += 1;
        let began = Instant::now();
        let mut asked = CallReport {
            text: String::new(),
            signs: 0,
            pieces: 0,
            first_bytes: 0,
            first: None,
            end: Err(ModelError::new(
                ModelErrorKind::Timeout,
                format!(
                    "provider {}: expected a whole answer within {} s, none came; check that the server is not overloaded",
                    self.model.provider(),
                    CALL_LIMIT.as_secs()
                ),
            )),
        };
        let mut stream = self.model.stream(request);
        let reading = async {
            while let Some(event) = stream.next().await {
                match event {
                    Ok(ModelEvent::TextDelta(text)) => {
                        asked.text.push_str(&text);
                        if asked.pieces == 0 {
                            asked.first_bytes = text.len();
                        }
                        asked.pieces += 1;
                        asked.first.get_or_insert_with(|| began.elapsed());
                    }
                    Ok(ModelEvent::Heartbeat) => asked.signs += 1,
                    Ok(ModelEvent::Finished(answer)) => asked.end = Ok(*answer),
                    Err(error) => asked.end = Err(error),
                }
            }
        };
        // Beyond the limit the error above stands.
        let _ = tokio::time::timeout(CALL_LIMIT, reading).await;
        let usage = self.account.settle(reserved, &asked).await?;
        self.usage = self.usage.plus(usage);
        Ok(asked)
    }

    /// The first two calls: the same request twice. False when the model does not answer at all.
    async fn streaming_and_cache(&mut self) -> Result<bool, Problem> {
        let expected = self.profile.prompt_cache != PromptCache::None;
        let repeated = if expected { PADDING } else { 1 };
        let system =
            "You are being tested. Do exactly what you are asked, in as few words as it takes. "
                .repeat(repeated);
        let count = "Count from 1 to 20 in digits, separated by spaces.";
        let request = self.request(&system, count, Vec::new());
        let first = self.ask(request.clone()).await?;
        let pieces = first.sent_pieces();
        let answer = match first.end {
            Ok(answer) => answer,
            Err(error) => {
                self.say(STREAMING, CheckVerdict::No, error.message);
                for check in [CACHED, TOOLS, PARALLEL, CONTEXT] {
                    self.say(
                        check,
                        CheckVerdict::Unknown,
                        "not asked: the first call failed",
                    );
                }
                return Ok(false);
            }
        };
        let ms = |time: Option<Duration>| time.map_or(0, |time| time.as_millis());
        match pieces {
            0 => self.say(
                STREAMING,
                CheckVerdict::No,
                "the answer has no text; a model that reasons may need a larger max_output_tokens",
            ),
            1 => self.say(
                STREAMING,
                CheckVerdict::No,
                "the answer came whole, in one piece; it works, but nothing is shown before its end",
            ),
            pieces => {
                let detail = format!("{pieces} pieces, the first after {} ms", ms(first.first));
                self.say(STREAMING, CheckVerdict::Ok, detail);
            }
        }
        let again = self.ask(request).await?;
        let (verdict, detail) = match again.end {
            Err(error) => (
                CheckVerdict::No,
                format!("the same call again: {}", error.message),
            ),
            Ok(second) => {
                let cached = second
                    .usage
                    .cached_input_tokens
                    .max(answer.usage.cached_input_tokens);
                let input = second.usage.input_tokens;
                if cached > 0 {
                    (
                        CheckVerdict::Ok,
                        format!("{cached} of {input} input tokens"),
                    )
                } else if expected {
                    let detail = format!(
                        "the same {input} tokens twice, and no cached ones reported; some models cache only longer prompts"
                    );
                    (CheckVerdict::Unknown, detail)
                } else {
                    let detail = "none reported, and none expected of this provider".to_owned();
                    (CheckVerdict::Unknown, detail)
                }
            }
        };
        self.say(CACHED, verdict, detail);
        Ok(true)
    }

    async fn tools(&mut self, told: Option<&ServerModel>) -> Result<(), Problem> {
        let both = |run: &mut Self, verdict, detail: &str| {
            run.say(TOOLS, verdict, detail);
            run.say(
                PARALLEL,
                CheckVerdict::Unknown,
                "not asked: it takes no tools",
            );
        };
        if self.profile.tools == Some(false) {
            let detail = "not asked: its profile says that it takes none; they are withheld";
            both(self, CheckVerdict::Unknown, detail);
            return Ok(());
        }
        if let Some(told) = told.filter(|told| told.tools == Some(false)) {
            let detail = format!(
                "{} lists what it can do, without tools; {}",
                told.by,
                self.withhold()
            );
            both(self, CheckVerdict::No, &detail);
            return Ok(());
        }
        let two = self.calls_of(2).await?;
        match two {
            Err(error) => {
                let detail = format!("{}; if it takes none, {}", error.message, self.withhold());
                both(self, CheckVerdict::No, &detail);
            }
            Ok(found) if found.good >= 2 => {
                self.say(TOOLS, CheckVerdict::Ok, "it called the tool as asked");
                self.say(
                    PARALLEL,
                    CheckVerdict::Ok,
                    format!("{} calls in one answer", found.good),
                );
            }
            Ok(found) if found.good == 1 => {
                self.say(TOOLS, CheckVerdict::Ok, "it called the tool as asked");
                let detail =
                    "asked for two calls at once, it made one; the others come in later steps";
                self.say(PARALLEL, CheckVerdict::No, detail);
            }
            Ok(found) => {
                let (verdict, detail) = match self.calls_of(1).await? {
                    Ok(one) if one.good > 0 => {
                        (CheckVerdict::Ok, "it called the tool as asked".to_owned())
                    }
                    Ok(one) => {
                        let what = one.wrong.or(found.wrong);
                        let what = what.unwrap_or_else(|| "it answered in words".to_owned());
                        (
                            CheckVerdict::No,
                            format!("asked for a call, {what}; {}", self.withhold()),
                        )
                    }
                    Err(error) => (CheckVerdict::No, error.message),
                };
                self.say(TOOLS, verdict, detail);
                let detail = "asked for two calls at once, it made none";
                let parallel = match verdict {
                    CheckVerdict::Ok => CheckVerdict::No,
                    CheckVerdict::No | CheckVerdict::Unknown => CheckVerdict::Unknown,
                };
                self.say(PARALLEL, parallel, detail);
            }
        }
        Ok(())
    }

    /// What to write where a model takes no tools.
    fn withhold(&self) -> String {
        format!(
            "set models.\"{}\" = {{ tools = false }} under [providers.{}]",
            self.id,
            self.model.provider()
        )
    }

    /// Asks for this many calls of the tool in one answer.
    async fn calls_of(&mut self, count: u32) -> Result<Result<Calls, ModelError>, Problem> {
        let tool = ToolDefinition {
            name: TOOL.to_owned(),
            description: "Takes down one number. Call it once for each number.".to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {"number": {"type": "integer"}},
                "required": ["number"],
                "additionalProperties": false,
            }),
        };
        // The scripted model follows directives, not sentences.
        let text = if self.model.family() == "scripted" {
            let calls: Vec<String> = (1..=count)
                .map(|number| format!("TOOL:{TOOL}{{\"number\":{number}}}"))
                .collect();
            calls.join("\n")
        } else if count == 1 {
            format!("Call the tool {TOOL} with the number 1. Write nothing else.")
        } else {
            format!(
                "Call the tool {TOOL} twice in this one answer, in parallel: once with the number 1 and once with \
                 the number 2. Do not wait for the first result. Write nothing else."
            )
        };
        let system = "You are being tested. Use the tools as you are asked.";
        let request = self.request(system, &text, vec![tool]);
        let answer = match self.ask(request).await?.end {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(error)),
        };
        let mut calls = Calls::default();
        for call in &answer.tool_calls {
            match &call.args {
                Ok(args) if call.name == TOOL && args.get("number").is_some_and(Value::is_i64) => {
                    calls.good += 1;
                }
                Ok(_) if call.name != TOOL => {
                    calls.wrong = Some("it called a tool that was not offered".to_owned());
                }
                Ok(_) => calls.wrong = Some("its arguments were not those of the tool".to_owned()),
                Err(_) => calls.wrong = Some("its arguments were not complete JSON".to_owned()),
            }
        }
        Ok(Ok(calls))
    }

    fn context(&mut self, told: Option<&ServerModel>, provider: Option<&ProviderSettings>) {
        let assumed = self.profile.context_window;
        let Some((told, window)) = told.and_then(|told| Some((told, told.context_window?))) else {
            let detail = match provider.map(|provider| provider.kind) {
                Some(ProviderKind::Scripted) => "it has none".to_owned(),
                Some(_) | None => format!("the server does not tell; its profile says {assumed}"),
            };
            return self.say(CONTEXT, CheckVerdict::Unknown, detail);
        };
        let by = told.by;
        let silent = provider.is_some_and(|provider| provider.kind == ProviderKind::OpenAiChat)
            && by.starts_with("Ollama");
        if window < assumed {
            let detail = format!(
                "{window} tokens by {by}, but its profile says {assumed}; set models.\"{}\" = {{ context_window = {window} }} \
                 under [providers.{}]",
                self.id,
                self.model.provider()
            );
            self.say(CONTEXT, CheckVerdict::No, detail);
        } else if silent {
            let detail = format!(
                "the model has {window} by {by}, but on this interface Ollama cuts off silently at its own setting (OLLAMA_CONTEXT_LENGTH)"
            );
            self.say(CONTEXT, CheckVerdict::Unknown, detail);
        } else {
            let detail = format!("{window} tokens by {by}; {assumed} are used");
            self.say(CONTEXT, CheckVerdict::Ok, detail);
        }
    }
}

/// Calls of the tool in one answer.
#[derive(Default)]
struct Calls {
    good: u32,
    wrong: Option<String>,
}
