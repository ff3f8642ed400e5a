//! Carries out what the machine wants: intent row, deed, outcome row, in that order.
//!
//! The driver decides nothing: what happens next is the machine's, what is allowed is the policy's, what is
//! true is the store's.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::engine::core::Engine;
use crate::engine::delivery::platform_conversation;
use crate::engine::hooks::turn as hooks;
use crate::engine::turn::after;
use crate::engine::turn::attachments;
use crate::engine::turn::chat_progress::ChatProgress;
use crate::engine::turn::effect::Effect;
use crate::engine::turn::ending;
use crate::engine::turn::error::TurnError;
use crate::engine::turn::evaluate;
use crate::engine::turn::finish;
use crate::engine::turn::fold;
use crate::engine::turn::input::{Call, Halt, Input};
use crate::engine::turn::machine::Turn;
use crate::engine::turn::model_call;
use crate::engine::turn::open_call;
use crate::engine::turn::policy_context::PolicyContext;
use crate::engine::turn::progress::{Driver, read_rows};
use crate::engine::turn::reply::{ModelReply, Outcome};
use crate::engine::turn::tool_run;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::store::commands::llm_result::LlmResult;
use crate::store::commands::park::{Park, ParkOutcome};
use crate::store::commands::release_turn::{Yield, YieldTo};
use crate::store::queries::turn::TurnRows;

/// How often a typing indicator is asked for: platforms show one for about five seconds.
const TYPING: Duration = Duration::from_millis(4_500);

/// Drives one claimed turn until it is over or must let go. However that ends, the turn is not left running.
pub async fn drive(
    engine: &Engine,
    session: SessionId,
    continuation: ContinuationId,
    halted: watch::Receiver<Option<Halt>>,
) {
    let driven = AssertUnwindSafe(carry_out(engine, session, continuation, halted)).catch_unwind();
    let ended = match driven.await {
        Ok(ended) => ended,
        // The payload of a panic is not shown: it could quote outside text or a secret.
        Err(_) => Err(TurnError::Bug("a panic; see the log".to_owned())),
    };
    ending::close(engine, continuation, ended).await;
}

async fn carry_out(
    engine: &Engine,
    session: SessionId,
    continuation: ContinuationId,
    mut halted: watch::Receiver<Option<Halt>>,
) -> Result<(), TurnError> {
    let rows = read_rows(engine, continuation).await?;
    if rows.session_id != session {
        let detail = format!("continuation {continuation} is not of session {session}");
        return Err(TurnError::Bug(detail));
    }
    let typing = keep_typing(engine, &rows);
    let progress = chat_progress(engine, &rows);
    let mut turn = fold::turn(&rows);
    // Whoever took it over between the claim and now has not told this turn.
    let place = (rows.channel.clone(), rows.conversation.clone());
    let taken_over = engine.sessions.is_taken_over(&place);
    let mut driver = Driver::new(engine, continuation, rows);
    if taken_over {
        return driver.let_go().await;
    }
    attachments::place(engine, &driver.rows).await;
    if let Some(progress) = progress {
        engine.open_calls.show_progress(continuation, progress);
    }
    tokio::select! {
        driven = driver.run(&mut turn, &mut halted) => driven,
        never = typing => match never {},
    }
}

/// What the chat of a turn sees of it, where the channel has a bridge.
fn chat_progress(engine: &Engine, rows: &TurnRows) -> Option<ChatProgress> {
    let settings = engine.settings.channels.get(&rows.channel)?;
    if !engine.delivers(&rows.channel, &rows.conversation) {
        return None;
    }
    let link = engine.delivery.link(&rows.channel);
    ChatProgress::of(rows, settings.reply_style, link)
}

/// Shows the asker that their turn is worked on for as long as it is, where the channel has a bridge.
fn keep_typing(
    engine: &Engine,
    rows: &TurnRows,
) -> impl Future<Output = std::convert::Infallible> + use<> {
    let link = engine
        .delivers(&rows.channel, &rows.conversation)
        .then(|| engine.delivery.link(&rows.channel));
    let conversation = platform_conversation(&rows.conversation).to_owned();
    async move {
        let Some(link) = link else {
            return std::future::pending().await;
        };
        loop {
            link.show_typing(&conversation);
            tokio::time::sleep(TYPING).await;
        }
    }
}

impl Driver<'_> {
    async fn run(
        &mut self,
        turn: &mut Turn,
        halted: &mut watch::Receiver<Option<Halt>>,
    ) -> Result<(), TurnError> {
        let mut effects: VecDeque<Effect> = turn.step(Input::Claimed).into();
        let mut tools = FuturesUnordered::new();
        let kill = CancellationToken::new();
        let engine = self.engine;
        loop {
            while let Some(effect) = effects.pop_front() {
                turn.step(Input::TimePassed {
                    active_ms: self.active_ms(),
                });
                let input = match effect {
                    Effect::CallModel => self.call_model(halted).await?,
                    Effect::RecordCalls => Some(self.record_calls(halted).await?),
                    Effect::StartTool(id) => {
                        self.active.pause();
                        tools.push(tool_run::start_and_run(
                            engine,
                            Arc::clone(&self.rows),
                            id,
                            kill.clone(),
                        ));
                        None
                    }
                    Effect::KillTools => {
                        kill.cancel();
                        None
                    }
                    Effect::Park => self.park().await?,
                    Effect::AskBudget(kind) => {
                        finish::ask_budget(self, kind).await?;
                        None
                    }
                    Effect::Finish => {
                        finish::finish(self).await?;
                        None
                    }
                    Effect::Fail { code, message } => {
                        finish::fail(self, code, message).await?;
                        None
                    }
                    Effect::Yield => {
                        self.let_go().await?;
                        None
                    }
                    Effect::Interrupt { reason, partial } => {
                        finish::interrupt(self, reason, partial).await?;
                        None
                    }
                };
                if let Some(input) = input {
                    effects.extend(turn.step(input));
                }
                if let Some(halt) = newly_halted(halted) {
                    effects.extend(turn.step(Input::Halted(halt)));
                }
            }
            if tools.is_empty() {
                return Ok(());
            }
            tokio::select! {
                Some(ended) = tools.next() => {
                    let ended: Result<Input, TurnError> = ended;
                    let input = ended?;
                    if tools.is_empty() {
                        self.active.resume();
                    }
                    effects.extend(turn.step(input));
                }
                changed = halted.changed() => {
                    if changed.is_ok() && let Some(halt) = *halted.borrow_and_update() {
                        effects.extend(turn.step(Input::Halted(halt)));
                    }
                }
            }
        }
    }

    async fn call_model(
        &mut self,
        halted: &mut watch::Receiver<Option<Halt>>,
    ) -> Result<Option<Input>, TurnError> {
        if !self.rows.steps.is_empty() || !self.rows.calls.is_empty() {
            self.refresh().await?;
        }
        if let Some(call) = &self.rows.options.call {
            let reply = ModelReply::direct(call, &self.rows.calls);
            let calls = reply.answer.tool_calls.len() as u32;
            self.reply = Some(reply);
            return Ok(Some(match calls {
                0 => Input::ModelSaid { tokens: 0 },
                calls => Input::ModelProposed { tokens: 0, calls },
            }));
        }
        let mut outcome = tokio::select! {
            biased;
            halt = until_halted(halted) => {
                // Dropping the call closes the connection; what it cost is estimated.
                return self.dropped(halt).await.map(Some);
            }
            outcome = model_call::call(self.engine, &self.rows) => outcome?,
        };
        if let Some(wait) = self.engine.open_calls.take_wait(self.continuation) {
            self.active.excuse(wait);
            if let Outcome::Answered(reply) = &mut outcome {
                reply.notes.extend(open_call::wait_note(&reply.model, wait));
            }
        }
        Ok(Some(match outcome {
            Outcome::Answered(reply) => {
                let tokens = reply.answer.usage.input_tokens
                    + reply.answer.usage.output_tokens
                    + reply.failed_tokens;
                let calls = reply.answer.tool_calls.len() as u32;
                let goes_on = calls > 0 || after::is_paused(&reply.answer);
                self.reply = Some(*reply);
                if goes_on {
                    Input::ModelProposed { tokens, calls }
                } else {
                    Input::ModelSaid { tokens }
                }
            }
            Outcome::Failed(failure) => Input::ModelFailed {
                code: failure.code,
                message: failure.message,
            },
            Outcome::Refused(stop) => {
                let budget = stop.budget;
                self.stop = Some(stop);
                Input::BudgetReached(budget)
            }
            Outcome::Interrupted { reason, partial } => Input::ModelInterrupted { reason, partial },
        }))
    }

    /// Counts a model call whose answer is not waited for, or not recorded.
    async fn dropped(&self, halt: Halt) -> Result<Input, TurnError> {
        tracing::debug!(continuation = %self.continuation, ?halt, "model call dropped");
        open_call::settle(self.engine, self.continuation, halt.as_str()).await;
        open_call::settle_abandoned_calls(self.engine, self.continuation).await?;
        Ok(Input::Halted(halt))
    }

    async fn record_calls(
        &mut self,
        halted: &mut watch::Receiver<Option<Halt>>,
    ) -> Result<Input, TurnError> {
        let mut reply = self
            .reply
            .take()
            .ok_or_else(|| TurnError::Bug("no answer to record".to_owned()))?;
        let proposed = std::mem::take(&mut reply.answer.tool_calls);
        let (proposed, hooked) = tokio::select! {
            // An answer whose hooks are done is recorded whatever happens; it was paid for.
            biased;
            hooked = hooks::before_tool_calls(self.engine, &self.rows, proposed) => hooked,
            halt = until_halted(halted) => return self.dropped(halt).await,
        };
        let policy_context = PolicyContext::read(self.engine, &self.rows).await?;
        let step = self.rows.steps.last().map_or(0, |step| step.n) + 1;
        let active_ms = self.take_active_ms();
        let calls = evaluate::evaluate_all(
            self.engine,
            &policy_context,
            &self.rows,
            step,
            &reply.answer.text,
            proposed,
        );
        let result = LlmResult {
            continuation_id: self.continuation,
            epoch: self.engine.store.epoch(),
            step: reply.into_step(self.engine, active_ms),
            calls,
        };
        if hooked.is_empty() {
            self.engine.persist(result).await?;
        } else {
            self.engine.persist((result, hooked)).await?;
        }
        self.engine.scheduler.deadlines_changed();
        self.refresh().await?;
        Ok(Input::CallsRecorded {
            calls: fold::open_calls(&self.rows),
        })
    }

    async fn park(&mut self) -> Result<Option<Input>, TurnError> {
        self.active.pause();
        self.refresh().await?;
        let notices = finish::waiting_notice(self).await?;
        let active_ms = self.take_active_ms();
        let parked = self
            .engine
            .persist(Park {
                continuation_id: self.continuation,
                epoch: self.engine.store.epoch(),
                active_ms,
                notices,
            })
            .await?;
        Ok(match parked {
            ParkOutcome::Waiting => None,
            ParkOutcome::NothingToWaitFor => {
                self.refresh().await?;
                let calls: Vec<Call> = fold::open_calls(&self.rows);
                self.active.resume();
                Some(Input::GatesDecided { calls })
            }
        })
    }

    async fn let_go(&mut self) -> Result<(), TurnError> {
        let active_ms = self.take_active_ms();
        let place = (self.rows.channel.clone(), self.rows.conversation.clone());
        let reason = if self.engine.is_held() {
            "emergency stop"
        } else if self.engine.sessions.is_taken_over(&place) {
            Halt::TakenOver.as_str()
        } else {
            "the process was stopped"
        };
        self.engine
            .persist(Yield {
                continuation_id: self.continuation,
                epoch: self.engine.store.epoch(),
                to: YieldTo::Pending,
                reason: reason.to_owned(),
                active_ms,
                partial: None,
            })
            .await?;
        Ok(())
    }
}

fn newly_halted(halted: &mut watch::Receiver<Option<Halt>>) -> Option<Halt> {
    if halted.has_changed().unwrap_or(false) {
        *halted.borrow_and_update()
    } else {
        None
    }
}

async fn until_halted(halted: &mut watch::Receiver<Option<Halt>>) -> Halt {
    loop {
        if let Some(halt) = *halted.borrow_and_update() {
            return halt;
        }
        if halted.changed().await.is_err() {
            // The engine is gone with its sender; nothing can halt this any more.
            std::future::pending::<()>().await;
        }
    }
}
