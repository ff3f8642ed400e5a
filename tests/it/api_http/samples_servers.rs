//! Samples about tool servers.

use std::collections::BTreeMap;

use leverframe::protocol::enums::{
    Access, Effect, McpEra, McpServerState, McpToolState, McpTransport,
};
use leverframe::protocol::mcp::{
    McpClaims, McpIdentity, McpPrompt, McpPromptArgument, McpResource, McpServer, McpServerReview,
    McpText, McpTool, McpToolDefinition,
};
use leverframe::protocol::request::{
    Answer, Command, DistrustMcpServer, GetMcpPrompt, GetMcpServer, ListMcpPrompts,
    ListMcpResources, ListMcpServers, Outcome, Query, ReadMcpResource, StartMcpServer,
    StopMcpServer, TestMcpServer, TrustMcpServer,
};
use serde_json::json;

use crate::api_http::samples::{NASTY, at, page};

fn server() -> McpServer {
    McpServer {
        name: "files".to_owned(),
        transport: McpTransport::Stdio,
        place: "files-server /srv/share".to_owned(),
        state: McpServerState::Failed,
        problem: Some(NASTY.to_owned()),
        era: Some(McpEra::Handshake),
        protocol_version: Some("2025-11-25".to_owned()),
        identity: Some(McpIdentity {
            name: NASTY.to_owned(),
            version: "1".to_owned(),
            place: "files-server /srv/share".to_owned(),
        }),
        claims_count: false,
        sandbox: Some("bubblewrap".to_owned()),
        tools: 3,
        quarantined: 1,
        identity_changed: false,
        trusted_at: Some(at()),
        trusted_by: Some("anna".to_owned()),
        calls: 7,
        errors: 1,
        p50_ms: Some(12),
        connected_at: Some(at()),
        restarts: 2,
        pid: Some(4711),
    }
}

fn review() -> McpServerReview {
    McpServerReview {
        server: server(),
        tool_list: vec![McpTool {
            name: "mcp__files__read".to_owned(),
            state: McpToolState::Changed,
            definition: McpToolDefinition {
                name: "read".to_owned(),
                title: Some(NASTY.to_owned()),
                description: NASTY.to_owned(),
                input_schema: json!({"type": "object"}),
                output_schema: Some(json!({"type": "object"})),
                claims: McpClaims {
                    read_only: Some(true),
                    ..McpClaims::default()
                },
            },
            access: Access::Unknown,
            effect: Effect::NonIdempotent,
            trusted_sha256: Some("ab".repeat(32)),
            offered_sha256: Some("cd".repeat(32)),
            problem: None,
        }],
        diff: NASTY.to_owned(),
        offered_sha256: Some("ef".repeat(32)),
        instructions: Some(NASTY.to_owned()),
        log: vec![NASTY.to_owned()],
        warnings: vec![NASTY.to_owned()],
    }
}

pub fn commands() -> Vec<Command> {
    let name = "files".to_owned();
    vec![
        Command::TrustMcpServer(TrustMcpServer {
            name: name.clone(),
            sha256: "ef".repeat(32),
            tools: Some(vec!["read".to_owned()]),
        }),
        Command::DistrustMcpServer(DistrustMcpServer { name: name.clone() }),
        Command::StopMcpServer(StopMcpServer { name: name.clone() }),
        Command::StartMcpServer(StartMcpServer { name: name.clone() }),
        Command::TestMcpServer(TestMcpServer { name: name.clone() }),
        Command::ListMcpResources(ListMcpResources { name: name.clone() }),
        Command::ReadMcpResource(ReadMcpResource {
            name: name.clone(),
            uri: "file:///srv/share/a".to_owned(),
        }),
        Command::ListMcpPrompts(ListMcpPrompts { name: name.clone() }),
        Command::GetMcpPrompt(GetMcpPrompt {
            name,
            prompt: "summary".to_owned(),
            arguments: BTreeMap::from([("of".to_owned(), NASTY.to_owned())]),
        }),
    ]
}

pub fn outcomes() -> Vec<Outcome> {
    let text = McpText {
        text: NASTY.to_owned(),
    };
    let resource = McpResource {
        uri: "file:///srv/share/a".to_owned(),
        name: NASTY.to_owned(),
        description: NASTY.to_owned(),
        media_type: Some("text/plain".to_owned()),
    };
    let prompt = McpPrompt {
        name: "summary".to_owned(),
        description: NASTY.to_owned(),
        arguments: vec![McpPromptArgument {
            name: "of".to_owned(),
            description: NASTY.to_owned(),
            required: true,
        }],
    };
    vec![
        Outcome::TrustMcpServer(review()),
        Outcome::DistrustMcpServer(review()),
        Outcome::StopMcpServer(server()),
        Outcome::StartMcpServer(server()),
        Outcome::TestMcpServer(review()),
        Outcome::ListMcpResources(page(resource)),
        Outcome::ReadMcpResource(text.clone()),
        Outcome::ListMcpPrompts(page(prompt)),
        Outcome::GetMcpPrompt(text),
    ]
}

pub fn queries() -> Vec<(Query, Answer)> {
    vec![
        (
            Query::ListMcpServers(ListMcpServers {}),
            Answer::ListMcpServers(page(server())),
        ),
        (
            Query::GetMcpServer(GetMcpServer {
                name: "files".to_owned(),
            }),
            Answer::GetMcpServer(review()),
        ),
    ]
}
