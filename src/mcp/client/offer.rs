//! What a server offers, looked at before anybody else sees it. Pure.
//!
//! One tool that cannot be used never takes another one with it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::mcp::client::schema;
use crate::mcp::client::visible::hides;
use crate::protocol::mcp::{
    McpClaims, McpPrompt, McpPromptArgument, McpResource, McpToolDefinition,
};

/// Longest description that models read, in bytes.
pub const MAX_DESCRIPTION: usize = 2 * 1024;
/// Longest description at all, in bytes.
const MAX_TEXT: usize = 32 * 1024;

/// The tools of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolList {
    /// Those that can be used, by name, with their texts as they came.
    pub tools: BTreeMap<String, McpToolDefinition>,
    /// Those that cannot be used, and why.
    pub invalid: BTreeMap<String, String>,
    /// What is odd about some that can be used.
    pub odd: BTreeMap<String, String>,
    /// What is odd about the list.
    pub warnings: Vec<String>,
}

impl ToolList {
    /// The tools of a list as it came.
    pub fn new(items: Vec<Value>, warnings: Vec<String>) -> Self {
        let mut list = Self {
            warnings,
            ..Self::default()
        };
        for item in items {
            let Some(name) = item.get("name").and_then(Value::as_str) else {
                list.warnings
                    .push("a tool without a name is left out".to_owned());
                continue;
            };
            let name = name.to_owned();
            if list.tools.contains_key(&name) {
                list.warnings.push(format!(
                    "there are two tools `{name}`; the second one is left out"
                ));
                continue;
            }
            match definition(item) {
                Ok(definition) => {
                    let odd = oddities(&definition);
                    if !odd.is_empty() {
                        list.odd.insert(name.clone(), odd.join("; "));
                    }
                    list.tools.insert(name, definition);
                }
                Err(why) => {
                    list.invalid.insert(name, why);
                }
            }
        }
        list
    }
}

fn definition(mut item: Value) -> Result<McpToolDefinition, String> {
    let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
    let (name, title) = (text("name").unwrap_or_default(), text("title"));
    let description = text("description").unwrap_or_default();
    if description.len() > MAX_TEXT {
        return Err(format!(
            "its description has {} bytes, and {MAX_TEXT} are the most",
            description.len()
        ));
    }
    let claims = item.get("annotations");
    let claim = |key: &str| claims.and_then(|claims| claims.get(key)?.as_bool());
    let claims = McpClaims {
        read_only: claim("readOnlyHint"),
        destructive: claim("destructiveHint"),
        idempotent: claim("idempotentHint"),
        open_world: claim("openWorldHint"),
    };
    let take = |item: &mut Value, key: &str| item.get_mut(key).map(Value::take);
    let input_schema = take(&mut item, "inputSchema").unwrap_or_default();
    if !input_schema.is_object() {
        return Err("it has no schema of its arguments".to_owned());
    }
    if input_schema
        .get("type")
        .is_some_and(|kind| kind != "object")
    {
        return Err("the schema of its arguments is not that of an object".to_owned());
    }
    schema::check("the schema of its arguments", &input_schema)?;
    if let Some(hidden) = hidden_name(&input_schema) {
        return Err(format!(
            "an argument is called `{}`, with characters that nobody sees",
            hidden.escape_unicode()
        ));
    }
    let output_schema = take(&mut item, "outputSchema").filter(|schema| !schema.is_null());
    if let Some(output) = &output_schema {
        schema::check("the schema of its results", output)?;
    }
    Ok(McpToolDefinition {
        name,
        title,
        description,
        input_schema,
        output_schema,
        claims,
    })
}

/// A key of a schema that is not what it looks like.
fn hidden_name(schema: &Value) -> Option<&str> {
    match schema {
        Value::Array(items) => items.iter().find_map(hidden_name),
        Value::Object(map) => map.iter().find_map(|(key, item)| {
            let hidden = hides(key).then_some(key.as_str());
            hidden.or_else(|| hidden_name(item))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn oddities(definition: &McpToolDefinition) -> Vec<String> {
    let mut odd = Vec::new();
    let title = definition.title.as_deref().unwrap_or_default();
    if hides(&definition.description) || hides(title) {
        odd.push("its description holds characters that nobody sees".to_owned());
    }
    if holds_hidden(&definition.input_schema) {
        odd.push("its schema holds characters that nobody sees".to_owned());
    }
    if definition.description.len() > MAX_DESCRIPTION {
        odd.push(format!(
            "models read {MAX_DESCRIPTION} of the {} bytes of its description",
            definition.description.len()
        ));
    }
    if definition.claims.read_only == Some(true) && definition.claims.destructive == Some(true) {
        odd.push("it claims to change nothing and to destroy".to_owned());
    }
    odd
}

fn holds_hidden(schema: &Value) -> bool {
    match schema {
        Value::String(text) => hides(text),
        Value::Array(items) => items.iter().any(holds_hidden),
        Value::Object(map) => map.values().any(holds_hidden),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A resource of a list; none = it has no address.
pub(super) fn resource(item: &Value) -> Option<McpResource> {
    let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
    let uri = text("uri")?;
    Some(McpResource {
        name: text("title")
            .or_else(|| text("name"))
            .unwrap_or_else(|| uri.clone()),
        description: text("description").unwrap_or_default(),
        media_type: text("mimeType"),
        uri,
    })
}

/// A prompt of a list; none = it has no name.
pub(super) fn prompt(item: &Value) -> Option<McpPrompt> {
    let text = |item: &Value, key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
    let arguments = item.get("arguments").and_then(Value::as_array);
    let arguments = arguments.into_iter().flatten().filter_map(|argument| {
        Some(McpPromptArgument {
            name: text(argument, "name")?,
            description: text(argument, "description").unwrap_or_default(),
            required: argument.get("required") == Some(&Value::Bool(true)),
        })
    });
    Some(McpPrompt {
        name: text(item, "name")?,
        description: text(item, "description").unwrap_or_default(),
        arguments: arguments.collect(),
    })
}
