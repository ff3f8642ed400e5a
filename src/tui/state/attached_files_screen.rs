//! Asking for the files of the entry that is selected in Session.

use crate::console::labels::problem_text;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, GetArtifact, GetContinuation, Query};
use crate::tui::message::Effect;
use crate::tui::state::app::{Dirty, State};
use crate::tui::state::screen::Screen;

/// Asks for what the selected entry shows.
pub fn ask(state: &mut State) -> Vec<Effect> {
    if state.screen != Screen::Session || state.replay.is_some() || !state.is_live() {
        return Vec::new();
    }
    let screens = &mut state.screens;
    let Some(position) = screens.session.selected else {
        return Vec::new();
    };
    let Some(held) = screens.session.entries.get(&position) else {
        return Vec::new();
    };
    let files = &mut screens.attached_files;
    let turn = files.unknown_turn(&held.entry);
    let turn = turn.map(|id| Query::GetContinuation(GetContinuation { id }));
    let pictures = files.unknown_pictures(&held.entry).into_iter();
    let pictures = pictures.map(|hash| Query::GetArtifact(GetArtifact { hash }));
    turn.into_iter()
        .chain(pictures)
        .map(Effect::Query)
        .collect()
}

/// Takes what was asked for. Others may have asked the same.
pub fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) {
    let files = &mut state.screens.attached_files;
    match (query, result) {
        (Query::GetContinuation(_), Ok(Answer::GetContinuation(turn))) => files.take_turn(turn),
        (Query::GetArtifact(GetArtifact { hash }), Ok(Answer::GetArtifact(artifact))) => {
            files.take_content(*hash, Ok(artifact));
        }
        (Query::GetArtifact(GetArtifact { hash }), Err(problem)) => {
            files.take_content(*hash, Err(problem_text(problem)));
        }
        _ => return,
    }
    state.touch(Dirty::Soon);
}
