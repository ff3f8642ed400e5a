//! What the tools do. Nothing here outlives its call but what the engine has accepted.

use std::future::Future;
use std::sync::PoisonError;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use rmcp::service::RequestContext;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::mcp::server::own::{CHANNEL, Own};
use crate::mcp::server::principal::{Account, MAX_SESSIONS};
use crate::mcp::server::tools::{AwaitArguments, Keyed, Nothing, SessionTool};
use crate::mcp::server::views::{
    AcceptedView, CancelView, SessionList, SessionView, TurnStatus, TurnView,
};
use crate::mcp::server::wait::{LONGEST, Progress, USUAL, Until, wait};
use crate::protocol::command::Accepted;
use crate::protocol::enums::SessionState;
use crate::protocol::hex::hex;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{
    Ask, CallTool, CancelContinuation, Command, EndSession, GetSession, ListSessions, Outcome,
    Request, ResumeContinuation, SendMessage, StartSession,
};
use crate::protocol::session::{Continuation, Session};
use crate::protocol::snapshot::PageRequest;

/// Longest idempotency key, in bytes.
const KEY_LIMIT: usize = 255;
/// Hexadecimal digits of a key in the conversation of its session.
const KEY_DIGITS: usize = 32;
/// How long a host that knows tasks waits for a direct call before it gets one.
const TASK_AFTER: Duration = Duration::from_secs(2);

/// What a call gives.
pub enum Reply {
    /// A result.
    Result(CallToolResult),
    /// The task that has it later: this turn.
    Task(Box<Continuation>),
}

/// One call.
pub struct Caller<'a> {
    /// The engine as its principal sees it.
    pub own: &'a Own,
    /// What is counted of its principal.
    pub account: &'a Account,
    /// The request.
    pub context: &'a RequestContext<RoleServer>,
    /// Cancelled when the process stops: turns go on then.
    pub shutdown: &'a CancellationToken,
    /// Ends turns of callers that are gone.
    pub tracker: &'a TaskTracker,
}

fn ended(content: Vec<ContentBlock>, is_error: bool) -> CallToolResult {
    if is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    }
}

/// A result with its structure, and with it as text.
fn structured(value: &impl Serialize, text: Option<String>, is_error: bool) -> CallToolResult {
    let value = serde_json::to_value(value).unwrap_or_default();
    let text = text.unwrap_or_else(|| value.to_string());
    let content = vec![ContentBlock::text(text)];
    let mut result = ended(content, is_error);
    result.structured_content = Some(value);
    result
}

/// A result that is there at once.
fn reply(value: &impl Serialize) -> Reply {
    Reply::Result(structured(value, None, false))
}

/// A problem as the model of the caller reads it.
pub fn failed(problem: &Problem) -> CallToolResult {
    let mut text = format!("{}: {}", problem.title, problem.detail);
    if let Some(hint) = &problem.hint {
        text.push_str("\nnext step: ");
        text.push_str(hint);
    }
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// The result of a turn as it stands.
pub fn result_of(turn: &Continuation) -> CallToolResult {
    let view = TurnView::of(turn);
    let is_ended = view.answer.is_some() || view.is_error;
    if turn.is_direct_call() && is_ended {
        // The tool's own result: its schema says nothing of a structure.
        let content = vec![ContentBlock::text(view.text())];
        return ended(content, view.is_error);
    }
    let text = if is_ended {
        view.text()
    } else {
        format!("{} continuation_id: {}", view.text(), view.continuation_id)
    };
    structured(&view, Some(text), view.is_error)
}

/// The arguments of a tool as its request and what it takes beside that. Each field is one of the tool's schema.
fn arguments<R: DeserializeOwned, More: DeserializeOwned>(
    tool: SessionTool,
    given: Option<JsonObject>,
    fixed: &[(&str, Value)],
) -> Result<(R, More), Problem> {
    let mut given = given.unwrap_or_default();
    let schema = tool.input();
    let known = schema.get("properties").and_then(Value::as_object);
    for name in given.keys() {
        if known.is_none_or(|known| !known.contains_key(name)) {
            let names: Vec<&str> = known
                .into_iter()
                .flat_map(Map::keys)
                .map(String::as_str)
                .collect();
            return Err(Problem::invalid(format!(
                "`{}` has no argument `{}`; it takes {}",
                tool.name(),
                name.chars().take(64).collect::<String>(),
                names.join(", ")
            )));
        }
    }
    given.retain(|_, value| !value.is_null());
    for (name, value) in fixed {
        given.insert((*name).to_owned(), value.clone());
    }
    // The schema calls the field of `get_session` by its whole name.
    if tool == SessionTool::GetSession
        && let Some(id) = given.remove("session_id")
    {
        given.insert("id".to_owned(), id);
    }
    let given = Value::Object(given);
    let wrong = |error: serde_path_to_error::Error<serde_json::Error>| {
        Problem::invalid(format!("argument `{}`: {}", error.path(), error.inner()))
    };
    Ok((
        serde_path_to_error::deserialize(given.clone()).map_err(wrong)?,
        serde_path_to_error::deserialize(given).map_err(wrong)?,
    ))
}

fn checked(key: Option<String>) -> Result<Option<String>, Problem> {
    match key {
        Some(key) if key.is_empty() || key.len() > KEY_LIMIT => Err(Problem::invalid(format!(
            "`idempotency_key` must have 1 to {KEY_LIMIT} bytes"
        ))),
        key => Ok(key),
    }
}

/// A turn that a call has begun. Dropped, it ends the turn, unless it was disarmed: its caller went away.
struct BegunTurn {
    own: Own,
    tracker: TaskTracker,
    shutdown: CancellationToken,
    id: ContinuationId,
    is_armed: bool,
}

impl BegunTurn {
    /// The turn goes on by itself.
    fn disarm(&mut self) {
        self.is_armed = false;
    }
}

impl Drop for BegunTurn {
    fn drop(&mut self) {
        if !self.is_armed || self.shutdown.is_cancelled() {
            return;
        }
        let (own, continuation_id) = (self.own.clone(), self.id);
        self.tracker.spawn(async move {
            let cancel = CancelContinuation {
                continuation_id,
                reason: Some("the caller stopped waiting for the answer".to_owned()),
            };
            if let Err(problem) = own.execute(cancel, None).await {
                tracing::debug!(%problem, "cannot cancel the turn of a disconnected caller");
            }
        });
    }
}

/// The same with a structure in any case: the session tools promise one.
fn turn_result(turn: &Continuation) -> CallToolResult {
    let mut result = result_of(turn);
    result.structured_content = serde_json::to_value(TurnView::of(turn)).ok();
    result
}

impl Caller<'_> {
    /// Carries out a session tool.
    pub async fn session_tool(
        &self,
        tool: SessionTool,
        given: Option<JsonObject>,
    ) -> Result<Reply, Problem> {
        match tool {
            SessionTool::Ask => self.ask(given).await,
            SessionTool::AwaitContinuation => {
                let (asked, _): (AwaitArguments, Nothing) = arguments(tool, given, &[])?;
                let time = asked.timeout_ms.map_or(USUAL, Duration::from_millis);
                let turn = self.wait(asked.continuation_id, Until::End, time).await?;
                Ok(Reply::Result(turn_result(&turn)))
            }
            SessionTool::Cancel => {
                let (cancel, _): (CancelContinuation, Nothing) = arguments(tool, given, &[])?;
                self.cancel(cancel).await
            }
            SessionTool::EndSession => {
                let (end, _): (EndSession, Nothing) = arguments(tool, given, &[])?;
                let session = self.own.session(end.session_id).await?;
                let session = match session.state {
                    SessionState::Active => self.own.execute(end, None).await?,
                    SessionState::Ended | SessionState::Expired => session,
                };
                Ok(reply(&SessionView::of(&session)))
            }
            SessionTool::GetSession => {
                let (get, _): (GetSession, Nothing) = arguments(tool, given, &[])?;
                let session = self.own.session(get.id).await?;
                Ok(reply(&SessionView::of(&session)))
            }
            SessionTool::ListSessions => {
                let (list, _): (ListSessions, Nothing) = arguments(tool, given, &[])?;
                let page = self.own.sessions(list.state, "", list.page).await?;
                let list = SessionList {
                    sessions: page.items.iter().map(SessionView::of).collect(),
                    next_cursor: page.next_cursor,
                };
                Ok(reply(&list))
            }
            SessionTool::Resume => self.resume(given).await,
            SessionTool::SendMessage => {
                let (message, keyed): (SendMessage, Keyed) = arguments(tool, given, &[])?;
                self.own.session(message.session_id).await?;
                let key = checked(keyed.idempotency_key)?;
                let accepted = self.own.execute(message, key).await?;
                Ok(reply(&accepted_view(&accepted)))
            }
            SessionTool::StartSession => self.start(given).await,
        }
    }

    fn knows_tasks(&self) -> bool {
        self.context
            .client_capabilities()
            .is_some_and(|can| can.supports_tasks())
    }

    fn wait(
        &self,
        id: ContinuationId,
        until: Until,
        time: Duration,
    ) -> impl Future<Output = Result<Continuation, Problem>> + Send + '_ {
        wait(
            self.own,
            id,
            until,
            time,
            Progress::of(self.context),
            &self.context.ct,
        )
    }

    /// Submits what begins a turn. It is submitted to its end, so that a caller that goes away meanwhile leaves no turn
    /// behind that nobody knows of.
    async fn begin<C>(&self, command: C, key: Option<String>) -> Result<BegunTurn, Problem>
    where
        C: Request<Wire = Command, Answer = Outcome, Reply = Accepted> + 'static,
    {
        let (own, tracker) = (self.own.clone(), self.tracker.clone());
        let shutdown = self.shutdown.clone();
        let (answer, answered) = oneshot::channel();
        self.tracker.spawn(async move {
            let accepted = own.execute(command, key).await;
            let begun = accepted.map(|accepted| BegunTurn {
                own,
                tracker,
                shutdown,
                id: accepted.continuation_id,
                is_armed: true,
            });
            // Where nobody takes it, it is dropped, and the turn ends.
            drop(answer.send(begun));
        });
        answered
            .await
            .map_err(|_| Problem::internal("the request was lost".to_owned()))?
    }

    /// Waits for the end of a turn that this call has begun. It ends with the caller's interest in it.
    async fn wait_or_cancel(
        &self,
        mut begun: BegunTurn,
        until: Until,
        time: Duration,
    ) -> Result<Continuation, Problem> {
        let turn = self.wait(begun.id, until, time).await;
        if !self.context.ct.is_cancelled() {
            begun.disarm();
        }
        turn
    }

    async fn ask(&self, given: Option<JsonObject>) -> Result<Reply, Problem> {
        let conversation = self
            .own
            .conversation(&ContinuationId::generate().to_string());
        let fixed = [
            ("channel", Value::from(CHANNEL)),
            ("conversation", Value::from(conversation)),
        ];
        let (ask, keyed): (Ask, Keyed) = arguments(SessionTool::Ask, given, &fixed)?;
        let key = checked(keyed.idempotency_key)?;
        let mut begun = {
            let _opening = self.account.opening.lock().await;
            self.check_room().await?;
            self.begin(ask, key).await?
        };
        if self.knows_tasks() {
            begun.disarm();
            return Ok(Reply::Task(Box::new(self.own.turn(begun.id).await?)));
        }
        let turn = self.wait_or_cancel(begun, Until::End, LONGEST).await?;
        Ok(Reply::Result(turn_result(&turn)))
    }

    async fn resume(&self, given: Option<JsonObject>) -> Result<Reply, Problem> {
        let (resume, _): (ResumeContinuation, Nothing) =
            arguments(SessionTool::Resume, given, &[])?;
        let id = resume.continuation_id;
        let turn = self.own.turn(id).await?;
        if TurnStatus::of(turn.state) == TurnStatus::Interrupted {
            self.own.execute(resume, None).await?;
        }
        if self.knows_tasks() {
            return Ok(Reply::Task(Box::new(self.own.turn(id).await?)));
        }
        let turn = self.wait(id, Until::End, LONGEST).await?;
        Ok(Reply::Result(turn_result(&turn)))
    }

    async fn cancel(&self, cancel: CancelContinuation) -> Result<Reply, Problem> {
        let id = cancel.continuation_id;
        let turn = self.own.turn(id).await?;
        let (turn, already_final) = if turn.state.is_terminal() {
            (turn, true)
        } else {
            match self.own.execute(cancel, None).await {
                Ok(turn) => (turn, false),
                // It may have ended between the look and the cancellation.
                Err(problem) => match self.own.turn(id).await? {
                    turn if turn.state.is_terminal() => (turn, true),
                    _ => return Err(problem),
                },
            }
        };
        let view = CancelView {
            turn: TurnView::of(&turn),
            already_final,
        };
        Ok(reply(&view))
    }

    async fn start(&self, given: Option<JsonObject>) -> Result<Reply, Problem> {
        // Checked before the key names the conversation: it is a field beside the request.
        let (_, keyed): (Nothing, Keyed) =
            arguments(SessionTool::StartSession, given.clone(), &[])?;
        let key = match checked(keyed.idempotency_key)? {
            Some(key) => {
                let digest = hex(&Sha256::digest(key.as_bytes()));
                format!(
                    "key-{}",
                    digest.chars().take(KEY_DIGITS).collect::<String>()
                )
            }
            None => SessionId::generate().to_string(),
        };
        let fixed = [
            ("channel", Value::from(CHANNEL)),
            ("conversation", Value::from(self.own.conversation(&key))),
        ];
        let (start, _): (StartSession, Nothing) =
            arguments(SessionTool::StartSession, given, &fixed)?;
        let _opening = self.account.opening.lock().await;
        let before = self
            .own
            .sessions(None, &key, PageRequest::default())
            .await?;
        if let Some(session) = before.items.last() {
            if start.model != session.model
                || start.title.as_deref().map(str::trim) != session.title.as_deref()
            {
                return Err(Problem::new(
                    ProblemKind::Conflict,
                    "idempotency key reused",
                    "this idempotency key opened a session with another title or model",
                )
                .hint("use a new key for a new session"));
            }
            return Ok(reply(&SessionView::of(session)));
        }
        self.check_room().await?;
        let session: Session = self.own.execute(start, None).await?;
        Ok(reply(&SessionView::of(&session)))
    }

    /// Whether the principal may open another session.
    async fn check_room(&self) -> Result<(), Problem> {
        let page = PageRequest {
            limit: u32::try_from(MAX_SESSIONS).ok(),
            cursor: None,
        };
        let open = self
            .own
            .sessions(Some(SessionState::Active), "", page)
            .await?;
        if open.items.len() < MAX_SESSIONS {
            return Ok(());
        }
        Err(Problem::new(
            ProblemKind::TooMany,
            "too many sessions",
            format!("{MAX_SESSIONS} sessions are open already"),
        )
        .hint("end_session ends one; list_sessions tells which there are"))
    }

    /// Calls a tool of the engine without a model.
    pub async fn direct(&self, tool: &str, given: Option<JsonObject>) -> Result<Reply, Problem> {
        let call = |session_id| CallTool {
            session_id,
            tool: tool.to_owned(),
            arguments: given.clone().unwrap_or_default(),
        };
        let known = *self
            .account
            .direct_calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let begun = match known {
            Some(session) => self.begin(call(session), None).await,
            None => Err(Problem::not_found("session", "of direct calls")),
        };
        let begun = match begun {
            Err(problem)
                if matches!(
                    problem.kind,
                    ProblemKind::NotFound | ProblemKind::NotOffered
                ) =>
            {
                self.begin(call(self.direct_session().await?), None).await?
            }
            begun => begun?,
        };
        if self.knows_tasks() {
            let turn = self
                .wait_or_cancel(begun, Until::EndOrApproval, TASK_AFTER)
                .await?;
            return Ok(if turn.state.is_terminal() {
                Reply::Result(result_of(&turn))
            } else {
                Reply::Task(Box::new(turn))
            });
        }
        let turn = self.wait_or_cancel(begun, Until::End, LONGEST).await?;
        Ok(Reply::Result(result_of(&turn)))
    }

    /// The session of direct calls: one for all of a principal, so that what they have read stays with them.
    async fn direct_session(&self) -> Result<SessionId, Problem> {
        let start = StartSession {
            channel: Some(CHANNEL.to_owned()),
            conversation: Some(self.own.conversation("direct-calls")),
            title: Some("direct calls".to_owned()),
            model: None,
        };
        let session = self.own.execute(start, None).await?;
        *self
            .account
            .direct_calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(session.id);
        Ok(session.id)
    }
}

fn accepted_view(accepted: &Accepted) -> AcceptedView {
    AcceptedView {
        session_id: accepted.session_id,
        continuation_id: accepted.continuation_id,
        status: TurnStatus::of(accepted.state),
        repeated: accepted.repeated,
    }
}
