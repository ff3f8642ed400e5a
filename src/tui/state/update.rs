//! The reducer: one message in, effects out. The only way the state changes.

use crate::clock::Timestamp;
use crate::console::hosts::Link;
use crate::console::ids::HostId;
use crate::console::item::ItemKey;
use crate::console::labels::problem_text;
use crate::console::message::DaemonMessage;
use crate::console::model::Tone;
use crate::console::time::Now;
use crate::console::update::{self as model, Sending};
use crate::console::{loading, queue};
use crate::protocol::event::Event;
use crate::protocol::ids::SessionId;
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    Answer, Command, ExplainCall, GetTranscript, GetTranscriptFrom, GetWhatIf, Outcome, Query,
    SuggestRules,
};
use crate::protocol::snapshot::Snapshot;
use crate::tui::action::Action;
use crate::tui::message::{Effect, FrameReport, Message, QuitKind};
use crate::tui::state::app::{BELL_MS, Dirty, Screens, State, Toast};
use crate::tui::state::modal::{Modal, TextPurpose};
use crate::tui::state::rule_coach::SHOWN_MS;
use crate::tui::state::screen::Screen;
use crate::tui::state::session_view::SessionView;
use crate::tui::state::{
    assigning, attached_files_screen, attaching, audit_screen, batching, datasets_screen, decide,
    deciding, fleet_screen, going, hosts, input, lists, log_screen, memory, models, mouse, opening,
    panels, replaying, rule_editing, shell_screen, stats_screen, summary, taking_over, text_keys,
    why,
};

/// Folds a message into the state. Each effect is for the daemon that it stands beside.
pub fn update(state: &mut State, message: Message, now: Now) -> Vec<(HostId, Effect)> {
    state.model.now = now;
    replaying::advance(state);
    let to = match &message {
        Message::Daemon(host, _) => *host,
        _ => state.model.hosts.focused(),
    };
    let received = receive(state, message);
    let mut effects: Vec<(HostId, Effect)> = hosts::addressed(to, received).collect();
    effects.extend(hosts::follow(state));
    effects.extend(fleet_screen::ask(state));
    let asked = ask(state);
    effects.extend(hosts::addressed(state.model.hosts.focused(), asked));
    if model::settle(&mut state.model) {
        state.touch(Dirty::Soon);
    }
    state.settle_flash();
    effects
}

/// What the screen that is shown has to ask its host.
fn ask(state: &mut State) -> Vec<Effect> {
    log_screen::poll(state);
    stats_screen::poll(state);
    let mut effects = panels::refresh(state);
    effects.extend(replaying::ask(state));
    effects.extend(attached_files_screen::ask(state));
    let shown = state.model.selected().and_then(ItemKey::approval);
    let shown = shown.filter(|_| state.screen == Screen::Queue);
    let can_ask = state.is_live() && state.replay.is_none();
    let card = loading::ask(state.model.world_mut(), shown, can_ask);
    effects.extend(card.map(Effect::ask));
    if state.screen == Screen::Session && can_ask {
        let asked = state.screens.session.asks();
        effects.extend(asked.into_iter().map(Effect::Query));
    }
    effects
}

fn receive(state: &mut State, message: Message) -> Vec<Effect> {
    let now = state.model.now;
    match message {
        Message::Key(event) => input::key(state, &event),
        Message::Paste(text) => input::paste(state, &text),
        Message::FocusGained => {
            state.focused = true;
            state.bell_pending = false;
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
        Message::Edited(result) => {
            text_keys::edited(state, result);
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
                Ok(text) => state.toast(Tone::Info, text),
                Err(text) => state.toast(Tone::Error, text),
            }
            Vec::new()
        }
        Message::FileRead(session, file) => {
            attaching::read(state, session, file);
            Vec::new()
        }
        Message::DatasetUploaded(result) => {
            datasets_screen::uploaded(state, result);
            Vec::new()
        }
        Message::Mouse(done) => mouse::happened(state, done),
        Message::Daemon(host, message) => daemon(state, host, message),
    }
}

fn tick(state: &mut State) -> Vec<Effect> {
    let steady = state.model.now.steady;
    if state
        .toast
        .as_ref()
        .is_some_and(|toast| toast.until <= steady)
    {
        state.toast = None;
    }
    if state
        .pending
        .as_ref()
        .is_some_and(|p| steady.since(p.since) >= crate::tui::state::app::SEQUENCE_MS)
    {
        // What the next key would have done it does no more.
        if state.pending.take().is_some_and(|keys| keys.emergency) {
            state.toast = None;
        }
    }
    let woken = refresh_lists(state);
    state.touch(Dirty::Soon);
    // What was put off needs somebody again.
    state.bell_pending |= woken > 0 && !state.focused;
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
    state.hit_regions = report.hit_regions;
    state.model.queue.card_drawn = report.card.as_ref().map(|card| (card.first, card.end));
    state.arming.drawn(report.card, state.model.now.steady);
    match report.dialog {
        Some(report) => deciding::drawn(state, report),
        // Under a text or a list of keys it is not being looked at.
        None => deciding::unsure(state),
    }
    // The frame that completes the reading still shows what was true before it.
    if armed(state) != before {
        state.touch(Dirty::Now);
    }
    state.model.queue.card_scroll = state.model.queue.card_scroll.min(report.card_max_scroll);
    if let Some(replay) = &mut state.replay {
        replay.files_scroll = replay.files_scroll.min(report.files_max_scroll);
    }
    if let Some(most) = report.panel_max_scroll {
        let scroll = match (state.modals.last_mut(), state.screen) {
            (Some(Modal::Why(pager)), _) => Some(&mut pager.scroll),
            (Some(Modal::Summary(pager)), _) => Some(&mut pager.scroll),
            _ => None,
        };
        if let Some(scroll) = scroll {
            *scroll = (*scroll).min(most);
        } else if let Some(list) = lists::of(state, state.screen) {
            list.scrolls_at_most(most);
            if state.screen == Screen::Servers {
                state.screens.servers.shown(most);
            }
        }
    }
    if let Some(session) = report.session {
        state.screens.session.report = Some(session);
        if state.screens.session.anchor.is_some() {
            state.screens.session.anchor = Some(session.anchor);
        }
        state.screens.session.reveal_selected = false;
    }
}

/// The connection to a daemon is gone.
fn lost(state: &mut State, host: HostId, link: impl FnOnce(Timestamp) -> Link) {
    model::lose(&mut state.model, host, link);
    if host == state.model.hosts.focused() {
        disconnected(state);
    }
    lists::follow(state);
    state.touch(Dirty::Soon);
}

/// Takes in what a daemon says. One without the focus opens, selects and closes nothing.
fn daemon(state: &mut State, host: HostId, message: DaemonMessage) -> Vec<Effect> {
    if state.model.hosts.get(host).is_none() {
        return Vec::new();
    }
    let focused = host == state.model.hosts.focused();
    match message {
        DaemonMessage::Snapshot(snapshot) => take_snapshot(state, host, *snapshot),
        DaemonMessage::Event(event) => take_event(state, host, &event),
        DaemonMessage::Disconnected { why } => {
            lost(state, host, |since| Link::Lost { why, since });
            Vec::new()
        }
        DaemonMessage::Refused { why } => {
            lost(state, host, |since| Link::Refused { why, since });
            Vec::new()
        }
        DaemonMessage::Submitted { command, result } => submitted(state, host, &command, &result),
        DaemonMessage::Answered { query, result } => {
            if fleet_screen::answered(state, host, &query, &result) {
                return Vec::new();
            }
            if !focused {
                model::take_answer(&mut state.model, host, &query, result);
                refresh_lists(state);
                state.touch(Dirty::Soon);
                return Vec::new();
            }
            let borrowed = result
                .as_ref()
                .map(|answer| &**answer)
                .map_err(|problem| &**problem);
            attached_files_screen::answered(state, &query, borrowed);
            shell_screen::answered(state, &query, borrowed);
            let (taken, effects) = replaying::answered(state, &query, borrowed);
            if !taken {
                answered(state, host, &query, result);
            }
            effects
        }
        DaemonMessage::Scopes(scopes) => {
            if let Some(host) = state.model.hosts.get_mut(host) {
                host.scopes = scopes;
            }
            Vec::new()
        }
    }
}

/// The screens of a daemon, with or without the focus.
fn screens(state: &mut State, host: HostId) -> &mut Screens {
    if host == state.model.hosts.focused() {
        &mut state.screens
    } else {
        state.left_screens.entry(host).or_default()
    }
}

fn take_snapshot(state: &mut State, host: HostId, snapshot: Snapshot) -> Vec<Effect> {
    let first = model::take_snapshot(&mut state.model, host, snapshot);
    screens(state, host).session.stale = true;
    let mut effects = Vec::new();
    if host == state.model.hosts.focused() {
        if first {
            lists::opens(state, Screen::Live);
            lists::opens(state, Screen::Channels);
        }
        state.screens.in_flight.lost();
        if let Some(source) = state.wanted_replay.take() {
            effects = replaying::begin(state, source, true);
        }
    }
    refresh_lists(state);
    state.touch(Dirty::Soon);
    effects
}

fn take_event(state: &mut State, host: HostId, event: &Event) -> Vec<Effect> {
    let focused = host == state.model.hosts.focused();
    let shown = &screens(state, host).session;
    let shown_session = shown.session_id.is_some() && event.session_id == shown.session_id;
    let sessions = [shown.session_id, screens(state, host).live.selected];
    let sessions: Vec<SessionId> = sessions.into_iter().flatten().collect();
    let change = model::take_event(&mut state.model, host, event, &sessions);
    state.take_notices();
    if focused {
        panels::happened(state, event);
        state.screens.doctor.note(event);
        taking_over::happened(state, event);
    }
    if event.seq.is_some() && shown_session {
        screens(state, host).session.stale = true;
    }
    let mut effects: Vec<Effect> = change.queries.into_iter().map(Effect::Query).collect();
    if focused {
        effects.extend(shell_screen::happened(state, event));
        let asks = state.rule_coach.happened(event);
        effects.extend(asks.map(Effect::ask));
    }
    if change.shows {
        refresh_lists(state);
        state.touch(Dirty::Soon);
    } else if focused && shown_session && state.screen == Screen::Session {
        state.touch(Dirty::Soon);
    }
    if change.needs {
        // It waits for no frame that something else was drawn for.
        state.touch(Dirty::Now);
        state.bell_pending |= !state.focused;
        effects.extend(ring(state));
    }
    effects
}

/// Rings for what came while nobody looked: at once, then every some seconds at most, for all of it together.
pub(super) fn ring(state: &mut State) -> Vec<Effect> {
    let recently = state
        .last_bell
        .is_some_and(|at| state.model.now.steady.since(at) < BELL_MS);
    if !state.bell_pending || recently {
        return Vec::new();
    }
    state.bell_pending = false;
    let worlds = state.model.hosts.worlds();
    let waiting = worlds.map(|world| world.pending().count()).sum();
    if waiting == 0 {
        return Vec::new();
    }
    state.last_bell = Some(state.model.now.steady);
    vec![Effect::Bell, Effect::Notify(waiting)]
}

/// Brings lists in line with the world; returns how many queue items are new.
pub fn refresh_lists(state: &mut State) -> usize {
    let added = state.model.refresh_queue();
    if let Some(high) = &state.high
        && queue::subject(&state.model.hosts, &high.subject.key).as_ref() != Some(&high.subject)
    {
        state.high = None;
    }
    batching::follow(state);
    lists::follow(state);
    added
}

fn disconnected(state: &mut State) {
    state.high = None;
    // What was shown may not be true any more: the card must be looked at again.
    state.arming.drawn(None, state.model.now.steady);
    state.arming.forget();
    deciding::lost(state);
    transcript(state).lost();
}

fn submitted(
    state: &mut State,
    host: HostId,
    command: &Command,
    result: &Result<Box<Outcome>, Box<Problem>>,
) -> Vec<Effect> {
    memory::submitted(&mut screens(state, host).memory, command, result);
    let mut effects = Vec::new();
    if host == state.model.hosts.focused() {
        let toast = state.toast.take();
        effects = submitted_here(state, host, command, result);
        if state.toast.is_none() {
            state.toast = toast;
        }
    } else {
        model::take_outcome(&mut state.model, host, command, result, Sending::Alone);
        state.take_notices();
    }
    if let Command::EmergencyStop(_) = command
        && state.model.hosts.several()
    {
        let result = result.as_ref().map(|_| ());
        hosts::report_stop(state, host, result.map_err(ToString::to_string));
    }
    effects
}

/// The same of the daemon that has the focus: dialogs and screens follow.
fn submitted_here(
    state: &mut State,
    host: HostId,
    command: &Command,
    result: &Result<Box<Outcome>, Box<Problem>>,
) -> Vec<Effect> {
    deciding::submitted(state, command, result);
    // A table says for itself what came of each, and of all.
    let sending = match (batching::sent(state, command), batching::some_done(state)) {
        (false, _) => Sending::Alone,
        (true, false) => Sending::FirstOfSeveral,
        (true, true) => Sending::OneOfSeveral,
    };
    let mut effects = batching::submitted(state, command, result);
    models::submitted(state, command, result);
    effects.extend(shell_screen::submitted(state, command, result));
    model::take_outcome(&mut state.model, host, command, result, sending);
    state.take_notices();
    taking_over::checked(state, command, result);
    let Ok(outcome) = result else {
        return effects;
    };
    taking_over::submitted(state, command, outcome);
    // What was done may show on the screen; not everything that is done is told by an event.
    state.screens.in_flight.later();
    if let Outcome::StartSession(session) = &**outcome {
        let id = session.id;
        let from = state.new_session_from.take();
        refresh_lists(state);
        // Who went on meanwhile keeps the screen and the keyboard.
        if from == Some(state.screen) && state.modals.is_empty() && state.replay.is_none() {
            effects.extend(going::open_session(state, id));
            effects.extend(opening::open_text(state, TextPurpose::Compose(id)));
        }
    }
    effects
}

/// The transcript that is followed; a replay only hides it.
fn transcript(state: &mut State) -> &mut SessionView {
    match &mut state.replay {
        Some(replay) => &mut replay.behind,
        None => &mut state.screens.session,
    }
}

/// Says what the rule coach found, where no notice stands that somebody has to read. False = it did not ask this.
fn coached(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) -> bool {
    let Query::SuggestRules(SuggestRules {
        channel: Some(channel),
        ..
    }) = query
    else {
        return false;
    };
    let found = match result {
        Ok(Answer::SuggestRules(found)) => Some(found),
        Ok(_) | Err(_) => None,
    };
    let line = state.rule_coach.line(channel, found);
    let toast = state.toast.as_ref();
    let is_free = toast.is_none_or(|toast| toast.tone == Tone::Info);
    if let Some(line) = line.filter(|_| is_free) {
        state.toast(Tone::Info, line);
        let until = state.model.now.steady.plus(SHOWN_MS);
        state.toast = state.toast.take().map(|toast| Toast { until, ..toast });
    }
    true
}

fn answered(
    state: &mut State,
    host: HostId,
    query: &Query,
    result: Result<Box<Answer>, Box<Problem>>,
) {
    state.touch(Dirty::Soon);
    let borrowed = result
        .as_ref()
        .map(|answer| &**answer)
        .map_err(|problem| &**problem);
    if coached(state, query, borrowed)
        || panels::answered(state, query, borrowed)
        || rule_editing::answered(state, query, borrowed)
    {
        return;
    }
    let Some(result) = model::take_answer(&mut state.model, host, query, result) else {
        refresh_lists(state);
        return;
    };
    let answer = match result {
        Ok(answer) => *answer,
        Err(problem) => {
            match query {
                Query::GetTranscript(GetTranscript { session_id, .. })
                | Query::GetTranscriptFrom(GetTranscriptFrom { session_id, .. })
                    if transcript(state).session_id == Some(*session_id) =>
                {
                    transcript(state).failed(query);
                    state.toast(Tone::Error, problem_text(&problem));
                }
                Query::GetWhatIf(GetWhatIf { patch, channel, .. }) => {
                    if let Some(Modal::AutonomySelector(selector)) = state.modals.last_mut()
                        && selector.channel == *channel
                        && let Some(autonomy) = patch.autonomy
                    {
                        selector
                            .answers
                            .insert(autonomy, Err(problem_text(&problem)));
                    }
                    if let Some(Modal::Tools(lists)) = state.modals.last_mut()
                        && lists.channel == *channel
                    {
                        let why = Err(problem_text(&problem));
                        lists.answers.push((patch.clone(), why));
                    }
                }
                Query::ListModels(_) => models::listed(state, Err(problem_text(&problem))),
                Query::ExplainCall(ExplainCall { tool_call_id }) => {
                    why::answered(state, *tool_call_id, Err(problem_text(&problem)));
                }
                Query::GetShiftSummary(_) => summary::answered(state, Err(problem_text(&problem))),
                Query::VerifyAudit(_) => audit_screen::verified(state, Err(problem_text(&problem))),
                _ => tracing::debug!(%problem, "a background query failed"),
            }
            return;
        }
    };
    match answer {
        Answer::GetTranscript(page) | Answer::GetTranscriptFrom(page) => {
            if let Query::GetTranscript(GetTranscript { session_id, .. })
            | Query::GetTranscriptFrom(GetTranscriptFrom { session_id, .. }) = query
                && transcript(state).session_id == Some(*session_id)
            {
                transcript(state).take(query, page.items);
                if let Some(missed) = transcript(state).missed.take() {
                    state.toast(Tone::Info, missed);
                }
            }
        }
        Answer::GetShiftSummary(summary) => summary::answered(state, Ok(&summary)),
        Answer::GetWhatIf(what_if) => {
            if let Some(Modal::AutonomySelector(selector)) = state.modals.last_mut()
                && selector.channel == what_if.channel
            {
                selector.answers.insert(what_if.autonomy, Ok(what_if));
            } else if let Some(Modal::Tools(lists)) = state.modals.last_mut()
                && let Query::GetWhatIf(GetWhatIf { patch, channel, .. }) = query
                && lists.channel == *channel
            {
                lists.answers.push((patch.clone(), Ok(what_if)));
            }
        }
        Answer::GetOnCall(on_call_status) => assigning::learned(state, on_call_status),
        Answer::ListModels(page) => models::listed(state, Ok(page.items)),
        Answer::ExplainCall(found) => why::answered(state, found.call.id, Ok(found)),
        Answer::VerifyAudit(report) => audit_screen::verified(state, Ok(report)),
        // Whatever else comes back belongs to nobody any more.
        _ => {}
    }
}
