//! An operator trusts what a tool server offers, or nothing of it any more.

use serde_json::json;

use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::sql::{Statements, params};

/// Trusts what a server offered last, if it is still what the person has read. Durable.
#[derive(Debug, Clone)]
pub struct TrustServer {
    pub name: String,
    /// Digest of what the person has read.
    pub sha256: String,
    /// Only these tools; none = all that can be trusted.
    pub tools: Option<Vec<String>>,
    pub by: ActorRef,
}

impl WriteCommand for TrustServer {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let server = tx.tool_server(&self.name)?;
        let offer = server.offer.clone();
        let offer = offer.filter(|offer| offer.sha256 == self.sha256);
        let offer = offer.ok_or_else(|| {
            StoreError::conflict(format!("{} offers something else by now", self.name))
        })?;
        tx.trust_server(&server, &offer, self.tools.as_deref(), &self.by)?;
        tx.close_server_question(&server)?;
        crate::crash_point!("mcp.trust_pre_commit");
        Ok(())
    }

    fn committed(&self) {
        crate::crash_point!("mcp.trust_post");
    }
}

/// Agents get nothing of a server any more. Durable.
#[derive(Debug, Clone)]
pub struct DistrustServer {
    pub name: String,
    /// Whether nothing of it is kept: the configuration does not have it.
    pub forget: bool,
    pub by: ActorRef,
}

impl WriteCommand for DistrustServer {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let server = tx.tool_server(&self.name)?;
        tx.close_server_question(&server)?;
        if self.forget {
            tx.conn
                .run("DELETE FROM tool_servers WHERE name = ?1", [&self.name])?;
        } else {
            // Whoever trusts it no longer is not asked about the same at once.
            tx.conn.run(
                "UPDATE tool_servers SET identity = NULL, trusted_at = NULL, by_label = NULL,
                    trusts_resources = 0, decided_sha256 = offered_sha256 WHERE name = ?1",
                [&self.name],
            )?;
            tx.conn.run(
                "DELETE FROM server_tools WHERE server = ?1 AND offered IS NULL AND problem IS NULL",
                [&self.name],
            )?;
            tx.conn.run(
                "UPDATE server_tools SET trusted = NULL, trusted_sha256 = NULL WHERE server = ?1",
                params![self.name],
            )?;
        }
        let detail = json!({ "server": self.name });
        tx.audit("mcp.distrusted", &self.by, None, &self.name, &detail)
    }
}

/// Withdraws the question about a server that the configuration does not have any more. Durable.
#[derive(Debug, Clone)]
pub struct WithdrawServerQuestion {
    pub name: String,
}

impl WriteCommand for WithdrawServerQuestion {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let server = tx.tool_server(&self.name)?;
        tx.close_server_question(&server)
    }
}
