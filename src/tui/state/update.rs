//! The reducer: one message in, effects out. The only way the state changes.

use std::collections::BTreeSet;

use crate::clock::Timestamp;
use crate::protocol::approval::{Approval, snooze_end};
use crate::protocol::event::{BudgetLevel, Event, EventBody};
use crate::protocol::ids::ApprovalId;
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    Answer, Command, Decide, ExplainCall, GetApproval, GetContinuation, GetDelivery, GetSession,
    GetSnapshot, GetTranscript, GetTranscriptFrom, GetWhatIf, Outcome, Query,
};
use crate::protocol::snapshot::Snapshot;
use crate::protocol::words::{ApprovalState, DecisionWord};
use crate::tui::action::Action;
use crate::tui::message::{Effect, FrameReport, Message, Now, QuitKind};
use crate::tui::state::app::{BELL_MS, Dirty, Link, Screen, State, Tone};
use crate::tui::state::fold::{self, Missing};
use crate::tui::state::modal::{Modal, TextPurpose};
use crate::tui::state::queue::ItemKey;
use crate::tui::state::session_view::SessionView;
use crate::tui::state::world::World;
use crate::tui::state::{
    assigning, audit, batch, decide, deciding, dialogs, hosts, input, memory, models, mouse,
    opened, panel, perform, replay, rule_editor, submit, summary, taking_over, trim, undo, why,
};

/// Folds a message into the state.
pub fn update(state: &mut State, message: Message, now: Now) -> Vec<Effect> {
    state.now = now;
    replay::advance(state);
    let mut effects = match message {
        Message::From(host, message) => hosts::heard(state, host, *message),
        message => {
            let focused = state.hosts.focused();
            let effects = received(state, message);
            hosts::addressed(state, focused, effects)
        }
    };
    effects.extend(hosts::follow_selection(state));
    let asked = ask(state);
    effects.extend(hosts::addressed(state, state.hosts.focused(), asked));
    if state.world.duty.settle(now.wall) {
        state.touch(Dirty::Soon);
    }
    state.settle_flash();
    effects
}

/// What the screen that is shown has to ask its host.
fn ask(state: &mut State) -> Vec<Effect> {
    let mut effects = panel::refresh(state);
    effects.extend(opened::ask(state).map(Effect::Query));
    if state.screen == Screen::Session && state.is_live() && state.replay.is_none() {
        effects.extend(state.session.asks().into_iter().map(Effect::Query));
    }
    effects
}

/// Folds in a message of this console, or of the host that has the focus.
pub(super) fn received(state: &mut State, message: Message) -> Vec<Effect> {
    let now = state.now;
    match message {
        Message::Key(event) => input::key(state, &event),
        Message::Paste(text) => input::paste(state, &text),
        Message::FocusGained => {
            state.focused = true;
            state.unrung = false;
            state.arming.focus_gained(now.steady);
            Vec::new()
        }
        Message::FocusLost => {
            state.focused = false;
            Vec::new()
        }
        Message::Resize(width, height) => {
            state.size = (width, height);
            state.touch(Dirty::Now);
            Vec::new()
        }
        Message::Snapshot(snapshot) => take_snapshot(state, *snapshot),
        Message::Event(event) => take_event(state, &event),
        Message::Disconnected { why } => disconnected(state, why),
        Message::Submitted { command, result } => submitted(state, &command, result),
        Message::Answered { query, result } => {
            let borrowed = result
                .as_ref()
                .map(|answer| &**answer)
                .map_err(|problem| &**problem);
            let (taken, effects) = replay::answered(state, &query, borrowed);
            if !taken {
                answered(state, &query, result);
            }
            effects
        }
        Message::Edited(result) => {
            dialogs::edited(state, result);
            Vec::new()
        }
        Message::Tick => tick(state),
        Message::Drawn(report) => {
            drawn(state, report);
            Vec::new()
        }
        Message::Terminate => vec![Effect::Quit(QuitKind::Terminated)],
        Message::Exported(result) => {
            match result {
                Ok(text) => state.flash(Tone::Info, text),
                Err(text) => state.flash(Tone::Error, text),
            }
            Vec::new()
        }
        Message::Scopes(scopes) => {
            state.scopes = scopes;
            Vec::new()
        }
        Message::Mouse(done) => mouse::happened(state, done),
        // One level is all there is.
        Message::From(..) => Vec::new(),
    }
}

fn tick(state: &mut State) -> Vec<Effect> {
    let steady = state.now.steady;
    if state
        .flash
        .as_ref()
        .is_some_and(|flash| flash.until <= steady)
    {
        state.flash = None;
    }
    if state
        .pending
        .as_ref()
        .is_some_and(|p| steady.since(p.since) >= crate::tui::state::app::SEQUENCE_MS)
    {
        // What the next key would have done it does no more.
        if state.pending.take().is_some_and(|keys| keys.emergency) {
            state.flash = None;
        }
    }
    let woken = refresh_lists(state);
    state.touch(Dirty::Soon);
    // What was put off needs somebody again.
    state.unrung |= woken > 0 && !state.focused;
    ring(state)
}

/// Which decision keys count now: the footer and the dialogs show it.
fn armed(state: &State) -> [bool; 3] {
    [
        decide::armed(state, Action::Approve).is_ok(),
        decide::armed(state, Action::Deny).is_ok(),
        deciding::armed(state).is_ok(),
    ]
}

fn drawn(state: &mut State, report: FrameReport) {
    let before = armed(state);
    state.spots = report.spots;
    state.queue.card_drawn = report.card.as_ref().map(|card| (card.first, card.end));
    state.arming.drawn(report.card, state.now.steady);
    match report.dialog {
        Some(report) => deciding::drawn(state, report),
        // Under a text or a list of keys it is not being looked at.
        None => deciding::unsure(state),
    }
    // The frame that completes the reading still shows what was true before it.
    if armed(state) != before {
        state.touch(Dirty::Now);
    }
    state.queue.card_scroll = state.queue.card_scroll.min(report.card_max_scroll);
    if let Some(most) = report.panel_max_scroll {
        let scroll = match (state.modals.last_mut(), state.screen) {
            (Some(Modal::Why(pager)), _) => Some(&mut pager.scroll),
            (Some(Modal::Summary(pager)), _) => Some(&mut pager.scroll),
            (_, Screen::Continuations) => Some(&mut state.continuations.scroll),
            (_, Screen::Rules) => Some(&mut state.rules.scroll),
            (_, Screen::Audit) => Some(&mut state.audit.scroll),
            (_, Screen::Memory) => Some(&mut state.memory.scroll),
            (_, Screen::CacheCost) => Some(&mut state.cache_cost.scroll),
            (_, Screen::Doctor) => Some(&mut state.doctor.scroll),
            _ => None,
        };
        if let Some(scroll) = scroll {
            *scroll = (*scroll).min(most);
        }
    }
    if let Some(session) = report.session {
        state.session.report = Some(session);
        if state.session.anchor.is_some() {
            state.session.anchor = Some(session.anchor);
        }
        state.session.reveal_selected = false;
    }
}

fn take_snapshot(state: &mut State, snapshot: Snapshot) -> Vec<Effect> {
    let first = state.world.engine.is_none();
    let elsewhere = std::mem::take(&mut state.world.elsewhere);
    let before = std::mem::replace(&mut state.world, World::from_snapshot(snapshot));
    opened::carry(before, &mut state.world);
    state.world.elsewhere = elsewhere;
    let since = match state.link {
        Link::Live { since } => since,
        Link::Connecting | Link::Lost { .. } => state.now.wall,
    };
    state.link = Link::Live { since };
    if first {
        state.queue.open(&state.world, state.now.wall);
        perform::open_lists(state);
    }
    state.session.stale = true;
    state.asking.lost();
    refresh_lists(state);
    state.touch(Dirty::Soon);
    match state.wanted_replay.take() {
        Some(source) => replay::begin(state, source, true),
        None => Vec::new(),
    }
}

/// A limit that is nearly used up is said once; one that is used up shows as a question in the queue.
fn tell_of_budget(state: &mut State, event: &Event) {
    let EventBody::BudgetReached {
        budget,
        level: BudgetLevel::Warning,
        limit: Some(limit),
        used: Some(used),
    } = &event.body
    else {
        return;
    };
    let percent = if *limit > 0.0 {
        used / limit * 100.0
    } else {
        100.0
    };
    state.flash(
        Tone::Warning,
        format!("{percent:.0} % of the budget {budget} is used or reserved"),
    );
}

/// The question that tells what an event could not.
pub(super) fn ask_for(missing: Missing) -> Effect {
    Effect::Query(match missing {
        Missing::Continuation(id) => Query::GetContinuation(GetContinuation { id }),
        Missing::Delivery(id) => Query::GetDelivery(GetDelivery { id }),
        Missing::Session(id) => Query::GetSession(GetSession { id }),
        Missing::Stream => Query::GetSnapshot(GetSnapshot {}),
    })
}

fn take_event(state: &mut State, event: &Event) -> Vec<Effect> {
    let missing = fold::apply(&mut state.world, event);
    panel::happened(state, event);
    state.doctor.note(event);
    state.undo.note(event);
    tell_of_budget(state, event);
    taking_over::happened(state, event);
    let mine = assigning::happened(state, event);
    let mut effects: Vec<Effect> = missing.into_iter().map(ask_for).collect();
    let shown_session =
        state.session.session_id.is_some() && event.session_id == state.session.session_id;
    if event.seq.is_some() {
        state.session.stale |= shown_session;
        trim::trim(state);
        let added = refresh_lists(state);
        if let EventBody::ApprovalRequested { .. } = event.body
            && added > 0
        {
            state.unrung = !state.focused;
            effects.extend(ring(state));
        }
        if mine {
            state.unrung |= !state.focused;
            effects.extend(ring(state));
        }
        state.touch(Dirty::Soon);
    } else if let EventBody::EngineState { .. } | EventBody::ChannelState { .. } = event.body {
        // Without a number, because nothing of them is stored, but every screen shows them.
        refresh_lists(state);
        state.touch(Dirty::Soon);
    } else if shown_session && state.screen == Screen::Session {
        state.touch(Dirty::Soon);
    }
    effects
}

/// Rings for what came while nobody looked: at once, then every some seconds at most, for all of it together.
pub(super) fn ring(state: &mut State) -> Vec<Effect> {
    let recently = state
        .last_bell
        .is_some_and(|at| state.now.steady.since(at) < BELL_MS);
    if !state.unrung || recently {
        return Vec::new();
    }
    state.unrung = false;
    let waiting = hosts::worlds(state)
        .map(|world| world.pending().count())
        .sum();
    if waiting == 0 {
        return Vec::new();
    }
    state.last_bell = Some(state.now.steady);
    vec![Effect::Bell, Effect::Notify(waiting)]
}

/// Brings lists in line with the world; returns how many queue items are new.
pub fn refresh_lists(state: &mut State) -> usize {
    let added = state
        .queue
        .refresh(&state.world, state.now.steady, state.now.wall);
    if let Some(high) = &state.high
        && crate::tui::state::queue::subject(&state.world, &high.subject.key).as_ref()
            != Some(&high.subject)
    {
        state.high = None;
    }
    let world = &state.world;
    append_new(&mut state.live.order, world.sessions.keys());
    append_new(&mut state.channels.order, world.channels.keys());
    state
        .live
        .order
        .retain(|id| world.sessions.contains_key(id));
    state
        .channels
        .order
        .retain(|name| world.channels.contains_key(name));
    if state
        .live
        .selected
        .is_some_and(|id| !world.sessions.contains_key(&id))
    {
        state.live.selected = None;
    }
    if state
        .channels
        .selected
        .as_ref()
        .is_some_and(|name| !world.channels.contains_key(name))
    {
        state.channels.selected = None;
    }
    added
}

/// Appends what the list does not hold yet, in time that grows with both and not with their product.
fn append_new<'k, K: Ord + Clone + 'k>(order: &mut Vec<K>, keys: impl Iterator<Item = &'k K>) {
    let known: BTreeSet<&K> = order.iter().collect();
    let new: Vec<K> = keys.filter(|key| !known.contains(key)).cloned().collect();
    order.extend(new);
}

fn disconnected(state: &mut State, why: String) -> Vec<Effect> {
    let since = match &state.link {
        Link::Lost { since, .. } => *since,
        Link::Live { .. } | Link::Connecting => state.now.wall,
    };
    state.link = Link::Lost { why, since };
    state.high = None;
    // What was shown may not be true any more: the card must be looked at again.
    state.arming.drawn(None, state.now.steady);
    state.arming.forget();
    deciding::lost(state);
    state.world.opened.lost();
    transcript(state).lost();
    state.touch(Dirty::Soon);
    Vec::new()
}

fn submitted(
    state: &mut State,
    command: &Command,
    result: Result<Box<Outcome>, Box<Problem>>,
) -> Vec<Effect> {
    if let Command::Decide(Decide { approval_id, .. }) = command {
        state.deciding.remove(approval_id);
    }
    let has_draft = state.drafts.answered(command, result.is_ok());
    deciding::submitted(state, command, &result);
    // A table says for itself what came of each, and of all.
    let in_batch = batch::sent(state, command);
    let joins = in_batch && batch::some_done(state);
    let more = batch::submitted(state, command, &result);
    models::submitted(state, command, &result);
    memory::submitted(state, command, &result);
    let mut effects = match result {
        Err(problem) => {
            if !in_batch {
                let kept = if has_draft {
                    "; the text is still there when you open the field again"
                } else {
                    ""
                };
                state.flash(Tone::Error, format!("{}{kept}", problem_text(&problem)));
            }
            Vec::new()
        }
        Ok(outcome) => {
            undo::done(state, command, &outcome, joins);
            if !in_batch {
                let text = submit::done_text(command, &outcome);
                state.flash(Tone::Info, text);
            }
            taking_over::submitted(state, command, &outcome);
            // What was done may show on the screen; not everything that is done is told by an event.
            state.asking.later();
            if let Some((id, until)) = snoozed(state, command, &outcome) {
                state.queue.snooze(&ItemKey::Approval(id), until);
            }
            match *outcome {
                Outcome::StartSession(session) => {
                    let id = session.id;
                    state.world.sessions.entry(id).or_insert(session);
                    refresh_lists(state);
                    let mut effects = perform::open_session(state, id);
                    effects.extend(dialogs::open_text(state, TextPurpose::Compose(id)));
                    effects
                }
                _ => Vec::new(),
            }
        }
    };
    effects.extend(more);
    effects
}

/// The approval that a command has put off, and until when.
pub(super) fn snoozed(
    state: &State,
    command: &Command,
    outcome: &Outcome,
) -> Option<(ApprovalId, Timestamp)> {
    match (command, outcome) {
        (Command::Decide(Decide { decision, .. }), Outcome::Decide(approval))
            if decision.decision == DecisionWord::Snooze
                && approval.state == ApprovalState::Pending =>
        {
            let minutes = decision.minutes.unwrap_or(60);
            let until = snooze_end(state.now.wall, minutes, approval.expires_at)?;
            Some((approval.id, until))
        }
        _ => None,
    }
}

/// The transcript that is followed; a replay only hides it.
fn transcript(state: &mut State) -> &mut SessionView {
    match &mut state.replay {
        Some(replay) => &mut replay.behind,
        None => &mut state.session,
    }
}

/// A problem in one line.
pub fn problem_text(problem: &Problem) -> String {
    let mut text = match &problem.winner {
        Some(winner) => format!(
            "{}: already decided `{}` by {} ({})",
            problem.title, winner.decision, winner.by, winner.surface
        ),
        None => format!("{}: {}", problem.title, problem.detail),
    };
    if let Some(hint) = &problem.hint {
        text.push_str("; ");
        text.push_str(hint);
    }
    text
}

fn answered(state: &mut State, query: &Query, result: Result<Box<Answer>, Box<Problem>>) {
    state.touch(Dirty::Soon);
    let borrowed = result
        .as_ref()
        .map(|answer| &**answer)
        .map_err(|problem| &**problem);
    if let Query::GetApproval(GetApproval { id }) = query
        && let Some(result) = whole_approval(borrowed)
        && opened::answered(&mut state.world, *id, result)
    {
        return;
    }
    if panel::answered(state, query, borrowed) || rule_editor::answered(state, query, borrowed) {
        return;
    }
    let answer = match result {
        Ok(answer) => answer,
        Err(problem) => {
            match query {
                Query::GetTranscript(GetTranscript { session_id, .. })
                | Query::GetTranscriptFrom(GetTranscriptFrom { session_id, .. })
                    if transcript(state).session_id == Some(*session_id) =>
                {
                    transcript(state).failed(query);
                    state.flash(Tone::Error, problem_text(&problem));
                }
                Query::GetWhatIf(GetWhatIf {
                    autonomy, channel, ..
                }) => {
                    if let Some(Modal::Dial(dial)) = state.modals.last_mut()
                        && dial.channel == *channel
                    {
                        dial.answers.insert(*autonomy, Err(problem_text(&problem)));
                    }
                }
                Query::ListModels(_) => models::listed(state, Err(problem_text(&problem))),
                Query::ExplainCall(ExplainCall { tool_call_id }) => {
                    why::answered(state, *tool_call_id, Err(problem_text(&problem)));
                }
                Query::GetShiftSummary(_) => summary::answered(state, Err(problem_text(&problem))),
                Query::VerifyAudit(_) => audit::verified(state, Err(problem_text(&problem))),
                _ => tracing::debug!(%problem, "a background query failed"),
            }
            return;
        }
    };
    let Some(answer) = learn(&mut state.world, *answer) else {
        refresh_lists(state);
        return;
    };
    match answer {
        Answer::GetTranscript(page) | Answer::GetTranscriptFrom(page) => {
            if let Query::GetTranscript(GetTranscript { session_id, .. })
            | Query::GetTranscriptFrom(GetTranscriptFrom { session_id, .. }) = query
                && transcript(state).session_id == Some(*session_id)
            {
                transcript(state).take(query, page.items);
                if let Some(missed) = transcript(state).missed.take() {
                    state.flash(Tone::Info, missed);
                }
            }
        }
        Answer::GetShiftSummary(summary) => summary::answered(state, Ok(&summary)),
        Answer::GetWhatIf(what_if) => {
            if let Some(Modal::Dial(dial)) = state.modals.last_mut()
                && dial.channel == what_if.channel
            {
                dial.answers.insert(what_if.autonomy, Ok(what_if));
            }
        }
        Answer::GetDuty(duty) => assigning::learned(state, duty),
        Answer::ListModels(page) => models::listed(state, Ok(page.items)),
        Answer::ExplainCall(found) => why::answered(state, found.call.id, Ok(found)),
        Answer::VerifyAudit(report) => audit::verified(state, Ok(report)),
        // Whatever else comes back belongs to nobody any more.
        _ => {}
    }
}

/// The approval of an answer, or why there is none; none = the answer is something else.
fn whole_approval<'a>(
    answer: Result<&'a Answer, &Problem>,
) -> Option<Result<&'a Approval, String>> {
    match answer {
        Ok(Answer::GetApproval(approval)) => Some(Ok(approval)),
        Ok(_) => None,
        Err(problem) => Some(Err(problem_text(problem))),
    }
}

/// Takes in what an event could not tell in full; gives back what is something else.
pub(super) fn learn(world: &mut World, answer: Answer) -> Option<Answer> {
    match answer {
        Answer::GetApproval(approval) => {
            opened::answered(world, approval.id, Ok(&approval));
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
