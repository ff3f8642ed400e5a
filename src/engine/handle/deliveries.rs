//! Settling deliveries that nobody knows the outcome of.

use crate::engine::core::Engine;
use crate::engine::handle::Caller;
use crate::engine::problem::from_store;
use crate::protocol::command::{DeliveryResolution, Outcome};
use crate::protocol::ids::OutboxId;
use crate::protocol::problem::Problem;
use crate::store::commands::resolve_delivery::{ResolveDelivery, Settlement};

/// Settles one.
pub async fn resolve(
    engine: &Engine,
    caller: &Caller,
    outbox_id: OutboxId,
    resolution: DeliveryResolution,
) -> Result<Outcome, Problem> {
    let settlement = match resolution {
        DeliveryResolution::Sent => Settlement::Sent,
        DeliveryResolution::SendAgain => Settlement::SendAgain,
        DeliveryResolution::Drop => Settlement::Drop,
    };
    engine
        .store
        .write(ResolveDelivery {
            outbox_id,
            settlement,
            by: caller.reference(),
        })
        .await
        .map_err(from_store)?;
    engine
        .store
        .read(move |reader| reader.delivery(outbox_id))
        .await
        .map(Outcome::Delivery)
        .map_err(from_store)
}
