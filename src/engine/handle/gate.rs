//! The gate: an external agent asks about a call that it would make itself, waits for the answer, and reports.
//!
//! A call is allowed only where the turn of its question says that it started: policy, approval, digest and audit are those
//! of every call. Whatever is not understood, too late or not decided is denied.

use serde_json::{Map, Value};
use tokio::sync::broadcast::error::RecvError;

use crate::agents::{self, AgentCall, AgentReport, AgentTurn, GateEvent, TurnChange, Verdict};
use crate::clock::Timestamp;
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::{continuations, messages, rules, sessions};
use crate::engine::people;
use crate::protocol::approval::Requester;
use crate::protocol::command::Accepted;
use crate::protocol::enums::{
    ApprovalState, ContinuationState, ExternalAgent, GateVerdict, ReportOutcome, Risk, RuleMatcher,
    RuleScope, Surface, ToolCallState, VerdictKind,
};
use crate::protocol::gate::{ExternalCaller, GATE, GateAnswer, LONGEST_GATE_WAIT};
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId};
use crate::protocol::options::DirectCall;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::AskGate;
use crate::protocol::rule::{Rule, RulePatch};
use crate::protocol::session::{Continuation, ToolCall};
use crate::store::commands::ingest_turn::IngestTurn;
use crate::store::commands::record_call_report::{CloseUnreported, RecordCallReport};
use crate::store::input::{Origin, SessionChoice, TurnCache};
use crate::store::queries::gate::GateTurn;
use crate::tools::canonical;
use crate::tools::preview::one_line;

/// How old an answer may be that is given again to the same request.
const MAX_ANSWER_AGE_MS: u64 = 60_000;
/// Longest result of a report that is kept, in characters.
const MAX_RESULT: usize = 16 * 1024;

/// How long a call may be made once that nobody decided in time, in seconds.
const LATER_SECONDS: u64 = 15 * 60;

/// How long a question waits whose agent has ended meanwhile, in seconds: 30 days.
const DEFERRED_SECONDS: i64 = 30 * 24 * 3600;
/// What an agent is told that ends while a call waits, and asks about another one.
const ONE_AT_A_TIME: &str = "another call of this job waits for a person, and only one can. Make this call again after that one";

/// What an agent reads when nobody decided.
const UNDECIDED: &str = "nobody decided before the deadline";
/// What it reads when somebody did, and the call could not start any more.
const TOO_LATE: &str =
    "the decision came too late: the deadline passed before the call could start";
/// Why a question ends that nobody waits for.
const GONE: &str = "the agent stopped waiting for the answer";
/// Why a question ends whose call ran.
const ANSWERED_ELSEWHERE: &str = "answered elsewhere: the agent made the call";

/// One caller that waits. When the last one of a request goes away without an answer, the question ends, unless one comes
/// back in time.
struct GateCaller {
    engine: Engine,
    request: String,
    is_settled: bool,
}

impl GateCaller {
    fn new(engine: &Engine, request: &str) -> Self {
        engine.gate.add(request);
        Self {
            engine: engine.clone(),
            request: request.to_owned(),
            is_settled: false,
        }
    }
}

impl Drop for GateCaller {
    fn drop(&mut self) {
        self.engine.gate.remove(&self.request);
        if !self.is_settled && !self.engine.shutdown.is_cancelled() {
            let (engine, request) = (self.engine.clone(), self.request.clone());
            self.engine
                .spawn(async move { end_unless_back(&engine, &request).await });
        }
    }
}

/// What is sent back to the hook.
struct Reply {
    agent: ExternalAgent,
    call: AgentCall,
}

impl Reply {
    fn deny(&self, reason: impl Into<String>) -> GateAnswer {
        let reason = reason.into();
        GateAnswer {
            verdict: GateVerdict::Deny,
            body: agents::answer(
                self.agent,
                &self.call,
                &Verdict::Deny {
                    reason: reason.clone(),
                },
            ),
            reason: Some(reason),
        }
    }

    fn defer(&self) -> GateAnswer {
        GateAnswer {
            verdict: GateVerdict::Defer,
            reason: None,
            body: agents::answer(self.agent, &self.call, &Verdict::Defer),
        }
    }

    fn allow(&self, input: Option<Map<String, Value>>) -> GateAnswer {
        GateAnswer {
            verdict: GateVerdict::Allow,
            reason: None,
            body: agents::answer(self.agent, &self.call, &Verdict::Allow { input }),
        }
    }
}

fn noted() -> GateAnswer {
    GateAnswer {
        verdict: GateVerdict::Noted,
        reason: None,
        body: Value::Object(Map::new()),
    }
}

/// The key of a conversation on the channel `gate`.
fn conversation(agent: ExternalAgent, host: Option<&str>, session: &str) -> String {
    match host {
        Some(host) => format!("{agent}/{host}/{session}"),
        None => format!("{agent}/{session}"),
    }
}

/// Answers what a hook says.
pub async fn ask(engine: &Engine, caller: &Caller, ask: AskGate) -> Result<GateAnswer, Problem> {
    let event = agents::parse(ask.agent, &ask.hook)
        .map_err(|problem| Problem::invalid(problem.to_string()))?;
    if let Some(host) = &ask.host
        && (host.is_empty() || host.len() > 253 || host.contains('/'))
    {
        return Err(Problem::invalid(
            "`host` must be the name of a machine, 1 to 253 characters without `/`",
        ));
    }
    match event {
        GateEvent::Ask(call) => question(engine, caller, &ask, call).await,
        GateEvent::Report(report) => record(engine, &ask, report).await,
        GateEvent::Turn(turn) => follow(engine, caller, &ask, turn).await,
    }
}

async fn question(
    engine: &Engine,
    caller: &Caller,
    ask: &AskGate,
    call: AgentCall,
) -> Result<GateAnswer, Problem> {
    let reply = Reply {
        agent: ask.agent,
        call,
    };
    if engine.is_held() {
        return Ok(reply.deny("an emergency stop is in force in Leverframe: no call is allowed"));
    }
    if engine.sessions.draining().is_some() {
        return Err(stopping());
    }
    let conversation = conversation(ask.agent, ask.host.as_deref(), &reply.call.session);
    let request = match (&reply.call.call, &caller.key) {
        (Some(call), _) => format!("{conversation}/{call}"),
        (None, Some(key)) => format!("{conversation}/{key}"),
        (None, None) => {
            return Err(Problem::invalid(
                "the header `Idempotency-Key` is missing: this program gives its calls no ids",
            ));
        }
    };
    let wait = u64::from(ask.wait_seconds).clamp(1, LONGEST_GATE_WAIT);
    let waits_until = engine
        .clock
        .now()
        .plus_seconds(i64::try_from(wait).unwrap_or(i64::MAX));
    // The program of a job ends while a person is asked.
    let deferred = ask.host.is_none()
        && agents::knows_defer(ask.agent, reply.call.event)
        && engine.gate.is_run(&conversation);
    // From before the question is there, so that no answer finds nobody.
    let mut waiting = GateCaller::new(engine, &request);
    let mut external = external(engine, ask, &reply.call, request, waits_until);
    if deferred {
        external.deferred = true;
        external.waits_until = engine.clock.now().plus_seconds(DEFERRED_SECONDS);
    }
    let asked = Asked {
        conversation: &conversation,
        request: external.request.clone(),
        waits_until,
        deferred,
    };
    let turn = match turn(engine, caller, &conversation, &reply.call, external) {
        Ok(turn) => turn,
        Err(problem) => {
            waiting.is_settled = true;
            return Ok(reply.deny(problem.detail));
        }
    };
    let accepted = match messages::submit(engine, turn).await {
        Ok(accepted) => accepted,
        Err(problem) => {
            waiting.is_settled = true;
            return match problem.kind {
                ProblemKind::Conflict => {
                    Ok(reply.deny("the id of this call was used for another call before"))
                }
                ProblemKind::TooMany => Ok(reply.deny(problem.detail)),
                _ => Err(problem),
            };
        }
    };
    if deferred {
        // It may have waited for this caller.
        engine.wake(accepted.session_id);
    }
    let answered = answer(engine, &reply, &accepted, &asked).await?;
    waiting.is_settled = true;
    Ok(answered)
}

/// How a question is asked.
struct Asked<'a> {
    /// The key of its conversation.
    conversation: &'a str,
    /// Its own key.
    request: String,
    /// When its caller stops waiting.
    waits_until: Timestamp,
    /// Whether its caller can be told that the decision comes later.
    deferred: bool,
}

/// What a caller hears that may come back: the daemon that starts next knows its question.
fn stopping() -> Problem {
    Problem::unavailable("stopping", "the daemon stops; ask again under the same key")
}

fn external(
    engine: &Engine,
    ask: &AskGate,
    call: &AgentCall,
    request: String,
    waits_until: Timestamp,
) -> ExternalCaller {
    let clean = |text: &str| engine.redactor.redact(text).into_owned();
    let clean_some = |text: &Option<String>| text.as_deref().map(clean);
    ExternalCaller {
        agent: ask.agent,
        session: clean(&call.session),
        directory: clean(&call.directory),
        call: clean_some(&call.call),
        subagent: clean_some(&call.agent),
        mode: clean_some(&call.mode),
        own_question: clean_some(&call.own_question),
        host: clean_some(&ask.host),
        request,
        waits_until,
        deferred: false,
        redacted: is_redacted(engine, call),
    }
}

/// The arguments of a call as they are stored and shown: without secrets.
fn shown(engine: &Engine, input: &Map<String, Value>) -> Value {
    let mut arguments = Value::Object(input.clone());
    engine.redactor.redact_json(&mut arguments);
    arguments
}

/// Whether the program would run something other than what is stored, shown and judged.
fn is_redacted(engine: &Engine, call: &AgentCall) -> bool {
    shown(engine, &call.input) != Value::Object(call.input.clone())
        || engine.redactor.redact(&call.directory) != call.directory
}

fn turn(
    engine: &Engine,
    caller: &Caller,
    conversation: &str,
    call: &AgentCall,
    external: ExternalCaller,
) -> Result<IngestTurn, Problem> {
    let tool = external.agent.tool_name(&call.tool);
    if let Err(unknown) = engine.tools().lookup(&tool) {
        return Err(Problem::invalid(unknown.to_string()));
    }
    let asked = canonical::canonical_json(&Value::Object(call.input.clone()));
    let body = messages::body_digest(&["gate", &tool, &external.directory, &asked]);
    let arguments = shown(engine, &call.input);
    let text = format!("{tool} {}", one_line(&tool, &arguments));
    engine.channel(GATE)?;
    let requester = Requester {
        id: format!("{}:{}", external.agent, external.session),
        display: external.label(),
        person: None,
    };
    let directory = external.directory.rsplit('/').next().unwrap_or_default();
    let title = format!("{} · {directory}", external.agent.product());
    let origin = Origin {
        key: Some(external.request.clone()),
        requester,
        surface: Surface::Gate,
        ..messages::origin(caller, GATE, conversation, body)
    };
    let call = DirectCall {
        tool,
        arguments,
        external: Some(external),
    };
    let text = engine.redactor.redact(&text).into_owned();
    Ok(IngestTurn {
        role: "program".to_owned(),
        unlimited_queue: false,
        title: Some(engine.redactor.redact(&title).into_owned()),
        cache: TurnCache::APART,
        ..messages::turn_of_call(engine, origin, SessionChoice::Conversation, text, call)
    })
}

/// Waits for the end of a question's turn, and says what it comes to.
async fn answer(
    engine: &Engine,
    reply: &Reply,
    accepted: &Accepted,
    asked: &Asked<'_>,
) -> Result<GateAnswer, Problem> {
    let id = accepted.continuation_id;
    // From before the state is read, so that no end is missed.
    let mut events = engine.store.subscribe();
    let left = asked.waits_until.millis_since(engine.clock.now());
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_millis(left);
    loop {
        let turn = continuations::continuation(engine, id).await?;
        if turn.state.is_terminal() {
            engine.gate.forget(asked.conversation, id);
            let age = engine.clock.now().millis_since(turn.updated_at);
            if accepted.repeated && age > MAX_ANSWER_AGE_MS {
                return Ok(reply.deny("this call was answered before; ask again under a new id"));
            }
            return Ok(verdict(engine, reply, &turn));
        }
        if asked.deferred && turn.state == ContinuationState::AwaitingApproval {
            if !engine.gate.defer(asked.conversation, id, &asked.request) {
                end(engine, id, ONE_AT_A_TIME).await;
                return Ok(reply.deny(ONE_AT_A_TIME));
            }
            return Ok(reply.defer());
        }
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                () = tokio::time::sleep_until(deadline) => {
                    end(engine, id, GONE).await;
                    let turn = continuations::continuation(engine, id).await?;
                    let call = turn.tool_calls.first();
                    let is_decided = call.is_some_and(|call| call.decision.is_some());
                    return Ok(reply.deny(if is_decided { TOO_LATE } else { UNDECIDED }));
                }
                () = engine.shutdown.cancelled() => return Err(stopping()),
            };
            match event {
                Ok(event) => {
                    let state = event.body.continuation_state();
                    let is_news = |state: ContinuationState| {
                        state.is_terminal()
                            || asked.deferred && state == ContinuationState::AwaitingApproval
                    };
                    if event.continuation_id == Some(id) && state.is_some_and(is_news) {
                        break;
                    }
                }
                Err(RecvError::Lagged(_)) => break,
                Err(RecvError::Closed) => {
                    return Err(Problem::internal("there are no events any more"));
                }
            }
        }
    }
}

/// What the end of a question's turn comes to. Only a call that started is allowed: an answer in its place is none.
fn verdict(engine: &Engine, reply: &Reply, turn: &Continuation) -> GateAnswer {
    let Some(call) = turn.tool_calls.first() else {
        let why = turn.error.as_ref().map(|error| error.message.as_str());
        return reply.deny(why.unwrap_or("the call was not judged"));
    };
    if call.report.is_some() {
        return reply.deny("this call ran before; ask again under a new id");
    }
    if call.state == ToolCallState::Succeeded && call.started_at.is_some() {
        return allowed(engine, reply, call);
    }
    let why = turn.error.as_ref().map(|error| error.message.clone());
    let reason = match (call.state, &call.decision) {
        // An answer in place of the call, or a reason of a person, is what the agent reads.
        (_, Some(decision)) if decision.answer.is_some() => decision.answer.clone(),
        (ToolCallState::Expired, _) => Some(UNDECIDED.to_owned()),
        _ => call.result.clone().or(why),
    };
    reply.deny(reason.unwrap_or_else(|| format!("the call is {}", call.state)))
}

/// The allowance of a call: with what a person made of it, where somebody changed it.
fn allowed(engine: &Engine, reply: &Reply, call: &ToolCall) -> GateAnswer {
    if call.args == shown(engine, &reply.call.input) {
        return reply.allow(None);
    }
    let Value::Object(changed) = &call.args else {
        return reply.deny("the call was changed into something that is no call");
    };
    if is_redacted(engine, &reply.call) {
        return reply.deny("the call holds a secret, so nobody can change it; make another call");
    }
    if !agents::accepts_edits(reply.agent, reply.call.event) {
        return reply.deny(format!(
            "an operator wants this call in its place: {}",
            canonical::canonical_json(&call.args)
        ));
    }
    reply.allow(Some(changed.clone()))
}

/// Keeps what an agent says of a call after it, and ends the question where it waited still.
async fn record(
    engine: &Engine,
    ask: &AskGate,
    report: AgentReport,
) -> Result<GateAnswer, Problem> {
    let conversation = conversation(ask.agent, ask.host.as_deref(), &report.session);
    let session = session(engine, ask.agent, &conversation).await?;
    let tool = ask.agent.tool_name(&report.tool);
    let result = engine.redactor.redact(&report.result);
    let written = RecordCallReport {
        session_id: session,
        continuation_id: None,
        tool,
        outcome: if report.is_error {
            ReportOutcome::Failed
        } else {
            ReportOutcome::Succeeded
        },
        result: Some(result.chars().take(MAX_RESULT).collect()),
    };
    let turns = find_questions(
        engine,
        ask.agent,
        &conversation,
        session,
        &written.tool,
        &report,
    )
    .await?;
    if turns.is_empty() {
        engine.write(written.clone()).await?;
    }
    for turn in turns {
        let written = RecordCallReport {
            continuation_id: Some(turn.continuation_id),
            ..written.clone()
        };
        engine.write(written).await?;
        // Behind the report: whoever waits reads why.
        if !turn.state.is_terminal() {
            end(engine, turn.continuation_id, ANSWERED_ELSEWHERE).await;
        }
    }
    Ok(noted())
}

/// The questions about a call that ended: the one before it, and the one that the agent asked for itself.
async fn find_questions(
    engine: &Engine,
    agent: ExternalAgent,
    conversation: &str,
    session: SessionId,
    tool: &str,
    report: &AgentReport,
) -> Result<Vec<GateTurn>, Problem> {
    let arguments = shown(engine, &report.input);
    let tool = tool.to_owned();
    let request = report
        .call
        .as_ref()
        .map(|call| format!("{conversation}/{call}"));
    let read = move |rows: &crate::store::reader::Reader<'_>| {
        let before = match request {
            Some(request) => rows.gate_turn(&request)?,
            None => None,
        };
        // Looks at many rows, and only these programs ask without an id.
        let own = match (&before, agent) {
            (Some(_), ExternalAgent::Claude | ExternalAgent::Gemini) => None,
            (None, _) | (Some(_), ExternalAgent::Codex) => {
                rows.unreported_gate_turn(session, &tool, &arguments)?
            }
        };
        Ok(before.into_iter().chain(own).collect())
    };
    engine.read(read).await
}

/// Follows what the agent does between its calls.
async fn follow(
    engine: &Engine,
    caller: &Caller,
    ask: &AskGate,
    turn: AgentTurn,
) -> Result<GateAnswer, Problem> {
    let conversation = conversation(ask.agent, ask.host.as_deref(), &turn.session);
    let session = session(engine, ask.agent, &conversation).await?;
    match turn.change {
        TurnChange::SessionStart | TurnChange::SubagentStop | TurnChange::Notice => {}
        // What ran before and is not reported by now never will be.
        TurnChange::Prompt | TurnChange::Stop => {
            let closed = CloseUnreported {
                session_id: session,
            };
            engine.write(closed).await?;
        }
        TurnChange::SessionEnd => {
            let closed = CloseUnreported {
                session_id: session,
            };
            engine.write(closed).await?;
            // The program of a job ends often before the job does.
            if !engine.gate.is_run(&conversation) {
                sessions::end(engine, caller, session).await?;
            }
        }
    }
    Ok(noted())
}

/// Lets an agent make a call once that nobody decided in time, if it asks again soon: a rule for exactly that call.
pub async fn allow_later(
    engine: &Engine,
    caller: &Caller,
    id: ApprovalId,
) -> Result<Rule, Problem> {
    let approval = engine.approval(id).await?;
    let is_over = matches!(
        approval.state,
        ApprovalState::Expired | ApprovalState::Revoked
    );
    let external = approval.plan.external.as_ref();
    let why = if external.is_none() {
        Some("it is of no external agent".to_owned())
    } else if external.is_some_and(|external| external.redacted) {
        Some("Leverframe hides a part of it as a secret, so no rule can name it".to_owned())
    } else if !is_over {
        Some(format!(
            "it is {}, so nothing came too late",
            approval.state
        ))
    } else if people::takes_two_people(&engine.settings, &approval) {
        Some("two people must allow each of these calls".to_owned())
    } else if approval.risk == Risk::Critical {
        Some("no rule allows a critical call".to_owned())
    } else {
        people::may_not_decide(&engine.settings, &approval, &caller.actor, caller.surface)
    };
    if let Some(why) = why {
        let detail = format!("{id} cannot be allowed later: {why}");
        return Err(Problem::not_offered("not offered", detail));
    }
    let rule = RulePatch {
        tool: Some(approval.tool.clone()),
        matcher: Some(RuleMatcher::Exact),
        value: Some(canonical::canonical_json(&approval.args)),
        field: Some(String::new()),
        scope: Some(RuleScope::Session),
        session_id: approval.session_id,
        verdict: Some(VerdictKind::Allow),
        expires_in_seconds: Some(LATER_SECONDS),
        max_uses: Some(1),
        note: Some(format!("decided after {id} was over")),
        ..RulePatch::default()
    };
    rules::add(engine, caller, rule).await
}

/// The session of an agent; opened where there is none.
async fn session(
    engine: &Engine,
    agent: ExternalAgent,
    conversation: &str,
) -> Result<SessionId, Problem> {
    let started = sessions::start(
        engine,
        Some(GATE.to_owned()),
        Some(conversation.to_owned()),
        Some(agent.product().to_owned()),
        None,
    );
    Ok(started.await?.id)
}

/// Ends a question that nobody waits for any more, unless somebody does in time.
async fn end_unless_back(engine: &Engine, request: &str) {
    tokio::select! {
        back = engine.gate.is_waited_for(request) => if back { return },
        () = engine.shutdown.cancelled() => return,
    }
    let key = request.to_owned();
    let turn = engine.store.read(move |rows| rows.gate_turn(&key)).await;
    match turn {
        Ok(Some(turn)) => end(engine, turn.continuation_id, GONE).await,
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "cannot withdraw an abandoned question"),
    }
}

/// Ends an open question as neither allowed nor denied.
async fn end(engine: &Engine, id: ContinuationId, why: &str) {
    match continuations::cancel(engine, &Caller::engine(), id, Some(why.to_owned())).await {
        Ok(_) => {}
        // It ended meanwhile.
        Err(problem) if problem.kind == ProblemKind::Conflict => {}
        Err(problem) => tracing::warn!(continuation = %id, %problem, "cannot close a question"),
    }
}

/// At the start: lets questions go on whose callers come back, and ends the others.
pub async fn recover(engine: &Engine) -> Result<(), Problem> {
    let open = engine.read(|rows| rows.open_gate_turns()).await?;
    for turn in open {
        if turn.state == ContinuationState::Interrupted {
            // Nothing of it is uncertain: an answer goes to the same request, or to nobody.
            continuations::resume(engine, &Caller::engine(), turn.continuation_id).await?;
        }
        if turn.deferred
            && engine
                .gate
                .defer(&turn.conversation, turn.continuation_id, &turn.request)
        {
            continue;
        }
        let waiting = engine.clone();
        engine.spawn(async move { end_unless_back(&waiting, &turn.request).await });
    }
    Ok(())
}
