//! Text fields: at the bottom for one line, a box for several.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::console::decision::Bound;
use crate::console::world::session_name;
use crate::protocol::command::MAX_TEXT_BYTES;
use crate::protocol::enums::InterpreterKind;
use crate::protocol::session::MAX_PREFERENCES;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::attaching;
use crate::tui::state::lists;
use crate::tui::state::text_dialog::{Below, Completion, TextDialog, TextPurpose};
use crate::tui::state::text_field::{Lines, TextField};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint::{self, span};
use crate::tui::view::{memory, rules, shell, transcript};

/// Rows of a dialog with a note and one line.
pub const HEIGHT: u16 = 4;
/// Rows for the choices of the command line.
const CHOICES: u16 = 6;

/// What a filter takes.
const ROW_WORDS: &str = "words that a row shows; enter keeps them, esc shows all";

/// Draws the entry on top.
pub fn draw(state: &State, theme: &Theme, entry: &TextDialog, area: Rect, buf: &mut Buffer) {
    let (title, note) = words(state, entry);
    let extra = match entry.purpose.below() {
        // Always as many, so that the line stays where it is while choices come and go.
        Below::Choices => CHOICES.min(area.height.saturating_sub(4)),
        Below::Matches => 1,
        Below::Shell => area.height.saturating_sub(5),
        Below::Nothing => 0,
    };
    let rows = match entry.field.kind() {
        Lines::One => 1 + extra,
        Lines::Many => paint::cells(entry.field.lines().len())
            .saturating_add(1)
            .clamp(6, (area.height / 2).max(6)),
    };
    let error_rows = u16::from(entry.error.is_some());
    let note_rows = u16::from(!note.is_empty());
    let height = (rows + note_rows + error_rows + 2).min(area.height);
    // At the bottom, so that what the text is about stays visible above it.
    let target = Rect {
        y: area.bottom() - height,
        height,
        ..area
    };
    Clear.render(target, buf);
    buf.set_style(target, theme.style(Role::Dialog));
    let inner = paint::padded(paint::panel(buf, target, theme, &title, true));
    let mut at = 0;
    if !note.is_empty() {
        paint::text(buf, inner, 0, theme, Role::TextMuted, &note);
        at = 1;
    }
    let field_rows = inner
        .height
        .saturating_sub(at + error_rows + extra)
        .min(rows - extra);
    let field_area = Rect {
        y: inner.y + at,
        height: field_rows,
        ..inner
    };
    field(theme, &entry.field, field_area, buf);
    let below = at + field_rows;
    match entry.purpose.below() {
        Below::Choices => {
            choices(theme, &entry.choices, extra, inner, below, buf);
        }
        Below::Matches => {
            let found = state
                .screens
                .session
                .search
                .as_ref()
                .map_or_else(String::new, |s| {
                    let further = state
                        .screens
                        .session
                        .background_search
                        .as_ref()
                        .map_or_else(String::new, |background_search| {
                            format!("; {}", transcript::progress(background_search))
                        });
                    format!(
                        "{} of {} loaded entries match{further}",
                        s.matches.len(),
                        state.screens.session.entries.len()
                    )
                });
            paint::put(buf, inner, below, theme, Role::TextMuted, &found);
        }
        Below::Shell => {
            let rows = Rect {
                y: inner.y + below,
                height: extra,
                ..inner
            };
            shell::draw(theme, &state.screens.shell, rows.intersection(inner), buf);
        }
        Below::Nothing => {}
    }
    if let Some(error) = &entry.error {
        paint::text(buf, inner, below + extra, theme, Role::NoticeError, error);
    }
}

/// The first choices, each with what it is; the last row counts what does not fit.
fn choices(
    theme: &Theme,
    choices: &[Completion],
    rows: u16,
    inner: Rect,
    below: u16,
    buf: &mut Buffer,
) {
    let width = usize::from(inner.width);
    let rows = usize::from(rows);
    let fit = if choices.len() > rows {
        rows.saturating_sub(1)
    } else {
        rows
    };
    let words = (width / 3).clamp(14, 32).min(width);
    let mut at = below;
    for choice in choices.iter().take(fit) {
        let word = choice.line.get(choice.from..).unwrap_or(&choice.line);
        let note = sanitize::line(&choice.note, width.saturating_sub(words + 1));
        let line = Line::from(vec![
            span(theme, Role::Outside, sanitize::column(word, words)),
            Span::raw(" "),
            span(theme, Role::TextMuted, note),
        ]);
        paint::line(buf, inner, at, &line);
        at = at.saturating_add(1);
    }
    if choices.len() > fit {
        let more = format!("and {} more", choices.len() - fit);
        paint::put(buf, inner, at, theme, Role::TextMuted, &more);
    }
}

/// What enter does with a message, and how long the message is.
fn sends(what: &str, entry: &TextDialog) -> String {
    let size = entry.field.bytes();
    format!("{what}, alt-enter starts a new line · {size} of {MAX_TEXT_BYTES} bytes")
}

/// What an answer is about: the question that the agent asks, else the tool whose result it replaces.
fn answer_words(state: &State, bound: &Bound) -> (String, String) {
    let approval = state.model.world().approvals.get(&bound.approval_id);
    let question = approval.and_then(|one| one.question.as_deref());
    let Some(question) = question else {
        return (
            format!("Answer instead of {}", bound.title),
            "The model gets this text in place of the tool's result.".to_owned(),
        );
    };
    let has_choices = approval.is_some_and(|one| !one.choices().is_empty());
    let choose = if has_choices {
        "A number takes a choice. "
    } else {
        ""
    };
    ("Answer the agent".to_owned(), {
        let first = question.lines().next().unwrap_or_default();
        format!("{choose}It asks: {}", sanitize::line(first, 400))
    })
}

fn words(state: &State, entry: &TextDialog) -> (String, String) {
    match &entry.purpose {
        TextPurpose::DenyReason(bound) => (
            format!("Deny {}: reason", bound.title),
            "The model reads this and goes on.".to_owned(),
        ),
        TextPurpose::EditArguments(bound) => (
            format!("Edit arguments of {}", bound.title),
            "JSON. It stays pending under a new revision; allow it then.".to_owned(),
        ),
        TextPurpose::Answer(bound) => answer_words(state, bound),
        TextPurpose::Code(bound, _) => {
            let code = state
                .model
                .world()
                .approvals
                .get(&bound.approval_id)
                .map_or("", |a| a.short_code.as_str());
            (
                format!("CRITICAL: {}", bound.title),
                format!("Type the code {code} to let this happen; esc closes."),
            )
        }
        TextPurpose::Say(id, _) => {
            let place = state
                .model
                .world()
                .sessions
                .get(id)
                .map_or_else(String::new, |s| {
                    let name = session_name(s);
                    format!(" to {} on {}", sanitize::line(name, 40), s.channel)
                });
            (
                format!("AS THE BOT{place}"),
                sends("enter sends it as the bot", entry),
            )
        }
        TextPurpose::Compose(id) => {
            let place = state
                .model
                .world()
                .sessions
                .get(id)
                .map_or_else(String::new, |s| format!(" on {}", s.channel));
            let files = attaching::listed(state, *id);
            (
                format!("Message{place}{files}"),
                sends("enter sends", entry),
            )
        }
        TextPurpose::Shell(id) => {
            let sessions = &state.model.world().sessions;
            let place = sessions.get(id).map_or_else(String::new, |session| {
                let name = session_name(session);
                format!(" of {} on {}", sanitize::line(name, 40), session.channel)
            });
            let (name, other) = match state.screens.shell.kind {
                InterpreterKind::Bash => ("Shell", "Python"),
                InterpreterKind::Python => ("Python", "shell"),
            };
            (
                format!("{name}{place}"),
                format!(
                    "enter runs a line, as you: nobody is asked, the audit has it; tab: {other}"
                ),
            )
        }
        TextPurpose::Preferences(_) => (
            "Preferences of this session".to_owned(),
            format!(
                "Models read them in every turn; an empty text removes them · {} of {MAX_PREFERENCES} bytes",
                entry.field.bytes()
            ),
        ),
        TextPurpose::Search => ("Search".to_owned(), String::new()),
        TextPurpose::CommandLine => ("Command".to_owned(), String::new()),
        TextPurpose::FilterModels => ("Filter models".to_owned(), ROW_WORDS.to_owned()),
        TextPurpose::Filter(screen) => {
            let note = lists::own_filter(state, *screen).map_or(ROW_WORDS, |own| own.note);
            (format!("Filter {}", screen.title()), note.to_owned())
        }
        TextPurpose::Memory(text) => memory::entry_words(text),
        TextPurpose::Rule(purpose) => rules::entry_words(*purpose),
        TextPurpose::Assignment(bound) => (
            format!("Assign {}", bound.title),
            "NAME note; - for nobody. Decides nothing: others still can.".to_owned(),
        ),
        TextPurpose::BatchReason(calls) => (
            format!("Deny {}: reason", calls.name()),
            "The model reads this with each; the table comes next.".to_owned(),
        ),
        TextPurpose::RuleLife | TextPurpose::ShapeLife => (
            "Until".to_owned(),
            "30m, 8h, 7d, a day (2026-12-24) or a time (2026-12-24 18:00) of this machine"
                .to_owned(),
        ),
        TextPurpose::RuleValue => (
            "Compare with".to_owned(),
            "words as a shell would be given them; a pattern takes *, ? and a last word **"
                .to_owned(),
        ),
    }
}

/// Draws a field with its cursor in view.
pub fn field(theme: &Theme, field: &TextField, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let (row, column) = field.cursor();
    let height = usize::from(area.height);
    let first = (row + 1).saturating_sub(height);
    let width = usize::from(area.width);
    for (at, line) in (0..area.height).zip(field.lines().iter().skip(first)) {
        if first + usize::from(at) == row {
            paint::line(buf, area, at, &cursor_line(theme, line, column, width));
        } else {
            paint::text(buf, area, at, theme, Role::Outside, line);
        }
    }
}

/// The line of the cursor, scrolled sideways so that the cursor is in view.
fn cursor_line(theme: &Theme, line: &str, column: usize, width: usize) -> Line<'static> {
    use unicode_segmentation::UnicodeSegmentation;
    let before = line.get(..column).unwrap_or("");
    let rest = line.get(column..).unwrap_or("");
    let under = rest.graphemes(true).next();
    let after = under.map_or("", |g| rest.get(g.len()..).unwrap_or(""));
    let under = under.map_or_else(|| " ".to_owned(), sanitize::whole_line);
    let room = width.saturating_sub(sanitize::width(&under));
    // Whole graphemes from the left are dropped until the cursor fits.
    let mut kept: Vec<String> = Vec::new();
    let mut used = 0;
    for grapheme in before.graphemes(true).rev() {
        let text = sanitize::whole_line(grapheme);
        let cells = sanitize::width(&text);
        if used + cells > room {
            break;
        }
        used += cells;
        kept.push(text);
    }
    kept.reverse();
    let tail = sanitize::line(after, room.saturating_sub(used));
    Line::from(vec![
        span(theme, Role::Outside, kept.concat()),
        span(theme, Role::TextCursor, under),
        Span::styled(tail, theme.style(Role::Outside)),
    ])
}
