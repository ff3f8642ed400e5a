//! Reads what a program says while it runs: answers, items to be stored, and the state of its platform.
//!
//! No line ends a run except one that is too long: an invalid line is skipped and shown.

use std::sync::{Arc, Mutex};

use tokio::io::AsyncRead;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::channels::health::HealthLog;
use crate::channels::process::decode::{self, Line};
use crate::channels::process::greeting::said;
use crate::channels::process::inbound::ToStore;
use crate::channels::process::lines::Lines;
use crate::channels::process::session::Session;
use crate::channels::process::wire::{ProgramMessage, ProgramState};
use crate::channels::sync::lock;

/// How a run of a program ended.
pub enum End {
    /// Its standard output is closed.
    Ended,
    /// It cannot be talked to.
    Broken(String),
    /// It says that a person must change something.
    Failed {
        /// What happened.
        detail: String,
        /// What to do.
        fix: String,
    },
}

/// Reads one program.
pub struct Reader {
    /// Who waits for answers.
    pub session: Arc<Session>,
    /// Where exchanges are noted.
    pub health: Arc<HealthLog>,
    /// Items on their way to the store.
    pub items: mpsc::Sender<ToStore>,
    /// The account that they belong to.
    pub account: String,
    /// What people call the account. Shown from the first exchange on: a hello reaches no platform.
    pub name: String,
    /// When it last said anything.
    pub heard: Arc<Mutex<Instant>>,
}

impl Reader {
    /// Reads until the end.
    pub async fn run<R: AsyncRead + Unpin>(self, mut lines: Lines<R>) -> End {
        let mut is_well = true;
        loop {
            let line = match lines.next().await {
                Ok(Some(line)) => decode::line(&line),
                Ok(None) => return End::Ended,
                Err(error) => return End::Broken(error.to_string()),
            };
            *lock(&self.heard) = Instant::now();
            let message = match line {
                Line::Blank => continue,
                Line::Unknown(kind) => {
                    tracing::info!(%kind, "ignoring a message of an unknown type");
                    continue;
                }
                Line::Unfit { why, item } => {
                    tracing::warn!(%why, "ignoring a line of a bridge's program");
                    if let Some((key, cursor)) = item {
                        let item = decode::other(&self.account, key, cursor, why.clone());
                        self.store(item).await;
                    }
                    self.health.skipped(why);
                    continue;
                }
                Line::Message(message) => *message,
            };
            match message {
                ProgramMessage::Hello(_) => {
                    self.health.skipped("a second `hello`".to_owned());
                }
                ProgramMessage::Health { state, detail, fix } => match state {
                    ProgramState::Connected => {
                        is_well = true;
                        self.well();
                    }
                    ProgramState::Degraded => {
                        is_well = false;
                        self.health.receive_failing(said(
                            &detail,
                            "its program says that the platform does not answer",
                        ));
                    }
                    ProgramState::Failed => return End::Failed { detail, fix },
                },
                // Where it said that the platform does not answer, only `connected` takes that back.
                ProgramMessage::Pong { .. } => {
                    if is_well {
                        self.well();
                    }
                }
                ProgramMessage::Sent { id, .. }
                | ProgramMessage::Failed { id, .. }
                | ProgramMessage::Retry { id, .. }
                | ProgramMessage::Unknown { id, .. }
                | ProgramMessage::NotSent { id }
                | ProgramMessage::Fetched { id, .. } => {
                    if !self.session.answer(id, message) {
                        tracing::warn!(id, "ignoring an answer to no open request");
                    }
                }
                ProgramMessage::Message(_)
                | ProgramMessage::Click { .. }
                | ProgramMessage::Other { .. } => {
                    if let Some(item) = decode::inbound(&self.account, message) {
                        self.store(item).await;
                    }
                }
            }
        }
    }

    /// The platform answers.
    fn well(&self) {
        self.health.known_as(self.name.clone());
        self.health.received(0);
    }

    /// Waits where too many wait already: the pipe holds the rest back.
    async fn store(&self, item: ToStore) {
        // Nobody takes it any more: the run ends.
        let _ = self.items.send(item).await;
    }
}
