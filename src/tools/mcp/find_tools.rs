//! `find_tools`: the tools of servers that requests leave out, found by words.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::protocol::enums::{Access, Effect};
use crate::protocol::mcp::FIND_TOOLS;
use crate::tools::read_file::{read_outcome, reading, text};
use crate::tools::risk::RiskReason;
use crate::tools::tool::{Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec};

/// The tool.
pub struct FindTools {
    spec: ToolSpec,
}

impl Default for FindTools {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: FIND_TOOLS.into(),
                description: "Find further tools by words of their names and descriptions; you can call those it names."
                    .into(),
                input_schema: json!({
                    "type": "object",
                    "properties": {
                        "query": {"type": "string", "minLength": 1, "maxLength": 200},
                        "limit": {"type": "integer", "minimum": 1, "maximum": 20}
                    },
                    "required": ["query"],
                    "additionalProperties": false
                }),
                access: Access::ReadLocal,
                effect: Effect::ReadOnly,
                max_duration: Duration::from_secs(10),
                key_lifetime: None,
                cacheable: None,
            },
        }
    }
}

#[async_trait]
impl Tool for FindTools {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, _context: &ToolContext<'_>, _args: &Value) -> Result<Plan, PrepareError> {
        Ok(Plan {
            risk_reasons: vec![RiskReason::ReadsToolList],
            ..reading()
        })
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let query = text(args, "query").unwrap_or_default();
        let limit = args.get("limit").and_then(Value::as_u64);
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        read_outcome(context.host.find_tools(query, limit).await)
    }
}
