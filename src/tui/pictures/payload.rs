//! A picture as bytes for the terminal, bounded in size. It is made of pixels decoded here: nothing of a file reaches
//! the terminal but colours.

use std::io::{Cursor, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use image::{DynamicImage, ImageFormat, RgbImage, RgbaImage};

use crate::tui::pictures::graphics::{Graphics, Protocol};
use crate::tui::pictures::sixel;

/// Most pixels of a picture that is sent. Terminals scale it up where its cells have more.
const MAX_PIXELS: u64 = 240_000;
/// Most bytes of a picture that is sent: what iTerm2 takes in one sequence.
const MAX_BYTES: usize = 1_000_000;

/// A picture as a terminal is sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// Columns that it takes.
    pub columns: u16,
    /// Rows that it takes.
    pub rows: u16,
    /// Pixels that are sent, wide.
    pub width: u32,
    /// Pixels that are sent, high.
    pub height: u32,
    /// Pixels in Base64, or a whole sequence in sixel.
    pub data: String,
}

/// Pixels of a picture on the screen, and the cells that they take.
struct Extent {
    pixels: (u32, u32),
    cells: (u16, u16),
}

/// A size scaled down to a most, with the same shape.
fn fit((width, height): (u32, u32), most: (u32, u32)) -> (u32, u32) {
    let (width, height) = (u64::from(width.max(1)), u64::from(height.max(1)));
    let (most_width, most_height) = (u64::from(most.0), u64::from(most.1));
    let (wide, high) = if width <= most_width && height <= most_height {
        (width, height)
    } else if width * most_height >= height * most_width {
        (most_width, height * most_width / width)
    } else {
        (width * most_height / height, most_height)
    };
    let side = |side: u64| u32::try_from(side).unwrap_or(u32::MAX).max(1);
    (side(wide), side(high))
}

/// A size scaled down to a number of pixels, with the same shape.
fn bound((width, height): (u32, u32), most: u64) -> (u32, u32) {
    let pixels = u64::from(width) * u64::from(height);
    if pixels <= most {
        return (width, height);
    }
    let scale = (most as f64 / pixels as f64).sqrt();
    let side = |side: u32| (f64::from(side) * scale).floor() as u32;
    fit((width, height), (side(width).max(1), side(height).max(1)))
}

fn extent(size: (u32, u32), most: (u16, u16), graphics: Graphics, pixels: u64) -> Extent {
    let (wide, high) = (
        u32::from(graphics.cell.width),
        u32::from(graphics.cell.height),
    );
    let room = (u32::from(most.0) * wide, u32::from(most.1) * high);
    let shown = fit(size, room);
    // Of sixel, only what is sent is shown.
    let shown = if matches!(graphics.protocol, Protocol::Sixel { .. }) {
        bound(shown, pixels)
    } else {
        shown
    };
    let cells = |side: u32, cell: u32, most: u16| {
        let cells = u16::try_from(side.div_ceil(cell)).unwrap_or(u16::MAX);
        cells.clamp(1, most.max(1))
    };
    Extent {
        pixels: shown,
        cells: (cells(shown.0, wide, most.0), cells(shown.1, high, most.1)),
    }
}

/// The payload of a picture that takes at most these cells; none = this protocol has none, or it would be too large.
pub fn make(picture: &DynamicImage, most: (u16, u16), graphics: Graphics) -> Option<Payload> {
    let size = (picture.width(), picture.height());
    let mut pixels = MAX_PIXELS;
    while pixels > MAX_PIXELS / 100 {
        let extent = extent(size, most, graphics, pixels);
        let (width, height) = bound(extent.pixels, pixels);
        let small = on_white(picture, width, height);
        let data = match graphics.protocol {
            Protocol::Off | Protocol::HalfBlocks => return None,
            Protocol::Placeholders { .. } | Protocol::Kitty => BASE64.encode(compress(&small)?),
            Protocol::Iterm2 => BASE64.encode(png(&small)?),
            Protocol::Sixel { colors } => sixel::encode(&small, colors),
        };
        if data.len() <= MAX_BYTES {
            let (columns, rows) = extent.cells;
            return Some(Payload {
                columns,
                rows,
                width,
                height,
                data,
            });
        }
        pixels /= 2;
    }
    None
}

/// A picture scaled down. What shines through it becomes white.
pub fn on_white(picture: &DynamicImage, width: u32, height: u32) -> RgbImage {
    let small = picture.thumbnail_exact(width, height);
    if !small.color().has_alpha() {
        return small.into_rgb8();
    }
    let small: RgbaImage = small.into_rgba8();
    RgbImage::from_fn(width, height, |column, row| {
        let [r, g, b, alpha] = small.get_pixel(column, row).0.map(u32::from);
        let mix = |channel: u32| (channel * alpha + 255 * (255 - alpha)) / 255;
        image::Rgb([r, g, b].map(|channel| u8::try_from(mix(channel)).unwrap_or(u8::MAX)))
    })
}

fn compress(picture: &RgbImage) -> Option<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(picture.as_raw()).ok()?;
    encoder.finish().ok()
}

fn png(picture: &RgbImage) -> Option<Vec<u8>> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, ImageFormat::Png).ok()?;
    Some(bytes.into_inner())
}
