//! Taking memory out and in, and the answer that says what was deleted.

use std::sync::Arc;

use axum::body::{Body as Content, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::error::{Refusal, json};
use crate::api::request::Call;
use crate::api::route::{AnswerShape, Method, Route, command, content, ok, own};
use crate::api::state::Api;
use crate::client::memory_lines;
use crate::protocol::enums::MemoryState;
use crate::protocol::ids::MemoryId;
use crate::protocol::memory::MemoryFilter;
use crate::protocol::problem::Problem;
use crate::protocol::request::{DeleteMemory, ImportMemories, ListMemories};
use crate::protocol::snapshot::PageRequest;
use crate::text::untrusted::escape_line;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        own(
            Method::Get,
            "/v1/memory/export",
            "Exports every active memory, one JSON object a line, in the format of an import",
            &[content(AnswerShape::Content(&[
                "application/octet-stream",
                LINES,
            ]))],
            |api, call| Box::pin(export(api, call)),
        )
        .asks::<MemoryFilter>()
        .named("session", "session_id")
        .without(&["state"]),
        Route {
            handler: |api, call| Box::pin(import(api, call)),
            ..command::<ImportMemories>(Method::Post, "/v1/memory/import").asks::<Lines>()
        },
        Route {
            answers: vec![ok::<MemoryForgotten>()],
            handler: |api, call| {
                Box::pin(async move {
                    let command = call.envelope(call.request::<DeleteMemory>()?)?;
                    let id = api.client.execute(command).await?;
                    json(call.status, &MemoryForgotten { id })
                })
            },
            ..command::<DeleteMemory>(Method::Delete, "/v1/memory/{id}")
        },
    ]
}

/// A memory that was deleted.
#[derive(Debug, Serialize, JsonSchema)]
struct MemoryForgotten {
    /// Memory id.
    id: MemoryId,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Lines {
    /// Whether the body contains lines in the format of an export.
    #[serde(default)]
    lines: bool,
}

async fn import(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let Lines { lines } = call.query()?;
    let command = if lines {
        let items = memory_lines::parse(&call.body).map_err(|error| {
            Problem::invalid(format!("request body: {error}"))
                .hint("nothing was imported; send the output of `GET /v1/memory/export`")
        })?;
        ImportMemories { items }
    } else {
        call.request()?
    };
    api.execute(&call, command).await
}

/// Media type of an export.
const LINES: &str = "application/x-ndjson";

/// Page by page, so that an export takes no memory of its own.
async fn export(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let filter = MemoryFilter {
        state: Some(MemoryState::Active),
        ..call.query()?
    };
    let first = export_page(&api, &filter, None).await?;
    let rest = stream::try_unfold(first.1.clone(), move |cursor| {
        let (api, filter) = (Arc::clone(&api), filter.clone());
        async move {
            let Some(cursor) = cursor else {
                return Ok(None);
            };
            // The headers are sent: all that is left is to break off.
            let next = export_page(&api, &filter, Some(cursor)).await;
            next.map(Some)
                .map_err(|_| std::io::Error::other("the export broke off"))
        }
    });
    let whole =
        futures_util::StreamExt::chain(stream::iter([Ok::<Bytes, std::io::Error>(first.0)]), rest);
    let mut response = Response::new(Content::from_stream(whole));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(LINES));
    Ok(response)
}

async fn export_page(
    api: &Api,
    filter: &MemoryFilter,
    cursor: Option<String>,
) -> Result<(Bytes, Option<String>), Refusal> {
    let query = ListMemories {
        filter: filter.clone(),
        page: PageRequest {
            limit: Some(500),
            cursor,
        },
    };
    let page = api.client.call(query).await?;
    let mut lines = Vec::new();
    for item in page.items.into_iter().filter_map(memory_lines::item) {
        let line =
            serde_json::to_string(&item).map_err(|error| Problem::internal(error.to_string()))?;
        // As the command line writes it: somebody will look at it in a terminal.
        lines.extend_from_slice(escape_line(&line).as_bytes());
        lines.push(b'\n');
    }
    Ok((lines.into(), page.next_cursor))
}
