//! Letting the selected question wait for somebody, and saying who is on call. Nothing here decides anything; the
//! assignment is bound to what the card showed when its field opened.

use crate::console::decision::{self, Bound};
use crate::console::item;
use crate::console::{format, queue};
use crate::protocol::duration;
use crate::protocol::on_call::{
    AssignRequest, MAX_NOTE_CHARS, NOBODY, OnCall, OnCallRequest, OnCallStatus,
};
use crate::protocol::request::{AssignApproval, Command, GetOnCall, SetOnCall};
use crate::tui::action::Action;
use crate::tui::assets;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::modal::Modal;
use crate::tui::state::screen::Screen;
use crate::tui::state::text_dialog::{Completion, TextDialog, TextPurpose};
use crate::tui::state::{decide, opening, submit};

/// Opens the field for the selected question.
pub fn open(state: &mut State) -> Vec<Effect> {
    if let Some(why) = unavailable(state) {
        let text = format!("{}: {why}", Action::Assign.short());
        return state.warn(text);
    }
    let (Some(approval), Some(subject)) = (
        state.model.selected_approval(),
        decide::selected_subject(state),
    ) else {
        return Vec::new();
    };
    let bound = Bound {
        approval_id: approval.id,
        subject,
        seen_ms: 0,
        title: decision::title(approval),
    };
    let start = start(state, &bound);
    opening::open_begun(state, TextPurpose::Assignment(bound), &start);
    offer(state);
    // Somebody may have appeared since this console connected.
    vec![Effect::ask(GetOnCall { actor: None })]
}

/// Who can be named, as the engine says now.
pub fn learned(state: &mut State, mut on_call_status: OnCallStatus) {
    let known = &mut state.model.world_mut().on_call_status;
    if on_call_status.you.is_empty() {
        // An engine in this process is not told who asks.
        on_call_status.you = std::mem::take(&mut known.you);
        for own in &on_call_status.you {
            if !on_call_status.names.contains(own) {
                on_call_status.names.push(own.clone());
            }
        }
        on_call_status.names.sort();
    }
    *known = on_call_status;
    let field = state.modals.last();
    if let Some(Modal::Text(TextDialog {
        purpose: TextPurpose::Assignment(_),
        ..
    })) = field
    {
        offer(state);
    }
}

/// Why the selected item cannot be assigned.
pub fn unavailable(state: &State) -> Option<String> {
    let why = match state.model.selected() {
        _ if state.screen != Screen::Queue => "only on a card of the Queue",
        None => "nothing is selected",
        Some(key) if !item::is_open(state.model.world(), key) => "already settled",
        Some(key) if key.approval().is_none() => "only questions are assigned",
        Some(_) => submit::blocked(state)?,
    };
    Some(why.to_owned())
}

/// What the field begins with: whoever is on call; nobody, where it waits for somebody already.
fn start(state: &State, bound: &Bound) -> String {
    let waits = state
        .model
        .world()
        .approvals
        .get(&bound.approval_id)
        .is_some_and(|approval| approval.assignment.is_some());
    match &state.model.world().on_call_status.on_call {
        _ if waits => NOBODY.to_owned(),
        Some(one) => format!("{} ", one.name),
        None => String::new(),
    }
}

/// Offers the names that go on with what is written, with what is known of each.
pub fn offer(state: &mut State) {
    let on_call_status = &state.model.world().on_call_status;
    let Some(Modal::Text(entry)) = state.modals.last_mut() else {
        return;
    };
    let typed = entry.field.text();
    let typed = typed.trim_start();
    entry.choices = known(on_call_status)
        .into_iter()
        .filter(|(name, _)| typed == NOBODY || name.starts_with(typed))
        .map(|(name, note)| Completion {
            line: name,
            from: 0,
            note,
        })
        .collect();
}

/// Everybody who can be named, with a word about each.
pub fn known(on_call_status: &OnCallStatus) -> Vec<(String, String)> {
    let names = on_call_status.names.iter().map(|name| {
        let on_call = on_call_status
            .on_call
            .as_ref()
            .is_some_and(|one| one.name == *name);
        let note = match (on_call_status.is_me(name), on_call) {
            (true, true) => "you, on call",
            (true, false) => "you",
            (false, true) => "on call",
            (false, false) => "",
        };
        (name.clone(), note.to_owned())
    });
    let nobody = (NOBODY.to_owned(), "nobody in particular".to_owned());
    names.chain([nobody]).collect()
}

/// The name that is meant, and what is written behind it; else why there is none.
fn name_of(on_call_status: &OnCallStatus, text: &str) -> Result<(String, String), String> {
    let (name, rest) = on_call_status.split(text);
    let known = known(on_call_status);
    if known.iter().any(|(one, _)| one == name) {
        return Ok((name.to_owned(), rest.to_owned()));
    }
    let names = || known.iter().map(|(name, _)| name.as_str());
    if name.is_empty() {
        return Err(format!(
            "NAME note; known: {}",
            names().collect::<Vec<_>>().join(", ")
        ));
    }
    let hint = match assets::nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known: {}", names().collect::<Vec<_>>().join(", ")),
    };
    let name: String = name.chars().take(40).collect();
    Err(format!("nobody is called `{name}`; {hint}"))
}

/// What a finished field asks for.
pub fn request(state: &State, bound: &Bound, text: &str) -> Result<Command, String> {
    if !queue::is_as_shown(&state.model.hosts, &bound.subject) {
        return Err("it changed or was settled meanwhile".to_owned());
    }
    let (to, note) = name_of(&state.model.world().on_call_status, text)?;
    let length = note.chars().count();
    if length > MAX_NOTE_CHARS {
        return Err(format!(
            "the note has {length} characters; at most {MAX_NOTE_CHARS} are taken"
        ));
    }
    Ok(Command::AssignApproval(AssignApproval {
        approval_id: bound.approval_id,
        request: AssignRequest {
            to,
            note: Some(note).filter(|note| !note.is_empty()),
            digest: bound.subject.digest.clone(),
            revision: u32::try_from(bound.subject.revision).ok(),
        },
    }))
}

/// `:oncall NAME [8h] [note]`.
pub fn on_call(state: &mut State, text: Option<&str>) -> Vec<Effect> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        let text = in_words(&state.model.world().on_call_status);
        return state.tell(text);
    };
    // Whoever is not known here may be known there; the engine says which names there are.
    let (name, rest) = state.model.world().on_call_status.split(text);
    let (first, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let seconds = duration::seconds(first).and_then(|seconds| u32::try_from(seconds).ok());
    let note = if seconds.is_some() { behind } else { rest };
    let request = OnCallRequest {
        name: name.to_owned(),
        seconds,
        note: Some(note.trim().to_owned()).filter(|note| !note.is_empty()),
    };
    submit::submit(state, Command::SetOnCall(SetOnCall { request }))
}

/// Who is on call, in words.
fn in_words(on_call_status: &OnCallStatus) -> String {
    let until = |one: &OnCall| {
        one.until
            .map_or_else(String::new, |at| format!(" until {}", format::moment(at)))
    };
    match (&on_call_status.on_call, &on_call_status.ended) {
        (Some(one), _) => format!("{} is on call{}, said by {}", one.name, until(one), one.by),
        (None, Some(one)) => format!("nobody is on call; {} was{}", one.name, until(one)),
        (None, None) => "nobody is on call; :oncall NAME [8h] sets who is".to_owned(),
    }
}
