//! What a definition of a server is to us: its name for models, its digest, and its classes. Pure.
//!
//! No two tools of two servers get one name, and no claim of a server makes a call look more harmless than a
//! contradicting one.

use std::fmt::Write as _;

use crate::config::mcp::McpToolSettings;
use crate::protocol::enums::{Access, Effect};
use crate::protocol::mcp::{MCP_PREFIX, McpClaims, McpToolDefinition};
use crate::tools::canonical::{canonical_json, sha256_hex};
use crate::tools::tool::reads;

/// Longest name that every provider takes.
const MAX_NAME: usize = 64;
/// Longest name that the protocol permits a server's tool.
const MAX_TOOL: usize = 128;
/// Longest name of a server: a tool needs the rest.
const MAX_SERVER: usize = 32;
/// Digits of the hash that stands for what a name lost.
const DIGITS: usize = 8;

/// The name of a tool for models: `mcp__SERVER__TOOL`, of letters, digits, `_` and `-`, at most 64 characters. Where a
/// dot, a `__` or the length has to go, eight digits of the hash of the whole name stand at the end.
///
/// `server` is the operator's name for it. The error says why there is none.
pub fn exposed_name(server: &str, tool: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if server.is_empty()
        || server.len() > MAX_SERVER
        || !server.chars().all(plain)
        || server.contains("__")
        || server.starts_with('_')
        || server.ends_with('_')
    {
        return Err(format!(
            "the name of the server must be 1 to {MAX_SERVER} letters, digits, `-` and single `_` inside"
        ));
    }
    if tool.is_empty() {
        return Err("it has no name".to_owned());
    }
    if tool.len() > MAX_TOOL {
        return Err(format!(
            "its name has {} bytes, and {MAX_TOOL} are the most",
            tool.len()
        ));
    }
    if let Some(other) = tool.chars().find(|c| !plain(*c) && *c != '.') {
        return Err(format!(
            "its name has a U+{:04X}; letters, digits, `_`, `-` and `.` are permitted",
            u32::from(other)
        ));
    }
    let whole = format!("{MCP_PREFIX}{server}__{tool}");
    let mut name = tool.replace('.', "_");
    while name.contains("__") {
        name = name.replace("__", "_");
    }
    let mut exposed = format!("{MCP_PREFIX}{server}__{name}");
    if exposed.len() > MAX_NAME || name != tool {
        exposed.truncate(MAX_NAME - DIGITS - 1);
        let hash = sha256_hex(whole.as_bytes());
        // Writing to a string cannot fail.
        let _ = write!(exposed, "_{}", &hash[..DIGITS]);
    }
    Ok(exposed)
}

/// Lower-case hex SHA-256 of the canonical JSON of a definition: of all its fields.
pub fn definition_sha256(definition: &McpToolDefinition) -> String {
    // A definition is plain data: it always becomes JSON.
    let json = serde_json::to_value(definition).unwrap_or_default();
    sha256_hex(canonical_json(&json).as_bytes())
}

/// What a call touches and what recovery may assume: what the operator says, else the claims of a trusted server, else
/// nothing is known. What is not claimed is taken as harmful, and so is what contradicts.
pub fn classify(
    own: Option<&McpToolSettings>,
    claims: &McpClaims,
    trusted: bool,
) -> (Access, Effect) {
    let claimed = if trusted {
        access_of(claims)
    } else {
        Access::Unknown
    };
    let access = own.and_then(|own| own.access).unwrap_or(claimed);
    let effect = own.and_then(|own| own.effect).unwrap_or_else(|| {
        if reads(access) {
            Effect::ReadOnly
        } else if trusted && claims.idempotent == Some(true) {
            Effect::Idempotent
        } else {
            Effect::NonIdempotent
        }
    });
    (access, effect)
}

fn access_of(claims: &McpClaims) -> Access {
    let reads = claims.read_only == Some(true) && claims.destructive != Some(true);
    let is_closed = claims.open_world == Some(false);
    let adds = claims.destructive == Some(false);
    match (reads, is_closed) {
        (true, true) => Access::ReadLocal,
        (true, false) => Access::ReadOpen,
        (false, true) if adds => Access::WriteAdditive,
        (false, true) => Access::Write,
        (false, false) => Access::Send,
    }
}
