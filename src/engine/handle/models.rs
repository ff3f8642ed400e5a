//! Asking a model to see what works. Not a turn: nothing is stored, and nothing is asked while work is held.

use crate::engine::core::Engine;
use crate::engine::handle::Caller;
use crate::model::check;
use crate::protocol::command::Outcome;
use crate::protocol::models::ModelTest;
use crate::protocol::problem::{Problem, ProblemKind};

/// Tests a model, the default one where none is named.
pub async fn test(
    engine: &Engine,
    caller: &Caller,
    model: Option<String>,
) -> Result<Outcome, Problem> {
    let mut held = engine.held.subscribe();
    if engine.is_held() {
        return Err(stopped());
    }
    if engine.draining.borrow().is_some() {
        return Err(Problem::new(
            ProblemKind::Unavailable,
            "about to end",
            "the process lets running work end and begins nothing new",
        )
        .hint("try again when it has started again"));
    }
    let name = model.unwrap_or_else(|| engine.settings.model.clone());
    tracing::info!(model = %name, by = %caller.actor.label(), "testing a model");
    let testing = check::test(&engine.models, &name, &engine.clock);
    let tested = tokio::select! {
        tested = testing => tested,
        _ = held.wait_for(Option::is_some) => return Err(stopped()),
        () = engine.shutdown.cancelled() => return Err(stopped()),
    };
    let mut test = tested.map_err(|error| Problem::invalid(error.to_string()))?;
    redact(&mut test, engine);
    Ok(Outcome::ModelTest(test))
}

fn redact(test: &mut ModelTest, engine: &Engine) {
    for check in &mut test.checks {
        check.detail = engine.redactor.redact(&check.detail).into_owned();
    }
}

fn stopped() -> Problem {
    Problem::new(
        ProblemKind::Conflict,
        "held",
        "model calls are held: no model is asked",
    )
    .hint("`leverframe release` lets work go on")
}
