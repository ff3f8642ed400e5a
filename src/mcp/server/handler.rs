//! The server as the SDK sees it: which tools there are, and to what each call goes.

use std::str::FromStr as _;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CreateTaskResult, ErrorData,
    GetTaskParams, GetTaskResult, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::client::console_client::ConsoleClient;
use crate::mcp::server::calls::{Caller, Reply, failed};
use crate::mcp::server::own::{CHANNEL, Own};
use crate::mcp::server::principal::{Accounts, MAX_CALLS, Principal};
use crate::mcp::server::tasks::{detailed, task};
use crate::mcp::server::tools::{SessionTool, direct, is_passed_on};
use crate::protocol::ids::ContinuationId;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{CancelContinuation, ListChannelTools};
use crate::protocol::session::Continuation;
use crate::protocol::tool::ToolDefinition;
use crate::protocol::trace_parent::TraceParent;

const INSTRUCTIONS: &str = "Agents and tools behind the policy of an operator. A call may wait for an operator's approval: \
that is normal. You cannot approve it, and calling again does not help. A long call returns a continuation_id \
for await_continuation.";

/// What the callers of one process have in common.
#[derive(Clone)]
pub struct HostEndpoint {
    client: Arc<dyn ConsoleClient>,
    accounts: Accounts,
    pub(super) shutdown: CancellationToken,
    pub(super) tracker: TaskTracker,
}

impl HostEndpoint {
    /// Over an engine, until the token is cancelled. Turns go on after that.
    pub fn new(client: Arc<dyn ConsoleClient>, shutdown: CancellationToken) -> Self {
        Self {
            client,
            accounts: Accounts::default(),
            shutdown,
            tracker: TaskTracker::new(),
        }
    }

    /// The server of one caller.
    pub fn of(&self, principal: Principal) -> Handler {
        Handler {
            server: self.clone(),
            own: Own {
                client: Arc::clone(&self.client),
                principal,
                trace: None,
            },
        }
    }
}

/// The server of one caller.
#[derive(Clone)]
pub struct Handler {
    pub(super) server: HostEndpoint,
    own: Own,
}

fn internal(problem: &Problem) -> ErrorData {
    ErrorData::internal_error(format!("{}: {}", problem.title, problem.detail), None)
}

/// The same for an id that is none, an unknown one, and one of somebody else.
fn no_such_task() -> ErrorData {
    ErrorData::invalid_params("there is no such task", None)
}

impl Handler {
    /// What it begins is a part of this trace.
    #[must_use]
    pub fn within(mut self, trace: Option<TraceParent>) -> Self {
        self.own.trace = trace;
        self
    }

    /// The tools of the engine that callers get.
    async fn direct_tools(&self) -> Result<Vec<ToolDefinition>, Problem> {
        let query = ListChannelTools {
            channel: CHANNEL.to_owned(),
        };
        let mut tools = self.own.client.call(query).await?.items;
        tools.retain(is_passed_on);
        Ok(tools)
    }

    async fn turn_of(&self, task_id: &str) -> Result<Continuation, ErrorData> {
        let id = ContinuationId::from_str(task_id).map_err(|_| no_such_task())?;
        match self.own.turn(id).await {
            Ok(turn) => Ok(turn),
            Err(problem) if problem.kind == ProblemKind::NotFound => Err(no_such_task()),
            Err(problem) => Err(internal(&problem)),
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tasks()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("leverframe", env!("CARGO_PKG_VERSION"))
                    .with_title("Leverframe"),
            )
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let passed_on = self.direct_tools().await.map_err(|why| internal(&why))?;
        let mut tools: Vec<Tool> = SessionTool::ALL.map(SessionTool::definition).into();
        tools.extend(passed_on.into_iter().map(direct));
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // Dropped last: whoever waits for the tracker waits for what follows from a call that is given up, too.
        let _under_way = self.server.tracker.token();
        // No answer of ours asks the caller for anything, so none of its answers means anything.
        if request.request_state.is_some() {
            return Err(ErrorData::invalid_params(
                "the request carries a state that this server has not given",
                None,
            ));
        }
        let account = self.server.accounts.of(&self.own.principal);
        let Ok(_permit) = account.calls.try_acquire() else {
            let problem = Problem::new(
                ProblemKind::TooMany,
                "too many calls",
                format!("{MAX_CALLS} calls are under way already"),
            );
            return Ok(failed(&problem.hint("wait until one of them ends")).into());
        };
        let caller = Caller {
            own: &self.own,
            account: &account,
            context: &context,
            shutdown: &self.server.shutdown,
            tracker: &self.server.tracker,
        };
        let reply = match SessionTool::named(&request.name) {
            Some(tool) => caller.session_tool(tool, request.arguments).await,
            None => {
                let known = self.direct_tools().await.map_err(|why| internal(&why))?;
                if !known.iter().any(|tool| tool.name == request.name) {
                    let name: String = request.name.chars().take(128).collect();
                    return Err(ErrorData::invalid_params(
                        format!("there is no tool `{name}`"),
                        None,
                    ));
                }
                caller.direct(&request.name, request.arguments).await
            }
        };
        Ok(match reply {
            Ok(Reply::Result(result)) => result.into(),
            Ok(Reply::Task(turn)) => CreateTaskResult::new(task(&turn)).into(),
            Err(problem) => failed(&problem).into(),
        })
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let turn = self.turn_of(&request.task_id).await?;
        Ok(GetTaskResult::new(detailed(&turn)))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Nothing was asked, so nothing is answered: what comes is dropped.
        self.turn_of(&request.task_id).await.map(drop)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let turn = self.turn_of(&request.task_id).await?;
        if turn.state.is_terminal() {
            return Ok(());
        }
        let cancel = CancelContinuation {
            continuation_id: turn.id,
            reason: None,
        };
        match self.own.execute(cancel, None).await {
            Ok(_) => Ok(()),
            Err(problem) => match self.turn_of(&request.task_id).await? {
                turn if turn.state.is_terminal() => Ok(()),
                _ => Err(internal(&problem)),
            },
        }
    }
}
