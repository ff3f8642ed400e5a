//! The Live screen: every session and what it is doing. The peek shows what waits, what runs, and what was said last.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::console::world::session_name;
use crate::console::{decision, format, preview};
use crate::protocol::enums::SessionState;
use crate::protocol::ids::SessionId;
use crate::protocol::session::{Session, StepBody, TranscriptBody, TranscriptEntry};
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::live_screen::{self, COLUMNS, cells, in_flight, status};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::{Body, known_of};
use crate::tui::view::list_panel::ListPanel;
use crate::tui::view::table::{Column, Fit, column};
use crate::tui::view::{detail, paint};

/// Lines of an entry in the peek.
const ENTRY_LINES: usize = 3;

const TABLE: [Column; 8] = [
    column(17, 0, Role::Text, Fit::Left),
    column(12, 0, Role::TextMuted, Fit::Left),
    column(12, 2, Role::Outside, Fit::Left),
    column(12, 0, Role::Outside, Fit::Rest),
    column(16, 5, Role::TextMuted, Fit::Left),
    column(7, 4, Role::TextMuted, Fit::Right),
    column(7, 3, Role::TextMuted, Fit::Right),
    column(4, 0, Role::TextMuted, Fit::Right),
];

pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let list = &state.screens.live;
    let title = if list.total == 0 {
        "Live".to_owned()
    } else {
        format!("Live  {} sessions", list.count())
    };
    let empty = vec![
        (Role::TextStrong, "No session yet.".to_owned()),
        (Role::Text, " ".to_owned()),
        (
            Role::TextMuted,
            "A message on any channel opens one; n opens one here, at the desk.".to_owned(),
        ),
    ];
    let sessions = &state.model.world().sessions;
    let panel = ListPanel {
        title,
        empty,
        cells: &|id: &SessionId| cells(state, *id),
        roles: &|id| vec![(0, role(state, sessions.get(id)))],
        region: Some(&HitRegion::Session),
        ..ListPanel::new(list, COLUMNS, &TABLE)
    };
    panel.draw_with_detail(state, theme, area, buf, report, |area| {
        let session = live_screen::selected(state)?;
        // Beside the list only what fits: the newest counts. With the keys it can be scrolled.
        let rows = if list.zoomed {
            usize::MAX
        } else {
            usize::from(area.height.saturating_sub(2))
        };
        let lines = peek(state, theme, session, detail::columns(area), rows);
        let name = session_name(session);
        let title = format!("{} · {}", session.channel, sanitize::whole_line(name));
        Some((title, lines))
    });
}

fn role(state: &State, session: Option<&Session>) -> Role {
    match session {
        Some(session) if session.state == SessionState::Active => {
            paint::status_role(state.model.world().session_status(session))
        }
        Some(_) | None => Role::StateIdle,
    }
}

/// What waits, what runs, and the end of the transcript: as many entries as fit into so many rows, at least the newest.
fn peek(
    state: &State,
    theme: &Theme,
    session: &Session,
    width: usize,
    rows: usize,
) -> Vec<Line<'static>> {
    let now = state.model.now.wall;
    let mut body = Body::new(theme, width);
    let since = format::age(now, session.updated_at);
    let queued = match session.queued {
        0 => String::new(),
        queued => format!(", {queued} queued behind"),
    };
    let text = format!("{}, changed {since} ago{queued}", status(state, session));
    body.field("state", role(state, Some(session)), &text);
    if let Some(external) = &session.external {
        body.field("agent", Role::Outside, &external.place());
        let role = match external.unasked {
            0 => Role::TextMuted,
            _ => Role::NoticeWarning,
        };
        body.field("assurance", role, &external.meaning());
    }
    if let Some(flood) = session.flood {
        body.field("paused", Role::StateWaiting, &flood.text());
    }
    let running = in_flight(state, session);
    if !running.is_empty() {
        body.field("in flight", Role::StateRunning, &running);
    }
    let asked = state.model.world().pending();
    for approval in asked.filter(|one| one.session_id == Some(session.id)) {
        let what = preview::one_line(approval);
        let left = approval.expires_at.map_or_else(String::new, |at| {
            format!(", {} left", format::left(now, at))
        });
        let since = format::age(now, approval.requested_at);
        let text = format!(
            "{} {what}: {} risk, {since} ago{left}",
            decision::title(approval),
            approval.risk
        );
        body.field("asks you", paint::risk_role(approval.risk), &text);
    }
    let known = known_of(state.screens.transcript_end.as_ref(), &session.id);
    let Some(entries) = body.known(known, "asking for what was said …") else {
        return body.lines;
    };
    body.heading("What was said last");
    let mut left = rows.saturating_sub(body.lines.len());
    let mut pieces: Vec<Vec<Line<'static>>> = Vec::new();
    for (at, entry) in entries.iter().enumerate().rev() {
        let mut piece = Body::new(theme, width);
        said(&mut piece, entry, entries.get(at + 1));
        if piece.lines.len() > left && !pieces.is_empty() {
            break;
        }
        left = left.saturating_sub(piece.lines.len());
        pieces.push(piece.lines);
    }
    body.lines.extend(pieces.into_iter().rev().flatten());
    body.lines
}

/// An entry in a few lines. An answer that the next entry repeats is left out.
fn said(body: &mut Body<'_>, entry: &TranscriptEntry, next: Option<&TranscriptEntry>) {
    let repeated = |text: &str| {
        matches!(next.map(|next| &next.body), Some(TranscriptBody::Step { step, .. })
            if matches!(&step.body, StepBody::Final { text: again, .. } if again == text))
    };
    match &entry.body {
        TranscriptBody::User { sender, text } => {
            body.excerpt(sender, Role::Outside, text, ENTRY_LINES);
        }
        TranscriptBody::Step { step, tool_calls } => {
            match &step.body {
                StepBody::Model { text, .. } if text.is_empty() || repeated(text) => {}
                StepBody::Model { text, .. } | StepBody::Final { text, .. } => {
                    body.excerpt("the bot", Role::OutsideModel, text, ENTRY_LINES);
                }
                StepBody::OperatorNote { by, text } => {
                    body.excerpt(by, Role::Text, text, ENTRY_LINES);
                }
                StepBody::Error { error } => {
                    body.excerpt(&error.code, Role::StateBad, &error.message, ENTRY_LINES);
                }
                StepBody::ToolResult {
                    name,
                    content,
                    is_error,
                    ..
                } => {
                    let role = if *is_error {
                        Role::StateBad
                    } else {
                        Role::TextMuted
                    };
                    body.excerpt("result", role, &format!("{name}: {content}"), 1);
                }
            }
            for call in tool_calls {
                let text = format!("{} {}: {}", call.name, call.state, call.args);
                body.excerpt("call", Role::StateRunning, &text, 1);
            }
        }
        TranscriptBody::State { state, error } => {
            let why = error.as_ref();
            let why = why.map_or_else(String::new, |error| format!(": {}", error.message));
            let text = format!("{state}{why}");
            body.excerpt("turn", Role::StateWaiting, &text, ENTRY_LINES);
        }
        TranscriptBody::Compacted { turns, .. } => {
            let text = format!("{turns} older turns are a summary from here on");
            body.excerpt("compacted", Role::TextMuted, &text, 1);
        }
    }
}
