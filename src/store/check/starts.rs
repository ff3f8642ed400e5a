//! I11 as the audit tells it: a call that had to ask started only on an approval, or on a person's word after that.
//!
//! The call's row cannot tell: it holds the last verdict, and a call may have started while it needed nobody, died with
//! its process, and been made to ask since.

use std::collections::{HashMap, HashSet};

use crate::protocol::ids::ToolCallId;
use crate::store::check::rule::Found;
use crate::store::error::StoreError;
use crate::store::reader::Reader;

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
    found: &mut Found,
) -> Result<(), StoreError> {
    let asked_later: HashSet<String> = reader
        .conn
        .prepare("SELECT DISTINCT subject FROM audit WHERE action = 'tool.asks_again'")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut calls: HashMap<String, May> = reader
        .conn
        .prepare("SELECT id FROM tool_calls WHERE verdict = 'ask' AND attempts > 0")?
        .query_map([], |row| row.get(0).map(ToolCallId::from_bytes))?
        .map(|id| {
            let id = id?.to_string();
            let may = if asked_later.contains(&id) {
                May::Free
            } else {
                May::Asks
            };
            Ok((id, may))
        })
        .collect::<rusqlite::Result<_>>()?;
    found.rows = calls.len() as u64;
    let mut statement = reader.conn.prepare(
        "SELECT action, coalesce(json_extract(detail, '$.call'), subject), json_extract(detail, '$.approval') IS NOT NULL
         FROM audit WHERE action IN ('tool.asks_again', 'tool.started')
            OR (action = 'approval.decided' AND json_extract(detail, '$.decision') = 'run_again')
         ORDER BY seq",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let call: String = row.get(1)?;
        let Some(may) = calls.get_mut(&call) else {
            continue;
        };
        *may = match (
            row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?,
            *may,
        ) {
            ("tool.asks_again", _) => May::Asks,
            ("tool.started", May::Asks) if row.get::<_, bool>(2)? => May::Allowed,
            ("tool.started", May::Asks) => {
                found.add(|| call.clone());
                May::Asks
            }
            ("tool.started", may) => may,
            // A person let it run again.
            (_, _) => May::Allowed,
        };
    }
    Ok(())
}
