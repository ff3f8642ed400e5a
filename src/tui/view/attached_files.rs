//! The files of the selected entry of a transcript: name and size of each, and what a picture shows.

use std::sync::Arc;

use ratatui::text::{Line, Span};

use crate::console::format;
use crate::tui::pictures::graphics::Protocol;
use crate::tui::pictures::{self, PictureKey};
use crate::tui::sanitize;
use crate::tui::state::attached_files::{AttachedFiles, MAX_SHOWN, NamedFile, is_picture};
use crate::tui::theme::depth::ColorDepth;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::cache::{LinkedLines, PicturePart, ViewCache};
use crate::tui::view::paint::span;

/// Columns before a file.
const INDENT: usize = 2;
/// Most columns of a picture.
const COLUMNS: usize = 80;
/// Most rows of a picture.
const ROWS: u16 = 20;

/// The lines of these files, at a width in cells.
pub fn lines(
    theme: &Theme,
    cache: &ViewCache,
    known: &AttachedFiles,
    files: &[NamedFile],
    width: usize,
) -> LinkedLines {
    let room = width.saturating_sub(INDENT);
    let said = |text: &str| Line::from(span(theme, Role::TextMuted, sanitize::line(text, room)));
    let graphics = cache.pictures().graphics();
    let (mut out, mut pictures) = (Vec::new(), Vec::new());
    for (name, file) in files {
        let (size, kind) = (format::bytes(file.size), &file.media_type);
        out.push(said(&format!("{name} ({kind}, {size})")));
        let columns = u16::try_from(room.min(COLUMNS)).unwrap_or(0);
        // Without colours a picture says nothing.
        let is_off = cache.depth() == ColorDepth::None || graphics.protocol == Protocol::Off;
        if !is_picture(file) || is_off || columns < 4 {
            continue;
        }
        if file.size > MAX_SHOWN {
            let most = format::bytes(MAX_SHOWN);
            out.push(said(&format!("not shown: larger than {most}")));
            continue;
        }
        if !known.is_asked(file.hash) {
            continue;
        }
        let key = PictureKey {
            hash: file.hash,
            columns,
            rows: ROWS,
            graphics,
        };
        let content = known.content(file.hash);
        let decoded = match content {
            Some(Ok(content)) => cache.pictures().get(key, content),
            Some(Err(_)) | None => None,
        };
        match (content, decoded.as_deref()) {
            (Some(Err(why)), _) | (_, Some(Err(why))) => {
                out.push(said(&format!("not shown: {why}")));
            }
            (_, Some(Ok(picture))) => {
                pictures.extend(picture.payload.as_ref().map(|payload| PicturePart {
                    line: out.len(),
                    column: INDENT,
                    key,
                    payload: Arc::clone(payload),
                }));
                out.extend(pictures::lines(picture, cache.depth()));
            }
            (_, None) => out.push(said("loading \u{2026}")),
        }
    }
    for line in &mut out {
        line.spans.insert(0, Span::raw(" ".repeat(INDENT)));
    }
    LinkedLines::illustrated(out, pictures)
}
