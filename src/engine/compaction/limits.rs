//! How full a session may be: of turns, and of tokens. Pure, from the settings and the model's window.

use crate::engine::context;
use crate::engine::core::Engine;
use crate::model::profiles::Profile;

/// Turns that are sent to a model along with the next message, whatever they fill.
pub fn sent_along(engine: &Engine, profile: &Profile) -> usize {
    let configured = engine.settings.engine.history_exchanges;
    context::exchanges(configured, profile.context_window) as usize
}

/// Tokens that turns beyond those may fill.
pub fn history_tokens(engine: &Engine, profile: &Profile) -> u64 {
    context::history_tokens(engine.settings.engine.history_share, profile.context_window)
}

/// Turns beyond those that are sent along anyway at which a session is compacted: before more are not read for a
/// prompt.
pub fn beyond(engine: &Engine) -> usize {
    let configured = engine.settings.memory.compaction_exchanges;
    let most = match engine.settings.engine.history_share {
        0 => configured,
        _ => configured.min(context::MOST_BEYOND / 4 * 3),
    };
    most as usize
}

/// What a prompt may have of a model's window.
pub fn room(profile: &Profile) -> u64 {
    profile
        .context_window
        .saturating_sub(u64::from(profile.max_output_tokens))
}
