//! The event stream (Server-Sent Events, WHATWG HTML § 9.2).
//!
//! Pull only: nothing is read from the engine's stream before the connection has taken what came before,
//! so a slow reader costs one chunk, and `listener` cuts one that has stopped reading.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body as HttpBody, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::StreamExt as _;
use futures_util::stream::{ReadyChunks, unfold};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::error::Refusal;
use crate::api::form::{parameter, shortened};
use crate::api::open_credentials::StreamCredential;
use crate::api::request::Call;
use crate::api::route::{AnswerShape, Method, Route, content, own};
use crate::api::state::Api;
use crate::client::console_client::EventStream;
use crate::clock::Timestamp;
use crate::protocol::event::{EventFilter, StreamItem};
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::problem::Problem;

/// Silence after which a stream gets a comment, so that both ends notice a dead connection.
pub const PING: Duration = Duration::from_secs(15);
/// How often the credentials of open streams are looked up again: a revoked one loses its streams within a second.
pub const TRUST: Duration = Duration::from_millis(800);
/// Events put into one write when they are ready together.
const BATCH: usize = 64;

/// Every kind of the contract (API.md), also the ones this version does not emit yet.
pub const KINDS: &[&str] = &[
    "session.started",
    "session.updated",
    "session.ended",
    "message.received",
    "call.reported",
    "continuation.queued",
    "continuation.waiting_for_files",
    "continuation.started",
    "continuation.streaming",
    "continuation.awaiting_approval",
    "continuation.interrupted",
    "continuation.resumed",
    "continuation.completed",
    "continuation.failed",
    "continuation.cancelled",
    "continuation.expired",
    "model.started",
    "model.waiting",
    "model.finished",
    "message.delta",
    "tool.proposed",
    "tool.started",
    "tool.output",
    "shell.output",
    "tool.finished",
    "approval.requested",
    "approval.decided",
    "approval.expired",
    "approval.assigned",
    "approval.reminded",
    "approval.first_allowed",
    "approval.escalation",
    "reply.queued",
    "reply.sent",
    "reply.failed",
    "reply.unknown",
    "channel.state",
    "policy.changed",
    "budget.reached",
    "cache.hit",
    "cache.miss",
    "memory.changed",
    "hygiene.finished",
    "hook.ran",
    "engine.state",
    "routine.changed",
    "mcp.changed",
    "datasets.changed",
    "rule.changed",
    "grant.removed",
    "oncall.changed",
    "leftovers.changed",
];

/// The kinds that carry no `id` and no `seq`: they are not kept and not sent again on resume. The snapshot has what
/// they added up to.
pub const EPHEMERAL: &[&str] = &[
    "continuation.streaming",
    "model.started",
    "model.waiting",
    "message.delta",
    "tool.output",
    "shell.output",
    "channel.state",
    "cache.miss",
    "hook.ran",
    "mcp.changed",
    "engine.state",
    "datasets.changed",
];

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        own(
            Method::Get,
            "/v1/events",
            "Streams events; the header `Last-Event-ID` resumes after that event",
            &[content(AnswerShape::Events)],
            |api, call| Box::pin(follow(api, call)),
        )
        .asks::<Filter>(),
    ]
}

/// Filter for events.
#[derive(Deserialize, JsonSchema)]
struct Filter {
    /// Only events after this `seq`.
    after: Option<u64>,
    /// Without `after`: begin with the stored events since this time, or with the newest one when all are older.
    since: Option<Timestamp>,
    /// Only this session.
    session: Option<SessionId>,
    /// Only this continuation.
    continuation: Option<ContinuationId>,
    /// Only these kinds, comma separated.
    #[serde(default)]
    kind: String,
    /// `none`, or session ids whose deltas to send, comma separated.
    #[serde(default)]
    deltas: String,
}

struct Feed {
    api: Arc<Api>,
    /// None = the caller came through the socket.
    stream: Option<StreamCredential>,
    items: ReadyChunks<EventStream>,
}

/// Ends once the credential of a stream opens nothing any more.
async fn revoked(stream: Option<&StreamCredential>) {
    match stream {
        Some(stream) => stream.revoked().await,
        None => std::future::pending().await,
    }
}

async fn follow(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let filter = filter(&call)?;
    let events = api.client.events(filter).await?;
    let caller = call.caller.as_ref();
    let feed = Feed {
        stream: caller.and_then(|caller| api.door.open_stream(caller)),
        api,
        items: events.ready_chunks(BATCH),
    };
    // The first comment makes the stream visible as open before anything happens.
    let opened = futures_util::stream::once(async { Ok(Bytes::from_static(b": open\n\n")) });
    let body = opened.chain(unfold(feed, |mut feed| async move {
        let chunk = next_chunk(&mut feed).await?;
        Some((Ok::<_, Infallible>(chunk), feed))
    }));
    let mut response = Response::new(HttpBody::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    Ok(response)
}

/// The next bytes of the stream; none = it ends.
async fn next_chunk(feed: &mut Feed) -> Option<Bytes> {
    let items = tokio::select! {
        biased;
        () = feed.api.shutdown.cancelled() => return None,
        () = revoked(feed.stream.as_ref()) => return None,
        items = feed.items.next() => items?,
        () = tokio::time::sleep(feed.api.ping) => return Some(Bytes::from_static(b": ping\n\n")),
    };
    let mut out = Vec::with_capacity(256);
    for item in items {
        match item {
            Ok(item) => encode(&item, &mut out),
            Err(problem) => {
                tracing::debug!(%problem, "event stream ended");
                feed.items = futures_util::stream::empty().boxed().ready_chunks(BATCH);
                break;
            }
        }
    }
    (!out.is_empty()).then(|| out.into())
}

/// Writes one item. JSON has no raw line breaks, so the data is always one line.
fn encode(item: &StreamItem, out: &mut Vec<u8>) {
    match item {
        StreamItem::Event(event) => {
            let data = match serde_json::to_vec(event) {
                Ok(data) => data,
                Err(error) => {
                    tracing::error!(%error, "an event could not be written");
                    return;
                }
            };
            if let Some(seq) = event.seq {
                out.extend_from_slice(format!("id: {seq}\n").as_bytes());
            }
            out.extend_from_slice(b"event: ");
            out.extend_from_slice(event.body.kind().as_bytes());
            out.extend_from_slice(b"\ndata: ");
            out.extend_from_slice(&data);
            out.extend_from_slice(b"\n\n");
        }
        StreamItem::Reset => out.extend_from_slice(b"event: reset\ndata: {\"kind\":\"reset\"}\n\n"),
    }
}

fn filter(call: &Call) -> Result<EventFilter, Refusal> {
    let asked: Filter = call.query()?;
    let after = match call.headers.get("last-event-id") {
        Some(id) => Some(
            id.to_str()
                .ok()
                .and_then(|id| id.parse::<u64>().ok())
                .ok_or_else(|| {
                    Problem::invalid(
                        "the header `Last-Event-ID` must be the `id` of an event of this stream",
                    )
                })?,
        ),
        None => asked.after,
    };
    let kinds: Vec<String> = list(&asked.kind).map(str::to_owned).collect();
    for kind in &kinds {
        if !KINDS.contains(&kind.as_str()) {
            return Err(parameter(
                "kind",
                &format!(
                    "`{}` is not an event kind: expected one of {}",
                    shortened(kind),
                    KINDS.join(", ")
                ),
            ));
        }
    }
    let deltas = match asked.deltas.as_str() {
        "none" => Vec::new(),
        ids => list(ids)
            .map(str::parse::<SessionId>)
            .collect::<Result<_, _>>()
            .map_err(|error| parameter("deltas", &format!("{error}, or `none`")))?,
    };
    Ok(EventFilter {
        after,
        since: asked.since,
        session_id: asked.session,
        continuation_id: asked.continuation,
        kinds,
        deltas,
    })
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|word| !word.is_empty())
}
