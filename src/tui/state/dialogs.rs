//! What keys do in overlays.

use crate::console::decision::{self, Bound};
use crate::console::model::Tone;
use crate::console::release::ReleaseChoice;
use crate::protocol::command::{BudgetRequest, MAX_TEXT_BYTES};
use crate::protocol::enums::DecisionKind;
use crate::protocol::policy::PolicyPatch;
use crate::protocol::request::{Command, SendAsBot, SendMessage, SetPolicy, UpdateSession};
use crate::tui::action::Action;
use crate::tui::message::{Effect, QuitKind};
use crate::tui::state::app::{Dirty, State};
use crate::tui::state::autonomy_selector::{self, AutonomySelector};
use crate::tui::state::deciding::{self, still};
use crate::tui::state::memory::MemoryText;
use crate::tui::state::modal::{About, Help, Modal, QuitChoice, TextEntry, TextPurpose};
use crate::tui::state::opening::draft_key;
use crate::tui::state::screen::Screen;
use crate::tui::state::text_field::{Edit, Lines, TextField};
use crate::tui::state::tool_lists::ToolLists;
use crate::tui::state::{
    actions, assigning, batching, command_line, lists, memory_keys, models, rule_editing,
    rules_screen, running, shape, submit, why,
};

/// Longest reason that is sent.
const MAX_REASON_BYTES: usize = 2 * 1024;

/// Text goes into the field on top.
pub fn insert(state: &mut State, text: &str) {
    if let Some(Modal::Text(TextEntry { field, .. }) | Modal::Help(Help { field, .. })) =
        state.modals.last_mut()
    {
        field.insert(text);
    }
    changed(state);
}

/// The field on top changed.
fn changed(state: &mut State) {
    let mut search = None;
    let mut command = None;
    let mut names = false;
    let mut filter = None;
    match state.modals.last_mut() {
        Some(Modal::Help(help)) => help.chosen = 0,
        Some(Modal::Text(entry)) => {
            entry.error = None;
            match entry.purpose {
                TextPurpose::Search => search = Some(entry.field.text()),
                TextPurpose::CommandLine => command = Some(entry.field.text()),
                TextPurpose::Assignment(_) => names = true,
                // Audit asks the engine, once the text is whole.
                TextPurpose::Filter(Screen::Audit) => {}
                TextPurpose::Filter(screen) => filter = Some((screen, entry.field.text())),
                TextPurpose::DenyReason(_)
                | TextPurpose::EditArguments(_)
                | TextPurpose::Answer(_)
                | TextPurpose::Code(..)
                | TextPurpose::Compose(_)
                | TextPurpose::Say(..)
                | TextPurpose::Preferences(_)
                | TextPurpose::Memory(_)
                | TextPurpose::Rule(_)
                | TextPurpose::RuleValue
                | TextPurpose::BatchReason => {}
            }
        }
        Some(
            Modal::Quit { .. }
            | Modal::Release(_)
            | Modal::Confirm(_)
            | Modal::AutonomySelector(_)
            | Modal::Tools(_)
            | Modal::Snooze { .. }
            | Modal::Models(_)
            | Modal::Why(_)
            | Modal::Deciding(_)
            | Modal::Summary(_),
        )
        | None => {}
    }
    if let Some(query) = search {
        state.screens.session.search(&query);
    }
    if let Some((screen, text)) = filter
        && let Err(why) = lists::filter(state, screen, &text)
    {
        refuse(state, why);
    }
    if names {
        assigning::offer(state);
    }
    if let Some(text) = command {
        let choices = command_line::completions(state, &text);
        if let Some(Modal::Text(entry)) = state.modals.last_mut() {
            entry.choices = choices;
        }
    }
}

/// The external editor ended.
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
        Action::TextEnter => {
            let many = matches!(state.modals.last(), Some(Modal::Text(entry)) if entry.field.kind() == Lines::Many);
            if many
                && !matches!(
                    state.modals.last(),
                    Some(Modal::Text(TextEntry {
                        purpose: TextPurpose::Compose(_) | TextPurpose::Say(..),
                        ..
                    }))
                )
            {
                Edit::Newline
            } else {
                return finish(state);
            }
        }
        Action::TextSubmit => {
            // In a message, enter sends; the other key starts a new line.
            if matches!(
                state.modals.last(),
                Some(Modal::Text(TextEntry {
                    purpose: TextPurpose::Compose(_) | TextPurpose::Say(..),
                    ..
                }))
            ) {
                Edit::Newline
            } else {
                return finish(state);
            }
        }
        Action::TextCancel => {
            close_text(state);
            return Vec::new();
        }
        Action::TextComplete => {
            complete(state);
            return Vec::new();
        }
        Action::TextEditor => return open_editor(state),
        Action::EmergencyStop => return submit::emergency_stop(state),
        _ => return Vec::new(),
    };
    if let Some(Modal::Text(TextEntry { field, .. }) | Modal::Help(Help { field, .. })) =
        state.modals.last_mut()
    {
        field.edit(edit);
    }
    changed(state);
    Vec::new()
}

fn move_choice(state: &mut State, action: Action) -> Vec<Effect> {
    let down = action == Action::TextDown;
    match state.modals.last_mut() {
        Some(Modal::Help(help)) => {
            let last = help.matches(&state.keymap).len().saturating_sub(1);
            help.chosen = if down {
                (help.chosen + 1).min(last)
            } else {
                help.chosen.saturating_sub(1)
            };
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
        Some(
            Modal::Quit { .. }
            | Modal::Release(_)
            | Modal::Confirm(_)
            | Modal::AutonomySelector(_)
            | Modal::Tools(_)
            | Modal::Snooze { .. }
            | Modal::Models(_)
            | Modal::Why(_)
            | Modal::Deciding(_)
            | Modal::Summary(_),
        )
        | None => {}
    }
    Vec::new()
}

fn complete(state: &mut State) {
    if let Some(Modal::Text(entry)) = state.modals.last_mut()
        && matches!(
            entry.purpose,
            TextPurpose::CommandLine | TextPurpose::Assignment(_)
        )
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
    let many = matches!(state.modals.last(), Some(Modal::Text(entry)) if entry.field.kind() == Lines::Many);
    if !many {
        return Vec::new();
    }
    if !state.has_editor {
        state.toast(Tone::Warning, "editor: set $VISUAL or $EDITOR");
        return Vec::new();
    }
    match state.modals.last() {
        Some(Modal::Text(entry)) => vec![Effect::OpenEditor(entry.field.text())],
        _ => Vec::new(),
    }
}

/// Closes the text on top; what was written stays as a draft.
fn close_text(state: &mut State) {
    match state.modals.pop() {
        Some(Modal::Text(entry)) => {
            if let Some(key) = draft_key(&entry.purpose) {
                state.model.host_mut().drafts.put(key, entry.field.text());
            }
            if let TextPurpose::Filter(screen) = entry.purpose
                && screen != Screen::Audit
                && let Err(why) = lists::filter(state, screen, "")
            {
                state.toast(Tone::Warning, why);
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
    let decision = match &entry.purpose {
        TextPurpose::DenyReason(bound) => {
            if text.len() > MAX_REASON_BYTES {
                return refuse(
                    state,
                    format!("at most {MAX_REASON_BYTES} bytes; this has {}", text.len()),
                );
            }
            let mut request = decision::request(bound, DecisionKind::Deny);
            request.reason = (!text.trim().is_empty()).then(|| text.clone());
            Some((bound.clone(), request))
        }
        TextPurpose::EditArguments(bound) => match serde_json::from_str::<serde_json::Value>(&text)
        {
            Ok(args) => {
                let mut request = decision::request(bound, DecisionKind::Edit);
                request.args = Some(args);
                Some((bound.clone(), request))
            }
            Err(error) => return refuse(state, format!("not JSON: {error}")),
        },
        TextPurpose::Answer(bound) => {
            if text.trim().is_empty() {
                return refuse(state, "an answer needs words".to_owned());
            }
            let mut request = decision::request(bound, DecisionKind::Answer);
            request.answer = Some(text.clone());
            Some((bound.clone(), request))
        }
        TextPurpose::Code(bound, word) => {
            let code = state
                .model
                .world()
                .approvals
                .get(&bound.approval_id)
                .map(|a| a.short_code.clone())
                .unwrap_or_default();
            if code.is_empty() || !text.trim().eq_ignore_ascii_case(&code) {
                return refuse(state, "that is not the code on the card".to_owned());
            }
            let mut request = decision::request(bound, *word);
            request.confirm_code = Some(code);
            Some((bound.clone(), request))
        }
        TextPurpose::Compose(_)
        | TextPurpose::Say(..)
        | TextPurpose::Preferences(_)
        | TextPurpose::Search
        | TextPurpose::CommandLine
        | TextPurpose::Filter(_)
        | TextPurpose::Memory(_)
        | TextPurpose::Rule(_)
        | TextPurpose::RuleValue
        | TextPurpose::BatchReason
        | TextPurpose::Assignment(_) => None,
    };
    if let Some((bound, request)) = decision {
        return finish_decision(state, &entry, &bound, request);
    }
    match entry.purpose {
        TextPurpose::Compose(session_id) => {
            let attachments = state.model.host().drafts.files(session_id).to_vec();
            let message = Command::SendMessage(SendMessage {
                session_id,
                text: text.clone(),
                model: None,
                budgets: BudgetRequest::default(),
                fresh: false,
                attachments,
                options: crate::protocol::options::TurnOptions::default(),
            });
            let effects = write(state, &entry.purpose, &text, message);
            if !effects.is_empty() {
                state.model.host_mut().drafts.take_files(session_id);
            }
            effects
        }
        TextPurpose::Say(session_id, take_over_id) => {
            let said = Command::SendAsBot(SendAsBot {
                session_id,
                take_over_id,
                text: text.clone(),
            });
            write(state, &entry.purpose, &text, said)
        }
        TextPurpose::Preferences(session_id) => {
            let change = Command::UpdateSession(UpdateSession {
                session_id,
                title: None,
                model: None,
                paused: None,
                preferences: Some(text.clone()),
            });
            let effects = submit::submit(state, change);
            if !effects.is_empty() {
                state.modals.pop();
                sending(state, &entry.purpose, &text, &effects);
            }
            effects
        }
        TextPurpose::Search => {
            state.modals.pop();
            Vec::new()
        }
        TextPurpose::CommandLine => {
            state.modals.pop();
            state.commands.ran(&text);
            running::run(state, &text)
        }
        TextPurpose::Filter(screen) => {
            if let Err(why) = lists::filter(state, screen, &text) {
                return refuse(state, why);
            }
            state.modals.pop();
            Vec::new()
        }
        TextPurpose::Memory(purpose) => finish_memory(state, &purpose, text),
        TextPurpose::Rule(purpose) => match rules_screen::finish(state, purpose, &text) {
            Err(why) => refuse(state, why),
            Ok(effects) => {
                if !effects.is_empty() {
                    state.modals.pop();
                    sending(state, &TextPurpose::Rule(purpose), &text, &effects);
                }
                effects
            }
        },
        TextPurpose::RuleValue if text.trim().is_empty() => {
            refuse(state, "a rule compares with something".to_owned())
        }
        TextPurpose::RuleValue => rule_editing::written(state, text),
        TextPurpose::BatchReason if text.len() > MAX_REASON_BYTES => {
            refuse(state, format!("at most {MAX_REASON_BYTES} bytes"))
        }
        TextPurpose::BatchReason => {
            state.modals.pop();
            let reason = Some(text).filter(|text| !text.trim().is_empty());
            batching::open(state, Action::DenyWithReason, reason);
            Vec::new()
        }
        TextPurpose::Assignment(bound) => match assigning::request(state, &bound, &text) {
            Err(why) => refuse(state, why),
            Ok(command) => {
                let effects = submit::submit(state, command);
                if !effects.is_empty() {
                    state.modals.pop();
                }
                effects
            }
        },
        TextPurpose::DenyReason(_)
        | TextPurpose::EditArguments(_)
        | TextPurpose::Answer(_)
        | TextPurpose::Code(..) => Vec::new(),
    }
}

/// Sends what was written, unless it is nothing or this console may not; then it stays.
fn write(state: &mut State, purpose: &TextPurpose, text: &str, command: Command) -> Vec<Effect> {
    let has_files =
        matches!(&command, Command::SendMessage(message) if !message.attachments.is_empty());
    if text.trim().is_empty() && !has_files {
        return refuse(state, "nothing written".to_owned());
    }
    if text.len() > MAX_TEXT_BYTES {
        let more = text.len() - MAX_TEXT_BYTES;
        return refuse(
            state,
            format!("{more} bytes too long: at most {MAX_TEXT_BYTES} are sent"),
        );
    }
    let effects = submit::submit(state, command);
    if !effects.is_empty() {
        state.modals.pop();
        sending(state, purpose, text, &effects);
    }
    effects
}

fn finish_memory(state: &mut State, purpose: &MemoryText, text: String) -> Vec<Effect> {
    match memory_keys::finished(state, purpose, text.clone()) {
        Err(why) => refuse(state, why),
        // A console that may not act keeps the text.
        Ok(effects) if effects.is_empty() && *purpose != MemoryText::Search => effects,
        Ok(effects) => {
            state.modals.pop();
            sending(
                state,
                &TextPurpose::Memory(purpose.clone()),
                &text,
                &effects,
            );
            effects
        }
    }
}

fn finish_decision(
    state: &mut State,
    entry: &TextEntry,
    bound: &Bound,
    request: crate::protocol::command::DecisionRequest,
) -> Vec<Effect> {
    if !still(state, &bound.subject) {
        close_text(state);
        return Vec::new();
    }
    let effects = submit::submit(state, decision::command(bound, request));
    if !effects.is_empty() {
        state.modals.pop();
        sending(state, &entry.purpose, &entry.field.text(), &effects);
    }
    effects
}

/// What was written is on its way; it stays a draft until the engine has accepted it.
fn sending(state: &mut State, purpose: &TextPurpose, text: &str, effects: &[Effect]) {
    if let Some(key) = draft_key(purpose) {
        let commands = effects.iter().filter_map(|effect| match effect {
            Effect::Submit(command) => Some(command),
            _ => None,
        });
        let drafts = &mut state.model.host_mut().drafts;
        drafts.sending(&key, text, commands);
    }
}

fn refuse(state: &mut State, why: String) -> Vec<Effect> {
    if let Some(Modal::Text(entry)) = state.modals.last_mut() {
        entry.error = Some(why);
    }
    Vec::new()
}

/// An action in a dialog.
pub fn dialog_action(state: &mut State, action: Action) -> Vec<Effect> {
    match action {
        Action::DialogNext => turn(state, true),
        Action::DialogPrevious => turn(state, false),
        Action::DialogAccept => accept(state),
        Action::DialogDiscover => models::discover(state),
        Action::DialogPageDown | Action::DialogPageUp => {
            let half = i64::from((state.size.1 / 2).max(2)) - 1;
            let down = action == Action::DialogPageDown;
            let lines = if down { half } else { -half };
            match state.modals.last_mut() {
                Some(Modal::Why(pager)) => why::scroll(&mut pager.scroll, lines),
                Some(Modal::AutonomySelector(selector)) => {
                    autonomy_selector::scroll(selector, lines);
                }
                Some(Modal::Tools(lists)) => {
                    if let Some(channel) = state.model.world().channels.get(&lists.channel) {
                        lists.scroll(&channel.policy, lines);
                    }
                }
                Some(Modal::Summary(pager)) => why::scroll(&mut pager.scroll, lines),
                _ => {}
            }
            deciding::page(state, lines);
            Vec::new()
        }
        Action::DialogLonger | Action::DialogShorter => {
            if let Some(Modal::AutonomySelector(selector)) = state.modals.last_mut()
                && let Some(channel) = state.model.world().channels.get(&selector.channel)
            {
                autonomy_selector::last(selector, &channel.policy, action == Action::DialogLonger);
            }
            if let Some(Modal::Tools(lists)) = state.modals.last_mut()
                && let Some(channel) = state.model.world().channels.get(&lists.channel)
            {
                return lists.step(&channel.policy, action == Action::DialogLonger);
            }
            Vec::new()
        }
        Action::DialogAgain => press(state, action),
        Action::DialogCancel => {
            if let Some(Modal::AutonomySelector(selector)) = state.modals.last_mut()
                && selector.confirming.take().is_some()
            {
                return Vec::new();
            }
            if let Some(Modal::Tools(lists)) = state.modals.last_mut()
                && lists.confirming.take().is_some()
            {
                return Vec::new();
            }
            if matches!(state.modals.last(), Some(Modal::Deciding(_))) {
                cancel(state);
            } else {
                state.modals.pop();
            }
            Vec::new()
        }
        Action::EmergencyStop => submit::emergency_stop(state),
        _ => Vec::new(),
    }
}

fn stepped(at: usize, count: usize, forward: bool) -> usize {
    if forward {
        (at + 1).min(count.saturating_sub(1))
    } else {
        at.saturating_sub(1)
    }
}

fn turn(state: &mut State, forward: bool) -> Vec<Effect> {
    let line = if forward { 1 } else { -1 };
    match state.modals.last_mut() {
        Some(Modal::Quit { choices, chosen }) => *chosen = stepped(*chosen, choices.len(), forward),
        Some(Modal::Release(release)) => {
            release.chosen = stepped(release.chosen, release.places(), forward);
        }
        Some(Modal::Confirm(confirm)) => confirm.chosen = stepped(confirm.chosen, 2, forward),
        Some(Modal::Snooze {
            choices, chosen, ..
        }) => *chosen = stepped(*chosen, choices.len(), forward),
        Some(Modal::Models(dialog)) => {
            dialog.chosen = stepped(dialog.chosen, dialog.models().len(), forward);
        }
        Some(Modal::Why(pager)) => why::scroll(&mut pager.scroll, line),
        Some(Modal::Deciding(_)) => deciding::turn(state, forward),
        Some(Modal::Summary(pager)) => why::scroll(&mut pager.scroll, line),
        Some(Modal::AutonomySelector(selector)) => {
            return autonomy_selector::turn(selector, forward);
        }
        Some(Modal::Tools(lists)) => {
            if let Some(channel) = state.model.world().channels.get(&lists.channel) {
                lists.turn(&channel.policy, forward);
            }
        }
        Some(Modal::Help(_) | Modal::Text(_)) | None => {}
    }
    Vec::new()
}

fn accept(state: &mut State) -> Vec<Effect> {
    match state.modals.last().cloned() {
        Some(Modal::Quit { choices, chosen }) => {
            state.modals.pop();
            match choices.get(chosen) {
                Some(QuitChoice::Detach) => vec![Effect::Quit(QuitKind::Detach)],
                Some(QuitChoice::Stop) => vec![Effect::Quit(QuitKind::Stop)],
                Some(QuitChoice::Stay) | None => Vec::new(),
            }
        }
        Some(Modal::Release(mut release)) => match release.place(release.chosen) {
            ReleaseChoice::Cancel => {
                state.modals.pop();
                Vec::new()
            }
            ReleaseChoice::Everywhere | ReleaseChoice::Row(_) => {
                release.turn();
                if let Some(shown) = state.modals.last_mut() {
                    *shown = Modal::Release(release);
                }
                Vec::new()
            }
            ReleaseChoice::Release => {
                state.modals.pop();
                submit::submit(state, release.command())
            }
        },
        Some(Modal::Confirm(confirm)) => {
            state.modals.pop();
            if confirm.chosen == 0 {
                return Vec::new();
            }
            if let Some(subject) = &confirm.bound
                && !still(state, subject)
            {
                return Vec::new();
            }
            submit::submit(state, confirm.command)
        }
        Some(Modal::Snooze {
            bound,
            choices,
            chosen,
        }) => {
            state.modals.pop();
            if !still(state, &bound.subject) {
                return Vec::new();
            }
            let mut request = decision::request(&bound, DecisionKind::Snooze);
            request.minutes = choices.get(chosen).map(|choice| choice.minutes);
            submit::submit(state, decision::command(&bound, request))
        }
        Some(Modal::AutonomySelector(selector)) => accept_autonomy(state, &selector),
        Some(Modal::Tools(lists)) => accept_lists(state, &lists),
        Some(Modal::Models(dialog)) => models::accept(state, &dialog),
        Some(Modal::Deciding(_)) => press(state, Action::DialogAccept),
        Some(Modal::Why(_) | Modal::Summary(_)) => {
            state.modals.pop();
            Vec::new()
        }
        Some(Modal::Help(_) | Modal::Text(_)) | None => Vec::new(),
    }
}

/// Takes the level, after a question where it raises.
fn accept_autonomy(state: &mut State, selector: &AutonomySelector) -> Vec<Effect> {
    let Some(channel) = state.model.world().channels.get(&selector.channel) else {
        state.modals.pop();
        return Vec::new();
    };
    let policy = &channel.policy;
    let confirming = match selector.confirming {
        None if selector.raises(policy) => Some(Some(0)),
        Some(0) => Some(None),
        None | Some(_) => None,
    };
    if let Some(confirming) = confirming {
        if let Some(Modal::AutonomySelector(selector)) = state.modals.last_mut() {
            selector.confirming = confirming;
        }
        return Vec::new();
    }
    let same = selector.chosen == policy.autonomy && policy.expires_at.is_none();
    let command = Command::SetPolicy(SetPolicy {
        channel: selector.channel.clone(),
        patch: PolicyPatch {
            autonomy: Some(selector.chosen),
            expires_in_seconds: selector.seconds(policy),
            if_version: Some(policy.version),
            ..PolicyPatch::default()
        },
    });
    state.modals.pop();
    if same {
        return Vec::new();
    }
    submit::submit(state, command)
}

/// Puts the tool into its list, after a question where it may do more. The lists stay open for the next tool.
fn accept_lists(state: &mut State, lists: &ToolLists) -> Vec<Effect> {
    let Some(channel) = state.model.world().channels.get(&lists.channel) else {
        state.modals.pop();
        return Vec::new();
    };
    let policy = &channel.policy;
    let Some(patch) = lists.patch(policy) else {
        return Vec::new();
    };
    let (confirming, sends) = match lists.confirming {
        None if lists.raises(policy) => (Some(0), false),
        Some(0) => (None, false),
        None | Some(_) => (None, true),
    };
    let command = Command::SetPolicy(SetPolicy {
        channel: lists.channel.clone(),
        patch: PolicyPatch {
            if_version: Some(policy.version),
            ..patch
        },
    });
    if let Some(Modal::Tools(lists)) = state.modals.last_mut() {
        lists.confirming = confirming;
    }
    if sends {
        submit::submit(state, command)
    } else {
        Vec::new()
    }
}

/// The choice of a dialog that decides is taken, or the key of the shape dialog was pressed.
fn press(state: &mut State, action: Action) -> Vec<Effect> {
    let Some(dialog) = deciding::top(state) else {
        return Vec::new();
    };
    match (&dialog.about, action) {
        (About::Shape(shape), Action::DialogAgain) => {
            let (bound, request) = (shape.bound.clone(), shape::request(&shape.bound));
            deciding::send(state, &bound, request)
        }
        (About::Rule(_), Action::DialogAccept) => rule_editing::press(state),
        (About::Batch(_), Action::DialogAccept) => batching::press(state),
        (About::Shape(_) | About::Rule(_) | About::Batch(_), _) => Vec::new(),
    }
}

/// Closes a dialog that decides, without deciding.
fn cancel(state: &mut State) {
    if let Some(dialog) = deciding::top(state) {
        match dialog.about {
            About::Batch(_) => drop(batching::close(state)),
            About::Shape(_) | About::Rule(_) => drop(state.modals.pop()),
        }
    }
}
