//! Verifying the audit.

use std::sync::Arc;

use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::error::Refusal;
use crate::api::form::parameter;
use crate::api::request::Call;
use crate::api::route::{Route, query};
use crate::api::state::Api;
use crate::protocol::request::VerifyAudit;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![Route {
        handler: |api, call| Box::pin(verify(api, call)),
        ..query::<VerifyAudit>("/v1/audit/verify").asks::<Anchor>()
    }]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Anchor {
    /// `SEQ:HASH` of an audit head that was noted elsewhere.
    anchor: Option<String>,
}

async fn verify(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let Anchor { anchor } = call.query()?;
    let anchor = anchor
        .map(|text| text.parse().map_err(|error| parameter("anchor", &error)))
        .transpose()?;
    api.answer(VerifyAudit { anchor }).await
}
