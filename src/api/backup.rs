//! Backups over HTTP: the daemon writes the file where it runs.

use std::sync::Arc;

use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::error::Refusal;
use crate::api::request::Call;
use crate::api::route::{Method, Route, body, command, ok};
use crate::api::state::Api;
use crate::protocol::backup::BackupReport;
use crate::protocol::request::CreateBackup;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![command(
        Method::Post,
        "/v1/backup",
        "Write a backup into one new file, while everything goes on",
        body::<Backup>(),
        &[ok::<BackupReport>()],
        |api, call| Box::pin(backup(api, call)),
    )]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Backup {
    /// Absolute path on the daemon's machine; must not exist.
    path: String,
}

async fn backup(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Backup = call.json()?;
    api.execute(&call, CreateBackup { path: body.path }).await
}
