//! One request and its answer as JSON, bounded in time.
//!
//! A request is sent at most once, and its failure says whether the server may have got it.

use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientRequest, ErrorCode, RequestId,
    ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde_json::Value;
use tokio::sync::oneshot::error::RecvError;
use tokio_util::sync::CancellationToken;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The server certainly did nothing: it never got the request, or says that it refuses it.
    #[error("{0}")]
    NotDone(String),
    /// The server wants a login.
    #[error("{0}")]
    NeedsLogin(String),
    /// The server may have done anything.
    #[error("{0}")]
    Unknown(String),
}

/// A request without questions and progress: its result.
pub(super) async fn ask(
    peer: &Peer<RoleClient>,
    retired: &CancellationToken,
    request: ClientRequest,
    within: Duration,
) -> Result<Value, RequestError> {
    let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options());
    let handle = sent.await.map_err(|error| failed(retired, &error))?;
    let id = handle.id.clone();
    let mut answer = handle.rx;
    match tokio::time::timeout(within, &mut answer).await {
        Ok(answered) => self::answered(retired, answered).map(|result| json(&result)),
        Err(_) => {
            cancel(peer, id, "it took too long");
            Err(RequestError::Unknown(format!(
                "no answer within {} s",
                within.as_secs()
            )))
        }
    }
}

/// What came for a request.
pub(super) fn answered(
    retired: &CancellationToken,
    answered: Result<Result<ServerResult, ServiceError>, RecvError>,
) -> Result<ServerResult, RequestError> {
    match answered {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => Err(failed(retired, &error)),
        Err(_) => Err(closed()),
    }
}

/// A result as JSON.
pub(super) fn json(result: &ServerResult) -> Value {
    serde_json::to_value(result).unwrap_or_default()
}

/// Tells the server, in the background, that nobody waits for an answer any more.
pub(super) fn cancel(peer: &Peer<RoleClient>, id: RequestId, why: &str) {
    let notification = CancelledNotification::new(CancelledNotificationParam::new(
        Some(id),
        Some(why.to_owned()),
    ));
    let peer = peer.clone();
    tokio::spawn(async move {
        // A server that cannot be told has gone.
        let _ = peer.send_notification(notification.into()).await;
    });
}

pub(super) fn closed() -> RequestError {
    RequestError::Unknown("the server ended before it answered".to_owned())
}

/// What a failure means; `retired` fires where the session is gone.
pub(super) fn failed(retired: &CancellationToken, error: &ServiceError) -> RequestError {
    if let ServiceError::TransportSend(error) = error
        && is_expired(error.error.as_ref())
    {
        retired.cancel();
    }
    failure(error)
}

/// Whether the server does not know the session any more.
fn is_expired(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut at: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(cause) = at {
        let known = cause.downcast_ref::<StreamableHttpError<reqwest::Error>>();
        if matches!(known, Some(StreamableHttpError::SessionExpired)) {
            return true;
        }
        at = cause.source();
    }
    false
}

/// What a failure means.
fn failure(error: &ServiceError) -> RequestError {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return RequestError::NeedsLogin("the server wants a login".to_owned());
    }
    match error {
        ServiceError::McpError(data) => {
            let said = crate::mcp::client::visible(&data.message);
            let kept = &said[..said.floor_char_boundary(2048)];
            let text = format!("the server refuses ({}): {kept}", data.code.0);
            match data.code {
                ErrorCode::PARSE_ERROR
                | ErrorCode::INVALID_REQUEST
                | ErrorCode::METHOD_NOT_FOUND
                | ErrorCode::INVALID_PARAMS
                | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
                | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
                | ErrorCode::HEADER_MISMATCH => RequestError::NotDone(text),
                _ => RequestError::Unknown(text),
            }
        }
        ServiceError::TransportSend(error) => not_sent(error.error.as_ref()),
        ServiceError::TransportClosed => closed(),
        ServiceError::UnexpectedResponse => RequestError::Unknown(
            "the answer of the server is none that the protocol knows".to_owned(),
        ),
        other => RequestError::Unknown(other.to_string()),
    }
}

/// A request that could not be sent whole.
pub(super) fn not_sent(error: &(dyn std::error::Error + 'static)) -> RequestError {
    let mut at: Option<&(dyn std::error::Error + 'static)> = Some(error);
    let mut last = error.to_string();
    while let Some(cause) = at {
        if let Some(error) = cause.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            match error {
                StreamableHttpError::UnexpectedServerResponse(said)
                    if said.starts_with("HTTP 401") || said.starts_with("HTTP 403") =>
                {
                    return RequestError::NeedsLogin(format!("it wants a login ({})", &said[..8]));
                }
                StreamableHttpError::Client(error) => return broken(error),
                StreamableHttpError::Auth(error) => {
                    return RequestError::NotDone(format!("there is no token for it: {error}"));
                }
                StreamableHttpError::SessionExpired => {
                    let why =
                        "the server does not know the session any more; the next try connects anew";
                    return RequestError::NotDone(why.to_owned());
                }
                _ => {}
            }
        }
        if let Some(error) = cause.downcast_ref::<reqwest::Error>() {
            return broken(error);
        }
        last = cause.to_string();
        at = cause.source();
    }
    let kept = &last[..last.floor_char_boundary(500)];
    RequestError::Unknown(format!("the request was not sent whole: {kept}"))
}

/// A request over HTTP without an answer. Its address is not told: it may hold what is secret.
fn broken(error: &reqwest::Error) -> RequestError {
    let mut inner: &dyn std::error::Error = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    if error.is_connect() || error.is_builder() {
        return RequestError::NotDone(format!("the server cannot be reached: {inner}"));
    }
    if error.is_redirect() {
        return RequestError::NotDone(format!("the server redirects elsewhere: {inner}"));
    }
    RequestError::Unknown(format!("the connection broke off: {inner}"))
}
