//! The engine as a bridge sees it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::watch;

use crate::client::bridge_health::BridgeHealth;
use crate::client::channel_port::{ChannelPort, CheckRequest, Lease};
use crate::engine::core::Engine;
use crate::engine::delivery::{HeldPart, Link};
use crate::engine::inbound_files;
use crate::protocol::artifact::ArtifactHash;
use crate::protocol::bridge::{
    AccountState, Delivery, FetchedFile, FileRequest, Inbound, Ingestion, Invitation, Outbound,
    ProgressMessage, SendOutcome, ShownProgress,
};
use crate::protocol::channel::ChannelCapabilities;
use crate::protocol::ids::{ContinuationId, OutboxId};
use crate::protocol::problem::Problem;
use crate::store::commands::record_progress::RecordProgress;

/// One channel of the engine, for its bridge and the bridge's supervisor.
pub struct ChannelHandle {
    engine: Engine,
    channel: String,
    link: Arc<Link>,
    health: BridgeHealth,
    typing: Mutex<broadcast::Receiver<String>>,
    pauses: Mutex<watch::Receiver<bool>>,
}

impl ChannelHandle {
    /// The handle of a channel. A channel has one.
    pub fn new(engine: Engine, channel: String) -> Self {
        let link = engine.delivery.link(&channel);
        let (told, name) = (engine.clone(), channel.clone());
        Self {
            health: BridgeHealth::new(move |mut health, account| {
                // A bridge may quote what somebody else's program says.
                health.detail = health
                    .detail
                    .map(|detail| told.redactor.redact(&detail).into_owned());
                told.report_health(&name, health, account);
            }),
            typing: Mutex::new(link.typing()),
            pauses: Mutex::new(link.pauses()),
            engine,
            channel,
            link,
        }
    }
}

#[async_trait]
impl ChannelPort for ChannelHandle {
    fn channel(&self) -> &str {
        &self.channel
    }

    fn set_capabilities(&self, capabilities: ChannelCapabilities) {
        self.link.set_capabilities(capabilities);
    }

    async fn account_state(&self) -> Result<AccountState, Problem> {
        let channel = self.channel.clone();
        let (cursor, paused) = self
            .engine
            .store
            .read(move |reader| reader.account(&channel))
            .await?;
        Ok(AccountState { cursor, paused })
    }

    async fn invitation(
        &self,
        user: &str,
        conversation: &str,
        direct: bool,
    ) -> Result<Invitation, Problem> {
        let engine = self.engine.current();
        engine
            .invitation(&self.channel, user, conversation, direct)
            .await
    }

    async fn ingest(&self, inbound: Inbound) -> Result<Ingestion, Problem> {
        let engine = self.engine.current();
        engine.ingest(&self.channel, inbound).await
    }

    async fn settled_answer(
        &self,
        turn: Option<ContinuationId>,
        message_ref: &str,
    ) -> Result<Option<Vec<Outbound>>, Problem> {
        let engine = self.engine.current();
        engine
            .settled_answer(&self.channel, turn, message_ref)
            .await
    }

    async fn next(&self) -> Result<Box<dyn Lease>, Problem> {
        let (part, held) = self.engine.next_outbox(&self.channel).await?;
        Ok(Box::new(PartLease {
            engine: self.engine.clone(),
            link: Arc::clone(&self.link),
            channel: self.channel.clone(),
            part,
            held: Some(held),
            stage: Stage::Waiting,
        }))
    }

    async fn next_look_up(&self, asked: &HashMap<OutboxId, u32>) -> Result<Outbound, Problem> {
        self.engine.next_look_up(&self.channel, asked).await
    }

    async fn end_look_up(
        &self,
        id: OutboxId,
        attempt: u32,
        delivery: Delivery,
    ) -> Result<(), Problem> {
        self.engine.end_look_up(id, attempt, delivery).await
    }

    async fn next_file(&self) -> Result<FileRequest, Problem> {
        inbound_files::next(&self.engine, &self.link, &self.channel).await
    }

    async fn put_file(&self, id: i64, file: FetchedFile) -> Result<(), Problem> {
        inbound_files::put(&self.engine.current(), &self.channel, id, file).await
    }

    async fn file_content(&self, hash: ArtifactHash) -> Result<Vec<u8>, Problem> {
        let content = self.engine.store.artifact_content(hash).await;
        content.map_err(Problem::from)
    }

    fn health(&self) -> &BridgeHealth {
        &self.health
    }

    async fn next_typing(&self) -> String {
        let mut typing = self.typing.lock().await;
        loop {
            match typing.recv().await {
                Ok(conversation) => return conversation,
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => std::future::pending::<()>().await,
            }
        }
    }

    async fn next_progress(&self) -> ProgressMessage {
        self.link.next_progress().await
    }

    async fn record_progress(
        &self,
        id: ContinuationId,
        message_ref: Option<String>,
    ) -> Result<(), Problem> {
        let record = RecordProgress {
            continuation_id: id,
            message_ref,
        };
        self.engine.store.write(record).await.map_err(Problem::from)
    }

    async fn shown_progress(&self) -> Result<Vec<ShownProgress>, Problem> {
        let channel = self.channel.clone();
        self.engine
            .store
            .read(move |reader| reader.shown_progress(&channel))
            .await
            .map_err(Problem::from)
    }

    async fn next_check(&self) -> CheckRequest {
        self.link.next_check().await
    }

    async fn pause_changed(&self) -> bool {
        let mut pauses = self.pauses.lock().await;
        if pauses.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        *pauses.borrow_and_update()
    }
}

/// How far a part has come.
enum Stage {
    /// Handed out.
    Waiting,
    /// Its intent is being recorded; nothing was sent.
    Beginning,
    /// Being sent, since then.
    Sending(Instant),
    /// Its end is recorded.
    Finished,
}

/// A part of the outbox in the hands of a bridge.
struct PartLease {
    engine: Engine,
    link: Arc<Link>,
    channel: String,
    part: Outbound,
    /// Nobody else gets the part while this lives: it goes last, after every record.
    held: Option<HeldPart>,
    stage: Stage,
}

#[async_trait]
impl Lease for PartLease {
    fn part(&self) -> &Outbound {
        &self.part
    }

    async fn begin(&mut self) -> Result<(), Problem> {
        match self.stage {
            Stage::Waiting => {}
            // Whoever begins twice would send twice.
            Stage::Beginning | Stage::Sending(_) | Stage::Finished => {
                let detail = format!("{} was begun before", self.part.id);
                return Err(Problem::internal(detail));
            }
        }
        self.stage = Stage::Beginning;
        let begun = self.engine.begin_send(&self.link, self.part.id).await;
        self.stage = match &begun {
            Ok(()) => Stage::Sending(Instant::now()),
            Err(_) => Stage::Waiting,
        };
        begun
    }

    async fn finish(&mut self, outcome: SendOutcome) -> Result<(), Problem> {
        let begun = match self.stage {
            Stage::Sending(begun) => begun,
            Stage::Waiting | Stage::Beginning | Stage::Finished => {
                let detail = format!("{} is not being sent", self.part.id);
                return Err(Problem::internal(detail));
            }
        };
        let metrics = self.engine.store.metrics();
        metrics.send_took(&self.channel, begun.elapsed());
        self.engine.end_send(self.part.id, outcome).await?;
        self.stage = Stage::Finished;
        Ok(())
    }
}

impl Drop for PartLease {
    fn drop(&mut self) {
        let (id, engine) = (self.part.id, self.engine.clone());
        let held = self.held.take();
        let is_sending = match self.stage {
            Stage::Waiting | Stage::Finished => return,
            // The intent may be on disk.
            Stage::Beginning => false,
            Stage::Sending(_) => true,
        };
        // Without a runtime the process ends, and recovery settles the part.
        if tokio::runtime::Handle::try_current().is_ok() {
            self.engine.spawn(async move {
                if is_sending {
                    engine.lose_send(id).await;
                } else {
                    engine.take_back_send(id).await;
                }
                drop(held);
            });
        }
    }
}
