//! The server over streamable HTTP. No session of the protocol is kept: each request stands alone, in both eras.

use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;

use crate::mcp::server::handler::Handler;

/// Longest request body, in bytes.
pub const BODY_LIMIT: usize = 1024 * 1024;
/// How often a silent stream gets a comment.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Answers requests of one caller.
pub type HttpService = StreamableHttpService<Handler, NeverSessionManager>;

/// Answers requests of one caller. Whoever mounts it has looked at `Host`, `Origin` and the credential.
pub fn service(handler: Handler) -> HttpService {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(Some(KEEP_ALIVE))
        .with_max_request_body_bytes(BODY_LIMIT)
        .with_cancellation_token(handler.server.shutdown.clone())
        .disable_allowed_hosts();
    StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    )
}
