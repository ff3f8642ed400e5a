//! Rules: rules and session grants, and what they match.
//!
//! Rows are held by id. While one is selected every row keeps its place; what is new stands at the end.

use crate::clock::Timestamp;
use crate::protocol::ids::{ApprovalId, RuleId};
use crate::protocol::rule::{Grant, Rule, RuleMatches, RuleSuggestions, RuleTest};
use crate::tui::state::list::ListDetail;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Rule(RuleId),
    /// A session grant.
    Grant(ApprovalId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleText {
    /// A new rule as JSON.
    Add,
    /// A rule as JSON.
    Edit(RuleId, u64),
    /// `TOOL CHANNEL {arguments}`.
    Test,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct RulesPanel {
    /// Rules; none = not answered yet.
    pub rules: Option<Vec<Rule>>,
    /// Permissions for shapes; none = not answered yet.
    pub grants: Option<Vec<Grant>>,
    /// The list of both.
    pub list: ListDetail<Key>,
    /// What the selected rule matches of the last week.
    pub matches: Option<(RuleId, Result<RuleMatches, String>)>,
    /// What would be suggested, and when that was asked for; none = not answered yet.
    pub suggestions: Option<(Timestamp, RuleSuggestions)>,
    /// What the last test said.
    pub test: Option<Result<RuleTest, String>>,
    /// Why a list could not be read.
    pub problem: Option<String>,
}

impl RulesPanel {
    pub fn rule(&self, id: RuleId) -> Option<&Rule> {
        self.rules.iter().flatten().find(|rule| rule.id == id)
    }

    pub fn grant(&self, id: ApprovalId) -> Option<&Grant> {
        self.grants.iter().flatten().find(|one| one.id == id)
    }

    pub(super) fn selected_rule(&self) -> Option<&Rule> {
        match self.list.selected? {
            Key::Rule(id) => self.rule(id),
            Key::Grant(_) => None,
        }
    }
}
