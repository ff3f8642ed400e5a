//! `/routines` in a chat: owners see, run, enable and disable routines there. Making and changing them needs a
//! command line or the API, where what is written is seen whole.

use crate::engine::arrival::{Arrival, reply, tell};
use crate::engine::core::Engine;
use crate::engine::handle::routines;
use crate::engine::people;
use crate::protocol::bridge::Ingestion;
use crate::protocol::enums::Scope;
use crate::protocol::problem::Problem;
use crate::protocol::routine::{Routine, RoutinePatch};
use crate::text::untrusted::limit_line;

const USAGE: &str =
    "Send /routines, /routines run NAME, /routines enable NAME or /routines disable NAME.";
/// Routines shown in a chat.
const SHOWN: usize = 20;

/// Carries out `/routines …`.
pub async fn carry_out(
    engine: &Engine,
    arrival: &Arrival<'_>,
    rest: &str,
) -> Result<Ingestion, Problem> {
    if !people::has_scope(&arrival.caller.actor, Scope::Admin) {
        let text = "Only owners (role = \"owner\" under [people]) see and run routines.";
        return reply(engine, arrival, "routines", text).await;
    }
    let (verb, name) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match (verb, name.trim()) {
        ("" | "list", "") => {
            let text = list(&routines::list(engine).await?);
            reply(engine, arrival, "routines", text).await
        }
        (verb @ ("run" | "enable" | "disable"), name) if !name.is_empty() => {
            match act(engine, arrival, verb, name).await {
                Ok(done) => Ok(done),
                // Nothing was stored: what is wrong is the answer.
                Err(problem) => {
                    let text = format!("Not done: {}.", problem.detail);
                    reply(engine, arrival, "routines", text).await
                }
            }
        }
        _ => reply(engine, arrival, "routines", USAGE).await,
    }
}

fn list(all: &[Routine]) -> String {
    if all.is_empty() {
        return "There are no routines; `leverframe routine add` makes one.".to_owned();
    }
    let mut text = String::from("Routines:");
    for routine in all.iter().take(SHOWN) {
        let next = match (routine.enabled, routine.begin_at) {
            (false, _) => "disabled".to_owned(),
            (true, Some(at)) => format!("next {at}"),
            (true, None) => "never due again".to_owned(),
        };
        let schedule = limit_line(&routine.schedule, 40);
        text.push_str(&format!("\n- {}: {schedule}, {next}", routine.name));
    }
    if all.len() > SHOWN {
        text.push_str(&format!("\nand {} more", all.len() - SHOWN));
    }
    text
}

async fn act(
    engine: &Engine,
    arrival: &Arrival<'_>,
    verb: &str,
    name: &str,
) -> Result<Ingestion, Problem> {
    let routine = routines::find(engine, name).await?;
    let by = arrival.caller.reference();
    let detail = format!("/routines {verb}");
    if verb == "run" {
        // The message that ordered it is stored with it, and repeats nothing when it comes again.
        let principal = arrival.caller.actor.id();
        let run = routines::asked(engine, by, &routine, principal, None)?;
        let (ingested, begun) = engine.once(arrival, detail, None, run).await?;
        if let Some(begun) = begun {
            let text = match routines::ran(engine, &routine, begun) {
                Ok(_) => format!("Routine {} runs.", routine.name),
                Err(problem) => format!("Not done: {}.", problem.detail),
            };
            tell(engine, arrival, text).await;
        }
        return Ok(ingested);
    }
    let patch = RoutinePatch {
        enabled: Some(verb == "enable"),
        ..RoutinePatch::default()
    };
    let change = routines::changed(engine, by, &routine, patch)?;
    let (ingested, changed) = engine.once(arrival, detail, None, change).await?;
    if let Some(changed) = changed {
        engine.scheduler.routines_changed();
        let text = match changed.due_at {
            Some(due) => format!("Routine {} is due next at {due}.", changed.name),
            None => format!("Routine {} is disabled.", changed.name),
        };
        tell(engine, arrival, text).await;
    }
    Ok(ingested)
}
