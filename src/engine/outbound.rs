//! What a bridge takes from the outbox, one part at a time, in order. While the engine is held, only what it says
//! about itself.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::engine::approvals::{self, Ask, Origin};
use crate::engine::core::Engine;
use crate::engine::delivery::{HeldPart, Link, platform_conversation};
use crate::engine::reconcile;
use crate::engine::views::announce_channel;
use crate::protocol::approval::Preview;
use crate::protocol::bridge::{CardButton, Delivery, Outbound, OutboundBody, SendOutcome};
use crate::protocol::channel::{ChannelHealth, SendIdempotency};
use crate::protocol::enums::{ApprovalKind, OutboxClass, Risk};
use crate::protocol::ids::{ContinuationId, OutboxId};
use crate::protocol::problem::Problem;
use crate::store::commands::begin_send::{BeginSend, BeginSendOutcome};
use crate::store::commands::drop_expired_notice::DropExpiredNotice;
use crate::store::commands::end_look_up::{EndLookUp, LookUpResult};
use crate::store::commands::end_send::{EndSend, SendOutcome as StoredOutcome};
use crate::store::commands::record_health::RecordHealth;
use crate::store::error::StoreError;
use crate::store::input::NewApproval;
use crate::store::queries::outbox::{NextOutbox, OutboxRow};

impl Engine {
    /// What a bridge says about itself; consoles are told where it is news.
    pub fn report_health(&self, channel: &str, health: ChannelHealth, account: Option<String>) {
        let link = self.delivery.link(channel);
        if link.report(health, account) {
            let (engine, channel) = (self.current(), channel.to_owned());
            let due = link.health_to_store(self.clock.now());
            self.spawn(async move {
                if let Some(health) = due {
                    store_health(&engine, &channel, health).await;
                }
                announce_channel(&engine, &channel).await;
            });
        }
    }

    /// Keeps when each channel last talked to its platform, before the process ends.
    pub async fn store_all_health(&self) {
        for name in self.settings.channels.keys() {
            if let Some(health) = self.delivery.link(name).health() {
                store_health(self, name, health).await;
            }
        }
    }

    /// Waits for the next part of a channel that may be sent. Nobody else gets it while the second of the answer
    /// lives. Cancel-safe.
    pub async fn next_outbox(&self, channel: &str) -> Result<(Outbound, HeldPart), Problem> {
        let mut held = self.emergency.changes();
        let mut changes = self.store.outbox_changes();
        let mut problem = self.store.problem_changes();
        let link = self.delivery.link(channel);
        let mut given_back = link.leased();
        loop {
            let is_held = held.borrow_and_update().is_some();
            if is_held && self.emergency.is_quarantined() {
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
            let handed_out: HashSet<OutboxId> = given_back.borrow_and_update().clone();
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
                Err(error @ StoreError::Closed) => return Err(Problem::from(error)),
                Err(error) => {
                    tracing::warn!(%channel, %error, "cannot read the outbox; trying again");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    continue;
                }
            };
            let wait = match next {
                NextOutbox::Row(row) if self.is_stale(&row).await? => continue,
                NextOutbox::Row(row) => match outbound(*row) {
                    Some(outbound) => {
                        let held = link.hand_out(outbound.id);
                        return Ok((outbound, held));
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

    /// What was sent in answer to a message, in order; none while more can come.
    pub async fn settled_answer(
        &self,
        channel: &str,
        turn: Option<ContinuationId>,
        message_ref: &str,
    ) -> Result<Option<Vec<Outbound>>, Problem> {
        let (channel, message_ref) = (channel.to_owned(), message_ref.to_owned());
        let rows = self
            .read(move |reader| reader.settled_answer(&channel, turn, &message_ref))
            .await?;
        Ok(rows.map(|rows| rows.into_iter().filter_map(outbound).collect()))
    }

    /// Whether a part is a word about work under way that waited too long; it is dropped then.
    async fn is_stale(&self, row: &OutboxRow) -> Result<bool, Problem> {
        if row.class != OutboxClass::Progress {
            return Ok(false);
        }
        let stale = DropExpiredNotice { outbox_id: row.id };
        self.write(stale).await
    }

    /// Records that a part is about to leave. An error means: do not send.
    pub async fn begin_send(&self, link: &Link, id: OutboxId) -> Result<(), Problem> {
        let is_own = async || self.read_here(move |reader| reader.is_own_word(id)).await;
        if self.is_held() && !is_own().await? {
            return Err(Problem::unavailable(
                "emergency stop",
                "an emergency stop blocks all sends",
            ));
        }
        crate::mutant!("sending_before_io" => return Ok(()));
        let idempotency = link
            .capabilities()
            .map_or(SendIdempotency::None, |known| known.idempotency);
        self.mark_sending(id, idempotency).await
    }

    async fn mark_sending(
        &self,
        id: OutboxId,
        idempotency: SendIdempotency,
    ) -> Result<(), Problem> {
        let begun = self
            .write(BeginSend {
                outbox_id: id,
                epoch: self.store.epoch(),
                idempotency,
            })
            .await?;
        match begun {
            BeginSendOutcome::Begun => Ok(()),
            BeginSendOutcome::KeyRanOut => Err(Problem::conflict(
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
        let mut held = self.emergency.changes();
        let mut changes = self.store.outbox_changes();
        loop {
            held.wait_for(Option::is_none)
                .await
                .map_err(|_| stopping())?;
            changes.mark_unchanged();
            let (name, besides) = (channel.to_owned(), asked.clone());
            let found = self
                .read(move |reader| reader.next_look_up(&name, &besides))
                .await?;
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
            Delivery::Sent { external_refs } => LookUpResult::Sent {
                refs: external_refs,
            },
            Delivery::NotSent => LookUpResult::NotSent,
            Delivery::Unclear { detail } => LookUpResult::Unclear {
                why: reconcile::said(self, &detail),
            },
        };
        self.write(EndLookUp {
            outbox_id: id,
            attempt,
            found,
        })
        .await
    }

    /// Records how a send ended; an unknown one becomes a question.
    pub async fn end_send(&self, id: OutboxId, outcome: SendOutcome) -> Result<(), Problem> {
        crate::mutant!("sending_before_io" => self.mark_sending(id, SendIdempotency::None).await?);
        let redact = |text: String| self.redactor.redact(&text).into_owned();
        let mut unknown = None;
        let outcome = match outcome {
            SendOutcome::Sent {
                external_refs: refs,
            } => StoredOutcome::Sent { refs },
            SendOutcome::Shortened {
                external_refs: refs,
            } => StoredOutcome::Shortened { refs },
            SendOutcome::Retry { not_before, error } => StoredOutcome::Retry {
                not_before,
                error: redact(error),
            },
            SendOutcome::Failed { error } => StoredOutcome::Failed {
                error: redact(error),
            },
            SendOutcome::Unknown { detail } => {
                let detail = redact(detail);
                unknown = Some(detail.clone());
                StoredOutcome::Unknown { detail }
            }
        };
        let resend = match unknown {
            None => None,
            Some(detail) => {
                let item = self.read(move |reader| reader.delivery(id)).await?;
                let origin = Origin {
                    channel: &item.channel,
                    requester: "engine",
                };
                let (id, attempts) = (id.to_string(), item.attempts.to_string());
                let digest = crate::tools::canonical::digest(&["resend", &id, &attempts]);
                let question = format!(
                    "part {} of {} for {} may have been delivered: {detail}",
                    item.part, item.parts, item.conversation
                );
                let ask = Ask {
                    preview: Preview::Text { text: item.preview },
                    ..Ask::new(ApprovalKind::Resend, digest, Risk::Medium, question)
                };
                let mut approval = approvals::build(self, origin, ask);
                // The platform just failed to answer; a card there would only add to the doubt.
                approval.cards.clear();
                // A delivery question has no deadline: it waits until somebody looks.
                approval.expires_at = None;
                Some(approval)
            }
        };
        self.record_end(id, outcome, resend)
            .await
            .map_err(Problem::from)
    }

    async fn record_end(
        &self,
        id: OutboxId,
        outcome: StoredOutcome,
        resend: Option<NewApproval>,
    ) -> Result<(), StoreError> {
        self.persist(EndSend {
            outbox_id: id,
            epoch: self.store.epoch(),
            outcome,
            resend,
        })
        .await
    }

    /// Settles a part whose bridge went away while it was being sent, as recovery does after a crash.
    pub async fn lose_send(&self, id: OutboxId) {
        let detail = "its channel stopped while it was being sent".to_owned();
        let lost = self.record_end(id, StoredOutcome::Lost { detail }, None);
        note_unrecorded(id, lost.await);
    }

    /// Settles a part whose bridge went away before it was sent, where its intent was recorded.
    pub async fn take_back_send(&self, id: OutboxId) {
        let not_sent = StoredOutcome::Retry {
            not_before: self.clock.now(),
            error: "its channel stopped before it was sent".to_owned(),
        };
        note_unrecorded(id, self.record_end(id, not_sent, None).await);
    }
}

/// A part whose record is missing stays as it is until the next start settles it.
fn note_unrecorded(id: OutboxId, recorded: Result<(), StoreError>) {
    match recorded {
        Ok(()) => {}
        // Its end was recorded after all, or it was never begun.
        Err(StoreError::Conflict { .. }) => {}
        Err(error) => tracing::warn!(%id, %error, "cannot record the outcome of a send"),
    }
}

fn stopping() -> Problem {
    Problem::unavailable("shutting down", "the engine is stopping")
}

/// A stored part as a bridge renders it. None when a card lost its approval, which cannot be rendered.
fn outbound(row: OutboxRow) -> Option<Outbound> {
    let body = match row.class {
        OutboxClass::Final | OutboxClass::Progress | OutboxClass::Notice => match row.file {
            Some(file) => OutboundBody::File(file),
            None => OutboundBody::Markdown { text: row.text },
        },
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

async fn store_health(engine: &Engine, channel: &str, health: ChannelHealth) {
    let channel = channel.to_owned();
    if let Err(error) = engine.store.write(RecordHealth { channel, health }).await {
        tracing::debug!(%error, "cannot store the health of a channel");
    }
}
