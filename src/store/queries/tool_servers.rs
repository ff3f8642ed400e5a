//! Tool servers: what an operator trusts of each, and what it offered last.

use crate::clock::Timestamp;
use crate::protocol::ids::ApprovalId;
use crate::protocol::mcp::{McpIdentity, McpToolDefinition};
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Row, Statements, columns, params};

/// A definition and its digest.
#[derive(Debug, Clone, PartialEq)]
pub struct PinnedDefinition {
    pub definition: McpToolDefinition,
    /// Lower-case hex SHA-256 of it.
    pub sha256: String,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerTool {
    /// Its name on the server.
    pub name: String,
    /// What is trusted; none = nothing is.
    pub trusted: Option<PinnedDefinition>,
    /// What the server offered last; none = it did not offer it, or was never seen.
    pub offered: Option<PinnedDefinition>,
    /// Why the server's cannot be used, or what is odd about its text.
    pub problem: Option<String>,
    /// Whether the offered one can be trusted.
    pub usable: bool,
}

/// What is trusted of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTrust {
    pub identity: McpIdentity,
    /// When something of it was trusted last.
    pub at: Timestamp,
    pub by: String,
    /// Whether agents get its resources.
    pub has_resources: bool,
}

/// What a server offered last, beside its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOffer {
    /// Who it says it is.
    pub identity: McpIdentity,
    /// Lower-case hex SHA-256 of all of it that can be trusted.
    pub sha256: String,
    /// What it tells models about its use.
    pub instructions: Option<String>,
    /// What is odd about its answers.
    pub warnings: Vec<String>,
    /// Whether it has resources.
    pub has_resources: bool,
}

/// A server that somebody configured once.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolServer {
    /// Its name in the configuration.
    pub name: String,
    /// What is trusted; none = nothing is.
    pub trust: Option<ServerTrust>,
    /// What it offered last; none = it was never seen.
    pub offer: Option<ServerOffer>,
    /// What a person has answered: of this nobody is asked again.
    pub decided_sha256: Option<String>,
    /// The question that waits.
    pub approval_id: Option<ApprovalId>,
    /// Its tools, by name.
    pub tools: Vec<ServerTool>,
}

fn server_row(row: &Row<'_>) -> Result<ToolServer, StoreError> {
    let identity: Option<McpIdentity> = row.json_opt("identity")?;
    let trust = identity.map(|identity| {
        Ok::<_, StoreError>(columns!(row => ServerTrust {
            at = "trusted_at", by = "by_label", has_resources = "trusts_resources";
            identity,
        }))
    });
    let identity: Option<McpIdentity> = row.json_opt("offered_identity")?;
    let offer = identity.map(|identity| {
        Ok::<_, StoreError>(columns!(row => ServerOffer {
            sha256 = "offered_sha256", instructions, has_resources;
            identity,
            warnings: row.json("warnings")?,
        }))
    });
    Ok(columns!(row => ToolServer {
        name, decided_sha256, approval_id;
        trust: trust.transpose()?,
        offer: offer.transpose()?,
        tools: Vec::new(),
    }))
}

fn tool_row(row: &Row<'_>) -> Result<(String, ServerTool), StoreError> {
    let pinned = |definition: &str, sha256: &str| -> Result<_, StoreError> {
        let definition: Option<McpToolDefinition> = row.json_opt(definition)?;
        let pinned = definition.map(|definition| {
            Ok::<_, StoreError>(PinnedDefinition {
                definition,
                sha256: row.get(sha256)?,
            })
        });
        pinned.transpose()
    };
    let tool = columns!(row => ServerTool {
        name, problem, usable;
        trusted: pinned("trusted", "trusted_sha256")?,
        offered: pinned("offered", "offered_sha256")?,
    });
    Ok((row.get("server")?, tool))
}

/// A server with its tools; none = it was never seen.
pub(crate) fn load_server(conn: &Connection, name: &str) -> Result<Option<ToolServer>, StoreError> {
    let server = conn.row_opt(
        "SELECT * FROM tool_servers WHERE name = ?1",
        [name],
        server_row,
    )?;
    let Some(mut server) = server else {
        return Ok(None);
    };
    let tools = conn.rows(
        "SELECT * FROM server_tools WHERE server = ?1 ORDER BY name",
        [name],
        tool_row,
    )?;
    server.tools = tools.into_iter().map(|(_, tool)| tool).collect();
    Ok(Some(server))
}

impl Reader<'_> {
    /// A server with its tools; none = it was never seen.
    pub fn tool_server(&self, name: &str) -> Result<Option<ToolServer>, StoreError> {
        load_server(self.conn, name)
    }

    /// Every server that was seen once, with its tools, by name.
    pub fn tool_servers(&self) -> Result<Vec<ToolServer>, StoreError> {
        let mut servers = self.conn.rows(
            "SELECT * FROM tool_servers ORDER BY name",
            params![],
            server_row,
        )?;
        let tools = self.conn.rows(
            "SELECT * FROM server_tools ORDER BY server, name",
            params![],
            tool_row,
        )?;
        for (server, tool) in tools {
            if let Some(found) = servers.iter_mut().find(|one| one.name == server) {
                found.tools.push(tool);
            }
        }
        Ok(servers)
    }
}
