//! Sixel (VT340, DEC STD 070): six rows of pixels in a character, one colour after the other.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use color_quant::NeuQuant;
use image::imageops::dither;
use image::{Rgb, RgbImage, Rgba, RgbaImage};

/// Rows of pixels in a character.
const BAND: u32 = 6;
/// Pixels of a picture of which each counts for the choice of its colours; of larger ones every tenth counts.
const SMALL: usize = 20_000;
/// The longest run that is written as one.
const LONGEST_RUN: usize = 9_999;

/// A picture in few colours.
struct Palette {
    colors: Vec<Rgb<u8>>,
    /// The colour of each pixel, row after row.
    pixels: Vec<usize>,
}

impl Palette {
    /// Its own colours where these are few, else those that fit it best, mixed from point to point.
    fn of(picture: &RgbImage, most: u16) -> Self {
        let most = usize::from(most);
        Self::exact(picture, most).unwrap_or_else(|| Self::reduced(picture, most))
    }

    fn exact(picture: &RgbImage, most: usize) -> Option<Self> {
        let mut known = BTreeMap::new();
        let mut colors = Vec::new();
        let mut pixels = Vec::new();
        for pixel in picture.pixels() {
            let index = *known.entry(pixel.0).or_insert_with(|| {
                colors.push(*pixel);
                colors.len() - 1
            });
            if index >= most {
                return None;
            }
            pixels.push(index);
        }
        Some(Self { colors, pixels })
    }

    fn reduced(picture: &RgbImage, most: usize) -> Self {
        let (width, height) = picture.dimensions();
        let mut opaque = RgbaImage::from_fn(width, height, |column, row| {
            let [r, g, b] = picture.get_pixel(column, row).0;
            Rgba([r, g, b, u8::MAX])
        });
        let count = opaque.pixels().len();
        let every = if count <= SMALL { 1 } else { 10 };
        let map = NeuQuant::new(every, most, opaque.as_raw());
        // The library's dithering needs a neighbour in each direction.
        if width > 1 && height > 1 {
            dither(&mut opaque, &map);
        }
        let colors = map.color_map_rgb();
        let colors = colors.chunks_exact(3);
        let colors = colors.map(|color| match color {
            [r, g, b] => Rgb([*r, *g, *b]),
            _ => Rgb([0; 3]),
        });
        let pixels = opaque.pixels();
        Self {
            colors: colors.collect(),
            pixels: pixels.map(|pixel| map.index_of(&pixel.0)).collect(),
        }
    }
}

/// A picture in at most this many colours.
pub fn encode(picture: &RgbImage, colors: u16) -> String {
    let (width, height) = picture.dimensions();
    let palette = Palette::of(picture, colors);
    // Pixels without a colour stay as they are, and a pixel is a square.
    let mut out = format!("\x1bP0;1;0q\"1;1;{width};{height}");
    for (index, Rgb(channels)) in palette.colors.iter().enumerate() {
        let [r, g, b] = channels.map(|channel| (u32::from(channel) * 100 + 127) / 255);
        // Writing to a string cannot fail.
        let _ = write!(out, "#{index};2;{r};{g};{b}");
    }
    let width = usize::try_from(width).unwrap_or(usize::MAX).max(1);
    let band = usize::try_from(BAND).unwrap_or(1) * width;
    for (number, rows) in palette.pixels.chunks(band).enumerate() {
        if number > 0 {
            out.push('-');
        }
        write_band(&mut out, rows, width);
    }
    out.push_str("\x1b\\");
    out
}

/// Writes up to six rows of pixels: for each colour that they have, where it stands.
fn write_band(out: &mut String, rows: &[usize], width: usize) {
    let mut layers: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    for (row, pixels) in rows.chunks(width).enumerate() {
        for (column, color) in pixels.iter().enumerate() {
            let layer = layers.entry(*color).or_insert_with(|| vec![0; width]);
            if let Some(bits) = layer.get_mut(column) {
                *bits |= 1 << row;
            }
        }
    }
    for (number, (color, layer)) in layers.iter().enumerate() {
        if number > 0 {
            out.push('$');
        }
        let _ = write!(out, "#{color}");
        let end = layer.iter().rposition(|bits| *bits != 0);
        let used = layer.get(..=end.unwrap_or(0)).unwrap_or_default();
        for run in used.chunk_by(|one, next| one == next) {
            for run in run.chunks(LONGEST_RUN) {
                write_run(out, run);
            }
        }
    }
}

fn write_run(out: &mut String, run: &[u8]) {
    let Some(bits) = run.first() else {
        return;
    };
    let character = char::from(b'?' + bits);
    if run.len() > 3 {
        let _ = write!(out, "!{}{character}", run.len());
    } else {
        out.extend(run.iter().map(|_| character));
    }
}
