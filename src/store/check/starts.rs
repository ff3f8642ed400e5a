//! I11 as the audit tells it: a call that had to ask started only on an approval, or on a person's word after that.
//!
//! The call's row cannot tell: it holds the last verdict, and a call may have started while it needed nobody, died with
//! its process, and been made to ask since.

use std::collections::{HashMap, HashSet};

use crate::protocol::ids::ToolCallId;
use crate::store::check::rule::Findings;
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::sql::Statements;

/// Whether a call may start, by what was audited so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum May {
    /// No rule asked for an approval.
    Free,
    /// It asks, and nobody allowed it.
    Asks,
    /// It asked, and somebody allowed it: recovery may start it again under the same word.
    Allowed,
}

/// Finds starts of calls that had to ask, by seq of the audit.
pub(crate) fn starts_were_allowed(
    reader: &Reader<'_>,
    found: &mut Findings,
) -> Result<(), StoreError> {
    let asked_later = reader.conn.values(
        "SELECT DISTINCT subject FROM audit WHERE action = 'tool.asks_again'",
        [],
    )?;
    let asked_later: HashSet<String> = asked_later.into_iter().collect();
    let calls: Vec<ToolCallId> = reader.conn.values(
        "SELECT id FROM tool_calls WHERE verdict = 'ask' AND attempts > 0",
        [],
    )?;
    let mut calls: HashMap<String, May> = calls
        .into_iter()
        .map(|id| {
            let id = id.to_string();
            let may = if asked_later.contains(&id) {
                May::Free
            } else {
                May::Asks
            };
            (id, may)
        })
        .collect();
    found.rows = calls.len() as u64;
    reader.conn.each(
        "SELECT action, coalesce(json_extract(detail, '$.call'), subject) AS call,
            json_extract(detail, '$.approval') IS NOT NULL AS approved
         FROM audit WHERE action IN ('tool.asks_again', 'tool.started')
            OR (action = 'approval.decided' AND json_extract(detail, '$.decision') = 'run_again')
         ORDER BY seq",
        [],
        |row| {
            let call: String = row.get("call")?;
            let Some(may) = calls.get_mut(&call) else {
                return Ok(());
            };
            *may = match (row.text("action")?, *may) {
                ("tool.asks_again", _) => May::Asks,
                ("tool.started", May::Asks) if row.get::<bool>("approved")? => May::Allowed,
                ("tool.started", May::Asks) => {
                    found.add(|| call.clone());
                    May::Asks
                }
                ("tool.started", may) => may,
                // A person let it run again.
                (_, _) => May::Allowed,
            };
            Ok(())
        },
    )?;
    Ok(())
}
