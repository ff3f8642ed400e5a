//! Calls that external agents make themselves: A1 and A4 of DESIGN.md.

use crate::store::check::rule::{Rule, Subject, query};

/// Calls of external agents that were allowed.
const ROWS: &str = "tool_calls WHERE attempts > 0";

pub(crate) const RULES: &[Rule] = &[
    query("A1", "request of an external agent that was allowed for more than one call", ROWS, Subject::Text,
        "SELECT json_extract(c.options, '$.call.external.request') AS request, count(*) || ' calls' AS note
         FROM continuations c JOIN tool_calls t ON t.continuation_id = c.id
         WHERE c.options LIKE '%\"external\"%' AND t.attempts > 0 AND request IS NOT NULL
         GROUP BY request HAVING count(*) > 1"),
    query("A1", "call of an external agent that was allowed after its turn had ended", ROWS, Subject::Call,
        "SELECT t.id FROM tool_calls t JOIN continuations c ON c.id = t.continuation_id
         WHERE t.attempts > 0 AND c.options LIKE '%\"external\"%' AND c.ended_at IS NOT NULL AND t.started_at > c.ended_at
            AND json_extract(c.options, '$.call.external.request') IS NOT NULL"),
    query("A4", "call of an external agent that was allowed and is not what the agent asked about", ROWS, Subject::Call,
        "SELECT t.id FROM tool_calls t JOIN continuations c ON c.id = t.continuation_id
         WHERE t.attempts > 0 AND c.options LIKE '%\"external\"%'
            AND json_extract(c.options, '$.call.external.agent') IS NOT NULL
            AND (t.name <> json_extract(c.options, '$.call.tool')
                OR t.name NOT GLOB json_extract(c.options, '$.call.external.agent') || '__?*')"),
];
