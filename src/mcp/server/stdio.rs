//! The server over two streams of bytes: one message a line, and nothing else on the way out.

use std::time::Duration;

use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::mcp::server::handler::Handler;
use crate::mcp::server::http::BODY_LIMIT;

/// Time that turns of a host that went away get to be ended.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Serves until the input ends.
///
/// # Errors
/// When the host does not begin as the protocol says.
pub async fn serve<R, W>(handler: Handler, input: R, output: W) -> Result<(), String>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let tracker = handler.server.tracker.clone();
    // Of its own: the SDK cancels what it is given when the input ends, and that is no shutdown.
    let shutdown = handler.server.shutdown.child_token();
    let transport = AsyncRwTransport::new(input, output).with_max_line_length(BODY_LIMIT);
    let served = serve_server_with_ct(handler, transport, shutdown).await;
    let ended = match served {
        Ok(running) => running
            .waiting()
            .await
            .map(drop)
            .map_err(|error| error.to_string()),
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    };
    tracker.close();
    let _ = tokio::time::timeout(LAST_WORDS, tracker.wait()).await;
    ended
}
