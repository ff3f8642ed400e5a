//! Following a daemon's events. The stream ends with an error when the connection is lost or silent; it
//! never reconnects by itself, so the caller always knows from which `seq` to go on.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{Stream, StreamExt as _, unfold};
use reqwest::Method;
use reqwest::header::ACCEPT;

use crate::client::console_client::EventStream;
use crate::client::remote::connection::RemoteClient;
use crate::client::remote::sse::{Message, Reader};
use crate::protocol::event::{Event, EventFilter, StreamItem};
use crate::protocol::problem::Problem;

/// Opens a stream. Returns once the daemon has the subscription.
pub async fn follow(client: &RemoteClient, filter: &EventFilter) -> Result<EventStream, Problem> {
    let request = client
        .request(Method::GET, "v1/events", &pairs(filter))?
        .header(ACCEPT, "text/event-stream");
    let opened = tokio::time::timeout(client.limits().request, request.send()).await;
    let response = match opened {
        Ok(Ok(response)) => client.accept(response).await?,
        Ok(Err(error)) => return Err(client.unreachable(&error)),
        Err(_) => return Err(client.lost("no answer to the request for events")),
    };
    let body = response
        .bytes_stream()
        .map(|piece| {
            piece
                .map(|bytes| bytes.to_vec())
                .map_err(|error| error.to_string())
        })
        .boxed();
    let tail = Tail {
        client: client.clone(),
        idle: client.limits().idle,
        body,
        reader: Reader::default(),
        ready: VecDeque::new(),
        stage: Stage::Open,
    };
    Ok(unfold(tail, |mut tail| async move {
        let item = tail.next().await?;
        if item.is_err() {
            tail.stage = Stage::Over;
        }
        Some((item, tail))
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    Over,
}

struct Tail {
    client: RemoteClient,
    idle: Duration,
    body: Pin<Box<dyn Stream<Item = Result<Vec<u8>, String>> + Send>>,
    reader: Reader,
    ready: VecDeque<Message>,
    stage: Stage,
}

impl Tail {
    async fn next(&mut self) -> Option<Result<StreamItem, Problem>> {
        match self.stage {
            Stage::Over => return None,
            Stage::Open => {}
        }
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(self.decode(&message));
            }
            let piece = match tokio::time::timeout(self.idle, self.body.next()).await {
                Ok(Some(Ok(piece))) => piece,
                Ok(Some(Err(error))) => return Some(Err(self.client.lost(&error))),
                Ok(None) => return Some(Err(self.client.lost("the daemon closed the stream"))),
                Err(_) => {
                    let silence = format!("nothing was heard for {} s", self.idle.as_secs());
                    return Some(Err(self.client.lost(&silence)));
                }
            };
            let mut messages = Vec::new();
            if let Err(error) = self.reader.push(&piece, &mut messages) {
                return Some(Err(self.client.lost(&error.to_string())));
            }
            self.ready.extend(messages);
        }
    }

    fn decode(&self, message: &Message) -> Result<StreamItem, Problem> {
        if message.event == "reset" {
            return Ok(StreamItem::Reset);
        }
        serde_json::from_str::<Event>(&message.data)
            .map(|event| StreamItem::Event(Arc::new(event)))
            .map_err(|error| {
                self.client
                    .lost(&format!(
                        "an event of kind `{}` could not be read: {error}",
                        message.event
                    ))
                    .hint("update this program or the daemon so that both have the same version")
            })
    }
}
