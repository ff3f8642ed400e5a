//! Liveness and readiness.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::auth::OPEN_PATH;
use crate::api::error::{Refusal, json};
use crate::api::route::{Method, Needs, Route, ok, own};
use crate::api::state::Api;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::GetEngine;
use crate::protocol::snapshot::EngineStatus;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        Route {
            needs: Needs::Nothing,
            ..own(
                Method::Get,
                OPEN_PATH,
                "Answers while the process is alive; needs no credential and reports nothing else",
                &[ok::<Health>()],
                |_api, _call| Box::pin(async { json(StatusCode::OK, &Health { status: "ok" }) }),
            )
        },
        Route {
            needs: Needs::Nothing,
            ..own(
                Method::Get,
                "/readyz",
                "200 once the database accepts writes and recovery is complete, even during an emergency stop or a \
             quarantine; 503 while it accepts none or the process shuts down; needs no credential",
                &[ok::<Readiness>()],
                |api, _call| Box::pin(ready(api)),
            )
        },
    ]
}

/// The process answers.
#[derive(Serialize, JsonSchema)]
struct Health {
    /// `ok`.
    status: &'static str,
}

/// The database accepts writes, and recovery is complete.
#[derive(Serialize, JsonSchema)]
struct Readiness {
    /// `ready`.
    status: &'static str,
    /// Whether an emergency stop is in force.
    held: bool,
    /// Whether a restored database waits for a release.
    quarantine: bool,
    /// Problems that an operator should look at.
    problems: Vec<String>,
}

async fn ready(api: Arc<Api>) -> Result<Response, Refusal> {
    match api.client.call(GetEngine {}).await {
        Ok(engine) if !engine.writable => {
            let problem = Problem::new(
                ProblemKind::Unavailable,
                "not writable",
                engine.problems.join("; "),
            );
            Err(problem.hint("free disk space; it goes on by itself").into())
        }
        Ok(EngineStatus {
            draining: Some(draining),
            ..
        }) => {
            let problem = Problem::new(
                ProblemKind::Unavailable,
                "draining",
                format!(
                    "the process ends: it waits for {} turns and {} deliveries, until {} at most",
                    draining.turns, draining.deliveries, draining.deadline
                ),
            );
            Err(problem
                .hint("messages are still taken; they run at the next start")
                .into())
        }
        Ok(engine) => json(
            StatusCode::OK,
            &Readiness {
                status: "ready",
                held: engine.held_since.is_some(),
                quarantine: engine.quarantine,
                problems: engine.problems,
            },
        ),
        // Whatever the reason, a load balancer must see 503.
        Err(problem) => Err(Problem {
            kind: ProblemKind::Unavailable,
            ..problem
        }
        .into()),
    }
}
