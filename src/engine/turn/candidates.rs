//! Which models are asked for a step, in order. Pure.
//!
//! The first is the model that was chosen; the others stand in for it. None comes twice. Where a channel's model is
//! fixed, nobody's choice counts, and only the channel's own stand-ins do.

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
    let configured = channel
        .and_then(|channel| channel.model.as_deref())
        .unwrap_or(&settings.model);
    let fixed = channel.is_some_and(|channel| channel.fixed_model);
    let mut notes = Vec::new();
    let first = match chosen {
        Some(chosen) if fixed => {
            if chosen != configured {
                notes.push(format!(
                    "{chosen} was chosen; the model of this channel is fixed"
                ));
            }
            configured
        }
        Some(chosen) => chosen,
        None => configured,
    };
    let stand_ins = match channel.and_then(|channel| channel.fallback.as_deref()) {
        Some(own) => own,
        None if fixed => &[],
        None => &settings.fallback,
    };
    let mut models = vec![first.to_owned()];
    for model in stand_ins {
        if !models.contains(model) {
            models.push(model.clone());
        }
    }
    Candidates { models, notes }
}
