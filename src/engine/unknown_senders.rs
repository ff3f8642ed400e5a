//! What somebody writes who is not on a channel's list. In groups nobody is answered; in a direct message an operator
//! is asked whether they may come in, and until then nothing of what they wrote is kept.

use sha2::{Digest, Sha256};

use crate::engine::approvals::{self, Ask, Origin};
use crate::engine::arrival::{Arrival, ingested};
use crate::engine::core::Engine;
use crate::engine::people;
use crate::engine::views;
use crate::protocol::bridge::{InboundBody, Ingestion, Invitation, Sender};
use crate::protocol::enums::{ApprovalKind, Disposition, Risk};
use crate::protocol::hex::hex;
use crate::protocol::problem::Problem;
use crate::store::commands::ask_pairing::AskPairing;
use crate::store::input::NewApproval;

/// Seconds a code is good for.
const LIFE_SECONDS: i64 = 3600;

impl Engine {
    /// Whether a sender may talk to the agent: by the configuration, or because an operator let them in.
    pub async fn may_talk(&self, arrival: &Arrival<'_>, sender: &Sender) -> Result<bool, Problem> {
        let by = |let_in| self.is_welcome(arrival, sender, let_in);
        if by(false) {
            return Ok(true);
        }
        if !by(true) {
            return Ok(false);
        }
        let (channel, id) = (
            arrival.channel.to_owned(),
            arrival.origin.requester.id.clone(),
        );
        self.read_here(move |reader| reader.is_paired(&channel, &id))
            .await
    }

    /// Whether the configuration lets a sender talk where they write. On some platforms direct messages have a
    /// conversation with an id of its own, so it is the item that says that it is one.
    fn is_welcome(&self, arrival: &Arrival<'_>, sender: &Sender, let_in: bool) -> bool {
        let is_direct = match &arrival.inbound.body {
            InboundBody::Text { direct, .. } | InboundBody::Media { direct, .. } => *direct,
            InboundBody::Click { .. } | InboundBody::Other { .. } => false,
        };
        let may_talk = |place: &str| {
            people::may_talk(&self.settings, arrival.settings, &sender.id, place, let_in)
        };
        may_talk(&arrival.inbound.conversation) || (is_direct && may_talk(&sender.id))
    }

    /// What becomes of an invitation into a conversation: whoever may talk there, or alone with the agent, may invite.
    pub async fn invitation(
        &self,
        channel: &str,
        user: &str,
        conversation: &str,
        direct: bool,
    ) -> Result<Invitation, Problem> {
        let settings = self.channel(channel)?;
        let may_talk = |place| people::may_talk(&self.settings, settings, user, place, false);
        if may_talk(conversation) || may_talk(user) {
            return Ok(Invitation::Accept);
        }
        let (channel, id) = (channel.to_owned(), format!("{}:{user}", settings.id_prefix));
        let is_paired = self
            .read_here(move |reader| reader.is_paired(&channel, &id))
            .await?;
        Ok(match (is_paired, direct && settings.pairing) {
            (true, _) => Invitation::Accept,
            (false, true) => Invitation::AcceptToAsk,
            (false, false) => Invitation::Ignore,
        })
    }

    /// Takes in what an unknown sender wrote. Nobody is told who is on the list.
    pub async fn unknown_sender(
        &self,
        arrival: &Arrival<'_>,
        sender: &Sender,
        direct: bool,
    ) -> Result<Ingestion, Problem> {
        let pairs = arrival.settings.pairing && self.is_welcome(arrival, sender, true);
        if direct && pairs {
            return self.ask_pairing(arrival).await;
        }
        let reply = direct.then(|| {
            format!(
                "You are not on this bot's list. Your id is `{}`; ask its operator to add it to `allowed_users`.",
                arrival.origin.requester.id
            )
        });
        let detail = format!("{} is not listed", arrival.origin.requester.id);
        let told = direct && self.first_refusal(arrival, detail.clone()).await?;
        self.record(
            arrival,
            Disposition::Pairing,
            detail,
            reply.filter(|_| told),
        )
        .await
    }

    async fn ask_pairing(&self, arrival: &Arrival<'_>) -> Result<Ingestion, Problem> {
        let requester = &arrival.origin.requester;
        let (channel, id) = (arrival.channel, requester.id.as_str());
        let expires_at = self.clock.now().plus_seconds(LIFE_SECONDS);
        let about = [channel, id, &arrival.origin.conversation].join("\n");
        let digest = hex(&Sha256::digest(about));
        let question = format!(
            "{id} wrote to `{channel}` and is not on its list. With access they talk to the agent as a user, and decide nothing. \
             Their name can be anybody's: compare the code they were told, or ask them."
        );
        let origin = Origin {
            channel,
            requester: id,
        };
        let ask = Ask::new(ApprovalKind::Pairing, digest, Risk::High, question);
        let approval = NewApproval {
            expires_at: Some(expires_at),
            ..approvals::build(self, origin, ask)
        };
        let notice = format!(
            "You are not on this bot's list, so your message was not read. Its operator has your request: tell them \
             the code `{}`, which is valid for one hour. Your id is `{}`.",
            approval.short_code, requester.id
        );
        let detail = format!("{} may ask for access", requester.id);
        let ask = AskPairing {
            record: self.record_row(arrival, Disposition::Pairing, detail, Some(notice)),
            approval,
            expires_at,
        };
        let (outcome, asked) = self.write(ask).await?;
        if asked {
            self.scheduler.deadlines_changed();
            views::announce_channel(self, arrival.channel).await;
        }
        Ok(ingested(&outcome, None))
    }
}
