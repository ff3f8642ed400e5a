//! Applies the messages of a daemon to the model. Nothing here selects, opens or closes anything.

use crate::clock::Timestamp;
use crate::console::decision;
use crate::console::fold::{self, Missing};
use crate::console::hosts::Link;
use crate::console::ids::HostId;
use crate::console::item::{ItemKey, QueueKey};
use crate::console::loading;
use crate::console::message::DaemonMessage;
use crate::console::model::{Model, Tone};
use crate::console::world::World;
use crate::console::{labels, trim, undo};
use crate::protocol::approval::snooze_end;
use crate::protocol::enums::{ApprovalState, DecisionKind};
use crate::protocol::event::{BudgetLevel, Event, EventBody};
use crate::protocol::ids::SessionId;
use crate::protocol::on_call::OnCallStatus;
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    Answer, Command, Decide, GetApproval, GetContinuation, GetDelivery, GetSession, GetSnapshot,
    Outcome, Query, RehearseCall,
};
use crate::protocol::snapshot::Snapshot;

/// What an event changed, for whoever shows it.
#[derive(Debug, Default)]
pub struct EventChange {
    /// Questions to this daemon that tell what the event could not.
    pub queries: Vec<Query>,
    /// Whether lists may show something else now.
    pub shows: bool,
    /// Whether somebody is needed who was not before.
    pub needs: bool,
}

/// How a command was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    /// By itself: what came of it is told.
    Alone,
    /// As the first of several that somebody else reports on.
    FirstOfSeveral,
    /// As a further one of those; undo takes them back together.
    OneOfSeveral,
}

/// Takes in everything that a daemon says; the questions that it makes necessary. For a console that shows nothing
/// beside what the model holds.
pub fn receive(model: &mut Model, host: HostId, message: DaemonMessage) -> Vec<Query> {
    match message {
        DaemonMessage::Snapshot(snapshot) => {
            take_snapshot(model, host, *snapshot);
        }
        DaemonMessage::Event(event) => return take_event(model, host, &event, &[]).queries,
        DaemonMessage::Disconnected { why } => {
            lose(model, host, |since| Link::Lost { why, since });
        }
        DaemonMessage::Refused { why } => {
            lose(model, host, |since| Link::Refused { why, since });
        }
        DaemonMessage::Submitted { command, result } => {
            take_outcome(model, host, &command, &result, Sending::Alone);
        }
        DaemonMessage::Answered { query, result } => {
            take_answer(model, host, &query, result);
        }
        DaemonMessage::Scopes(scopes) => {
            if let Some(host) = model.hosts.get_mut(host) {
                host.scopes = scopes;
            }
        }
    }
    Vec::new()
}

/// Ends what is over by the clock alone; whether anything was.
pub fn settle(model: &mut Model) -> bool {
    let now = model.now.wall;
    let mut changed = false;
    for id in model.hosts.ids() {
        if let Some(host) = model.hosts.get_mut(id) {
            changed |= host.world.on_call_status.settle(now);
        }
    }
    changed
}

/// The state that a connection starts from. Whether it is the first of this daemon.
pub fn take_snapshot(model: &mut Model, id: HostId, snapshot: Snapshot) -> bool {
    let now = model.now.wall;
    let Some(host) = model.hosts.get_mut(id) else {
        return false;
    };
    let first = host.world.engine.is_none();
    let before = std::mem::replace(&mut host.world, World::from_snapshot(snapshot));
    loading::carry(before, &mut host.world);
    if !host.is_live() {
        host.link = Link::Live { since: now };
    }
    if first && model.queue.selected.is_none() {
        model.queue.open(&model.hosts, now);
    }
    model.hosts.rename();
    model.refresh_queue();
    first
}

/// Something happened in an engine. `sessions` are on screen and stay known.
pub fn take_event(
    model: &mut Model,
    id: HostId,
    event: &Event,
    sessions: &[SessionId],
) -> EventChange {
    let Some(host) = model.hosts.get_mut(id) else {
        return EventChange::default();
    };
    let missing = fold::apply(&mut host.world, event);
    host.undo.note(event);
    let mine = is_mine(&host.world.on_call_status, event);
    let mut change = EventChange {
        queries: missing.into_iter().map(ask_for).collect(),
        // Without a number, because nothing of them is stored, but every screen shows them.
        shows: event.seq.is_some()
            || matches!(
                event.body,
                EventBody::EngineState { .. } | EventBody::ChannelState { .. }
            ),
        needs: mine,
    };
    if let Some(text) = budget_warning(event) {
        notice(model, id, Tone::Warning, text);
    }
    if mine && let Some(text) = assigned_text(event) {
        notice(model, id, Tone::Warning, text);
    }
    if change.shows {
        if event.seq.is_some() {
            trim::trim(model, id, sessions);
        }
        let added = model.refresh_queue();
        change.needs |= added > 0 && matches!(event.body, EventBody::ApprovalRequested { .. });
    }
    change
}

/// The connection is gone.
pub fn lose(model: &mut Model, id: HostId, link: impl FnOnce(Timestamp) -> Link) {
    let now = model.now.wall;
    if let Some(host) = model.hosts.get_mut(id) {
        let since = match &host.link {
            Link::Lost { since, .. } | Link::Refused { since, .. } => *since,
            Link::Live { .. } | Link::Connecting => now,
        };
        host.link = link(since);
        host.world.opened.lost();
    }
}

/// A command was carried out or refused.
pub fn take_outcome(
    model: &mut Model,
    id: HostId,
    command: &Command,
    result: &Result<Box<Outcome>, Box<Problem>>,
    sending: Sending,
) {
    let now = model.now.wall;
    let Some(host) = model.hosts.get_mut(id) else {
        return;
    };
    if let Command::Decide(Decide { approval_id, .. }) = command {
        host.deciding.remove(approval_id);
    }
    if let Command::RehearseCall(RehearseCall { approval_id }) = command {
        host.rehearsals.ended(*approval_id, result);
    }
    let has_draft = host.drafts.answered(command, result.is_ok());
    let alone = sending == Sending::Alone;
    match result {
        Err(problem) => {
            let kept = if has_draft {
                "; the text is still there when you open the field again"
            } else {
                ""
            };
            if alone {
                let text = format!("{}{kept}", labels::problem_text(problem));
                notice(model, id, Tone::Error, text);
            }
        }
        Ok(outcome) => {
            undo::done(
                &mut host.undo,
                command,
                outcome,
                sending == Sending::OneOfSeveral,
            );
            if let Outcome::StartSession(session) = &**outcome {
                let known = host.world.sessions.entry(session.id);
                known.or_insert_with(|| session.clone());
            }
            // The dialog that asked for a check of a channel shows what came of it.
            if alone && !matches!(command, Command::CheckChannel(_)) {
                let text = labels::done_text(command, outcome);
                notice(model, id, Tone::Info, text);
            }
            if let Some((item, until)) = snoozed(now, command, outcome) {
                model.queue.snooze(&QueueKey::new(id, item), until);
            }
        }
    }
}

/// Takes in what an event could not tell in full; gives back what is something else.
pub fn take_answer(
    model: &mut Model,
    id: HostId,
    query: &Query,
    result: Result<Box<Answer>, Box<Problem>>,
) -> Option<Result<Box<Answer>, Box<Problem>>> {
    let host = model.hosts.get_mut(id)?;
    if let Query::GetApproval(GetApproval { id }) = query {
        let whole = match &result {
            Ok(answer) => match &**answer {
                Answer::GetApproval(approval) => Some(Ok(approval)),
                _ => None,
            },
            Err(problem) => Some(Err(labels::problem_text(problem))),
        };
        if whole.is_some_and(|whole| loading::answered(&mut host.world, *id, whole)) {
            return None;
        }
    }
    let answer = match result {
        Ok(answer) => answer,
        Err(problem) => return Some(Err(problem)),
    };
    let rest = learn(&mut host.world, *answer);
    if rest.is_none() {
        model.refresh_queue();
    }
    rest.map(|rest| Ok(Box::new(rest)))
}

/// Tells something about a host, by its name where there are several.
pub fn notice(model: &mut Model, id: HostId, tone: Tone, text: String) {
    let text = if model.hosts.several() {
        format!("{}: {text}", model.hosts.name(id))
    } else {
        text
    };
    model.notice(tone, text);
}

/// Whether an event assigns a question to somebody who is called like this, by somebody else.
fn is_mine(on_call_status: &OnCallStatus, event: &Event) -> bool {
    let EventBody::ApprovalAssigned { approval } = &event.body else {
        return false;
    };
    let assignment = approval.assignment.as_ref();
    assignment.is_some_and(|one| on_call_status.is_me(&one.to) && !on_call_status.is_me(&one.by))
}

fn assigned_text(event: &Event) -> Option<String> {
    let EventBody::ApprovalAssigned { approval } = &event.body else {
        return None;
    };
    let assignment = approval.assignment.as_ref()?;
    let note = assignment.note.as_deref();
    Some(format!(
        "{} is assigned to you by {}{}",
        decision::title(approval),
        assignment.by,
        note.map_or_else(String::new, |note| format!(": {note}"))
    ))
}

/// A limit that is nearly used up is said once; one that is used up shows as a question in the queue.
fn budget_warning(event: &Event) -> Option<String> {
    let EventBody::BudgetReached {
        budget,
        level: BudgetLevel::Warning,
        limit: Some(limit),
        used: Some(used),
    } = &event.body
    else {
        return None;
    };
    let percent = if *limit > 0.0 {
        used / limit * 100.0
    } else {
        100.0
    };
    Some(format!(
        "{percent:.0} % of the budget {budget} is used or reserved"
    ))
}

/// The question that tells what an event could not.
fn ask_for(missing: Missing) -> Query {
    match missing {
        Missing::Continuation(id) => Query::GetContinuation(GetContinuation { id }),
        Missing::Delivery(id) => Query::GetDelivery(GetDelivery { id }),
        Missing::Session(id) => Query::GetSession(GetSession { id }),
        Missing::Stream => Query::GetSnapshot(GetSnapshot {}),
    }
}

/// The approval that a command has put off, and until when.
fn snoozed(now: Timestamp, command: &Command, outcome: &Outcome) -> Option<(ItemKey, Timestamp)> {
    match (command, outcome) {
        (Command::Decide(Decide { decision, .. }), Outcome::Decide(approval))
            if decision.decision == DecisionKind::Snooze
                && approval.state == ApprovalState::Pending =>
        {
            let minutes = decision.minutes.unwrap_or(60);
            let until = snooze_end(now, minutes, approval.expires_at)?;
            Some((ItemKey::Approval(approval.id), until))
        }
        _ => None,
    }
}

fn learn(world: &mut World, answer: Answer) -> Option<Answer> {
    match answer {
        Answer::GetApproval(approval) => {
            loading::answered(world, approval.id, Ok(&approval));
        }
        Answer::GetContinuation(mut continuation) => {
            continuation.shorten();
            world.continuations.insert(continuation.id, continuation);
        }
        Answer::GetDelivery(delivery) => {
            world.deliveries.insert(delivery.id, delivery);
        }
        Answer::GetSession(session) => {
            world.sessions.insert(session.id, session);
        }
        Answer::GetSnapshot(snapshot) => {
            // Only asked for to learn what an open stream has said; the rest is followed by events.
            let fresh = World::from_snapshot(snapshot);
            for (id, stream) in fresh.streams {
                let longer = world
                    .streams
                    .get(&id)
                    .is_none_or(|known| known.gap && known.step <= stream.step);
                if longer && fresh.seq >= world.seq {
                    world.streams.insert(id, stream);
                }
            }
        }
        other => return Some(other),
    }
    None
}
