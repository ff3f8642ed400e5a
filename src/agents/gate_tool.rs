//! A tool of an agent as a tool of ours: judged, asked about and recorded as any other.
//!
//! To carry out a call of it is to let the agent that waits go on. Nothing of ours runs. The engine looks before whether
//! somebody waits.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::agents::call_plan;
use crate::agents::parse::is_name;
use crate::agents::tool_kind::ToolKind;
use crate::protocol::enums::ExternalAgent;
use crate::tools::tool::{Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec};

/// Longest time to tell an agent to go on.
const MAX_DURATION: Duration = Duration::from_secs(30);

/// The tool.
struct GateTool {
    spec: ToolSpec,
    agent: ExternalAgent,
    kind: ToolKind,
}

/// The tool of an agent, by the name that it has here: `claude__Bash` is `Bash` of Claude Code. None = no tool of an agent
/// can have that name.
pub fn tool(name: &str) -> Option<Arc<dyn Tool>> {
    let (agent, own) = ExternalAgent::of_tool(name)?;
    if !is_name(own) {
        return None;
    }
    let kind = ToolKind::of(agent, own);
    Some(Arc::new(GateTool {
        spec: ToolSpec {
            name: name.to_owned().into(),
            description: format!("`{own}` of {}, which runs it itself", agent.product()).into(),
            input_schema: json!({"type": "object"}),
            access: kind.access(),
            effect: kind.effect(),
            max_duration: MAX_DURATION,
            key_lifetime: None,
            cacheable: None,
        },
        agent,
        kind,
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

    async fn execute(&self, _: &ToolContext<'_>, _: &Value) -> ToolOutcome {
        ToolOutcome::done(format!("{} was told to go on", self.agent.product()))
    }
}
