//! What a running call asks a person.
//!
//! No question outlives its call: it is taken back when nobody waits for its answer any more, and a start takes back
//! those of a process that died.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::engine::approvals::{self, Ask, Origin};
use crate::engine::core::Engine;
use crate::engine::turn::evaluate;
use crate::protocol::approval::Approval;
use crate::protocol::enums::{ApprovalKind, ApprovalState, DecisionKind, Risk};
use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::{ApprovalId, SessionId};
use crate::store::commands::ask_in_call::{AskInCall, WithdrawQuestion};
use crate::store::queries::approvals::RunningQuestion;
use crate::store::queries::turn::{CallRow, TurnRows};
use crate::tools::ask_operator::{MAX_CHOICE, MAX_CHOICES, MAX_QUESTION};
use crate::tools::canonical::sha256_hex;

/// Takes a question back when it is dropped.
struct OpenQuestion {
    engine: Engine,
    session: SessionId,
    id: ApprovalId,
    /// Whether there is something to take back.
    is_open: bool,
}

impl OpenQuestion {
    async fn withdraw(&mut self, to: ApprovalState) {
        self.is_open = false;
        withdraw(&self.engine, self.session, self.id, to).await;
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        if self.is_open {
            let (engine, session, id) = (self.engine.clone(), self.session, self.id);
            self.engine.spawn(async move {
                withdraw(&engine, session, id, ApprovalState::Revoked).await;
            });
        }
    }
}

async fn withdraw(engine: &Engine, session: SessionId, approval_id: ApprovalId, to: ApprovalState) {
    match engine.persist(WithdrawQuestion { approval_id, to }).await {
        Ok(true) => engine.wake(session),
        Ok(false) => {}
        Err(error) => tracing::warn!(approval = %approval_id, %error, "cannot close a question"),
    }
    engine.scheduler.deadlines_changed();
}

/// Asks, and waits for the answer. The error says why there is none, for the model.
pub async fn ask(
    engine: &Engine,
    rows: &TurnRows,
    row: &CallRow,
    asked_by: &str,
    question: &str,
    choices: &[String],
) -> Result<String, String> {
    if evaluate::nobody_is_there(rows) {
        return Err("nobody is there to answer".to_owned());
    }
    // More, or longer ones, are no buttons: a person writes the number or the text of one.
    let are_buttons = choices.len() <= MAX_CHOICES
        && choices
            .iter()
            .all(|choice| choice.chars().count() <= MAX_CHOICE);
    let buttons = if are_buttons { choices } else { &[] };
    let asked = question.trim();
    let short: String = asked.chars().take(MAX_QUESTION).collect();
    let cut = if short.len() < asked.len() { "…" } else { "" };
    let numbered = choices.iter().enumerate();
    let numbered = numbered.map(|(index, choice)| format!("\n{}. {choice}", index + 1));
    let lines: String = numbered.collect();
    let text = format!("{asked_by} asks: {short}{cut}{lines}");
    let text = engine.redactor.redact(&text).into_owned();
    let digest = sha256_hex(format!("{}\n{text}", row.call.id).as_bytes());
    let ask = Ask {
        choices: buttons.to_vec(),
        ..Ask::new(ApprovalKind::Question, digest, Risk::Medium, text)
    };
    let approval = approvals::build(engine, Origin::of(rows), ask);
    let (id, deadline) = (approval.id, approval.expires_at);
    // From before it is there, so that no answer is missed.
    let mut events = engine.store.subscribe();
    let stored = engine.persist(AskInCall {
        continuation_id: rows.id,
        epoch: engine.store.epoch(),
        approval,
        asked: RunningQuestion {
            tool: row.call.name.clone(),
            choices: buttons.to_vec(),
        },
    });
    stored
        .await
        .map_err(|error| format!("nobody can be asked: {error}"))?;
    let mut open = OpenQuestion {
        engine: engine.clone(),
        session: rows.session_id,
        id,
        is_open: true,
    };
    engine.scheduler.deadlines_changed();
    loop {
        let found = engine.store.read(move |reader| reader.approval(id)).await;
        let found = found.map_err(|error| format!("the answer cannot be read: {error}"))?;
        if found.state != ApprovalState::Pending {
            open.is_open = false;
            return answer(&found).map(|said| chosen(choices, said));
        }
        let left = deadline.map(|at| at.millis_since(engine.clock.now()));
        let over = async {
            match left {
                Some(left) => tokio::time::sleep(Duration::from_millis(left)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            closed = decided(&mut events, id) => if closed {
                return Err("the program is being stopped".to_owned());
            },
            () = over => {
                open.withdraw(ApprovalState::Expired).await;
                return Err("nobody answered before the deadline".to_owned());
            }
            () = engine.shutdown.cancelled() => {
                open.withdraw(ApprovalState::Revoked).await;
                return Err("the program is being stopped".to_owned());
            }
        }
    }
}

/// Resolves once something became of a question, or may have: whether no event will come any more.
async fn decided(events: &mut Receiver<Arc<Event>>, id: ApprovalId) -> bool {
    loop {
        match events.recv().await {
            Ok(event) => {
                if let EventBody::ApprovalDecided { approval }
                | EventBody::ApprovalExpired { approval } = &event.body
                    && approval.id == id
                {
                    return false;
                }
            }
            Err(RecvError::Lagged(_)) => return false,
            Err(RecvError::Closed) => return true,
        }
    }
}

/// The choice that an answer names by its number or in other case; else the answer itself.
fn chosen(choices: &[String], said: String) -> String {
    let named = choices
        .iter()
        .find(|choice| choice.trim().eq_ignore_ascii_case(said.trim()));
    let number = said.trim().parse::<usize>().ok();
    let numbered = number.and_then(|number| choices.get(number.checked_sub(1)?));
    named.or(numbered).cloned().unwrap_or(said)
}

/// The answer of a decision.
fn answer(approval: &Approval) -> Result<String, String> {
    let decision = approval.decision.as_ref();
    match decision.map(|decision| decision.decision) {
        Some(DecisionKind::Answer) => Ok(decision
            .and_then(|decision| decision.answer.clone())
            .unwrap_or_default()),
        Some(_) => {
            let reason = decision.and_then(|decision| decision.reason.as_deref());
            let because = reason.map(|why| format!(": {why}")).unwrap_or_default();
            Err(format!("the operator does not answer{because}"))
        }
        None => Err("nobody answered before the deadline".to_owned()),
    }
}
