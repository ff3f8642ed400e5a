//! The rule coach: after five equal approvals on a channel one quiet line says what a rule would have answered. It makes
//! no rule and opens nothing.

use std::collections::BTreeMap;

use crate::console::preview;
use crate::protocol::approval::Approval;
use crate::protocol::enums::{ApprovalKind, DecisionKind};
use crate::protocol::event::{Event, EventBody};
use crate::protocol::request::SuggestRules;
use crate::protocol::rule::RuleSuggestions;

/// Equal approvals after which it speaks.
const EQUAL: u32 = 5;
/// Kinds of calls that are counted; beyond, it forgets all.
const MAX_COUNTED: usize = 500;
/// How long its line stays, in milliseconds: it is longer than other notices.
pub const SHOWN_MS: u64 = 20_000;

/// A kind of call: channel, tool and arguments in one line.
type Kind = (String, String, String);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleCoach {
    approved: BTreeMap<Kind, u32>,
    /// What it has asked about; none = it is quiet.
    asked: Option<Kind>,
}

fn kind(approval: &Approval) -> Option<Kind> {
    let decision = approval.decision.as_ref()?;
    let counts = approval.kind == ApprovalKind::Execute
        && decision.decision == DecisionKind::Approve
        && approval.rules_only_deny().is_none()
        && approval.taint.is_empty();
    counts.then(|| {
        let what = preview::one_line(approval);
        (approval.channel.clone(), approval.tool.clone(), what)
    })
}

impl RuleCoach {
    /// Counts an approval; what is to be asked when there are enough equal ones.
    pub fn happened(&mut self, event: &Event) -> Option<SuggestRules> {
        let EventBody::ApprovalDecided { approval } = &event.body else {
            return None;
        };
        let kind = kind(approval)?;
        if self.approved.len() >= MAX_COUNTED {
            self.approved.clear();
        }
        let count = self.approved.entry(kind.clone()).or_default();
        *count += 1;
        if *count != EQUAL {
            return None;
        }
        let channel = Some(kind.0.clone());
        self.asked = Some(kind);
        Some(SuggestRules {
            days: None,
            channel,
        })
    }

    /// What a rule for the equal calls would have answered: outside text. None = there is none to tell of.
    pub fn line(&mut self, channel: &str, found: Option<&RuleSuggestions>) -> Option<String> {
        let (_, tool, _) = self.asked.take().filter(|(of, _, _)| of == channel)?;
        let one = found?
            .rules
            .iter()
            .find(|one| one.rule.tool.as_ref() == Some(&tool))?;
        Some(format!(
            "a rule would have answered {} here: {}; it would also have let through {}",
            one.answered,
            one.text,
            one.beside()
        ))
    }
}
