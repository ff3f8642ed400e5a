//! Taking conversations over, draining and testing channels: what their keys do. Nothing goes out before a yes, except
//! giving back and ending a drain, which let the agent work again.

use crate::console::format;
use crate::console::labels::problem_text;
use crate::console::model::Tone;
use crate::console::world::session_name;
use crate::protocol::doctor::{Finding, Standing};
use crate::protocol::enums::{OutboxState, SessionState};
use crate::protocol::event::{Event, EventBody};
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    CheckChannel, Command, DrainChannel, GiveBackSession, Outcome, ResumeSession, TakeOverSession,
    TestChannel,
};
use crate::protocol::session::Session;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::modal::{Modal, TextPurpose};
use crate::tui::state::{opening, selection, submit};

/// Stands in the question whether to send a test until the platform was asked.
const CHECKING: &str = "asking the platform whether the account is set up …";

/// How many ends of replies are remembered for tests that the daemon did not answer for yet.
const REPLIES_ENDED_MAX: usize = 64;

/// Whether this console writes in place of the agent of a session. Another console of the same person does not.
pub fn is_here(state: &State, session: &Session) -> bool {
    session
        .taken_over
        .as_ref()
        .is_some_and(|held| state.holds.contains(&held.id))
}

/// Opens the field for a message: as the bot where this console has taken the conversation over. A session that is not
/// active is resumed first, after a yes.
pub fn compose(state: &mut State) -> Vec<Effect> {
    let Some(id) = selection::focused_session(state) else {
        return state.nothing(Action::Compose);
    };
    if let Some(session) = state.model.world().sessions.get(&id)
        && session.state != SessionState::Active
    {
        let (session_id, name) = (session.id, session_name(session));
        let lines = vec![
            format!("{name} on {} is {}.", session.channel, session.state),
            "The active session of its conversation ends; what is open in it is cancelled."
                .to_owned(),
        ];
        let title = "Go back to this session?";
        return opening::ask_first(state, title, lines, "Resume", ResumeSession { session_id });
    }
    let held = state
        .model
        .world()
        .sessions
        .get(&id)
        .and_then(|session| Some((session.taken_over.clone()?, is_here(state, session))));
    match held {
        None => opening::open_text(state, TextPurpose::Compose(id)),
        Some((held, true)) => opening::open_text(state, TextPurpose::Say(id, held.id)),
        Some((held, false)) => {
            let text = format!(
                "{} has taken this conversation over elsewhere: take it over to write here",
                held.by
            );
            state.warn(text)
        }
    }
}

/// Takes a conversation over after a yes, or gives it back.
pub fn take_over(state: &mut State) -> Vec<Effect> {
    let Some(session) =
        selection::focused_session(state).and_then(|id| state.model.world().sessions.get(&id))
    else {
        return state.nothing(Action::TakeOver);
    };
    let session_id = session.id;
    if is_here(state, session) {
        let give_back = GiveBackSession {
            session_id,
            force: false,
        };
        return submit::submit(state, give_back);
    }
    let name = session_name(session);
    let mut lines = vec![format!("{name} on {}", session.channel)];
    let label = match &session.taken_over {
        None => {
            lines.push("Its agent is paused: a running tool ends, nothing new begins.".to_owned());
            lines.push("What you write goes out as the bot, until you give it back.".to_owned());
            "Take over"
        }
        Some(held) => {
            lines.push(format!(
                "{} took it over in another console {} ago, and can then no longer write there.",
                held.by,
                format::age(state.model.now.wall, held.at)
            ));
            "Take it from there"
        }
    };
    let force = session.taken_over.is_some();
    let command = TakeOverSession { session_id, force };
    let title = "Take this conversation over?";
    opening::ask_first(state, title, lines, label, command)
}

/// Drains a channel after a yes, or lets it take up work again.
pub fn drain(state: &mut State) -> Vec<Effect> {
    let Some(channel) =
        selection::focused_channel(state).and_then(|name| state.model.world().channels.get(&name))
    else {
        return state.nothing(Action::DrainChannel);
    };
    let command = DrainChannel {
        channel: channel.name.clone(),
        drain: channel.draining.is_none(),
    };
    if !command.drain {
        return submit::submit(state, command);
    }
    let title = format!("Drain {}?", command.channel);
    let lines = vec![
        "Open work is finished and sent; no new work starts.".to_owned(),
        "New messages wait until the drain ends.".to_owned(),
    ];
    opening::ask_first(state, title, lines, "Drain", command)
}

/// Asks the platform about the account, and sends a test after a yes, to the conversation with the newest change.
pub fn test(state: &mut State) -> Vec<Effect> {
    let Some(channel) = selection::focused_channel(state) else {
        return state.nothing(Action::TestChannel);
    };
    let check = CheckChannel {
        channel: channel.clone(),
    };
    let effects = submit::submit(state, check);
    if effects.is_empty() {
        return effects;
    }
    let newest = state
        .model
        .world()
        .sessions_by_change()
        .into_iter()
        .find(|session| session.channel == channel);
    let place = newest.map_or("the conversation with the newest change", session_name);
    let lines = vec![
        CHECKING.to_owned(),
        format!("to {place}"),
        "It says that it is a test, and takes the normal route.".to_owned(),
    ];
    let title = format!("Send a test through {channel}?");
    let conversation = newest.map(|session| session.conversation.clone());
    let command = TestChannel {
        channel,
        conversation,
    };
    opening::ask_first(state, title, lines, "Send", command);
    effects
}

/// A platform was asked, or could not be: the question whether to send a test says what came out. Where it was closed,
/// only what does not work is said.
pub fn checked(state: &mut State, command: &Command, result: &Result<Box<Outcome>, Box<Problem>>) {
    let Command::CheckChannel(CheckChannel { channel }) = command else {
        return;
    };
    let (failed, lines): (Option<String>, Vec<String>) = match result.as_ref().map(|it| &**it) {
        Ok(Outcome::CheckChannel(found)) => {
            let mut all = found.items.iter();
            let failed = all.find(|one| one.verdict == Standing::Fail);
            let lines = found.items.iter().map(Finding::line).collect();
            (failed.map(Finding::line), lines)
        }
        Ok(_) => return,
        Err(problem) => {
            let line = format!("the platform was not asked: {}", problem_text(problem));
            (None, vec![line])
        }
    };
    let open = state.modals.iter_mut().find_map(|modal| match modal {
        Modal::Confirm(confirm) => match &confirm.command {
            Command::TestChannel(test) if test.channel == *channel => Some(confirm),
            _ => None,
        },
        _ => None,
    });
    match (open, failed) {
        (Some(confirm), failed) => {
            if failed.is_some() {
                confirm.title = format!("{channel} is not set up. Send a test anyway?");
            }
            confirm.lines.retain(|line| line != CHECKING);
            confirm.lines.splice(0..0, lines);
        }
        (None, Some(failed)) => state.toast(Tone::Error, format!("{channel}: {failed}")),
        (None, None) => {}
    }
}

/// A command of this console was carried out.
pub fn submitted(state: &mut State, command: &Command, outcome: &Outcome) {
    match (command, outcome) {
        (
            _,
            Outcome::TakeOverSession(session)
            | Outcome::SendAsBot(session)
            | Outcome::GiveBackSession(session),
        ) => {
            if let (Command::TakeOverSession(_), Some(held)) = (command, &session.taken_over) {
                state.holds.insert(held.id);
            }
            if let Some(known) = state.model.world_mut().sessions.get_mut(&session.id) {
                known.taken_over.clone_from(&session.taken_over);
            }
        }
        (Command::TestChannel(TestChannel { channel, .. }), Outcome::TestChannel(item)) => {
            match item.state {
                OutboxState::Pending | OutboxState::Sending => {
                    // The event can come before the answer to the command.
                    let ended = state.replies_ended.iter().find(|(id, _, _)| *id == item.id);
                    match ended.cloned() {
                        Some((_, tone, text)) => state.toast(tone, text),
                        None => state.tests.push(item.id),
                    }
                }
                done @ (OutboxState::Sent
                | OutboxState::Failed
                | OutboxState::Unknown
                | OutboxState::Superseded
                | OutboxState::Abandoned) => {
                    state.toast(Tone::Info, format!("test through {channel}: {done}"));
                }
            }
        }
        _ => {}
    }
}

/// Says how a test of this console ended.
pub fn happened(state: &mut State, event: &Event) {
    let (id, tone, text) = match &event.body {
        EventBody::ReplySent {
            outbox_id, channel, ..
        } => (
            outbox_id,
            Tone::Info,
            format!("test through {channel}: delivered"),
        ),
        EventBody::ReplyFailed {
            outbox_id,
            channel,
            error,
            ..
        } => (
            outbox_id,
            Tone::Error,
            format!("test through {channel}: not delivered: {error}"),
        ),
        EventBody::ReplyUnknown {
            outbox_id,
            channel,
            detail,
        } => (
            outbox_id,
            Tone::Warning,
            format!("test through {channel}: delivery unknown: {detail}"),
        ),
        _ => return,
    };
    let before = state.tests.len();
    state.tests.retain(|test| test != id);
    if state.tests.len() < before {
        state.toast(tone, text);
        return;
    }
    // Perhaps this is the end of a test whose answer is still on its way.
    if state.replies_ended.len() == REPLIES_ENDED_MAX {
        state.replies_ended.pop_front();
    }
    state.replies_ended.push_back((*id, tone, text));
}
