//! Assignments, and who is on call. Who may decide is settled elsewhere and stays as it is.

use std::collections::BTreeSet;

use crate::config::error::nearest;
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::decision;
use crate::engine::{approvals, people};
use crate::protocol::approval::Approval;
use crate::protocol::command::Actor;
use crate::protocol::enums::{Role, Scope};
use crate::protocol::ids::ApprovalId;
use crate::protocol::on_call::{
    AssignRequest, MAX_NOTE_CHARS, MAX_ON_CALL_SECONDS, NOBODY, OnCallRequest, OnCallStatus, Person,
};
use crate::protocol::problem::Problem;
use crate::protocol::snapshot::Page;
use crate::protocol::token::Token;
use crate::store::commands::assign::{Assign, SetOnCall};
use crate::store::commands::decide::DecideReport;

/// Who is on call, who can be named, and what `actor` is called.
pub async fn status(engine: &Engine, actor: Option<&Actor>) -> Result<OnCallStatus, Problem> {
    let (on_call, operators) = engine
        .read_here(|reader| Ok((reader.on_call()?, reader.known_operators()?)))
        .await?;
    let you = actor.map_or_else(Vec::new, |actor| own_names(engine, actor));
    let people = engine.settings.people.iter();
    let names: BTreeSet<String> = people
        .filter(|(_, person)| person.role >= Role::Approver)
        .map(|(name, _)| name.clone())
        .chain(operators)
        .chain(you.iter().cloned())
        .collect();
    let mut status = OnCallStatus {
        on_call,
        ended: None,
        names: names.into_iter().collect(),
        you,
    };
    status.settle(engine.clock.now());
    Ok(status)
}

/// Everybody of the configuration, with their tokens and what they did last.
pub async fn people(engine: &Engine) -> Result<Page<Person>, Problem> {
    let now = engine.clock.now();
    let on_call = status(engine, None).await?.on_call;
    let (tokens, last) = engine
        .read(|reader| Ok((reader.tokens(false)?, reader.last_actions()?)))
        .await?;
    let settings = &engine.settings;
    let people = settings.people.iter().map(|(name, person)| {
        let first = person.ids.first();
        let conversations = first.map(|id| people::direct_conversations(settings, id));
        let mut channels: Vec<String> = conversations
            .into_iter()
            .flatten()
            .map(|(channel, _)| channel)
            .collect();
        channels.sort();
        channels.dedup();
        let is_theirs = |label: &str, id: &str| {
            label == name || people::person(settings, id).is_some_and(|one| one.name == name)
        };
        let actor = Actor::Person {
            platform_id: String::new(),
            name: Some(name.clone()),
            role: person.role,
        };
        let scopes = Scope::ALL.iter().copied();
        let lives = |token: &&Token| token.expires_at.is_none_or(|at| at > now);
        let own = tokens
            .iter()
            .filter(|token| token.person.as_ref() == Some(name));
        Person {
            name: name.clone(),
            role: person.role,
            scopes: scopes
                .filter(|scope| people::has_scope(&actor, *scope))
                .collect(),
            ids: person.ids.clone(),
            tokens: own.filter(lives).map(|token| token.name.clone()).collect(),
            channels,
            on_call: on_call.as_ref().is_some_and(|one| one.name == *name),
            quiet_until: person.quiet_hours.as_ref().and_then(|hours| hours.end(now)),
            last_action: last
                .iter()
                .find(|(label, id, _)| is_theirs(label, id))
                .map(|(_, _, last)| last.clone()),
        }
    });
    Ok(Page::from(people.collect::<Vec<_>>()))
}

/// What an actor is called: as a person where they are linked to one, and as rows of the audit name them from before.
fn own_names(engine: &Engine, actor: &Actor) -> Vec<String> {
    let named = people::named(&engine.settings, actor.clone());
    let mut names = vec![named.label()];
    let login = match actor {
        Actor::Operator { name, .. } => Some(name.clone()),
        Actor::Token { .. } | Actor::Person { .. } | Actor::Engine => None,
    };
    names.extend(login.filter(|login| *login != named.label()));
    names
}

/// A name that can be named, or nobody.
async fn named(engine: &Engine, caller: &Caller, name: &str) -> Result<Option<String>, Problem> {
    let name = name.trim();
    if name == NOBODY {
        return Ok(None);
    }
    let known = status(engine, Some(&caller.actor)).await?.names;
    if known.iter().any(|one| one == name) {
        return Ok(Some(name.to_owned()));
    }
    let near = nearest(name, known.iter().map(String::as_str))
        .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    let shown: String = name.chars().take(64).collect();
    Err(Problem::invalid(format!(
        "nobody who may decide is called `{shown}`: expected a person of [people] with the role approver or owner, \
         an operator who did something here, or `{NOBODY}` for nobody"
    ))
    .hint(format!("{near}known: {}", known.join(", "))))
}

/// A note as it is kept: without secrets, none where it is empty.
fn note(engine: &Engine, note: Option<String>) -> Result<Option<String>, Problem> {
    let Some(note) = note.filter(|note| !note.trim().is_empty()) else {
        return Ok(None);
    };
    let length = note.trim().chars().count();
    if length > MAX_NOTE_CHARS {
        return Err(Problem::invalid(format!(
            "`note` has {length} characters; at most {MAX_NOTE_CHARS} are taken"
        )));
    }
    Ok(Some(engine.redactor.redact(note.trim()).into_owned()))
}

/// Assigns a question, or takes that back.
pub async fn assign(
    engine: &Engine,
    caller: &Caller,
    approval_id: ApprovalId,
    request: AssignRequest,
) -> Result<Approval, Problem> {
    let approval = engine.approval(approval_id).await?;
    let to = named(engine, caller, &request.to).await?;
    let cards = to.as_ref().map_or_else(Vec::new, |to| {
        let (channel, risk, now) = (&approval.channel, approval.risk, engine.clock.now());
        approvals::cards_of(engine, &approval, |name| {
            name == to && approvals::quiet_until(engine, channel, name, risk, now).is_none()
        })
    });
    let outcome = engine
        .write(Assign {
            approval_id,
            digest: request.digest,
            revision: request.revision,
            // Where nobody is named there is nobody to read it.
            note: note(engine, request.note.filter(|_| to.is_some()))?,
            to,
            cards,
            by: caller.reference(),
        })
        .await?;
    // Whoever has it now has time for it: its next step is later.
    engine.scheduler.deadlines_changed();
    let report = DecideReport {
        outcome,
        continuation_id: None,
        session_id: None,
        resumed: false,
        ended: false,
    };
    decision::outcome(approval_id, report)
}

/// Says who is on call.
pub async fn set_on_call(
    engine: &Engine,
    caller: &Caller,
    request: OnCallRequest,
) -> Result<OnCallStatus, Problem> {
    let name = named(engine, caller, &request.name).await?;
    if request
        .seconds
        .is_some_and(|seconds| !(60..=MAX_ON_CALL_SECONDS).contains(&seconds))
    {
        return Err(
            Problem::invalid("`seconds` must be a minute to 31 days (60 to 2678400)")
                .hint("leave it out to be on call until somebody else is"),
        );
    }
    let now = engine.clock.now();
    let until = request
        .seconds
        .filter(|_| name.is_some())
        .map(|seconds| now.plus_seconds(i64::from(seconds)));
    engine
        .write(SetOnCall {
            note: note(engine, request.note.filter(|_| name.is_some()))?,
            name,
            until,
            by: caller.reference(),
        })
        .await?;
    // The next step may be for somebody else now.
    engine.scheduler.deadlines_changed();
    status(engine, Some(&caller.actor)).await
}
