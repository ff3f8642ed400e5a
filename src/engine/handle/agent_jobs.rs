//! Jobs of external agents: each run of the program is a turn with one call, and a run that ended while its call waits is
//! followed by another turn, which nobody takes up before there is a decision.
//!
//! Nothing of a job lives in memory alone: a turn is there for what has to happen next. No run is repeated by itself.

use tokio::sync::broadcast::error::RecvError;

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::{continuations, messages, sessions};
use crate::engine::reconcile;
use crate::protocol::agent_job::{AgentJob, AgentRun, RUN_AGENT};
use crate::protocol::approval::Requester;
use crate::protocol::budget::TurnLimits;
use crate::protocol::enums::{ContinuationState, ExternalAgent, ToolCallState};
use crate::protocol::gate::GATE;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::options::DirectCall;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::RunAgent;
use crate::store::commands::ingest_turn::IngestTurn;
use crate::store::error::StoreError;
use crate::store::input::{Origin, SessionChoice, TurnCache};
use crate::store::queries::turn::TurnRows;
use crate::store::queries::unknown::UnknownCall;
use crate::text::untrusted::limit_line;
use crate::tools::tool::AgentRunChange;

/// Longest time that a job may run, in milliseconds: its program has a limit of its own.
const MAX_ACTIVE_MS: u64 = 30 * 24 * 3600 * 1000;
/// Cells of a task in a title.
const TITLE: usize = 60;
/// Why a question ends whose program goes on without it.
const STARTED_AGAIN: &str = "the agent was started again and does not wait for this answer";

/// A UUID of random numbers (version 4).
fn uuid() -> Result<String, Problem> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Problem::internal(format!("no random numbers: {error}")))?;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = crate::protocol::hex::hex(&bytes);
    Ok(format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    ))
}

pub async fn start(engine: &Engine, caller: &Caller, job: RunAgent) -> Result<AgentJob, Problem> {
    let RunAgent {
        agent,
        directory,
        task,
    } = job;
    if agent != ExternalAgent::Claude {
        let detail = format!(
            "{} cannot end while a call waits; only `claude` can",
            agent.product()
        );
        return Err(Problem::invalid(format!("`agent`: {detail}")));
    }
    messages::check_text(&task)
        .map_err(|problem| Problem::invalid(problem.detail.replace("`text`", "`task`")))?;
    let wrong = |why: &str| Problem::invalid(format!("`directory`: {directory} {why}"));
    if !directory.starts_with('/') {
        return Err(wrong("is no absolute path"));
    }
    let real = std::path::Path::new(&directory).canonicalize();
    let real = real.ok().filter(|real| real.is_dir());
    let real = real.ok_or_else(|| wrong("is no directory on the machine of the daemon"))?;
    let Some(real) = real.to_str() else {
        return Err(wrong("is not UTF-8"));
    };
    let body = messages::body_digest(&["agent", agent.as_str(), real, &task]);
    let run = AgentRun {
        agent,
        session: uuid()?,
        directory: real.to_owned(),
        task: engine.redactor.redact(&task).into_owned(),
        after: None,
    };
    let origin = messages::origin(caller, GATE, &run.job(), body);
    let outcome = engine.write(turn(engine, origin, &run)?).await?;
    if let Some(session) = outcome.session_id {
        engine.sessions.add_agent(session);
    }
    let max_queue = engine.channel(GATE)?.max_queue;
    let accepted = messages::accepted(engine, &outcome, max_queue)?;
    job_of(engine, accepted.session_id).await
}

fn turn(engine: &Engine, origin: Origin, run: &AgentRun) -> Result<IngestTurn, Problem> {
    let arguments = serde_json::to_value(run)
        .map_err(|error| Problem::internal(format!("a run cannot be written: {error}")))?;
    let product = run.agent.product();
    let text = match &run.after {
        None => run.task.clone(),
        Some(_) => format!("{product} goes on after the decision about its call."),
    };
    engine.channel(GATE)?;
    let call = DirectCall {
        tool: RUN_AGENT.to_owned(),
        arguments,
        external: None,
    };
    let turn = messages::turn_of_call(engine, origin, SessionChoice::Conversation, text, call);
    Ok(IngestTurn {
        limits: TurnLimits {
            max_active_ms: MAX_ACTIVE_MS,
            ..turn.limits
        },
        unlimited_queue: true,
        title: Some(format!("{product} job · {}", limit_line(&run.task, TITLE))),
        cache: TurnCache::APART,
        ..turn
    })
}

pub async fn job_of(engine: &Engine, id: SessionId) -> Result<AgentJob, Problem> {
    engine.read(move |rows| rows.agent_job(id)).await
}

/// Ends a job, with its program and the question that it waits for.
pub async fn cancel(engine: &Engine, caller: &Caller, id: SessionId) -> Result<AgentJob, Problem> {
    let job = job_of(engine, id).await?;
    if job.state.is_over() {
        return Err(Problem::not_offered(
            "not possible now",
            format!("the job {id} is {}: it cannot go on", job.state),
        ));
    }
    let why = Some("the job was cancelled".to_owned());
    let open = engine.read(move |rows| rows.open_turns(id)).await?;
    for turn in open {
        engine.gate.let_go(turn);
        cancel_open(engine, caller, turn, why.clone()).await?;
    }
    let conversation = format!("{}/{}", job.agent, job.session);
    end_questions(engine, caller, &conversation, "the job was cancelled").await?;
    end_session(engine, &conversation).await?;
    job_of(engine, id).await
}

/// Cancels a turn, which may end by itself meanwhile.
async fn cancel_open(
    engine: &Engine,
    caller: &Caller,
    turn: ContinuationId,
    why: Option<String>,
) -> Result<(), Problem> {
    match continuations::cancel(engine, caller, turn, why).await {
        Ok(_) => Ok(()),
        Err(problem) if problem.kind == ProblemKind::NotOffered => Ok(()),
        Err(problem) => Err(problem),
    }
}

/// Ends what a program asked and does not wait for any more.
async fn end_questions(
    engine: &Engine,
    caller: &Caller,
    conversation: &str,
    why: &str,
) -> Result<(), Problem> {
    let key = conversation.to_owned();
    let open = engine
        .read(move |rows| rows.open_gate_turns_of(&key))
        .await?;
    for turn in open {
        engine.gate.forget(conversation, turn.continuation_id);
        let why = Some(why.to_owned());
        cancel_open(engine, caller, turn.continuation_id, why).await?;
    }
    Ok(())
}

/// Ends the session of the program, where it has one.
async fn end_session(engine: &Engine, conversation: &str) -> Result<(), Problem> {
    let key = conversation.to_owned();
    let found = engine
        .read(move |rows| rows.active_session(GATE, &key))
        .await?;
    if let Some(session) = found {
        sessions::end(engine, &Caller::engine(), session).await?;
    }
    Ok(())
}

/// Takes in what became of a run; else why it cannot go on, in words.
pub async fn run_changed(
    engine: &Engine,
    rows: &TurnRows,
    run: &AgentRun,
    change: AgentRunChange,
) -> Result<(), String> {
    let conversation = run.conversation();
    let changed = match change {
        AgentRunChange::Begins if rows.conversation != run.job() => {
            return Err("this is no job: `leverframe agents run` starts one".to_owned());
        }
        AgentRunChange::Begins => {
            engine.gate.begin_run(&conversation);
            return Ok(());
        }
        AgentRunChange::GoesOn => {
            end_questions(engine, &Caller::engine(), &conversation, STARTED_AGAIN).await
        }
        AgentRunChange::Deferred(call) => go_on_later(engine, rows, run, &call).await,
        AgentRunChange::Ended => {
            engine.gate.end_run(&conversation);
            // What it asked and did not defer, nobody waits for.
            let key = conversation.clone();
            let open = engine
                .store
                .read(move |rows| rows.open_gate_turns_of(&key))
                .await;
            match open {
                Ok(open)
                    if open.iter().any(|turn| {
                        engine.gate.is_deferred(&conversation, turn.continuation_id)
                    }) =>
                {
                    Ok(())
                }
                Ok(_) => end_session(engine, &conversation).await,
                Err(error) => Err(Problem::from(error)),
            }
        }
    };
    changed.map_err(|problem| problem.detail)
}

/// Writes down that the program runs again once there is a decision about a call.
async fn go_on_later(
    engine: &Engine,
    rows: &TurnRows,
    run: &AgentRun,
    call: &str,
) -> Result<(), Problem> {
    let request = format!("{}/{call}", run.conversation());
    let key = request.clone();
    let asked = engine.read(move |rows| rows.gate_turn(&key)).await?;
    if asked.is_none() {
        let product = run.agent.product();
        return Err(Problem::invalid(format!(
            "{product} deferred a call that did not ask here: another hook of its settings did that"
        )));
    }
    let next = AgentRun {
        after: Some(call.to_owned()),
        ..run.clone()
    };
    let caller = Caller {
        // One run is followed by one.
        key: Some(format!("after/{}", rows.id)),
        ..Caller::engine()
    };
    let body = messages::body_digest(&["agent", &rows.id.to_string(), call]);
    let origin = Origin {
        requester: Requester::clone(&rows.requester),
        // It goes on as what it began as, under the same policy.
        surface: rows.surface,
        ..messages::origin(&caller, GATE, &rows.conversation, body)
    };
    let outcome = engine.write(turn(engine, origin, &next)?).await?;
    let Some(turn) = outcome.continuation_id else {
        return Err(Problem::internal("a run was stored without a turn"));
    };
    crate::crash_point!("agent_run.deferred");
    engine.gate.hold(turn);
    follow(engine, request, turn, rows.session_id);
    Ok(())
}

/// Lets a turn go on once a question waits for nobody any more.
fn follow(engine: &Engine, request: String, turn: ContinuationId, session: SessionId) {
    let own = engine.clone();
    engine.spawn(async move {
        tokio::select! {
            done = decided(&own, &request) => if let Err(error) = done {
                tracing::warn!(%error, continuation = %turn, "cannot continue a job");
                return;
            },
            () = own.shutdown.cancelled() => return,
        }
        own.gate.let_go(turn);
        own.wake(session);
    });
}

/// Resolves once the question of this key is decided or over.
async fn decided(engine: &Engine, request: &str) -> Result<(), StoreError> {
    // From before the first look, so that nothing is missed behind it.
    let mut events = engine.store.subscribe();
    loop {
        let key = request.to_owned();
        let asked = engine.store.read(move |rows| rows.gate_turn(&key)).await?;
        let Some(asked) = asked.filter(|asked| asked.state == ContinuationState::AwaitingApproval)
        else {
            return Ok(());
        };
        loop {
            match events.recv().await {
                Ok(event)
                    if event.seq.is_some()
                        && event.continuation_id == Some(asked.continuation_id) =>
                {
                    break;
                }
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => break,
                Err(RecvError::Closed) => return Ok(()),
            }
        }
    }
}

/// What came of a run is known where another one follows it.
async fn settle(engine: &Engine, turn: ContinuationId) -> Result<(), Problem> {
    let rows = engine.turn_rows(turn).await?;
    let unknown = rows
        .calls
        .iter()
        .find(|row| row.call.state == ToolCallState::Indeterminate);
    let Some((row, approval_id)) = unknown.and_then(|row| Some((row, row.call.approval_id?)))
    else {
        return Ok(());
    };
    let call = UnknownCall {
        call_id: row.call.id,
        continuation_id: turn,
        approval_id,
        attempt: row.call.attempts,
    };
    let told = "its program had ended, and goes on after a decision".to_owned();
    reconcile::happened(engine, call, told).await
}

/// At the start: the runs that wait for a decision wait on.
pub async fn recover(engine: &Engine) -> Result<(), Problem> {
    let open = engine.read(|rows| rows.open_agent_runs()).await?;
    for (index, (turn, session, _)) in open.iter().enumerate() {
        let mut later = open.iter().skip(index + 1);
        if later.any(|(_, other, next)| other == session && next.after.is_some()) {
            settle(engine, *turn).await?;
        }
    }
    for (turn, session, run) in open {
        engine.sessions.add_agent(session);
        if let Some(call) = &run.after {
            engine.gate.hold(turn);
            follow(
                engine,
                format!("{}/{call}", run.conversation()),
                turn,
                session,
            );
        }
    }
    Ok(())
}
