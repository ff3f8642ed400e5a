//! What a rehearsal showed, on the card of its call: named as a rehearsal, folded to its result and its first lines.

use crate::client::rehearsal_lines::file_line;
use crate::console::rehearsals::RehearsalState;
use crate::protocol::approval::Approval;
use crate::protocol::rehearsal::{HEADING, Rehearsal, RehearsalEnd};
use crate::tui::action::Action;
use crate::tui::code_colors::CodeColors;
use crate::tui::theme::roles::Role;
use crate::tui::view::card_body::Body;
use crate::tui::view::console::Console;
use crate::tui::view::diff::DiffLayout;

/// Files and lines of output that a folded card shows.
const FILES: usize = 6;
const LINES: usize = 6;

/// The lines of the rehearsal of an approval, where there is one. `diffs`: how changes of files are shown; none = the
/// card is folded.
pub fn draw(
    console: Console<'_>,
    approval: &Approval,
    diffs: Option<(&CodeColors, DiffLayout)>,
    body: &mut Body<'_>,
) {
    let Some(state) = console.model.host().rehearsals.of(approval) else {
        return;
    };
    body.rule(HEADING);
    match state {
        RehearsalState::Running => body.text(
            Role::NoticeInfo,
            "running in a throw-away copy of the workspace, without network …",
        ),
        RehearsalState::Refused(why) => body.text(Role::NoticeError, why),
        RehearsalState::Done(rehearsal) => match diffs {
            None => folded(console, rehearsal, body),
            Some(diffs) => whole(rehearsal, diffs, body),
        },
    }
}

fn head(rehearsal: &Rehearsal, body: &mut Body<'_>) {
    let is_good = rehearsal.ended == RehearsalEnd::Exited && rehearsal.exit_status == Some(0);
    let role = if is_good {
        Role::StateGood
    } else {
        Role::NoticeWarning
    };
    body.field("outcome", role, &rehearsal.outcome);
    body.field("would do", Role::TextStrong, &rehearsal.files_in_words());
    if let Some(why) = &rehearsal.incomplete {
        let text = format!("the list of files is incomplete: {why}");
        body.field("", Role::NoticeWarning, &text);
    }
}

fn folded(console: Console<'_>, rehearsal: &Rehearsal, body: &mut Body<'_>) {
    head(rehearsal, body);
    for file in rehearsal.files.iter().take(FILES) {
        body.field("", Role::Outside, &file_line(file));
    }
    let lines: Vec<&str> = rehearsal.output.lines().collect();
    let shown = lines.get(..LINES).unwrap_or(&lines);
    body.field("output", Role::Outside, &shown.join("\n"));
    let has_diff = rehearsal.files.iter().any(|file| file.diff.is_some());
    if lines.len() > shown.len() || rehearsal.files.len() > FILES || has_diff {
        let key = console.key_of(Action::Raw);
        let text = format!(
            "{} shows all of its output and what would change in the files",
            key.unwrap_or_else(|| ":raw".to_owned())
        );
        body.field("", Role::TextMuted, &text);
    }
}

fn whole(rehearsal: &Rehearsal, (code, layout): (&CodeColors, DiffLayout), body: &mut Body<'_>) {
    head(rehearsal, body);
    body.field("ran in", Role::Text, &rehearsal.sandbox);
    body.field("rehearsed by", Role::Text, &rehearsal.by);
    for file in &rehearsal.files {
        body.field("", Role::Outside, &file_line(file));
        if let Some(diff) = &file.diff {
            body.diff(code, &file.path, diff, layout);
        }
    }
    body.field("output", Role::Outside, rehearsal.output.trim_end());
}
