//! Compactions of sessions, and the summaries they leave.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;

use crate::api::error::{Refusal, json};
use crate::api::request::{Call, EmptyBody};
use crate::api::route::{Method, Route, Shape, body, command, get, ok, optional, page};
use crate::api::state::Api;
use crate::protocol::memory::{Compaction, Summary};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{CompactSession, GetSessionSummary, ListCompactions};

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/sessions/{id}/summary",
            "The summary that stands for the oldest turns of a session",
            &[],
            &[ok::<Summary>()],
            |api, call| Box::pin(summary(api, call)),
        ),
        command(
            Method::Post,
            "/v1/sessions/{id}/compact",
            "Put all but the newest turn of a session into its summary; answers when that has ended, well or badly",
            body::<EmptyBody>(),
            &[ok::<Compaction>()],
            |api, call| Box::pin(compact(api, call)),
        ),
        get(
            "/v1/compactions",
            "Compactions, newest first, with the size of the next prompt before and after",
            &[
                optional("session", Shape::Text, "only of this session"),
                optional("limit", Shape::Number, "at most this many, 1 to 500"),
                optional("cursor", Shape::Text, "`next_cursor` of the page before"),
            ],
            &[page::<Compaction>()],
            |api, call| Box::pin(list(api, call)),
        ),
    ]
}

async fn summary(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let session_id = call.id()?;
    let query = GetSessionSummary { session_id };
    match api.client.call(query).await? {
        Some(summary) => json(StatusCode::OK, &summary),
        None => Err(Problem::new(
            ProblemKind::NotFound,
            "no summary",
            format!("session {session_id} has no summary: it was not compacted yet"),
        )
        .hint("a long session is compacted by itself; `POST /v1/sessions/{id}/compact` does it now")
        .into()),
    }
}

async fn compact(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let EmptyBody {} = call.json()?;
    let session_id = call.id()?;
    api.execute(&call, CompactSession { session_id }).await
}

async fn list(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let query = ListCompactions {
        session_id: call.word("session")?,
        page: call.page()?,
    };
    api.answer(query).await
}
