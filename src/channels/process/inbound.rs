//! Items of a program, to the store: one after the other, each acknowledged once it is durable.
//!
//! No cursor passes an item that cannot be stored: the item keeps its place, and no program has to send one twice.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::channels::health::HealthLog;
use crate::channels::intake::take_in;
use crate::channels::process::session::Session;
use crate::channels::process::wire::BridgeMessage;
use crate::client::channel_port::ChannelPort;
use crate::protocol::bridge::{Inbound, InboundBody};

/// Rest after an item could not be stored.
const REST: Duration = Duration::from_secs(1);

/// An item, with its key as the program knows it.
pub type ToStore = (String, Inbound);

/// Stores what one program brings.
pub struct Intake {
    /// Engine side.
    pub port: Arc<dyn ChannelPort>,
    /// Where exchanges are noted.
    pub health: Arc<HealthLog>,
    /// Where the program hears of it.
    pub session: Arc<Session>,
    /// The account that the items belong to.
    pub account: String,
}

impl Intake {
    /// Stores until nothing comes any more.
    pub async fn run(self, mut items: mpsc::Receiver<ToStore>) {
        while let Some((key, inbound)) = items.recv().await {
            let is_message = !matches!(inbound.body, InboundBody::Other { .. });
            let ack = loop {
                let taken = take_in(
                    self.port.as_ref(),
                    &self.health,
                    &self.account,
                    inbound.clone(),
                );
                match taken.await {
                    Ok(Some(ingestion)) => {
                        break BridgeMessage::Ack {
                            key,
                            disposition: ingestion.disposition.as_str().to_owned(),
                            repeated: ingestion.repeated,
                            feedback: ingestion.feedback,
                        };
                    }
                    Ok(None) => {
                        break BridgeMessage::Ack {
                            key,
                            disposition: "skipped".to_owned(),
                            repeated: false,
                            feedback: None,
                        };
                    }
                    Err(problem) => {
                        tracing::warn!(%problem, "cannot store an inbound item; trying again");
                        self.health.receive_failing(format!(
                            "messages cannot be stored, so they wait: {problem}"
                        ));
                        tokio::time::sleep(REST).await;
                    }
                }
            };
            self.health.received(usize::from(is_message));
            self.session.tell(&ack).await;
        }
    }
}
