//! What actions do on screens.

use crate::client::export::ExportFormat;
use crate::console::access::Access;
use crate::console::item::{self, ItemKey};
use crate::console::model::Tone;
use crate::console::queue::Step;
use crate::protocol::enums::ContinuationState;
use crate::protocol::request::{
    CancelContinuation, Command, PauseChannel, ResumeChannel, ResumeContinuation,
    RetryContinuation, StartSession, UpdateSession,
};
use crate::tui::action::{Action, ActionClass};
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::copying::{self, Copied};
use crate::tui::state::going::go;
use crate::tui::state::jump_target::JumpTarget;
use crate::tui::state::modal::{HelpScope, TextPurpose};
use crate::tui::state::screen::Screen;
use crate::tui::state::{
    assigning, command_line, disabled_reason, hosts, late, lists, models, mouse, navigation,
    opening, panels, replaying, selection, shell_screen, submit, summary, taking_over, undo, why,
};

/// Carries out an action that is not a decision.
pub fn perform(state: &mut State, action: Action) -> Vec<Effect> {
    if let Some(effects) = replaying::perform(state, action) {
        return effects;
    }
    if let Some(panel) = panels::panel_of(state.screen)
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
        Action::ScreenResources => go(state, Screen::Resources),
        Action::ScreenDatasets => go(state, Screen::Datasets),
        Action::ScreenServers => go(state, Screen::Servers),
        Action::ScreenStats => go(state, Screen::Stats),
        Action::ScreenFleet => go(state, Screen::Fleet),
        Action::LastScreen => go(state, state.last_screen),
        Action::MoveDown => navigation::moved(state, Step::Down),
        Action::MoveUp => navigation::moved(state, Step::Up),
        Action::MoveTop => navigation::moved(state, Step::Top),
        Action::MoveBottom => navigation::moved(state, Step::Bottom),
        Action::PageDown => navigation::page(state, 1),
        Action::PageUp => navigation::page(state, -1),
        Action::Open => navigation::open(state),
        Action::Back => {
            navigation::back(state);
            Vec::new()
        }
        Action::NextPane if state.screen != Screen::Queue => {
            if let Some(list) = lists::of(state, state.screen) {
                list.turn_pane();
            }
            Vec::new()
        }
        Action::NextPane => {
            if state.model.queue.selected.is_some() {
                state.model.queue.zoomed = !state.model.queue.zoomed;
            }
            Vec::new()
        }
        Action::NextWaiting => navigation::next_waiting(state),
        Action::ResumeContinuation => match selection::focused_flood(state) {
            Some(_) => pause_session(state),
            None => confirm_continuation(state, Verb::Resume),
        },
        Action::RetryContinuation => confirm_continuation(state, Verb::Retry),
        Action::KillContinuation => confirm_continuation(state, Verb::Kill),
        Action::AllowLater => late::open(state),
        Action::Autonomy => match selection::focused_channel(state) {
            Some(channel) => opening::open_dial(state, &channel),
            None => state.nothing(action),
        },
        Action::ToolLists => match selection::focused_channel(state) {
            Some(channel) => opening::open_tools(state, &channel),
            None => state.nothing(action),
        },
        Action::Models => match selection::focused_session(state) {
            Some(id) => models::open(state, id),
            None => state.nothing(action),
        },
        Action::PauseChannel => pause_channel(state),
        Action::PauseSession => pause_session(state),
        Action::NewSession => {
            state.new_session_from = Some(state.screen);
            submit::submit(
                state,
                StartSession {
                    channel: Some("desk".to_owned()),
                    conversation: None,
                    title: None,
                    model: None,
                },
            )
        }
        Action::Compose => taking_over::compose(state),
        Action::TakeOver => taking_over::take_over(state),
        Action::Shell => shell_screen::open(state),
        Action::DrainChannel => taking_over::drain(state),
        Action::TestChannel => taking_over::test(state),
        Action::ShiftSummary => summary::open(state, None),
        Action::Fold => navigation::fold(state),
        Action::FoldAll => {
            state.screens.session.unfold_all = !state.screens.session.unfold_all;
            state.screens.session.toggled.clear();
            Vec::new()
        }
        Action::Follow => {
            state.screens.session.follow();
            Vec::new()
        }
        Action::Freeze => {
            state.screens.session.stop_following();
            Vec::new()
        }
        Action::Search => opening::open_text(state, TextPurpose::Search),
        Action::SearchNext => navigation::search(state, true),
        Action::SearchPrevious => navigation::search(state, false),
        Action::CopyId => copying::copy(state, Copied::Id),
        Action::CopyAll => copying::copy(state, Copied::All),
        Action::Help => help(state, HelpScope::Screen),
        Action::Palette => help(state, HelpScope::All),
        Action::CommandLine => command_line::open(state),
        Action::EmergencyStop => submit::emergency_stop(state),
        Action::ReleaseStop => opening::open_release(state),
        Action::Mouse => mouse::toggle(state),
        Action::Lock => {
            if state.model.access == Access::ReadOnly {
                state.toast(Tone::Warning, "this console was started with --read-only");
            } else {
                state.locked = !state.locked;
                state.toast(
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
            state.screens.in_flight.now();
            state.fleet.stale = true;
            state.model.world_mut().opened.again();
            state.screens.session.stale = true;
            if state.is_live() {
                Vec::new()
            } else {
                vec![Effect::Reconnect]
            }
        }
        Action::Redraw => vec![Effect::Redraw],
        Action::Suspend => vec![Effect::Suspend],
        Action::Quit => {
            if navigation::back(state) {
                Vec::new()
            } else {
                opening::open_quit(state)
            }
        }
        Action::Why => why::open(state),
        Action::Filter if lists::is_filtered(state.screen) => {
            let words = lists::filter_of(state, state.screen);
            opening::open_begun(state, TextPurpose::Filter(state.screen), &words)
        }
        Action::GroupQueue if state.screen == Screen::Queue => {
            state.model.queue.group_next(&state.model.hosts);
            let text = format!("grouped {}", state.model.queue.grouping.as_str());
            state.tell(text)
        }
        Action::Undo => undo::undo(state),
        Action::Mark if state.screen == Screen::Queue => mark(state),
        Action::OpenQuestion if state.screen == Screen::Continuations => {
            navigation::open_question(state)
        }
        Action::QueueOfChannel => navigation::queue_of_channel(state),
        Action::NextHost => hosts::next(state),
        Action::Export => export(state, ExportFormat::Markdown),
        Action::NextApproval => navigation::jump(state, JumpTarget::Approval, true),
        Action::PreviousApproval => navigation::jump(state, JumpTarget::Approval, false),
        Action::NextError => navigation::jump(state, JumpTarget::Error, true),
        Action::PreviousError => navigation::jump(state, JumpTarget::Error, false),
        Action::Replay => replaying::open(state),
        Action::Assign => assigning::open(state),
        Action::ReplayPause
        | Action::ReplayForward
        | Action::ReplayBack
        | Action::ReplayLater
        | Action::ReplayEarlier
        | Action::ReplayFilesDown
        | Action::ReplayFilesUp
        | Action::ReplayFaster
        | Action::ReplaySlower => state.warn(format!("{}: no replay runs", action.short())),
        Action::Raw if state.screen == Screen::Queue => {
            state.model.queue.card_raw = !state.model.queue.card_raw;
            Vec::new()
        }
        Action::Raw => {
            state.screens.session.raw = !state.screens.session.raw;
            Vec::new()
        }
        Action::GroupCosts
        | Action::StatsShorter
        | Action::StatsLonger
        | Action::GroupStats
        | Action::Numbers
        | Action::PinAnswer
        | Action::PurgeAnswer
        | Action::PurgeAnswers
        | Action::FullCheck
        | Action::ResetHook
        | Action::EndInterpreter
        | Action::Filter
        | Action::OpenQuestion
        | Action::VerifyAudit
        | Action::AuditPeople
        | Action::ShowLog
        | Action::LogLevel
        | Action::MemoryAdd
        | Action::MemoryEdit
        | Action::MemoryPin
        | Action::MemoryAccept
        | Action::MemoryDelete
        | Action::MemorySupersede
        | Action::MemoryMark
        | Action::MemorySummary
        | Action::MemoryHygiene
        | Action::MemoryRoutines
        | Action::MemoryRun
        | Action::MemoryUndo
        | Action::MemoryToggle
        | Action::DatasetUpload
        | Action::DatasetAsk
        | Action::DatasetDelete
        | Action::ServerTest
        | Action::ServerTrust
        | Action::ServerDistrust
        | Action::ServerStart
        | Action::ServerStop
        | Action::RuleAdd
        | Action::RuleEdit
        | Action::RuleToggle
        | Action::RuleRemove
        | Action::RuleTest
        | Action::Mark
        | Action::GroupQueue => state.warn(format!("{}: not on this screen", action.short())),
        Action::Approve
        | Action::Deny
        | Action::DenyWithReason
        | Action::EditArguments
        | Action::AnswerInstead
        | Action::DenyAndStop
        | Action::Snooze
        | Action::AllowShape
        | Action::MakeRule
        | Action::Rehearse
        | Action::SettleHappened
        | Action::SettleAgain
        | Action::SettleGiveUp
        | Action::Dismiss
        | Action::DialogNext
        | Action::DialogPrevious
        | Action::DialogAccept
        | Action::DialogCancel
        | Action::DialogFilter
        | Action::DialogDiscover
        | Action::DialogPageDown
        | Action::DialogPageUp
        | Action::DialogLonger
        | Action::DialogShorter
        | Action::DialogAgain
        | Action::DialogApprove
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

/// Opens help or the palette.
fn help(state: &mut State, scope: HelpScope) -> Vec<Effect> {
    let why = |action: &Action| Some((*action, disabled_reason::why_not(state, *action)?));
    let unavailable = Action::ALL.iter().filter_map(why).collect();
    opening::open_help(state, scope, unavailable);
    Vec::new()
}

/// Writes the session that has the focus to a file.
pub fn export(state: &mut State, format: ExportFormat) -> Vec<Effect> {
    let Some(id) = selection::focused_session(state) else {
        return state.nothing(Action::Export);
    };
    if !state.is_live() {
        return state.warn("not exported: not connected");
    }
    state.toast(Tone::Info, "exporting …");
    vec![Effect::Export(id, format)]
}

/// Carries out an action chosen in help or the palette. Decisions are made with their key, on the card.
pub fn from_palette(state: &mut State, action: Action) -> Vec<Effect> {
    match action.class() {
        ActionClass::Ordinary => match disabled_reason::why_not(state, action) {
            Some(why) => state.warn(format!("{}: {why}", action.short())),
            None => {
                state.count_use(action);
                perform(state, action)
            }
        },
        ActionClass::Decision => state.warn(format!(
            "{}: decisions are made with their key, on the card",
            action.short()
        )),
        ActionClass::Dialog | ActionClass::Text => Vec::new(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Resume,
    Retry,
    Kill,
}

fn confirm_continuation(state: &mut State, verb: Verb) -> Vec<Effect> {
    let Some((continuation_id, at)) = selection::focused_continuation(state) else {
        return state.warn("no turn is selected");
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
            Verb::Kill => "this turn has already ended",
        };
        return state.warn(format!("{why} (this one is {at})"));
    }
    let (title, line, label, command) = match verb {
        Verb::Resume => (
            "Resume this turn?",
            "It goes on from its last durable step.",
            "Resume",
            Command::ResumeContinuation(ResumeContinuation { continuation_id }),
        ),
        Verb::Retry => (
            "Start this message again?",
            "A new turn with the same message; tools may run again.",
            "Start again",
            Command::RetryContinuation(RetryContinuation { continuation_id }),
        ),
        Verb::Kill => (
            "Kill this turn?",
            "Its tools are killed, its approvals closed, no answer is sent.",
            "Kill",
            Command::CancelContinuation(CancelContinuation {
                continuation_id,
                reason: None,
            }),
        ),
    };
    let lines = vec![line.to_owned(), continuation_id.to_string()];
    opening::ask_first(state, title, lines, label, command)
}

/// Marks the selected card for a decision about several.
fn mark(state: &mut State) -> Vec<Effect> {
    match state.model.selected() {
        Some(item @ ItemKey::Approval(_)) if item::is_open(state.model.world(), item) => {
            let key = state.model.key(item.clone());
            state.model.queue.mark(key);
            Vec::new()
        }
        Some(_) => state.warn("mark: only cards that wait for a decision"),
        None => state.nothing(Action::Mark),
    }
}

fn pause_session(state: &mut State) -> Vec<Effect> {
    let Some(session) =
        selection::focused_session(state).and_then(|id| state.model.world().sessions.get(&id))
    else {
        return state.nothing(Action::PauseSession);
    };
    let command = UpdateSession {
        session_id: session.id,
        title: None,
        model: None,
        paused: Some(!session.paused),
        preferences: None,
    };
    submit::submit(state, command)
}

fn pause_channel(state: &mut State) -> Vec<Effect> {
    let Some(channel) =
        selection::focused_channel(state).and_then(|name| state.model.world().channels.get(&name))
    else {
        return state.nothing(Action::PauseChannel);
    };
    let name = channel.name.clone();
    if channel.paused {
        return submit::submit(state, ResumeChannel { channel: name });
    }
    let line = if channel.kind.is_platform() {
        "Until you resume it, nothing is received from or sent to the platform."
    } else {
        "Until you resume it, nothing is received or sent."
    };
    let title = format!("Pause {name}?");
    let command = PauseChannel { channel: name };
    opening::ask_first(state, title, vec![line.to_owned()], "Pause", command)
}
