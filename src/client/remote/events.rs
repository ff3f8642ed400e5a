//! Following a daemon's events. The stream ends with an error when the connection is lost or silent; it
//! never reconnects by itself, so the caller always knows from which `seq` to go on.

use std::sync::Arc;

use futures_util::stream::{StreamExt as _, unfold};
use reqwest::Method;
use reqwest::header::ACCEPT;

use crate::client::console_client::EventStream;
use crate::client::remote::connection::RemoteClient;
use crate::protocol::event::{Event, EventFilter, StreamItem};
use crate::protocol::problem::Problem;
use crate::text::framing::{Format, SseEvent, StreamError, StreamLimits, events};

/// How much is read: a stream has no end, and an approval carries its full arguments and diff.
pub const LIMITS: StreamLimits = StreamLimits {
    record: 32 * 1024 * 1024,
    stream: usize::MAX,
};

/// Opens a stream. Returns once the daemon has the subscription.
pub async fn follow(client: &RemoteClient, filter: &EventFilter) -> Result<EventStream, Problem> {
    let request = client
        .request(Method::GET, "v1/events", &pairs(filter))?
        .header(ACCEPT, Format::Events.media_type());
    let opened = tokio::time::timeout(client.limits().request, request.send()).await;
    let response = match opened {
        Ok(Ok(response)) => client.accept(response).await?,
        Ok(Err(error)) => return Err(client.unreachable(&error)),
        Err(_) => return Err(client.lost("no answer to the request for events")),
    };
    let events = events(response.bytes_stream(), client.limits().idle, LIMITS);
    let following = Some((events.boxed(), client.clone()));
    Ok(unfold(following, |following| async move {
        let (mut events, client) = following?;
        let item = match events.next().await {
            Some(Ok(event)) => decode(&client, &event),
            Some(Err(error)) => Err(lost(&client, &error)),
            None => Err(client.lost("the daemon closed the stream")),
        };
        let following = item.is_ok().then_some((events, client));
        Some((item, following))
    })
    .boxed())
}

fn pairs(filter: &EventFilter) -> Vec<(&'static str, String)> {
    let mut pairs = Vec::new();
    if let Some(after) = filter.after {
        pairs.push(("after", after.to_string()));
    }
    if let Some(since) = filter.since {
        pairs.push(("since", since.to_string()));
    }
    if let Some(session) = filter.session_id {
        pairs.push(("session", session.to_string()));
    }
    if let Some(continuation) = filter.continuation_id {
        pairs.push(("continuation", continuation.to_string()));
    }
    if !filter.kinds.is_empty() {
        pairs.push(("kind", filter.kinds.join(",")));
    }
    let deltas = if filter.deltas.is_empty() {
        "none".to_owned()
    } else {
        filter
            .deltas
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(",")
    };
    pairs.push(("deltas", deltas));
    pairs
}

fn lost(client: &RemoteClient, error: &StreamError) -> Problem {
    match error {
        StreamError::Transport(error) => client.lost(error),
        StreamError::Idle(silence) => {
            client.lost(&format!("nothing was heard for {} s", silence.as_secs()))
        }
        StreamError::Malformed(what) => client.lost(what),
    }
}

fn decode(client: &RemoteClient, event: &SseEvent) -> Result<StreamItem, Problem> {
    if event.name == "reset" {
        return Ok(StreamItem::Reset);
    }
    serde_json::from_str::<Event>(&event.data)
        .map(|event| StreamItem::Event(Arc::new(event)))
        .map_err(|error| {
            client
                .lost(&format!(
                    "an event of kind `{}` could not be read: {error}",
                    event.name
                ))
                .hint("update this program or the daemon so that both have the same version")
        })
}
