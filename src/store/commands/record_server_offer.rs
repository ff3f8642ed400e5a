//! Keeps what a tool server offers now, and asks about what nobody trusts of it.

use serde_json::json;

use crate::protocol::approval::Requester;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, NewApproval};
use crate::store::queries::tool_servers::{PinnedDefinition, ServerOffer, load_server};
use crate::store::sql::{Json, Statements, params};
use crate::store::tx::approvals::{ApprovalSite, Subject};

/// A tool as a server offers it.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedTool {
    /// Its name on the server.
    pub name: String,
    /// Its definition, with no secret of ours; none = it cannot be used.
    pub pinned: Option<PinnedDefinition>,
    /// Why it cannot be used, or what is odd about its text.
    pub problem: Option<String>,
    /// Whether it can be trusted.
    pub usable: bool,
}

/// What a server offers replaces what it offered before. Durable; answers whether somebody is asked now who was not.
///
/// One question about a server waits at most. It is about exactly what the server offers: another offer withdraws it.
#[derive(Debug, Clone)]
pub struct RecordServerOffer {
    pub name: String,
    /// What it offers, beside its tools.
    pub offer: ServerOffer,
    pub tools: Vec<OfferedTool>,
    /// The question about it, with the channel where it stands; none = nothing of it needs an answer.
    pub question: Option<(String, NewApproval)>,
}

impl WriteCommand for RecordServerOffer {
    type Output = bool;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<bool, StoreError> {
        tx.conn.run(
            "INSERT INTO tool_servers (name, offered_identity, offered_at, offered_sha256, instructions, warnings, has_resources)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (name) DO UPDATE SET offered_identity = excluded.offered_identity,
                offered_at = excluded.offered_at, offered_sha256 = excluded.offered_sha256,
                instructions = excluded.instructions, warnings = excluded.warnings,
                has_resources = excluded.has_resources",
            params![
                self.name,
                Json(&self.offer.identity),
                tx.now,
                self.offer.sha256,
                self.offer.instructions,
                Json(&self.offer.warnings),
                self.offer.has_resources
            ],
        )?;
        tx.conn.run(
            "DELETE FROM server_tools WHERE server = ?1 AND trusted IS NULL",
            [&self.name],
        )?;
        tx.conn.run(
            "UPDATE server_tools SET offered = NULL, offered_sha256 = NULL, problem = NULL, usable = 0 WHERE server = ?1",
            [&self.name],
        )?;
        for tool in &self.tools {
            tx.conn.run(
                "INSERT INTO server_tools (server, name, offered, offered_sha256, problem, usable)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (server, name) DO UPDATE SET offered = excluded.offered,
                    offered_sha256 = excluded.offered_sha256, problem = excluded.problem, usable = excluded.usable",
                params![
                    self.name,
                    tool.name,
                    tool.pinned.as_ref().map(|pinned| Json(&pinned.definition)),
                    tool.pinned.as_ref().map(|pinned| &pinned.sha256),
                    tool.problem,
                    tool.usable
                ],
            )?;
        }
        let server = load_server(tx.conn, &self.name)?
            .ok_or_else(|| StoreError::not_found("tool server", &self.name))?;
        let answered = server.decided_sha256.as_ref() == Some(&self.offer.sha256);
        let wanted = self.question.as_ref().filter(|_| !answered);
        if let (Some(id), Some((_, question))) = (server.approval_id, wanted)
            && tx.gate(id)?.digest == question.digest
        {
            return Ok(false);
        }
        tx.close_server_question(&server)?;
        let Some((channel, question)) = wanted else {
            return Ok(false);
        };
        tx.ask_at(
            &ApprovalSite {
                channel,
                conversation: "",
                session_id: None,
                continuation_id: None,
                requester: &Requester {
                    id: format!("tool_server:{}", self.name),
                    display: self.name.clone(),
                    person: None,
                },
            },
            question,
            &Subject::default(),
        )?;
        tx.conn.run(
            "UPDATE tool_servers SET approval_id = ?2 WHERE name = ?1",
            params![self.name, question.id],
        )?;
        tx.audit(
            "mcp.changed",
            &ActorRef::engine(),
            None,
            &self.name,
            &json!({ "server": self.name, "sha256": self.offer.sha256, "approval": question.id }),
        )?;
        crate::crash_point!("mcp.ask_pre_commit");
        Ok(true)
    }

    fn committed(&self) {
        crate::crash_point!("mcp.ask_post");
    }
}
