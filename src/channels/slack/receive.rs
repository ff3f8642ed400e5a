//! Socket Mode: what comes in is durable before it is acknowledged, and acknowledged before any work begins.
//!
//! Slack redelivers unacknowledged events, on this socket or a later one, and at times acknowledged ones. So nothing
//! here counts deliveries; keys do. Before Slack closes a socket it says so: the next one is ready before the old one
//! goes, and the old one is read to its end, because clicks are never delivered again.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::channels::channel::ChannelError;
use crate::channels::health::HealthLog;
use crate::channels::http::CallError;
use crate::channels::slack::api::Api;
use crate::channels::slack::envelope::{self, Envelope, Frame};
use crate::channels::slack::fields::parse_conversation;
use crate::channels::slack::intake::Intake;
use crate::channels::slack::items::{self, Item};
use crate::channels::slack::manifest::APPS;
use crate::channels::slack::me::Me;
use crate::channels::slack::words;
use crate::channels::sync::or_never;
use crate::channels::websocket::{Socket, SocketError, SocketMessage};
use crate::config::secret::Secret;
use crate::protocol::bridge::{Inbound, InboundBody};
use crate::text::mrkdwn;

/// How long an old socket is still read.
const OLD_SOCKET: Duration = Duration::from_secs(10);
/// The rest before another try to open the next socket while the current one still works.
const NEXT_SOCKET_REST: Duration = Duration::from_secs(3);
/// How long to stay away when Slack counts too many sockets: those that nobody holds end by themselves.
const TOO_MANY_REST: Duration = Duration::from_secs(30);
/// WebSocket code for an ordinary end.
const NORMAL: u16 = 1000;
/// Longest text of a command that its acknowledgement repeats, in characters.
const MAX_ECHO: usize = 200;

/// Times of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketTimes {
    /// To connect, and then to hear that it is ready.
    pub connect: Duration,
    /// Between pings of ours.
    pub ping: Duration,
    /// Silence after which it counts as lost.
    pub stale: Duration,
}

/// A socket that is ready.
pub struct ReadySocket {
    socket: Socket,
    /// Sockets that hold the same app token, this one included.
    pub connections: u32,
    /// The app that the token belongs to.
    pub app: Option<String>,
}

impl ReadySocket {
    /// Ends it.
    pub async fn close(self) {
        self.socket.close(NORMAL).await;
    }
}

/// Opens a socket and waits until it is ready.
pub async fn open(api: &Api, times: SocketTimes) -> Result<ReadySocket, ChannelError> {
    let address = api
        .open_connection()
        .await
        .map_err(|error| broken(&error, "app_token"))?;
    // The ticket of the address opens a socket with our events.
    let ticket = address.split_once('?').map(|(_, query)| Secret::new(query));
    let secrets = ticket.into_iter().collect();
    let mut socket = Socket::connect(&address, secrets, times.connect)
        .await
        .map_err(|error| lost(&error))?;
    let ready = async {
        loop {
            let SocketMessage::Text(text) = socket.next().await.map_err(|error| lost(&error))?
            else {
                continue;
            };
            match envelope::frame(&text) {
                Frame::Hello { connections, app } => return Ok((connections, app)),
                Frame::Disconnect { reason } => return Err(disconnected(&reason)),
                // Not acknowledged, so it comes again.
                Frame::Envelope(_) | Frame::Unknown { .. } => {}
            }
        }
    };
    let (connections, app) = tokio::time::timeout(times.connect, ready)
        .await
        .map_err(|_| ChannelError::transient("a new socket did not become ready in time"))??;
    Ok(ReadySocket {
        socket,
        connections,
        app,
    })
}

/// What the loop works with.
pub struct Receiver {
    /// Platform side.
    pub api: Api,
    /// Where what comes in goes.
    pub intake: Arc<Intake>,
    /// Where exchanges are noted.
    pub health: Arc<HealthLog>,
    /// Who we are.
    pub me: Me,
    /// Times.
    pub times: SocketTimes,
}

type Opening = Pin<Box<dyn Future<Output = Result<ReadySocket, ChannelError>> + Send>>;

/// The sockets of a run.
struct Sockets {
    current: Option<Socket>,
    /// The one before, which Slack is about to close.
    old: Option<(Socket, Instant)>,
    opening: Option<Opening>,
    /// The last sign of life of the current one.
    heard: Instant,
}

/// Receives until `stop` or until the connection has to be made anew.
pub async fn run(
    receiver: &Receiver,
    first: ReadySocket,
    stop: CancellationToken,
) -> Result<(), ChannelError> {
    let answers = TaskTracker::new();
    note_connections(receiver, &first, 1);
    let mut sockets = Sockets {
        current: Some(first.socket),
        old: None,
        opening: None,
        heard: Instant::now(),
    };
    let ended = receive(receiver, &mut sockets, &answers, &stop).await;
    for socket in sockets
        .current
        .into_iter()
        .chain(sockets.old.map(|(socket, _)| socket))
    {
        socket.close(NORMAL).await;
    }
    answers.close();
    answers.wait().await;
    ended
}

async fn receive(
    receiver: &Receiver,
    sockets: &mut Sockets,
    answers: &TaskTracker,
    stop: &CancellationToken,
) -> Result<(), ChannelError> {
    let mut pings = tokio::time::interval(receiver.times.ping);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let old_until = sockets.old.as_ref().map(|(_, until)| *until);
        tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            heard = or_never(sockets.current.as_mut().map(Socket::next)) => match heard {
                Ok(message) => {
                    sockets.heard = Instant::now();
                    heed(receiver, sockets, message, answers, Which::Current).await?;
                }
                Err(error) => gone(sockets, Which::Current, &error)?,
            },
            heard = or_never(sockets.old.as_mut().map(|(socket, _)| socket.next())) => match heard {
                Ok(message) => heed(receiver, sockets, message, answers, Which::Old).await?,
                Err(error) => gone(sockets, Which::Old, &error)?,
            },
            () = or_never(old_until.map(sleep_until)) => {
                if let Some((socket, _)) = sockets.old.take() {
                    answers.spawn(socket.close(NORMAL));
                }
            }
            opened = or_never(sockets.opening.as_mut()) => {
                sockets.opening = None;
                match opened {
                    Ok(opened) => replace(receiver, sockets, opened, answers),
                    Err(error @ ChannelError::Transient { .. }) if sockets.current.is_some() => {
                        tracing::warn!(%error, "cannot open the next socket yet");
                        sockets.opening = Some(opening(receiver, NEXT_SOCKET_REST));
                    }
                    Err(error) => return Err(error),
                }
            }
            _ = pings.tick() => check_life(receiver, sockets).await?,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Current,
    Old,
}

fn opening(receiver: &Receiver, rest: Duration) -> Opening {
    let (api, times) = (receiver.api.clone(), receiver.times);
    Box::pin(async move {
        tokio::time::sleep(rest).await;
        open(&api, times).await
    })
}

fn replace(receiver: &Receiver, sockets: &mut Sockets, opened: ReadySocket, answers: &TaskTracker) {
    let before = sockets.current.take();
    let own = 1 + u32::from(before.is_some()) + u32::from(sockets.old.is_some());
    note_connections(receiver, &opened, own);
    if let Some((older, _)) = sockets.old.take() {
        answers.spawn(older.close(NORMAL));
    }
    sockets.old = before.map(|socket| (socket, Instant::now() + OLD_SOCKET));
    sockets.current = Some(opened.socket);
    sockets.heard = Instant::now();
}

/// Says when others hold the same token: Slack gives each event to one of the sockets only.
fn note_connections(receiver: &Receiver, opened: &ReadySocket, own: u32) {
    receiver.health.received(0);
    let others = opened.connections.saturating_sub(own);
    let problem = (others > 0).then(|| others_hold(others));
    receiver.health.note("Socket Mode", problem);
}

/// What it means that others hold our app token.
pub fn others_hold(others: u32) -> String {
    let connections = if others == 1 {
        "connection holds"
    } else {
        "connections hold"
    };
    format!(
        "{others} other {connections} this app token: another instance, or ghost sockets that end by themselves; Slack \
         gives each event to one of them only"
    )
}

/// Lets a socket go that takes nothing more. An error: no other is there or on its way.
fn gone(sockets: &mut Sockets, which: Which, error: &SocketError) -> Result<(), ChannelError> {
    match which {
        Which::Current => {
            sockets.current = None;
            if sockets.opening.is_none() {
                return Err(lost(error));
            }
        }
        Which::Old => sockets.old = None,
    }
    tracing::debug!(%error, "a socket that another one follows ended");
    Ok(())
}

async fn check_life(receiver: &Receiver, sockets: &mut Sockets) -> Result<(), ChannelError> {
    let Some(socket) = sockets.current.as_mut() else {
        return Ok(());
    };
    if sockets.heard.elapsed() > receiver.times.stale {
        sockets.current = None;
        return Err(ChannelError::transient(
            "the socket has been silent for too long",
        ));
    }
    match socket.ping().await {
        Ok(()) => Ok(()),
        Err(error) => gone(sockets, Which::Current, &error),
    }
}

/// Heeds one message of a socket.
async fn heed(
    receiver: &Receiver,
    sockets: &mut Sockets,
    message: SocketMessage,
    answers: &TaskTracker,
    which: Which,
) -> Result<(), ChannelError> {
    let text = match message {
        SocketMessage::Text(text) => text,
        SocketMessage::Binary(_) => return Ok(()),
        SocketMessage::Ping | SocketMessage::Pong => {
            receiver.health.received(0);
            return Ok(());
        }
    };
    match envelope::frame(&text) {
        Frame::Hello { .. } => Ok(()),
        Frame::Unknown { kind } => {
            tracing::debug!(%kind, "ignoring a socket message of an unknown type");
            Ok(())
        }
        Frame::Disconnect { reason } => match reason.as_str() {
            "warning" | "refresh_requested" => {
                if which == Which::Current && sockets.opening.is_none() {
                    sockets.opening = Some(opening(receiver, Duration::ZERO));
                }
                Ok(())
            }
            _ if which == Which::Old => {
                sockets.old = None;
                Ok(())
            }
            _ => Err(disconnected(&reason)),
        },
        Frame::Envelope(envelope) => {
            let says = take(receiver, &envelope, answers).await?;
            let answer = envelope::acknowledgement(&envelope, says.as_deref());
            let socket = match which {
                Which::Current => sockets.current.as_mut(),
                Which::Old => sockets.old.as_mut().map(|(socket, _)| socket),
            };
            if let Some(socket) = socket
                && let Err(error) = socket.send(answer).await
            {
                // Not acknowledged, it comes again and is known then.
                gone(sockets, which, &error)?;
            }
            crate::crash_point!("ack.post");
            Ok(())
        }
    }
}

/// Takes an envelope in; what its acknowledgement says to whoever sent it. An error means: do not acknowledge.
async fn take(
    receiver: &Receiver,
    envelope: &Envelope,
    answers: &TaskTracker,
) -> Result<Option<String>, ChannelError> {
    let needed = items::needed(envelope, &receiver.me);
    let names = receiver.intake.names(needed).await;
    let mut intake = receiver.intake.lock().await;
    let item = items::item(envelope, &receiver.me, &names, &|thread| {
        intake.position.knows(thread)
    });
    let (inbound, mark) = match item {
        Item::New { inbound, mark } => (*inbound, mark),
        Item::Own => {
            receiver.health.received(0);
            return Ok(None);
        }
        Item::Revoked(how) => {
            return Err(ChannelError::fatal(
                format!("the app lost its access to Slack: {how}"),
                format!(
                    "install it again at {APPS} → your app → Install App, and take the new token"
                ),
            ));
        }
    };
    let is_command = envelope.kind == "slash_commands";
    let echo = is_command.then(|| echo(&inbound));
    let click = click_place(&inbound);
    let ingested = intake.take(inbound, mark).await.map_err(|problem| {
        tracing::warn!(%problem, "cannot store an envelope; Slack sends it again");
        receiver
            .health
            .receive_failing(format!("an event could not be stored: {problem}"));
        ChannelError::transient("an event could not be stored")
    })?;
    let feedback = ingested.and_then(|ingested| ingested.feedback);
    if let (Some(place), Some(text)) = (click, feedback) {
        answers.spawn(tell(receiver.api.clone(), place, text));
    }
    Ok(echo)
}

/// What a command's acknowledgement says: what was understood.
fn echo(inbound: &Inbound) -> String {
    let text = match &inbound.body {
        InboundBody::Text { text, .. } => text.as_str(),
        InboundBody::Click { .. } | InboundBody::Media { .. } | InboundBody::Other { .. } => "",
    };
    let shown: String = crate::text::untrusted::reveal_line(text)
        .chars()
        .take(MAX_ECHO)
        .collect();
    format!("Received: {}", mrkdwn::escape(&shown))
}

/// Where and to whom the answer to a click is shown.
fn click_place(inbound: &Inbound) -> Option<(String, String)> {
    match (&inbound.body, &inbound.sender) {
        (InboundBody::Click { .. }, Some(sender)) => {
            Some((inbound.conversation.clone(), sender.id.clone()))
        }
        _ => None,
    }
}

/// Tells one person something that nobody else sees and that does not last.
async fn tell(api: Api, (conversation, user): (String, String), text: String) {
    let (channel, thread) = parse_conversation(&conversation);
    let mut params = json!({ "channel": channel, "user": user, "text": mrkdwn::escape(&text) });
    if let Some(thread) = thread {
        params["thread_ts"] = json!(thread);
    }
    if let Err(error) = api.call("chat.postEphemeral", &params).await {
        tracing::debug!(%error, "cannot show the answer to a click");
    }
}

/// What a failed call means for the connection. `key` names the token that the call used.
pub fn broken(error: &CallError, key: &str) -> ChannelError {
    match error {
        CallError::Refused { name, detail, .. }
            if words::is_about_token(name) || name == "missing_scope" =>
        {
            let fix = match (key, name.as_str()) {
                ("app_token", "missing_scope") => format!(
                    "the app token needs the scope connections:write: make a new one at {APPS} → your app → Basic \
                     Information → App-Level Tokens"
                ),
                ("app_token", _) => format!(
                    "check `app_token`: the app-level token (xapp-…) from {APPS} → your app → Basic Information → \
                     App-Level Tokens"
                ),
                _ => detail.clone(),
            };
            ChannelError::fatal(format!("Slack refuses `{key}` ({name})"), fix)
        }
        CallError::NotSent { .. }
        | CallError::Lost { .. }
        | CallError::Server { .. }
        | CallError::Limited { .. }
        | CallError::Refused { .. } => ChannelError::of_call(error),
    }
}

/// What it means that Slack ends a socket.
fn disconnected(reason: &str) -> ChannelError {
    match reason {
        "link_disabled" => ChannelError::fatal(
            "Socket Mode was switched off for the app",
            format!("switch it on at {APPS} → your app → Socket Mode"),
        ),
        "too_many_websockets" => ChannelError::Transient {
            detail: "Slack counts too many sockets for this app (at most 10): stop other instances; ghost sockets end by \
                     themselves"
                .to_owned(),
            retry_after: Some(TOO_MANY_REST),
        },
        _ => ChannelError::transient("Slack ended the socket"),
    }
}

fn lost(error: &SocketError) -> ChannelError {
    match error {
        SocketError::Refused { status: 429, .. } => ChannelError::Transient {
            detail: error.to_string(),
            retry_after: Some(TOO_MANY_REST),
        },
        SocketError::NotConnected { .. }
        | SocketError::Refused { .. }
        | SocketError::Closed { .. }
        | SocketError::Lost { .. } => ChannelError::transient(error.to_string()),
    }
}
