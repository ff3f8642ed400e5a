//! Which rooms the bot joins: those that an allowed person invites it to, a room for direct messages with somebody new
//! where access can be asked for, and the room that replaces a joined one.
//!
//! Joins go on beside everything else, because a room of a far server can take long. An invite stays at the homeserver
//! until it is answered, so nothing is lost when a join ends half-way.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::channels::health::HealthLog;
use crate::channels::http::CallError;
use crate::channels::intake;
use crate::channels::matrix::api::Api;
use crate::channels::sync::{lock, unless_stopped};
use crate::client::channel_port::ChannelPort;
use crate::clock::backoff::doubled;
use crate::protocol::bridge::{Inbound, Invitation};
use crate::protocol::problem::Problem;
use crate::text::untrusted::reveal_line;

/// Rooms of people who are not known that are joined in an hour.
const STRANGERS: usize = 10;
const HOUR: Duration = Duration::from_hours(1);
/// How often a join is tried.
const TRIES: u32 = 6;
/// The first and the longest wait before the next try.
const REST: Duration = Duration::from_secs(2);
const LONGEST_REST: Duration = Duration::from_mins(5);

/// An invite, as far as it can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invite {
    /// The room.
    pub room: String,
    /// Who invites.
    pub by: String,
    /// Meant for direct messages.
    pub direct: bool,
}

/// What becomes of an invite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// It is accepted.
    Join,
    /// It stays as it is.
    Leave,
}

/// Reads an invite of a sync; none when it does not say who invites.
pub fn invite(room: &str, section: &Value, user: &str) -> Option<Invite> {
    let events = section["invite_state"]["events"].as_array()?;
    let ours = events.iter().rfind(|event| {
        event["type"] == "m.room.member" && event["state_key"].as_str() == Some(user)
    })?;
    Some(Invite {
        room: room.to_owned(),
        by: ours["sender"].as_str()?.to_owned(),
        direct: ours["content"]["is_direct"] == true,
    })
}

/// The item that records an invite.
pub fn record(invite: &Invite, choice: Choice) -> Inbound {
    let (key, done) = match choice {
        Choice::Join => ("join", "accepted"),
        Choice::Leave => (
            "leave",
            "left alone: this person is not on the channel's list",
        ),
    };
    let by: String = reveal_line(&invite.by).chars().take(100).collect();
    intake::event(
        format!("invite:{key}:{}:{}", invite.room, invite.by),
        invite.room.clone(),
        format!("an invite by {by}, {done}"),
    )
}

/// Rooms that we tried to come into.
#[derive(Default)]
struct Begun {
    under_way: HashSet<String>,
    /// The homeserver said no.
    refused: HashSet<String>,
}

/// Decides on invites, and joins.
pub struct Joins {
    api: Api,
    port: Arc<dyn ChannelPort>,
    health: Arc<HealthLog>,
    stop: CancellationToken,
    tasks: TaskTracker,
    begun: Arc<Mutex<Begun>>,
    /// When rooms of people who are not known were joined lately.
    strangers: Mutex<VecDeque<Instant>>,
}

impl Joins {
    /// Joins until `stop`.
    pub fn new(
        api: Api,
        port: Arc<dyn ChannelPort>,
        health: Arc<HealthLog>,
        stop: CancellationToken,
    ) -> Self {
        Self {
            api,
            port,
            health,
            stop,
            tasks: TaskTracker::new(),
            begun: Arc::default(),
            strangers: Mutex::default(),
        }
    }

    /// What becomes of an invite. `awaited`: rooms that replace rooms we are in.
    ///
    /// # Errors
    /// The engine cannot say now who may invite.
    pub async fn choose(
        &self,
        invite: &Invite,
        awaited: &HashMap<String, Option<String>>,
    ) -> Result<Choice, Problem> {
        if awaited.contains_key(&invite.room) || self.begun().under_way.contains(&invite.room) {
            return Ok(Choice::Join);
        }
        let welcome = self
            .port
            .invitation(&invite.by, &invite.room, invite.direct)
            .await?;
        Ok(match welcome {
            Invitation::Accept => Choice::Join,
            Invitation::AcceptToAsk if self.take_stranger(Instant::now()) => Choice::Join,
            Invitation::AcceptToAsk | Invitation::Ignore => Choice::Leave,
        })
    }

    /// Whether one more room of somebody new may be joined now.
    fn take_stranger(&self, now: Instant) -> bool {
        let mut lately = lock(&self.strangers);
        lately.retain(|at| now.duration_since(*at) < HOUR);
        if lately.len() >= STRANGERS {
            return false;
        }
        lately.push_back(now);
        true
    }

    fn begun(&self) -> MutexGuard<'_, Begun> {
        lock(&self.begun)
    }

    /// Joins a room that we are invited to, beside everything else. Does nothing for one that is being joined.
    pub fn accept(&self, room: &str) {
        self.begun().refused.remove(room);
        self.begin(room, None);
    }

    /// Joins a room that replaces one we are in, unless that was refused: then an invite is needed.
    pub fn follow(&self, room: &str, via: Option<String>) {
        if !self.begun().refused.contains(room) {
            self.begin(room, via);
        }
    }

    fn begin(&self, room: &str, via: Option<String>) {
        if !self.begun().under_way.insert(room.to_owned()) {
            return;
        }
        let (api, health, stop) = (
            self.api.clone(),
            Arc::clone(&self.health),
            self.stop.clone(),
        );
        let (room, begun) = (room.to_owned(), Arc::clone(&self.begun));
        self.tasks.spawn(async move {
            let joining = join(&api, &health, &room, via);
            let done = unless_stopped(&stop, joining).await.unwrap_or(true);
            let mut begun = lock(&begun);
            begun.under_way.remove(&room);
            if !done {
                begun.refused.insert(room);
            }
        });
    }

    /// Waits until no join is under way. Call it after `stop`.
    pub async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Whether we are in it.
async fn join(api: &Api, health: &HealthLog, room: &str, via: Option<String>) -> bool {
    let via: Vec<String> = via.into_iter().collect();
    for tried in 1..=TRIES {
        let answer = api.join(room, &via).await;
        health.optional("join", &answer);
        let rest = match answer {
            Ok(_) => return true,
            Err(CallError::Limited { retry_after, .. }) => retry_after,
            Err(CallError::Refused { .. }) => return false,
            Err(CallError::NotSent { .. } | CallError::Lost { .. } | CallError::Server { .. }) => {
                doubled(REST, tried, LONGEST_REST)
            }
        };
        tokio::time::sleep(rest).await;
    }
    false
}
