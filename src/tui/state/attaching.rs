//! Files of the console's machine: attached to the next message of a session, and files of answers saved here.
//!
//! Nothing here reads or writes a file.

use std::path::PathBuf;

use crate::console::format::bytes;
use crate::console::model::Tone;
use crate::protocol::artifact::NewAttachment;
use crate::protocol::ids::SessionId;
use crate::tui::message::Effect;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::selection;

/// Characters shown of the name of a file.
const NAME_CHARS: usize = 40;

/// `:attach FILE`; without a file, what is attached is left out.
pub fn attach(state: &mut State, file: Option<&str>) -> Vec<Effect> {
    let Some(session) = selection::focused_session(state) else {
        return state.warn("attach: open a session first");
    };
    match file {
        Some(file) => vec![Effect::ReadFile(session, PathBuf::from(file))],
        None => {
            let files = state.model.host_mut().drafts.take_files(session);
            let text = match files.len() {
                0 => "attach FILE: it goes with the next message to this session".to_owned(),
                count => format!("{count} attached file(s) left out"),
            };
            state.tell(text)
        }
    }
}

/// A file was read, or not: in words.
pub fn read(state: &mut State, session: SessionId, file: Result<NewAttachment, String>) {
    match file {
        Ok(file) => {
            state.model.host_mut().drafts.attach(session, file);
            let files = listed(state, session);
            let text = format!("the next message goes{files}; :attach alone removes the files");
            state.toast(Tone::Info, text);
        }
        Err(why) => state.toast(Tone::Error, why),
    }
}

/// `:save NAME`: a file of the session that has the focus.
pub fn save(state: &mut State, name: Option<&str>) -> Vec<Effect> {
    let Some(session) = selection::focused_session(state) else {
        return state.warn("save: open a session first");
    };
    let Some(name) = name else {
        let text = "save NAME: a file of this session into the current directory";
        return state.tell(text);
    };
    if !state.is_live() {
        return state.warn("not saved: not connected");
    }
    state.toast(Tone::Info, "saving …");
    vec![Effect::SaveFile(session, name.to_owned())]
}

/// The files that go with the next message to a session; empty for none.
pub fn listed(state: &State, session: SessionId) -> String {
    let file = |file: &NewAttachment| {
        let size = file.data.trim_end_matches('=').len() * 3 / 4;
        format!(
            "{} ({})",
            sanitize::line(&file.name, NAME_CHARS),
            bytes(size as u64)
        )
    };
    let files = state.model.host().drafts.files(session);
    if files.is_empty() {
        return String::new();
    }
    let names: Vec<String> = files.iter().map(file).collect();
    format!(" with {}", names.join(", "))
}
