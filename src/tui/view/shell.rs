//! What was run in the shell or the Python of a session, and what the last command of this console said: the newest last.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::protocol::enums::InterpreterKind;
use crate::tui::sanitize;
use crate::tui::state::shell::ShellPanel;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint;

/// Draws the end of it: as much as fits.
pub fn draw(theme: &Theme, panel: &ShellPanel, area: Rect, buf: &mut Buffer) {
    let lines = lines(panel, usize::from(area.width));
    let first = lines.len().saturating_sub(usize::from(area.height));
    for (at, (role, line)) in (0..).zip(lines.into_iter().skip(first)) {
        paint::text(buf, area, at, theme, role, &line);
    }
}

fn lines(panel: &ShellPanel, width: usize) -> Vec<(Role, String)> {
    let mut lines = Vec::new();
    let (none, prompt) = match panel.kind {
        InterpreterKind::Bash => ("no shell: the first command starts one", "$"),
        InterpreterKind::Python => ("no Python: the first line starts one", ">>>"),
    };
    match &panel.row {
        None => lines.push((Role::TextMuted, none.to_owned())),
        Some(row) => {
            for command in &row.recent {
                let who = if command.by_person { "person" } else { "agent" };
                let outcome = command.outcome.as_deref().unwrap_or("runs");
                let text = command.command.lines().next().unwrap_or_default();
                lines.push((Role::Outside, format!("{who} {prompt} {text}")));
                lines.push((Role::TextMuted, format!("  {outcome}")));
            }
            let text = match row.background {
                0 => None,
                1 => Some("a process runs on in the background".to_owned()),
                count => Some(format!("{count} processes run on in the background")),
            };
            lines.extend(text.map(|text| (Role::NoticeWarning, text)));
        }
    }
    match &panel.answer {
        None => {}
        Some(Err(problem)) => lines.push((Role::NoticeError, problem.clone())),
        Some(Ok(run)) => {
            lines.push((Role::TextStrong, "your last command printed:".to_owned()));
            let pieces = sanitize::block(&run.content, width);
            lines.extend(pieces.into_iter().map(|line| (Role::Outside, line)));
        }
    }
    if let Some(command) = &panel.running {
        lines.push((Role::TextStrong, format!("runs: {command}")));
        let pieces = sanitize::block(&panel.output, width);
        lines.extend(pieces.into_iter().map(|line| (Role::Outside, line)));
    }
    lines
}
