//! Routines: making, changing and running them, and what they answer. Only people come here: no tool of the model
//! leads to a routine.

use jiff::tz::TimeZone;

use crate::clock::Timestamp;
use crate::clock::zone;
use crate::config::error::nearest;
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::{messages, sessions};
use crate::engine::routine::schedule::{HINT, Schedule, begin_at};
use crate::protocol::approval::Requester;
use crate::protocol::enums::{
    Autonomy, Disposition, MissedRuns, RoutineRunState, Surface, Unattended,
};
use crate::protocol::ids::RoutineId;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::routine::{Routine, RoutinePatch, RoutineRun};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::store::commands::begin_routine::{BeginRoutine, Begun, Occasion, RunAction};
use crate::store::commands::ingest_turn::IngestTurn;
use crate::store::commands::put_routine::{Due, NextDue, PutRoutine, RemoveRoutine, RoutineFields};
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, Origin, SessionChoice, TurnBounds, TurnCache};

/// Longest prompt, in bytes.
const MAX_PROMPT_BYTES: usize = 16 * 1024;
/// Longest jitter, in seconds.
const MAX_JITTER_SECONDS: u32 = 3600;
/// Upcoming times that are looked at, to see how close two of them are.
const LOOKED_AT: usize = 5;
/// Upcoming times told at most.
const MAX_UPCOMING: u32 = 50;

/// Makes one; name, schedule and prompt are needed.
pub async fn add(
    engine: &Engine,
    caller: &Caller,
    routine: RoutinePatch,
) -> Result<Routine, Problem> {
    let put = added(engine, caller.reference(), routine)?;
    free(engine, &put.fields.name).await?;
    write(engine, put).await
}

/// Changes one; what is absent stays.
pub async fn change(
    engine: &Engine,
    caller: &Caller,
    wanted: &str,
    patch: RoutinePatch,
) -> Result<Routine, Problem> {
    let routine = find(engine, wanted).await?;
    if let Some(name) = patch.name.as_ref().filter(|name| **name != routine.name) {
        free(engine, name).await?;
    }
    write(
        engine,
        changed(engine, caller.reference(), &routine, patch)?,
    )
    .await
}

/// Removes one with its history. Its turns stay.
pub async fn remove(engine: &Engine, caller: &Caller, wanted: &str) -> Result<RoutineId, Problem> {
    let id = find(engine, wanted).await?.id;
    let by = caller.reference();
    let remove = RemoveRoutine { id, by };
    engine.write(remove).await?;
    engine.scheduler.routines_changed();
    Ok(id)
}

/// Runs one now, enabled or not.
pub async fn run(engine: &Engine, caller: &Caller, wanted: &str) -> Result<RoutineRun, Problem> {
    let routine = find(engine, wanted).await?;
    let principal = caller.actor.id();
    let run = asked(
        engine,
        caller.reference(),
        &routine,
        principal,
        caller.key.clone(),
    )?;
    let begun = engine.write(run).await?;
    ran(engine, &routine, begun)
}

/// Two routines of one name cannot be told apart.
async fn free(engine: &Engine, name: &str) -> Result<(), Problem> {
    let wanted = name.to_owned();
    let there = engine
        .store
        .read_here(move |reader| reader.routine(&wanted));
    match there.await {
        Ok(_) => Err(taken(name)),
        // What is wrong with the store is told by the write.
        Err(_) => Ok(()),
    }
}

fn taken(name: &str) -> Problem {
    Problem::conflict(
        "the name is taken",
        format!("there is a routine `{name}` already"),
    )
    .hint("take another name, or change that one")
}

async fn write(engine: &Engine, put: PutRoutine) -> Result<Routine, Problem> {
    let routine = engine.write(put).await?;
    engine.scheduler.routines_changed();
    Ok(routine)
}

/// A routine by id or name; the answer where there is none names the nearest.
pub async fn find(engine: &Engine, wanted: &str) -> Result<Routine, Problem> {
    let name = wanted.to_owned();
    match engine
        .store
        .read_here(move |reader| reader.routine(&name))
        .await
    {
        Ok(routine) => Ok(routine),
        Err(StoreError::NotFound { what, id }) => {
            let all = list(engine).await?;
            let near = nearest(wanted, all.iter().map(|routine| routine.name.as_str()));
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`leverframe routine list` shows them all".to_owned(),
            };
            Err(Problem::not_found(what, id).hint(hint))
        }
        Err(error) => Err(Problem::from(error)),
    }
}

/// All routines, by name.
pub async fn list(engine: &Engine) -> Result<Vec<Routine>, Problem> {
    engine.read_here(|reader| reader.routines()).await
}

/// A new routine, checked.
fn added(engine: &Engine, by: ActorRef, patch: RoutinePatch) -> Result<PutRoutine, Problem> {
    let missing = |field: &str| {
        Problem::invalid(format!(
            "`{field}` is missing; a routine needs a name, a schedule and a prompt"
        ))
    };
    let name = patch.name.clone().ok_or_else(|| missing("name"))?;
    let channel = patch
        .channel
        .clone()
        .unwrap_or_else(|| "routine".to_owned());
    if patch.conversation.is_none() && engine.has_bridge(&channel) {
        return Err(Problem::invalid(format!(
            "`conversation` is missing: `{channel}` is a chat platform, and the answer has to go somewhere"
        ))
        .hint("`leverframe sessions` shows the conversations of each channel"));
    }
    let fields = RoutineFields {
        schedule: patch.schedule.clone().ok_or_else(|| missing("schedule"))?,
        time_zone: None,
        prompt: patch.prompt.clone().ok_or_else(|| missing("prompt"))?,
        channel,
        conversation: name.clone(),
        name,
        model: None,
        budgets: patch.budgets.unwrap_or_default(),
        autonomy_ceiling: Autonomy::Supervised,
        park: false,
        missed: MissedRuns::Skip,
        jitter_seconds: 0,
        enabled: true,
    };
    let id = RoutineId::generate();
    let fields = merge(engine, fields, patch)?;
    let due = due(engine, id, &fields)?;
    Ok(PutRoutine {
        id,
        version: 0,
        fields,
        due: NextDue::At(due),
        by,
    })
}

/// A change of a routine, checked. What it is due next stays, unless the change is about that.
pub fn changed(
    engine: &Engine,
    by: ActorRef,
    routine: &Routine,
    patch: RoutinePatch,
) -> Result<PutRoutine, Problem> {
    let before = RoutineFields {
        name: routine.name.clone(),
        schedule: routine.schedule.clone(),
        time_zone: routine.time_zone.clone(),
        prompt: routine.prompt.clone(),
        channel: routine.channel.clone(),
        conversation: routine.conversation.clone(),
        model: routine.model.clone(),
        budgets: routine.budgets,
        autonomy_ceiling: routine.autonomy_ceiling,
        park: routine.park,
        missed: routine.missed,
        jitter_seconds: routine.jitter_seconds,
        enabled: routine.enabled,
    };
    let fields = merge(engine, before.clone(), patch)?;
    let same = fields.schedule == before.schedule
        && fields.time_zone == before.time_zone
        && fields.jitter_seconds == before.jitter_seconds
        && fields.enabled == before.enabled
        && (routine.due_at.is_some() || !fields.enabled);
    let due = if same {
        NextDue::AsBefore
    } else {
        NextDue::At(due(engine, routine.id, &fields)?)
    };
    Ok(PutRoutine {
        id: routine.id,
        version: routine.version,
        fields,
        due,
        by,
    })
}

fn merge(
    engine: &Engine,
    mut fields: RoutineFields,
    patch: RoutinePatch,
) -> Result<RoutineFields, Problem> {
    let RoutinePatch {
        name,
        schedule,
        time_zone,
        prompt,
        channel,
        conversation,
        model,
        budgets,
        autonomy_ceiling,
        park,
        missed,
        jitter_seconds,
        enabled,
    } = patch;
    let set = |field: &mut String, value: Option<String>| {
        if let Some(value) = value {
            *field = value;
        }
    };
    set(&mut fields.name, name);
    set(
        &mut fields.schedule,
        schedule.map(|text| text.trim().to_owned()),
    );
    set(&mut fields.prompt, prompt);
    set(&mut fields.channel, channel);
    set(&mut fields.conversation, conversation);
    if let Some(zone) = time_zone {
        fields.time_zone = Some(zone.trim().to_owned()).filter(|zone| !zone.is_empty());
    }
    if let Some(model) = model {
        fields.model = Some(model).filter(|model| !model.is_empty());
    }
    fields.budgets = budgets.unwrap_or(fields.budgets);
    fields.autonomy_ceiling = autonomy_ceiling.unwrap_or(fields.autonomy_ceiling);
    fields.park = park.unwrap_or(fields.park);
    fields.missed = missed.unwrap_or(fields.missed);
    fields.jitter_seconds = jitter_seconds.unwrap_or(fields.jitter_seconds);
    fields.enabled = enabled.unwrap_or(fields.enabled);
    check(engine, &fields)?;
    fields.prompt = engine.redactor.redact(&fields.prompt).into_owned();
    Ok(fields)
}

fn check(engine: &Engine, fields: &RoutineFields) -> Result<(), Problem> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    let name = &fields.name;
    if !(1..=32).contains(&name.len()) || !name.chars().all(plain) || name.starts_with("rtn_") {
        return Err(Problem::invalid(format!(
            "`{}` is not a name for a routine: 1 to 32 of a-z, 0-9, _ and -, not beginning with `rtn_`",
            name.chars().take(64).collect::<String>()
        )));
    }
    if fields.prompt.trim().is_empty() {
        return Err(Problem::invalid(
            "`prompt` is empty: say what the bot is to do",
        ));
    }
    if fields.prompt.len() > MAX_PROMPT_BYTES {
        return Err(Problem::invalid(format!(
            "`prompt` has {} bytes; at most {MAX_PROMPT_BYTES} are taken",
            fields.prompt.len()
        )));
    }
    sessions::check_conversation(&fields.conversation)?;
    engine.channel(&fields.channel)?;
    messages::check_budgets(&fields.budgets)?;
    sessions::check_model(engine, &fields.channel, fields.model.as_deref())
}

/// A schedule with its zone, or what is wrong with them.
fn parsed(schedule: &str, time_zone: Option<&str>) -> Result<(Schedule, TimeZone), Problem> {
    let schedule = Schedule::parse(schedule)
        .map_err(|error| Problem::invalid(format!("`schedule`: {error}")).hint(HINT))?;
    let zone =
        zone::find(time_zone).map_err(|error| Problem::invalid(format!("`time_zone`: {error}")))?;
    Ok((schedule, zone))
}

fn upcoming(schedule: &Schedule, zone: &TimeZone, now: Timestamp, count: usize) -> Vec<Timestamp> {
    let mut last = None;
    std::iter::from_fn(|| {
        last = schedule.next_after(zone, last, last.unwrap_or(now));
        last
    })
    .take(count)
    .collect()
}

/// When a routine is due first from now on.
fn due(engine: &Engine, id: RoutineId, fields: &RoutineFields) -> Result<Option<Due>, Problem> {
    let (schedule, zone) = parsed(&fields.schedule, fields.time_zone.as_deref())?;
    let times = upcoming(&schedule, &zone, engine.clock.now(), LOOKED_AT);
    let closest = times
        .windows(2)
        .map(|pair| pair[1].millis_since(pair[0]) / 1000)
        .min();
    let jitter = fields.jitter_seconds;
    if jitter > MAX_JITTER_SECONDS || closest.is_some_and(|gap| u64::from(jitter) >= gap) {
        return Err(Problem::invalid(format!(
            "`jitter_seconds` is {jitter}: at most {MAX_JITTER_SECONDS}, and less than the time between two runs{}",
            closest.map_or_else(String::new, |gap| format!(" ({gap} s)"))
        )));
    }
    let first = times.first().filter(|_| fields.enabled);
    Ok(first.map(|due| (*due, begin_at(id, *due, jitter))))
}

/// When a routine is due after a time that has come, first after `after`; and how many times it was due from then on
/// until `after`, at least once. Or why nobody can say.
pub fn due_after(
    routine: &Routine,
    due: Timestamp,
    after: Timestamp,
) -> Result<(Option<Due>, u32), Problem> {
    let (schedule, zone) = parsed(&routine.schedule, routine.time_zone.as_deref())?;
    let after = due.max(after);
    let next = schedule
        .next_after(&zone, Some(due), after)
        .map(|next| (next, begin_at(routine.id, next, routine.jitter_seconds)));
    Ok((next, schedule.count(&zone, due, after)))
}

/// What a run says, as a message to its conversation.
pub fn turn(
    engine: &Engine,
    routine: &Routine,
    principal: String,
    key: Option<String>,
) -> Result<IngestTurn, Problem> {
    engine.channel(&routine.channel)?;
    sessions::check_model(engine, &routine.channel, routine.model.as_deref())?;
    let id = routine.id.to_string();
    let body = messages::body_digest(&["routine", &id, key.as_deref().unwrap_or_default()]);
    let origin = Origin {
        channel: routine.channel.clone(),
        principal,
        key,
        body_digest: body,
        cursor: None,
        conversation: routine.conversation.clone(),
        conversation_title: None,
        requester: Requester {
            id: format!("routine:{}", routine.name),
            display: format!("routine {}", routine.name),
            person: None,
        },
        surface: Surface::Engine,
        message_ref: None,
        trace: None,
    };
    let (session, text) = (SessionChoice::Conversation, routine.prompt.clone());
    Ok(IngestTurn {
        role: "routine".to_owned(),
        model: routine.model.clone(),
        limits: messages::limits(&engine.settings.budgets, &routine.budgets),
        title: Some(format!("routine {}", routine.name)),
        // Its answers are never given to anybody else, nor anybody's to it.
        cache: TurnCache::APART,
        bounds: TurnBounds {
            unattended: Some(if routine.park {
                Unattended::Park
            } else {
                Unattended::Deny
            }),
            autonomy_ceiling: Some(routine.autonomy_ceiling),
            alone: false,
        },
        ..messages::turn(engine, origin, session, text)
    })
}

/// A run that a person asks for.
pub fn asked(
    engine: &Engine,
    by: ActorRef,
    routine: &Routine,
    principal: String,
    key: Option<String>,
) -> Result<BeginRoutine, Problem> {
    let turn = turn(engine, routine, principal, key)?;
    Ok(BeginRoutine {
        id: routine.id,
        note: Some(format!("asked for by {}", by.label)),
        occasion: Occasion::Asked(by),
        deed: RunAction::Turn(Box::new(turn)),
    })
}

/// The answer to somebody who asked for a run; starts it.
pub fn ran(engine: &Engine, routine: &Routine, begun: Begun) -> Result<RoutineRun, Problem> {
    match begun {
        Begun::Open(open) => Err(Problem::conflict(
            "it runs already",
            format!("the run before of `{}` is still open: {open}", routine.name),
        )
        .hint(format!(
            "wait for it, or `leverframe continuations cancel {open}`"
        ))),
        Begun::NotDue => Err(Problem::not_found("routine", &routine.name)),
        Begun::Run(run, ingested) => {
            if let Some(ingested) = &ingested
                && ingested.disposition == Disposition::Turn
                && let Some(session) = ingested.session_id
            {
                engine.wake(session);
            }
            match run.state {
                RoutineRunState::Started => Ok(run),
                RoutineRunState::Skipped | RoutineRunState::Failed => Err(Problem::new(
                    ProblemKind::TooMany,
                    "it did not run",
                    run.detail.unwrap_or_default(),
                )
                .hint("wait for an answer there, or cancel a continuation")),
            }
        }
    }
}

/// Runs of a routine, newest first.
pub async fn runs(
    engine: &Engine,
    routine: &str,
    page: PageRequest,
) -> Result<Page<RoutineRun>, Problem> {
    let id = find(engine, routine).await?.id;
    engine
        .read(move |reader| reader.routine_runs(id, &page))
        .await
}

/// When a schedule is due next; checks the text.
pub fn next_times(
    engine: &Engine,
    schedule: &str,
    zone: Option<String>,
    limit: Option<u32>,
) -> Result<Page<Timestamp>, Problem> {
    let limit = limit.unwrap_or(5);
    if !(1..=MAX_UPCOMING).contains(&limit) {
        return Err(Problem::invalid(format!(
            "`limit` is {limit}; it is 1 to {MAX_UPCOMING}"
        )));
    }
    let zone = zone.as_deref().filter(|zone| !zone.is_empty());
    let (schedule, zone) = parsed(schedule, zone)?;
    Ok(upcoming(&schedule, &zone, engine.clock.now(), limit as usize).into())
}
