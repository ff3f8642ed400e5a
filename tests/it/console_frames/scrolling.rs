//! A terminal that scrolls shows what one shows that is written cell by cell.

use std::io::{self, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};

use leverframe::text::width::{display_width, disputed_width};
use leverframe::tui::scrolling::ScrollingBackend;
use proptest::prelude::*;
use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use ratatui::style::{Color, Style};

const COLUMNS: u16 = 12;
const ROWS: u16 = 14;

/// A line that can be read at its other end.
#[derive(Debug, Clone, Default)]
struct Line(Arc<Mutex<Vec<u8>>>);

impl Line {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is seen of a cell: one that nothing was written to looks like a space.
fn look(screen: &vt100::Screen, y: u16, x: u16) -> (String, vt100::Color, vt100::Color, bool) {
    let cell = screen.cell(y, x).unwrap();
    let text = cell.contents().trim_end().to_owned();
    let color = if text.is_empty() {
        vt100::Color::Default
    } else {
        cell.fgcolor()
    };
    (text, color, cell.bgcolor(), cell.is_wide_continuation())
}

/// The same frames on a terminal that scrolls and on one that does not.
struct Both {
    shown: Buffer,
    lines: [Line; 2],
    scrolls: ScrollingBackend<Line>,
    writes: CrosstermBackend<Line>,
    screens: [vt100::Parser; 2],
}

impl Both {
    fn new() -> Self {
        let lines = [Line::default(), Line::default()];
        Self {
            shown: Buffer::empty(Rect::new(0, 0, COLUMNS, ROWS)),
            scrolls: ScrollingBackend::new(lines[0].clone(), Size::new(COLUMNS, ROWS)),
            writes: CrosstermBackend::new(lines[1].clone()),
            lines,
            screens: [0, 1].map(|_| {
                vt100::Parser::new(
                    NonZeroU16::new(ROWS).unwrap(),
                    NonZeroU16::new(COLUMNS).unwrap(),
                    0,
                )
            }),
        }
    }

    /// Draws a frame on both; bytes that each took.
    fn draw(&mut self, rows: &[String]) -> [usize; 2] {
        let mut next = Buffer::empty(self.shown.area);
        for (y, text) in (0_u16..).zip(rows) {
            // A style by the text: rows that are the same look the same.
            let color = if text.len().is_multiple_of(2) {
                Color::Reset
            } else {
                Color::Red
            };
            next.set_stringn(0, y, text, usize::from(COLUMNS), Style::new().fg(color));
            next.set_style(Rect::new(0, y, COLUMNS, 1), Style::new().bg(color));
        }
        let cells = self.shown.diff(&next);
        self.scrolls.draw(cells.iter().copied()).unwrap();
        self.writes.draw(cells.iter().copied()).unwrap();
        self.shown = next;
        let bytes = [self.lines[0].take(), self.lines[1].take()];
        for (screen, bytes) in self.screens.iter_mut().zip(&bytes) {
            screen.process(bytes);
        }
        let [scrolled, written] = [0, 1].map(|at| self.screens[at].screen());
        for y in 0..ROWS {
            for x in 0..COLUMNS {
                assert_eq!(
                    look(scrolled, y, x),
                    look(written, y, x),
                    "row {y}, column {x} of {rows:#?}\n{}",
                    scrolled.contents()
                );
            }
        }
        bytes.map(|bytes| bytes.len())
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => Just(String::new()),
        6 => "[a-c]{1,14}",
        2 => "[ab世🙂]{1,9}",
        1 => Just("│          │".to_owned()),
    ]
}

/// What becomes of a screen: rows of a region move, and some rows change.
#[derive(Debug, Clone)]
struct Change {
    first: usize,
    last: usize,
    by: usize,
    up: bool,
    rows: Vec<(usize, String)>,
}

fn change() -> impl Strategy<Value = Change> {
    let row = 0..usize::from(ROWS);
    (
        row.clone(),
        row.clone(),
        0..6_usize,
        any::<bool>(),
        prop::collection::vec((row, text()), 0..4),
    )
        .prop_map(|(one, other, by, up, rows)| Change {
            first: one.min(other),
            last: one.max(other),
            by,
            up,
            rows,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn scrolled_or_written_it_shows_the_same(
        first in prop::collection::vec(text(), usize::from(ROWS)),
        changes in prop::collection::vec(change(), 1..8),
    ) {
        let mut rows = first;
        let mut both = Both::new();
        both.draw(&rows);
        for change in changes {
            let region = &mut rows[change.first..=change.last];
            let by = change.by.min(region.len());
            if change.up {
                region.rotate_left(by);
            } else {
                region.rotate_right(by);
            }
            for (at, text) in change.rows {
                rows[at] = text;
            }
            both.draw(&rows);
        }
    }
}

/// Rows of which no two are the same.
fn lines(from: usize) -> Vec<String> {
    (from..from + usize::from(ROWS))
        .map(|n| {
            format!(
                "{:012x}",
                (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16
            )
        })
        .collect()
}

#[test]
fn what_moved_is_not_written_again() {
    for by in [1, 3] {
        let mut both = Both::new();
        both.draw(&lines(100));
        let [up, written] = both.draw(&lines(100 + by));
        assert!(
            up * 5 < written * 2,
            "{by} up: {up} bytes, {written} otherwise"
        );
        let [down, written] = both.draw(&lines(100));
        assert!(
            down * 5 < written * 2,
            "{by} down: {down} bytes, {written} otherwise"
        );
    }
    // A frame around what moves stays where it is.
    let mut framed = lines(100);
    framed[0] = "head".to_owned();
    framed[13] = "foot".to_owned();
    let mut both = Both::new();
    both.draw(&framed);
    framed[1..13].rotate_left(1);
    framed[12] = "what is new".to_owned();
    let [scrolled, written] = both.draw(&framed);
    assert!(
        scrolled * 5 < written * 2,
        "{scrolled} bytes, {written} otherwise"
    );
}

#[test]
fn after_it_was_emptied_it_is_written_as_it_is() {
    let mut both = Both::new();
    both.draw(&lines(100));
    // Another size than the one it began with: what the terminal shows is not known any more.
    let wide = Buffer::with_lines(["x".repeat(usize::from(COLUMNS) + 1)]);
    let cells: Vec<_> = Buffer::empty(wide.area).diff(&wide);
    both.scrolls.draw(cells.into_iter()).unwrap();
    both.lines[0].take();
    let mut moved = both.shown.clone();
    moved.content.rotate_left(usize::from(COLUMNS));
    let cells = both.shown.diff(&moved);
    both.scrolls.draw(cells.iter().copied()).unwrap();
    both.writes.draw(cells.iter().copied()).unwrap();
    assert_eq!(both.lines[0].take(), both.lines[1].take());
}

/// Clusters that some terminals draw character by character: vt100 is one of them.
fn disputed_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-d│]{1,3}",
        1 => Just("👩\u{200d}👩\u{200d}👧".to_owned()),
        1 => Just("🇩🇪".to_owned()),
        1 => Just("❤\u{fe0f}".to_owned()),
        1 => Just("1\u{fe0f}\u{20e3}".to_owned()),
        1 => Just("👍🏽".to_owned()),
        1 => Just("世".to_owned()),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

/// Draws frames one after the other; what is written of each on a terminal that knows no joined clusters.
fn draw_frames(frames: &[Vec<String>]) -> Vec<(Buffer, vt100::Parser)> {
    let line = Line::default();
    let area = Rect::new(0, 0, COLUMNS, ROWS);
    let mut shown = Buffer::empty(area);
    let mut backend = ScrollingBackend::new(line.clone(), Size::new(COLUMNS, ROWS));
    let mut bytes = Vec::new();
    let mut screens = Vec::new();
    for rows in frames {
        let mut next = Buffer::empty(area);
        for (y, text) in (0_u16..).zip(rows) {
            next.set_stringn(0, y, text, usize::from(COLUMNS), Style::new());
        }
        backend.draw(shown.diff(&next).into_iter()).unwrap();
        bytes.extend(line.take());
        let (rows, columns) = (NonZeroU16::new(ROWS), NonZeroU16::new(COLUMNS));
        let mut screen = vt100::Parser::new(rows.unwrap(), columns.unwrap(), 0);
        screen.process(&bytes);
        screens.push((next.clone(), screen));
        shown = next;
    }
    screens
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_cluster_whose_width_terminals_dispute_moves_nothing_and_leaves_nothing_behind(
        frames in prop::collection::vec(
            prop::collection::vec(disputed_text(), usize::from(ROWS)), 1..4),
    ) {
        for (shown, screen) in draw_frames(&frames) {
            for y in 0..ROWS {
                let mut x = 0;
                while x < COLUMNS {
                    let symbol = shown.cell((x, y)).unwrap().symbol();
                    let width = u16::try_from(display_width(symbol)).unwrap().max(1);
                    if disputed_width(symbol).is_none() {
                        let drawn = screen.screen().cell(y, x).unwrap().contents();
                        prop_assert_eq!(
                            drawn.trim_end(), symbol.trim_end(),
                            "row {}, column {} of {:?}\n{}", y, x, shown, screen.screen().contents()
                        );
                    }
                    x += width;
                }
            }
        }
    }
}
