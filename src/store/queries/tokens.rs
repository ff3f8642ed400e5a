//! Named tokens: as they are listed, and as they are compared.

use crate::protocol::token::{Token, TokenRecord};
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Json, Row, Statements, columns};

const TOKEN: &str =
    "SELECT name, scopes, person, created_at, created_by, expires_at, revoked_at, last_used_at
     FROM tokens";

fn token_row(row: &Row<'_>) -> Result<Token, StoreError> {
    let Json(scopes) = row.get("scopes")?;
    Ok(columns!(row => Token {
        name, person, created_at, created_by, expires_at, revoked_at, last_used_at;
        scopes,
    }))
}

/// The token that has a name now; none = none has, or it was revoked.
pub(crate) fn load_token(conn: &Connection, name: &str) -> Result<Option<Token>, StoreError> {
    conn.row_opt(
        &format!("{TOKEN} WHERE name = ?1 AND revoked_at IS NULL"),
        [name],
        token_row,
    )
}

impl Reader<'_> {
    /// The tokens by name, those that were revoked only where they are wanted too.
    pub fn tokens(&self, revoked: bool) -> Result<Vec<Token>, StoreError> {
        self.conn.rows(
            &format!("{TOKEN} WHERE ?1 OR revoked_at IS NULL ORDER BY name, position DESC"),
            [revoked],
            token_row,
        )
    }

    /// What opens the door: every token that was not revoked.
    pub fn token_records(&self) -> Result<Vec<TokenRecord>, StoreError> {
        self.conn.rows(
            "SELECT name, hash, scopes, person, expires_at FROM tokens WHERE revoked_at IS NULL ORDER BY position",
            [],
            |row| {
                let Json(scopes) = row.get("scopes")?;
                Ok(columns!(row => TokenRecord {
                    name, hash, person, expires_at;
                    scopes,
                }))
            },
        )
    }
}
