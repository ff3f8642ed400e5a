//! The one table of routes, and the router built from it. A route that is not in the table does not exist.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

use axum::RequestExt as _;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::on;

use crate::api::accounts::BodyAccount;
use crate::api::auth::{self, Caller};
use crate::api::error::{Refusal, json};
use crate::api::form::{Body, read_query, shortened};
use crate::api::openai::error::shaped;
use crate::api::request::{BODY_LIMIT, Call, read_body};
use crate::api::route::{Method, Needs, Route, ok, own};
use crate::api::state::Api;
use crate::api::{
    artifacts, audit, cache, channels, continuations, datasets, events, gate, generic, health, mcp,
    mcp_servers, memory, metrics, on_call, openai, openapi, plain, sessions, stats, webhooks,
};
use crate::client::remote::wire::{PROTOCOL_HEADER, PROTOCOL_VERSION};
use crate::protocol::problem::{Problem, ProblemKind};

/// Every route. Made once: every listener serves the same, and the schemas of so many types take their time.
static TABLE: LazyLock<Vec<Route>> = LazyLock::new(|| {
    [
        plain::routes(),
        sessions::routes(),
        continuations::routes(),
        channels::routes(),
        cache::routes(),
        memory::routes(),
        audit::routes(),
        on_call::routes(),
        artifacts::routes(),
        datasets::routes(),
        mcp_servers::routes(),
        events::routes(),
        health::routes(),
        metrics::routes(),
        stats::routes(),
        generic::routes(),
        gate::routes(),
        openai::routes(),
        mcp::routes(),
        webhooks::routes(),
        vec![description()],
    ]
    .concat()
});

/// Every route.
pub fn table() -> &'static [Route] {
    &TABLE
}

/// The route that describes them all, itself included.
fn description() -> Route {
    Route {
        needs: Needs::Nothing,
        ..own(
            Method::Get,
            "/openapi.json",
            "This document; needs no credential",
            &[ok::<serde_json::Value>()],
            |_api, _call| Box::pin(async { json(StatusCode::OK, &openapi::document(table())) }),
        )
    }
}

/// The router with everything around it. Needs connection info of type `Peer`.
pub fn build(api: Arc<Api>) -> Router {
    let mut router = Router::new();
    for route in table() {
        let path = route.path;
        let filter = route.method.filter();
        router = router.route(
            path,
            on(
                filter,
                move |State(api): State<Arc<Api>>, request: Request| async move {
                    match dispatch(api, route, request).await {
                        Ok(response) => response,
                        Err(refusal) => refusal.into_response(),
                    }
                },
            ),
        );
    }
    router
        .fallback(unknown_route)
        .method_not_allowed_fallback(unknown_method)
        .layer(from_fn_with_state(api.door.clone(), auth::admit))
        .layer(from_fn(mark))
        .with_state(api)
}

async fn dispatch(api: Arc<Api>, route: &Route, mut request: Request) -> Result<Response, Refusal> {
    let caller = request.extensions().get::<Caller>().cloned();
    let account = request.extensions().get::<BodyAccount>().cloned();
    let account = account.unwrap_or_default();
    match route.needs {
        Needs::Nothing | Needs::Credential | Needs::Engine => {}
        Needs::Read => check_read(caller.as_ref())?,
    }
    let path: BTreeMap<String, String> = request
        .extract_parts::<RawPathParams>()
        .await
        .map_err(|error| Problem::invalid(format!("the path could not be read: {error}")))?
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let query = read_query(request.uri(), &route.form.get().query)?;
    let (parts, body) = request.into_parts();
    let (body, stream) = match &route.form.get().body {
        Body::Stream => (Bytes::new(), Some(body)),
        Body::None | Body::Object(_) => (read_body(body, BODY_LIMIT, &account).await?, None),
    };
    match &route.form.get().body {
        Body::Object(_) | Body::Stream => {}
        Body::None if body.is_empty() => {}
        Body::None => {
            return Err(Problem::invalid("this route takes no request body").into());
        }
    }
    let call = Call {
        caller,
        path,
        query,
        form: Arc::clone(route.form.get()),
        status: route
            .answers
            .first()
            .map_or(StatusCode::OK, |good| good.status),
        headers: parts.headers,
        body,
        stream: Mutex::new(stream),
        account,
    };
    (route.handler)(api, call).await
}

fn check_read(caller: Option<&Caller>) -> Result<(), Refusal> {
    match caller {
        Some(caller) if caller.may_read() => Ok(()),
        Some(caller) => Err(Problem::new(
            ProblemKind::Forbidden,
            "not allowed",
            format!("{} does not have the scope `read`", caller.actor.label()),
        )
        .hint("use a token with the scope `read`")
        .into()),
        None => Err(Refusal::unauthenticated("no credential was checked")),
    }
}

async fn unknown_route(request: Request) -> Refusal {
    Problem::new(
        ProblemKind::NotFound,
        "no such route",
        format!("there is nothing at `{}`", shortened(request.uri().path())),
    )
    .hint("`/openapi.json` lists every route")
    .into()
}

async fn unknown_method(request: Request) -> Refusal {
    Refusal::with_status(
        StatusCode::METHOD_NOT_ALLOWED,
        Problem::new(
            ProblemKind::Invalid,
            "method not allowed",
            format!(
                "`{}` does not take {}",
                shortened(request.uri().path()),
                shortened(request.method().as_str())
            ),
        )
        .hint("`/openapi.json` lists the methods of every route"),
    )
}

/// Headers of every answer, refusals included.
async fn mark(request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let mut response = shaped(&path, next.run(request).await);
    let headers = response.headers_mut();
    headers.insert(PROTOCOL_HEADER, HeaderValue::from(PROTOCOL_VERSION));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}
