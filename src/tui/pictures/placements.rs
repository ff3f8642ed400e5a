//! Which pixels the terminal shows, and the bytes that make it show those of the next frame.
//!
//! A frame is drawn with half blocks. Where a picture stands in it, its cells are exchanged: for characters that show
//! parts of what kitty holds, or for blanks over which the pixels are written after the frame. These blanks have a mark
//! and a number, so that a picture that moves, or goes, is written over. A picture that is not whole on the screen, or
//! has something over it, stays as half blocks; the characters of kitty need not be whole.
//!
//! Large transfers wait until the screen has rested: scrolling and resizing send none of them.

use std::num::NonZeroU16;
use std::sync::Arc;

use ratatui::buffer::{Buffer, Cell, CellDiffOption};
use ratatui::layout::Rect;
use ratatui::style::Color;

use crate::console::time::Millis;
use crate::tui::notify::through_tmux;
use crate::tui::pictures::graphics::{Graphics, Protocol};
use crate::tui::pictures::payload::Payload;
use crate::tui::pictures::{HALF_BLOCK, PictureKey, kitty};

/// How long a picture must have stood where it is before its pixels are sent, in milliseconds.
const REST: u64 = 100;
/// The mark of a cell with pixels over it. Its width is what it would be anyhow.
const MARK: CellDiffOption = CellDiffOption::ForcedWidth(NonZeroU16::MIN);
/// Ids that one console uses, from its first one on. The id is a colour of 24 bits.
const IDS: u32 = 0xff;

/// Whether pixels were written over a cell: what the terminal shows there does not scroll with its text everywhere.
pub fn has_pixels(cell: &Cell) -> bool {
    cell.diff_option == MARK
}

/// A row of a picture that a view drew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownRow {
    pub key: PictureKey,
    /// What the terminal is sent of it.
    pub payload: Arc<Payload>,
    /// Which row of the picture.
    pub row: u16,
    /// First column on the screen.
    pub x: u16,
    /// Row on the screen.
    pub y: u16,
}

/// Rows of one picture, one below the other.
struct Spot {
    key: PictureKey,
    payload: Arc<Payload>,
    /// The first row that is on the screen.
    first: u16,
    /// Where its rows are.
    area: Rect,
}

impl Spot {
    fn all(rows: &[ShownRow]) -> Vec<Self> {
        let mut spots: Vec<Self> = Vec::new();
        for row in rows {
            if let Some(spot) = spots.last_mut()
                && spot.key == row.key
                && spot.first + spot.area.height == row.row
                && spot.area.bottom() == row.y
            {
                spot.area.height += 1;
                continue;
            }
            spots.push(Self {
                key: row.key,
                payload: Arc::clone(&row.payload),
                first: row.row,
                area: Rect::new(row.x, row.y, row.payload.columns, 1),
            });
        }
        spots
    }

    /// Whether all of it is on the screen and nothing lies over it. In the last row some terminals would scroll.
    fn is_whole(&self, buffer: &Buffer) -> bool {
        self.area.height == self.payload.rows
            && self.area.bottom() < buffer.area.bottom()
            && self.area.positions().all(|at| {
                buffer
                    .cell(at)
                    .is_some_and(|cell| cell.symbol() == HALF_BLOCK)
            })
    }
}

/// A picture that the terminal holds (kitty).
#[derive(Debug)]
struct SentPicture {
    key: PictureKey,
    id: u32,
}

/// Pixels on the screen.
#[derive(Debug)]
struct Placement {
    key: PictureKey,
    area: Rect,
    number: u32,
}

/// Since when a picture stands where it is.
#[derive(Debug)]
struct Stay {
    key: PictureKey,
    area: Rect,
    since: Millis,
}

/// The pixels that the terminal shows.
#[derive(Debug, Default)]
pub struct Placements {
    graphics: Graphics,
    sent: Vec<SentPicture>,
    placed: Vec<Placement>,
    stays: Vec<Stay>,
    first_id: u32,
    ids: u32,
    number: u32,
    /// What the terminal is to be sent after this frame.
    out: String,
    due: Option<Millis>,
}

impl Placements {
    /// The terminal shows none. `seed` keeps the ids of consoles in one terminal apart.
    pub fn new(graphics: Graphics, seed: u32) -> Self {
        Self {
            graphics,
            first_id: (seed & 0xffff) << 8,
            ..Self::default()
        }
    }

    pub fn graphics(&self) -> Graphics {
        self.graphics
    }

    /// From now on they are shown so. What is shown goes.
    pub fn set_graphics(&mut self, graphics: Graphics) {
        if graphics != self.graphics {
            self.forget();
            self.graphics = graphics;
        }
    }

    /// The screen was emptied: nobody knows what the terminal still shows of them, or holds.
    pub fn forget(&mut self) {
        for picture in std::mem::take(&mut self.sent) {
            self.send(&kitty::delete(picture.id));
        }
        self.placed.clear();
        self.stays.clear();
    }

    /// Exchanges the cells of pictures in a frame.
    pub fn stamp(&mut self, buffer: &mut Buffer, rows: &[ShownRow], now: Millis) {
        self.due = None;
        let spots = Spot::all(rows);
        let stays = std::mem::take(&mut self.stays);
        let before = std::mem::take(&mut self.placed);
        let mut new = Vec::new();
        for spot in &spots {
            let known = stays.iter().find(|stay| self.is_same(stay, spot));
            let since = known.map_or(now, |stay| stay.since);
            self.stays.push(Stay {
                key: spot.key,
                area: spot.area,
                since,
            });
            let is_placed =
                |placement: &&Placement| (placement.key, placement.area) == (spot.key, spot.area);
            match self.graphics.protocol {
                Protocol::Off | Protocol::HalfBlocks => {}
                Protocol::Placeholders { .. } => {
                    if let Some(id) = self.hold(spot, since, now) {
                        write_characters(buffer, spot, id);
                    }
                }
                Protocol::Kitty | Protocol::Iterm2 | Protocol::Sixel { .. } => {
                    if !spot.is_whole(buffer) {
                        continue;
                    }
                    if let Some(placement) = before.iter().find(is_placed) {
                        let number = placement.number;
                        self.put(buffer, spot, number);
                    } else if self.is_ready(spot, since, now) {
                        self.number = self.number.wrapping_add(1);
                        let number = self.number;
                        self.put(buffer, spot, number);
                        new.push((spot, number));
                    }
                }
            }
        }
        for gone in before {
            let stays = |placement: &Placement| placement.number == gone.number;
            if !self.placed.iter().any(stays)
                && let Some(id) = self.id_of(gone.key)
            {
                self.send(&kitty::take_away(id, gone.number));
            }
        }
        for (spot, number) in new {
            self.write_pixels(spot, number);
        }
        let (kept, gone): (Vec<SentPicture>, Vec<SentPicture>) = std::mem::take(&mut self.sent)
            .into_iter()
            .partition(|picture| spots.iter().any(|spot| spot.key == picture.key));
        self.sent = kept;
        for picture in gone {
            self.send(&kitty::delete(picture.id));
        }
    }

    /// What the terminal is to be sent after the frame. Empty = nothing.
    pub fn take_sequences(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// When a picture will have rested that waits for that.
    pub fn due(&self) -> Option<Millis> {
        self.due
    }

    /// What deletes the pictures that the terminal holds.
    pub fn farewell(&self) -> String {
        let ids = self.sent.iter();
        ids.map(|picture| self.wrap(&kitty::delete(picture.id)))
            .collect()
    }

    /// Characters of kitty cost little where they are: only the picture itself must rest.
    fn is_same(&self, stay: &Stay, spot: &Spot) -> bool {
        let moves = matches!(self.graphics.protocol, Protocol::Placeholders { .. });
        stay.key == spot.key && (moves || stay.area == spot.area)
    }

    fn is_rested(&mut self, since: Millis, now: Millis) -> bool {
        let at = since.plus(REST);
        if at > now {
            self.due = Some(self.due.map_or(at, |due| due.min(at)));
        }
        at <= now
    }

    fn id_of(&self, key: PictureKey) -> Option<u32> {
        let picture = self.sent.iter().find(|picture| picture.key == key);
        picture.map(|picture| picture.id)
    }

    /// The id of a picture that the terminal holds, once it has rested.
    fn hold(&mut self, spot: &Spot, since: Millis, now: Millis) -> Option<u32> {
        if let Some(id) = self.id_of(spot.key) {
            return Some(id);
        }
        if !self.is_rested(since, now) {
            return None;
        }
        self.ids = self.ids % IDS + 1;
        let id = self.first_id | self.ids;
        let by_characters = matches!(self.graphics.protocol, Protocol::Placeholders { .. });
        for sequence in kitty::transmit(id, &spot.payload, by_characters) {
            self.send(&sequence);
        }
        self.sent.push(SentPicture { key: spot.key, id });
        Some(id)
    }

    fn is_ready(&mut self, spot: &Spot, since: Millis, now: Millis) -> bool {
        if self.graphics.protocol == Protocol::Kitty {
            self.hold(spot, since, now).is_some()
        } else {
            self.is_rested(since, now)
        }
    }

    /// Blanks for a picture whose pixels lie over them.
    fn put(&mut self, buffer: &mut Buffer, spot: &Spot, number: u32) {
        let color = u8::try_from(number % 256).unwrap_or_default();
        for at in spot.area.positions() {
            if let Some(cell) = buffer.cell_mut(at) {
                cell.reset();
                cell.set_fg(Color::Indexed(color)).set_diff_option(MARK);
            }
        }
        self.placed.push(Placement {
            key: spot.key,
            area: spot.area,
            number,
        });
    }

    /// Writes pixels where they belong, and leaves the cursor where it was.
    fn write_pixels(&mut self, spot: &Spot, number: u32) {
        let payload = &spot.payload;
        let (columns, rows) = (payload.columns, payload.rows);
        let pixels = match self.graphics.protocol {
            Protocol::Off | Protocol::HalfBlocks | Protocol::Placeholders { .. } => return,
            Protocol::Kitty => match self.id_of(spot.key) {
                Some(id) => kitty::place(id, number, columns, rows),
                None => return,
            },
            Protocol::Iterm2 => format!(
                "\x1b]1337;File=inline=1;width={columns};height={rows};preserveAspectRatio=1;doNotMoveCursor=1:{}\x07",
                payload.data
            ),
            Protocol::Sixel { .. } => payload.data.clone(),
        };
        let (row, column) = (spot.area.y + 1, spot.area.x + 1);
        self.send(&format!("\x1b7\x1b[{row};{column}H{pixels}\x1b8"));
    }

    fn send(&mut self, sequence: &str) {
        let sequence = self.wrap(sequence);
        self.out.push_str(&sequence);
    }

    fn wrap(&self, sequence: &str) -> String {
        if self.graphics.protocol == (Protocol::Placeholders { tmux: true }) {
            through_tmux(sequence)
        } else {
            sequence.to_owned()
        }
    }
}

/// Characters that show the parts of a picture, where nothing lies over it.
fn write_characters(buffer: &mut Buffer, spot: &Spot, id: u32) {
    let [_, r, g, b] = id.to_be_bytes();
    for at in spot.area.positions() {
        let row = spot.first + (at.y - spot.area.y);
        if let Some(cell) = buffer.cell_mut(at)
            && cell.symbol() == HALF_BLOCK
            && let Some(character) = kitty::placeholder(row, at.x - spot.area.x)
        {
            cell.reset();
            cell.set_symbol(&character).set_fg(Color::Rgb(r, g, b));
        }
    }
}
