//! Pictures in a transcript: decoded within bounds, and scaled down to their cells. No frame waits for it.
//!
//! A view always draws them as half blocks: each cell shows two pixels, the upper one as its text and the lower one as
//! its ground. Every terminal with colours draws these, and they scroll like text. Where the terminal can show more,
//! `placements` puts the pixels over them. Nothing of a file reaches the terminal but colours that were decoded here.

pub mod answers;
pub mod asking;
pub mod cell_size;
pub mod graphics;
pub mod kitty;
pub mod payload;
pub mod placements;
pub mod sixel;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::Cursor;
use std::sync::Arc;

use image::{ImageFormat, ImageReader, Limits};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use crate::protocol::artifact::ArtifactHash;
use crate::tui::pictures::graphics::{Graphics, Protocol};
use crate::tui::pictures::payload::Payload;
use crate::tui::theme::depth::{ColorDepth, reduce};

/// Most pixels of a side.
const MAX_SIDE: u32 = 10_000;
/// Most bytes that decoding takes: a picture of 24 bits and about 40 million pixels.
const MAX_MEMORY: u64 = 128 * 1024 * 1024;
/// Pictures that are remembered.
const MOST_PICTURES: usize = 16;

/// A picture at a size in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PictureKey {
    pub hash: ArtifactHash,
    /// Most columns.
    pub columns: u16,
    /// Most rows.
    pub rows: u16,
    /// How the terminal shows it.
    pub graphics: Graphics,
}

/// Rows of pixels, scaled down; an even number of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Pixels of the file.
    pub size: (u32, u32),
    rows: Vec<Vec<[u8; 3]>>,
    /// What a terminal is sent that shows more than half blocks.
    pub payload: Option<Arc<Payload>>,
}

/// A picture, or why it is not shown.
pub type Decoded = Result<Picture, String>;

/// The pictures that are known, and those that wait to be decoded.
#[derive(Debug, Default)]
pub struct Pictures {
    known: HashMap<PictureKey, Arc<Decoded>>,
    pending: HashSet<PictureKey>,
    wanted: RefCell<Vec<(PictureKey, Arc<Vec<u8>>)>>,
    graphics: Graphics,
}

impl Pictures {
    /// No picture is known of a terminal that shows them so.
    pub fn new(graphics: Graphics) -> Self {
        Self {
            graphics,
            ..Self::default()
        }
    }

    /// How the terminal shows pictures.
    pub fn graphics(&self) -> Graphics {
        self.graphics
    }

    /// From now on it shows them so.
    pub fn set_graphics(&mut self, graphics: Graphics) {
        self.graphics = graphics;
    }

    /// A picture; none = not yet.
    pub fn get(&self, key: PictureKey, content: &Arc<Vec<u8>>) -> Option<Arc<Decoded>> {
        if let Some(known) = self.known.get(&key) {
            return Some(Arc::clone(known));
        }
        let mut wanted = self.wanted.borrow_mut();
        if !self.pending.contains(&key) && !wanted.iter().any(|(other, _)| *other == key) {
            wanted.push((key, Arc::clone(content)));
        }
        None
    }

    /// The pictures that somebody asked for since the last time.
    pub fn take_wanted(&mut self) -> Vec<(PictureKey, Arc<Vec<u8>>)> {
        let wanted = std::mem::take(self.wanted.get_mut());
        self.pending.extend(wanted.iter().map(|(key, _)| *key));
        wanted
    }

    /// A picture is there.
    pub fn put(&mut self, key: PictureKey, decoded: Decoded) {
        if self.known.len() >= MOST_PICTURES {
            self.known.clear();
        }
        self.pending.remove(&key);
        self.known.insert(key, Arc::new(decoded));
    }
}

/// Decodes a PNG or JPEG file and scales it down to fit these cells. Slow.
pub fn decode(content: &[u8], key: PictureKey) -> Decoded {
    let format = image::guess_format(content).ok();
    if !matches!(format, Some(ImageFormat::Png | ImageFormat::Jpeg)) {
        return Err("only PNG and JPEG files are shown".to_owned());
    }
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_MEMORY);
    let mut reader = ImageReader::new(Cursor::new(content));
    if let Some(format) = format {
        reader.set_format(format);
    }
    reader.limits(limits);
    let picture = reader.decode().map_err(|error| error.to_string())?;
    let size = (picture.width(), picture.height());
    let payload = match key.graphics.protocol {
        Protocol::Off | Protocol::HalfBlocks => None,
        Protocol::Placeholders { .. }
        | Protocol::Kitty
        | Protocol::Iterm2
        | Protocol::Sixel { .. } => payload::make(&picture, (key.columns, key.rows), key.graphics),
    };
    // Where both are drawn, they take the same cells.
    let (width, height) = match &payload {
        Some(payload) => (u32::from(payload.columns), u32::from(payload.rows) * 2),
        None => fitting(size, key),
    };
    let small = payload::on_white(&picture, width, height);
    let rows = small.rows().map(|row| row.map(|pixel| pixel.0).collect());
    Ok(Picture {
        size,
        rows: rows.collect(),
        payload: payload.map(Arc::new),
    })
}

/// Pixels that fit the cells, with the same shape: a cell is twice as high as it is wide. Never larger than the file.
fn fitting((width, height): (u32, u32), key: PictureKey) -> (u32, u32) {
    let (columns, rows) = (
        u32::from(key.columns).max(1),
        u32::from(key.rows).max(1) * 2,
    );
    let (width, height) = (width.max(1), height.max(1));
    let by_width = u64::from(columns.min(width));
    let tall = by_width * u64::from(height) / u64::from(width);
    let (wide, tall) = if tall <= u64::from(rows) {
        (by_width, tall)
    } else {
        let tall = u64::from(rows);
        (tall * u64::from(width) / u64::from(height), tall)
    };
    let even = tall.max(2) / 2 * 2;
    (
        u32::try_from(wide).unwrap_or(columns).max(1),
        u32::try_from(even).unwrap_or(rows),
    )
}

/// What each cell of a picture in half blocks says.
pub const HALF_BLOCK: &str = "▀";

/// The lines of a picture in the colours that the terminal has.
pub fn lines(picture: &Picture, depth: ColorDepth) -> Vec<Line<'static>> {
    let color = |[r, g, b]: [u8; 3]| reduce(Color::Rgb(r, g, b), depth);
    let cell = |(upper, lower): (&[u8; 3], &[u8; 3])| {
        let style = Style::new().fg(color(*upper)).bg(color(*lower));
        Span::styled(HALF_BLOCK, style)
    };
    let pairs = picture.rows.chunks_exact(2);
    pairs
        .map(|pair| match pair {
            [upper, lower] => Line::from(upper.iter().zip(lower).map(cell).collect::<Vec<_>>()),
            _ => Line::default(),
        })
        .collect()
}
