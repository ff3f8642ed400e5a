//! Approvals: list, look, decide.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::api::error::{Refusal, json};
use crate::api::outcome;
use crate::api::request::Call;
use crate::api::route::{
    Field, Method, Route, Shape, command, fields, get, ok, optional, page, required,
};
use crate::api::router::Api;
use crate::protocol::command::{Command, DecisionRequest};
use crate::protocol::duty::HandOverRequest;
use crate::protocol::rule::RulePatch;
use crate::protocol::snapshot::Query;
use crate::protocol::words::{ApprovalState, DecisionScope, DecisionWord};
use crate::words_of;

words_of!(states, ApprovalState);
words_of!(decisions, DecisionWord);
words_of!(scopes, DecisionScope);

const DECISION: &[Field] = &[
    required(
        "decision",
        Shape::Words(decisions),
        "one of the approval's `offered` words",
    ),
    optional("scope", Shape::Words(scopes), "how far an approve reaches"),
    required("digest", Shape::Text, "digest of what was shown"),
    optional("revision", Shape::Number, "revision that was shown"),
    optional(
        "confirm_code",
        Shape::Text,
        "short code, for critical calls",
    ),
    optional("reason", Shape::Text, "read by the model, at most 2 KiB"),
    optional("args", Shape::Any, "new arguments (edit)"),
    optional("answer", Shape::Text, "in place of the tool's (answer)"),
    optional(
        "minutes",
        Shape::Number,
        "how long (snooze): 1 to 2880; it is back ten minutes before the deadline",
    ),
    optional("extra", Shape::Number, "how much more (budget)"),
    optional("seen_ms", Shape::Number, "time the card was on screen"),
    optional(
        "rule",
        Shape::Object,
        "a rule that is made with it, as for `POST /v1/rules`; needs the scope admin (approve, deny)",
    ),
];

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/approvals",
            "Approvals, oldest first while pending, else newest first",
            &[
                optional("state", Shape::Words(states), "only this state"),
                optional("limit", Shape::Number, "at most this many, 1 to 500"),
                optional("cursor", Shape::Text, "`next_cursor` of the page before"),
            ],
            &[page("Approval")],
            |api, call| Box::pin(list(api, call)),
        ),
        get(
            "/v1/approvals/{id}",
            "One approval",
            &[],
            &[ok("Approval")],
            |api, call| Box::pin(one(api, call)),
        ),
        command(
            Method::Post,
            "/v1/approvals/{id}/decision",
            "Decide",
            fields(DECISION),
            &[ok("Approval")],
            |api, call| Box::pin(decide(api, call)),
        ),
        command(
            Method::Post,
            "/v1/approvals/{id}/hand-over",
            "Let it wait for somebody in particular; decides nothing, and everybody still can",
            fields(&[
                required(
                    "to",
                    Shape::Text,
                    "one of `names` of `/v1/on-call`, or `-` for nobody",
                ),
                optional("note", Shape::Text, "for them, at most 500 characters"),
                required("digest", Shape::Text, "digest of what was shown"),
                optional("revision", Shape::Number, "revision that was shown"),
            ]),
            &[ok("Approval")],
            |api, call| Box::pin(hand_over(api, call)),
        ),
    ]
}

/// [`DecisionRequest`] as a body: a misspelt field must not turn into a decision without it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DecisionBody {
    decision: DecisionWord,
    scope: Option<DecisionScope>,
    digest: String,
    revision: Option<u32>,
    confirm_code: Option<String>,
    reason: Option<String>,
    args: Option<serde_json::Value>,
    answer: Option<String>,
    minutes: Option<u32>,
    extra: Option<f64>,
    seen_ms: Option<u64>,
    rule: Option<Box<RulePatch>>,
}

async fn list(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let query = Query::Approvals {
        state: call.word("state")?,
        page: call.page()?,
    };
    outcome::answer_json(&*api.client, query).await
}

async fn one(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    outcome::answer_json(&*api.client, Query::Approval { id: call.id()? }).await
}

async fn decide(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: DecisionBody = call.json()?;
    let envelope = call.envelope(Command::Decide {
        approval_id: call.id()?,
        decision: DecisionRequest {
            decision: body.decision,
            scope: body.scope,
            digest: body.digest,
            revision: body.revision,
            confirm_code: body.confirm_code,
            reason: body.reason,
            args: body.args,
            answer: body.answer,
            minutes: body.minutes,
            extra: body.extra,
            seen_ms: body.seen_ms,
            rule: body.rule,
        },
    })?;
    json(
        StatusCode::OK,
        &outcome::approval(&*api.client, envelope).await?,
    )
}

async fn hand_over(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let request: HandOverRequest = call.json()?;
    let envelope = call.envelope(Command::HandOver {
        approval_id: call.id()?,
        request,
    })?;
    json(
        StatusCode::OK,
        &outcome::approval(&*api.client, envelope).await?,
    )
}
