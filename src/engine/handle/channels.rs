//! Pausing and resuming channels.

use crate::engine::core::Engine;
use crate::engine::handle::Caller;
use crate::engine::problem::from_store;
use crate::engine::query::channel_view;
use crate::protocol::command::Outcome;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::store::commands::set_channel_paused::SetChannelPaused;

/// Pauses or resumes a bridge.
pub async fn set_paused(
    engine: &Engine,
    caller: &Caller,
    channel: String,
    paused: bool,
) -> Result<Outcome, Problem> {
    engine.channel(&channel)?;
    if !engine.has_bridge(&channel) {
        return Err(Problem::new(
            ProblemKind::NotOffered,
            "not possible here",
            format!("`{channel}` has no connection to pause"),
        )
        .hint("pause a session instead"));
    }
    engine
        .store
        .write(SetChannelPaused {
            channel: channel.clone(),
            paused,
            by: caller.reference(),
        })
        .await
        .map_err(from_store)?;
    // Nobody listening means that the bridge is not running; it reads the stored flag when it starts.
    let _ = engine.pauses.send((channel.clone(), paused));
    channel_view(engine, &channel).await.map(Outcome::Channel)
}
