//! The autonomy selector: levels, how long a raised one holds, and what would have happened under each.
//!
//! Raising, and making a raised level last longer, is asked about first; lowering never is.

use std::collections::BTreeMap;

use crate::protocol::enums::Autonomy;
use crate::protocol::policy::{Policy, PolicyPatch, WhatIf};
use crate::protocol::request::GetWhatIf;
use crate::tui::message::Effect;
use crate::tui::state::list::{neighbor, scrolled_by};

/// Past calls a what-if looks at.
pub const WHAT_IF_CALLS: u32 = 20;
/// How long a raised level can hold, in seconds; none = until it is changed.
pub const LASTS: [Option<u64>; 5] = [
    Some(15 * 60),
    Some(60 * 60),
    Some(4 * 60 * 60),
    Some(12 * 60 * 60),
    None,
];
/// Which of them is offered first: an hour.
pub(super) const OFFERED: usize = 1;

#[derive(Debug, Clone, PartialEq)]
pub struct AutonomySelector {
    pub channel: String,
    pub chosen: Autonomy,
    /// How long it holds, where it is raised: index into [`LASTS`].
    pub lasts: usize,
    /// First past call that is shown.
    pub first: usize,
    /// What-ifs that have been answered.
    pub answers: BTreeMap<Autonomy, Result<WhatIf, String>>,
    /// Choosing, or confirming a raise (0 = Cancel).
    pub confirming: Option<usize>,
}

impl AutonomySelector {
    /// Whether the chosen level lets more run than the channel's lasting one, so that it can end by itself.
    pub fn raises(&self, policy: &Policy) -> bool {
        raises(policy, self.chosen)
    }

    /// Seconds that the chosen level would hold; none = until it is changed. `full` never lasts by a key.
    pub fn seconds(&self, policy: &Policy) -> Option<u64> {
        if !self.raises(policy) {
            return None;
        }
        let lasts = lasts(self.chosen);
        let last = self.lasts.min(lasts.len() - 1);
        lasts.get(last).copied().flatten()
    }
}

/// Whether a level lets more run than the channel's lasting one, so that it can end by itself.
pub fn raises(policy: &Policy, level: Autonomy) -> bool {
    let lasting = policy.reverts_to.unwrap_or(policy.autonomy);
    level > lasting.min(policy.autonomy)
}

/// How long a raised level can hold, in seconds; never empty. `full` always ends by itself.
pub fn lasts(level: Autonomy) -> &'static [Option<u64>] {
    let (_, ending) = LASTS.split_last().unwrap_or((&None, &[]));
    if level == Autonomy::Full {
        ending
    } else {
        &LASTS
    }
}

/// The question what would have happened under a level.
pub(super) fn what_if(channel: &str, autonomy: Autonomy) -> Effect {
    Effect::ask(GetWhatIf {
        channel: channel.to_owned(),
        patch: PolicyPatch::level(autonomy),
        limit: Some(WHAT_IF_CALLS),
    })
}

/// The next level or button, or the one before.
pub fn turn(selector: &mut AutonomySelector, forward: bool) -> Vec<Effect> {
    if let Some(chosen) = &mut selector.confirming {
        *chosen = neighbor(*chosen, 2, forward);
        return Vec::new();
    }
    let at = Autonomy::ALL.iter().position(|a| *a == selector.chosen);
    let to = neighbor(at.unwrap_or(0), Autonomy::ALL.len(), forward);
    if let Some(level) = Autonomy::ALL.get(to) {
        selector.chosen = *level;
        selector.first = 0;
    }
    if selector.answers.contains_key(&selector.chosen) {
        return Vec::new();
    }
    vec![what_if(&selector.channel, selector.chosen)]
}

/// Lets a raised level hold longer or shorter. Not behind an open question, which names how long.
pub fn last(selector: &mut AutonomySelector, policy: &Policy, longer: bool) {
    if selector.confirming.is_none() && selector.raises(policy) {
        let count = lasts(selector.chosen).len();
        selector.lasts = neighbor(selector.lasts.min(count - 1), count, longer);
    }
}

/// Scrolls the past calls by this many lines.
pub fn scroll(selector: &mut AutonomySelector, lines: i64) {
    let calls = match selector.answers.get(&selector.chosen) {
        Some(Ok(what_if)) => what_if.calls.len(),
        Some(Err(_)) | None => 0,
    };
    selector.first = scrolled_by(selector.first, lines, calls);
}
