//! A person at the shell or the Python of a session: a line that runs commands, above what was run. What it knows is in
//! `shell`.

use crate::console::labels::problem_text;
use crate::protocol::enums::InterpreterKind;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::SessionId;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, Command, ListInterpreters, Outcome, Query, RunInShell};
use crate::protocol::tool::ShellRequest;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::{Dirty, State};
use crate::tui::state::modal::Modal;
use crate::tui::state::text_dialog::{TextDialog, TextPurpose};
use crate::tui::state::{opening, resources_screen, selection, submit};

/// Opens the shell of the session that has the focus, or its Python where that is selected.
pub fn open(state: &mut State) -> Vec<Effect> {
    let Some(session) = selection::focused_session(state) else {
        return state.nothing(Action::Shell);
    };
    let kind = resources_screen::selected_kind(state).unwrap_or_default();
    state.screens.shell.show(session, kind);
    let mut effects = opening::open_text(state, TextPurpose::Shell(session));
    effects.push(ask());
    effects.push(Effect::SetDeltas(vec![session]));
    effects
}

/// Goes from the shell to the Python of the same session, and back. A command that runs is followed to its end.
pub fn switch(state: &mut State) -> Vec<Effect> {
    let shell = &mut state.screens.shell;
    let Some(session) = shell.session.filter(|_| shell.running.is_none()) else {
        return Vec::new();
    };
    let other = match shell.kind {
        InterpreterKind::Bash => InterpreterKind::Python,
        InterpreterKind::Python => InterpreterKind::Bash,
    };
    shell.show(session, other);
    state.touch(Dirty::Now);
    vec![ask()]
}

fn ask() -> Effect {
    Effect::ask(ListInterpreters {})
}

/// Runs a line. The error says why not.
pub fn run(state: &mut State, session: SessionId, text: &str) -> Result<Vec<Effect>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("type a command; esc leaves".to_owned());
    }
    if let Some(command) = &state.screens.shell.running {
        return Err(format!("`{command}` still runs"));
    }
    let command = Command::RunInShell(RunInShell {
        session_id: session,
        request: ShellRequest {
            command: text.to_owned(),
            kind: state.screens.shell.kind,
            timeout_seconds: None,
        },
    });
    let effects = submit::submit(state, command);
    if !effects.is_empty() {
        state.screens.shell.running = Some(text.to_owned());
        state.screens.shell.answer = None;
        state.screens.shell.output.clear();
        if let Some(Modal::Text(entry)) = state.modals.last_mut() {
            *entry = TextDialog::new(TextPurpose::Shell(session), "");
        }
    }
    Ok(effects)
}

/// A command of this console ended.
pub fn submitted(
    state: &mut State,
    command: &Command,
    result: &Result<Box<Outcome>, Box<Problem>>,
) -> Vec<Effect> {
    let Command::RunInShell(request) = command else {
        return Vec::new();
    };
    let shell = &mut state.screens.shell;
    if shell.session != Some(request.session_id) || shell.kind != request.request.kind {
        return Vec::new();
    }
    shell.running = None;
    shell.output.clear();
    shell.answer = Some(match result {
        Ok(outcome) => match &**outcome {
            Outcome::RunInShell(run) => Ok(run.clone()),
            _ => return Vec::new(),
        },
        Err(problem) => Err(problem_text(problem)),
    });
    state.touch(Dirty::Soon);
    vec![ask()]
}

/// Takes what was asked for; Resources asks the same.
pub fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) {
    let (Query::ListInterpreters(_), Ok(Answer::ListInterpreters(page))) = (query, result) else {
        return;
    };
    let shell = &mut state.screens.shell;
    let row = page
        .items
        .iter()
        .find(|row| Some(row.session_id) == shell.session && row.kind == shell.kind);
    shell.row = row.cloned();
    state.touch(Dirty::Soon);
}

/// Takes what a person's command writes in the shown session, and asks again when the agent there began or ended a call.
pub fn happened(state: &mut State, event: &Event) -> Option<Effect> {
    let shell = &mut state.screens.shell;
    if let EventBody::ShellOutput { text } = &event.body
        && shell.running.is_some()
        && event.session_id == shell.session
    {
        shell.hear(text);
        state.touch(Dirty::Soon);
    }
    let is_open = matches!(
        state.modals.last(),
        Some(Modal::Text(entry)) if matches!(entry.purpose, TextPurpose::Shell(_))
    );
    let concerns = matches!(
        event.body,
        EventBody::ToolStarted { .. } | EventBody::ToolFinished { .. }
    );
    (is_open && concerns && event.session_id == state.screens.shell.session).then(ask)
}
