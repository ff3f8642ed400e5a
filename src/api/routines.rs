//! Routines: messages that the bot sends itself on a schedule.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;

use crate::api::error::{Refusal, json};
use crate::api::request::{Call, EmptyBody, Removed};
use crate::api::route::{
    Body, Method, Route, Shape, body, body_with, command, get, ok, optional, page, required,
    success,
};
use crate::api::state::Api;
use crate::clock::Timestamp;
use crate::protocol::ids::RoutineId;
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    AddRoutine, ChangeRoutine, GetRoutine, ListRoutineRuns, ListRoutines, ListUpcomingRuns,
    RemoveRoutine, RunRoutine,
};
use crate::protocol::routine::{Routine, RoutinePatch, RoutineRun};

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/routines",
            "Routines, by name",
            &[],
            &[page::<Routine>()],
            |api, _call| Box::pin(async move { api.answer(ListRoutines {}).await }),
        ),
        command(
            Method::Post,
            "/v1/routines",
            "Make a routine",
            body_with::<RoutinePatch>(&["name", "schedule", "prompt"]),
            &[success::<Routine>(201)],
            |api, call| Box::pin(add(api, call)),
        ),
        get(
            "/v1/routines/upcoming",
            "When a schedule is due next; says what is wrong with it",
            &[
                required("schedule", Shape::Text, "cron or `every …`"),
                optional(
                    "time_zone",
                    Shape::Text,
                    "IANA name; default of the machine",
                ),
                optional("limit", Shape::Number, "how many times, 1 to 50; default 5"),
            ],
            &[page::<Timestamp>()],
            |api, call| Box::pin(upcoming(api, call)),
        ),
        get(
            "/v1/routines/{id}",
            "One routine, by id or name",
            &[],
            &[ok::<Routine>()],
            |api, call| Box::pin(one(api, call)),
        ),
        command(
            Method::Patch,
            "/v1/routines/{id}",
            "Change a routine; what is left out stays",
            body::<RoutinePatch>(),
            &[ok::<Routine>()],
            |api, call| Box::pin(change(api, call)),
        ),
        command(
            Method::Delete,
            "/v1/routines/{id}",
            "Remove a routine with its history; its turns stay",
            Body::None,
            &[ok::<Removed<RoutineId>>()],
            |api, call| Box::pin(remove(api, call)),
        ),
        command(
            Method::Post,
            "/v1/routines/{id}/run",
            "Run a routine now, enabled or not",
            body::<EmptyBody>(),
            &[ok::<RoutineRun>()],
            |api, call| Box::pin(run(api, call)),
        ),
        get(
            "/v1/routines/{id}/runs",
            "Runs of a routine, newest first",
            &[
                optional("limit", Shape::Number, "at most this many, 1 to 500"),
                optional("cursor", Shape::Text, "`next_cursor` of the page before"),
            ],
            &[page::<RoutineRun>()],
            |api, call| Box::pin(runs(api, call)),
        ),
    ]
}

fn routine(call: &Call) -> Result<String, Refusal> {
    Ok(call.text("id")?.to_owned())
}

async fn one(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let routine = routine(&call)?;
    api.answer(GetRoutine { routine }).await
}

async fn runs(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let (routine, page) = (routine(&call)?, call.page()?);
    api.answer(ListRoutineRuns { routine, page }).await
}

async fn upcoming(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let Some(schedule) = call.query.get("schedule").cloned() else {
        return Err(Problem::invalid("query parameter `schedule` is missing").into());
    };
    let query = ListUpcomingRuns {
        schedule,
        time_zone: call.query.get("time_zone").cloned(),
        limit: call.small("limit", 1..=50)?,
    };
    api.answer(query).await
}

async fn add(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let routine: RoutinePatch = call.json()?;
    for (name, field) in [
        ("name", &routine.name),
        ("schedule", &routine.schedule),
        ("prompt", &routine.prompt),
    ] {
        if field.is_none() {
            return Err(Problem::invalid(format!("missing field `{name}`")).into());
        }
    }
    let command = AddRoutine { routine };
    let made = api.client.execute(call.envelope(command)?).await?;
    json(StatusCode::CREATED, &made)
}

async fn change(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let command = ChangeRoutine {
        routine: routine(&call)?,
        patch: call.json()?,
    };
    api.execute(&call, command).await
}

async fn remove(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let routine = routine(&call)?;
    let removed = api
        .client
        .execute(call.envelope(RemoveRoutine { routine })?)
        .await?;
    json(StatusCode::OK, &Removed { removed })
}

async fn run(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let EmptyBody {} = call.json()?;
    let routine = routine(&call)?;
    api.execute(&call, RunRoutine { routine }).await
}
