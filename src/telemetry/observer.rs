//! Follows the events of the engine, makes spans of them, and puts these into a queue with a bound.

use std::sync::Arc;

use futures_util::{FutureExt as _, StreamExt as _};
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::client::console_client::{ConsoleClient, EventStream};
use crate::protocol::event::{Event, EventFilter, StreamItem};
use crate::protocol::problem::Problem;
use crate::protocol::request::GetContinuation;
use crate::protocol::telemetry::{ExportOutcome, Signal};
use crate::telemetry::parents::Parents;
use crate::telemetry::report::TelemetryReport;
use crate::telemetry::spans::Spans;

/// The events of which spans are made.
const KINDS: &[&str] = &[
    "message.received",
    "continuation.started",
    "continuation.interrupted",
    "continuation.resumed",
    "continuation.completed",
    "continuation.failed",
    "continuation.cancelled",
    "continuation.expired",
    "model.started",
    "model.finished",
    "cache.hit",
    "tool.finished",
    "approval.decided",
    "approval.expired",
    "reply.queued",
    "reply.sent",
    "reply.failed",
    "reply.unknown",
];

/// Makes spans of events.
pub struct Observer {
    client: Arc<dyn ConsoleClient>,
    parents: Parents,
    spans: Spans,
    queue: mpsc::Sender<Span>,
    report: Arc<dyn TelemetryReport>,
}

impl Observer {
    /// Puts the spans into this queue.
    pub fn new(
        client: Arc<dyn ConsoleClient>,
        parents: Parents,
        spans: Spans,
        queue: mpsc::Sender<Span>,
        report: Arc<dyn TelemetryReport>,
    ) -> Self {
        Self {
            client,
            parents,
            spans,
            queue,
            report,
        }
    }

    /// The events from now on.
    ///
    /// # Errors
    /// What the engine answers.
    pub async fn subscribe(client: &dyn ConsoleClient) -> Result<EventStream, Problem> {
        let kinds = KINDS.iter().map(|kind| (*kind).to_owned()).collect();
        client
            .events(EventFilter {
                kinds,
                ..EventFilter::default()
            })
            .await
    }

    /// Follows the events until it is to stop. Takes those that are there then, too.
    pub async fn run(mut self, mut events: EventStream, stop: CancellationToken) {
        loop {
            let item = tokio::select! {
                () = stop.cancelled() => break,
                item = events.next() => item,
            };
            match item {
                Some(Ok(item)) => self.take(item).await,
                Some(Err(_)) | None => return,
            }
        }
        while let Some(Some(Ok(item))) = events.next().now_or_never() {
            self.take(item).await;
        }
    }

    async fn take(&mut self, item: StreamItem) {
        match item {
            StreamItem::Event(event) => self.see(&event).await,
            // What was between is not kept any more; its turns go on all the same.
            StreamItem::Reset => {}
        }
    }

    async fn see(&mut self, event: &Event) {
        if let Some(id) = self.spans.unknown_turn(event) {
            self.spans.join(id, self.parents.of(id).await);
        }
        if let Some(id) = self.spans.unknown_channel(event) {
            match self.client.call(GetContinuation { id }).await {
                Ok(turn) => self.spans.learn_channel(id, turn.channel),
                Err(error) => {
                    tracing::debug!(continuation = %id, %error, "a trace names no channel");
                }
            }
        }
        if let Some(span) = self.spans.fold(event)
            && self.queue.try_send(span).is_err()
        {
            self.report.count(Signal::Spans, ExportOutcome::Dropped, 1);
        }
    }
}
