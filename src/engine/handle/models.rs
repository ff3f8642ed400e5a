//! Asking a model to see what works. Not a turn of anybody, but counted like one: every call is reserved before it is
//! made, within the budgets of the day, and settled after it. Nothing is asked while work is held. Looking for model
//! servers asks no model.

use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use tokio::sync::broadcast::error::RecvError;

use crate::clock::Day;
use crate::config::environment::Environment;
use crate::engine::budget;
use crate::engine::caller::Caller;
use crate::engine::context::estimate;
use crate::engine::core::Engine;
use crate::engine::handle::messages;
use crate::model::check::{self, Account, CallReport, ReservedCall, TestError};
use crate::model::discovery;
use crate::model::request::ModelRequest;
use crate::protocol::citation::Citations;
use crate::protocol::enums::Surface;
use crate::protocol::event::EventBody;
use crate::protocol::ids::ContinuationId;
use crate::protocol::models::Discovery;
use crate::protocol::models::ModelTest;
use crate::protocol::problem::Problem;
use crate::protocol::session::{ErrorBody, Usage};
use crate::store::commands::fail_turn::FailTurn;
use crate::store::commands::finish_turn::FinishTurn;
use crate::store::commands::ingest_turn::IngestTurn;
use crate::store::commands::reserve_model::{Reservation, ReserveModel};
use crate::store::commands::settle_abandoned_calls::SettleAbandonedCalls;
use crate::store::commands::settle_model::SettleModel;
use crate::store::commands::start_model_test::{CONVERSATION, StartModelTest};
use crate::store::error::StoreError;
use crate::store::input::SessionChoice;

/// Tests a model, the default one where none is named.
pub async fn test(
    engine: &Engine,
    caller: &Caller,
    model: Option<String>,
) -> Result<ModelTest, Problem> {
    let mut held = engine.emergency.changes();
    if engine.is_held() {
        return Err(stopped());
    }
    if engine.sessions.draining().is_some() {
        return Err(Problem::unavailable(
            "about to end",
            "the process lets running work end and begins nothing new",
        )
        .hint("try again when it has started again"));
    }
    // The database stays open until this is gone.
    let _open = engine.tasks.token();
    let name = model.unwrap_or_else(|| engine.settings.model.clone());
    engine
        .models
        .get(&name)
        .map_err(|error| Problem::invalid(error.to_string()))?;
    tracing::info!(model = %name, by = %caller.actor.label(), "testing a model");
    let account = Turn::begin(engine, caller, &name).await?;
    let testing = check::test(&engine.models, &name, &engine.clock, &account);
    let tested = tokio::select! {
        tested = testing => tested.map_err(|error| match error {
            TestError::Lookup(error) => Problem::invalid(error.to_string()),
            TestError::Account(problem) => problem,
        }),
        _ = held.wait_for(Option::is_some) => Err(stopped()),
        () = engine.shutdown.cancelled() => Err(stopped()),
        () = account.cancelled() => Err(cancelled()),
    };
    account.end(tested).await
}

/// Looks for model servers on this machine.
pub async fn discover(engine: &Engine, caller: &Caller) -> Discovery {
    tracing::info!(by = %caller.actor.label(), "looking for model servers on this machine");
    let at = engine.clock.now();
    discovery::look(&engine.settings, &Environment::capture(), at).await
}

fn stopped() -> Problem {
    Problem::conflict("emergency stop", "an emergency stop blocks model calls")
        .hint("`leverframe release` resumes all work")
}

fn cancelled() -> Problem {
    Problem::conflict("cancelled", "somebody cancelled the test")
}

/// The channel that a test counts on.
fn channel(surface: Surface) -> &'static str {
    match surface {
        Surface::Http => "api",
        Surface::Console => "desk",
        Surface::Mcp => "mcp",
        Surface::Cli | Surface::Chat | Surface::Scripted | Surface::Engine | Surface::Gate => "cli",
    }
}

/// The turn that a test is counted as.
struct Turn<'a> {
    engine: &'a Engine,
    id: ContinuationId,
    channel: &'static str,
    model: &'a str,
    calls: AtomicU32,
}

impl<'a> Turn<'a> {
    async fn begin(engine: &'a Engine, caller: &Caller, model: &'a str) -> Result<Self, Problem> {
        let channel = channel(caller.surface);
        let text = format!("models test {model}");
        let body = messages::body_digest(&["test", &text]);
        let mut origin = messages::origin(caller, channel, CONVERSATION, body);
        // A test that is asked for again is made again.
        origin.key = None;
        let turn = IngestTurn {
            title: Some(format!("test of {model}")),
            model: Some(model.to_owned()),
            max_queue: 1,
            unlimited_queue: true,
            ..messages::turn(engine, origin, SessionChoice::Temporary, text)
        };
        let epoch = engine.store.epoch();
        let begin = StartModelTest { turn, epoch };
        Ok(Self {
            engine,
            id: engine.write(begin).await?,
            channel,
            model,
            calls: AtomicU32::new(0),
        })
    }

    /// Returns when somebody cancels the turn.
    async fn cancelled(&self) {
        let mut events = self.engine.store.subscribe();
        loop {
            match events.recv().await {
                Ok(event) => {
                    if event.continuation_id == Some(self.id)
                        && matches!(event.body, EventBody::ContinuationCancelled { .. })
                    {
                        return;
                    }
                }
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }

    /// Ends the turn as the test ended; a call that nobody listens to any more counts as it was reserved.
    async fn end(&self, tested: Result<ModelTest, Problem>) -> Result<ModelTest, Problem> {
        let engine = self.engine;
        let epoch = engine.store.epoch();
        let open = SettleAbandonedCalls {
            continuation_id: self.id,
            reason: "the test was ended".to_owned(),
        };
        let ended = match tested {
            Ok(mut test) => {
                for check in &mut test.checks {
                    check.detail = engine.redactor.redact(&check.detail).into_owned();
                }
                let text = summary(&test);
                let finish = FinishTurn {
                    continuation_id: self.id,
                    epoch,
                    model: None,
                    session_last_line: text.clone(),
                    text,
                    stop: "end_turn".to_owned(),
                    citations: Citations::default(),
                    parts: Vec::new(),
                };
                engine.store.write((open, finish)).await.map(|_| Ok(test))
            }
            Err(problem) => {
                let fail = FailTurn {
                    continuation_id: self.id,
                    epoch,
                    error: ErrorBody {
                        code: "test".to_owned(),
                        message: problem.to_string(),
                    },
                    model: None,
                    notices: Vec::new(),
                };
                let failed = match engine.store.write((open.clone(), fail)).await {
                    // Cancelled: it has ended, and what was open of it is still to be counted.
                    Err(StoreError::Conflict { .. }) => engine.store.write(open).await.map(drop),
                    other => other.map(drop),
                };
                failed.map(|()| Err(problem))
            }
        };
        match ended {
            Ok(tested) => tested,
            Err(StoreError::Conflict { .. }) => Err(cancelled()),
            Err(error) => Err(Problem::from(error)),
        }
    }
}

/// What the test showed, in a line.
fn summary(test: &ModelTest) -> String {
    let checks: Vec<String> = test
        .checks
        .iter()
        .map(|check| format!("{} {}", check.check, check.verdict.as_str()))
        .collect();
    format!("{}: {}", test.model, checks.join(", "))
}

#[async_trait]
impl Account for Turn<'_> {
    async fn reserve(&self, request: &ModelRequest) -> Result<ReservedCall, Problem> {
        let engine = self.engine;
        let tools: u64 = request
            .tools
            .iter()
            .map(|tool| {
                estimate::text(&tool.description)
                    + estimate::json(&tool.input_schema)
                    + estimate::PER_TOOL
            })
            .sum();
        let input_tokens =
            estimate::text(&request.system) + estimate::messages(&request.messages) + tools;
        let most = budget::most(input_tokens, request.max_output_tokens);
        let day = Day::local(engine.clock.now()).0;
        let reservation = engine
            .store
            .write(ReserveModel {
                continuation_id: self.id,
                epoch: engine.store.epoch(),
                step: 1,
                attempt: self.calls.fetch_add(1, Ordering::Relaxed) + 1,
                model: self.model.to_owned(),
                estimated_tokens: most.input_tokens + most.output_tokens,
                estimated_cost_usd: engine.models.cost(self.model, &most),
                limits: budget::shared_limits(&engine.settings, self.channel, day),
                estimated_input_tokens: None,
            })
            .await;
        match reservation {
            Ok(Reservation::Granted(attempt_id)) => Ok(ReservedCall {
                attempt_id,
                input_tokens,
            }),
            Ok(Reservation::Exhausted(stop)) => Err(Problem::conflict("budget used up",
                budget::refusal(&stop),
            )
            .hint(
                "a test asks for no more: `leverframe costs` shows how far the budgets are used up; raise the limit \
                 in the configuration, or wait for a new day where it is one of a day",
            )),
            Err(StoreError::Conflict { .. }) => Err(cancelled()),
            Err(error) => Err(Problem::from(error)),
        }
    }

    async fn settle(&self, reserved: ReservedCall, asked: &CallReport) -> Result<Usage, Problem> {
        let engine = self.engine;
        let begun = !asked.text.is_empty() || asked.signs > 0;
        let (usage, error) = match &asked.end {
            Ok(answer) => (answer.usage, None),
            Err(error) => {
                let usage = match error.usage {
                    Some(told) => Usage::from(told),
                    None if begun => Usage {
                        input_tokens: reserved.input_tokens,
                        output_tokens: estimate::text(&asked.text) + asked.signs,
                        ..Usage::default()
                    },
                    None => Usage::default(),
                };
                let message = engine.redactor.redact(&error.message).into_owned();
                (usage, Some(message))
            }
        };
        let usage = engine.models.priced(self.model, usage);
        let settle = SettleModel {
            attempt_id: reserved.attempt_id,
            usage,
            error,
            active_ms: 0,
        };
        match engine.store.write(settle).await {
            Ok(()) => Ok(usage),
            Err(StoreError::Conflict { .. }) => Err(cancelled()),
            Err(error) => Err(Problem::from(error)),
        }
    }
}
