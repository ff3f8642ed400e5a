//! Wrapped lines that need not be computed again. Holds nothing that cannot be recomputed.

use std::collections::HashMap;
use std::sync::Arc;

use ratatui::text::Line;

use crate::console::ids::HostId;
use crate::tui::code_colors::{CodeColors, CodeLines};
use crate::tui::links::{self, Link, LinkPart, LinkScope, ShownLink};
use crate::tui::pictures::payload::Payload;
use crate::tui::pictures::placements::ShownRow;
use crate::tui::pictures::{PictureKey, Pictures};
use crate::tui::theme::depth::ColorDepth;

/// A picture among lines, of which the terminal may show more than half blocks.
#[derive(Debug, Clone)]
pub struct PicturePart {
    /// Number of its first line.
    pub line: usize,
    /// First column.
    pub column: usize,
    pub key: PictureKey,
    /// What the terminal is sent of it.
    pub payload: Arc<Payload>,
}

/// Wrapped lines of one thing, and the links and pictures in them.
#[derive(Debug, Default)]
pub struct LinkedLines {
    pub lines: Vec<Line<'static>>,
    links: Vec<LinkPart>,
    pictures: Vec<PicturePart>,
}

impl std::ops::Deref for LinkedLines {
    type Target = Vec<Line<'static>>;

    fn deref(&self) -> &Self::Target {
        &self.lines
    }
}

impl LinkedLines {
    /// Lines with pictures among them.
    pub fn illustrated(lines: Vec<Line<'static>>, pictures: Vec<PicturePart>) -> Self {
        let links = Vec::new();
        Self {
            lines,
            links,
            pictures,
        }
    }

    /// These lines with others before the last one.
    pub fn with(&self, others: Self) -> Self {
        let (mut lines, links) = (self.lines.clone(), self.links.clone());
        let last = lines.len().saturating_sub(1);
        lines.splice(last..last, others.lines);
        let pictures = others.pictures.into_iter().map(|part| PicturePart {
            line: part.line + last,
            ..part
        });
        Self {
            lines,
            links,
            pictures: pictures.collect(),
        }
    }
}

impl From<Vec<Line<'static>>> for LinkedLines {
    fn from(lines: Vec<Line<'static>>) -> Self {
        Self::illustrated(lines, Vec::new())
    }
}

/// Wrapped lines of one thing.
pub type Lines = Arc<LinkedLines>;

/// What a transcript entry's lines depend on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EntryKey {
    pub position: u64,
    /// Version of the entry there.
    pub version: u64,
    /// Columns.
    pub width: u16,
    pub folded: bool,
    /// Whether its text is shown elsewhere.
    pub repeated: bool,
    /// Whether texts are shown as they were written.
    pub raw: bool,
}

/// What a card's lines depend on, as text.
pub type CardKey = String;

/// Entries of one generation; two are kept, so that what is on screen is never among what is forgotten.
const MOST_ENTRIES: usize = 500;

#[derive(Debug, Default)]
pub struct ViewCache {
    host: HostId,
    card: Option<(CardKey, Lines)>,
    entries: HashMap<EntryKey, Lines>,
    older: HashMap<EntryKey, Lines>,
    stream: Option<(String, usize, u16, Lines)>,
    code: CodeColors,
    pictures: Pictures,
    depth: ColorDepth,
    scope: LinkScope,
    shown: Vec<ShownLink>,
    shown_pictures: Vec<ShownRow>,
}

impl ViewCache {
    /// Forgets everything: another theme.
    pub fn clear(&mut self) {
        let pictures = Pictures::new(self.pictures.graphics());
        *self = Self::new(self.depth, self.scope);
        self.pictures = pictures;
    }

    /// A cache for a terminal with so many colours that looks for links of this scope.
    pub fn new(depth: ColorDepth, scope: LinkScope) -> Self {
        Self {
            depth,
            scope,
            ..Self::default()
        }
    }

    /// The colours of the terminal.
    pub fn depth(&self) -> ColorDepth {
        self.depth
    }

    pub fn pictures(&self) -> &Pictures {
        &self.pictures
    }

    /// The same, to take those that wait, and to put what came.
    pub fn pictures_mut(&mut self) -> &mut Pictures {
        &mut self.pictures
    }

    pub fn scope(&self) -> LinkScope {
        self.scope
    }

    /// A line was drawn there: so were the links in it, and the rows of pictures.
    pub fn drawn(&mut self, lines: &Lines, line: usize, (x, y): (u16, u16)) {
        let rows = lines.pictures.iter().filter_map(|part| {
            let row = u16::try_from(line.checked_sub(part.line)?).ok()?;
            (row < part.payload.rows).then(|| ShownRow {
                key: part.key,
                payload: Arc::clone(&part.payload),
                row,
                x: x.saturating_add(u16::try_from(part.column).unwrap_or(u16::MAX)),
                y,
            })
        });
        self.shown_pictures.extend(rows);
        let links = lines.links.iter().filter(|part| part.line == line);
        self.shown.extend(links.map(|part| ShownLink {
            x: x.saturating_add(u16::try_from(part.column).unwrap_or(u16::MAX)),
            y,
            text: part.text.clone(),
            target: Arc::clone(&part.target),
        }));
    }

    /// The links that were drawn since the last time.
    pub fn take_shown(&mut self) -> Vec<ShownLink> {
        std::mem::take(&mut self.shown)
    }

    /// The rows of pictures that were drawn since the last time.
    pub fn take_shown_pictures(&mut self) -> Vec<ShownRow> {
        std::mem::take(&mut self.shown_pictures)
    }

    fn linked(
        scope: LinkScope,
        links: impl FnOnce() -> Vec<Link>,
        lines: Vec<Line<'static>>,
    ) -> Lines {
        let links = if scope == LinkScope::None {
            Vec::new()
        } else {
            links::find(&lines, &links())
        };
        Arc::new(LinkedLines {
            lines,
            links,
            pictures: Vec::new(),
        })
    }

    /// The colours of code that is shown.
    pub fn code(&mut self) -> &mut CodeColors {
        &mut self.code
    }

    /// The colours of a text are there: what was drawn without them is drawn again.
    pub fn color(&mut self, key: u64, lines: CodeLines) {
        let is_plain = lines.iter().all(Vec::is_empty);
        self.code.put(key, lines);
        if !is_plain {
            self.card = None;
            self.entries.clear();
            self.older.clear();
            self.stream = None;
        }
    }

    /// Everything is of this host from now on: ids of two hosts may be the same.
    pub fn of(&mut self, host: HostId) {
        if self.host != host {
            self.clear();
            self.host = host;
        }
    }

    pub fn card(
        &mut self,
        key: CardKey,
        links: impl FnOnce() -> Vec<Link>,
        make: impl FnOnce(&CodeColors) -> Vec<Line<'static>>,
    ) -> Lines {
        if let Some((known, lines)) = &self.card
            && *known == key
        {
            return Arc::clone(lines);
        }
        self.code.make_room();
        let lines = Self::linked(self.scope, links, make(&self.code));
        self.card = Some((key, Arc::clone(&lines)));
        lines
    }

    pub fn entry(
        &mut self,
        key: EntryKey,
        links: impl FnOnce() -> Vec<Link>,
        make: impl FnOnce(&CodeColors) -> Vec<Line<'static>>,
    ) -> Lines {
        if self.entries.len() >= MOST_ENTRIES {
            self.older = std::mem::take(&mut self.entries);
        }
        let (older, code, scope) = (&mut self.older, &self.code, self.scope);
        let entry = self.entries.entry(key);
        Arc::clone(entry.or_insert_with_key(|key| {
            older
                .remove(key)
                .unwrap_or_else(|| Self::linked(scope, links, make(code)))
        }))
    }

    /// The lines of the finished paragraphs of an open stream: wrapped again only when one more is finished.
    pub fn stream(
        &mut self,
        id: &str,
        bytes: usize,
        width: u16,
        make: impl FnOnce(&CodeColors) -> Vec<Line<'static>>,
    ) -> Lines {
        if let Some((known, length, columns, lines)) = &self.stream
            && known == id
            && *length == bytes
            && *columns == width
        {
            return Arc::clone(lines);
        }
        let lines = Arc::new(LinkedLines::from(make(&self.code)));
        self.stream = Some((id.to_owned(), bytes, width, Arc::clone(&lines)));
        lines
    }
}
