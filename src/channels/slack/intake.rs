//! The one intake of live events and histories: one item at a time, each with the position after it.
//!
//! No position is stored with an item before everything that it says is known is durable.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard};

use crate::channels::health::HealthLog;
use crate::channels::intake;
use crate::channels::slack::api::Api;
use crate::channels::slack::directory::Directory;
use crate::channels::slack::plain::Names;
use crate::channels::slack::position::Position;
use crate::client::channel_port::ChannelPort;
use crate::protocol::bridge::{Inbound, Ingestion};
use crate::protocol::problem::Problem;

/// Keys that are remembered: a message and its mention come within moments of each other.
const REMEMBERED: usize = 2_000;

/// The door.
pub struct Intake {
    api: Api,
    directory: Arc<Directory>,
    health: Arc<HealthLog>,
    door: Mutex<Door>,
}

/// What only one holds at a time.
pub struct Door {
    port: Arc<dyn ChannelPort>,
    health: Arc<HealthLog>,
    account: String,
    /// Where the account is in its conversations.
    pub position: Position,
    seen: HashSet<String>,
    order: VecDeque<String>,
}

impl Intake {
    /// For an account that goes on at `position`.
    pub fn new(
        api: Api,
        directory: Arc<Directory>,
        (port, health): (Arc<dyn ChannelPort>, Arc<HealthLog>),
        account: String,
        position: Position,
    ) -> Self {
        Self {
            api,
            directory,
            health: Arc::clone(&health),
            door: Mutex::new(Door {
                port,
                health,
                account,
                position,
                seen: HashSet::new(),
                order: VecDeque::new(),
            }),
        }
    }

    /// The names that an item needs.
    pub async fn names(&self, needed: (Vec<String>, Vec<String>)) -> Names {
        self.directory.names(&self.api, &self.health, needed).await
    }

    /// Waits for the turn of the next item.
    pub async fn lock(&self) -> MutexGuard<'_, Door> {
        self.door.lock().await
    }
}

impl Door {
    /// Takes an item in. None: there is nothing new in it, or it can never be taken in. An error means: it is not
    /// stored.
    pub async fn take(
        &mut self,
        inbound: Inbound,
        mark: Option<(String, String)>,
    ) -> Result<Option<Ingestion>, Problem> {
        self.take_after(inbound, |position| {
            if let Some((conversation, at)) = &mark {
                position.arrived(conversation, at);
            }
        })
        .await
    }

    /// The same for a message of a history that is read in order. `mark` is that of another conversation.
    pub async fn take_missed(
        &mut self,
        inbound: Inbound,
        (conversation, at): (&str, &str),
        mark: Option<(String, String)>,
    ) -> Result<Option<Ingestion>, Problem> {
        self.take_after(inbound, |position| {
            position.caught_up_to(conversation, at);
            if let Some((other, at)) = &mark {
                position.arrived(other, at);
            }
        })
        .await
    }

    async fn take_after(
        &mut self,
        mut inbound: Inbound,
        move_on: impl FnOnce(&mut Position) + Send,
    ) -> Result<Option<Ingestion>, Problem> {
        let key = inbound.dedupe_key.clone();
        let before = self.position.clone();
        move_on(&mut self.position);
        if self.seen.contains(&key) {
            self.health.received(0);
            return Ok(None);
        }
        inbound.cursor = Some(self.position.text());
        let taken = intake::take_in(self.port.as_ref(), &self.health, &self.account, inbound).await;
        match taken {
            Ok(taken) => {
                self.health.received(1);
                self.remember(key);
                Ok(taken)
            }
            Err(problem) => {
                self.position = before;
                Err(problem)
            }
        }
    }

    fn remember(&mut self, key: String) {
        if self.order.len() >= REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        self.order.push_back(key.clone());
        self.seen.insert(key);
    }
}
