//! Staying connected: subscribe, then take a snapshot, then follow. Tried again for ever, with backoff, unless the daemon
//! shows a certificate that is not taken. The console's keys never wait for it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::{Notify, mpsc, watch};

use crate::client::console_client::{ConsoleClient, EventStream};
use crate::client::remote::trust;
use crate::clock::backoff::doubled;
use crate::console::ids::HostId;
use crate::console::message::DaemonMessage;
use crate::protocol::command::Actor;
use crate::protocol::event::{EventFilter, StreamItem};
use crate::protocol::ids::SessionId;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{GetOnCall, GetSnapshot};
use crate::protocol::snapshot::Snapshot;

/// First wait after a failure; doubles up to what the client says.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// How long a snapshot may take.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(20);

/// Where what is heard goes.
pub struct Out {
    /// To the loop.
    pub sender: mpsc::Sender<(HostId, DaemonMessage)>,
    /// Which daemon says it.
    pub host: HostId,
}

/// Nobody listens any more.
struct Gone;

impl Out {
    async fn send(&self, message: DaemonMessage) -> Result<(), Gone> {
        self.sender
            .send((self.host, message))
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
    let mut failures: u32 = 0;
    loop {
        let wanted = deltas.borrow_and_update().clone();
        let lost = match connect(client.as_ref(), wanted, &actor).await {
            Ok((stream, snapshot)) => {
                failures = 0;
                let seq = snapshot.seq;
                // What may be done is known before there is anything to be done.
                let told = out.send(DaemonMessage::Scopes(client.scopes())).await;
                let snapshot = DaemonMessage::Snapshot(Box::new(snapshot));
                if told.is_err() || out.send(snapshot).await.is_err() {
                    return;
                }
                match forward(stream, seq, &mut deltas, &out).await {
                    ConnectionEnd::Gone => return,
                    // Other sessions are wanted, or the cursor is lost: start again at once, without alarm.
                    ConnectionEnd::Again => continue,
                    ConnectionEnd::Lost(why) => DaemonMessage::Disconnected { why },
                }
            }
            Err(problem) => {
                let why = match &problem.hint {
                    Some(hint) => format!("{problem}; {hint}"),
                    None => problem.to_string(),
                };
                if trust::is_refusal(&problem) {
                    DaemonMessage::Refused { why }
                } else {
                    DaemonMessage::Disconnected { why }
                }
            }
        };
        let is_refused = matches!(lost, DaemonMessage::Refused { .. });
        if out.send(lost).await.is_err() {
            return;
        }
        failures = failures.saturating_add(1);
        let wait = doubled(FIRST_WAIT, failures, client.retry_after());
        tokio::select! {
            () = tokio::time::sleep(wait), if !is_refused => {}
            () = now.notified() => failures = 0,
            () = out.closed() => return,
        }
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
    let who = client.call(GetOnCall {
        actor: Some(actor.clone()),
    });
    if let Ok(Ok(on_call_status)) = tokio::time::timeout(SNAPSHOT_TIMEOUT, who).await {
        snapshot.on_call_status = on_call_status;
    }
    Ok((stream, snapshot))
}

enum ConnectionEnd {
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
) -> ConnectionEnd {
    loop {
        tokio::select! {
            changed = deltas.changed() => {
                return if changed.is_ok() { ConnectionEnd::Again } else { ConnectionEnd::Gone };
            }
            item = stream.next() => match item {
                Some(Ok(StreamItem::Event(event))) => {
                    if event.seq.is_some_and(|s| s <= seq) {
                        continue;
                    }
                    if out.send(DaemonMessage::Event(event)).await.is_err() {
                        return ConnectionEnd::Gone;
                    }
                }
                Some(Ok(StreamItem::Reset)) => return ConnectionEnd::Again,
                Some(Err(problem)) => return ConnectionEnd::Lost(problem.to_string()),
                None => return ConnectionEnd::Lost("the event stream ended".to_owned()),
            },
            () = out.closed() => return ConnectionEnd::Gone,
        }
    }
}
