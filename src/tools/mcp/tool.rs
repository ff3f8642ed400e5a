//! A tool of a server as agents call it.
//!
//! A call is never sent to a server that offers another definition than the trusted one, or that is another server.

use std::borrow::Cow;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::config::mcp::{McpPlace, McpServerSettings};
use crate::mcp::client::offer::MAX_DESCRIPTION;
use crate::mcp::client::visible;
use crate::protocol::approval::{PlanFacts, Preview};
use crate::protocol::enums::{Access, Effect};
use crate::protocol::mcp::{McpIdentity, McpToolDefinition};
use crate::text::untrusted::reveal;
use crate::tools::canonical::digest;
use crate::tools::mcp::call::{CallOutcome, CallRequest};
use crate::tools::mcp::definition::{classify, definition_sha256, exposed_name};
use crate::tools::mcp::place::place;
use crate::tools::mcp::servers::McpServers;
use crate::tools::output::{MAX_RESULT, first};
use crate::tools::risk::RiskReason;
use crate::tools::tool::{
    Cacheable, Plan, PrepareError, Probe, Tool, ToolContext, ToolOutcome, ToolSpec, reads,
};

/// How long a server may take to be connected and to list its tools before a call.
const BEFORE: Duration = Duration::from_secs(90);

/// The tool.
pub struct McpTool {
    spec: ToolSpec,
    servers: McpServers,
    server: String,
    /// Its name on the server.
    tool: String,
    definition_sha256: String,
    identity: McpIdentity,
    /// Where the server is, for people.
    place: String,
    host: Option<String>,
    sandbox: Option<&'static str>,
    key_argument: Option<String>,
    probe: Option<String>,
    /// The digest of the probe's definition that an operator trusts.
    probe_sha256: Option<String>,
    taints: bool,
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
        let key_argument = own.and_then(|own| own.key_argument.clone());
        let probe = own.and_then(|own| own.probe.clone());
        let (access, effect) = classify(own, &definition.claims, settings.trusted);
        let effect = match effect {
            // Nobody could be asked twice, or looked at.
            Effect::Keyed if key_argument.is_none() => Effect::NonIdempotent,
            Effect::Reconcilable if probe.is_none() => Effect::NonIdempotent,
            effect => effect,
        };
        let is_closed = settings.trusted && definition.claims.open_world == Some(false);
        let cache = own.and_then(|own| own.cache);
        let (host, sandbox) = match &settings.place {
            McpPlace::Address(address) => (host_of(&address.url), None),
            McpPlace::Program(program) if !program.sandbox => (None, Some("unsandboxed")),
            McpPlace::Program(program) if program.network => {
                (None, Some("in the sandbox, with the network"))
            }
            McpPlace::Program(_) => (None, Some("in the sandbox, without network")),
        };
        Ok(Self {
            spec: ToolSpec {
                name: Cow::Owned(exposed_name(server, &definition.name)?),
                description: Cow::Owned(description(server, &definition)),
                input_schema: schema(&definition.input_schema, key_argument.as_deref()),
                access,
                effect,
                max_duration: settings.max_duration + BEFORE,
                key_lifetime: None,
                cacheable: cache
                    .filter(|_| reads(access) && effect == Effect::ReadOnly)
                    .map(Cacheable::elsewhere),
            },
            servers,
            server: server.to_owned(),
            definition_sha256: definition_sha256(&definition),
            tool: definition.name,
            identity: identity.clone(),
            place: place(settings),
            host,
            sandbox,
            key_argument: key_argument.filter(|_| effect == Effect::Keyed),
            probe,
            probe_sha256: None,
            taints: !is_closed,
        })
    }

    /// The same; its probe runs only as the definition with that digest. `trusted` gives the digest of a tool.
    pub fn with_probe(mut self, trusted: impl FnOnce(&str) -> Option<String>) -> Self {
        self.probe_sha256 = self.probe.as_deref().and_then(trusted);
        self
    }

    /// Calls a tool of the server, where it is still defined so.
    async fn call(
        &self,
        context: &ToolContext<'_>,
        tool: &str,
        definition_sha256: String,
        args: &Value,
    ) -> CallOutcome {
        let call = CallRequest {
            tool: tool.to_owned(),
            definition_sha256,
            identity: self.identity.clone(),
            arguments: self.arguments(args, &context.idempotency_key),
        };
        self.servers
            .call(&self.server, call, context.host, &context.cancel)
            .await
    }

    fn arguments(&self, args: &Value, idempotency_key: &str) -> Map<String, Value> {
        let mut arguments = match args {
            Value::Object(map) => map.clone(),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        };
        if let Some(name) = &self.key_argument {
            arguments.insert(name.clone(), Value::from(idempotency_key));
        }
        arguments
    }
}

/// The host of an address, in lower case.
fn host_of(url: &str) -> Option<String> {
    let url = reqwest::Url::parse(url).ok()?;
    url.host_str().map(str::to_ascii_lowercase)
}

/// What models read: whose words these are, and the words, without what nobody sees.
fn description(server: &str, definition: &McpToolDefinition) -> String {
    let title = definition.title.as_deref().unwrap_or_default();
    let said = match definition.description.trim() {
        "" => visible(title),
        said => visible(said),
    };
    let kept = first(&said, MAX_DESCRIPTION);
    let more = if kept.len() < said.len() { " …" } else { "" };
    format!("Tool of the server `{server}`, in its own words: {kept}{more}")
}

/// The schema for models: of an object, without what nobody sees, and without the argument that we fill in.
fn schema(offered: &Value, key_argument: Option<&str>) -> Value {
    let mut schema = offered.clone();
    clean(&mut schema);
    if let Some(map) = schema.as_object_mut() {
        map.entry("type").or_insert_with(|| Value::from("object"));
        if let Some(name) = key_argument {
            if let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) {
                properties.shift_remove(name);
            }
            if let Some(required) = map.get_mut("required").and_then(Value::as_array_mut) {
                required.retain(|required| required != name);
            }
        }
    }
    schema
}

/// Takes what nobody sees out of the texts of a schema. Values that a call is checked against stay.
fn clean(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(map) => {
            for (key, item) in map {
                match (key.as_str(), item) {
                    ("description" | "title" | "$comment", Value::String(text)) => {
                        *text = visible(text).into_owned();
                    }
                    (_, item) => clean(item),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
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

    fn untrusted(&self, _args: &Value) -> Option<String> {
        self.taints
            .then(|| format!("a result of the tool server {}", self.server))
    }

    fn prepare(&self, _context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let mut risk_reasons = vec![RiskReason::CallsService(
            self.server.clone(),
            self.spec.access,
        )];
        if self.spec.access == Access::Unknown {
            risk_reasons.push(RiskReason::Unclassified);
        }
        let arguments = serde_json::to_string_pretty(args).unwrap_or_default();
        let text = format!(
            "server: {} ({})\nplace: {}\ntool: {}\n\n{arguments}",
            self.server,
            reveal(&self.identity.name),
            reveal(&self.place),
            self.tool,
        );
        Ok(Plan {
            access: self.spec.access,
            risk_reasons,
            preview: Preview::Text { text },
            facts: PlanFacts {
                host: self.host.clone(),
                sandbox: self.sandbox.map(str::to_owned),
                ..PlanFacts::default()
            },
            operands: vec![
                (
                    format!("definition of {}", self.spec.name),
                    self.definition_sha256.clone(),
                ),
                (
                    format!("server {}", self.server),
                    digest(&[&self.identity.name, &self.identity.place]),
                ),
            ],
            always_asks: None,
        })
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let definition = self.definition_sha256.clone();
        self.call(context, &self.tool, definition, args)
            .await
            .outcome
    }

    async fn probe(&self, context: &ToolContext<'_>, args: &Value) -> Probe {
        let unclear = |why: String| Probe::Unclear { why };
        let Some(probe) = &self.probe else {
            return unclear("the tool has no way to look".to_owned());
        };
        let Some(definition) = self.probe_sha256.clone() else {
            return unclear(format!("nobody trusts the tool `{probe}`"));
        };
        let called = self.call(context, probe, definition, args).await;
        let content = called.outcome.content;
        if called.outcome.is_error {
            return unclear(first(&content, MAX_RESULT).to_owned());
        }
        let structured = called
            .structured
            .or_else(|| serde_json::from_str(&content).ok());
        let happened = structured.and_then(|result| result.get("happened")?.as_bool());
        match happened {
            Some(true) => Probe::Done {
                content: first(&content, MAX_RESULT).to_owned(),
            },
            Some(false) => Probe::NotDone,
            None => unclear(format!("`{probe}` does not answer with `happened`")),
        }
    }
}
