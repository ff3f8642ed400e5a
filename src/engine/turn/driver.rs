//! Carries out what the machine wants: intent row, deed, outcome row, in that order.
//!
//! The driver decides nothing: what happens next is the machine's, what is allowed is the policy's, what is
//! true is the store's.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::engine::core::{Engine, lock};
use crate::engine::hooks::turn as hooks;
use crate::engine::turn::after;
use crate::engine::turn::effect::Effect;
use crate::engine::turn::ending::{self, TurnError};
use crate::engine::turn::finish;
use crate::engine::turn::fold;
use crate::engine::turn::input::{Call, Halt, Input};
use crate::engine::turn::judge::{self, Bench};
use crate::engine::turn::machine::Turn;
use crate::engine::turn::model_call;
use crate::engine::turn::open_call;
use crate::engine::turn::reply::{ModelReply, Outcome};
use crate::engine::turn::tool_run;
use crate::protocol::ids::{ContinuationId, SessionId};
#[cfg(feature = "test-hooks")]
use crate::store::commands::llm_result::AskLater;
use crate::store::commands::llm_result::LlmResult;
use crate::store::commands::park::{Park, Parked};
use crate::store::commands::reserve_model::BudgetStop;
use crate::store::commands::settle_open::SettleOpen;
use crate::store::commands::yield_turn::{Yield, YieldTo};
use crate::store::queries::turn::TurnRows;

/// A turn under way.
pub struct Driver<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// Which turn.
    pub continuation: ContinuationId,
    /// The rows as they were read at the last fold.
    pub rows: Arc<TurnRows>,
    /// Milliseconds of model and engine time used by earlier drivers of this turn.
    active_before: u64,
    /// Milliseconds of this driver that are stored already.
    stored_ms: u64,
    /// Model and engine time of this driver; stopped while tools run or a person is waited for.
    active: ActiveTime,
    /// The answer being recorded.
    reply: Option<ModelReply>,
    /// The budget that refused a call.
    stop: Option<BudgetStop>,
}

/// A stopwatch that can stand still.
struct ActiveTime {
    done_ms: u64,
    running_since: Option<Instant>,
}

impl ActiveTime {
    fn started() -> Self {
        Self {
            done_ms: 0,
            running_since: Some(Instant::now()),
        }
    }

    fn pause(&mut self) {
        self.done_ms = self.elapsed_ms();
        self.running_since = None;
    }

    fn resume(&mut self) {
        if self.running_since.is_none() {
            self.running_since = Some(Instant::now());
        }
    }

    /// Takes time off again that was no work of this turn.
    fn excuse(&mut self, time: Duration) {
        self.pause();
        self.done_ms = self.done_ms.saturating_sub(time.as_millis() as u64);
        self.resume();
    }

    fn elapsed_ms(&self) -> u64 {
        self.done_ms
            + self
                .running_since
                .map_or(0, |since| since.elapsed().as_millis() as u64)
    }
}

/// Drives one claimed turn until it is over or must let go. However that ends, the turn is not left running.
pub async fn drive(
    engine: &Engine,
    session: SessionId,
    continuation: ContinuationId,
    halted: watch::Receiver<Option<Halt>>,
) {
    let driven = AssertUnwindSafe(carry_out(engine, session, continuation, halted)).catch_unwind();
    let ended = match driven.await {
        Ok(ended) => ended.map_err(TurnError::from),
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
) -> anyhow::Result<()> {
    let rows = read_rows(engine, continuation).await?;
    anyhow::ensure!(
        rows.session_id == session,
        "continuation {continuation} is not of session {session}"
    );
    if engine.has_bridge(&rows.channel) {
        let _ = engine
            .typing
            .send((rows.channel.clone(), rows.conversation.clone()));
    }
    let mut turn = fold::turn(&rows);
    // Whoever took it over between the claim and now has not told this turn.
    let place = (rows.channel.clone(), rows.conversation.clone());
    let taken_over = lock(&engine.taken_over).contains(&place);
    let mut driver = Driver {
        engine,
        continuation,
        active_before: rows.used.active_ms,
        stored_ms: 0,
        rows: Arc::new(rows),
        active: ActiveTime::started(),
        reply: None,
        stop: None,
    };
    if taken_over {
        driver.let_go().await
    } else {
        driver.run(&mut turn, &mut halted).await
    }
}

/// Counts model calls that nobody listens to any more at what they may have cost.
pub async fn settle_open(engine: &Engine, continuation_id: ContinuationId) -> anyhow::Result<()> {
    engine
        .persist(SettleOpen {
            continuation_id,
            reason: "the call was given up".to_owned(),
        })
        .await?;
    Ok(())
}

async fn read_rows(engine: &Engine, continuation: ContinuationId) -> anyhow::Result<TurnRows> {
    engine
        .store
        .read_here(move |reader| reader.turn(continuation))
        .await
        .context("reading the turn")
}

impl Driver<'_> {
    async fn run(
        &mut self,
        turn: &mut Turn,
        halted: &mut watch::Receiver<Option<Halt>>,
    ) -> anyhow::Result<()> {
        let mut effects: VecDeque<Effect> = turn.step(Input::Claimed).into();
        let mut tools = FuturesUnordered::new();
        let kill = CancellationToken::new();
        let engine = self.engine;
        let patience = tool_run::tell_that_work_goes_on(engine, Arc::clone(&self.rows));
        tokio::pin!(patience);
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
                    let ended: anyhow::Result<Input> = ended;
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
                () = &mut patience => {}
            }
        }
    }

    /// Milliseconds of model and engine time this turn has used in all.
    pub fn active_ms(&self) -> u64 {
        self.active_before + self.active.elapsed_ms()
    }

    /// Milliseconds not stored yet; the caller stores them with its next row.
    pub fn take_active_ms(&mut self) -> u64 {
        let elapsed = self.active.elapsed_ms();
        let unstored = elapsed.saturating_sub(self.stored_ms);
        self.stored_ms = elapsed;
        unstored
    }

    /// Takes the answer that is being recorded.
    pub fn take_reply(&mut self) -> Option<ModelReply> {
        self.reply.take()
    }

    /// Takes the budget that refused a call.
    pub fn take_stop(&mut self) -> Option<BudgetStop> {
        self.stop.take()
    }

    /// Reads the rows again, after steps were added.
    pub async fn refresh(&mut self) -> anyhow::Result<()> {
        self.rows = Arc::new(read_rows(self.engine, self.continuation).await?);
        Ok(())
    }

    async fn call_model(
        &mut self,
        halted: &mut watch::Receiver<Option<Halt>>,
    ) -> anyhow::Result<Option<Input>> {
        if !self.rows.steps.is_empty() || !self.rows.calls.is_empty() {
            self.refresh().await?;
        }
        if self.engine.has_bridge(&self.rows.channel) {
            let _ = self
                .engine
                .typing
                .send((self.rows.channel.clone(), self.rows.conversation.clone()));
        }
        let mut outcome = tokio::select! {
            biased;
            halt = until_halted(halted) => {
                // Dropping the call closes the connection; what it cost is estimated.
                return self.dropped(halt).await.map(Some);
            }
            outcome = model_call::call(self.engine, &self.rows) => outcome?,
        };
        if let Some(wait) = open_call::take_wait(self.engine, self.continuation) {
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
    async fn dropped(&self, halt: Halt) -> anyhow::Result<Input> {
        tracing::debug!(continuation = %self.continuation, ?halt, "model call dropped");
        open_call::settle(self.engine, self.continuation, halt.as_str()).await;
        settle_open(self.engine, self.continuation).await?;
        Ok(Input::Halted(halt))
    }

    async fn record_calls(
        &mut self,
        halted: &mut watch::Receiver<Option<Halt>>,
    ) -> anyhow::Result<Input> {
        let mut reply = self.reply.take().context("no answer to record")?;
        let proposed = std::mem::take(&mut reply.answer.tool_calls);
        let (proposed, hooked) = tokio::select! {
            // An answer whose hooks are done is recorded whatever happens; it was paid for.
            biased;
            hooked = hooks::before_tool_calls(self.engine, &self.rows, proposed) => hooked,
            halt = until_halted(halted) => return self.dropped(halt).await,
        };
        let bench = Bench::read(self.engine, &self.rows).await?;
        let step = self.rows.steps.last().map_or(0, |step| step.n) + 1;
        let active_ms = self.take_active_ms();
        let calls = judge::judge_all(
            self.engine,
            &bench,
            &self.rows,
            step,
            &reply.answer.text,
            proposed,
        );
        #[cfg(feature = "test-hooks")]
        let torn = crate::mutant!("approval_before_ask").then(|| AskLater {
            continuation_id: self.continuation,
            calls: calls.clone(),
        });
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
        #[cfg(feature = "test-hooks")]
        if let Some(questions) = torn {
            self.engine.store.write(questions).await?;
        }
        self.engine.deadlines.notify_one();
        self.refresh().await?;
        Ok(Input::CallsRecorded {
            calls: fold::open_calls(&self.rows),
        })
    }

    async fn park(&mut self) -> anyhow::Result<Option<Input>> {
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
            Parked::Waiting => None,
            Parked::NothingToWaitFor => {
                self.refresh().await?;
                let calls: Vec<Call> = fold::open_calls(&self.rows);
                self.active.resume();
                Some(Input::GatesDecided { calls })
            }
        })
    }

    async fn let_go(&mut self) -> anyhow::Result<()> {
        let active_ms = self.take_active_ms();
        let place = (self.rows.channel.clone(), self.rows.conversation.clone());
        let reason = if self.engine.is_held() {
            "emergency stop"
        } else if lock(&self.engine.taken_over).contains(&place) {
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
