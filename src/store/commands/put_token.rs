//! Makes and revokes named tokens, and records that they were used. No value of a token comes here.

use serde_json::json;

use crate::clock::Timestamp;
use crate::protocol::enums::Scope;
use crate::protocol::token::Token;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::tokens::load_token;
use crate::store::sql::{Json, Statements, params};

/// Adds a token. Durable. Refused where its name is taken.
#[derive(Debug, Clone)]
pub struct PutToken {
    pub name: String,
    /// SHA-256 of its value.
    pub hash: [u8; 32],
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// Whose it is.
    pub person: Option<String>,
    /// When it ends; none = never.
    pub expires_at: Option<Timestamp>,
    /// Who makes it.
    pub by: ActorRef,
}

impl WriteCommand for PutToken {
    type Output = Token;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Token, StoreError> {
        if load_token(tx.conn, &self.name)?.is_some() {
            return Err(StoreError::rejected(format!(
                "there is a token `{0}` already: revoke it first (`leverframe token revoke {0}`), or use another name",
                self.name
            )));
        }
        tx.conn.run(
            "INSERT INTO tokens (name, hash, scopes, person, created_at, created_by, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                self.name,
                self.hash,
                Json(&self.scopes),
                self.person,
                tx.now,
                self.by.label,
                self.expires_at
            ],
        )?;
        let detail =
            json!({ "scopes": self.scopes, "person": self.person, "expires_at": self.expires_at });
        tx.audit("token.created", &self.by, None, &self.name, &detail)?;
        load_token(tx.conn, &self.name)?.ok_or_else(|| StoreError::not_found("token", &self.name))
    }
}

/// Ends a token for good. Durable; answers it as it is now.
#[derive(Debug, Clone)]
pub struct RevokeToken {
    pub name: String,
    pub by: ActorRef,
}

impl WriteCommand for RevokeToken {
    type Output = Token;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Token, StoreError> {
        let before = load_token(tx.conn, &self.name)?
            .ok_or_else(|| StoreError::not_found("token", &self.name))?;
        tx.conn.run(
            "UPDATE tokens SET revoked_at = ?2 WHERE name = ?1 AND revoked_at IS NULL",
            params![self.name, tx.now],
        )?;
        let detail = json!({ "scopes": before.scopes, "person": before.person });
        tx.audit("token.revoked", &self.by, None, &self.name, &detail)?;
        Ok(Token {
            revoked_at: Some(tx.now),
            ..before
        })
    }
}

/// Records that a token is in use. May be lost with the machine: the next use comes.
#[derive(Debug, Clone)]
pub struct RecordTokenUse {
    /// SHA-256 of its value.
    pub hash: [u8; 32],
    /// When.
    pub at: Timestamp,
    /// Whose login this is, where it is the first use since the start: that goes into the audit.
    pub login: Option<ActorRef>,
}

impl WriteCommand for RecordTokenUse {
    type Output = ();
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        tx.conn.run(
            "UPDATE tokens SET last_used_at = ?2 WHERE hash = ?1",
            params![self.hash, self.at],
        )?;
        if let Some(by) = &self.login {
            let name = by.id.strip_prefix("token:").unwrap_or(&by.id);
            tx.audit("token.login", by, None, name, &json!({}))?;
        }
        Ok(())
    }
}
