//! What every handler works with, and how it asks the engine.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::api::auth::Door;
use crate::api::error::{Refusal, json};
use crate::api::request::Call;
use crate::client::console_client::ConsoleClient;
use crate::client::webhooks::Webhooks;
use crate::mcp::server::handler::HostEndpoint;
use crate::protocol::request::{self, Answer, Command, Outcome, Query};

/// What every handler works with.
pub struct Api {
    /// The engine.
    pub client: Arc<dyn ConsoleClient>,
    /// How callers are authenticated.
    pub door: Arc<Door>,
    /// Silence after which a stream gets a comment.
    pub ping: Duration,
    /// Answers hosts of the Model Context Protocol.
    pub mcp: HostEndpoint,
    /// Which channels take requests from outside.
    pub webhooks: Webhooks,
    /// Cancelled when the server stops; streams end then.
    pub shutdown: CancellationToken,
}

impl Api {
    /// Asks, and answers with the reply.
    pub async fn answer<R>(&self, request: R) -> Result<Response, Refusal>
    where
        R: request::Request<Wire = Query, Answer = Answer, Reply: Serialize>,
    {
        json(StatusCode::OK, &self.client.call(request).await?)
    }

    /// Carries out a command of the caller, and answers with its reply.
    pub async fn execute<R>(&self, call: &Call, command: R) -> Result<Response, Refusal>
    where
        R: request::Request<Wire = Command, Answer = Outcome, Reply: Serialize>,
    {
        let envelope = call.envelope(command)?;
        json(call.status, &self.client.execute(envelope).await?)
    }
}
