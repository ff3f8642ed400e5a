//! Which models are asked for a step, in order. Pure.
//!
//! The first is the model that was chosen; the others stand in for it. None comes twice.

use crate::config::settings::Settings;

/// The models to ask, and what a person should know about the choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    /// `<provider>/<model>`, at least one, each once.
    pub models: Vec<String>,
    /// What was chosen and is not asked, in words.
    pub notes: Vec<String>,
}

/// The models of a turn. `chosen` is the model of the turn, else of its session.
pub fn candidates(settings: &Settings, channel: &str, chosen: Option<&str>) -> Candidates {
    let channel = settings.channels.get(channel);
    let own = channel.and_then(|channel| channel.model.as_deref());
    let first = chosen.or(own).unwrap_or(&settings.model);
    Candidates {
        models: vec![first.to_owned()],
        notes: Vec::new(),
    }
}
