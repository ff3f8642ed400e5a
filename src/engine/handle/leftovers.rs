//! Dismissing what a run left, once a person has looked at it.

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::problem::from_store;
use crate::protocol::ids::ToolCallId;
use crate::protocol::leftovers::Leftovers;
use crate::protocol::problem::Problem;
use crate::store::commands::dismiss_leftovers::DismissLeftovers;

/// Takes it off the Queue; how it stands then.
pub async fn dismiss(
    engine: &Engine,
    caller: &Caller,
    call_id: ToolCallId,
) -> Result<Leftovers, Problem> {
    let dismiss = DismissLeftovers {
        call_id,
        by: caller.reference(),
    };
    engine.store.write(dismiss).await.map_err(from_store)
}
