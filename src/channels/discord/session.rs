//! The gateway as a state machine: each input yields the next action. Nothing here sends, waits or reads a clock.
//!
//! A sequence number counts only after its event was handled: no heartbeat and no resumption claims an event that is
//! not durable. A session that Discord gave up is never resumed.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Guilds, messages of guilds and direct messages, and what they say.
pub const INTENTS: u64 = 1 | 1 << 9 | 1 << 12 | 1 << 15;
/// Connections in a row that tried to resume and did not, before a new session is asked for.
pub const RESUME_TRIES: u32 = 3;
/// Servers that Discord serves over one connection without shards; for more it closes with 4011.
pub const MAX_SERVERS: u32 = 2_500;
/// Our own close codes are of the range that keeps the session.
pub const CLOSE_KEEPING_SESSION: u16 = 4_000;
/// What to do about too many servers.
pub const SERVERS_FIX: &str = "Leverframe does not shard: remove the bot from some servers, or use a bot for each group of servers";
/// Where intents are switched on.
pub const INTENT_FIX: &str = "enable the Message Content intent in the Developer Portal (https://discord.com/developers/applications, \
                              your application → Bot → Privileged Gateway Intents)";
/// Where a token comes from.
pub const TOKEN_FIX: &str = "let `token_env`, `token_file` or `token_command` give the token from the Developer Portal \
                             (https://discord.com/developers/applications, your application → Bot → Reset Token)";

/// What Discord's advice to use several connections means here; none = it advises one.
pub fn shard_advice(answer: &Value) -> Option<String> {
    let shards = answer["shards"].as_u64()?;
    (shards > 1).then(|| {
        format!(
            "Discord recommends {shards} shards, and Leverframe uses one; that works in up to {MAX_SERVERS} servers, \
             and beyond them Discord refuses the connection (4011)"
        )
    })
}

/// What it takes to go on with a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// Where to connect for it.
    pub resume_url: String,
    /// The last event that was handled.
    pub seq: u64,
}

/// What came from the gateway.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    /// Op 10: the time between two heartbeats.
    Hello(Duration),
    /// Op 1: a heartbeat is wanted now.
    HeartbeatWanted,
    /// Op 11.
    HeartbeatAck,
    /// Op 7: connect anew.
    Reconnect,
    /// Op 9; whether the session can still be resumed.
    InvalidSession(bool),
    /// Op 0.
    Dispatch {
        /// Its number; an event without one is handled and not counted.
        seq: Option<u64>,
        /// Its name.
        name: String,
        /// What it says.
        data: Value,
    },
    /// An operation we do not know, or no payload at all.
    Unknown,
}

/// Reads a payload.
pub fn signal(text: &str) -> Signal {
    let Ok(mut payload) = serde_json::from_str::<Value>(text) else {
        return Signal::Unknown;
    };
    let data = payload.get_mut("d").map(Value::take).unwrap_or_default();
    match payload["op"].as_u64() {
        Some(0) => Signal::Dispatch {
            seq: payload["s"].as_u64(),
            name: payload["t"].as_str().unwrap_or_default().to_owned(),
            data,
        },
        Some(1) => Signal::HeartbeatWanted,
        Some(7) => Signal::Reconnect,
        Some(9) => Signal::InvalidSession(data.as_bool() == Some(true)),
        Some(10) => match data["heartbeat_interval"].as_u64() {
            // A heart that races or stands still would be a fault of theirs that hurts us.
            Some(millis) => Signal::Hello(Duration::from_millis(millis.clamp(100, 300_000))),
            None => Signal::Unknown,
        },
        Some(11) => Signal::HeartbeatAck,
        Some(_) | None => Signal::Unknown,
    }
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Start the heart, and send this payload.
    Open(Duration, Payload),
    /// Send this payload.
    Send(Payload),
    /// Note that the gateway answered a heartbeat.
    Alive,
    /// Handle an event, then say so with [`Machine::handled`].
    Handle {
        /// Its number.
        seq: Option<u64>,
        /// Its name.
        name: String,
        /// What it says.
        data: Value,
    },
    /// Pass over it.
    Ignore,
    /// Close the connection.
    Leave(End),
}

/// What is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    /// Op 2.
    Identify,
    /// Op 6.
    Resume(Session),
    /// Op 1.
    Heartbeat(Option<u64>),
}

impl Payload {
    /// As the gateway reads it.
    pub fn text(&self, token: &str) -> String {
        match self {
            Payload::Identify => json!({ "op": 2, "d": {
                "token": token,
                "intents": INTENTS,
                "properties": { "os": std::env::consts::OS, "browser": "leverframe", "device": "leverframe" },
            } }),
            Payload::Resume(session) => json!({ "op": 6, "d": {
                "token": token, "session_id": session.id, "seq": session.seq,
            } }),
            Payload::Heartbeat(seq) => json!({ "op": 1, "d": seq }),
        }
        .to_string()
    }
}

/// How a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Connect again.
    Again {
        /// What happened.
        detail: String,
        /// Discord wants us to rest a moment first.
        rest: bool,
    },
    /// Only a person can mend it.
    Fatal {
        /// What happened.
        detail: String,
        /// What to do.
        fix: String,
    },
}

impl End {
    fn again(detail: impl Into<String>) -> Self {
        Self::Again {
            detail: detail.into(),
            rest: false,
        }
    }

    fn later(detail: &str) -> Self {
        Self::Again {
            detail: detail.to_owned(),
            rest: true,
        }
    }
}

/// Where a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing was said.
    Silent,
    /// We asked for a new session.
    Identifying,
    /// We asked for what we missed.
    Resuming,
    /// It is our session.
    Ready,
}

/// One connection after the other of one account.
#[derive(Debug, Clone)]
pub struct Machine {
    session: Option<Session>,
    phase: Phase,
    /// A heartbeat was sent that was not answered yet.
    unanswered: bool,
    /// Connections in a row that tried to resume and did not.
    failed_resumes: u32,
}

impl Machine {
    /// One that goes on with this session, if there is one. `failed_resumes`: of connections before this machine.
    pub fn new(session: Option<Session>, failed_resumes: u32) -> Self {
        let session = session.filter(|_| failed_resumes < RESUME_TRIES);
        Self {
            failed_resumes: if session.is_some() { failed_resumes } else { 0 },
            session,
            phase: Phase::Silent,
            unanswered: false,
        }
    }

    /// The session it goes on with.
    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Connections in a row that tried to resume and did not.
    pub fn failed_resumes(&self) -> u32 {
        self.failed_resumes
    }

    /// Whether the session is ours, and what comes is what happens.
    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// A payload came.
    pub fn on(&mut self, signal: Signal) -> Step {
        match signal {
            Signal::Hello(interval) if self.phase == Phase::Silent => {
                let payload = match self.session.clone() {
                    Some(session) => {
                        self.phase = Phase::Resuming;
                        self.failed_resumes = self.failed_resumes.saturating_add(1);
                        Payload::Resume(session)
                    }
                    None => {
                        self.phase = Phase::Identifying;
                        Payload::Identify
                    }
                };
                Step::Open(interval, payload)
            }
            Signal::Hello(_) | Signal::Unknown => Step::Ignore,
            Signal::HeartbeatWanted => Step::Send(Payload::Heartbeat(self.seq())),
            Signal::HeartbeatAck => {
                self.unanswered = false;
                Step::Alive
            }
            Signal::Reconnect => Step::Leave(End::again("Discord asked to connect anew")),
            Signal::InvalidSession(true) => {
                Step::Leave(End::later("Discord asked to resume the session anew"))
            }
            Signal::InvalidSession(false) => {
                self.forget();
                Step::Leave(End::later("Discord gave the session up"))
            }
            Signal::Dispatch { seq, name, data } => Step::Handle { seq, name, data },
        }
    }

    /// It is time for a heartbeat.
    pub fn beat(&mut self) -> Step {
        if std::mem::replace(&mut self.unanswered, true) {
            return Step::Leave(End::again(
                "Discord did not answer a heartbeat, so the connection is dead",
            ));
        }
        Step::Send(Payload::Heartbeat(self.seq()))
    }

    /// A new session is there.
    pub fn began(&mut self, session: Session) {
        self.session = Some(session);
        self.resumed();
    }

    /// The session goes on, and what was missed has come.
    pub fn resumed(&mut self) {
        self.phase = Phase::Ready;
        self.failed_resumes = 0;
    }

    /// An event is durable, or needs not to be.
    pub fn handled(&mut self, seq: Option<u64>) {
        if let (Some(session), Some(seq)) = (&mut self.session, seq) {
            session.seq = session.seq.max(seq);
        }
    }

    /// The connection closed, with this code if with one.
    pub fn closed(&mut self, code: Option<u16>) -> End {
        let fatal = |detail: &str, fix: &str| End::Fatal {
            detail: detail.to_owned(),
            fix: fix.to_owned(),
        };
        match code {
            Some(4004) => fatal("Discord does not accept the bot token", TOKEN_FIX),
            Some(4010) => fatal(
                "Discord does not accept our shard",
                "update Leverframe: it asks for none",
            ),
            Some(4011) => fatal(
                &format!(
                    "the bot is in more servers than one connection may serve ({MAX_SERVERS}; close code 4011)"
                ),
                SERVERS_FIX,
            ),
            Some(4012) => fatal(
                "Discord does not speak version 10 of its gateway any more",
                "update Leverframe",
            ),
            Some(4013) => fatal("Discord does not know our intents", "update Leverframe"),
            Some(4014) => fatal(
                "Discord does not let the bot read what people write",
                INTENT_FIX,
            ),
            // 1000 and 1001 end a session; the others say that it is gone.
            Some(code @ (1000 | 1001 | 4003 | 4007 | 4009)) => {
                self.forget();
                End::again(format!("Discord ended the session (close code {code})"))
            }
            Some(4008) => End::later(
                "Discord closed the connection, because too much was sent (close code 4008)",
            ),
            Some(code) => End::again(format!("Discord closed the connection (close code {code})")),
            None => End::again("the connection to Discord broke off"),
        }
    }

    fn forget(&mut self) {
        self.session = None;
        self.failed_resumes = 0;
    }

    fn seq(&self) -> Option<u64> {
        // Before a session is ours, its number says nothing to this connection.
        match self.phase {
            Phase::Silent | Phase::Identifying => None,
            Phase::Resuming | Phase::Ready => self.session.as_ref().map(|session| session.seq),
        }
    }
}
