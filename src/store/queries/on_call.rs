//! Who is on call, and which operators are known.

use crate::protocol::on_call::{LastAction, OnCall};
use crate::store::error::StoreError;
use crate::store::meta;
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Statements, columns};

/// Where it is kept.
pub(crate) const ON_CALL: &str = "on_call";
/// Rows of the audit that are looked at for names.
const LOOKED_AT: u32 = 2_000;
/// Rows that are looked at for what people did last.
const LAST_OF: u32 = 10_000;

/// Who was said to be on call last, whether or not their time is over.
pub(crate) fn load_on_call(conn: &Connection) -> Result<Option<OnCall>, StoreError> {
    let stored = meta::get(conn, ON_CALL)?;
    Ok(stored.map(|text| serde_json::from_str(&text)).transpose()?)
}

impl Reader<'_> {
    /// Who was said to be on call last, whether or not their time is over.
    pub fn on_call(&self) -> Result<Option<OnCall>, StoreError> {
        load_on_call(self.conn)
    }

    /// What each actor did last, by label and stable id, as far as the newest rows of the audit tell.
    pub fn last_actions(&self) -> Result<Vec<(String, String, LastAction)>, StoreError> {
        self.conn.rows(
            "SELECT actor, actor_id, at, action, surface FROM audit WHERE seq IN
                (SELECT max(seq) FROM (SELECT seq, actor_id FROM audit ORDER BY seq DESC LIMIT ?1) GROUP BY actor_id)
             ORDER BY seq DESC",
            [LAST_OF],
            |row| {
                let last = columns!(row => LastAction { at, action, surface });
                Ok((row.get("actor")?, row.get("actor_id")?, last))
            },
        )
    }

    /// Ids of users of this machine who did something lately.
    pub fn operator_ids(&self) -> Result<Vec<String>, StoreError> {
        self.conn.values(
            "SELECT DISTINCT actor_id FROM (SELECT actor_id FROM audit ORDER BY seq DESC LIMIT ?1)
             WHERE actor_id LIKE 'operator:%' ORDER BY actor_id",
            [LOOKED_AT],
        )
    }

    /// Operators and tokens that did something lately, as the audit names them.
    pub fn known_operators(&self) -> Result<Vec<String>, StoreError> {
        self.conn.values(
            "SELECT DISTINCT actor FROM (SELECT actor, actor_id FROM audit ORDER BY seq DESC LIMIT ?1)
             WHERE actor_id LIKE 'operator:%' OR actor_id LIKE 'token:%' ORDER BY actor",
            [LOOKED_AT],
        )
    }
}
