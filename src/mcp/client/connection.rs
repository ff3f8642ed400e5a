//! A connection to one server, in either era of the protocol.
//!
//! No list of a server is longer than its bound, and nothing is sent twice.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, GetPromptRequest, GetPromptRequestParams, ListPromptsRequest,
    ListResourcesRequest, ListToolsRequest, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequest, ReadResourceRequestParams, ServerPeerInfo, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, RunningService,
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
use crate::mcp::client::caller::Log;
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

/// Longest time of a list, of all its pages together, and of one resource or prompt.
const LIST: Duration = Duration::from_secs(15);
/// Most pages of a list.
const MAX_PAGES: usize = 20;
/// Most entries of a list.
const MAX_ENTRIES: usize = 256;

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

impl ConnectError {
    /// A failure that says nothing of the era of the server.
    pub fn failed(why: impl Into<String>) -> Self {
        Self::Failed {
            why: why.into(),
            is_stateless: false,
        }
    }
}

/// A connection. It ends when this is dropped.
pub struct Connection {
    pub(super) peer: Peer<RoleClient>,
    info: Arc<ServerPeerInfo>,
    pub(super) traffic: Arc<Traffic>,
    /// Ends the service of the SDK.
    service: CancellationToken,
    closed: CancellationToken,
    /// Fires when no further request should use this.
    pub(super) retired: CancellationToken,
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
        let (client, config) = http::client(address).await.map_err(ConnectError::failed)?;
        let Some(login) = &address.login else {
            let transport = StreamableHttpClientTransport::with_client(client, config);
            return Self::connect(transport, log, false, within).await;
        };
        let tokens = LoginTokens::new(address, login, redactor, clock)
            .map_err(|error| ConnectError::failed(error.to_string()))?;
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
        let ends = CancellationToken::new();
        let serving =
            serve_client_with_lifecycle_and_ct(handler, transport, lifecycle, ends.clone());
        let service = match tokio::time::timeout(within, serving).await {
            Ok(Ok(service)) => service,
            Ok(Err(error)) => return Err(refusal(&error)),
            Err(_) => {
                let why = format!("no greeting within {} s", within.as_secs());
                return Err(ConnectError::failed(why));
            }
        };
        let peer = service.peer().clone();
        let Some(info) = peer.peer_info() else {
            return Err(ConnectError::failed("it does not say who it is"));
        };
        let closed = CancellationToken::new();
        watch_end(service, closed.clone());
        let connection = Self {
            peer,
            info,
            traffic,
            service: ends,
            closed,
            retired: CancellationToken::new(),
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

    /// Lets requests under way go on, and wants a new connection for others.
    pub fn retire(&self) {
        self.retired.cancel();
    }

    /// Fires when others should use a new connection.
    pub fn retired(&self) -> CancellationToken {
        self.retired.clone()
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
        let result = request::ask(&self.peer, &self.retired, request, LIST).await?;
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
        let result = request::ask(&self.peer, &self.retired, request, LIST).await?;
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
            let mut result = request::ask(&self.peer, &self.retired, list(params), left).await?;
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
    ConnectError::failed(&why[..why.floor_char_boundary(500)])
}
