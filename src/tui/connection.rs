//! Staying connected: subscribe, then take a snapshot, then follow. Tried again for ever, with backoff;
//! the console's keys never wait for it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::{Notify, mpsc, watch};

use crate::client::console_client::{ConsoleClient, EventStream};
use crate::protocol::command::Actor;
use crate::protocol::event::{EventFilter, StreamItem};
use crate::protocol::ids::SessionId;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{GetDuty, GetSnapshot};
use crate::protocol::snapshot::Snapshot;
use crate::tui::message::Message;
use crate::tui::state::hosts::HostId;

/// First wait after a failure; doubles up to what the client says.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// How long a snapshot may take.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(20);

/// Where what is heard goes.
pub struct Out {
    /// To the loop.
    pub sender: mpsc::Sender<Message>,
    /// Which daemon of several says it; none = there is one only.
    pub from: Option<HostId>,
}

/// Nobody listens any more.
struct Gone;

impl Out {
    async fn send(&self, message: Message) -> Result<(), Gone> {
        self.sender
            .send(message.of(self.from))
            .await
            .map_err(|_| Gone)
    }

    async fn closed(&self) {
        self.sender.closed().await;
    }
}

/// Follows the engine until the receiver is gone.
pub async fn follow(
    client: Arc<dyn ConsoleClient>,
    mut deltas: watch::Receiver<Vec<SessionId>>,
    now: Arc<Notify>,
    actor: Actor,
    out: Out,
) {
    let mut wait = FIRST_WAIT;
    loop {
        let wanted = deltas.borrow_and_update().clone();
        let why = match connect(client.as_ref(), wanted, &actor).await {
            Ok((stream, snapshot)) => {
                wait = FIRST_WAIT;
                let seq = snapshot.seq;
                // What may be done is known before there is anything to be done.
                let told = out.send(Message::Scopes(client.scopes())).await;
                let snapshot = Message::Snapshot(Box::new(snapshot));
                if told.is_err() || out.send(snapshot).await.is_err() {
                    return;
                }
                match forward(stream, seq, &mut deltas, &out).await {
                    Ended::Gone => return,
                    // Other sessions are wanted, or the cursor is lost: start again at once, without alarm.
                    Ended::Again => continue,
                    Ended::Lost(why) => why,
                }
            }
            Err(problem) => match &problem.hint {
                Some(hint) => format!("{problem}; {hint}"),
                None => problem.to_string(),
            },
        };
        if out.send(Message::Disconnected { why }).await.is_err() {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = now.notified() => wait = FIRST_WAIT,
            () = out.closed() => return,
        }
        wait = (wait * 2).min(client.retry_after());
    }
}

/// The subscription stands before the snapshot is taken, so nothing falls between them.
async fn connect(
    client: &dyn ConsoleClient,
    deltas: Vec<SessionId>,
    actor: &Actor,
) -> Result<(EventStream, Snapshot), Problem> {
    let stream = client
        .events(EventFilter {
            deltas,
            ..EventFilter::default()
        })
        .await?;
    let mut snapshot = tokio::time::timeout(SNAPSHOT_TIMEOUT, client.call(GetSnapshot {}))
        .await
        .map_err(|_| {
            Problem::new(
                ProblemKind::Unavailable,
                "no answer",
                "the engine sent no snapshot in time",
            )
        })??;
    // A snapshot is the same for everybody: what this console is called there is asked for itself. Where that is not
    // answered, nothing is ever for this console in particular.
    let who = client.call(GetDuty {
        actor: Some(actor.clone()),
    });
    if let Ok(Ok(duty)) = tokio::time::timeout(SNAPSHOT_TIMEOUT, who).await {
        snapshot.duty = duty;
    }
    Ok((stream, snapshot))
}

enum Ended {
    /// The console is gone.
    Gone,
    /// Subscribe again.
    Again,
    /// The connection is lost.
    Lost(String),
}

async fn forward(
    mut stream: EventStream,
    seq: u64,
    deltas: &mut watch::Receiver<Vec<SessionId>>,
    out: &Out,
) -> Ended {
    loop {
        tokio::select! {
            changed = deltas.changed() => {
                return if changed.is_ok() { Ended::Again } else { Ended::Gone };
            }
            item = stream.next() => match item {
                Some(Ok(StreamItem::Event(event))) => {
                    if event.seq.is_some_and(|s| s <= seq) {
                        continue;
                    }
                    if out.send(Message::Event(event)).await.is_err() {
                        return Ended::Gone;
                    }
                }
                Some(Ok(StreamItem::Reset)) => return Ended::Again,
                Some(Err(problem)) => return Ended::Lost(problem.to_string()),
                None => return Ended::Lost("the event stream ended".to_owned()),
            },
            () = out.closed() => return Ended::Gone,
        }
    }
}
