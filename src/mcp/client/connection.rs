//! A connection to one server, in either era of the protocol.
//!
//! A call that ends here has told its server so, and nothing is sent twice.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, GetPromptRequest,
    GetPromptRequestParams, InputRequiredResult, ListPromptsRequest, ListResourcesRequest,
    ListToolsRequest, PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion,
    ReadResourceRequest, ReadResourceRequestParams, ServerPeerInfo, ServerResult,
    SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, PeerRequestOptions, RunningService,
    serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::config::mcp::McpAddress;
use crate::mcp::client::caller::Caller;
use crate::mcp::client::elicitation;
use crate::mcp::client::handler::{Handler, Traffic};
use crate::mcp::client::http;
use crate::mcp::client::lines::Lines;
use crate::mcp::client::login::{LoginClient, LoginTokens};
use crate::mcp::client::offer::{self, ToolList};
use crate::mcp::client::request::{self, RequestError};
use crate::mcp::client::result;
use crate::protocol::enums::McpEra;
use crate::protocol::mcp::{McpPrompt, McpResource};
use crate::text::redact::Redactor;

/// Takes a line for the log of a server: outside text, of any length.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// Longest time of a list, of all its pages together, and of one resource or prompt.
const LIST: Duration = Duration::from_secs(15);
/// Most pages of a list.
const MAX_PAGES: usize = 20;
/// Most entries of a list.
const MAX_ENTRIES: usize = 256;
/// Most rounds of questions in one call.
const MAX_ROUNDS: usize = 5;
/// Most questions of one round.
const MAX_QUESTIONS: usize = 4;
/// Most bytes of the state that a server lets us carry.
const MAX_STATE: usize = 64 * 1024;
/// Time between two pieces of progress that are shown.
const PIECES: Duration = Duration::from_millis(200);
/// Longest text of one piece of progress, in bytes.
const MAX_PROGRESS: usize = 300;

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The server wants a login.
    #[error("{0}")]
    NeedsLogin(String),
    /// Anything else; another try may succeed.
    #[error("{why}")]
    Failed {
        /// What went wrong.
        why: String,
        /// Whether the server turned out to be of the newer era, too late for this try.
        is_stateless: bool,
    },
}

/// How long a call may take.
#[derive(Debug, Clone, Copy)]
pub struct CallTimes {
    /// Longest time without progress.
    pub idle: Duration,
    /// Longest time at all.
    pub longest: Duration,
}

/// A connection. It ends when this is dropped.
pub struct Connection {
    peer: Peer<RoleClient>,
    info: Arc<ServerPeerInfo>,
    traffic: Arc<Traffic>,
    /// Ends the service of the SDK.
    service: CancellationToken,
    closed: CancellationToken,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}

impl Connection {
    /// A connection over the streams of a program, within a time. `is_stateless`: the server is known to be of the newer
    /// era.
    pub async fn over_streams(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        log: Log,
        is_stateless: bool,
        within: Duration,
    ) -> Result<Self, ConnectError> {
        let was_late = Arc::new(AtomicBool::new(false));
        let lines = Lines::new(reader, writer, Arc::clone(&log), Arc::clone(&was_late));
        let connected = Self::connect(lines, log, is_stateless, within).await;
        connected.map_err(|error| match error {
            ConnectError::Failed { why, .. } => ConnectError::Failed {
                why,
                is_stateless: was_late.load(Ordering::Acquire),
            },
            login @ ConnectError::NeedsLogin(_) => login,
        })
    }

    /// A connection over streamable HTTP, within a time.
    pub async fn over_http(
        address: &McpAddress,
        redactor: Redactor,
        clock: Clock,
        log: Log,
        within: Duration,
    ) -> Result<Self, ConnectError> {
        let failed = |why| ConnectError::Failed {
            why,
            is_stateless: false,
        };
        let (client, config) = http::client(address).await.map_err(failed)?;
        let Some(login) = &address.login else {
            let transport = StreamableHttpClientTransport::with_client(client, config);
            return Self::connect(transport, log, false, within).await;
        };
        let tokens = LoginTokens::new(address, login, redactor, clock)
            .map_err(|error| failed(error.to_string()))?;
        let client = LoginClient::new(client, tokens);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        Self::connect(transport, log, false, within).await
    }

    async fn connect<T, E, A>(
        transport: T,
        log: Log,
        is_stateless: bool,
        within: Duration,
    ) -> Result<Self, ConnectError>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let traffic = Arc::new(Traffic::new(log));
        let handler = Handler {
            traffic: Arc::clone(&traffic),
        };
        let preferred_versions = vec![ProtocolVersion::LATEST];
        let lifecycle = if is_stateless {
            ClientLifecycleMode::Discover { preferred_versions }
        } else {
            ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            }
        };
        let failed = |why| ConnectError::Failed {
            why,
            is_stateless: false,
        };
        let ends = CancellationToken::new();
        let serving =
            serve_client_with_lifecycle_and_ct(handler, transport, lifecycle, ends.clone());
        let service = match tokio::time::timeout(within, serving).await {
            Ok(Ok(service)) => service,
            Ok(Err(error)) => return Err(refusal(&error)),
            Err(_) => {
                return Err(failed(format!("no greeting within {} s", within.as_secs())));
            }
        };
        let peer = service.peer().clone();
        let Some(info) = peer.peer_info() else {
            return Err(failed("it does not say who it is".to_owned()));
        };
        let closed = CancellationToken::new();
        watch_end(service, closed.clone());
        let connection = Self {
            peer,
            info,
            traffic,
            service: ends,
            closed,
        };
        connection.listen();
        Ok(connection)
    }

    /// Asks a server of the newer era to tell when its lists change; an older one tells by itself.
    fn listen(&self) {
        let tools = self.info.capabilities.tools.as_ref();
        let tells = tools.is_some_and(|tools| tools.list_changed == Some(true));
        if self.era() != McpEra::Stateless || !tells {
            return;
        }
        let (peer, closed) = (self.peer.clone(), self.closed.clone());
        let traffic = Arc::clone(&self.traffic);
        tokio::spawn(async move {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let listening = async {
                if let Ok(mut subscription) = peer.listen(filter).await {
                    while let Ok(Some(_)) = subscription.next().await {
                        traffic.list_changed();
                    }
                }
            };
            // What is not told is seen at the next look at the list.
            tokio::select! {
                () = listening => {}
                () = closed.cancelled() => {}
            }
        });
    }

    /// Which generation of the protocol the server speaks.
    pub fn era(&self) -> McpEra {
        if self.info.protocol_version.has_initialize() {
            McpEra::Handshake
        } else {
            McpEra::Stateless
        }
    }

    /// The version of the protocol.
    pub fn protocol_version(&self) -> &str {
        self.info.protocol_version.as_str()
    }

    /// Name and version that the server gives itself.
    pub fn server(&self) -> (String, String) {
        let info = self.info.server_info.as_ref();
        info.map_or_else(Default::default, |info| {
            (info.name.clone(), info.version.clone())
        })
    }

    /// What the server tells models about its use.
    pub fn instructions(&self) -> Option<&str> {
        self.info.instructions.as_deref()
    }

    /// Whether it offers resources.
    pub fn has_resources(&self) -> bool {
        self.info.capabilities.resources.is_some()
    }

    /// Whether it offers prompts.
    pub fn has_prompts(&self) -> bool {
        self.info.capabilities.prompts.is_some()
    }

    /// Ends the connection. Calls under way end at once, with an unknown outcome.
    pub fn close(&self) {
        self.closed.cancel();
        self.service.cancel();
    }

    /// Fires when the connection ends.
    pub fn closed(&self) -> CancellationToken {
        self.closed.clone()
    }

    /// How often a list changed; changes with each change.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.traffic.news()
    }

    /// The tools, looked at.
    pub async fn tools(&self) -> Result<ToolList, RequestError> {
        if self.info.capabilities.tools.is_none() {
            return Ok(ToolList::default());
        }
        let (items, warnings) = self
            .pages("tools", |params| {
                ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params))
            })
            .await?;
        Ok(ToolList::new(items, warnings))
    }

    /// The resources.
    pub async fn resources(&self) -> Result<Vec<McpResource>, RequestError> {
        let (items, _) = self
            .pages("resources", |params| {
                ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(params))
            })
            .await?;
        Ok(items.iter().filter_map(offer::resource).collect())
    }

    /// The prompts.
    pub async fn prompts(&self) -> Result<Vec<McpPrompt>, RequestError> {
        let (items, _) = self
            .pages("prompts", |params| {
                ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(params))
            })
            .await?;
        Ok(items.iter().filter_map(offer::prompt).collect())
    }

    /// The text of a resource.
    pub async fn read_resource(&self, uri: &str) -> Result<String, RequestError> {
        let request = ReadResourceRequest::new(ReadResourceRequestParams::new(uri));
        let request = ClientRequest::ReadResourceRequest(request);
        let result = request::ask(&self.peer, request, LIST).await?;
        Ok(result::contents(&result))
    }

    /// The text of a prompt.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<String, RequestError> {
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = Some(arguments);
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        let result = request::ask(&self.peer, request, LIST).await?;
        Ok(result::messages(&result))
    }

    /// All entries of a list as they came, and what is odd about it.
    async fn pages(
        &self,
        key: &str,
        list: impl Fn(PaginatedRequestParams) -> ClientRequest,
    ) -> Result<(Vec<Value>, Vec<String>), RequestError> {
        let until = Instant::now() + LIST;
        let (mut items, mut warnings) = (Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        let mut cursor: Option<String> = None;
        for page in 1.. {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let left = until.saturating_duration_since(Instant::now());
            let mut result = request::ask(&self.peer, list(params), left).await?;
            match result.get_mut(key).map(Value::take) {
                Some(Value::Array(entries)) => items.extend(entries),
                Some(_) | None => {
                    return Err(RequestError::NotDone(format!("its list has no `{key}`")));
                }
            }
            if items.len() > MAX_ENTRIES {
                items.truncate(MAX_ENTRIES);
                warnings.push(format!(
                    "the list of {key} is longer than {MAX_ENTRIES}; the rest is left out"
                ));
                break;
            }
            cursor = result
                .get("nextCursor")
                .and_then(Value::as_str)
                .map(str::to_owned);
            let Some(next) = &cursor else { break };
            if !seen.insert(next.clone()) {
                warnings.push(format!("the list of {key} goes in a circle; it is cut"));
                break;
            }
            if page == MAX_PAGES {
                warnings.push(format!(
                    "the list of {key} has more than {MAX_PAGES} pages; the rest is left out"
                ));
                break;
            }
        }
        Ok((items, warnings))
    }

    /// Calls a tool: the result as it came.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        times: CallTimes,
        caller: &dyn Caller,
        cancel: &CancellationToken,
    ) -> Result<Value, RequestError> {
        if self.closed.is_cancelled() {
            return Err(RequestError::NotDone("the server has ended".to_owned()));
        }
        let until = Instant::now() + times.longest;
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = Some(arguments);
        let mut answered = BTreeSet::new();
        // What nobody answered, for whoever reads the result.
        let mut notes = Vec::new();
        for _ in 0..=MAX_ROUNDS {
            let request = CallToolRequest::new(params.clone());
            let round = Round {
                connection: self,
                times,
                until,
                caller,
                cancel,
            };
            let result = round.run(request, &mut notes).await?;
            let required = match result {
                ServerResult::InputRequiredResult(required) => required,
                ServerResult::CreateTaskResult(_) | ServerResult::GetTaskResult(_) => {
                    return Err(RequestError::Unknown(
                        "the server made a task of the call, which nobody asked for".to_owned(),
                    ));
                }
                other => return finished(&other, notes),
            };
            let asking = answers(&required, &mut answered, caller, &mut notes);
            let responses = tokio::select! {
                responses = asking => responses?,
                () = cancel.cancelled() => return Err(cancelled()),
                () = tokio::time::sleep_until(until) => return Err(too_long(times.longest)),
            };
            params.input_responses = Some(responses);
            // Echoed as it came, and never read.
            params.request_state = required.request_state;
        }
        Err(RequestError::Unknown(format!(
            "the server still asks after {MAX_ROUNDS} rounds of questions"
        )))
    }
}

/// Ends `closed` with the service. The service lives as long as this task.
fn watch_end(service: RunningService<RoleClient, Handler>, closed: CancellationToken) {
    tokio::spawn(async move {
        // How it ended does not matter: the connection is gone.
        let _ = service.waiting().await;
        closed.cancel();
    });
}

fn refusal(error: &ClientInitializeError) -> ConnectError {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return ConnectError::NeedsLogin("the server wants a login".to_owned());
    }
    let why = match error {
        ClientInitializeError::TransportError { error, .. } => {
            match request::not_sent(error.error.as_ref()) {
                RequestError::NeedsLogin(why) => return ConnectError::NeedsLogin(why),
                RequestError::NotDone(why) | RequestError::Unknown(why) => why,
            }
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => return refusal(fallback),
        ClientInitializeError::ConnectionClosed(_) => "it ended before it greeted".to_owned(),
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no version of the protocol that is spoken here".to_owned()
        }
        other => other.to_string(),
    };
    let kept = &why[..why.floor_char_boundary(500)];
    ConnectError::Failed {
        why: kept.to_owned(),
        is_stateless: false,
    }
}

/// The result of a call that is over, with what nobody answered.
fn finished(result: &ServerResult, notes: Vec<String>) -> Result<Value, RequestError> {
    let mut json = request::json(result);
    let is_result = json.get("content").is_some() || json.get("structuredContent").is_some();
    let is_empty = json
        .as_object()
        .is_some_and(|map| map.keys().all(|key| key == "_meta" || key == "resultType"));
    let kind = json.get("resultType").and_then(Value::as_str);
    if kind.is_some_and(|kind| kind != "complete") || !(is_result || is_empty) {
        return Err(RequestError::Unknown(
            "the answer of the server is no result of a call".to_owned(),
        ));
    }
    if !notes.is_empty() {
        let blocks = notes
            .into_iter()
            .map(|note| serde_json::json!({"type": "text", "text": format!("[{note}]")}));
        match json.get_mut("content").and_then(Value::as_array_mut) {
            Some(content) => content.extend(blocks),
            None => json["content"] = blocks.collect(),
        }
    }
    Ok(json)
}

/// A person's answers to the questions of one round.
async fn answers(
    required: &InputRequiredResult,
    answered: &mut BTreeSet<String>,
    caller: &dyn Caller,
    notes: &mut Vec<String>,
) -> Result<std::collections::BTreeMap<String, Value>, RequestError> {
    let state = required.request_state.as_deref().unwrap_or_default();
    if state.len() > MAX_STATE {
        return Err(RequestError::Unknown(format!(
            "the server wants {} bytes of state carried, and {MAX_STATE} are the most",
            state.len()
        )));
    }
    let questions = required.input_requests.iter().flatten();
    let mut responses = std::collections::BTreeMap::new();
    for (count, (key, question)) in questions.enumerate() {
        if count == MAX_QUESTIONS {
            return Err(RequestError::Unknown(format!(
                "the server asks more than {MAX_QUESTIONS} questions at once"
            )));
        }
        let json = serde_json::to_value(question).unwrap_or_default();
        if json.get("method") != Some(&Value::from("elicitation/create")) {
            return Err(RequestError::Unknown(
                "the server wants a model or directories of ours, and gets none".to_owned(),
            ));
        }
        if !answered.insert(key.clone()) {
            return Err(RequestError::Unknown(
                "the server asks a question again that was answered".to_owned(),
            ));
        }
        let answer = elicitation::answer(json.get("params").unwrap_or(&Value::Null), caller).await;
        notes.extend(answer.note);
        responses.insert(key.clone(), answer.result);
    }
    Ok(responses)
}

/// One request of a call and what comes while it runs.
struct Round<'a> {
    connection: &'a Connection,
    times: CallTimes,
    until: Instant,
    caller: &'a dyn Caller,
    cancel: &'a CancellationToken,
}

impl Round<'_> {
    async fn run(
        &self,
        request: CallToolRequest,
        notes: &mut Vec<String>,
    ) -> Result<ServerResult, RequestError> {
        let peer = &self.connection.peer;
        let request = ClientRequest::CallToolRequest(request);
        let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options());
        let handle = sent.await.map_err(|error| request::failure(&error))?;
        let (id, mut answer) = (handle.id.clone(), handle.rx);
        let traffic = &self.connection.traffic;
        let (mut arrivals, _landing) = traffic.take_off(id.clone(), handle.progress_token);
        let mut progress = Progress::default();
        let mut idle = Instant::now() + self.times.idle;
        let give_up = |why: RequestError, said: &str| {
            request::cancel(peer, id.clone(), said);
            Err(why)
        };
        loop {
            tokio::select! {
                biased;
                answered = &mut answer => return request::answered(answered),
                () = self.cancel.cancelled() => return give_up(cancelled(), "cancelled"),
                () = self.connection.closed.cancelled() => return Err(request::closed()),
                () = tokio::time::sleep_until(self.until) => {
                    return give_up(too_long(self.times.longest), "it took too long");
                }
                () = tokio::time::sleep_until(idle) => {
                    let seconds = self.times.idle.as_secs_f32();
                    let why = format!("no answer and no progress within {seconds} s");
                    return give_up(RequestError::Unknown(why), "it took too long");
                }
                Some(question) = arrivals.questions.recv() => {
                    let asking = elicitation::answer(&question.params, self.caller);
                    let said = tokio::select! {
                        said = asking => said,
                        answered = &mut answer => return request::answered(answered),
                        () = self.cancel.cancelled() => return give_up(cancelled(), "cancelled"),
                        () = self.connection.closed.cancelled() => return Err(request::closed()),
                        () = tokio::time::sleep_until(self.until) => {
                            return give_up(too_long(self.times.longest), "it took too long");
                        }
                    };
                    notes.extend(said.note);
                    // The server may have gone meanwhile.
                    let _ = question.answer.send(said.result);
                    idle = Instant::now() + self.times.idle;
                }
                Some(news) = arrivals.progress.recv() => {
                    if progress.take(&news, self.caller) {
                        idle = Instant::now() + self.times.idle;
                    }
                }
            }
        }
    }
}

/// The progress of a call.
#[derive(Default)]
struct Progress {
    highest: Option<f64>,
    shown: Option<Instant>,
}

impl Progress {
    /// Shows it where the last one was shown long enough ago. False = it is no progress.
    fn take(&mut self, news: &ProgressNotificationParam, caller: &dyn Caller) -> bool {
        if self.highest.is_some_and(|highest| news.progress <= highest) || news.progress.is_nan() {
            return false;
        }
        self.highest = Some(news.progress);
        if self.shown.is_none_or(|shown| shown.elapsed() >= PIECES) {
            self.shown = Some(Instant::now());
            let mut text = match news.total {
                Some(total) => format!("{} of {total}", news.progress),
                None => news.progress.to_string(),
            };
            if let Some(message) = &news.message {
                text = format!("{text}: {message}");
            }
            text.truncate(text.floor_char_boundary(MAX_PROGRESS));
            caller.progress(&format!("{text}\n"));
        }
        true
    }
}

fn cancelled() -> RequestError {
    RequestError::Unknown("cancelled before the answer came".to_owned())
}

fn too_long(longest: Duration) -> RequestError {
    RequestError::Unknown(format!(
        "no answer within {} s, the longest time of a call",
        longest.as_secs()
    ))
}
