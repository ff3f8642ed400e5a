//! Settling deliveries that nobody knows the outcome of.

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::decide;
use crate::protocol::command::DeliveryResolution;
use crate::protocol::enums::DecisionKind;
use crate::protocol::ids::OutboxId;
use crate::protocol::problem::Problem;
use crate::protocol::session::OutboxItem;
use crate::store::commands::resolve_delivery::{ResolveDelivery, Settlement};
use crate::store::error::StoreError;

/// Settles one. The same word again is a success; another one names who was first.
pub async fn resolve(
    engine: &Engine,
    caller: &Caller,
    outbox_id: OutboxId,
    resolution: DeliveryResolution,
    reason: Option<String>,
) -> Result<OutboxItem, Problem> {
    decide::check_reason(reason.as_deref())?;
    let (settlement, word) = match resolution {
        DeliveryResolution::Sent => (Settlement::Sent, DecisionKind::Sent),
        DeliveryResolution::SendAgain => (Settlement::SendAgain, DecisionKind::SendAgain),
        DeliveryResolution::Drop => (Settlement::Drop, DecisionKind::Drop),
    };
    let written = engine
        .store
        .write(ResolveDelivery {
            outbox_id,
            settlement,
            by: caller.reference(),
            reason: reason.map(|text| engine.redactor.redact(&text).into_owned()),
        })
        .await;
    let item = engine
        .read(move |reader| reader.delivery(outbox_id))
        .await?;
    match written {
        Ok(()) => Ok(item),
        Err(error @ (StoreError::Conflict { .. } | StoreError::Rejected { .. })) => {
            late(engine, item, word, error).await
        }
        Err(error) => Err(Problem::from(error)),
    }
}

/// A word about something that is settled already.
async fn late(
    engine: &Engine,
    item: OutboxItem,
    word: DecisionKind,
    error: StoreError,
) -> Result<OutboxItem, Problem> {
    let Some(question) = item.question else {
        return Err(Problem::from(error));
    };
    let asked = engine.approval(question).await?;
    match asked.decision {
        None => Err(Problem::from(error)),
        Some(winner) if winner.decision == word => Ok(item),
        Some(winner) => {
            let mut problem = Problem::conflict(
                "already decided",
                format!(
                    "{} was settled `{}` by {} ({})",
                    item.id, winner.decision, winner.by, winner.surface
                ),
            );
            problem.winner = Some(Box::new(winner));
            Err(problem)
        }
    }
}
