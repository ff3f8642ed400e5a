//! One model step: which models, in which order, how often; and what becomes of their answers.
//!
//! Nothing is tried again after text was shown: the turn is interrupted then, and a resume asks anew.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::backoff::jitter;
use crate::engine::context;
use crate::engine::context::build::{self, Context, Material, MemoryItem, Target};
use crate::engine::context::estimate;
use crate::engine::context::exchange::Exchange;
use crate::engine::context::prefix::Prefix;
use crate::engine::context::speaker;
use crate::engine::core::Engine;
use crate::engine::hooks::turn as hooks;
use crate::engine::mcp::find;
use crate::engine::response_cache::{self, CacheLookup, ModelInput, Pass};
use crate::engine::turn::after::{After, Before, TOO_LONG, Tries, after};
use crate::engine::turn::attempt::{
    self, AttemptAnswer, AttemptFailure, AttemptOutcome, AttemptTarget, attempt,
};
use crate::engine::turn::candidates::candidates;
use crate::engine::turn::error::TurnError;
use crate::engine::turn::fold;
use crate::engine::turn::memory::{self, Recollection};
use crate::engine::turn::pictures;
use crate::engine::turn::reply::{GaveUp, ModelReply, Outcome, code, describe, nobody_answered};
use crate::model::profiles::Profile;
use crate::model::request::{
    Model as _, ModelAnswer, ModelError, ModelErrorKind, ModelMessage, ModelRequest, ToolDefinition,
};
use crate::model::retry::{asks_too_long, retry_delay};
use crate::protocol::event::EventBody;
use crate::protocol::options::{ModelParameters, ToolChoice};
use crate::store::input::AnswerSource;
use crate::store::queries::history::Exchange as HistoryExchange;
use crate::store::queries::turn::TurnRows;
use crate::tools::canonical::digest;

/// What a model is told that gave no answer to the results of its calls.
const NUDGE: &str =
    "(You have the results of your calls. Answer the user now, or say what is missing.)";

/// What became of asking one model.
enum CallOutcome {
    Done(Outcome),
    GaveUp(GaveUp),
}

/// What a step has taken so far, over all models.
struct Step<'a> {
    engine: &'a Engine,
    rows: &'a TurnRows,
    prefix: &'a Prefix,
    n: u32,
    attempts: u32,
    failed_tokens: u64,
    notes: Vec<String>,
    /// What is remembered, as it is for this step.
    memory: Recollection,
    /// What becomes of the answer in the response cache; none = it was not looked into yet.
    pass: Option<Pass>,
    /// Exchanges before those that were read, at most.
    unread: u64,
    /// Exchanges that retention removed and no summary stands for.
    removed: u64,
}

/// Asks for the next step of a turn. The error is the store's.
pub async fn call(engine: &Engine, rows: &TurnRows) -> Result<Outcome, TurnError> {
    let chosen = candidates(&engine.settings, &rows.channel, rows.model.as_deref());
    let first = chosen.models.first().map_or("", String::as_str);
    let changed;
    let (rows, hook_notes) = match hooks::before_llm_call(engine, rows, first).await? {
        hooks::Ask::Stop { code, message } => return Ok(Outcome::failed(code, message)),
        hooks::Ask::Go {
            sent_text: None,
            notes,
        } => (rows, notes),
        hooks::Ask::Go { sent_text, notes } => {
            changed = TurnRows {
                sent_text,
                ..rows.clone()
            };
            (&changed, notes)
        }
    };
    let prefix = engine
        .prefix(&rows.channel)
        .map_err(|problem| TurnError::Bug(problem.to_string()))?;
    let prefix = find::extend(engine, &rows.channel, rows.session_id, &prefix).await?;
    let channel = rows.channel.clone();
    let has_datasets = engine
        .store
        .read_here(move |reader| reader.has_datasets(&channel))
        .await?;
    let prefix = Arc::new(prefix.narrowed(|name| {
        let tool = engine.tools().get(name);
        rows.options.allows(name) && tool.is_none_or(|tool| tool.is_offered(has_datasets))
    }));
    let prefix = match &rows.preferences {
        Some(preferences) => Arc::new(prefix.with_preferences(preferences)),
        None => prefix,
    };
    let mut step = Step {
        engine,
        rows,
        prefix: &prefix,
        n: rows.steps.last().map_or(0, |step| step.n) + 1,
        attempts: 0,
        failed_tokens: 0,
        notes: [chosen.notes, hook_notes].concat(),
        memory: memory::recollect(engine, rows).await?,
        pass: None,
        unread: 0,
        removed: 0,
    };
    let mut gave_up: Vec<(&str, GaveUp)> = Vec::new();
    for name in &chosen.models {
        match step.ask(name).await? {
            CallOutcome::Done(Outcome::Answered(mut reply)) => {
                if !gave_up.is_empty() {
                    let why: Vec<String> = gave_up.iter().map(describe).collect();
                    let note = format!("{}; {name} stood in", why.join("; "));
                    tracing::warn!(continuation = %rows.id, %note, "a fallback model answered");
                    reply.notes.push(note);
                }
                return Ok(Outcome::Answered(reply));
            }
            CallOutcome::Done(outcome) => return Ok(outcome),
            CallOutcome::GaveUp(reason) => gave_up.push((name, reason)),
        }
    }
    Ok(nobody_answered(engine, gave_up))
}

/// What is sent of earlier exchanges to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HistoryMode {
    /// Exchanges that are sent whatever they fill.
    least: u32,
    /// Tokens that more of them may fill.
    tokens: u64,
}

impl HistoryMode {
    fn of(engine: &Engine, profile: &Profile) -> Self {
        let settings = &engine.settings.engine;
        Self {
            least: context::exchanges(settings.history_exchanges, profile.context_window),
            tokens: context::history_tokens(settings.history_share, profile.context_window),
        }
    }

    fn or_more(self, other: Self) -> Self {
        Self {
            least: self.least.max(other.least),
            tokens: self.tokens.max(other.tokens),
        }
    }
}

impl Step<'_> {
    /// Asks one model, as often as it may be asked.
    async fn ask(&mut self, name: &str) -> Result<CallOutcome, TurnError> {
        let (engine, rows) = (self.engine, self.rows);
        let (model, model_id) = match engine.models.limited(name) {
            Ok(found) => found,
            Err(error) => {
                return Ok(CallOutcome::GaveUp(GaveUp {
                    code: "model_unknown",
                    message: error.to_string(),
                    tries: 0,
                    asks_to_wait: None,
                }));
            }
        };
        let profile = engine.models.profile(name);
        let history = self.history(name, &profile).await?;
        let Some(mut context) = self.fit(name, &profile, &history, false).await else {
            return Ok(CallOutcome::Done(Outcome::failed(
                "internal",
                "a tool call of this turn has no result; cancel and retry the turn",
            )));
        };
        let mut request = self.request(model_id, &profile, context.messages.clone());
        if self.pass.is_none() {
            let sent = ModelInput {
                request: &request,
                dropped: &context.dropped,
                remembered: &context.before_message,
                header: &speaker::header(&rows.requester.display, rows.speaker.as_ref()),
                tainted: !self.memory.taint(&context.recalled).is_empty(),
            };
            match response_cache::consult(engine, rows, name, sent).await {
                CacheLookup::Answer(kept) => {
                    response_cache::replay(engine, rows, self.n, &kept.text);
                    let reply = Box::new(ModelReply::kept(kept, self.retrieved(&context)));
                    return Ok(CallOutcome::Done(Outcome::Answered(reply)));
                }
                CacheLookup::Ask(pass) => self.pass = Some(pass),
            }
        }
        let most = engine.settings.engine.max_model_attempts.max(1);
        let before = Before::of(rows);
        let mut tries = Tries::default();
        let mut failed = 0;
        let mut made = 0;
        loop {
            made += 1;
            self.attempts += 1;
            let asked = AttemptTarget {
                name,
                model: &model,
                request: request.clone(),
                raw_input_tokens: context.raw_tokens,
                estimated_input_tokens: context.tokens,
                step: self.n,
                attempt: self.attempts,
                read: self.memory.note(rows, self.attempts, &context.recalled),
            };
            match attempt(engine, rows, asked).await? {
                AttemptOutcome::Refused(stop) => {
                    return Ok(CallOutcome::Done(Outcome::Refused(stop)));
                }
                AttemptOutcome::Answered(answered) => {
                    match after(&answered.answer, profile.max_output_tokens, tries, before) {
                        After::Take => {
                            // The built-in model counts its own way.
                            if model.family() != "scripted" {
                                let note = cut_by_server(&answered.answer, context.tokens);
                                context.notes.extend(note);
                            }
                            if let Some(pass) = self.pass.take() {
                                let noted = !(self.notes.is_empty() && context.notes.is_empty());
                                pass.settle(engine, rows, &answered.answer, name, noted);
                            }
                            let reply = self.reply(name, answered, context);
                            return Ok(CallOutcome::Done(Outcome::Answered(Box::new(reply))));
                        }
                        After::Nudge => {
                            tries.nudged = true;
                            let why =
                                "it gave no answer to the results of its calls; asked once more";
                            self.put_aside(answered, why).await?;
                            request.messages.push(ModelMessage::user(NUDGE));
                        }
                        After::Compact => {
                            tries.compacted = true;
                            self.put_aside(answered, WINDOW_FULL).await?;
                            if let Some(smaller) = self.fit(name, &profile, &history, true).await {
                                context = smaller;
                                request.messages.clone_from(&context.messages);
                            }
                        }
                        After::Fail { code, message } => {
                            self.put_aside(answered, &message).await?;
                            return Ok(CallOutcome::Done(Outcome::failed(code, message)));
                        }
                    }
                }
                AttemptOutcome::Failed(AttemptFailure {
                    error,
                    shown,
                    tokens,
                }) => {
                    self.failed_tokens += tokens;
                    failed += 1;
                    if !shown.is_empty() {
                        return Ok(CallOutcome::Done(Outcome::Interrupted {
                            reason: format!(
                                "the answer broke off: {}; resume it to ask again",
                                error.message
                            ),
                            partial: shown,
                        }));
                    }
                    if error.kind == ModelErrorKind::ContextTooLong {
                        if tries.compacted {
                            let message = format!("{}; {TOO_LONG}", error.message);
                            return Ok(CallOutcome::Done(Outcome::failed(code(&error), message)));
                        }
                        tries.compacted = true;
                        self.notes.push(format!("{WINDOW_FULL}: {}", error.message));
                        if let Some(smaller) = self.fit(name, &profile, &history, true).await {
                            context = smaller;
                            request.messages.clone_from(&context.messages);
                        }
                        continue;
                    }
                    let Some(delay) = retry_delay(&error, failed, most, false, jitter()) else {
                        return Ok(CallOutcome::GaveUp(GaveUp {
                            code: code(&error),
                            asks_to_wait: asks_too_long(&error),
                            message: error.message,
                            tries: made,
                        }));
                    };
                    self.wait(name, delay, &error).await;
                }
            }
        }
    }

    /// Waits before the next try, and says until when.
    async fn wait(&self, name: &str, delay: Duration, error: &ModelError) {
        let (engine, rows) = (self.engine, self.rows);
        tracing::info!(continuation = %rows.id, attempt = self.attempts, ?delay, message = %error.message, "model call failed; trying again");
        let millis = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
        engine.publish_of(
            rows,
            EventBody::ModelStarted {
                model: name.to_owned(),
                attempt: self.attempts + 1,
                not_before: Some(engine.clock.now().plus_millis(millis)),
            },
        );
        tokio::time::sleep(delay).await;
    }

    /// Settles an answer that is not taken.
    async fn put_aside(&mut self, answered: AttemptAnswer, why: &str) -> Result<(), TurnError> {
        let usage = answered.answer.usage;
        self.failed_tokens += usage.input_tokens + usage.output_tokens;
        self.notes.push(why.to_owned());
        attempt::settle(self.engine, answered, why).await
    }

    /// The memories that were found for the message and went into the context.
    fn retrieved(&self, context: &Context) -> Vec<String> {
        let found = self.memory.context.retrieved.iter();
        found
            .filter(|memory| context.recalled.contains(&memory.id))
            .map(|memory| memory.id.clone())
            .collect()
    }

    fn reply(&mut self, name: &str, answered: AttemptAnswer, context: Context) -> ModelReply {
        let retrieved = self.retrieved(&context);
        let mut notes = std::mem::take(&mut self.notes);
        notes.extend(context.notes);
        let mut answer = answered.answer;
        notes.append(&mut answer.notes);
        let mut dropped = self.memory.left_out.clone();
        dropped.extend(context.dropped);
        if self.removed > 0 {
            dropped.push(format!(
                "{} earlier exchange(s): removed by retention (retention.history_days = {})",
                self.removed, self.engine.settings.retention.history
            ));
        }
        ModelReply {
            answer,
            source: AnswerSource::Attempt(answered.attempt_id),
            model: name.to_owned(),
            latency_ms: answered.latency_ms,
            attempts: self.attempts,
            failed_tokens: self.failed_tokens,
            prompt_tokens: context.tokens,
            retrieved,
            removed: self.removed > 0,
            dropped,
            notes,
        }
    }

    /// The request of this step to one model.
    fn request(
        &self,
        model: String,
        profile: &Profile,
        messages: Vec<ModelMessage>,
    ) -> ModelRequest {
        let tools: Vec<ToolDefinition> = if profile.tools == Some(false) {
            Vec::new()
        } else {
            self.prefix.tools.clone()
        };
        let channel = self.engine.settings.channels.get(&self.rows.channel);
        let wider = match channel {
            Some(channel) => channel.parameters.clone().or(&profile.parameters),
            None => profile.parameters.clone(),
        };
        let parameters = parameters(self.rows, &wider, &tools);
        ModelRequest {
            model,
            system: self.prefix.system.clone(),
            messages,
            tools,
            max_output_tokens: profile.max_output_tokens,
            one_tool_per_step: self.engine.settings.engine.one_tool_per_step,
            profile: profile.clone(),
            parameters,
            prompt_cache_key: Some(prompt_cache_key(self.rows)),
        }
    }

    /// What this model is sent. None when a call of the turn lacks its result.
    async fn fit(
        &self,
        name: &str,
        profile: &Profile,
        history: &[Exchange],
        compact: bool,
    ) -> Option<Context> {
        let wanted = HistoryMode::of(self.engine, profile);
        let material = Material {
            prefix: self.prefix,
            memory: &self.memory.context,
            history,
            unread: self.unread,
            current: &fold::current(self.rows),
            hints: &self.rows.options.hints,
            ratio: self.rows.estimate_ratio.unwrap_or(1.0),
        };
        let target = Target {
            model: name,
            window: profile.context_window,
            max_output: profile.max_output_tokens,
            tools: profile.tools != Some(false),
            exchanges: wanted.least as usize,
            history: wanted.tokens,
            compact,
        };
        let mut context = build::build(&material, &target)?;
        pictures::read(self.engine, name, profile, &mut context).await;
        Some(context)
    }

    /// The exchanges before this turn: as many as this model is sent, and where another model answered in them, as
    /// many as that one was sent, for the summary.
    async fn history(&mut self, name: &str, profile: &Profile) -> Result<Vec<Exchange>, TurnError> {
        let wanted = HistoryMode::of(self.engine, profile);
        let history = self.read_history(wanted).await?;
        let all = history
            .iter()
            .flat_map(Exchange::models)
            .filter(|model| *model != name)
            .filter(|model| self.engine.models.get(model).is_ok())
            .map(|other| HistoryMode::of(self.engine, &self.engine.models.profile(other)))
            .fold(wanted, HistoryMode::or_more);
        if all != wanted {
            return self.read_history(all).await;
        }
        Ok(history)
    }

    /// Reads the summary with the exchanges, so that each turn is in one of them and none in both.
    async fn read_history(&mut self, wanted: HistoryMode) -> Result<Vec<Exchange>, TurnError> {
        let (session, continuation) = (self.rows.session_id, self.rows.id);
        let ratio = self.rows.estimate_ratio.unwrap_or(1.0);
        let most = wanted.least + u32::from(wanted.tokens > 0) * context::MOST_BEYOND;
        let (mut count, mut filled) = (0, 0);
        // One more than fits is read, so that it is named.
        let wants = |last: Option<&HistoryExchange>| {
            filled += last.map_or(0, |last| estimate::calibrated(fold::size(last), ratio));
            let wanted = count < wanted.least || (count < most && filled <= wanted.tokens);
            count += 1;
            wanted
        };
        let (summary, (history, more), removed) = self
            .engine
            .store
            .read_here(move |reader| {
                let summary = reader.summary(session)?;
                let history = reader.history_while(session, continuation, wants)?;
                Ok((summary, history, reader.removed_turns(session)?))
            })
            .await?;
        self.removed = removed;
        self.unread = if more {
            (self.rows.uncovered.saturating_sub(1))
                .saturating_sub(history.len() as u64)
                .saturating_sub(removed)
                .max(1)
        } else {
            0
        };
        self.memory.context.summary = summary.map(|summary| MemoryItem {
            id: format!("summary-{}", summary.version),
            text: summary.text,
            source: format!(
                "stands for the first {} exchange(s) of this conversation, written by {}",
                summary.turns, summary.model
            ),
        });
        Ok(history.into_iter().map(fold::earlier).collect())
    }
}

/// How the model is asked in this step: as the message says, else as `wider` does. A call is demanded until the turn has
/// made one: it would never end otherwise. A tool that is not offered cannot be demanded.
fn parameters(
    rows: &TurnRows,
    wider: &ModelParameters,
    tools: &[ToolDefinition],
) -> ModelParameters {
    let mut parameters = rows.options.parameters.clone().or(wider);
    let holds = match &parameters.tool_choice {
        Some(ToolChoice::Auto | ToolChoice::None) | None => true,
        Some(ToolChoice::Required) => rows.calls.is_empty(),
        Some(ToolChoice::Tool(name)) => {
            rows.calls.is_empty() && tools.iter().any(|tool| tool.name == *name)
        }
    };
    if !holds {
        parameters.tool_choice = None;
    }
    parameters
}

const WINDOW_FULL: &str = "the model's window was full; asked again with half of it";

/// Requests of one session share a prompt cache. Names nobody.
fn prompt_cache_key(rows: &TurnRows) -> String {
    let mut key = digest(&["prompt cache", &rows.session_id.to_string()]);
    key.truncate(32);
    key
}

/// Servers that cut what does not fit their window do not say so: they only count less than was sent.
fn cut_by_server(answer: &ModelAnswer, sent: u64) -> Option<String> {
    let counted = answer.usage.input_tokens;
    (counted > 0 && sent >= 4_000 && counted < sent / 3).then(|| {
        format!(
            "the server counted {counted} input tokens of about {sent}: it may have cut the context; \
             set context_window to what it really takes"
        )
    })
}
