//! The Model Context Protocol over HTTP. The door has looked at `Host`, `Origin` and the credential; the rest is the
//! server's of `mcp`.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use crate::api::auth::MCP_PATH;
use crate::api::error::Refusal;
use crate::api::request::{Call, read_body};
use crate::api::route::{AnswerShape, Method, Route, content, own};
use crate::api::state::Api;
use crate::mcp::server::http::{BODY_LIMIT, service};
use crate::mcp::server::principal::Principal;
use crate::protocol::command::Actor;
use crate::protocol::enums::Scope;
use crate::protocol::problem::{Problem, ProblemKind};

/// Code of JSON-RPC for a text that is no JSON.
const PARSE_ERROR: i32 = -32_700;
/// Code of JSON-RPC for JSON that is no request.
const INVALID_REQUEST: i32 = -32_600;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        own(
            Method::Post,
            MCP_PATH,
            "A message of the Model Context Protocol (streamable HTTP, without sessions)",
            &[content(AnswerShape::Content(&[
                "application/json",
                "text/event-stream",
            ]))],
            |api, call| Box::pin(answer(api, call)),
        )
        .streamed(),
    ]
}

/// What is wrong with a message before anybody looks at what it asks.
fn malformed(code: i32, message: &str) -> Response {
    let body = json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": { "code": code, "message": message },
    });
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::BAD_REQUEST, kind, body.to_string()).into_response()
}

/// What is answered to a body that is no message: one object of JSON.
fn refusal(body: &[u8]) -> Option<Response> {
    match serde_json::from_slice::<Value>(body) {
        Ok(Value::Object(_)) => None,
        Ok(Value::Array(_)) => Some(malformed(
            INVALID_REQUEST,
            "batches are not accepted: send one message per request",
        )),
        Ok(_) => Some(malformed(INVALID_REQUEST, "a message is a JSON object")),
        Err(error) => Some(malformed(
            PARSE_ERROR,
            &format!("the body is no JSON: {error}"),
        )),
    }
}

/// What is asked here is asked of the engine as a query too, which looks at no scope.
fn check_scope(actor: &Actor) -> Result<(), Refusal> {
    let may = match actor {
        Actor::Operator { .. } | Actor::Engine => true,
        Actor::Token { scopes, .. } => {
            scopes.contains(&Scope::Mcp) || scopes.contains(&Scope::Operate)
        }
        Actor::Person { .. } => false,
    };
    if may {
        return Ok(());
    }
    Err(Problem::new(
        ProblemKind::Forbidden,
        "not allowed",
        format!(
            "{} has neither the scope `mcp` nor `operate`",
            actor.label()
        ),
    )
    .hint("`leverframe token create NAME --scope mcp` makes a token for a host")
    .into())
}

async fn answer(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let actor = call.actor()?;
    check_scope(actor)?;
    let principal = Principal::new(actor.clone(), None).map_err(Problem::invalid)?;
    let body: Bytes = read_body(call.take_stream(), BODY_LIMIT, &call.account).await?;
    if let Some(response) = refusal(&body) {
        return Ok(response);
    }
    let mut request = Request::builder()
        .method("POST")
        .uri(MCP_PATH)
        .body(Body::from(body))
        .map_err(|error| Problem::internal(error.to_string()))?;
    let server = api.mcp.of(principal).within(call.trace());
    *request.headers_mut() = call.headers;
    let response = service(server).handle(request).await;
    Ok(response.map(Body::new))
}
