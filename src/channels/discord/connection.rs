//! One connection to the gateway. An event is durable before it is counted; nothing else is counted.
//!
//! No number leaves for Discord, in a heartbeat or a resumption, before the event it belongs to is stored.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::channels::channel::ChannelError;
use crate::channels::discord::api::Api;
use crate::channels::discord::catch_up::{self, CatchUpItem};
use crate::channels::discord::events::{self, Event, Me};
use crate::channels::discord::fields;
use crate::channels::discord::interactions;
use crate::channels::discord::names::Names;
use crate::channels::discord::position::Position;
use crate::channels::discord::session::{self, End, Machine, Payload, Session, Step};
use crate::channels::fields::{text_at, word};
use crate::channels::health::HealthLog;
use crate::channels::intake;
use crate::channels::sync::{lock, or_never, unless_stopped};
use crate::channels::websocket::{Socket, SocketError, SocketMessage};
use crate::client::channel_port::ChannelPort;
use crate::clock::backoff::{doubled, jitter};
use crate::protocol::bridge::Inbound;

/// Longest wait for the gateway's first word.
const HELLO_WITHIN: Duration = Duration::from_secs(20);
/// CatchUpItem messages that wait to be stored.
const FOUND: usize = 100;
/// After so many messages the health says how many were taken in.
const TOLD_EVERY: usize = 100;
/// The first pause before missed messages are asked for once more, and the longest.
const ASK_AGAIN: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(1));

/// What outlives a connection and is no part of the cursor: it only saves useless tries.
#[derive(Debug, Default)]
pub struct Memory {
    /// A session that Discord gave up.
    pub dead: Option<String>,
    /// Connections in a row that tried to resume and did not.
    pub failed_resumes: u32,
    /// Up to which message each channel was read while missed ones were asked for: a connection that breaks meanwhile
    /// does not make the next one begin anew.
    pub read_to: BTreeMap<u64, u64>,
}

/// What the connection works with.
pub struct Gateway {
    /// Platform side.
    pub api: Api,
    /// Engine side.
    pub port: Arc<dyn ChannelPort>,
    /// Where exchanges are noted.
    pub health: Arc<HealthLog>,
    /// Who we are.
    pub me: Me,
    /// Longest time to connect.
    pub connect_timeout: Duration,
    /// What earlier connections learned.
    pub memory: Arc<Mutex<Memory>>,
}

/// Why a connection is left.
pub enum ConnectionEnd {
    /// The gateway or the machine says so.
    End(End),
    /// What came could not be stored.
    Store(ChannelError),
}

/// A connection that is open.
pub struct Connection<'a> {
    /// Of which account.
    pub gateway: &'a Gateway,
    /// The socket.
    pub socket: Socket,
    /// Since when the session is ours.
    pub ready_at: Option<Instant>,
    /// Where the account is.
    pub position: &'a mut Position,
    /// What channels are called.
    pub names: &'a mut Names,
    /// What goes on beside.
    pub answers: &'a TaskTracker,
    /// Messages that came while no session was ours, while they are asked for.
    pub found: Option<mpsc::Receiver<CatchUpItem>>,
    /// How many of them were taken in.
    pub missed: usize,
}

impl Connection<'_> {
    /// Serves it until it ends; none = stopped.
    pub async fn serve(
        &mut self,
        machine: &mut Machine,
        stop: &CancellationToken,
    ) -> Option<ConnectionEnd> {
        let mut heart: Option<tokio::time::Interval> = None;
        let hello_until = Instant::now() + HELLO_WITHIN;
        // Ends what was asked for with the connection.
        let asking = stop.child_token();
        let _asking = asking.clone().drop_guard();
        loop {
            let beat = async {
                match &mut heart {
                    Some(heart) => {
                        heart.tick().await;
                    }
                    None => tokio::time::sleep_until(hello_until).await,
                }
            };
            let found = or_never(self.found.as_mut().map(mpsc::Receiver::recv));
            // In no order: a flood of events may not keep a heartbeat, nor a heartbeat the answer to the last one.
            let step = tokio::select! {
                () = stop.cancelled() => return None,
                () = beat => match heart {
                    Some(_) => machine.beat(),
                    None => {
                        return Some(ConnectionEnd::End(machine.closed(None)));
                    }
                },
                message = self.socket.next() => match message {
                    Ok(SocketMessage::Text(text)) => machine.on(session::signal(&text)),
                    Ok(SocketMessage::Binary(_) | SocketMessage::Ping | SocketMessage::Pong) => Step::Ignore,
                    Err(SocketError::Closed { code, .. }) => Step::Leave(machine.closed(code)),
                    Err(error) => {
                        tracing::debug!(%error, "the gateway closed the connection");
                        Step::Leave(machine.closed(None))
                    }
                },
                found = found => match self.take_found(found).await {
                    Ok(()) => continue,
                    Err(left) => return Some(left),
                },
            };
            let payload = match step {
                Step::Ignore => continue,
                Step::Leave(end) => return Some(ConnectionEnd::End(end)),
                Step::Alive => {
                    if machine.is_ready() {
                        self.gateway.health.received(0);
                    }
                    continue;
                }
                Step::Handle { seq, name, data } => {
                    match self.handle(machine, &asking, seq, &name, &data).await {
                        Ok(()) => continue,
                        Err(left) => return Some(left),
                    }
                }
                Step::Open(interval, payload) => {
                    let first = Instant::now() + interval.mul_f64(jitter());
                    let mut beats = tokio::time::interval_at(first, interval);
                    // After a long write there is one heartbeat to send, and not all that were missed.
                    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
                    heart = Some(beats);
                    payload
                }
                Step::Send(payload) => payload,
            };
            if let Err(error) = self.send(&payload).await {
                tracing::debug!(%error, "the gateway accepts no data");
                return Some(ConnectionEnd::End(machine.closed(None)));
            }
        }
    }

    async fn send(&mut self, payload: &Payload) -> Result<(), SocketError> {
        let text = payload.text(self.gateway.api.token().expose());
        self.socket.send(text).await
    }

    /// Handles an event: stores what it brings, and then counts it.
    async fn handle(
        &mut self,
        machine: &mut Machine,
        asking: &CancellationToken,
        seq: Option<u64>,
        name: &str,
        data: &Value,
    ) -> Result<(), ConnectionEnd> {
        self.names.note(name, data);
        match name {
            "READY" => return self.ready(machine, asking, seq, data).await,
            "RESUMED" => {
                machine.resumed();
                machine.handled(seq);
                // The process is new: nobody said yet what channels are called.
                let names = self.names.is_empty();
                self.well(asking, names);
                return Ok(());
            }
            _ => {}
        }
        let session = machine.session().map_or("", |session| session.id.as_str());
        let key = format!(
            "event:{}:{}:{}",
            word(name),
            word(session),
            seq.unwrap_or(0)
        );
        if let Some(event) = events::decode(name, data, &self.gateway.me, self.names, &key) {
            self.store(event, seq).await?;
        }
        machine.handled(seq);
        // What brings nothing is counted for this connection only: after a restart it may come again.
        self.position.count(seq);
        Ok(())
    }

    /// A new session. It is stored like a message, so that a restart goes on with it.
    async fn ready(
        &mut self,
        machine: &mut Machine,
        asking: &CancellationToken,
        seq: Option<u64>,
        data: &Value,
    ) -> Result<(), ConnectionEnd> {
        let again = |detail: &str| {
            ConnectionEnd::End(End::Again {
                detail: detail.to_owned(),
                rest: true,
            })
        };
        let (Some(id), Some(resume_url)) = (
            text_at(data, "/session_id"),
            text_at(data, "/resume_gateway_url"),
        ) else {
            return Err(again("Discord's answer does not name the session"));
        };
        if fields::id(data, "/user/id").is_some_and(|id| id != self.gateway.me.id) {
            return Err(again("the session is that of another bot"));
        }
        let session = Session {
            id: id.to_owned(),
            resume_url: resume_url.to_owned(),
            seq: seq.unwrap_or(0),
        };
        let mut next = self.position.clone();
        next.begin(session.clone());
        let what = "a session of the gateway began";
        let mut inbound = intake::event(format!("session:{}", word(id)), "", what);
        inbound.cursor = next.cursor();
        self.take_in(inbound).await?;
        *self.position = next;
        machine.began(session);
        self.well(asking, false);
        Ok(())
    }

    /// The session is ours, and what comes from now on is what happens.
    fn well(&mut self, asking: &CancellationToken, names: bool) {
        self.ready_at = Some(Instant::now());
        let (health, me) = (&self.gateway.health, &self.gateway.me);
        health.known_as(format!("@{}", me.username));
        health.received(0);
        let after = self.position.missing_after();
        if names || after.is_some() {
            self.ask(asking, after);
        }
    }

    /// Stores what an event brings with the position after it, then answers whoever waits.
    async fn store(&mut self, event: Event, seq: Option<u64>) -> Result<(), ConnectionEnd> {
        let mut next = self.position.clone();
        next.count(seq);
        if let Some(seen) = event.seen {
            next.saw(seen.message, seen.channel, seen.is_direct);
        }
        let inbound = Inbound {
            cursor: next.cursor(),
            ..event.inbound
        };
        let feedback = self.take_in(inbound).await?;
        *self.position = next;
        self.gateway.health.received(1);
        if let (Some(interaction), Some(feedback)) = (event.interaction, feedback) {
            self.answers.spawn(interactions::answer(
                self.gateway.api.clone(),
                Arc::clone(&self.gateway.health),
                interaction,
                feedback,
            ));
        }
        Ok(())
    }

    /// Takes an item in: none = it was skipped, else what its sender is told.
    async fn take_in(&mut self, inbound: Inbound) -> Result<Option<Option<String>>, ConnectionEnd> {
        let gateway = self.gateway;
        let account = gateway.me.id.to_string();
        let taken =
            intake::take_in(gateway.port.as_ref(), &gateway.health, &account, inbound).await;
        match taken {
            Ok(ingestion) => Ok(ingestion.map(|ingestion| ingestion.feedback)),
            Err(problem) => {
                let detail =
                    format!("messages cannot be stored, so they stay at Discord: {problem}");
                tracing::warn!(%problem, "cannot store an event; Discord sends it again");
                gateway.health.receive_failing(detail.clone());
                Err(ConnectionEnd::Store(ChannelError::transient(detail)))
            }
        }
    }

    /// Asks what channels are called, and for what came after a message while no session was ours.
    fn ask(&mut self, asking: &CancellationToken, after: Option<u64>) {
        let (sender, found) = mpsc::channel(FOUND);
        self.found = Some(found);
        self.missed = 0;
        let (api, health) = (self.gateway.api.clone(), Arc::clone(&self.gateway.health));
        let (direct, asking) = (self.position.direct().to_vec(), asking.clone());
        let memory = Arc::clone(&self.gateway.memory);
        let ask = async move {
            let mut failures = 0;
            loop {
                let read_to = lock(&memory).read_to.clone();
                let asked = catch_up::run(&api, after, &direct, &read_to, &sender).await;
                health.optional("asking for missed messages", &asked);
                let Err(error) = asked else { return };
                failures += 1;
                let limited = error.retry_after().unwrap_or_default();
                let pause = doubled(ASK_AGAIN.0, failures, ASK_AGAIN.1);
                tokio::time::sleep(pause.max(limited)).await;
            }
        };
        self.answers
            .spawn(async move { unless_stopped(&asking, ask).await });
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        lock(&self.gateway.memory)
    }

    async fn take_found(&mut self, found: Option<CatchUpItem>) -> Result<(), ConnectionEnd> {
        match found {
            Some(CatchUpItem::Message(message)) => {
                let (me, names) = (&self.gateway.me, &*self.names);
                let key = "found:0";
                if let Some(event) = events::decode("MESSAGE_CREATE", &message, me, names, key) {
                    let seen = event.seen.map(|seen| seen.message);
                    if seen.is_some_and(|message| !self.position.remembers(message)) {
                        self.store(event, None).await?;
                    }
                }
                let place = fields::id(&message, "/channel_id").zip(fields::id(&message, "/id"));
                if let Some((channel, message)) = place {
                    self.memory().read_to.insert(channel, message);
                }
                self.missed += 1;
                if self.missed.is_multiple_of(TOLD_EVERY) {
                    let health = &self.gateway.health;
                    health.reading_missed(Some((self.missed, None)));
                }
                Ok(())
            }
            Some(CatchUpItem::Server(server)) => {
                self.names.note("GUILD_CREATE", &server);
                Ok(())
            }
            Some(CatchUpItem::End { left }) => {
                self.position.caught_up();
                self.memory().read_to.clear();
                self.found = None;
                self.gateway.health.reading_missed(None);
                if left > 0 {
                    self.gateway.health.skipped(format!(
                        "{left} channels had more than {} messages while the bot was away; the newer ones were not read",
                        catch_up::MAX_MESSAGES
                    ));
                }
                Ok(())
            }
            // It is not asked for any more.
            None => {
                self.found = None;
                Ok(())
            }
        }
    }
}
