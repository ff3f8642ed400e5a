//! The gateway: one connection after the other.
//!
//! Nothing here reconnects faster than the supervisor, except once after a connection that held for a minute. No
//! session begins beyond Discord's daily limit.

use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::channels::channel::ChannelError;
use crate::channels::discord::api::Route;
use crate::channels::discord::connection::{Connection, ConnectionEnd, Gateway};
use crate::channels::discord::names::Names;
use crate::channels::discord::position::Position;
use crate::channels::discord::session::{self, CLOSE_KEEPING_SESSION, End, Machine, TOKEN_FIX};
use crate::channels::fields::text_at;
use crate::channels::http::CallError;
use crate::channels::sync::{lock, unless_stopped};
use crate::channels::websocket::{Socket, SocketError};
use crate::clock::backoff::jitter;

/// A connection that was well this long may be followed by another at once.
const STEADY: Duration = Duration::from_mins(1);
/// The rest before that other one.
const REST: Duration = Duration::from_secs(1);

/// How a connection ended.
enum RunEnd {
    Stopped,
    /// Connect again; whether it had been well for long.
    Again(ChannelError, bool),
    Fatal(ChannelError),
}

/// Connects until `stop` or until the supervisor has to decide.
pub async fn run(
    gateway: &Gateway,
    cursor: Option<String>,
    stop: CancellationToken,
) -> Result<(), ChannelError> {
    let mut position = Position::stored(cursor.as_deref(), gateway.me.id);
    let mut names = Names::default();
    let answers = TaskTracker::new();
    let ended = loop {
        let ended = connection(gateway, &mut position, &mut names, &answers, &stop).await;
        match ended {
            RunEnd::Stopped => break Ok(()),
            RunEnd::Again(error, true) => {
                tracing::info!(%error, "connecting to the gateway again");
                if unless_stopped(&stop, tokio::time::sleep(REST))
                    .await
                    .is_none()
                {
                    break Ok(());
                }
            }
            RunEnd::Again(error, false) | RunEnd::Fatal(error) => break Err(error),
        }
    };
    answers.close();
    answers.wait().await;
    ended
}

/// What a failed call means for the connection.
pub fn broken(error: &CallError) -> ChannelError {
    if let CallError::Refused { code: 401, .. } = error {
        return ChannelError::fatal("Discord does not accept the bot token", TOKEN_FIX);
    }
    ChannelError::Transient {
        detail: format!("Discord: {error}"),
        retry_after: error.retry_after(),
    }
}

/// Where to connect for a new session, if one may be begun now.
async fn address(gateway: &Gateway) -> Result<String, ChannelError> {
    let route = Route::new(reqwest::Method::GET, "/gateway/bot", "GET gateway");
    let answer = gateway
        .api
        .get(&route)
        .await
        .map_err(|error| broken(&error))?;
    if let Some(advice) = session::shard_advice(&answer) {
        tracing::warn!("{advice}");
    }
    let number = |pointer: &str| answer.pointer(pointer).and_then(Value::as_u64);
    if number("/session_start_limit/remaining") == Some(0) {
        let reset = number("/session_start_limit/reset_after").unwrap_or(60_000);
        return Err(ChannelError::Transient {
            detail: "the bot has begun as many sessions as Discord allows in a day, and one more would reset its token; \
                     look for another program that uses this token"
                .to_owned(),
            retry_after: Some(Duration::from_millis(reset.clamp(1_000, 86_400_000))),
        });
    }
    text_at(&answer, "/url")
        .map(str::to_owned)
        .ok_or_else(|| ChannelError::transient("Discord does not say where its gateway is"))
}

fn with_version(url: &str) -> String {
    let (base, _) = url.split_once('?').unwrap_or((url, ""));
    format!("{}/?v=10&encoding=json", base.trim_end_matches('/'))
}

async fn connection(
    gateway: &Gateway,
    position: &mut Position,
    names: &mut Names,
    answers: &TaskTracker,
    stop: &CancellationToken,
) -> RunEnd {
    let mut machine = {
        let memory = lock(&gateway.memory);
        let session = position
            .session
            .clone()
            .filter(|session| memory.dead.as_ref() != Some(&session.id));
        Machine::new(session, memory.failed_resumes)
    };
    let opened = async {
        let url = match machine.session() {
            Some(session) => session.resume_url.clone(),
            None => address(gateway).await?,
        };
        let secrets = vec![gateway.api.token().clone()];
        let (url, within) = (with_version(&url), gateway.connect_timeout);
        let connecting = Socket::connect(&url, secrets, within);
        connecting
            .await
            .map_err(|error| unreachable_gateway(&error))
    };
    let socket = tokio::select! {
        biased;
        () = stop.cancelled() => return RunEnd::Stopped,
        socket = opened => match socket {
            Ok(socket) => socket,
            Err(error) => {
                // Else a resume address that is gone would be tried for ever.
                let mut memory = lock(&gateway.memory);
                if machine.session().is_some() {
                    memory.failed_resumes = memory.failed_resumes.saturating_add(1);
                }
                return match error {
                    fatal @ ChannelError::Fatal { .. } => RunEnd::Fatal(fatal),
                    again @ ChannelError::Transient { .. } => RunEnd::Again(again, false),
                };
            }
        },
    };
    let mut connection = Connection {
        gateway,
        socket,
        ready_at: None,
        position,
        names,
        answers,
        found: None,
        missed: 0,
    };
    let ended = connection.serve(&mut machine, stop).await;
    let was_steady = connection
        .ready_at
        .is_some_and(|since| since.elapsed() >= STEADY);
    let socket = connection.socket;
    {
        let mut memory = lock(&gateway.memory);
        memory.failed_resumes = machine.failed_resumes();
        if machine.session().is_none() {
            memory.dead = position.session.as_ref().map(|session| session.id.clone());
        }
    }
    socket.close(CLOSE_KEEPING_SESSION).await;
    match ended {
        None => RunEnd::Stopped,
        Some(ConnectionEnd::Store(error)) => RunEnd::Again(error, false),
        Some(ConnectionEnd::End(End::Fatal { detail, fix })) => {
            RunEnd::Fatal(ChannelError::Fatal { detail, fix })
        }
        Some(ConnectionEnd::End(End::Again { detail, rest })) => {
            // Discord asks for one to five seconds.
            let rest =
                rest.then(|| Duration::from_secs(1) + Duration::from_secs(4).mul_f64(jitter()));
            let error = ChannelError::Transient {
                detail,
                retry_after: rest,
            };
            RunEnd::Again(error, was_steady && rest.is_none())
        }
    }
}

fn unreachable_gateway(error: &SocketError) -> ChannelError {
    ChannelError::Transient {
        detail: format!("Discord's gateway: {error}"),
        retry_after: match error {
            // The network before Discord: it wants us to stay away for some time.
            SocketError::Refused { status: 429, .. } => Some(Duration::from_mins(1)),
            SocketError::Refused { .. }
            | SocketError::NotConnected { .. }
            | SocketError::Closed { .. }
            | SocketError::Lost { .. } => None,
        },
    }
}
