//! Folds events into the world. Live events, the tail after a snapshot and replay use the same function; a durable
//! event that the world already contains changes nothing.

use crate::console::loading;
use crate::console::world::{CallResult, Stream, TOOL_OUTPUT_KEPT, World};
use crate::protocol::cache::{CacheCounts, CacheGroup};
use crate::protocol::enums::{
    ApprovalState, ContinuationState, OutboxState, ReportOutcome, SessionState, ToolCallState,
};
use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::{ContinuationId, OutboxId, SessionId, ToolCallId};
use crate::protocol::session::{ContinuationSummary, Session, Usage};

/// What the world cannot know from an event alone and should ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    Continuation(ContinuationId),
    Delivery(OutboxId),
    Session(SessionId),
    /// A piece of an open stream.
    Stream,
}

/// Folds one event. Returns what should be asked for.
pub fn apply(world: &mut World, event: &Event) -> Vec<Missing> {
    if let Some(seq) = event.seq {
        if seq <= world.seq {
            return Vec::new();
        }
        world.seq = seq;
    }
    let mut missing = Vec::new();
    if let (Some(session_id), true) = (event.session_id, event.seq.is_some())
        && !world.sessions.contains_key(&session_id)
        && !matches!(
            event.body,
            EventBody::SessionStarted { .. }
                | EventBody::SessionUpdated { .. }
                | EventBody::SessionEnded { .. }
        )
    {
        missing.push(Missing::Session(session_id));
    }
    match &event.body {
        EventBody::SessionStarted { session } | EventBody::SessionUpdated { session } => {
            world.sessions.insert(session.id, (**session).clone());
        }
        EventBody::SessionEnded { .. } => {
            if let Some(session) = session(world, event) {
                session.state = SessionState::Ended;
            }
        }
        EventBody::MessageReceived {
            sender, preview, ..
        } => {
            let (id, at) = (event.continuation_id, event.at);
            if let Some(session) = session(world, event) {
                session.last_sender = Some(sender.clone());
                session.last_line = Some(preview.clone());
                session.turns = session.turns.saturating_add(1);
                match (&session.open_continuation, id) {
                    (None, Some(id)) => session.open_continuation = Some(summary(id, at)),
                    (Some(_), _) => session.queued = session.queued.saturating_add(1),
                    (None, None) => {}
                }
            }
        }
        EventBody::ContinuationWaitingForFiles { files } => {
            if let Some(open) = open(world, event) {
                open.waiting_files = *files;
            }
        }
        EventBody::ContinuationQueued { .. } | EventBody::ContinuationResumed { .. } => {
            set_state(world, event, ContinuationState::Pending);
        }
        EventBody::ContinuationStarted { .. } => {
            take_up(world, event);
            set_state(world, event, ContinuationState::Running);
        }
        EventBody::ContinuationStreaming { step } => {
            set_state(world, event, ContinuationState::Streaming);
            if let (Some(id), Some(session_id)) = (event.continuation_id, event.session_id) {
                world.streams.insert(id, Stream::new(session_id, *step));
            }
        }
        EventBody::ContinuationAwaitingApproval { .. } => {
            set_state(world, event, ContinuationState::AwaitingApproval);
        }
        EventBody::ContinuationInterrupted { .. } => {
            set_state(world, event, ContinuationState::Interrupted);
            close_stream(world, event);
            missing.extend(event.continuation_id.map(Missing::Continuation));
        }
        EventBody::ContinuationCompleted { preview, .. } => {
            if let Some(session) = session(world, event) {
                session.last_line = Some(preview.clone());
            }
            end(world, event, ContinuationState::Completed);
        }
        EventBody::ContinuationFailed { .. } => end(world, event, ContinuationState::Failed),
        EventBody::ContinuationCancelled { .. } => end(world, event, ContinuationState::Cancelled),
        EventBody::ContinuationExpired { .. } => end(world, event, ContinuationState::Expired),
        EventBody::ModelStarted { not_before, .. } => {
            waits_no_longer(world, event);
            if let Some(id) = event.continuation_id {
                match not_before {
                    Some(at) => world.retries.insert(id, *at),
                    None => world.retries.remove(&id),
                };
            }
        }
        EventBody::ModelWaiting { provider, .. } => {
            if let Some(id) = event.continuation_id {
                world.waiting_for.insert(id, provider.clone());
            }
        }
        EventBody::ModelFinished { usage, .. } => {
            set_state(world, event, ContinuationState::Running);
            add_usage(world, event, *usage);
            close_stream(world, event);
        }
        EventBody::MessageDelta { step, offset, text } => {
            if delta(world, event, *step, *offset, text) {
                missing.push(Missing::Stream);
            }
        }
        EventBody::ToolProposed { .. } => {}
        EventBody::ToolStarted { call_id, name, .. } => {
            // Its approval was used with the start, in the same transaction.
            let used = world.approvals.values_mut().find(|approval| {
                approval.tool_call_id == Some(*call_id) && approval.state == ApprovalState::Approved
            });
            if let Some(approval) = used {
                approval.state = ApprovalState::Consumed;
            }
            world.note_result(*call_id, CallResult::RUNNING);
            if let Some(open) = open(world, event) {
                open.tools_in_flight.push(name.clone());
            }
        }
        EventBody::ToolOutput { call_id, text } => {
            let kept = world.tool_output.entry(*call_id).or_default();
            kept.push_str(text);
            if kept.len() > TOOL_OUTPUT_KEPT {
                let mut from = kept.len() - TOOL_OUTPUT_KEPT;
                while !kept.is_char_boundary(from) {
                    from += 1;
                }
                kept.drain(..from);
            }
        }
        EventBody::ToolFinished {
            call_id,
            name,
            state,
            preview,
            duration_ms,
            cached,
        } => {
            world.tool_output.remove(call_id);
            let result = CallResult {
                state: *state,
                duration_ms: *duration_ms,
                preview: preview.clone(),
            };
            world.note_result(*call_id, result);
            if cached.is_some()
                && let Some(channel) = session(world, event).map(|session| session.channel.clone())
            {
                cache_counts(world, &channel, |counts| counts.tools.hits += 1);
            }
            if let Some(open) = open(world, event)
                && let Some(index) = open.tools_in_flight.iter().position(|n| n == name)
            {
                open.tools_in_flight.remove(index);
            }
        }
        EventBody::CallReported {
            call_id,
            outcome,
            preview,
            ..
        } => reported(world, event, *call_id, *outcome, preview),
        EventBody::ApprovalRequested { approval }
        | EventBody::ApprovalDecided { approval }
        | EventBody::ApprovalExpired { approval }
        | EventBody::ApprovalAssigned { approval }
        | EventBody::ApprovalReminded { approval }
        | EventBody::ApprovalFirstAllowed { approval }
        | EventBody::ApprovalEscalation { approval } => {
            loading::put(world, (**approval).clone());
            count_pending(world, approval.session_id, &approval.channel);
        }
        EventBody::ReplyQueued { .. } => {}
        EventBody::ReplySent { outbox_id, .. } => {
            world.deliveries.remove(outbox_id);
        }
        EventBody::ReplyFailed {
            outbox_id,
            state,
            error,
            ..
        } => {
            if let Some(item) = world.deliveries.get_mut(outbox_id) {
                item.state = *state;
                item.last_error = Some(error.clone());
                item.updated_at = event.at;
            }
            missing.push(Missing::Delivery(*outbox_id));
        }
        EventBody::ReplyUnknown {
            outbox_id, detail, ..
        } => {
            if let Some(item) = world.deliveries.get_mut(outbox_id) {
                item.state = OutboxState::Unknown;
                item.last_error = Some(detail.clone());
                item.updated_at = event.at;
            }
            missing.push(Missing::Delivery(*outbox_id));
        }
        EventBody::ChannelState { channel } => {
            world
                .channels
                .insert(channel.name.clone(), (**channel).clone());
        }
        EventBody::PolicyChanged {
            channel, policy, ..
        } => {
            if let Some(channel) = world.channels.get_mut(channel) {
                channel.policy = policy.clone();
            }
        }
        EventBody::BudgetReached { .. } => {}
        EventBody::CacheHit {
            channel, cached, ..
        } => cache_counts(world, channel, |counts| {
            counts.lookups += 1;
            if cached.coalesced {
                counts.coalesced += 1;
            } else {
                counts.hits += 1;
            }
        }),
        EventBody::CacheMiss { channel, reason } => cache_counts(world, channel, |counts| {
            counts.lookups += 1;
            *counts.misses.entry(*reason).or_default() += 1;
        }),
        EventBody::EngineState { engine } => {
            // Counters of a day start at zero with it.
            if world.engine.as_ref().map(|known| known.today) != Some(engine.today) {
                world.cache.today = CacheCounts::default();
                world.cache.channels.clear();
            }
            world.engine = Some((**engine).clone());
        }
        EventBody::OnCallChanged { on_call } => {
            world.on_call_status.set(on_call.as_deref().cloned());
        }
        EventBody::LeftoversChanged { leftovers } => {
            let id = leftovers.tool_call_id;
            match leftovers.dismissed_at {
                Some(_) => world.leftovers.remove(&id),
                None => world.leftovers.insert(id, (**leftovers).clone()),
            };
        }
        // The world holds none of this.
        EventBody::ShellOutput { .. }
        | EventBody::DatasetsChanged { .. }
        | EventBody::MemoryChanged { .. }
        | EventBody::HygieneFinished { .. }
        | EventBody::HookRan { .. }
        | EventBody::McpChanged { .. }
        | EventBody::RoutineChanged { .. }
        | EventBody::RuleChanged { .. }
        | EventBody::GrantRemoved { .. }
        | EventBody::Unknown => {}
    }
    if event.seq.is_some()
        && let Some(session) = session(world, event)
    {
        session.updated_at = session.updated_at.max(event.at);
    }
    missing
}

/// Counts something of the cache, in all and on its channel.
fn cache_counts(world: &mut World, channel: &str, count: impl Fn(&mut CacheCounts)) {
    let cache = &mut world.cache;
    count(&mut cache.today);
    match cache
        .channels
        .iter_mut()
        .find(|group| group.name == channel)
    {
        Some(group) => count(&mut group.counts),
        None => {
            let mut counts = CacheCounts::default();
            count(&mut counts);
            cache.channels.push(CacheGroup {
                name: channel.to_owned(),
                counts,
            });
        }
    }
}

fn summary(id: ContinuationId, at: crate::clock::Timestamp) -> ContinuationSummary {
    ContinuationSummary {
        id,
        state: ContinuationState::Pending,
        tools_in_flight: Vec::new(),
        waiting_files: 0,
        created_at: at,
        updated_at: at,
    }
}

fn session<'w>(world: &'w mut World, event: &Event) -> Option<&'w mut Session> {
    world.sessions.get_mut(&event.session_id?)
}

/// The event's continuation, when it is the session's open one.
fn open<'w>(world: &'w mut World, event: &Event) -> Option<&'w mut ContinuationSummary> {
    let id = event.continuation_id?;
    session(world, event)?
        .open_continuation
        .as_mut()
        .filter(|open| open.id == id)
}

/// A queued continuation becomes the open one when it starts.
fn take_up(world: &mut World, event: &Event) {
    let (Some(id), at) = (event.continuation_id, event.at) else {
        return;
    };
    if let Some(session) = session(world, event)
        && session
            .open_continuation
            .as_ref()
            .is_none_or(|open| open.id != id)
    {
        session.open_continuation = Some(summary(id, at));
        session.queued = session.queued.saturating_sub(1);
    }
}

fn set_state(world: &mut World, event: &Event, state: ContinuationState) {
    let at = event.at;
    if let Some(open) = open(world, event) {
        open.state = state;
        open.updated_at = at;
    }
    if let Some(id) = event.continuation_id {
        world.retries.remove(&id);
    }
    if let Some(id) = event.continuation_id
        && let Some(continuation) = world.continuations.get_mut(&id)
        && !continuation.state.is_terminal()
    {
        continuation.state = state;
        continuation.updated_at = at;
    }
}

fn end(world: &mut World, event: &Event, state: ContinuationState) {
    set_state(world, event, state);
    close_stream(world, event);
    let Some(id) = event.continuation_id else {
        return;
    };
    if let Some(session) = session(world, event) {
        match &session.open_continuation {
            Some(open) if open.id == id => session.open_continuation = None,
            Some(_) => session.queued = session.queued.saturating_sub(1),
            None => {}
        }
    }
    if let Some(session_id) = event.session_id {
        if state == ContinuationState::Failed {
            world.failed.insert(session_id, id);
        } else {
            world.failed.remove(&session_id);
        }
    }
}

fn close_stream(world: &mut World, event: &Event) {
    waits_no_longer(world, event);
    if let Some(id) = event.continuation_id {
        world.streams.remove(&id);
    }
}

fn waits_no_longer(world: &mut World, event: &Event) {
    if let Some(id) = event.continuation_id {
        world.waiting_for.remove(&id);
    }
}

fn add_usage(world: &mut World, event: &Event, usage: Usage) {
    if let Some(session) = session(world, event) {
        session.usage = session.usage.plus(usage);
    }
    if let Some(engine) = &mut world.engine {
        engine.usage_today = engine.usage_today.plus(usage);
    }
}

/// Appends a piece at its offset; pieces already known are dropped. True when something is missing.
fn delta(world: &mut World, event: &Event, step: u32, offset: u64, text: &str) -> bool {
    let (Some(id), Some(session_id)) = (event.continuation_id, event.session_id) else {
        return false;
    };
    let new = || Stream::new(session_id, step);
    let stream = world.streams.entry(id).or_insert_with(new);
    if step < stream.step {
        return false;
    }
    if step > stream.step {
        *stream = new();
    }
    let end = offset.saturating_add(text.len() as u64);
    if end <= stream.offset {
        return false;
    }
    if offset > stream.offset {
        let first = !stream.gap;
        stream.gap = true;
        stream.text.push_str(text);
        stream.offset = end;
        return first;
    }
    let known = usize::try_from(stream.offset - offset).unwrap_or(usize::MAX);
    if let Some(new) = text.get(known..) {
        stream.text.push_str(new);
        stream.offset = end;
    }
    false
}

/// Counts pending approvals again where one changed.
fn count_pending(world: &mut World, session_id: Option<SessionId>, channel: &str) {
    let pending =
        |approval: &&crate::protocol::approval::Approval| approval.state == ApprovalState::Pending;
    if let Some(id) = session_id {
        let n = world
            .approvals
            .values()
            .filter(pending)
            .filter(|a| a.session_id == Some(id))
            .count();
        if let Some(session) = world.sessions.get_mut(&id) {
            session.pending_approvals = u32::try_from(n).unwrap_or(u32::MAX);
        }
    }
    let n = world
        .approvals
        .values()
        .filter(pending)
        .filter(|a| a.channel == channel)
        .count();
    if let Some(channel) = world.channels.get_mut(channel) {
        channel.pending_approvals = u32::try_from(n).unwrap_or(u32::MAX);
    }
}

/// An external agent said how a call of its own ended.
fn reported(
    world: &mut World,
    event: &Event,
    call: Option<ToolCallId>,
    outcome: ReportOutcome,
    preview: &str,
) {
    let Some(call) = call else {
        let external = session(world, event).and_then(|session| session.external.as_mut());
        if let Some(external) = external {
            external.unasked = external.unasked.saturating_add(1);
        }
        return;
    };
    let state = match outcome {
        ReportOutcome::Succeeded => ToolCallState::Succeeded,
        ReportOutcome::Failed => ToolCallState::Failed,
        // Nobody knows how it ended: what was known stays.
        ReportOutcome::Unreported => return,
    };
    let result = CallResult {
        state,
        duration_ms: None,
        preview: preview.to_owned(),
    };
    world.note_result(call, result);
}
