//! What is trusted of tool servers, and the one question about each.

use serde_json::json;

use crate::protocol::enums::ApprovalState;
use crate::protocol::ids::ApprovalId;
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::tool_servers::{ServerOffer, ToolServer, load_server};
use crate::store::sql::{Json, Statements, params};

impl WriteTx<'_> {
    /// A server that was seen.
    pub(crate) fn tool_server(&self, name: &str) -> Result<ToolServer, StoreError> {
        load_server(self.conn, name)?.ok_or_else(|| StoreError::not_found("tool server", name))
    }

    /// Withdraws the question about a server, where one waits.
    pub(crate) fn close_server_question(&mut self, server: &ToolServer) -> Result<(), StoreError> {
        let Some(id) = server.approval_id else {
            return Ok(());
        };
        self.conn.run(
            "UPDATE tool_servers SET approval_id = NULL WHERE name = ?1",
            [&server.name],
        )?;
        self.close_gate(id, ApprovalState::Revoked)
    }

    /// Trusts what a server offered last: all of it, or only these tools. What another identity had is trusted no longer.
    pub(crate) fn trust_server(
        &mut self,
        server: &ToolServer,
        offer: &ServerOffer,
        only: Option<&[String]>,
        by: &ActorRef,
    ) -> Result<(), StoreError> {
        let name = &server.name;
        let same = server
            .trust
            .as_ref()
            .is_some_and(|trust| trust.identity.is_same(&offer.identity));
        if !same {
            self.conn.run(
                "UPDATE server_tools SET trusted = NULL, trusted_sha256 = NULL
                 WHERE server = ?1 AND offered IS NOT NULL",
                [name],
            )?;
        }
        let mut trusted = Vec::new();
        for tool in &server.tools {
            let wanted = only.is_none_or(|only| only.contains(&tool.name));
            if wanted && tool.usable {
                self.conn.run(
                    "UPDATE server_tools SET trusted = offered, trusted_sha256 = offered_sha256
                     WHERE server = ?1 AND name = ?2",
                    params![name, tool.name],
                )?;
                trusted.push(&tool.name);
            }
        }
        // What it does not offer any more is no part of what was seen now.
        self.conn.run(
            "DELETE FROM server_tools WHERE server = ?1 AND offered IS NULL AND problem IS NULL",
            [name],
        )?;
        self.conn.run(
            "UPDATE server_tools SET trusted = NULL, trusted_sha256 = NULL WHERE server = ?1 AND offered IS NULL",
            [name],
        )?;
        self.conn.run(
            "UPDATE tool_servers SET identity = ?2, trusted_at = ?3, by_label = ?4, decided_sha256 = ?5,
                trusts_resources = ?6 WHERE name = ?1",
            params![
                name,
                Json(&offer.identity),
                self.now,
                by.label,
                offer.sha256,
                offer.has_resources
            ],
        )?;
        let detail = json!({ "server": name, "sha256": offer.sha256, "tools": trusted, "identity": offer.identity });
        self.audit("mcp.trusted", by, None, name, &detail)
    }

    /// Settles the question about a server with its decision.
    pub(crate) fn settle_server_question(
        &mut self,
        id: ApprovalId,
        digest: &str,
        accepted: bool,
        by: &ActorRef,
    ) -> Result<(), StoreError> {
        let name: Option<String> = self.conn.value_opt(
            "UPDATE tool_servers SET approval_id = NULL WHERE approval_id = ?1 RETURNING name",
            [id],
        )?;
        let name = name
            .ok_or_else(|| StoreError::Corrupt(format!("approval {id} is about no tool server")))?;
        let server = self.tool_server(&name)?;
        let offer = server.offer.clone().filter(|offer| offer.sha256 == digest);
        let offer = offer.ok_or_else(|| {
            StoreError::Corrupt(format!("approval {id} is not about what {name} offers"))
        })?;
        if accepted {
            self.trust_server(&server, &offer, None, by)?;
            crate::crash_point!("mcp.trust_pre_commit");
            return Ok(());
        }
        self.conn.run(
            "UPDATE tool_servers SET decided_sha256 = ?2 WHERE name = ?1",
            params![name, digest],
        )?;
        let detail = json!({ "server": name, "sha256": digest });
        self.audit("mcp.refused", by, None, &name, &detail)
    }
}
