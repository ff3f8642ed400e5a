//! `read_resource`: what servers offer to read, beside their tools.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use crate::protocol::enums::{Access, Effect};
use crate::protocol::mcp::READ_RESOURCE;
use crate::tools::read_file::{read_outcome, text};
use crate::tools::risk::RiskReason;
use crate::tools::tool::{Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec, arguments};

/// The tool.
pub struct ReadResource {
    spec: ToolSpec,
}

impl Default for ReadResource {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: READ_RESOURCE.into(),
                description: "Read a resource of a tool server; without `uri`, list those it has."
                    .into(),
                input_schema: arguments!(["server"], {
                    "server": {"type": "string", "minLength": 1},
                    "uri": {"type": "string", "minLength": 1, "maxLength": 2000}
                }),
                access: Access::ReadOpen,
                effect: Effect::ReadOnly,
                max_duration: Duration::from_secs(120),
                key_lifetime: None,
                cacheable: None,
            },
        }
    }
}

#[async_trait]
impl Tool for ReadResource {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn untrusted(&self, args: &Value) -> Option<String> {
        let server = text(args, "server").unwrap_or_default();
        Some(format!("resources of the tool server {server}"))
    }

    fn prepare(&self, _context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let server = text(args, "server").unwrap_or_default();
        let reason = RiskReason::CallsService(server.to_owned(), Access::ReadOpen);
        Ok(Plan::new(Access::ReadOpen, vec![reason]))
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let server = text(args, "server").unwrap_or_default();
        let read = context.host.read_resource(server, text(args, "uri"));
        tokio::select! {
            read = read => read_outcome(read),
            () = context.cancel.cancelled() => read_outcome(Err("it was cancelled".to_owned())),
        }
    }
}
