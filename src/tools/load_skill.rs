//! `load_skill`: what the agent reads of a skill. It gets what an operator trusts, never what lies in the folder now.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::protocol::enums::{Access, Effect};
use crate::protocol::skill::LOAD_SKILL;
use crate::tools::read_file::{read_outcome, reading, text};
use crate::tools::risk::RiskReason;
use crate::tools::tool::{Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec};

/// The tool.
pub struct LoadSkill {
    spec: ToolSpec,
}

impl Default for LoadSkill {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: LOAD_SKILL.into(),
                description: "Read a skill of the list before a task that it describes.".into(),
                input_schema: json!({
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "minLength": 1},
                        "file": {"type": "string", "minLength": 1, "description": "a file of it, default SKILL.md"}
                    },
                    "required": ["name"],
                    "additionalProperties": false
                }),
                access: Access::ReadLocal,
                effect: Effect::ReadOnly,
                max_duration: Duration::from_secs(30),
                key_lifetime: None,
                cacheable: None,
            },
        }
    }
}

#[async_trait]
impl Tool for LoadSkill {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, _context: &ToolContext<'_>, _args: &Value) -> Result<Plan, PrepareError> {
        Ok(Plan {
            risk_reasons: vec![RiskReason::ReadsSkill],
            ..reading()
        })
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let name = text(args, "name").unwrap_or_default();
        read_outcome(context.host.skill(name, text(args, "file")).await)
    }
}
