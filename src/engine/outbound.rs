//! What a bridge takes from the outbox, one part at a time, in order. While the engine is held, only what it says
//! about itself.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::clock::Timestamp;
use crate::engine::approvals::{self, Ask, Origin};
use crate::engine::core::{BridgeState, Engine, lock};
use crate::engine::probe;
use crate::engine::problem::from_store;
use crate::engine::query::channel_view;
use crate::protocol::approval::{Preview, Requester};
use crate::protocol::bridge::{CardButton, Delivery, Outbound, OutboundBody, SendOutcome};
use crate::protocol::channel::{ChannelCapabilities, ChannelHealth, SendIdempotency};
use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::OutboxId;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::words::{ApprovalKind, OutboxClass, Risk};
use crate::store::commands::begin_send::{BeginSend, BeginSendOutcome};
use crate::store::commands::drop_stale::DropStale;
use crate::store::commands::end_look_up::{EndLookUp, Found};
use crate::store::commands::end_send::{EndSend, SendOutcome as StoredOutcome};
use crate::store::error::StoreError;
use crate::store::queries::outbox::{NextOutbox, OutboxRow};

/// The part of a conversation key that the platform knows; what follows `#` tells senders apart.
pub fn platform_conversation(conversation: &str) -> &str {
    conversation
        .split_once('#')
        .map_or(conversation, |(platform, _)| platform)
}

impl Engine {
    /// What a bridge can do; before anything else. A bridge that starts anew holds nothing.
    pub fn set_capabilities(&self, channel: &str, capabilities: ChannelCapabilities) {
        self.handed_out
            .send_modify(|held| held.retain(|_, holder| holder != channel));
        let mut bridges = lock(&self.bridges);
        match bridges.get_mut(channel) {
            Some(bridge) => bridge.capabilities = capabilities,
            None => {
                bridges.insert(
                    channel.to_owned(),
                    BridgeState {
                        capabilities,
                        health: None,
                        told_exchange_at: None,
                        account: None,
                    },
                );
            }
        }
    }

    /// What a bridge says about itself. Consoles are told at once of states and messages; of exchanges that brought
    /// nothing (an empty poll) once a minute, the grain in which they show ages.
    pub fn report_health(&self, channel: &str, health: ChannelHealth, account: Option<String>) {
        let changed = {
            let mut bridges = lock(&self.bridges);
            let Some(bridge) = bridges.get_mut(channel) else {
                return;
            };
            let changed = bridge.health.as_ref().is_none_or(|old| {
                old.state != health.state
                    || old.detail != health.detail
                    || old.rate_limited_until != health.rate_limited_until
                    || old.last_inbound_at != health.last_inbound_at
                    || old.last_outbound_at != health.last_outbound_at
                    || exchange_is_news(bridge.told_exchange_at, health.last_exchange_at)
            }) || (account.is_some() && bridge.account != account);
            if changed {
                bridge.told_exchange_at = health.last_exchange_at;
            }
            bridge.health = Some(health);
            if account.is_some() {
                bridge.account = account;
            }
            changed
        };
        if changed {
            let engine = self.clone();
            let channel = channel.to_owned();
            self.beside(async move {
                if let Ok(view) = channel_view(&engine, &channel).await {
                    engine.store.publish(Event {
                        seq: None,
                        at: engine.clock.now(),
                        session_id: None,
                        continuation_id: None,
                        body: EventBody::ChannelState {
                            channel: Box::new(view),
                        },
                    });
                }
            });
        }
    }

    /// Waits for the next part of a channel that may be sent. Each is handed out once, until its send has
    /// begun or it was given back. Cancel-safe.
    pub async fn next_outbox(&self, channel: &str) -> Result<Outbound, Problem> {
        let mut held = self.held.subscribe();
        let mut changes = self.store.outbox_changes();
        let mut problem = self.store.problem_changes();
        let mut given_back = self.handed_out.subscribe();
        loop {
            let is_held = held.borrow_and_update().is_some();
            if is_held && *self.quarantine.borrow() {
                tokio::select! {
                    changed = held.changed() => if changed.is_err() { return Err(stopping()) },
                    () = self.shutdown.cancelled() => return Err(stopping()),
                }
                continue;
            }
            // Without its record no send may begin, so none is handed out.
            if !self.writable().await {
                return Err(stopping());
            }
            problem.mark_unchanged();
            changes.mark_unchanged();
            let (name, now) = (channel.to_owned(), self.clock.now());
            let handed_out: HashSet<OutboxId> =
                given_back.borrow_and_update().keys().copied().collect();
            let next = match self
                .store
                .read(move |reader| {
                    if is_held {
                        reader.next_own_word(&name, now, &handed_out)
                    } else {
                        reader.next_outbox_besides(&name, now, &handed_out)
                    }
                })
                .await
            {
                Ok(next) => next,
                Err(error @ StoreError::Closed) => return Err(from_store(error)),
                Err(error) => {
                    tracing::warn!(%channel, %error, "cannot read the outbox; looking again");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    continue;
                }
            };
            let wait = match next {
                NextOutbox::Row(row) if self.is_stale(&row).await? => continue,
                NextOutbox::Row(row) => match outbound(*row) {
                    Some(outbound) => {
                        self.hand_out(outbound.id, channel);
                        return Ok(outbound);
                    }
                    None => Some(Duration::from_secs(1)),
                },
                NextOutbox::Wait(until) => {
                    Some(Duration::from_millis(until.millis_since(now).max(10)))
                }
                NextOutbox::Empty => None,
            };
            let timer = async {
                match wait {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return Err(stopping()) },
                _ = held.changed() => {}
                _ = problem.changed() => {}
                _ = given_back.changed() => {}
                () = timer => {}
                () = self.shutdown.cancelled() => return Err(stopping()),
            }
        }
    }

    /// Whether a part is a word about work under way that waited too long; it is dropped then.
    async fn is_stale(&self, row: &OutboxRow) -> Result<bool, Problem> {
        if row.class != OutboxClass::Progress {
            return Ok(false);
        }
        let stale = DropStale { outbox_id: row.id };
        self.store.write(stale).await.map_err(from_store)
    }

    /// Records that a part is about to leave. An error means: do not send.
    pub async fn begin_send(&self, channel: &str, id: OutboxId) -> Result<(), Problem> {
        let is_own = async || {
            let own = self.store.read_here(move |reader| reader.is_own_word(id));
            own.await.map_err(from_store)
        };
        if self.is_held() && !is_own().await? {
            return Err(Problem::new(
                ProblemKind::Unavailable,
                "held",
                "an emergency stop holds all sends",
            ));
        }
        // Off: nothing on disk says that a send is under way until it is over.
        if crate::mutant!("sending_before_io") {
            return Ok(());
        }
        let idempotency = lock(&self.bridges)
            .get(channel)
            .map_or(SendIdempotency::None, |bridge| {
                bridge.capabilities.idempotency
            });
        let begun = self
            .store
            .write(BeginSend {
                outbox_id: id,
                epoch: self.store.epoch(),
                idempotency,
            })
            .await
            .map_err(from_store)?;
        // From here on the database says that it is being sent, or that nobody knows.
        self.take_back(id);
        match begun {
            BeginSendOutcome::Begun => Ok(()),
            BeginSendOutcome::KeyRanOut => Err(Problem::new(
                ProblemKind::Conflict,
                "the key ran out",
                format!("an earlier send of {id} may have arrived; a person is asked"),
            )),
        }
    }

    /// Waits for a part of a channel whose send nobody knows the end of and that the platform can be asked about,
    /// beside those asked already: (part, number of the send). Cancel-safe.
    pub async fn next_look_up(
        &self,
        channel: &str,
        asked: &HashMap<OutboxId, u32>,
    ) -> Result<Outbound, Problem> {
        let mut held = self.held.subscribe();
        let mut changes = self.store.outbox_changes();
        loop {
            held.wait_for(Option::is_none)
                .await
                .map_err(|_| stopping())?;
            changes.mark_unchanged();
            let (name, besides) = (channel.to_owned(), asked.clone());
            let found = self
                .store
                .read(move |reader| reader.next_look_up(&name, &besides))
                .await
                .map_err(from_store)?;
            if let Some(part) = found.and_then(outbound) {
                return Ok(part);
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return Err(stopping()) },
                () = self.shutdown.cancelled() => return Err(stopping()),
            }
        }
    }

    /// Records what a look at the platform said about a part.
    pub async fn end_look_up(
        &self,
        id: OutboxId,
        attempt: u32,
        delivery: Delivery,
    ) -> Result<(), Problem> {
        if self.is_held() {
            // Nothing is settled while an operator holds everything; the look is made again.
            return Err(stopping());
        }
        let found = match delivery {
            Delivery::Sent { external_refs } => Found::Sent {
                refs: external_refs,
            },
            Delivery::NotSent => Found::NotSent,
            Delivery::Unclear { detail } => Found::Unclear {
                why: probe::said(self, &detail),
            },
        };
        self.store
            .write(EndLookUp {
                outbox_id: id,
                attempt,
                found,
            })
            .await
            .map_err(from_store)
    }

    fn hand_out(&self, id: OutboxId, channel: &str) {
        self.handed_out.send_if_modified(|held| {
            held.insert(id, channel.to_owned());
            // Nobody waits for less to be available.
            false
        });
    }

    fn take_back(&self, id: OutboxId) {
        self.handed_out
            .send_if_modified(|held| held.remove(&id).is_some());
    }

    /// Records how a send ended; an unknown one becomes a question.
    pub async fn end_send(&self, id: OutboxId, outcome: SendOutcome) -> Result<(), Problem> {
        let recorded = self.record_end(id, outcome).await;
        // After the record, so that a part that was given back is not handed out before its time.
        self.take_back(id);
        recorded
    }

    async fn record_end(&self, id: OutboxId, outcome: SendOutcome) -> Result<(), Problem> {
        let redact = |text: String| self.redactor.redact(&text).into_owned();
        let (outcome, unknown) = match outcome {
            SendOutcome::Sent { external_refs } => (
                StoredOutcome::Sent {
                    refs: external_refs,
                },
                None,
            ),
            SendOutcome::Shortened { external_refs } => (
                StoredOutcome::Shortened {
                    refs: external_refs,
                },
                None,
            ),
            SendOutcome::Retry { not_before, error } => (
                StoredOutcome::Retry {
                    not_before,
                    error: redact(error),
                },
                None,
            ),
            SendOutcome::Failed { error } => (
                StoredOutcome::Failed {
                    error: redact(error),
                },
                None,
            ),
            SendOutcome::Unknown { detail } => {
                let detail = redact(detail);
                (
                    StoredOutcome::Unknown {
                        detail: detail.clone(),
                    },
                    Some(detail),
                )
            }
        };
        let resend = match unknown {
            None => None,
            Some(detail) => {
                let item = self
                    .store
                    .read(move |reader| reader.delivery(id))
                    .await
                    .map_err(from_store)?;
                let origin = Origin {
                    channel: item.channel.clone(),
                    conversation: item.conversation.clone(),
                    requester: Requester {
                        id: "engine".to_owned(),
                        display: "engine".to_owned(),
                        person: None,
                    },
                    message_ref: None,
                };
                let ask = Ask {
                    kind: ApprovalKind::Resend,
                    digest: crate::tools::canonical::digest(&[
                        "resend",
                        &id.to_string(),
                        &item.attempts.to_string(),
                    ]),
                    risk: Risk::Medium,
                    taint: Vec::new(),
                    preview: Preview::Text {
                        text: item.preview.clone(),
                    },
                    model_reason: None,
                    question: Some(format!(
                        "part {} of {} for {} may have been delivered: {detail}",
                        item.part, item.parts, item.conversation
                    )),
                };
                let mut approval = approvals::build(self, &origin, ask, self.clock.now());
                // The platform just failed to answer; a card there would only add to the doubt.
                approval.cards.clear();
                // A delivery question has no deadline: it waits until somebody looks.
                approval.expires_at = None;
                Some(approval)
            }
        };
        self.persist(EndSend {
            outbox_id: id,
            epoch: self.store.epoch(),
            outcome,
            resend,
        })
        .await
        .map_err(from_store)?;
        Ok(())
    }
}

/// Whether consoles should hear of an exchange that changed nothing else.
fn exchange_is_news(told: Option<Timestamp>, now: Option<Timestamp>) -> bool {
    match (told, now) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(told), Some(now)) => now.millis_since(told) >= 60_000,
    }
}

fn stopping() -> Problem {
    Problem::new(
        ProblemKind::Unavailable,
        "shutting down",
        "the engine is stopping",
    )
}

/// A stored part as a bridge renders it. None when a card lost its approval, which cannot be rendered.
fn outbound(row: OutboxRow) -> Option<Outbound> {
    let body = match row.class {
        OutboxClass::Final | OutboxClass::Progress | OutboxClass::Notice => {
            OutboundBody::Markdown { text: row.text }
        }
        OutboxClass::ApprovalCard => OutboundBody::Card {
            approval: Box::new(row.approval?),
            buttons: row
                .buttons
                .into_iter()
                .map(|(label, token)| CardButton { label, token })
                .collect(),
        },
        OutboxClass::CardUpdate => OutboundBody::CardUpdate {
            approval: Box::new(row.approval?),
            external_ref: row.target_ref?,
        },
    };
    Some(Outbound {
        id: row.id,
        conversation: platform_conversation(&row.conversation).to_owned(),
        class: row.class,
        body,
        reply_to: row.reply_to,
        idempotency_key: row.idempotency_key,
        attempts: row.attempts,
    })
}
