//! One compaction: read, plan, reserve, ask, commit. What ends in between leaves everything as it was.

use futures_util::StreamExt;

use crate::clock::Day;
use crate::crash_point;
use crate::engine::compaction::limits::{beyond, history_tokens, room, sent_along};
use crate::engine::compaction::plan::{self, Fill, Thresholds};
use crate::engine::compaction::prompt::{self, Extraction};
use crate::engine::context;
use crate::engine::context::estimate;
use crate::engine::context::exchange::{self, Exchange, Replay};
use crate::engine::core::Engine;
use crate::engine::turn::candidates::candidates;
use crate::engine::turn::fold;
use crate::engine::{budget, people};
use crate::model::limits::{CallPermit, Lane, LimitedProvider};
use crate::model::profiles::Profile;
use crate::model::request::{
    ModelAnswer, ModelError, ModelEvent, ModelMessage, ModelRequest, StopReason,
};
use crate::protocol::ids::{CompactionId, ContinuationId, ModelAttemptId, SessionId};
use crate::protocol::memory::{Compaction, MAX_TEXT};
use crate::protocol::session::Usage;
use crate::store::commands::begin_compaction::BeginCompaction;
use crate::store::commands::commit_compaction::CommitCompaction;
use crate::store::commands::fail_compaction::FailCompaction;
use crate::store::commands::reserve_model::BudgetStop;
use crate::store::commands::reserve_model::Reservation;
use crate::store::commands::retry_compaction::RetryCompaction;
use crate::store::commands::settle_abandoned_calls::SettleAbandonedCalls;
use crate::store::error::StoreError;
use crate::store::input::CompactionCall;
use crate::store::queries::compactions::{Compactable, Reach};
use crate::store::queries::history::OldTurn;

/// Why a session is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// A turn ended: it is compacted where that is due.
    TurnEnded,
    /// A person wants it compacted.
    Asked,
}

/// What became of a look at a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Pass {
    /// Nothing is begun now.
    NotNow(&'static str),
    /// Another one is under way.
    UnderWay,
    /// There is nothing to put away.
    Nothing,
    /// A budget forbids the model call; nothing was written.
    Refused(BudgetStop),
    /// One ended, well or badly.
    Ended(Box<Compaction>),
}

/// Most turns of one compaction.
const MOST_TURNS: usize = 100;
/// Most output tokens: the summary, the facts, and what a model thinks before.
const MOST_OUTPUT: u32 = 8_192;
/// How long a session rests after a compaction failed, in milliseconds; doubled with each further failure.
const REST_MS: i64 = 60_000;
const MOST_DOUBLINGS: u32 = 9;
/// Longest reason that is kept, in characters.
const REASON_CHARS: usize = 500;

/// A compaction that is about to begin.
struct Work<'a> {
    engine: &'a Engine,
    session: SessionId,
    channel: String,
    /// `<provider>/<model>` that is asked, its provider and its id there.
    name: String,
    model: LimitedProvider,
    model_id: String,
    profile: Profile,
    /// Version of the summary it goes on from.
    version: u64,
    turns: Vec<ContinuationId>,
    lines: String,
    taint: Vec<String>,
    ratio: f64,
    tokens_before: u64,
    /// The next prompt without its summary, once the turns are gone.
    tokens_left: u64,
}

/// Looks at a session and compacts it where the occasion says so. The error is the store's.
pub async fn pass(
    engine: &Engine,
    session: SessionId,
    occasion: Occasion,
) -> Result<Pass, StoreError> {
    if engine.is_held() || engine.emergency.is_quarantined() {
        return Ok(Pass::NotNow(
            "an emergency stop or a quarantine is in force; release it first",
        ));
    }
    if !engine.may_begin() {
        return Ok(Pass::NotNow("the process is about to stop"));
    }
    let work = match prepare(engine, session, occasion).await? {
        Ok(work) => work,
        Err(pass) => return Ok(pass),
    };
    // Before anything is reserved: who waits has spent nothing.
    let place = tokio::select! {
        biased;
        why = stopped(engine) => return Ok(Pass::NotNow(why)),
        place = work.place() => place,
    };
    let id = CompactionId::generate();
    let call = work.call(&work.lines);
    let Some(call) = call else {
        return Ok(Pass::Nothing);
    };
    let begun = engine
        .persist(BeginCompaction {
            id,
            session_id: session,
            epoch: engine.store.epoch(),
            version: work.version,
            turns: work.turns.len() as u64,
            tokens_before: work.tokens_before,
            call,
        })
        .await?;
    match begun {
        Reservation::Exhausted(stop) => Ok(Pass::Refused(stop)),
        Reservation::Granted(attempt) => {
            crash_point!("compact.pre_model");
            let ended = match work.carry_out(id, attempt, place).await {
                Ok(ended) => ended,
                // Not left under way: its session would never be compacted again.
                Err(error) => {
                    tracing::error!(%session, compaction = %id, %error, "compaction given up");
                    work.give_up(id, &error.to_string()).await?
                }
            };
            match &ended.error {
                None => {
                    tracing::info!(%session, compaction = %id, turns = ended.turns, "compacted");
                }
                Some(error) => {
                    tracing::warn!(%session, compaction = %id, %error, "compaction failed; tried again later");
                }
            }
            Ok(Pass::Ended(Box::new(ended)))
        }
    }
}

/// Resolves when work has to stop.
async fn stopped(engine: &Engine) -> &'static str {
    let mut held = engine.emergency.changes();
    tokio::select! {
        () = engine.shutdown.cancelled() => "the process was stopped",
        _ = held.wait_for(Option::is_some) => "emergency stop",
    }
}

/// Whether a session that failed may be tried again by itself.
fn rested(engine: &Engine, found: &Compactable) -> bool {
    let (failures, Some(last)) = found.failed else {
        return true;
    };
    let doublings = failures.saturating_sub(1).min(MOST_DOUBLINGS);
    engine.clock.now() >= last.plus_millis(REST_MS << doublings)
}

/// Reads and plans. The inner error says why nothing is begun.
async fn prepare(
    engine: &Engine,
    session: SessionId,
    occasion: Occasion,
) -> Result<Result<Work<'_>, Pass>, StoreError> {
    let settings = &engine.settings.memory;
    // Whose window it is depends on the session, so that one is read first.
    let rows = engine
        .store
        .read_here(move |reader| reader.session(session))
        .await?;
    let chosen = candidates(&engine.settings, &rows.channel, rows.model.as_deref());
    let Some(own) = chosen.models.into_iter().next() else {
        return Ok(Err(Pass::Nothing));
    };
    let own_profile = engine.models.profile(&own);
    let least = sent_along(engine, &own_profile);
    let history = history_tokens(engine, &own_profile);
    let beyond = beyond(engine);
    let newest = match history {
        0 => least,
        _ => least + context::MOST_BEYOND as usize,
    };
    let reach = Reach {
        counted: newest + beyond.max(MOST_TURNS) + 1,
        oldest: 0,
        newest,
    };
    let epoch = engine.store.epoch();
    let along = HistoryRoom { least, history };
    let thresholds = Thresholds {
        share: settings.compaction_share,
        beyond,
    };
    let due = |found: &Compactable| -> Result<Result<Due, Pass>, StoreError> {
        if !found.lives {
            return Ok(Err(Pass::Nothing));
        }
        if found.running {
            return Ok(Err(Pass::UnderWay));
        }
        let ratio = found.estimate_ratio.unwrap_or(1.0);
        let prefix = prefix_tokens(engine, &found.channel, rows.preferences.as_deref(), ratio)?;
        let fill = fill(found, &own, along, prefix, room(&own_profile), ratio);
        let turns = match occasion {
            Occasion::Asked => plan::asked(&fill),
            Occasion::TurnEnded if !rested(engine, found) => None,
            Occasion::TurnEnded => plan::due(&fill, thresholds),
        };
        Ok(turns.ok_or(Pass::Nothing).map(|turns| Due {
            fill,
            turns,
            prefix,
            ratio,
        }))
    };
    // Most turns make nothing due. So the oldest turns are read only where something is.
    let mut oldest = 0;
    let (found, due) = loop {
        let found = engine
            .store
            .read(move |reader| reader.compactable(session, epoch, Reach { oldest, ..reach }))
            .await?;
        match due(&found)? {
            Err(pass) => return Ok(Err(pass)),
            Ok(due) if oldest > 0 => break (found, due),
            Ok(_) => oldest = MOST_TURNS,
        }
    };
    let Due {
        fill,
        turns,
        prefix,
        ratio,
    } = due;
    let name = settings.compaction_model.clone().unwrap_or(own);
    let (model, model_id) = match engine.models.limited(&name) {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(%session, %error, "not compacted: cannot ask its model");
            return Ok(Err(Pass::NotNow("its model is not configured")));
        }
    };
    let profile = engine.models.profile(&name);
    let (turns, lines) = fitting(&found, turns, room(&profile), ratio);
    let beyond = fill.uncovered.saturating_sub(fill.sent.len());
    let gone: u64 = fill
        .sent
        .iter()
        .take(turns.len().saturating_sub(beyond))
        .sum();
    let (channel, requesters) = (
        found.channel.clone(),
        turns
            .iter()
            .map(|turn| turn.requester.clone())
            .collect::<Vec<_>>(),
    );
    let let_in = engine
        .store
        .read_here(move |reader| reader.paired(&channel, &requesters))
        .await?;
    Ok(Ok(Work {
        engine,
        session,
        name,
        model,
        model_id,
        profile,
        version: found.summary.as_ref().map_or(0, |summary| summary.version),
        taint: taint(engine, &found, &turns, &let_in),
        turns: turns
            .iter()
            .map(|turn| turn.exchange.continuation_id)
            .collect(),
        lines,
        ratio,
        tokens_before: fill.upcoming(),
        tokens_left: prefix + fill.sent.iter().sum::<u64>() - gone,
        channel: found.channel,
    }))
}

/// How full a session is, and how many of its oldest turns go.
struct Due {
    fill: Fill,
    turns: usize,
    /// Estimated tokens of what is sent before the history.
    prefix: u64,
    /// Real input tokens per estimated one.
    ratio: f64,
}

fn prefix_tokens(
    engine: &Engine,
    channel: &str,
    preferences: Option<&str>,
    ratio: f64,
) -> Result<u64, StoreError> {
    let prefix = engine
        .prefix(channel)
        .map_err(|problem| StoreError::bug(problem.to_string()))?;
    let tokens = match preferences {
        Some(preferences) => prefix.with_preferences(preferences).tokens,
        None => prefix.tokens,
    };
    Ok(estimate::calibrated(tokens, ratio))
}

/// Which turns are sent along.
#[derive(Debug, Clone, Copy)]
struct HistoryRoom {
    least: usize,
    history: u64,
}

fn fill(
    found: &Compactable,
    model: &str,
    along: HistoryRoom,
    prefix: u64,
    room: u64,
    ratio: f64,
) -> Fill {
    let mut replay = Replay::of(model);
    // Opaque blocks are good from the newest on, as long as no other model answered after.
    let mut filled = 0_u64;
    let mut sent: Vec<u64> = found
        .newest
        .iter()
        .rev()
        .map(|turn| {
            let exchange: Exchange = fold::earlier(turn.clone());
            let messages = exchange::messages(&exchange, &mut replay).unwrap_or_default();
            estimate::calibrated(estimate::messages(&messages), ratio)
        })
        .enumerate()
        .take_while(|(n, size)| {
            filled += size;
            *n < along.least || filled <= along.history
        })
        .map(|(_, size)| size)
        .collect();
    sent.reverse();
    let summary = found.summary.as_ref().map_or(0, |summary| {
        estimate::calibrated(estimate::text(&summary.text), ratio)
    });
    Fill {
        uncovered: found.uncovered,
        sent,
        least: along.least,
        history: along.history,
        fixed: prefix + summary,
        room,
    }
}

/// As many of the oldest turns as the model that summarises has room for, at least one, and what it is shown.
fn fitting(found: &Compactable, turns: usize, room: u64, ratio: f64) -> (Vec<OldTurn>, String) {
    let size = |text: &str| estimate::calibrated(estimate::text(text) + 1, ratio);
    let mut lines = Vec::new();
    let mut left = room.saturating_sub(size(&prompt::system()));
    if let Some(summary) = &found.summary {
        let line = prompt::summary_line(summary);
        left = left.saturating_sub(size(&line));
        lines.push(line);
    }
    let mut taken = Vec::new();
    for turn in found.oldest.iter().take(turns) {
        let line = prompt::turn_line(taken.len() + 1, &turn.exchange);
        let tokens = size(&line);
        if tokens > left && !taken.is_empty() {
            break;
        }
        left = left.saturating_sub(tokens);
        lines.push(line);
        taken.push(turn.clone());
    }
    (taken, lines.join("\n"))
}

/// Untrusted content that the model is shown.
fn taint(
    engine: &Engine,
    found: &Compactable,
    turns: &[OldTurn],
    let_in: &[String],
) -> Vec<String> {
    let mut taint = found
        .summary
        .as_ref()
        .map_or_else(Vec::new, |summary| summary.taint.clone());
    let settings = engine.settings.channels.get(&found.channel);
    for turn in turns {
        if settings.is_some_and(|channel| {
            people::is_untrusted(&engine.settings, channel, let_in, &turn.requester)
        }) {
            taint.push(people::taint_of(&turn.requester));
        }
        for call in &turn.exchange.calls {
            taint.extend(call.taint.iter().cloned());
        }
    }
    taint.sort_unstable();
    taint.dedup();
    taint
}

/// Whether what a command was about had changed meanwhile.
fn is_overtaken(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Conflict { .. } | StoreError::Rejected { .. } | StoreError::NotFound { .. }
    )
}

/// How an asking ended, with what it used.
struct ModelOutcome {
    how: How,
    usage: Usage,
}

enum How {
    Answered(Box<ModelAnswer>),
    Failed(String),
}

impl Work<'_> {
    async fn place(&self) -> CallPermit {
        let lane = Lane::of(&self.channel, self.session.to_string());
        self.model.limiter().enter(lane).await
    }

    fn input_tokens(&self, text: &str) -> u64 {
        let raw = estimate::text(&prompt::system()) + estimate::text(text) + estimate::PER_MESSAGE;
        estimate::calibrated(raw, self.ratio)
    }

    fn max_output(&self) -> u32 {
        self.profile.max_output_tokens.min(MOST_OUTPUT)
    }

    /// The reservation of a call that sends this; none where there is no turn to cover.
    fn call(&self, text: &str) -> Option<CompactionCall> {
        let estimate = budget::most(self.input_tokens(text), self.max_output());
        let day = Day::local(self.engine.clock.now()).0;
        Some(CompactionCall {
            model: self.name.clone(),
            newest: *self.turns.last()?,
            estimated_tokens: estimate.input_tokens + estimate.output_tokens,
            estimated_cost_usd: self.engine.models.cost(&self.name, &estimate),
            limits: budget::shared_limits(&self.engine.settings, &self.channel, day),
        })
    }

    /// Asks until there is an answer that can be used, twice at most, and commits it.
    async fn carry_out(
        &self,
        id: CompactionId,
        mut attempt: ModelAttemptId,
        mut place: CallPermit,
    ) -> Result<Compaction, StoreError> {
        let mut text = self.lines.clone();
        let mut asked_again = false;
        loop {
            let said = self.ask(&text, place).await;
            let made = Some((attempt, said.usage));
            crash_point!("compact.post_model");
            let answer = match said.how {
                How::Answered(answer) => answer,
                How::Failed(error) => return self.fail(id, made, &error).await,
            };
            let wrong = match self.usable(&answer) {
                Ok(found) => return self.commit(id, attempt, said.usage, found).await,
                Err(wrong) => self.reason(&wrong),
            };
            if asked_again {
                let error = format!(
                    "two answers of {} could not be used; the second: {wrong}",
                    self.name
                );
                return self.fail(id, made, &error).await;
            }
            asked_again = true;
            text = prompt::again(&self.lines, &wrong);
            place = tokio::select! {
                biased;
                why = stopped(self.engine) => return self.fail(id, made, why).await,
                place = self.place() => place,
            };
            let Some(call) = self.call(&text) else {
                return self.fail(id, made, "there is no turn").await;
            };
            let reserved = self
                .engine
                .persist(RetryCompaction {
                    id,
                    epoch: self.engine.store.epoch(),
                    attempt_id: attempt,
                    usage: said.usage,
                    error: wrong,
                    call,
                })
                .await;
            match reserved {
                // Something else ended it while the model was asked.
                Err(error) if is_overtaken(&error) => {
                    return self.fail(id, made, &error.to_string()).await;
                }
                Err(error) => return Err(error),
                Ok(Reservation::Granted(next)) => attempt = next,
                Ok(Reservation::Exhausted(stop)) => {
                    let why = budget::of_stop(&stop).text;
                    return self
                        .fail(id, None, &format!("not asked again: {why}"))
                        .await;
                }
            }
        }
    }

    /// Makes one call, and lets go of it when work has to stop.
    async fn ask(&self, text: &str, place: CallPermit) -> ModelOutcome {
        let request = ModelRequest {
            model: self.model_id.clone(),
            system: prompt::system(),
            messages: vec![ModelMessage::user(text)],
            tools: Vec::new(),
            max_output_tokens: self.max_output(),
            one_tool_per_step: false,
            profile: self.profile.clone(),
            parameters: self.profile.parameters.clone(),
            prompt_cache_key: None,
        };
        let mut stream = self.model.stream_in(place, request);
        let mut shown = String::new();
        let ended = tokio::select! {
            biased;
            why = stopped(self.engine) => Err(why),
            ended = async {
                loop {
                    match stream.next().await {
                        Some(Ok(ModelEvent::TextDelta(text))) => shown.push_str(&text),
                        Some(Ok(ModelEvent::Heartbeat)) => {}
                        Some(Ok(ModelEvent::Finished(answer))) => break Ok(answer),
                        Some(Err(error)) => break Err(error),
                        None => break Err(ModelError::unanswered()),
                    }
                }
            } => Ok(ended),
        };
        // What nobody reported is estimated where an answer had begun.
        let begun = Usage {
            input_tokens: self.input_tokens(text),
            output_tokens: estimate::text(&shown),
            ..Usage::default()
        };
        let (how, usage) = match ended {
            Ok(Ok(answer)) => {
                let usage = answer.usage;
                (How::Answered(answer), usage)
            }
            Ok(Err(error)) => {
                let usage = match error.usage {
                    Some(count) => Usage::from(count),
                    None if shown.is_empty() => Usage::default(),
                    None => begun,
                };
                let message = format!("{} did not answer: {}", self.name, error.message);
                (How::Failed(message), usage)
            }
            Err(why) => (How::Failed(why.to_owned()), begun),
        };
        let usage = self.engine.models.priced(&self.name, usage);
        ModelOutcome { how, usage }
    }

    fn usable(&self, answer: &ModelAnswer) -> Result<Extraction, String> {
        match &answer.stop {
            StopReason::EndTurn | StopReason::Other(_) => prompt::read(&answer.text, &self.turns),
            StopReason::MaxTokens => Err("it was cut at the output limit".to_owned()),
            StopReason::Refusal | StopReason::RefusedFor(_) => Err("it declines".to_owned()),
            StopReason::ToolUse | StopReason::Paused => Err("it calls a tool".to_owned()),
        }
    }

    fn reason(&self, why: &str) -> String {
        let why = self.engine.redactor.redact(why);
        why.chars().take(REASON_CHARS).collect()
    }

    async fn commit(
        &self,
        id: CompactionId,
        attempt: ModelAttemptId,
        usage: Usage,
        mut found: Extraction,
    ) -> Result<Compaction, StoreError> {
        let redactor = &self.engine.redactor;
        let summary = redactor.redact(&found.summary).into_owned();
        for fact in &mut found.facts {
            fact.text = redactor.redact(&fact.text).into_owned();
        }
        // A mark can be longer than the secret it stands for: one fact too long is no reason to lose the others.
        let read = found.facts.len();
        found.facts.retain(|fact| fact.text.len() <= MAX_TEXT);
        let (empty, long) = (found.empty, read - found.facts.len());
        if empty + long > 0 {
            tracing::warn!(compaction = %id, empty, long, "left out facts that are empty or too long");
        }
        let of_summary = estimate::calibrated(estimate::text(&summary), self.ratio);
        let committed = self
            .engine
            .persist(CommitCompaction {
                id,
                epoch: self.engine.store.epoch(),
                attempt_id: attempt,
                usage,
                version: self.version,
                tokens_after: self.tokens_left + of_summary,
                summary,
                turns: self.turns.clone(),
                taint: self.taint.clone(),
                facts: found.facts,
            })
            .await;
        match committed {
            // The session ended, or a turn was removed, while the model was asked.
            Err(error) if is_overtaken(&error) => {
                self.fail(id, Some((attempt, usage)), &error.to_string())
                    .await
            }
            other => other,
        }
    }

    /// Ends one whose call may still be open, at what that may have cost.
    async fn give_up(&self, id: CompactionId, error: &str) -> Result<Compaction, StoreError> {
        if let Some(newest) = self.turns.last() {
            let reason = "the compaction was given up".to_owned();
            let open = SettleAbandonedCalls {
                continuation_id: *newest,
                reason,
            };
            self.engine.persist(open).await?;
        }
        self.fail(id, None, error).await
    }

    async fn fail(
        &self,
        id: CompactionId,
        call: Option<(ModelAttemptId, Usage)>,
        error: &str,
    ) -> Result<Compaction, StoreError> {
        self.engine
            .persist(FailCompaction {
                id,
                epoch: self.engine.store.epoch(),
                call,
                error: self.reason(error),
            })
            .await
    }
}
