//! A tool of a server as agents call it.
//!
//! A call is never sent to a server that offers another definition than the trusted one, or that is another server.

use std::borrow::Cow;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use crate::config::mcp::McpServerSettings;
use crate::protocol::approval::{PlanFacts, Preview};
use crate::protocol::enums::Effect;
use crate::protocol::mcp::{McpIdentity, McpToolDefinition};
use crate::tools::mcp::definition::{classify, definition_sha256, exposed_name};
use crate::tools::mcp::servers::{CallRequest, McpServers};
use crate::tools::risk::RiskReason;
use crate::tools::tool::{
    Cacheable, Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec, reads,
};

/// The tool.
pub struct McpTool {
    spec: ToolSpec,
    servers: McpServers,
    server: String,
    definition: McpToolDefinition,
    identity: McpIdentity,
}

impl McpTool {
    /// The tool of a definition that an operator trusts, of the server with that identity. The error says why models
    /// cannot get it.
    pub fn new(
        servers: McpServers,
        server: &str,
        settings: &McpServerSettings,
        definition: McpToolDefinition,
        identity: &McpIdentity,
    ) -> Result<Self, String> {
        let own = settings.tools.get(&definition.name);
        let (access, effect) = classify(own, &definition.claims, settings.trusted);
        let cache = own.and_then(|own| own.cache);
        Ok(Self {
            spec: ToolSpec {
                name: Cow::Owned(exposed_name(server, &definition.name)?),
                description: Cow::Owned(definition.description.clone()),
                input_schema: definition.input_schema.clone(),
                access,
                effect,
                max_duration: settings.max_duration + Duration::from_secs(5),
                key_lifetime: None,
                cacheable: cache
                    .filter(|_| reads(access) && effect == Effect::ReadOnly)
                    .map(Cacheable::elsewhere),
            },
            servers,
            server: server.to_owned(),
            definition,
            identity: identity.clone(),
        })
    }
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn source(&self) -> String {
        format!("mcp {}", self.server)
    }

    fn prepare(&self, _context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        Ok(Plan {
            access: self.spec.access,
            risk_reasons: vec![RiskReason::CallsService(
                self.server.clone(),
                self.spec.access,
            )],
            preview: Preview::Text {
                text: json!(args).to_string(),
            },
            facts: PlanFacts::default(),
            operands: vec![(
                format!("definition of {}", self.spec.name),
                definition_sha256(&self.definition),
            )],
            always_asks: None,
        })
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let call = CallRequest {
            tool: self.definition.name.clone(),
            definition_sha256: definition_sha256(&self.definition),
            identity: self.identity.clone(),
            arguments: match args {
                Value::Object(map) => map.clone(),
                _ => Map::new(),
            },
        };
        let called = self
            .servers
            .call(&self.server, call, context.host, &context.cancel);
        called.await.outcome
    }
}
