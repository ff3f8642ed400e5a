//! What actions do on screens.

use crate::protocol::command::Command;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::words::{ChannelKind, ContinuationState};
use crate::tui::action::{Action, ActionClass};
use crate::tui::message::Effect;
use crate::tui::options::Access;
use crate::tui::state::app::{Screen, State, Tone};
use crate::tui::state::modal::{Confirm, HelpScope, Modal, TextPurpose};
use crate::tui::state::queue::{self, ItemKey, Step};
use crate::tui::state::session_view::SessionView;
use crate::tui::state::{available, continuations, dialogs, models, panel, submit, why};

/// Carries out an action that is not a decision.
pub fn perform(state: &mut State, action: Action) -> Vec<Effect> {
    if let Some(panel) = panel::of(state.screen)
        && let Some(effects) = (panel.perform)(state, action)
    {
        return effects;
    }
    match action {
        Action::ScreenQueue => go(state, Screen::Queue),
        Action::ScreenLive => go(state, Screen::Live),
        Action::ScreenSession => go(state, Screen::Session),
        Action::ScreenChannels => go(state, Screen::Channels),
        Action::ScreenContinuations => go(state, Screen::Continuations),
        Action::ScreenRules => go(state, Screen::Rules),
        Action::ScreenCacheCost => go(state, Screen::CacheCost),
        Action::ScreenMemory => go(state, Screen::Memory),
        Action::ScreenAudit => go(state, Screen::Audit),
        Action::ScreenDoctor => go(state, Screen::Doctor),
        Action::LastScreen => go(state, state.last_screen),
        Action::MoveDown => moved(state, Step::Down),
        Action::MoveUp => moved(state, Step::Up),
        Action::MoveTop => moved(state, Step::Top),
        Action::MoveBottom => moved(state, Step::Bottom),
        Action::PageDown => page(state, 1),
        Action::PageUp => page(state, -1),
        Action::Open => open(state),
        Action::Back => {
            back(state);
            Vec::new()
        }
        Action::NextPane => {
            if state.queue.selected.is_some() {
                state.queue.zoomed = !state.queue.zoomed;
            }
            Vec::new()
        }
        Action::ResumeContinuation => confirm_continuation(state, Verb::Resume),
        Action::RetryContinuation => confirm_continuation(state, Verb::Retry),
        Action::KillContinuation => confirm_continuation(state, Verb::Kill),
        Action::Autonomy => match focused_channel(state) {
            Some(channel) => dialogs::open_dial(state, &channel),
            None => nothing(state, action),
        },
        Action::Models => match focused_session(state) {
            Some(id) => models::open(state, id),
            None => nothing(state, action),
        },
        Action::PauseChannel => pause_channel(state),
        Action::PauseSession => pause_session(state),
        Action::NewSession => submit::submit(
            state,
            Command::StartSession {
                channel: Some("desk".to_owned()),
                conversation: None,
                title: None,
                model: None,
            },
        ),
        Action::Compose => match focused_session(state) {
            Some(id) => dialogs::open_text(state, TextPurpose::Compose(id)),
            None => nothing(state, action),
        },
        Action::Fold => {
            if let Some(position) = state.session.selected
                && !state.session.toggled.remove(&position)
            {
                state.session.toggled.insert(position);
            }
            Vec::new()
        }
        Action::FoldAll => {
            state.session.unfold_all = !state.session.unfold_all;
            state.session.toggled.clear();
            Vec::new()
        }
        Action::Follow => {
            state.session.follow();
            Vec::new()
        }
        Action::Freeze => {
            state.session.stop_following();
            Vec::new()
        }
        Action::Search => dialogs::open_text(state, TextPurpose::Search),
        Action::SearchNext => search(state, true),
        Action::SearchPrevious => search(state, false),
        Action::CopyId => copy(state, Copied::Id),
        Action::CopyAll => copy(state, Copied::All),
        Action::Help => {
            dialogs::open_help(state, HelpScope::Screen);
            Vec::new()
        }
        Action::Palette => {
            dialogs::open_help(state, HelpScope::All);
            Vec::new()
        }
        Action::CommandLine => dialogs::open_text(state, TextPurpose::CommandLine),
        Action::EmergencyStop => submit::emergency_stop(state),
        Action::ReleaseStop => {
            dialogs::open_release(state);
            Vec::new()
        }
        Action::Lock => {
            if state.access == Access::ReadOnly {
                state.flash(Tone::Warning, "this console was started with --read-only");
            } else {
                state.locked = !state.locked;
                state.flash(
                    Tone::Info,
                    if state.locked {
                        "locked: nothing is sent until L"
                    } else {
                        "unlocked"
                    },
                );
            }
            Vec::new()
        }
        Action::Refresh => {
            state.asking.now();
            state.session.stale = true;
            if state.is_live() {
                Vec::new()
            } else {
                vec![Effect::Reconnect]
            }
        }
        Action::Redraw => vec![Effect::Redraw],
        Action::Suspend => vec![Effect::Suspend],
        Action::Quit => {
            if !back(state) {
                dialogs::open_quit(state);
            }
            Vec::new()
        }
        Action::Why => why::open(state),
        Action::GroupCosts
        | Action::Numbers
        | Action::PinAnswer
        | Action::PurgeAnswer
        | Action::PurgeAnswers
        | Action::FullCheck
        | Action::ResetHook
        | Action::Filter
        | Action::OpenQuestion
        | Action::VerifyAudit
        | Action::MemoryAdd
        | Action::MemoryEdit
        | Action::MemoryPin
        | Action::MemoryAccept
        | Action::MemoryForget
        | Action::MemorySupersede
        | Action::MemoryMark
        | Action::MemorySummary
        | Action::MemoryHygiene
        | Action::MemoryRoutines
        | Action::MemoryRun
        | Action::MemoryUndo
        | Action::MemoryToggle
        | Action::RuleAdd
        | Action::RuleEdit
        | Action::RuleToggle
        | Action::RuleRemove
        | Action::RuleTest => {
            state.flash(
                Tone::Warning,
                format!("{}: not on this screen", action.short()),
            );
            Vec::new()
        }
        Action::Approve
        | Action::Deny
        | Action::DenyWithReason
        | Action::EditArguments
        | Action::AnswerInstead
        | Action::DenyAndStop
        | Action::Snooze
        | Action::SettleHappened
        | Action::SettleAgain
        | Action::SettleGiveUp
        | Action::DialogNext
        | Action::DialogPrevious
        | Action::DialogAccept
        | Action::DialogCancel
        | Action::DialogDiscover
        | Action::DialogPageDown
        | Action::DialogPageUp
        | Action::TextEnter
        | Action::TextSubmit
        | Action::TextCancel
        | Action::TextLeft
        | Action::TextRight
        | Action::TextUp
        | Action::TextDown
        | Action::TextWordLeft
        | Action::TextWordRight
        | Action::TextHome
        | Action::TextEnd
        | Action::TextDeleteBack
        | Action::TextDeleteForward
        | Action::TextDeleteWord
        | Action::TextKillToEnd
        | Action::TextKillToStart
        | Action::TextComplete
        | Action::TextEditor => Vec::new(),
    }
}

/// Carries out an action chosen in help or the palette. Decisions are made with their key, on the card.
pub fn from_palette(state: &mut State, action: Action) -> Vec<Effect> {
    match action.class() {
        ActionClass::Ordinary => match available::why_not(state, action) {
            Some(why) => {
                state.flash(Tone::Warning, format!("{}: {why}", action.short()));
                Vec::new()
            }
            None => perform(state, action),
        },
        ActionClass::Decision => {
            state.flash(
                Tone::Warning,
                format!(
                    "{}: decisions are made with their key, on the card",
                    action.short()
                ),
            );
            Vec::new()
        }
        ActionClass::Dialog | ActionClass::Text => Vec::new(),
    }
}

fn nothing(state: &mut State, action: Action) -> Vec<Effect> {
    state.flash(
        Tone::Warning,
        format!("{}: nothing is selected", action.short()),
    );
    Vec::new()
}

/// Goes to a screen. Nothing is selected when a screen opens.
pub fn go(state: &mut State, screen: Screen) -> Vec<Effect> {
    if state.screen == screen {
        return Vec::new();
    }
    let left = state.screen;
    state.last_screen = left;
    state.screen = screen;
    state.high = None;
    state.arming.drawn(None, state.now.steady);
    state.memory.unselect();
    match screen {
        Screen::Queue => state.queue.open(&state.world, state.now.wall),
        Screen::Live | Screen::Channels => open_lists(state),
        Screen::Session => {}
        Screen::Continuations => {
            state.continuations.opens();
            state.asking.now();
        }
        Screen::Audit => {
            state.audit.opens();
            state.asking.now();
        }
        Screen::CacheCost => {
            state.cache_cost.opens();
            state.asking.now();
        }
        Screen::Doctor => {
            state.doctor.opens();
            state.asking.now();
        }
        Screen::Rules => {
            state.rules.opens();
            state.asking.now();
        }
        Screen::Memory => state.asking.now(),
    }
    match (left, screen) {
        (_, Screen::Session) => {
            state.session.stale = true;
            vec![Effect::SetDeltas(
                state.session.session_id.into_iter().collect(),
            )]
        }
        (Screen::Session, _) => vec![Effect::SetDeltas(Vec::new())],
        _ => Vec::new(),
    }
}

/// Lists in their opening order, nothing selected.
pub fn open_lists(state: &mut State) {
    state.live.order = state
        .world
        .sessions_by_change()
        .iter()
        .map(|s| s.id)
        .collect();
    state.live.selected = None;
    state.channels.order = state.world.channels.keys().cloned().collect();
    state.channels.selected = None;
}

/// Opens a session's transcript.
pub fn open_session(state: &mut State, id: SessionId) -> Vec<Effect> {
    if state.session.session_id != Some(id) {
        state.session = SessionView::open(id);
    }
    if state.screen == Screen::Session {
        return vec![Effect::SetDeltas(vec![id])];
    }
    go(state, Screen::Session)
}

fn moved(state: &mut State, step: Step) -> Vec<Effect> {
    match state.screen {
        Screen::Queue => {
            if state.queue.zoomed {
                match step {
                    Step::Down => {
                        state.queue.card_scroll = state.queue.card_scroll.saturating_add(1);
                    }
                    Step::Up => state.queue.card_scroll = state.queue.card_scroll.saturating_sub(1),
                    Step::Top => state.queue.card_scroll = 0,
                    Step::Bottom => state.queue.card_scroll = usize::MAX / 2,
                }
            } else {
                let before = state.queue.selected.clone();
                state.queue.select(step, state.now.steady);
                if before != state.queue.selected {
                    state.high = None;
                }
            }
        }
        Screen::Live => state.live.select(step),
        Screen::Channels => state.channels.select(step),
        screen @ (Screen::Continuations
        | Screen::Rules
        | Screen::CacheCost
        | Screen::Memory
        | Screen::Audit
        | Screen::Doctor) => {
            if let Some(panel) = panel::of(screen) {
                (panel.moved)(state, step);
            }
        }
        Screen::Session => {
            let report = state.session.report;
            let inside = match step {
                Step::Down => report.is_some_and(|r| r.selected_below),
                Step::Up => report.is_some_and(|r| r.selected_above),
                Step::Top | Step::Bottom => false,
            };
            match step {
                Step::Bottom => state.session.follow(),
                // A long entry is read line by line before the next one is selected.
                Step::Down if inside && state.session.selected.is_some() => state.session.scroll(1),
                Step::Up if inside && state.session.selected.is_some() => state.session.scroll(-1),
                Step::Down | Step::Up | Step::Top => state.session.select(step),
            }
            if step == Step::Top {
                return state
                    .session
                    .older()
                    .map(Effect::Query)
                    .into_iter()
                    .collect();
            }
        }
    }
    Vec::new()
}

fn page(state: &mut State, direction: i64) -> Vec<Effect> {
    let half = i64::from((state.size.1 / 2).max(2)) - 1;
    match state.screen {
        Screen::Queue => {
            let by = usize::try_from(half / 2).unwrap_or(1).max(3);
            if state.queue.selected.is_some() {
                state.queue.card_scroll = if direction > 0 {
                    state.queue.card_scroll.saturating_add(by)
                } else {
                    state.queue.card_scroll.saturating_sub(by)
                };
            }
        }
        Screen::Session => state.session.scroll(direction * half),
        screen @ (Screen::Continuations
        | Screen::Rules
        | Screen::CacheCost
        | Screen::Memory
        | Screen::Audit
        | Screen::Doctor) => {
            if let Some(panel) = panel::of(screen) {
                (panel.page)(state, direction * half);
            }
        }
        Screen::Live | Screen::Channels => {
            for _ in 0..half {
                moved(state, if direction > 0 { Step::Down } else { Step::Up });
            }
        }
    }
    Vec::new()
}

fn open(state: &mut State) -> Vec<Effect> {
    match state.screen {
        Screen::Queue => match state.queue.selected.clone() {
            None => nothing(state, Action::Open),
            Some(_) if !state.queue.zoomed => {
                state.queue.zoomed = true;
                Vec::new()
            }
            Some(_) => match focused_session(state) {
                Some(id) => open_session(state, id),
                None => Vec::new(),
            },
        },
        Screen::Live => match state.live.selected {
            Some(id) => open_session(state, id),
            None => nothing(state, Action::Open),
        },
        Screen::Channels => match state.channels.selected.clone() {
            Some(channel) => dialogs::open_dial(state, &channel),
            None => nothing(state, Action::Open),
        },
        Screen::Session => perform(state, Action::Fold),
        screen @ (Screen::Continuations
        | Screen::Rules
        | Screen::CacheCost
        | Screen::Memory
        | Screen::Audit
        | Screen::Doctor) => panel::of(screen).map_or_else(Vec::new, |panel| (panel.open)(state)),
    }
}

/// Closes what was opened last; false when nothing was left to close.
fn back(state: &mut State) -> bool {
    if state.high.take().is_some() {
        return true;
    }
    match state.screen {
        Screen::Queue if state.queue.zoomed => state.queue.zoomed = false,
        Screen::Queue if state.queue.selected.is_some() => state.queue.selected = None,
        Screen::Session if state.session.search.is_some() => state.session.search = None,
        Screen::Session if state.session.selected.is_some() => state.session.selected = None,
        Screen::Live if state.live.selected.is_some() => state.live.selected = None,
        Screen::Channels if state.channels.selected.is_some() => state.channels.selected = None,
        Screen::Queue | Screen::Session | Screen::Live | Screen::Channels => return false,
        screen @ (Screen::Continuations
        | Screen::Rules
        | Screen::CacheCost
        | Screen::Memory
        | Screen::Audit
        | Screen::Doctor) => return panel::of(screen).is_some_and(|panel| (panel.back)(state)),
    }
    true
}

fn search(state: &mut State, forward: bool) -> Vec<Effect> {
    if state.session.search.is_none() {
        state.flash(Tone::Warning, "no search: / starts one");
        return Vec::new();
    }
    if state.session.next_match(forward) {
        return Vec::new();
    }
    if !forward && !state.session.at_start {
        state.flash(Tone::Info, "loading older entries; press again");
        return state
            .session
            .older()
            .map(Effect::Query)
            .into_iter()
            .collect();
    }
    state.flash(
        Tone::Info,
        if forward {
            "no further match below"
        } else {
            "no further match above"
        },
    );
    Vec::new()
}

/// The session of what has the focus.
pub fn focused_session(state: &State) -> Option<SessionId> {
    match state.screen {
        Screen::Queue => match state.queue.selected.as_ref()? {
            ItemKey::Approval(id) => state.world.approvals.get(id)?.session_id,
            ItemKey::Continuation(id) => state.world.continuations.get(id).map(|c| c.session_id),
            ItemKey::Delivery(id) => {
                let continuation = state.world.deliveries.get(id)?.continuation_id?;
                state
                    .world
                    .continuations
                    .get(&continuation)
                    .map(|c| c.session_id)
            }
            ItemKey::Channel(_) | ItemKey::Problem(_) => None,
        },
        Screen::Live => state.live.selected,
        Screen::Session => state.session.session_id,
        Screen::Channels => None,
        screen @ (Screen::Continuations
        | Screen::Rules
        | Screen::CacheCost
        | Screen::Memory
        | Screen::Audit
        | Screen::Doctor) => panel::of(screen).and_then(|panel| (panel.session)(state)),
    }
}

/// The channel of what has the focus.
pub fn focused_channel(state: &State) -> Option<String> {
    match state.screen {
        Screen::Channels => state.channels.selected.clone(),
        Screen::Queue => match state.queue.selected.as_ref()? {
            ItemKey::Approval(id) => state.world.approvals.get(id).map(|a| a.channel.clone()),
            ItemKey::Continuation(id) => {
                state.world.continuations.get(id).map(|c| c.channel.clone())
            }
            ItemKey::Delivery(id) => state.world.deliveries.get(id).map(|d| d.channel.clone()),
            ItemKey::Channel(name) => Some(name.clone()),
            ItemKey::Problem(_) => None,
        },
        Screen::Live | Screen::Session => focused_session(state)
            .and_then(|id| state.world.sessions.get(&id))
            .map(|s| s.channel.clone()),
        screen @ (Screen::Continuations
        | Screen::Rules
        | Screen::CacheCost
        | Screen::Memory
        | Screen::Audit
        | Screen::Doctor) => panel::of(screen).and_then(|panel| (panel.channel)(state)),
    }
}

/// The continuation of what has the focus, with its state.
pub fn focused_continuation(state: &State) -> Option<(ContinuationId, ContinuationState)> {
    if state.screen == Screen::Queue
        && let Some(key) = &state.queue.selected
    {
        let id = match key {
            ItemKey::Continuation(id) => Some(*id),
            ItemKey::Approval(id) => state.world.approvals.get(id)?.continuation_id,
            ItemKey::Delivery(id) => state.world.deliveries.get(id)?.continuation_id,
            ItemKey::Channel(_) | ItemKey::Problem(_) => None,
        }?;
        let known = state.world.continuations.get(&id).map(|c| c.state);
        return Some((id, known.unwrap_or(ContinuationState::AwaitingApproval)));
    }
    if let Some(panel) = panel::of(state.screen) {
        let id = (panel.continuation)(state)?;
        let known = state.world.continuations.get(&id).map(|turn| turn.state);
        return Some((id, known.or_else(|| continuations::state_of(state, id))?));
    }
    let session = state.world.sessions.get(&focused_session(state)?)?;
    if let Some(open) = &session.open_continuation {
        return Some((open.id, open.state));
    }
    let newest = state
        .session
        .entries
        .values()
        .next_back()
        .filter(|_| state.screen == Screen::Session)?;
    Some((newest.entry.continuation_id, ContinuationState::Completed))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Resume,
    Retry,
    Kill,
}

fn confirm_continuation(state: &mut State, verb: Verb) -> Vec<Effect> {
    let Some((continuation_id, at)) = focused_continuation(state) else {
        state.flash(Tone::Warning, "no turn is selected");
        return Vec::new();
    };
    let fits = match verb {
        Verb::Resume => at == ContinuationState::Interrupted,
        Verb::Retry => at.is_terminal(),
        Verb::Kill => !at.is_terminal(),
    };
    if !fits {
        let why = match verb {
            Verb::Resume => "only an interrupted turn can be resumed",
            Verb::Retry => "only an ended turn can be started again",
            Verb::Kill => "this turn has ended already",
        };
        state.flash(Tone::Warning, format!("{why} (this one is {at})"));
        return Vec::new();
    }
    let (title, line, label, command) = match verb {
        Verb::Resume => (
            "Resume this turn?",
            "It goes on from its last durable step.",
            "Resume",
            Command::ResumeContinuation { continuation_id },
        ),
        Verb::Retry => (
            "Start this message again?",
            "A new turn with the same message; tools may run again.",
            "Start again",
            Command::RetryContinuation { continuation_id },
        ),
        Verb::Kill => (
            "Kill this turn?",
            "Its tools are killed, its approvals closed, no answer is sent.",
            "Kill",
            Command::CancelContinuation {
                continuation_id,
                reason: None,
            },
        ),
    };
    state.modals.push(Modal::Confirm(Confirm {
        title: title.to_owned(),
        lines: vec![line.to_owned(), format!("{continuation_id}")],
        label,
        command,
        bound: None,
        chosen: 0,
    }));
    Vec::new()
}

fn pause_session(state: &mut State) -> Vec<Effect> {
    let Some(session) = focused_session(state).and_then(|id| state.world.sessions.get(&id)) else {
        return nothing(state, Action::PauseSession);
    };
    let command = Command::UpdateSession {
        session_id: session.id,
        title: None,
        model: None,
        paused: Some(!session.paused),
    };
    submit::submit(state, command)
}

fn pause_channel(state: &mut State) -> Vec<Effect> {
    let Some(channel) = focused_channel(state).and_then(|name| state.world.channels.get(&name))
    else {
        return nothing(state, Action::PauseChannel);
    };
    let name = channel.name.clone();
    if channel.paused {
        return submit::submit(state, Command::ResumeChannel { channel: name });
    }
    let outside = matches!(channel.kind, ChannelKind::Telegram);
    state.modals.push(Modal::Confirm(Confirm {
        title: format!("Pause {name}?"),
        lines: vec![if outside {
            "Nothing is taken from or sent to the platform until it goes on.".to_owned()
        } else {
            "Nothing is taken in or sent until it goes on.".to_owned()
        }],
        label: "Pause",
        command: Command::PauseChannel { channel: name },
        bound: None,
        chosen: 0,
    }));
    Vec::new()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copied {
    Id,
    All,
}

fn copy(state: &mut State, what: Copied) -> Vec<Effect> {
    let text = match what {
        Copied::Id => copied_id(state),
        Copied::All => copied_all(state),
    };
    match text {
        Some(text) => {
            state.flash(
                Tone::Info,
                format!("copied {} bytes to the clipboard (OSC 52)", text.len()),
            );
            vec![Effect::Copy(text)]
        }
        None => nothing(state, Action::CopyId),
    }
}

fn copied_id(state: &State) -> Option<String> {
    match state.screen {
        Screen::Queue => state.queue.selected.as_ref().map(|key| match key {
            ItemKey::Approval(id) => id.to_string(),
            ItemKey::Continuation(id) => id.to_string(),
            ItemKey::Delivery(id) => id.to_string(),
            ItemKey::Channel(name) | ItemKey::Problem(name) => name.clone(),
        }),
        Screen::Live => state.live.selected.map(|id| id.to_string()),
        Screen::Session => match state
            .session
            .selected
            .and_then(|p| state.session.entries.get(&p))
        {
            Some(held) => Some(held.entry.continuation_id.to_string()),
            None => state.session.session_id.map(|id| id.to_string()),
        },
        Screen::Channels => state.channels.selected.clone(),
        screen @ (Screen::Continuations
        | Screen::Rules
        | Screen::CacheCost
        | Screen::Memory
        | Screen::Audit
        | Screen::Doctor) => panel::of(screen).and_then(|panel| (panel.copied)(state, false)),
    }
}

fn copied_all(state: &State) -> Option<String> {
    match state.screen {
        Screen::Queue => match state.queue.selected.as_ref()? {
            ItemKey::Approval(id) => {
                serde_json::to_string_pretty(state.world.approvals.get(id)?).ok()
            }
            ItemKey::Continuation(id) => {
                serde_json::to_string_pretty(state.world.continuations.get(id)?).ok()
            }
            ItemKey::Delivery(id) => {
                serde_json::to_string_pretty(state.world.deliveries.get(id)?).ok()
            }
            ItemKey::Channel(name) => {
                serde_json::to_string_pretty(state.world.channels.get(name)?).ok()
            }
            ItemKey::Problem(text) => Some(text.clone()),
        },
        Screen::Live => {
            serde_json::to_string_pretty(state.world.sessions.get(&state.live.selected?)?).ok()
        }
        Screen::Session => match state
            .session
            .selected
            .and_then(|p| state.session.entries.get(&p))
        {
            Some(held) => Some(crate::tui::state::session_view::search_text(&held.entry)),
            None => {
                let entries: Vec<String> = state
                    .session
                    .visible()
                    .iter()
                    .filter_map(|p| state.session.entries.get(p))
                    .map(|h| crate::tui::state::session_view::search_text(&h.entry))
                    .collect();
                (!entries.is_empty()).then(|| entries.join("\n\n"))
            }
        },
        Screen::Channels => serde_json::to_string_pretty(
            state
                .world
                .channels
                .get(state.channels.selected.as_ref()?)?,
        )
        .ok(),
        screen @ (Screen::Continuations
        | Screen::Rules
        | Screen::CacheCost
        | Screen::Memory
        | Screen::Audit
        | Screen::Doctor) => panel::of(screen).and_then(|panel| (panel.copied)(state, true)),
    }
}

/// Queue items that need a person now, and since when the oldest waits.
pub fn needs(state: &State) -> (usize, Option<crate::clock::Timestamp>) {
    let mut count = 0;
    let mut oldest = None;
    for key in &state.queue.order {
        if queue::is_open(&state.world, key) {
            count += 1;
            if let Some(since) = queue::since(&state.world, key) {
                oldest = Some(oldest.map_or(since, |o: crate::clock::Timestamp| o.min(since)));
            }
        }
    }
    (count, oldest)
}
