//! What keys do in a dialog with one text: editing, completion, and what a finished text does.

use crate::console::decision::{self, Bound};
use crate::console::model::Tone;
use crate::protocol::command::{BudgetRequest, DecisionRequest, MAX_TEXT_BYTES};
use crate::protocol::enums::DecisionKind;
use crate::protocol::request::{Command, SendAsBot, SendMessage, UpdateSession};
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::{Dirty, State};
use crate::tui::state::deciding::still;
use crate::tui::state::list::neighbor;
use crate::tui::state::memory::MemoryText;
use crate::tui::state::modal::{Help, Modal};
use crate::tui::state::text_dialog::{Below, Enter, TextDialog, TextPurpose};
use crate::tui::state::text_field::{Edit, Lines, TextField};
use crate::tui::state::{
    actions, assigning, batching, command_line, lists, memory_keys, models, rule_editing,
    rules_screen, running, shape, shell_screen, submit,
};

/// Longest reason that is sent.
const MAX_REASON_BYTES: usize = 2 * 1024;

/// Text goes into the field on top.
pub fn insert(state: &mut State, text: &str) {
    if let Some(Modal::Text(TextDialog { field, .. }) | Modal::Help(Help { field, .. })) =
        state.modals.last_mut()
    {
        field.insert(text);
    }
    changed(state);
}

/// The field on top changed.
fn changed(state: &mut State) {
    let when_whole = lists::filters_when_whole(state, state.screen);
    let entry = match state.modals.last_mut() {
        Some(Modal::Help(help)) => {
            help.chosen = 0;
            return;
        }
        Some(Modal::Text(entry)) => entry,
        Some(_) | None => return,
    };
    entry.error = None;
    let text = entry.field.text();
    match entry.purpose {
        TextPurpose::Search => state.screens.session.search(&text),
        TextPurpose::CommandLine => {
            let choices = command_line::completions(state, &text);
            if let Some(Modal::Text(entry)) = state.modals.last_mut() {
                entry.choices = choices;
            }
        }
        TextPurpose::Assignment(_) => assigning::offer(state),
        TextPurpose::FilterModels => models::filter(state, &text),
        TextPurpose::Filter(_) if when_whole => {}
        TextPurpose::Filter(screen) => {
            if let Err(why) = lists::filter(state, screen, &text) {
                refuse(state, why);
            }
        }
        _ => {}
    }
}

pub fn edited(state: &mut State, result: Result<String, String>) {
    match result {
        Ok(text) => {
            if let Some(Modal::Text(entry)) = state.modals.last_mut() {
                entry.field = TextField::new(entry.field.kind(), text.trim_end_matches('\n'));
            }
            changed(state);
        }
        Err(why) => state.toast(Tone::Error, format!("editor: {why}")),
    }
    state.touch(Dirty::Now);
}

/// An action in a text field (help and palette have one too).
pub fn text_action(state: &mut State, action: Action) -> Vec<Effect> {
    let edit = match action {
        Action::TextLeft => Edit::Left,
        Action::TextRight => Edit::Right,
        Action::TextWordLeft => Edit::WordLeft,
        Action::TextWordRight => Edit::WordRight,
        Action::TextHome => Edit::Home,
        Action::TextEnd => Edit::End,
        Action::TextDeleteBack => Edit::DeleteBack,
        Action::TextDeleteForward => Edit::DeleteForward,
        Action::TextDeleteWord => Edit::DeleteWord,
        Action::TextKillToEnd => Edit::KillToEnd,
        Action::TextKillToStart => Edit::KillToStart,
        Action::TextUp | Action::TextDown => return move_choice(state, action),
        Action::TextEnter if enter(state) == Some(Enter::Breaks) => Edit::Newline,
        Action::TextSubmit if enter(state) == Some(Enter::Sends) => Edit::Newline,
        Action::TextEnter | Action::TextSubmit => return finish(state),
        Action::TextCancel => {
            close_text(state);
            return Vec::new();
        }
        Action::TextComplete if is_shell(state) => return shell_screen::switch(state),
        Action::TextComplete => {
            complete(state);
            return Vec::new();
        }
        Action::TextEditor => return open_editor(state),
        Action::EmergencyStop => return submit::emergency_stop(state),
        _ => return Vec::new(),
    };
    if let Some(Modal::Text(TextDialog { field, .. }) | Modal::Help(Help { field, .. })) =
        state.modals.last_mut()
    {
        field.edit(edit);
    }
    changed(state);
    Vec::new()
}

/// What enter does in the text on top.
fn enter(state: &State) -> Option<Enter> {
    match state.modals.last() {
        Some(Modal::Text(entry)) => Some(entry.purpose.enter()),
        Some(_) | None => None,
    }
}

fn move_choice(state: &mut State, action: Action) -> Vec<Effect> {
    let down = action == Action::TextDown;
    match state.modals.last_mut() {
        Some(Modal::Help(help)) => {
            let count = help.matches(&state.keymap).len();
            help.chosen = neighbor(help.chosen, count, down);
        }
        Some(Modal::Text(entry)) if entry.purpose == TextPurpose::CommandLine => {
            let recalled = if down {
                state.commands.newer()
            } else {
                state.commands.older(&entry.field.text())
            };
            if let Some(line) = recalled {
                entry.field = TextField::new(Lines::One, &line);
                changed(state);
            }
        }
        Some(Modal::Text(entry)) => entry.field.edit(if down { Edit::Down } else { Edit::Up }),
        Some(_) | None => {}
    }
    Vec::new()
}

fn is_shell(state: &State) -> bool {
    matches!(state.modals.last(), Some(Modal::Text(entry)) if entry.purpose.below() == Below::Shell)
}

fn complete(state: &mut State) {
    if let Some(Modal::Text(entry)) = state.modals.last_mut()
        && entry.purpose.below() == Below::Choices
        && let Some(mut choice) =
            command_line::common_completion(&entry.choices, &entry.field.text())
    {
        // The note comes next.
        if entry.purpose != TextPurpose::CommandLine && entry.choices.len() == 1 {
            choice.push(' ');
        }
        entry.field = TextField::new(Lines::One, &choice);
    }
    changed(state);
}

fn open_editor(state: &mut State) -> Vec<Effect> {
    match state.modals.last() {
        Some(Modal::Text(entry)) if entry.field.kind() == Lines::Many => {
            if state.has_editor {
                return vec![Effect::OpenEditor(entry.field.text())];
            }
            state.toast(Tone::Warning, "editor: set $VISUAL or $EDITOR");
        }
        Some(_) | None => {}
    }
    Vec::new()
}

/// Closes the text on top; what was written stays as a draft.
fn close_text(state: &mut State) {
    match state.modals.pop() {
        Some(Modal::Text(entry)) => {
            if let Some(key) = entry.purpose.draft() {
                state.model.host_mut().drafts.put(key, entry.field.text());
            }
            if let TextPurpose::Filter(screen) = entry.purpose
                && !lists::filters_when_whole(state, screen)
                && let Err(why) = lists::filter(state, screen, "")
            {
                state.toast(Tone::Warning, why);
            }
            if entry.purpose == TextPurpose::FilterModels {
                models::filter(state, "");
            }
            if entry.purpose == TextPurpose::Search {
                state.screens.session.search = None;
                state.screens.session.background_search = None;
            }
        }
        Some(Modal::Help(_)) | None => {}
        Some(other) => state.modals.push(other),
    }
}

/// The text is finished.
fn finish(state: &mut State) -> Vec<Effect> {
    if let Some(Modal::Help(help)) = state.modals.last() {
        let chosen = help.matches(&state.keymap).get(help.chosen).copied();
        state.modals.pop();
        return chosen.map_or_else(Vec::new, |action| actions::from_palette(state, action));
    }
    let Some(Modal::Text(entry)) = state.modals.last().cloned() else {
        return Vec::new();
    };
    let text = entry.field.text();
    finished(state, &entry.purpose, text).unwrap_or_else(|why| refuse(state, why))
}

/// Does what a finished text is for. The error says why the text is not taken.
fn finished(state: &mut State, purpose: &TextPurpose, text: String) -> Result<Vec<Effect>, String> {
    let decide = |state: &mut State, bound: &Bound, request: DecisionRequest| {
        if still(state, &bound.subject) {
            return send(state, purpose, &text, decision::command(bound, request));
        }
        close_text(state);
        Vec::new()
    };
    let is_empty = text.trim().is_empty();
    Ok(match purpose {
        TextPurpose::DenyReason(_) | TextPurpose::BatchReason(_)
            if text.len() > MAX_REASON_BYTES =>
        {
            let size = text.len();
            return Err(format!("at most {MAX_REASON_BYTES} bytes; this has {size}"));
        }
        TextPurpose::DenyReason(bound) => {
            let mut request = decision::request(bound, DecisionKind::Deny);
            request.reason = (!is_empty).then(|| text.clone());
            decide(state, bound, request)
        }
        TextPurpose::EditArguments(bound) => {
            let args = serde_json::from_str(&text).map_err(|error| format!("not JSON: {error}"))?;
            let mut request = decision::request(bound, DecisionKind::Edit);
            request.args = Some(args);
            decide(state, bound, request)
        }
        TextPurpose::Answer(_) if is_empty => return Err("an answer needs text".to_owned()),
        TextPurpose::Answer(bound) => {
            let mut request = decision::request(bound, DecisionKind::Answer);
            request.answer = Some(text.clone());
            decide(state, bound, request)
        }
        TextPurpose::Code(bound, word) => {
            let approvals = &state.model.world().approvals;
            let code = approvals.get(&bound.approval_id);
            let code = code.map_or_else(String::new, |one| one.short_code.clone());
            if code.is_empty() || !text.trim().eq_ignore_ascii_case(&code) {
                return Err("that is not the code on the card".to_owned());
            }
            let mut request = decision::request(bound, *word);
            request.confirm_code = Some(code);
            decide(state, bound, request)
        }
        TextPurpose::Compose(session_id) => {
            let session_id = *session_id;
            let attachments = state.model.host().drafts.files(session_id).to_vec();
            fits_a_message(&text, !attachments.is_empty())?;
            let message = Command::SendMessage(SendMessage {
                session_id,
                text: text.clone(),
                model: None,
                budgets: BudgetRequest::default(),
                fresh: false,
                attachments,
                options: crate::protocol::options::TurnOptions::default(),
            });
            let effects = send(state, purpose, &text, message);
            if !effects.is_empty() {
                state.model.host_mut().drafts.take_files(session_id);
            }
            effects
        }
        TextPurpose::Say(session_id, take_over_id) => {
            fits_a_message(&text, false)?;
            let said = Command::SendAsBot(SendAsBot {
                session_id: *session_id,
                take_over_id: *take_over_id,
                text: text.clone(),
            });
            send(state, purpose, &text, said)
        }
        TextPurpose::Shell(session_id) => shell_screen::run(state, *session_id, &text)?,
        TextPurpose::Preferences(session_id) => {
            let change = Command::UpdateSession(UpdateSession {
                session_id: *session_id,
                title: None,
                model: None,
                paused: None,
                preferences: Some(text.clone()),
            });
            send(state, purpose, &text, change)
        }
        TextPurpose::Search | TextPurpose::FilterModels => {
            state.modals.pop();
            Vec::new()
        }
        TextPurpose::CommandLine => {
            state.modals.pop();
            state.commands.ran(&text);
            running::run(state, &text)
        }
        TextPurpose::Filter(screen) => {
            lists::filter(state, *screen, &text)?;
            state.modals.pop();
            Vec::new()
        }
        TextPurpose::Memory(memory) => {
            let effects = memory_keys::finished(state, memory, text.clone())?;
            if *memory == MemoryText::Search {
                state.modals.pop();
                return Ok(Vec::new());
            }
            sent(state, purpose, &text, effects)
        }
        TextPurpose::Rule(rule) => {
            let effects = rules_screen::finish(state, *rule, &text)?;
            sent(state, purpose, &text, effects)
        }
        TextPurpose::RuleValue if is_empty => {
            return Err("the value to compare with is empty".to_owned());
        }
        TextPurpose::RuleValue => rule_editing::written(state, text),
        TextPurpose::RuleLife => {
            rule_editing::life_written(state, &text)?;
            Vec::new()
        }
        TextPurpose::ShapeLife => {
            shape::written(state, &text)?;
            Vec::new()
        }
        TextPurpose::BatchReason(calls) => {
            // It stays a draft until the decisions are sent.
            close_text(state);
            let reason = Some(text).filter(|_| !is_empty);
            batching::open(state, Action::DenyWithReason, calls, reason);
            Vec::new()
        }
        TextPurpose::Assignment(bound) => {
            let command = assigning::request(state, bound, &text)?;
            send(state, purpose, &text, command)
        }
    })
}

/// Whether a message can be sent; the error says why not.
fn fits_a_message(text: &str, has_files: bool) -> Result<(), String> {
    if text.trim().is_empty() && !has_files {
        return Err("nothing written".to_owned());
    }
    match text.len().saturating_sub(MAX_TEXT_BYTES) {
        0 => Ok(()),
        more => Err(format!(
            "{more} bytes too long: at most {MAX_TEXT_BYTES} are sent"
        )),
    }
}

/// Sends what was written, unless this console may not; then it stays.
fn send(state: &mut State, purpose: &TextPurpose, text: &str, command: Command) -> Vec<Effect> {
    let effects = submit::submit(state, command);
    sent(state, purpose, text, effects)
}

/// What was written is on its way; it stays a draft until the engine has accepted it. A console that may not act keeps
/// the text.
fn sent(state: &mut State, purpose: &TextPurpose, text: &str, effects: Vec<Effect>) -> Vec<Effect> {
    if effects.is_empty() {
        return effects;
    }
    state.modals.pop();
    if let Some(key) = purpose.draft() {
        let commands = effects.iter().filter_map(|effect| match effect {
            Effect::Submit(command) => Some(command),
            _ => None,
        });
        let drafts = &mut state.model.host_mut().drafts;
        drafts.sending(&key, text, commands);
    }
    effects
}

fn refuse(state: &mut State, why: String) -> Vec<Effect> {
    if let Some(Modal::Text(entry)) = state.modals.last_mut() {
        entry.error = Some(why);
    }
    Vec::new()
}
