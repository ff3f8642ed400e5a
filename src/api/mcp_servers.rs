//! Tool servers: what each is and offers, and what an operator trusts of it.

use crate::api::route::Method::Post;
use crate::api::route::{Route, command, query};
use crate::protocol::request::{
    DistrustMcpServer, GetMcpPrompt, GetMcpServer, ListMcpPrompts, ListMcpResources,
    ListMcpServers, ReadMcpResource, StartMcpServer, StopMcpServer, TestMcpServer, TrustMcpServer,
};

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        query::<ListMcpServers>("/v1/mcp/servers"),
        query::<GetMcpServer>("/v1/mcp/servers/{id}").id("name"),
        command::<TrustMcpServer>(Post, "/v1/mcp/servers/{id}/trust").id("name"),
        command::<DistrustMcpServer>(Post, "/v1/mcp/servers/{id}/distrust")
            .id("name")
            .bodyless(),
        command::<StopMcpServer>(Post, "/v1/mcp/servers/{id}/stop")
            .id("name")
            .bodyless(),
        command::<StartMcpServer>(Post, "/v1/mcp/servers/{id}/start")
            .id("name")
            .bodyless(),
        command::<TestMcpServer>(Post, "/v1/mcp/servers/{id}/test")
            .id("name")
            .bodyless(),
        command::<ListMcpResources>(Post, "/v1/mcp/servers/{id}/resources")
            .id("name")
            .bodyless(),
        command::<ReadMcpResource>(Post, "/v1/mcp/servers/{id}/resources/read").id("name"),
        command::<ListMcpPrompts>(Post, "/v1/mcp/servers/{id}/prompts")
            .id("name")
            .bodyless(),
        command::<GetMcpPrompt>(Post, "/v1/mcp/servers/{id}/prompts/get").id("name"),
    ]
}
