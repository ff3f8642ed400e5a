//! The lists of a channel: what each tool may do, and what would have happened under a change.
//!
//! Letting a tool do more is asked about first; letting it do less never is.

use crate::protocol::policy::{Policy, PolicyPatch, ToolListing, WhatIf};
use crate::protocol::request::GetWhatIf;
use crate::tui::message::Effect;
use crate::tui::state::autonomy_selector::WHAT_IF_CALLS;
use crate::tui::state::list::{neighbor, scrolled_by};

/// The tools of a channel, one of them about to change.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolLists {
    pub channel: String,
    /// Names of tools, and prefixes that stand in a list.
    pub tools: Vec<String>,
    pub selected: usize,
    /// What it shall be able to do.
    pub chosen: ToolListing,
    /// What would have happened under changes that were tried.
    pub answers: Vec<(PolicyPatch, Result<WhatIf, String>)>,
    /// First past call that is shown.
    pub first: usize,
    /// Choosing, or confirming that a tool may do more (0 = Cancel).
    pub confirming: Option<usize>,
}

impl ToolLists {
    /// Those of a channel, with the tools that the engine has.
    pub fn new(channel: &str, policy: &Policy, tools: &[String]) -> Self {
        let mut all: Vec<String> = tools.to_vec();
        for list in [&policy.auto_approve, &policy.block, &policy.always_ask] {
            all.extend(list.iter().cloned());
        }
        all.sort();
        all.dedup();
        let chosen = all.first().map(|tool| policy.standing(tool));
        Self {
            channel: channel.to_owned(),
            tools: all,
            selected: 0,
            chosen: chosen.unwrap_or(ToolListing::Level),
            answers: Vec::new(),
            first: 0,
            confirming: None,
        }
    }

    pub fn tool(&self) -> Option<&String> {
        self.tools.get(self.selected)
    }

    /// The change that is shown; none = the tool stands there already.
    pub fn patch(&self, policy: &Policy) -> Option<PolicyPatch> {
        let tool = self.tool()?;
        (policy.standing(tool) != self.chosen)
            .then(|| policy.placing(std::slice::from_ref(tool), self.chosen))
    }

    /// What would have happened under the change that is shown; none = it is not known yet.
    pub fn answer(&self, policy: &Policy) -> Option<&Result<WhatIf, String>> {
        let patch = self.patch(policy)?;
        let answers = self.answers.iter();
        answers
            .rev()
            .find_map(|(tried, answer)| (*tried == patch).then_some(answer))
    }

    /// Whether the change lets the tool do more.
    pub fn raises(&self, policy: &Policy) -> bool {
        self.tool()
            .is_some_and(|tool| self.chosen > policy.standing(tool))
    }

    /// Asks what would have happened under the change that is shown, where that is not known.
    fn ask(&self, policy: &Policy) -> Vec<Effect> {
        match self.patch(policy) {
            Some(patch) if self.answer(policy).is_none() => {
                vec![Effect::ask(GetWhatIf {
                    channel: self.channel.clone(),
                    patch,
                    limit: Some(WHAT_IF_CALLS),
                })]
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// The next tool or button, or the one before.
    pub fn turn(&mut self, policy: &Policy, forward: bool) {
        if let Some(chosen) = &mut self.confirming {
            *chosen = neighbor(*chosen, 2, forward);
            return;
        }
        self.selected = neighbor(self.selected, self.tools.len(), forward);
        self.first = 0;
        if let Some(tool) = self.tool() {
            self.chosen = policy.standing(tool);
        }
    }

    /// Lets the tool do more, or less. Not behind an open question, which names the change.
    pub fn step(&mut self, policy: &Policy, more: bool) -> Vec<Effect> {
        if self.confirming.is_some() {
            return Vec::new();
        }
        let mut others = ToolListing::ALL.into_iter();
        let next = if more {
            others.find(|other| *other > self.chosen)
        } else {
            others.rfind(|other| *other < self.chosen)
        };
        self.chosen = next.unwrap_or(self.chosen);
        self.first = 0;
        self.ask(policy)
    }

    /// Scrolls the past calls by this many lines.
    pub fn scroll(&mut self, policy: &Policy, lines: i64) {
        let calls = match self.answer(policy) {
            Some(Ok(what_if)) => what_if.changed().count(),
            Some(Err(_)) | None => 0,
        };
        self.first = scrolled_by(self.first, lines, calls);
    }
}
