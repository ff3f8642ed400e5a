//! The tool of a server as the engine sees it.

use std::time::Duration;

use leverframe::config::mcp::{McpPlace, McpServerSettings, McpToolSettings};
use leverframe::protocol::approval::Preview;
use leverframe::protocol::enums::{Access, Effect};
use leverframe::protocol::mcp::{McpClaims, McpIdentity, McpToolDefinition};
use leverframe::tools::mcp::{McpTool, definition_sha256};
use leverframe::tools::registry::Registry;
use leverframe::tools::tool::{EffectDisposition, Probe, Tool};
use serde_json::json;

use crate::mcp_client::world::{SERVER, Scripted, program, settings};
use crate::tools::harness::Bench;

async fn tool(server: &Scripted, settings: &McpServerSettings, name: &str) -> McpTool {
    let catalogue = server.servers.catalogue(SERVER).await.unwrap();
    let mut tools = catalogue.tools.iter();
    let definition = tools.find(|tool| tool.name == name).unwrap().clone();
    let servers = server.servers.clone();
    let tool = McpTool::new(servers, SERVER, settings, definition, &catalogue.identity).unwrap();
    tool.with_probe(|probe| {
        let mut tools = catalogue.tools.iter();
        tools.find(|tool| tool.name == probe).map(definition_sha256)
    })
}

fn own(name: &str, own: McpToolSettings) -> McpServerSettings {
    let mut settings = settings(McpPlace::Program(program(&[])));
    settings.tools.insert(name.to_owned(), own);
    settings
}

#[tokio::test]
async fn an_untrusted_tool_is_unknown_taints_and_is_called_under_its_own_name() {
    let plain = settings(McpPlace::Program(program(&[])));
    let server = Scripted::with(plain.clone());
    let tool = tool(&server, &plain, "echo").await;
    let spec = tool.spec();
    assert_eq!(spec.name, "mcp__odd__echo");
    assert_eq!(
        (spec.access, spec.effect),
        (Access::Unknown, Effect::NonIdempotent)
    );
    assert_eq!(tool.source(), "mcp odd");
    assert!(tool.untrusted(&json!({})).unwrap().contains("odd"));
    let bench = Bench::new();
    let args = json!({"text": "hello"});
    let plan = tool.prepare(&bench.context(), &args).unwrap();
    let Preview::Text { text } = &plan.preview else {
        panic!("{plan:?}")
    };
    for part in [
        "server: odd (scripted)",
        "mcp_server.py",
        "tool: echo",
        "hello",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(plan.facts.sandbox.as_deref(), Some("unsandboxed"));
    assert_eq!(plan.operands.len(), 2);
    let outcome = tool.execute(&bench.context(), &args).await;
    assert_eq!(outcome.content, "hello");
    assert_eq!(outcome.disposition, EffectDisposition::Done);
}

#[tokio::test]
async fn a_trusted_closed_reading_is_local_and_does_not_taint() {
    let mut trusted = own(
        "echo",
        McpToolSettings {
            cache: Some(Duration::from_secs(60)),
            ..McpToolSettings::default()
        },
    );
    trusted.trusted = true;
    let server = Scripted::with(trusted.clone());
    let echo = tool(&server, &trusted, "echo").await;
    assert_eq!(echo.spec().access, Access::ReadLocal);
    assert_eq!(echo.untrusted(&json!({})), None);
    assert!(echo.spec().cacheable.is_some());
    let other = tool(&server, &trusted, "wait").await;
    assert_eq!(other.spec().access, Access::Send);
    assert!(other.untrusted(&json!({})).is_some());
}

#[tokio::test]
async fn a_keyed_tool_gets_its_key_from_us_alone() {
    let keyed = own(
        "keyed",
        McpToolSettings {
            access: Some(Access::Send),
            effect: Some(Effect::Keyed),
            key_argument: Some("key".to_owned()),
            ..McpToolSettings::default()
        },
    );
    let server = Scripted::with(keyed.clone());
    let tool = tool(&server, &keyed, "keyed").await;
    assert_eq!(tool.spec().effect, Effect::Keyed);
    let schema = &tool.spec().input_schema;
    assert_eq!(schema["required"], json!(["what"]));
    assert!(schema["properties"].get("key").is_none());
    let bench = Bench::new();
    let outcome = tool
        .execute(&bench.context(), &json!({"what": "one"}))
        .await;
    assert_eq!(outcome.content, "one under 0123456789abcdef01234567");
}

#[tokio::test]
async fn a_reconcilable_tool_is_looked_at_by_another_one() {
    let mut looked_at = own(
        "write",
        McpToolSettings {
            access: Some(Access::Write),
            effect: Some(Effect::Reconcilable),
            probe: Some("happened".to_owned()),
            ..McpToolSettings::default()
        },
    );
    let bench = Bench::new();
    let args = json!({"path": "x"});
    let server = Scripted::with(looked_at.clone());
    let write = tool(&server, &looked_at, "write").await;
    assert_eq!(write.spec().effect, Effect::Reconcilable);
    match write.probe(&bench.context(), &args).await {
        Probe::Done { content } => assert!(content.contains("\"path\": \"x\""), "{content}"),
        other => panic!("{other:?}"),
    }
    // A definition that nobody trusts does not run.
    let other = write.with_probe(|_| Some("ab".repeat(32)));
    let looked = other.probe(&bench.context(), &args).await;
    assert!(matches!(looked, Probe::Unclear { .. }), "{looked:?}");
    looked_at.tools.get_mut("write").unwrap().probe = Some("echo".to_owned());
    let write = tool(&server, &looked_at, "write").await;
    let looked = write.probe(&bench.context(), &json!({"text": "no"})).await;
    assert!(matches!(looked, Probe::Unclear { .. }), "{looked:?}");
}

#[test]
fn models_read_whose_words_these_are_and_nothing_that_nobody_sees() {
    let settings = settings(McpPlace::Program(program(&[])));
    let server = Scripted::with(settings.clone());
    let definition = McpToolDefinition {
        name: "add".to_owned(),
        title: None,
        description: format!("Adds.\u{200b}\u{e0049}\u{202e} {}", "l".repeat(5000)),
        input_schema: json!({"properties": {"a": {"description": "x\u{200b}y", "enum": ["z\u{200b}"]}}}),
        output_schema: None,
        claims: McpClaims::default(),
    };
    let identity = McpIdentity {
        name: "s".to_owned(),
        version: "1".to_owned(),
        place: "p".to_owned(),
    };
    let tool = McpTool::new(server.servers, SERVER, &settings, definition, &identity).unwrap();
    let description = tool.spec().description.to_string();
    let frame = "Tool of the server `odd`, in its own words: Adds. l";
    assert!(description.starts_with(frame), "{description}");
    assert!(description.len() < 2200 && description.ends_with('…'));
    let schema = &tool.spec().input_schema;
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["properties"]["a"]["description"], "xy");
    // What a call is checked against stays as it is.
    assert_eq!(schema["properties"]["a"]["enum"], json!(["z\u{200b}"]));
    let mut registry = Registry::default();
    registry.add(std::sync::Arc::new(tool)).unwrap();
    assert!(registry.get("mcp__odd__add").is_some());
}
