//! One call of a server's tool.

use serde_json::{Map, Value};

use crate::protocol::mcp::McpIdentity;
use crate::tools::tool::{EffectDisposition, ToolOutcome};

/// One call.
#[derive(Debug, Clone)]
pub struct CallRequest {
    /// Name of the tool on the server.
    pub tool: String,
    /// Digest of the definition that is trusted: another one gets no call.
    pub definition_sha256: String,
    /// The server that is trusted: another one gets no call. Its version does not matter.
    pub identity: McpIdentity,
    /// The arguments.
    pub arguments: Map<String, Value>,
}

/// How a call ended.
#[derive(Debug, Clone)]
pub struct CallOutcome {
    /// What the model reads, and what is known of the effect.
    pub outcome: ToolOutcome,
    /// The structured result, where it fits the schema that the tool declares.
    pub structured: Option<Value>,
}

impl CallOutcome {
    /// A call without a result.
    pub(super) fn failed(why: String, disposition: EffectDisposition) -> Self {
        Self {
            outcome: ToolOutcome {
                content: why,
                is_error: true,
                disposition,
                partial: true,
            },
            structured: None,
        }
    }

    /// A call that was never sent.
    pub(super) fn not_sent(why: String) -> Self {
        Self::failed(why, EffectDisposition::ConfirmedNoEffect)
    }
}
