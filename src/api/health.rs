//! Liveness and readiness.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use crate::api::auth::OPEN_PATH;
use crate::api::error::{Refusal, json};
use crate::api::outcome::{answer_name, unexpected};
use crate::api::route::{Needs, Route, get, ok};
use crate::api::router::Api;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::snapshot::{Answer, EngineStatus, Query};

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        Route {
            needs: Needs::Nothing,
            ..get(
                OPEN_PATH,
                "The process answers; needs no credential and says nothing else",
                &[],
                &[ok("Health")],
                |_api, _call| Box::pin(async { json(StatusCode::OK, &Health { status: "ok" }) }),
            )
        },
        Route {
            needs: Needs::Nothing,
            ..get(
                "/readyz",
                "200 once the store is writable and recovered, also while held or quarantined; 503 while it is not \
             writable or the process lets its work end; needs no credential",
                &[],
                &[ok("Readiness")],
                |api, _call| Box::pin(ready(api)),
            )
        },
    ]
}

#[derive(Serialize)]
struct Health {
    status: &'static str,
}

#[derive(Serialize)]
struct Readiness {
    status: &'static str,
    held: bool,
    quarantine: bool,
    problems: Vec<String>,
}

async fn ready(api: Arc<Api>) -> Result<Response, Refusal> {
    match api.client.query(Query::Engine).await {
        Ok(Answer::Engine(engine)) if !engine.writable => {
            let problem = Problem::new(
                ProblemKind::Unavailable,
                "not writable",
                engine.problems.join("; "),
            );
            Err(problem.hint("free disk space; it goes on by itself").into())
        }
        Ok(Answer::Engine(EngineStatus {
            draining: Some(draining),
            ..
        })) => {
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
        Ok(Answer::Engine(engine)) => json(
            StatusCode::OK,
            &Readiness {
                status: "ready",
                held: engine.held_since.is_some(),
                quarantine: engine.quarantine,
                problems: engine.problems,
            },
        ),
        Ok(other) => Err(unexpected("the engine", answer_name(&other))),
        // Whatever the reason, a load balancer must see 503.
        Err(problem) => Err(Problem {
            kind: ProblemKind::Unavailable,
            ..problem
        }
        .into()),
    }
}
