//! A tool of an agent as a tool of ours: judged, asked about and recorded as any other.
//!
//! To carry out a call of it is to let the agent that waits go on. Nothing of ours runs, and where nobody waits nothing
//! happens.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::agents::call_plan;
use crate::agents::parse::is_name;
use crate::agents::tool_kind::ToolKind;
use crate::protocol::enums::ExternalAgent;
use crate::protocol::ids::ToolCallId;
use crate::tools::tool::{
    EffectDisposition, Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec,
};

/// Longest time to tell an agent to go on.
const MAX_DURATION: Duration = Duration::from_secs(30);

/// Who waits for the answer to a call.
pub trait Presence: Send + Sync {
    /// Whether the agent that asked about this call still waits.
    fn waits(&self, call: ToolCallId) -> bool;
}

/// The tool.
struct GateTool {
    spec: ToolSpec,
    agent: ExternalAgent,
    kind: ToolKind,
    presence: Arc<dyn Presence>,
}

/// The tool of an agent, by the agent's own name of it: `Bash` of Claude Code becomes `claude__Bash`. None = no tool can
/// have that name.
pub fn tool(
    agent: ExternalAgent,
    name: &str,
    presence: &Arc<dyn Presence>,
) -> Option<Arc<dyn Tool>> {
    if !is_name(name) {
        return None;
    }
    let kind = ToolKind::of(agent, name);
    Some(Arc::new(GateTool {
        spec: ToolSpec {
            name: agent.tool_name(name).into(),
            description: format!("`{name}` of {}, which runs it itself", agent.product()).into(),
            input_schema: json!({"type": "object"}),
            access: kind.access(),
            effect: kind.effect(),
            max_duration: MAX_DURATION,
            key_lifetime: None,
            cacheable: None,
        },
        agent,
        kind,
        presence: Arc::clone(presence),
    }))
}

#[async_trait]
impl Tool for GateTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn source(&self) -> String {
        self.agent.product().to_owned()
    }

    fn prepare(&self, context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        call_plan::plan(self.agent, self.kind, context, args)
    }

    async fn execute(&self, context: &ToolContext<'_>, _args: &Value) -> ToolOutcome {
        let agent = self.agent.product();
        if self.presence.waits(context.call_id) {
            return ToolOutcome {
                content: format!("{agent} was told to go on"),
                is_error: false,
                disposition: EffectDisposition::Done,
                partial: false,
            };
        }
        ToolOutcome {
            content: format!("{agent} does not wait any more, so it was not told to go on"),
            is_error: true,
            disposition: EffectDisposition::ConfirmedNoEffect,
            partial: false,
        }
    }
}
