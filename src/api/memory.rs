//! Memory: what is remembered, changing and forgetting it, taking it out and in.

use std::sync::Arc;

use axum::body::{Body as Content, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::error::{Refusal, json};
use crate::api::request::Call;
use crate::api::route::{
    AnswerShape, Body, Field, Method, Route, Shape, Success, body, command, get, ok, optional,
    page, required,
};
use crate::api::state::Api;
use crate::client::memory_lines;
use crate::clock::Timestamp;
use crate::protocol::ids::MemoryId;
use crate::protocol::memory::{
    Forgotten, Memory, MemoryFilter, MemoryFound, MemoryImport, MemoryImported, MemoryPlace,
    MemoryReview, MemoryStats,
};
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    AcceptMemory, AddMemory, EditMemory, ForgetMemory, ForgetPerson, GetMemory, GetMemoryStats,
    ImportMemories, ListMemories, PinMemory, PreviewForgetPerson, ReviewMemories, SearchMemories,
    SupersedeMemories,
};
use crate::protocol::snapshot::PageRequest;
use crate::protocol::words::{MemoryKind, MemoryScope, MemoryState};
use crate::text::untrusted::escape_line;
use crate::words_of;

words_of!(scopes, MemoryScope);
words_of!(states, MemoryState);

const FILTER: [Field; 6] = [
    optional("scope", Shape::Words(scopes), "only this scope"),
    optional("session", Shape::Text, "only this session"),
    optional("channel", Shape::Text, "only this channel"),
    optional(
        "state",
        Shape::Words(states),
        "only this state; without it, all but archived ones",
    ),
    optional("person", Shape::Text, "only of this person (platform id)"),
    optional("pinned", Shape::Flag, "only pinned ones, or only others"),
];

fn with(more: &[Field]) -> Vec<Field> {
    [&FILTER[..], more].concat()
}

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    let few = optional("limit", Shape::Number, "at most this many, 1 to 200");
    vec![
        get(
            "/v1/memory",
            "What is remembered, newest change first",
            &with(&[
                optional("limit", Shape::Number, "at most this many, 1 to 500"),
                optional("cursor", Shape::Text, "`next_cursor` of the page before"),
            ]),
            &[page::<Memory>()],
            |api, call| Box::pin(list(api, call)),
        ),
        command(
            Method::Post,
            "/v1/memory",
            "Remember something",
            body::<Add>(),
            &[ok::<Memory>()],
            |api, call| Box::pin(add(api, call)),
        ),
        get(
            "/v1/memory/search",
            "Best first; any text is a valid search. `found_by` says what each was found by, `words_only` why meaning \
             was not looked for",
            &with(&[required("q", Shape::Text, "what for"), few]),
            &[ok::<MemoryFound>()],
            |api, call| Box::pin(search(api, call)),
        ),
        get(
            "/v1/memory/stats",
            "Counts and sizes",
            &[],
            &[ok::<MemoryStats>()],
            |api, _call| Box::pin(async move { api.answer(GetMemoryStats {}).await }),
        ),
        get(
            "/v1/memory/review",
            "What waits for a person, says the same, contradicts, or was never used",
            &[few],
            &[ok::<MemoryReview>()],
            |api, call| {
                Box::pin(async move {
                    let limit = call.small("limit", 1..=200)?;
                    api.answer(ReviewMemories { limit }).await
                })
            },
        ),
        get(
            "/v1/memory/export",
            "Everything that is recalled, one JSON object a line, as an import takes it",
            &[FILTER[0], FILTER[1], FILTER[2], FILTER[4], FILTER[5]],
            &[Success {
                status: 200,
                answer: AnswerShape::Content,
            }],
            |api, call| Box::pin(export(api, call)),
        ),
        Route {
            query: vec![optional(
                "lines",
                Shape::Flag,
                "the body holds lines as an export writes them",
            )],
            ..command(
                Method::Post,
                "/v1/memory/import",
                "Remember many things: all of them or none",
                body::<Import>(),
                &[ok::<MemoryImported>()],
                |api, call| Box::pin(import(api, call)),
            )
        },
        get(
            "/v1/memory/people/{id}",
            "What forgetting a person would remove",
            &[],
            &[ok::<Forgotten>()],
            |api, call| {
                Box::pin(async move {
                    let person = call.text("id")?.to_owned();
                    api.answer(PreviewForgetPerson { person }).await
                })
            },
        ),
        command(
            Method::Delete,
            "/v1/memory/people/{id}",
            "Remove everything of a person for good: in memory, sessions, artifacts and caches",
            Body::None,
            &[ok::<Forgotten>()],
            |api, call| {
                Box::pin(async move {
                    let person = call.text("id")?.to_owned();
                    api.execute(&call, ForgetPerson { person }).await
                })
            },
        ),
        get(
            "/v1/memory/{id}",
            "One memory",
            &[],
            &[ok::<Memory>()],
            |api, call| {
                Box::pin(async move {
                    let id = call.id()?;
                    api.answer(GetMemory { id }).await
                })
            },
        ),
        command(
            Method::Patch,
            "/v1/memory/{id}",
            "Change a memory; what is absent stays",
            body::<Edit>(),
            &[ok::<Memory>()],
            |api, call| Box::pin(edit(api, call)),
        ),
        command(
            Method::Delete,
            "/v1/memory/{id}",
            "Forget a memory for good; a proposed one is refused that way",
            Body::None,
            &[ok::<MemoryForgotten>()],
            |api, call| {
                Box::pin(async move {
                    let id = call.id()?;
                    let id = api
                        .client
                        .execute(call.envelope(ForgetMemory { id })?)
                        .await?;
                    json(StatusCode::OK, &MemoryForgotten { id })
                })
            },
        ),
        command(
            Method::Post,
            "/v1/memory/{id}/pin",
            "Put a memory into every context of its scope, or no longer",
            body::<Pin>(),
            &[ok::<Memory>()],
            |api, call| Box::pin(pin(api, call)),
        ),
        command(
            Method::Post,
            "/v1/memory/{id}/accept",
            "Accept a proposed memory",
            Body::None,
            &[ok::<Memory>()],
            |api, call| {
                Box::pin(async move {
                    let id = call.id()?;
                    api.execute(&call, AcceptMemory { id }).await
                })
            },
        ),
        command(
            Method::Post,
            "/v1/memory/{id}/supersede",
            "This memory says better what others say: they are recalled no longer",
            body::<Supersede>(),
            &[ok::<Memory>()],
            |api, call| Box::pin(supersede(api, call)),
        ),
    ]
}

/// A memory that is no longer there.
#[derive(Debug, Serialize, JsonSchema)]
struct MemoryForgotten {
    /// Its id.
    id: MemoryId,
}

fn filter(call: &Call) -> Result<MemoryFilter, Refusal> {
    Ok(MemoryFilter {
        scope: call.word("scope")?,
        session_id: call.word("session")?,
        channel: call.query.get("channel").cloned(),
        state: call.word("state")?,
        person: call.query.get("person").cloned(),
        pinned: call.word("pinned")?,
    })
}

async fn list(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let query = ListMemories {
        filter: filter(&call)?,
        page: call.page()?,
    };
    api.answer(query).await
}

async fn search(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let Some(text) = call.query.get("q").cloned() else {
        return Err(Problem::invalid("query parameter `q`: say what to look for").into());
    };
    let query = SearchMemories {
        text,
        filter: filter(&call)?,
        limit: call.small("limit", 1..=200)?,
    };
    api.answer(query).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Add {
    /// `{scope: global}`, `{scope: channel, channel}` or `{scope: session, session_id}`.
    place: MemoryPlace,
    /// What it says, at most 4096 bytes.
    text: String,
    /// Default `fact`.
    #[serde(default)]
    kind: Option<MemoryKind>,
    /// Into every context of its scope.
    #[serde(default)]
    pinned: bool,
    /// When it ends by itself.
    #[serde(default)]
    expires_at: Option<Timestamp>,
}

async fn add(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Add = call.json()?;
    let command = AddMemory {
        place: body.place,
        text: body.text,
        kind: body.kind,
        pinned: body.pinned,
        expires_at: body.expires_at,
    };
    api.execute(&call, command).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// What it says, at most 4096 bytes.
    text: Option<String>,
    /// Its kind.
    kind: Option<MemoryKind>,
    /// When it ends by itself.
    expires_at: Option<Timestamp>,
}

async fn edit(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Edit = call.json()?;
    let command = EditMemory {
        id: call.id()?,
        text: body.text,
        kind: body.kind,
        expires_at: body.expires_at,
    };
    api.execute(&call, command).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pin {
    /// Whether; default true.
    pinned: Option<bool>,
}

async fn pin(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Pin = call.json()?;
    let command = PinMemory {
        id: call.id()?,
        pinned: body.pinned.unwrap_or(true),
    };
    api.execute(&call, command).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Supersede {
    /// Ids of the others, 1 to 100.
    others: Vec<MemoryId>,
}

async fn supersede(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Supersede = call.json()?;
    let command = SupersedeMemories {
        id: call.id()?,
        others: body.others,
    };
    api.execute(&call, command).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Import {
    /// The objects of an export.
    items: Vec<MemoryImport>,
}

async fn import(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let lines = call.word::<bool>("lines")?.unwrap_or(false);
    let items = if lines {
        memory_lines::parse(&call.body).map_err(|error| {
            Problem::invalid(format!("request body: {error}"))
                .hint("nothing was imported; send what `GET /v1/memory/export` answers")
        })?
    } else {
        call.json::<Import>()?.items
    };
    api.execute(&call, ImportMemories { items }).await
}

/// Media type of an export.
const LINES: &str = "application/x-ndjson";

/// Page by page, so that an export takes no memory of its own.
async fn export(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let filter = MemoryFilter {
        state: Some(MemoryState::Active),
        ..filter(&call)?
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
