//! `/approve`, `/deny` and `/answer` in a chat: they decide what a card showed this person, at the revision it showed.

use std::time::Duration;

use crate::engine::approvals;
use crate::engine::arrival::{Arrival, reply, tell};
use crate::engine::core::Engine;
use crate::engine::handle::{decide, decision};
use crate::engine::people;
use crate::protocol::approval::Approval;
use crate::protocol::bridge::Ingestion;
use crate::protocol::command::DecisionRequest;
use crate::protocol::enums::{ApprovalState, DecisionKind, Disposition};
use crate::protocol::ids::ApprovalId;
use crate::protocol::problem::Problem;
use crate::store::commands::decide::DecideReport;
use crate::store::commands::queue_cards::QueueCards;
use crate::store::error::StoreError;
use crate::store::queries::approvals::CardDelivery;

/// How long a decision waits for the record of a card that is just being delivered.
const CARD_WAIT: Duration = Duration::from_secs(3);

/// Decides an approval by its code or id.
pub async fn carry_out(
    engine: &Engine,
    arrival: &Arrival<'_>,
    decision: DecisionKind,
    rest: &str,
) -> Result<Ingestion, Problem> {
    let say = async |text: &str| reply(engine, arrival, decision.as_str(), text).await;
    let (code, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if code.is_empty() {
        let text = format!("Which one? Send /{decision} CODE; /pending lists the codes.");
        return say(&text).await;
    }
    let Some(approval) = named(engine, code).await? else {
        return say("There is no decision with that code. /pending lists what waits here.").await;
    };
    let text = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let is_answer = decision == DecisionKind::Answer;
    if is_answer && text.is_none() {
        let text = format!(
            "What is the answer? Send /answer {code} and your text, or the number of a choice."
        );
        return say(&text).await;
    }
    let (answer, reason) = if is_answer {
        (text, None)
    } else {
        (None, text)
    };
    let request = DecisionRequest {
        reason,
        answer,
        revision: Some(approval.revision),
        ..DecisionRequest::new(decision, approval.digest.clone())
    };
    let waits = approval.state == ApprovalState::Pending;
    // Whoever may not decide it is told that first, and what is over is told as it ended.
    if waits && decide::check(engine, &arrival.caller, &approval, &request).is_ok() {
        let shown = shown(engine, arrival, &approval).await?;
        let Some(revision) = shown.revision else {
            return say(
                "Not decided: no card of it was shown to you. Decide it in the console, or where its card is.",
            )
            .await;
        };
        let is_id = code.parse::<ApprovalId>().is_ok();
        let is_current = is_id || code.eq_ignore_ascii_case(&approval.short_code);
        if revision != approval.revision || !is_current {
            return changed(engine, arrival, &approval, shown, decision).await;
        }
        if decision == DecisionKind::Approve && !shown.whole {
            let text = format!(
                "Not decided: its card was shortened, or nobody knows whether it arrived. Read it whole in the \
                 console to allow it; /deny {} refuses it here.",
                approval.short_code
            );
            return say(&text).await;
        }
    }
    let done = engine
        .decide_from_chat(arrival, approval.id, request)
        .await?;
    if let Some(text) = &done.feedback
        && !done.repeated
    {
        tell(engine, arrival, text.clone()).await;
    }
    Ok(done)
}

/// The approval that a code or an id names.
async fn named(engine: &Engine, code: &str) -> Result<Option<Approval>, Problem> {
    let wanted = code.to_owned();
    let found = engine
        .store
        .read(move |reader| match wanted.parse::<ApprovalId>() {
            Ok(id) => reader.approval(id).map(Some),
            Err(_) => reader.approval_by_code(&wanted),
        })
        .await;
    match found {
        Ok(found) => Ok(found),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(Problem::from(error)),
    }
}

/// What this person was shown: in their direct messages, or in the chat in which they write.
async fn shown(
    engine: &Engine,
    arrival: &Arrival<'_>,
    approval: &Approval,
) -> Result<CardDelivery, Problem> {
    let mut places = people::direct_conversations(&engine.settings, &arrival.origin.requester.id);
    places.push((
        arrival.channel.to_owned(),
        arrival.inbound.conversation.clone(),
    ));
    let mut changes = engine.store.outbox_changes();
    let end = tokio::time::Instant::now() + CARD_WAIT;
    loop {
        changes.mark_unchanged();
        let (id, places) = (approval.id, places.clone());
        let shown = engine
            .read_here(move |reader| reader.shown_of(id, &places))
            .await?;
        // A card that is on the screen may not be recorded as delivered yet.
        if shown.revision == Some(approval.revision) || !shown.on_its_way {
            return Ok(shown);
        }
        if !matches!(
            tokio::time::timeout_at(end, changes.changed()).await,
            Ok(Ok(()))
        ) {
            return Ok(shown);
        }
    }
}

/// Something else waits by now than what this person read: decides nothing, and shows it to them.
async fn changed(
    engine: &Engine,
    arrival: &Arrival<'_>,
    approval: &Approval,
    shown: CardDelivery,
    decision: DecisionKind,
) -> Result<Ingestion, Problem> {
    let person = people::person(&engine.settings, &arrival.origin.requester.id);
    let cards = approvals::cards_of(engine, approval, |name| {
        person.as_ref().is_some_and(|person| person.name == name)
    });
    let text = if cards.is_empty() {
        "Not decided: it changed since you were shown it. Decide it in the console."
    } else {
        "Not decided: it changed since you were shown it. Its current card is in your direct messages."
    };
    if shown.revision == Some(approval.revision) || shown.on_its_way || shown.queued {
        return reply(engine, arrival, decision.as_str(), text).await;
    }
    let queue = QueueCards {
        approval_id: approval.id,
        cards,
    };
    let detail = format!("/{decision}");
    let (ingested, _) = engine.once(arrival, detail, Some(text), queue).await?;
    Ok(ingested)
}

impl Engine {
    /// Checks and carries out a decision from chat, in one transaction with the item that brought it.
    pub async fn decide_from_chat(
        &self,
        arrival: &Arrival<'_>,
        id: ApprovalId,
        request: DecisionRequest,
    ) -> Result<Ingestion, Problem> {
        let approval = self.approval(id).await?;
        let word = request.decision;
        let detail = format!("{word} {id}");
        if let Err(problem) = decide::check(self, &arrival.caller, &approval, &request) {
            let mut ingested = self
                .record(arrival, Disposition::Command, detail, None)
                .await?;
            ingested.feedback = Some(format!("Not decided: {}.", problem.detail));
            return Ok(ingested);
        }
        let command = decide::command(self, &arrival.caller, &approval, request);
        let command = decide::by_two(self, &arrival.caller, &approval, command);
        let (mut ingested, report) = self.once(arrival, detail, None, command).await?;
        ingested.feedback = Some(match report {
            None => "Already carried out.".to_owned(),
            Some(report) => self.feedback(id, word, report),
        });
        decision::follow_up(self, &approval, word).await;
        Ok(ingested)
    }

    fn feedback(&self, id: ApprovalId, word: DecisionKind, report: DecideReport) -> String {
        decision::settle(self, &report);
        match decision::outcome(id, report) {
            Ok(approval) => match approval.allowed_by {
                Some(first) if approval.state == ApprovalState::Pending => {
                    format!(
                        "Recorded: {}. Somebody else must allow it too.",
                        first.in_words()
                    )
                }
                Some(_) | None => format!("Recorded: {word}."),
            },
            Err(problem) => format!("{}: {}.", problem.title, problem.detail),
        }
    }
}
