//! From the homeserver to the engine: sync, take everything in, and only then sync on.
//!
//! The position moves with the last item of a batch. A batch without items moves it in memory only, because what it
//! brought can come again without harm; from time to time a row of its own keeps it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::channels::channel::ChannelError;
use crate::channels::http::CallError;
use crate::channels::intake;
use crate::channels::matrix::api::Api;
use crate::channels::matrix::batch::{invites, take_in};
use crate::channels::matrix::position;
use crate::channels::matrix::syncer::{Halt, Syncer, TYPES};
use crate::channels::pacing::IdlePolls;
use crate::channels::sync::unless_stopped;
use crate::clock::backoff::jitter;
use crate::protocol::problem::Problem;

/// An initial sync of an account in many rooms takes its time.
const FIRST_SYNC: Duration = Duration::from_mins(3);
/// Events of a room in one sync; what is more is fetched page by page.
const TIMELINE: u32 = 50;
/// Rest after a batch that could not be stored.
const STORE_REST: Duration = Duration::from_secs(1);
/// How old the stored position of a quiet account becomes.
const KEEP_POSITION: Duration = Duration::from_hours(1);
const STATE_TYPES: &[&str] = &[
    "m.room.canonical_alias",
    "m.room.encryption",
    "m.room.member",
    "m.room.name",
    "m.room.tombstone",
];

/// Syncs until `stop` or until the connection has to be made anew. `begun` is where the connection began.
///
/// # Errors
/// When the connection has to be made anew, or a person has to change something.
pub async fn run(
    syncer: &Syncer,
    cursor: Option<String>,
    begun: String,
    stop: CancellationToken,
) -> Result<(), ChannelError> {
    let ended = syncs(syncer, cursor, begun, &stop).await;
    stop.cancel();
    syncer.joins.finish().await;
    ended
}

async fn syncs(
    syncer: &Syncer,
    cursor: Option<String>,
    begun: String,
    stop: &CancellationToken,
) -> Result<(), ChannelError> {
    let mut since = match position::since(cursor.as_deref(), &syncer.me.user) {
        Some(since) => since,
        // Nothing that was said before us is answered. From here on nothing is missed.
        None => match keep(syncer, &begun, "the channel begins here").await {
            Ok(()) => begun,
            Err(problem) => return Err(unstored(&problem)),
        },
    };
    let filter = filter(TIMELINE);
    let mut kept = Instant::now();
    let mut idle = IdlePolls::default();
    let mut anew = false;
    loop {
        let asked = Instant::now();
        let limit = syncer.hold + syncer.margin;
        let sync = syncer.api.sync(Some(&since), &filter, syncer.hold, limit);
        let Some(answer) = unless_stopped(stop, sync).await else {
            return Ok(());
        };
        let rest = match answer {
            Ok(batch) => {
                crate::crash_point!("ack.post");
                let Some(next) = batch["next_batch"].as_str() else {
                    return Err(nowhere());
                };
                match take_in(syncer, &batch, &since, next, stop).await {
                    Ok(items) => {
                        syncer.health.received(items);
                        if items > 0 {
                            kept = Instant::now();
                        } else if next != since && kept.elapsed() >= KEEP_POSITION {
                            let row = keep(syncer, next, "no new events for a while").await;
                            row.map_err(|problem| unstored(&problem))?;
                            kept = Instant::now();
                        }
                        // A few may be news that nobody has to hear of; where the position moves, what we said ourselves.
                        let tolerated = if next == since { 3 } else { 50 };
                        next.clone_into(&mut since);
                        idle.rest(items, tolerated, asked.elapsed(), syncer.hold)
                    }
                    Err(Halt::Stopped) => return Ok(()),
                    Err(Halt::Store(problem)) => {
                        tracing::warn!(%problem, "cannot store events; the homeserver sends them again");
                        syncer.health.cannot_store("the homeserver", &problem);
                        Some(STORE_REST)
                    }
                    Err(Halt::Call(error)) => return Err(broken(&error)),
                }
            }
            Err(CallError::Limited { retry_after, .. }) => {
                syncer.health.limited(retry_after);
                Some(retry_after)
            }
            // A server that was set up anew, or from an old backup.
            Err(CallError::Refused {
                code: 400, detail, ..
            }) if !anew => {
                anew = true;
                syncer.health.skipped(format!(
                    "the homeserver does not know the position any more ({detail}); earlier messages are missed"
                ));
                let Some(begun) = begin(syncer, stop).await? else {
                    return Ok(());
                };
                since = begun;
                let row = keep(syncer, &since, "the channel begins here anew").await;
                row.map_err(|problem| unstored(&problem))?;
                None
            }
            Err(error) => return Err(broken(&error)),
        };
        if let Some(rest) = rest
            && unless_stopped(stop, tokio::time::sleep(rest))
                .await
                .is_none()
        {
            return Ok(());
        }
    }
}

/// What a failed call means for the connection.
pub fn broken(error: &CallError) -> ChannelError {
    match error {
        CallError::Refused {
            code: 401, detail, ..
        } => ChannelError::fatal(
            format!("the homeserver does not take this access token: {detail}"),
            "log in again for a new one (POST /_matrix/client/v3/login, the guide shows how) and let `token_env`, \
             `token_file` or `token_command` give it",
        ),
        CallError::Refused { name, .. } if name == "M_USER_DEACTIVATED" => ChannelError::fatal(
            "the homeserver says that this account is deactivated",
            "ask whoever runs the homeserver, or get the bot another account",
        ),
        CallError::NotSent { .. }
        | CallError::Lost { .. }
        | CallError::Server { .. }
        | CallError::Limited { .. }
        | CallError::Refused { .. } => ChannelError::of_call(error),
    }
}

fn unstored(problem: &Problem) -> ChannelError {
    ChannelError::transient(format!(
        "the channel's state cannot be read or stored: {problem}"
    ))
}

/// What syncs bring.
fn filter(timeline: u32) -> Value {
    json!({
        "presence": { "types": [] },
        "account_data": { "types": [] },
        "room": {
            "ephemeral": { "types": [] },
            "account_data": { "types": [] },
            "timeline": { "limit": timeline, "types": TYPES, "lazy_load_members": true,
                          "include_redundant_members": true },
            "state": { "types": STATE_TYPES, "lazy_load_members": true,
                       "include_redundant_members": true },
        },
    })
}

/// Learns which rooms there are, and looks at invites that wait; the position of that. None: `stop` came first.
///
/// # Errors
/// As those of [`run`].
pub async fn begin(
    syncer: &Syncer,
    stop: &CancellationToken,
) -> Result<Option<String>, ChannelError> {
    let Some(answer) = unless_stopped(stop, overview(&syncer.api)).await else {
        return Ok(None);
    };
    let answer = answer.map_err(|error| broken(&error))?;
    syncer.rooms.replace(&answer["rooms"]["join"]);
    syncer.health.received(0);
    for (room, via) in syncer.rooms.awaited() {
        syncer.joins.follow(&room, via);
    }
    invites(syncer, &answer)
        .await
        .map_err(|problem| unstored(&problem))?;
    let token = answer["next_batch"].as_str().ok_or_else(nowhere)?;
    Ok(Some(token.to_owned()))
}

/// The rooms and invites of an account as they are now, without any message.
///
/// # Errors
/// How the call ended.
pub async fn overview(api: &Api) -> Result<Value, CallError> {
    // Homeservers give the same answer for a while to who asks the same, so each question differs a little.
    let hold = Duration::from_secs_f64(0.001 + jitter());
    api.sync(None, &filter(0), hold, FIRST_SYNC).await
}

fn nowhere() -> ChannelError {
    ChannelError::transient("the homeserver's sync does not say where it ends")
}

/// Keeps a position durably, without a message.
async fn keep(syncer: &Syncer, token: &str, why: &str) -> Result<(), Problem> {
    let mut row = intake::event(format!("position:{token}"), "", why);
    row.cursor = Some(position::cursor(&syncer.me.user, token));
    let (port, health) = (syncer.port.as_ref(), &syncer.health);
    intake::take_in(port, health, &syncer.me.user, row).await?;
    Ok(())
}
