//! Conversations that people hold. Not among the invariants of DESIGN.md by number: they are named `take-over`.

use crate::store::check::rule::{Rule, Subject, query};

pub(crate) const RULES: &[Rule] = &[query(
    "take-over",
    "conversation that is held on a channel that does not exist",
    "take_overs",
    Subject::Text,
    "SELECT t.channel || ' ' || t.conversation FROM take_overs t
     WHERE NOT EXISTS (SELECT 1 FROM channel_accounts a WHERE a.name = t.channel)",
)];
