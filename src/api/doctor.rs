//! How the installation is, and the audit.

use std::sync::Arc;

use axum::response::Response;

use crate::api::error::Refusal;
use crate::api::request::{Call, parameter};
use crate::api::route::{Route, Shape, get, ok, optional, page};
use crate::api::state::Api;
use crate::clock::Timestamp;
use crate::protocol::doctor::{AuditAnchor, AuditReport, AuditRow, Doctor};
use crate::protocol::request::{GetDoctor, ListAudit, VerifyAudit};
use crate::protocol::snapshot::AuditFilter;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/doctor",
            "How the installation is; with `check`, every invariant is verified on the live database",
            &[optional(
                "check",
                Shape::Flag,
                "verify every invariant too, which reads the whole database",
            )],
            &[ok::<Doctor>()],
            |api, call| Box::pin(doctor(api, call)),
        ),
        get(
            "/v1/audit",
            "Who did what, newest first",
            &[
                optional("since", Shape::Text, "not before this time, RFC 3339"),
                optional("until", Shape::Text, "before this time, RFC 3339"),
                optional("channel", Shape::Text, "only this channel"),
                optional(
                    "action",
                    Shape::Text,
                    "only this action, for example approval.decided",
                ),
                optional("actor", Shape::Text, "only this actor, by label or id"),
                optional("oldest_first", Shape::Flag, "oldest first instead"),
                optional("limit", Shape::Number, "at most this many, 1 to 500"),
                optional("cursor", Shape::Text, "`next_cursor` of the page before"),
            ],
            &[page::<AuditRow>()],
            |api, call| Box::pin(list(api, call)),
        ),
        get(
            "/v1/audit/verify",
            "Walks the whole audit and compares it with what was noted of it",
            &[optional(
                "anchor",
                Shape::Text,
                "SEQ:HASH of a head that was noted elsewhere",
            )],
            &[ok::<AuditReport>()],
            |api, call| Box::pin(verify(api, call)),
        ),
    ]
}

/// A flag of the query; false where it is left out.
pub fn flag(call: &Call, name: &str) -> Result<bool, Refusal> {
    match call.query.get(name).map(String::as_str) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(parameter(name, &"expected true or false")),
    }
}

/// A time of the query.
pub fn time(call: &Call, name: &str) -> Result<Option<Timestamp>, Refusal> {
    call.query
        .get(name)
        .map(|text| {
            serde_json::from_value(serde_json::Value::String(text.clone()))
                .map_err(|error| parameter(name, &error))
        })
        .transpose()
}

async fn doctor(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let check = flag(&call, "check")?;
    api.answer(GetDoctor { check }).await
}

async fn list(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let query = ListAudit {
        filter: AuditFilter {
            since: time(&call, "since")?,
            until: time(&call, "until")?,
            channel: call.query.get("channel").cloned(),
            action: call.query.get("action").cloned(),
            actor: call.query.get("actor").cloned(),
            oldest_first: flag(&call, "oldest_first")?,
        },
        page: call.page()?,
    };
    api.answer(query).await
}

async fn verify(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let anchor = call
        .query
        .get("anchor")
        .map(|text| {
            text.parse::<AuditAnchor>()
                .map_err(|error| parameter("anchor", &error))
        })
        .transpose()?;
    api.answer(VerifyAudit { anchor }).await
}
