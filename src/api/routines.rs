//! Routines: messages that the bot sends itself on a schedule.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::api::error::{Refusal, json};
use crate::api::outcome;
use crate::api::request::Call;
use crate::api::route::{
    AnswerShape, Body, Field, Method, Presence, Route, Shape, Success, command, fields, get, ok,
    optional, page, required,
};
use crate::api::router::Api;
use crate::protocol::command::Command;
use crate::protocol::problem::Problem;
use crate::protocol::routine::{RoutineCommand, RoutineOutcome, RoutinePatch, RoutineQuery};
use crate::protocol::snapshot::Query;
use crate::protocol::words::{Autonomy, MissedRuns};
use crate::words_of;

words_of!(levels, Autonomy);
words_of!(missed, MissedRuns);

const FIELDS: &[Field] = &[
    optional("name", Shape::Text, "1 to 32 of a-z, 0-9, _ and -; unique"),
    optional(
        "schedule",
        Shape::Text,
        "cron of five or six fields, or `every 90m`",
    ),
    optional(
        "prompt",
        Shape::Text,
        "what the bot is told, at most 16 KiB",
    ),
    optional(
        "time_zone",
        Shape::Text,
        "IANA name; empty or left out = of the machine",
    ),
    optional("channel", Shape::Text, "where it goes; default `routine`"),
    optional(
        "conversation",
        Shape::Text,
        "where on that channel; default the routine's name, needed on a chat platform",
    ),
    optional(
        "model",
        Shape::Text,
        "`<provider>/<model>`; empty = of the session",
    ),
    optional(
        "budgets",
        Shape::Object,
        "lower limits of a run: max_steps, max_tool_calls, max_duration_seconds, max_tokens, max_cost_usd",
    ),
    optional(
        "autonomy_ceiling",
        Shape::Words(levels),
        "the most it may do by itself, whatever its channel allows; default supervised",
    ),
    optional(
        "park",
        Shape::Flag,
        "whether a gated call waits for a person instead of being denied; default false",
    ),
    optional(
        "missed",
        Shape::Words(missed),
        "what happens to runs that were due while nothing ran; default skip",
    ),
    optional(
        "jitter_seconds",
        Shape::Number,
        "a run begins up to this much later, at random; default 0, at most 3600",
    ),
    optional(
        "enabled",
        Shape::Flag,
        "whether it runs by itself; default true",
    ),
];

/// An empty body, or an object without fields.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn needed() -> Body {
    let mut all = FIELDS.to_vec();
    for field in &mut all[..3] {
        field.presence = Presence::Required;
    }
    Body::Fields(all)
}

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/routines",
            "Routines, by name",
            &[],
            &[page("Routine")],
            |api, _call| Box::pin(answer(api, RoutineQuery::List)),
        ),
        command(
            Method::Post,
            "/v1/routines",
            "Make a routine",
            needed(),
            &[Success {
                status: 201,
                answer: AnswerShape::One("Routine"),
            }],
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
            &[page("Timestamp")],
            |api, call| Box::pin(upcoming(api, call)),
        ),
        get(
            "/v1/routines/{id}",
            "One routine, by id or name",
            &[],
            &[ok("Routine")],
            |api, call| Box::pin(one(api, call)),
        ),
        command(
            Method::Patch,
            "/v1/routines/{id}",
            "Change a routine; what is left out stays",
            fields(FIELDS),
            &[ok("Routine")],
            |api, call| Box::pin(change(api, call)),
        ),
        command(
            Method::Delete,
            "/v1/routines/{id}",
            "Remove a routine with its history; its turns stay",
            Body::None,
            &[ok("Removed")],
            |api, call| Box::pin(remove(api, call)),
        ),
        command(
            Method::Post,
            "/v1/routines/{id}/run",
            "Run a routine now, enabled or not",
            fields(&[]),
            &[ok("RoutineRun")],
            |api, call| Box::pin(run(api, call)),
        ),
        get(
            "/v1/routines/{id}/runs",
            "Runs of a routine, newest first",
            &[
                optional("limit", Shape::Number, "at most this many, 1 to 500"),
                optional("cursor", Shape::Text, "`next_cursor` of the page before"),
            ],
            &[page("RoutineRun")],
            |api, call| Box::pin(runs(api, call)),
        ),
    ]
}

async fn answer(api: Arc<Api>, query: RoutineQuery) -> Result<Response, Refusal> {
    outcome::answer_json(&*api.client, Query::Routines(query)).await
}

fn routine(call: &Call) -> Result<String, Refusal> {
    Ok(call.text("id")?.to_owned())
}

async fn one(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let routine = routine(&call)?;
    answer(api, RoutineQuery::One { routine }).await
}

async fn runs(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let (routine, page) = (routine(&call)?, call.page()?);
    answer(api, RoutineQuery::Runs { routine, page }).await
}

async fn upcoming(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let Some(schedule) = call.query.get("schedule").cloned() else {
        return Err(Problem::invalid("query parameter `schedule` is missing").into());
    };
    let query = RoutineQuery::Upcoming {
        schedule,
        time_zone: call.query.get("time_zone").cloned(),
        limit: call.small("limit", 1..=50)?,
    };
    answer(api, query).await
}

async fn carry_out(
    api: &Api,
    call: &Call,
    status: StatusCode,
    command: RoutineCommand,
) -> Result<Response, Refusal> {
    let envelope = call.envelope(Command::Routine(command))?;
    match outcome::routine(&*api.client, envelope).await? {
        RoutineOutcome::Routine(routine) => json(status, &routine),
        RoutineOutcome::Removed(id) => json(status, &serde_json::json!({ "removed": id })),
        RoutineOutcome::Ran(run) => json(status, &run),
    }
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
    let command = RoutineCommand::Add { routine };
    carry_out(&api, &call, StatusCode::CREATED, command).await
}

async fn change(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let command = RoutineCommand::Change {
        routine: routine(&call)?,
        patch: call.json()?,
    };
    carry_out(&api, &call, StatusCode::OK, command).await
}

async fn remove(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let routine = routine(&call)?;
    carry_out(
        &api,
        &call,
        StatusCode::OK,
        RoutineCommand::Remove { routine },
    )
    .await
}

async fn run(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let Nothing {} = call.json()?;
    let routine = routine(&call)?;
    carry_out(
        &api,
        &call,
        StatusCode::OK,
        RoutineCommand::RunNow { routine },
    )
    .await
}
