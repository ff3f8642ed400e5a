//! Writes frames to a terminal, and lets it scroll what only moved.
//!
//! A streaming answer moves the whole screen up by a line; over a slow line, writing it again is the cost. Nothing here
//! decides what is shown: the screen is the same without it. A cell outside of the mirror is written as it comes.
//!
//! Terminals disagree about the width of joined emoji, flags and variation selectors. A row that has one, or had one,
//! is written whole, from the left, with an absolute move behind each: whatever the terminal drew too wide is written
//! over, and nothing moves. No terminal is asked, since an answer may never come.

use std::hash::BuildHasher as _;
use std::io::{self, Write};

use foldhash::fast::FixedState;
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect, Size};
use unicode_width::UnicodeWidthStr as _;

use crate::text::width::{display_width, disputed_width};
use crate::tui::links::{self, LinkTable};
use crate::tui::pictures::placements::has_pixels;

/// Frames with fewer changed rows than this are written as they are.
const LEAST_ROWS: usize = 4;

/// Rows that move together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scroll {
    /// First row of the region, from 0.
    pub first: u16,
    /// Last row of the region.
    pub last: u16,
    /// Rows that everything moves by, at least one.
    pub by: u16,
    /// To the top; to the bottom otherwise.
    pub up: bool,
}

/// A terminal on this writer.
#[derive(Debug)]
pub struct ScrollingBackend<W: Write> {
    inner: CrosstermBackend<W>,
    /// What the terminal shows; none where that is not known.
    mirror: Option<Buffer>,
    /// Where the links of cells lead.
    links: LinkTable,
}

impl<W: Write> ScrollingBackend<W> {
    /// Where the links of cells lead: whoever numbers cells says it there.
    pub fn links(&self) -> LinkTable {
        self.links.clone()
    }

    /// A terminal that shows nothing, of this size.
    pub fn new(writer: W, size: Size) -> Self {
        Self {
            inner: CrosstermBackend::new(writer),
            mirror: Some(Buffer::empty(Rect::from((Position::ORIGIN, size)))),
            links: LinkTable::default(),
        }
    }

    /// Writes cells, after a scroll where that leaves clearly fewer of them.
    fn write(&mut self, cells: &[(u16, u16, &Cell)]) -> io::Result<()> {
        let Some(mirror) = &mut self.mirror else {
            return put_out(&mut self.inner, &self.links, cells.iter().copied());
        };
        let mut rows: Vec<u16> = cells.iter().map(|(_, y, _)| *y).collect();
        rows.dedup();
        let mut disputed: Vec<u16> = rows
            .iter()
            .copied()
            .filter(|y| is_disputed_row(mirror, *y))
            .collect();
        let before = (rows.len() >= LEAST_ROWS).then(|| mirror.clone());
        if !put(mirror, cells) {
            self.mirror = None;
            return put_out(&mut self.inner, &self.links, cells.iter().copied());
        }
        // Pixels over cells do not scroll with these on every terminal.
        let before = before.filter(|before| {
            let mut cells = before.content.iter().chain(&mirror.content);
            !cells.any(has_pixels)
        });
        let scroll = before.and_then(|before| Some((find(&before, mirror)?, before)));
        if let Some((scroll, mut before)) = scroll {
            carry_out(&mut before, scroll);
            let left = before.diff(mirror);
            if left.len() * 4 <= cells.len() * 3 {
                // DECSTBM with SU or SD (ECMA-48, VT420). Attributes are reset after every draw, so what comes in is
                // empty.
                let direction = if scroll.up { 'S' } else { 'T' };
                write!(
                    self.inner,
                    "\x1b[{};{}r\x1b[{}{direction}\x1b[r",
                    scroll.first + 1,
                    scroll.last + 1,
                    scroll.by
                )?;
                disputed = (0..before.area.height)
                    .filter(|y| is_disputed_row(&before, *y))
                    .collect();
                return draw(&mut self.inner, &self.links, mirror, &disputed, &left);
            }
        }
        draw(&mut self.inner, &self.links, mirror, &disputed, cells)
    }
}

/// Writes cells as they are, each link opened and closed around its own.
fn put_out<'a, W: Write>(
    inner: &mut CrosstermBackend<W>,
    links: &LinkTable,
    cells: impl Iterator<Item = (u16, u16, &'a Cell)>,
) -> io::Result<()> {
    let cells: Vec<(u16, u16, &Cell)> = cells.collect();
    for run in
        cells.chunk_by(|(.., one), (.., next)| links::number_of(one) == links::number_of(next))
    {
        let begin = run.first().and_then(|(.., cell)| links.begin(cell));
        if let Some(begin) = &begin {
            inner.write_all(begin.as_bytes())?;
        }
        inner.draw(run.iter().copied())?;
        if begin.is_some() {
            inner.write_all(links::END.as_bytes())?;
        }
    }
    Ok(())
}

/// Whether a row has a cluster whose width terminals disagree about.
fn is_disputed_row(buffer: &Buffer, y: u16) -> bool {
    (0..buffer.area.width).any(|x| {
        let cell = buffer.cell((x, y));
        cell.is_some_and(|cell| disputed_width(cell.symbol()).is_some())
    })
}

/// Writes cells of a screen as it is to be: those rows whole that have disputed clusters, or `had` some.
fn draw<W: Write>(
    inner: &mut CrosstermBackend<W>,
    links: &LinkTable,
    screen: &Buffer,
    had: &[u16],
    cells: &[(u16, u16, &Cell)],
) -> io::Result<()> {
    for row in cells.chunk_by(|(_, one, _), (_, other, _)| one == other) {
        let Some((_, y, _)) = row.first() else {
            continue;
        };
        if had.contains(y) || is_disputed_row(screen, *y) {
            draw_whole_row(inner, links, screen, *y)?;
        }
    }
    let is_whole = |y: u16| had.contains(&y) || is_disputed_row(screen, y);
    let mut last = None;
    let plain = cells.iter().copied().filter(|(_, y, _)| {
        if last.is_none_or(|(row, _)| row != *y) {
            last = Some((*y, is_whole(*y)));
        }
        last.is_some_and(|(_, whole)| !whole)
    });
    put_out(inner, links, plain)
}

/// Writes a row from the left. Each part begins with an absolute move.
fn draw_whole_row<W: Write>(
    inner: &mut CrosstermBackend<W>,
    links: &LinkTable,
    screen: &Buffer,
    y: u16,
) -> io::Result<()> {
    let mut part: Vec<(u16, u16, &Cell)> = Vec::new();
    let mut x = 0;
    while let Some(cell) = screen.cell((x, y)) {
        let width = u16::try_from(display_width(cell.symbol()))
            .unwrap_or(1)
            .max(1);
        match disputed_width(cell.symbol()) {
            None => part.push((x, y, cell)),
            Some(most) => {
                put_out(inner, links, part.drain(..))?;
                // Where the terminal draws it narrower, nothing of before is left beside it.
                let mut blank = cell.clone();
                blank.set_symbol(" ");
                inner.draw((x..x + width).map(|at| (at, y, &blank)))?;
                // What runs over the last column goes on in the next row: only what surely fits is drawn there.
                let fits = usize::from(screen.area.width - x) >= most;
                let mut drawn = cell.clone();
                if !fits {
                    drawn.set_symbol(&plain(cell.symbol()));
                }
                inner.draw(std::iter::once((x, y, &drawn)))?;
            }
        }
        x += width;
    }
    put_out(inner, links, part.into_iter())
}

/// The first character of a cluster where it alone is as wide, else a box for each cell.
fn plain(cluster: &str) -> String {
    let width = display_width(cluster);
    let first: String = cluster.chars().take(1).collect();
    if display_width(&first) == width {
        first
    } else {
        "\u{25af}".repeat(width)
    }
}

/// Puts cells into a buffer; whether all of them lie inside. What a wide character covers looks as it does, and is
/// empty once it goes: nobody writes that.
fn put(buffer: &mut Buffer, cells: &[(u16, u16, &Cell)]) -> bool {
    cells.iter().all(|(x, y, cell)| {
        let Some(place) = buffer.cell_mut((*x, *y)) else {
            return false;
        };
        place.clone_from(cell);
        let width = u16::try_from(cell.symbol().width()).unwrap_or(1);
        for covered in 1..width {
            if let Some(place) = buffer.cell_mut((x.saturating_add(covered), *y)) {
                place.clone_from(cell);
                place.set_symbol(" ");
            }
        }
        true
    })
}

/// A number for each row: rows that look the same have the same. Others seldom do, and then a scroll gains nothing.
fn rows(buffer: &Buffer) -> Vec<u64> {
    let width = usize::from(buffer.area.width).max(1);
    let numbers = FixedState::default();
    let number = |row: &[Cell]| numbers.hash_one(row);
    buffer.content.chunks(width).map(number).collect()
}

/// The scroll that brings most rows of the new screen to where they belong, if any does.
pub fn find(old: &Buffer, new: &Buffer) -> Option<Scroll> {
    let (old, new) = (rows(old), rows(new));
    let height = old.len().min(new.len());
    let mut best: Option<(usize, Scroll)> = None;
    for by in 1..height.div_ceil(2) {
        for up in [true, false] {
            // Row `to` of the new screen is row `from` of the old one; a run of such rows moves together.
            let mut start = 0;
            let mut gained = 0_usize;
            for at in 0..=height - by {
                let (from, to) = if up { (at + by, at) } else { (at, at + by) };
                if at < height - by && old.get(from) == new.get(to) {
                    gained += usize::from(old.get(to) != new.get(to));
                    continue;
                }
                let scroll = Scroll {
                    first: u16::try_from(start).ok()?,
                    last: u16::try_from(at + by - 1).ok()?,
                    by: u16::try_from(by).ok()?,
                    up,
                };
                // What comes in empty has to be written.
                let worth = gained.saturating_sub(by);
                if worth > best.map_or(0, |(worth, _)| worth) {
                    best = Some((worth, scroll));
                }
                start = at + 1;
                gained = 0;
            }
        }
    }
    best.map(|(_, scroll)| scroll)
}

/// Does to a buffer what a terminal does with the scroll.
fn carry_out(buffer: &mut Buffer, scroll: Scroll) {
    let width = usize::from(buffer.area.width);
    let cells = usize::from(scroll.by) * width;
    let from = usize::from(scroll.first) * width;
    let to = (usize::from(scroll.last) + 1) * width;
    let Some(region) = buffer.content.get_mut(from..to) else {
        return;
    };
    let cells = cells.min(region.len());
    let emptied = if scroll.up {
        region.rotate_left(cells);
        region.len() - cells..region.len()
    } else {
        region.rotate_right(cells);
        0..cells
    };
    if let Some(emptied) = region.get_mut(emptied) {
        emptied.fill(Cell::default());
    }
}

impl<W: Write> Write for ScrollingBackend<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Write::flush(&mut self.inner)
    }
}

impl<W: Write> Backend for ScrollingBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let cells: Vec<_> = content.collect();
        self.write(&cells)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.inner.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.inner.clear_region(clear_type)?;
        self.mirror = match clear_type {
            ClearType::All => {
                let area = Rect::from((Position::ORIGIN, self.inner.size()?));
                Some(Buffer::empty(area))
            }
            ClearType::AfterCursor
            | ClearType::BeforeCursor
            | ClearType::CurrentLine
            | ClearType::UntilNewLine => None,
        };
        Ok(())
    }

    fn size(&self) -> io::Result<Size> {
        self.inner.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.inner.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.inner)
    }
}
