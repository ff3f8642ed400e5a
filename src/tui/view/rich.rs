//! Texts of models as Markdown, and changes of files. No piece skips `sanitize`, and no style says more than the words.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::text::markdown::to_pieces;
use crate::text::markup::TextStyle;
use crate::tui::code_colors::{CodeColors, CodeKind, CodeSpan};
use crate::tui::sanitize;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint::span;

/// Columns before a line of code.
const CODE_INDENT: usize = 2;

/// A part of a line of the source.
struct Part {
    look: TextStyle,
    text: String,
    code: Vec<CodeSpan>,
}

pub fn markdown(theme: &Theme, code: &CodeColors, text: &str, width: usize) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    let mut line: Vec<Part> = Vec::new();
    for piece in to_pieces(text) {
        let language = piece.language.as_deref().unwrap_or_default();
        let colors = code.get(theme, language, CodeKind::Code, &piece.text);
        let mut parts = piece.text.split('\n').enumerate().map(|(index, text)| {
            let code = colors.as_ref().and_then(|lines| lines.get(index));
            let part = Part {
                look: piece.look,
                text: text.to_owned(),
                code: code.cloned().unwrap_or_default(),
            };
            Some(part).filter(|part| !part.text.is_empty())
        });
        line.extend(parts.next().flatten());
        for next in parts {
            flow(theme, &line, width, &mut out);
            line = next.into_iter().collect();
        }
    }
    flow(theme, &line, width, &mut out);
    out
}

/// The lines of code of a language, every byte of it.
pub fn code_lines(
    theme: &Theme,
    code: &CodeColors,
    language: &str,
    text: &str,
    width: usize,
) -> Vec<Line<'static>> {
    let colors = code.get(theme, language, CodeKind::Code, text);
    let plain = theme.style(Role::OutsideCode);
    let mut out = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        let spans = colors.as_ref().and_then(|lines| lines.get(index));
        let spans = spans.map_or(&[][..], Vec::as_slice);
        let styled = colored(theme, line, 0, plain, spans);
        out.extend(
            styled_rows(&styled, plain, width)
                .into_iter()
                .map(Line::from),
        );
    }
    out
}

/// A part of a line, which begins so many bytes into the line, with the colours of code on top of its style. Where the
/// colour changes before a mark or a joiner, the mark stays with what it stands on.
pub fn colored(
    theme: &Theme,
    text: &str,
    at: usize,
    style: Style,
    code: &[CodeSpan],
) -> Vec<(Style, String)> {
    let end = at + text.len();
    let mut out: Vec<(Style, String)> = Vec::new();
    let mut from = 0;
    let mut current = style;
    let edges = code.iter().flat_map(|(range, role)| {
        let colored = style.patch(theme.style(*role));
        [(range.start.max(at), colored), (range.end.max(at), style)]
    });
    for (edge, next) in edges.filter(|(edge, _)| *edge < end) {
        let edge = edge - at;
        if text.as_bytes().get(edge).is_some_and(u8::is_ascii) {
            if let Some(before) = text.get(from..edge).filter(|before| !before.is_empty()) {
                out.push((current, sanitize::revealed(before)));
            }
            from = edge;
        }
        current = next;
    }
    out.push((
        current,
        sanitize::revealed(text.get(from..).unwrap_or_default()),
    ));
    out
}

/// Whether a text shows changes of files.
pub fn is_diff(text: &str) -> bool {
    let mut lines = text.lines();
    lines.any(|line| line.starts_with("--- "))
        && lines.next().is_some_and(|line| line.starts_with("+++ "))
        && lines.any(|line| line.starts_with("@@ "))
}

/// The role of a line of a unified diff.
pub fn diff_role(line: &str, other: Role) -> Role {
    match line.as_bytes().first() {
        Some(b'@') if line.starts_with("@@") => Role::DiffHunk,
        Some(b'+') => Role::DiffAdd,
        Some(b'-') => Role::DiffRemove,
        _ => other,
    }
}

fn style(theme: &Theme, look: TextStyle) -> Style {
    let mut style = theme.style(if look.code || look.pre {
        Role::OutsideCode
    } else {
        Role::Outside
    });
    for (set, modifier) in [
        (look.strong, Modifier::BOLD),
        (look.emphasis, Modifier::ITALIC),
        (look.struck, Modifier::CROSSED_OUT),
        (look.link, Modifier::UNDERLINED),
    ] {
        if set {
            style = style.add_modifier(modifier);
        }
    }
    style
}

/// One line of the source, wrapped.
fn flow(theme: &Theme, line: &[Part], width: usize, out: &mut Vec<Line<'static>>) {
    let look = line.last().map(|part| part.look).unwrap_or_default();
    if look.pre {
        let text: String = line.iter().map(|part| part.text.as_str()).collect();
        let role = if look.diff {
            diff_role(&text, Role::OutsideCode)
        } else {
            Role::OutsideCode
        };
        let room = width.saturating_sub(CODE_INDENT);
        let plain = theme.style(role);
        let styled: Vec<_> = (line.iter())
            .flat_map(|part| colored(theme, &part.text, 0, plain, &part.code))
            .collect();
        for mut row in styled_rows(&styled, plain, room) {
            row.insert(0, Span::raw(" ".repeat(CODE_INDENT)));
            out.push(Line::from(row));
        }
        return;
    }
    let quote = if look.quote { "> " } else { "" };
    // Revealed piece by piece: what a piece begins with cannot change the one before it.
    let pieces: Vec<(TextStyle, String)> = line
        .iter()
        .map(|part| (part.look, sanitize::whole_line(&part.text)))
        .collect();
    let plain: String = pieces.iter().map(|(_, text)| text.as_str()).collect();
    // Where a wide character does not fit beside the mark, nothing hangs.
    let most = width.saturating_sub(quote.len() + 2).min(width / 2);
    let hang = Some(hang(&plain)).filter(|hang| *hang <= most).unwrap_or(0);
    let room = width.saturating_sub(hang + quote.len());
    // The mark of an item stands before the text that is wrapped beside it.
    let at = plain
        .char_indices()
        .nth(hang)
        .map_or(plain.len(), |(at, _)| at);
    let (mark, rest) = plain.split_at(at);
    let pieces: Vec<(Style, String)> = (pieces.into_iter())
        .map(|(look, text)| (style(theme, look), text))
        .collect();
    let plain = style(theme, TextStyle::default());
    let rows = wrap_styled(rest, styled_chars(&pieces).skip(hang), plain, room);
    for (index, mut spans) in rows.into_iter().enumerate() {
        let before = if index == 0 {
            mark.to_owned()
        } else {
            " ".repeat(hang)
        };
        spans.insert(0, span(theme, Role::TextMuted, format!("{quote}{before}")));
        out.push(Line::from(spans));
    }
}

fn styled_chars(pieces: &[(Style, String)]) -> impl Iterator<Item = (Style, char)> {
    let one = |(style, text): &(Style, String)| {
        let style = *style;
        text.chars().map(move |c| (style, c)).collect::<Vec<_>>()
    };
    pieces.iter().flat_map(one)
}

/// Revealed pieces of one line, wrapped; each keeps its style.
pub fn styled_rows(
    pieces: &[(Style, String)],
    plain: Style,
    room: usize,
) -> Vec<Vec<Span<'static>>> {
    let text: String = pieces.iter().map(|(_, text)| text.as_str()).collect();
    wrap_styled(&text, styled_chars(pieces), plain, room)
}

/// Wraps a revealed text whose characters have these styles; `plain` is the style of what wrapping adds.
fn wrap_styled(
    text: &str,
    styles: impl Iterator<Item = (Style, char)>,
    plain: Style,
    room: usize,
) -> Vec<Vec<Span<'static>>> {
    let mut styles = styles.peekable();
    let mut rows = Vec::new();
    for part in sanitize::block(text, room) {
        let mut spans: Vec<Span<'static>> = Vec::new();
        for c in part.chars() {
            // Spaces at a break are not drawn.
            while styles
                .next_if(|(_, known)| *known == ' ' && c != ' ')
                .is_some()
            {}
            let style = styles.next_if(|(_, known)| *known == c);
            let style = style.map_or(plain, |(style, _)| style);
            match spans.last_mut().filter(|last| last.style == style) {
                Some(last) => last.content.to_mut().push(c),
                None => spans.push(Span::styled(c.to_string(), style)),
            }
        }
        rows.push(spans);
    }
    rows
}

/// Columns of what stands before the text of a line: indentation, the mark of an item, the marks of a heading.
fn hang(line: &str) -> usize {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let hashes = text.bytes().take_while(|byte| *byte == b'#').count();
    let mark = match text.get(digits..digits + 2) {
        Some(". ") if digits > 0 => digits + 2,
        _ if text.starts_with("• ") => 2,
        _ if hashes > 0 && text.get(hashes..=hashes) == Some(" ") => hashes + 1,
        _ => 0,
    };
    indent + mark
}
