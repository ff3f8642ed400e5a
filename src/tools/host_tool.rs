//! Tools that only read something that the engine keeps: each asks the engine one question.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::protocol::enums::{Access, Effect};
use crate::tools::read_file::read_outcome;
use crate::tools::risk::RiskReason;
use crate::tools::tool::{Plan, PrepareError, Tool, ToolContext, ToolHost, ToolOutcome, ToolSpec};

/// What a call asks; else why there is no answer, for the model.
type Question = for<'a> fn(&'a dyn ToolHost, &'a Value) -> BoxFuture<'a, Result<String, String>>;

/// A tool that asks the engine.
pub struct HostTool {
    spec: ToolSpec,
    reason: RiskReason,
    question: Question,
}

impl HostTool {
    /// A tool of this name, what models read of it, its arguments, why it has its risk, and what it asks.
    pub fn new(
        name: &'static str,
        description: &'static str,
        input_schema: Value,
        max_duration: Duration,
        reason: RiskReason,
        question: Question,
    ) -> Self {
        Self {
            spec: ToolSpec {
                name: name.into(),
                description: description.into(),
                input_schema,
                access: Access::ReadLocal,
                effect: Effect::ReadOnly,
                max_duration,
                key_lifetime: None,
                cacheable: None,
            },
            reason,
            question,
        }
    }
}

#[async_trait]
impl Tool for HostTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, _context: &ToolContext<'_>, _args: &Value) -> Result<Plan, PrepareError> {
        Ok(Plan::new(Access::ReadLocal, vec![self.reason.clone()]))
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        read_outcome((self.question)(context.host, args).await)
    }
}
