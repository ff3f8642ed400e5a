//! What became of a step that is on its way through channels. Nothing here changes anything.

use crate::engine::core::Engine;
use crate::protocol::enums::OutboxState;
use crate::protocol::ids::OutboxId;
use crate::store::error::StoreError;

/// Seconds after which a step on its way is looked at again.
pub const LOOK_SECONDS: i64 = 2;

/// How the deliveries of a step ended; none = some are on their way. One that arrived is enough.
pub async fn delivered(
    engine: &Engine,
    ids: &[OutboxId],
) -> Result<Option<Result<(), String>>, StoreError> {
    let ids = ids.to_vec();
    let items = engine
        .store
        .read(move |reader| {
            let items = ids.iter().map(|id| reader.delivery(*id));
            items.collect::<Result<Vec<_>, _>>()
        })
        .await?;
    Ok(ended(
        items.into_iter().map(|item| (item.state, item.last_error)),
    ))
}

/// How several deliveries ended: one that arrived is enough. None = none arrived, and some may.
fn ended(
    deliveries: impl Iterator<Item = (OutboxState, Option<String>)>,
) -> Option<Result<(), String>> {
    let mut problem = None;
    for (state, error) in deliveries {
        match state {
            OutboxState::Sent => return Some(Ok(())),
            OutboxState::Pending | OutboxState::Sending => problem = Some(None),
            OutboxState::Failed | OutboxState::Unknown | OutboxState::Abandoned => {
                let why = error.unwrap_or_else(|| format!("the delivery is {state}"));
                problem.get_or_insert(Some(why));
            }
            // The question changed before it was sent; whoever changed it looks at it.
            OutboxState::Superseded => return Some(Ok(())),
        }
    }
    problem.flatten().map(Err)
}

/// The number of a step by its index.
pub fn number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}
