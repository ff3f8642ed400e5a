//! What comes from a server unasked: progress, questions, news of its lists, log lines.
//!
//! A question reaches only the call that it belongs to; where nobody can tell which that is, it is declined.

#![expect(
    deprecated,
    reason = "older servers send log lines and ask for directories; we keep the first and decline the second"
)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability,
    ErrorData, FormElicitationCapability, Implementation, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, RequestId,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

use crate::mcp::client::caller::Log;

/// Progress of one call that waits to be shown; more is dropped.
const PROGRESS: usize = 8;
/// How long a question may come before the call is known that it belongs to.
const EARLY: Duration = Duration::from_millis(50);

/// A question of a server, and where its answer goes.
pub(super) struct Question {
    pub(super) params: Value,
    pub(super) answer: oneshot::Sender<Value>,
}

/// What comes for a call while it runs.
pub(super) struct Arrivals {
    pub(super) progress: mpsc::Receiver<ProgressNotificationParam>,
    pub(super) questions: mpsc::Receiver<Question>,
}

struct Flight {
    token: ProgressToken,
    progress: mpsc::Sender<ProgressNotificationParam>,
    questions: mpsc::Sender<Question>,
}

/// The calls under way, and news of lists.
pub(super) struct Traffic {
    flights: Mutex<HashMap<RequestId, Flight>>,
    /// How often a list changed.
    news: watch::Sender<u64>,
    log: Log,
}

impl Traffic {
    pub(super) fn new(log: Log) -> Self {
        Self {
            flights: Mutex::default(),
            news: watch::Sender::new(0),
            log,
        }
    }

    /// Registers a call until the returned guard is dropped.
    pub(super) fn take_off(
        self: &Arc<Self>,
        id: RequestId,
        token: ProgressToken,
    ) -> (Arrivals, Landing) {
        let (progress, progress_end) = mpsc::channel(PROGRESS);
        let (questions, questions_end) = mpsc::channel(1);
        let flight = Flight {
            token,
            progress,
            questions,
        };
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        flights.insert(id.clone(), flight);
        let arrivals = Arrivals {
            progress: progress_end,
            questions: questions_end,
        };
        let traffic = Arc::clone(self);
        (arrivals, Landing { traffic, id })
    }

    pub(super) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    pub(super) fn list_changed(&self) {
        self.news.send_modify(|count| *count += 1);
    }

    /// The call that a question belongs to: the one that it names, else the only one.
    fn questioned(&self, origin: Option<&InboundStreamOrigin>) -> Option<mpsc::Sender<Question>> {
        let flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        let flight = match origin {
            Some(InboundStreamOrigin::OutboundRequest(id)) => flights.get(id),
            Some(InboundStreamOrigin::Unassociated) | None if flights.len() == 1 => {
                flights.values().next()
            }
            Some(InboundStreamOrigin::Unassociated) | None => None,
        };
        flight.map(|flight| flight.questions.clone())
    }
}

/// Ends the registration of a call.
pub(super) struct Landing {
    traffic: Arc<Traffic>,
    id: RequestId,
}

impl Drop for Landing {
    fn drop(&mut self) {
        let flights = &self.traffic.flights;
        let mut flights = flights.lock().unwrap_or_else(PoisonError::into_inner);
        flights.remove(&self.id);
    }
}

/// Our side of a connection.
pub(super) struct Handler {
    pub(super) traffic: Arc<Traffic>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        // Forms only: nobody opens an address for a server, and nobody samples or shows directories.
        capabilities.elicitation =
            Some(ElicitationCapability::new().with_form(FormElicitationCapability::default()));
        let us = Implementation::new("leverframe", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let declined = || serde_json::json!({"action": "decline"});
        let origin = context.extensions.get::<InboundStreamOrigin>();
        let mut to = self.traffic.questioned(origin);
        if to.is_none() {
            tokio::time::sleep(EARLY).await;
            to = self.traffic.questioned(origin);
        }
        let (answer, answered) = oneshot::channel();
        let question = Question {
            params: serde_json::to_value(params).unwrap_or_default(),
            answer,
        };
        let result = match to {
            Some(to) if to.send(question).await.is_ok() => {
                answered.await.unwrap_or_else(|_| declined())
            }
            Some(_) | None => {
                (self.traffic.log)("a question is declined: no call is known that it belongs to");
                declined()
            }
        };
        serde_json::from_value(result)
            .map_err(|_| ErrorData::internal_error("the answer cannot be written", None))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        Err(ErrorData::invalid_request("no directories are shown", None))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let flights = &self.traffic.flights;
        let flights = flights.lock().unwrap_or_else(PoisonError::into_inner);
        let flight = flights
            .values()
            .find(|one| one.token == params.progress_token);
        if let Some(flight) = flight {
            // What comes faster than it is shown is dropped.
            let _ = flight.progress.try_send(params);
        }
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let text = match &params.data {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        (self.traffic.log)(&text);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.traffic.list_changed();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.traffic.list_changed();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.traffic.list_changed();
    }
}
