//! A WebSocket to a platform: frames in, frames out, and exactly why it ended.
//!
//! Nothing here reconnects or retries, and no error, log line or `Debug` output made here holds a secret or an address.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::error::Error;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::USER_AGENT as USER_AGENT_HEADER;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use crate::channels::http::{USER_AGENT, is_loopback, with_causes};
use crate::config::secret::Secret;
use crate::text::untrusted::reveal_line;

/// Longest message of a platform.
const MAX_MESSAGE: usize = 16 * 1024 * 1024;
/// How long the end of a connection may take.
const CLOSING: Duration = Duration::from_secs(2);
/// How long a frame may take to leave: a peer that reads nothing for so long is gone.
const SENDING: Duration = Duration::from_secs(10);
/// Longest reason of a peer that is shown, in characters.
const MAX_REASON: usize = 200;

/// Why a connection was not made, or ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SocketError {
    /// No connection was made.
    #[error("no connection: {detail}")]
    NotConnected {
        /// Why.
        detail: String,
    },
    /// The peer answered the request for a connection with something else.
    #[error("the platform refused the connection with HTTP {status}")]
    Refused {
        /// HTTP status.
        status: u16,
    },
    /// The peer closed it.
    #[error("the platform closed the connection{}{}", code.map(|code| format!(" ({code})")).unwrap_or_default(),
        if reason.is_empty() { String::new() } else { format!(": {reason}") })]
    Closed {
        /// Its code; none = it gave none.
        code: Option<u16>,
        /// Its reason, control characters made visible.
        reason: String,
    },
    /// It broke off.
    #[error("the connection broke off: {detail}")]
    Lost {
        /// Why.
        detail: String,
    },
}

/// What came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketMessage {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
    /// The peer asks whether we are there; the answer leaves by itself.
    Ping,
    /// The answer to a ping of ours.
    Pong,
}

/// An open connection. Dropping it ends it without a word.
pub struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    secrets: Vec<Secret>,
}

impl Socket {
    /// Connects to `wss://…`, or to `ws://` of this machine. `secrets` are taken out of every text of an error.
    ///
    /// # Errors
    /// Why there is no connection.
    pub async fn connect(
        url: &str,
        secrets: Vec<Secret>,
        timeout: Duration,
    ) -> Result<Self, SocketError> {
        // Installed by the program at its start; a second attempt is refused, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let not_connected = |detail: String| SocketError::NotConnected { detail };
        if !url.starts_with("wss://") && !is_near(url) {
            return Err(not_connected(
                "only wss:// is used, or ws:// to this machine".to_owned(),
            ));
        }
        let mut request = url
            .into_client_request()
            .map_err(|_| not_connected("the platform gave no usable address".to_owned()))?;
        request
            .headers_mut()
            .insert(USER_AGENT_HEADER, HeaderValue::from_static(USER_AGENT));
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE));
        // Small frames that cannot wait: acknowledgements.
        let connecting = connect_async_with_config(request, Some(config), true);
        match tokio::time::timeout(timeout, connecting).await {
            Ok(Ok((stream, _))) => Ok(Self { stream, secrets }),
            Ok(Err(Error::Http(response))) => Err(SocketError::Refused {
                status: response.status().as_u16(),
            }),
            Ok(Err(error)) => Err(not_connected(scrub(&secrets, &describe(&error)))),
            Err(_) => Err(not_connected("timed out".to_owned())),
        }
    }

    /// The next message. Cancel-safe: no message is lost when this is dropped.
    ///
    /// # Errors
    /// Why none comes any more.
    pub async fn next(&mut self) -> Result<SocketMessage, SocketError> {
        loop {
            let message = match self.stream.next().await {
                Some(Ok(message)) => message,
                Some(Err(error)) => return Err(self.lost(&error)),
                None => {
                    return Err(SocketError::Lost {
                        detail: "it ended without a word".to_owned(),
                    });
                }
            };
            match message {
                Message::Text(text) => return Ok(SocketMessage::Text(text.to_string())),
                Message::Binary(bytes) => return Ok(SocketMessage::Binary(bytes.to_vec())),
                Message::Ping(_) => return Ok(SocketMessage::Ping),
                Message::Pong(_) => return Ok(SocketMessage::Pong),
                Message::Close(frame) => return Err(self.closed(frame)),
                // Never read in this mode.
                Message::Frame(_) => {}
            }
        }
    }

    /// Sends text.
    ///
    /// # Errors
    /// Why it did not leave.
    pub async fn send(&mut self, text: String) -> Result<(), SocketError> {
        self.put(Message::text(text)).await
    }

    /// Asks whether the peer is there; the answer is a [`SocketMessage::Pong`].
    ///
    /// # Errors
    /// Why it did not leave.
    pub async fn ping(&mut self) -> Result<(), SocketError> {
        self.put(Message::Ping(Bytes::new())).await
    }

    /// Ends the connection with a code, and waits a moment for the peer to agree.
    pub async fn close(mut self, code: u16) {
        let frame = CloseFrame {
            code: CloseCode::from(code),
            reason: "".into(),
        };
        let closing = async {
            if self.stream.close(Some(frame)).await.is_err() {
                return;
            }
            while let Some(Ok(_)) = self.stream.next().await {}
        };
        let _ = tokio::time::timeout(CLOSING, closing).await;
    }

    async fn put(&mut self, message: Message) -> Result<(), SocketError> {
        match tokio::time::timeout(SENDING, self.stream.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.lost(&error)),
            Err(_) => Err(SocketError::Lost {
                detail: "the platform reads nothing".to_owned(),
            }),
        }
    }

    fn closed(&self, frame: Option<CloseFrame>) -> SocketError {
        match frame {
            Some(frame) => SocketError::Closed {
                code: Some(frame.code.into()),
                reason: scrub(&self.secrets, &frame.reason)
                    .chars()
                    .take(MAX_REASON)
                    .collect(),
            },
            None => SocketError::Closed {
                code: None,
                reason: String::new(),
            },
        }
    }

    fn lost(&self, error: &Error) -> SocketError {
        SocketError::Lost {
            detail: scrub(&self.secrets, &describe(error)),
        }
    }
}

impl std::fmt::Debug for Socket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Socket").finish_non_exhaustive()
    }
}

fn describe(error: &Error) -> String {
    with_causes(error.to_string(), std::error::Error::source(error))
}

fn scrub(secrets: &[Secret], text: &str) -> String {
    let mut clean = reveal_line(text).into_owned();
    for secret in secrets
        .iter()
        .map(Secret::expose)
        .filter(|secret| !secret.is_empty())
    {
        clean = clean.replace(secret, "<token>");
    }
    clean
}

/// Whether an address is `ws://` of this machine.
fn is_near(url: &str) -> bool {
    url.strip_prefix("ws://")
        .is_some_and(|rest| is_loopback(&format!("http://{rest}")))
}
