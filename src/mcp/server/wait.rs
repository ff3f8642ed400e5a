//! Waiting for a turn, never longer than hosts wait for a call. Whoever stops waiting ends nothing.

use std::time::Duration;

use futures_util::StreamExt as _;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::mcp::server::own::Own;
use crate::mcp::server::views::TurnStatus;
use crate::protocol::event::{EventFilter, StreamItem};
use crate::protocol::ids::ContinuationId;
use crate::protocol::problem::Problem;
use crate::protocol::session::Continuation;

/// Longest wait: most hosts give a call up after a minute.
pub const LONGEST: Duration = Duration::from_secs(55);
/// Wait of `await_continuation` where the caller names none.
pub const USUAL: Duration = Duration::from_secs(25);
/// How often a caller that wants progress hears that the wait goes on.
const BEAT: Duration = Duration::from_secs(5);

/// What a wait is ended by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The end of the turn, or an interruption.
    End,
    /// The same, or a decision that an operator has to take.
    EndOrApproval,
}

impl Until {
    fn is_met(self, status: TurnStatus) -> bool {
        match status {
            TurnStatus::Running => false,
            TurnStatus::WaitsForApproval => self == Self::EndOrApproval,
            TurnStatus::Interrupted
            | TurnStatus::Completed
            | TurnStatus::Failed
            | TurnStatus::Cancelled
            | TurnStatus::Expired => true,
        }
    }
}

/// Tells the caller that the wait goes on, where it asked for that. The value rises with each telling.
pub struct Progress {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    told: f64,
}

impl Progress {
    /// Of a request.
    pub fn of(context: &RequestContext<RoleServer>) -> Self {
        Self {
            peer: context.peer.clone(),
            token: context.meta.get_progress_token(),
            told: 0.0,
        }
    }

    async fn tell(&mut self, status: TurnStatus) {
        let Some(token) = &self.token else {
            return;
        };
        self.told += 1.0;
        let progress = ProgressNotificationParam::new(token.clone(), self.told)
            .with_message(status.sentence());
        // A caller that is gone is found out by its token, not here.
        let _ = self.peer.notify_progress(progress).await;
    }
}

/// The turn once the wait is over; as it is when time is up or the caller stops waiting.
pub async fn wait(
    own: &Own,
    id: ContinuationId,
    until: Until,
    time: Duration,
    mut progress: Progress,
    cancelled: &CancellationToken,
) -> Result<Continuation, Problem> {
    let deadline = Instant::now() + time.min(LONGEST);
    let filter = EventFilter {
        continuation_id: Some(id),
        ..EventFilter::default()
    };
    // The subscription stands before the turn is read, so that nothing slips between.
    let mut events = own.client.events(filter.clone()).await?;
    let mut turn = own.turn(id).await?;
    let mut told = TurnStatus::of(turn.state);
    let mut beat = Instant::now() + BEAT;
    while !until.is_met(TurnStatus::of(turn.state)) {
        tokio::select! {
            () = cancelled.cancelled() => break,
            () = tokio::time::sleep_until(deadline) => break,
            () = tokio::time::sleep_until(beat) => {
                beat += BEAT;
                progress.tell(told).await;
                continue;
            }
            item = events.next() => match item {
                Some(Ok(StreamItem::Event(event))) if event.body.continuation_state().is_none() => continue,
                Some(Ok(StreamItem::Event(_) | StreamItem::Reset)) => {}
                Some(Err(_)) | None => events = own.client.events(filter.clone()).await?,
            },
        }
        turn = own.turn(id).await?;
        let status = TurnStatus::of(turn.state);
        if status != told {
            told = status;
            progress.tell(status).await;
        }
    }
    Ok(turn)
}
