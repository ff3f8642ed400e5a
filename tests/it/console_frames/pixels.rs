//! Pictures as pixels: how they are sent, and what is sent when.

use std::io::{Cursor, Read as _};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use image::{DynamicImage, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};
use leverframe::console::time::Millis;
use leverframe::protocol::artifact::ArtifactHash;
use leverframe::tui::pictures::cell_size::CellSize;
use leverframe::tui::pictures::graphics::{Graphics, Protocol};
use leverframe::tui::pictures::payload::{self, Payload};
use leverframe::tui::pictures::placements::{Placements, ShownRow, has_pixels};
use leverframe::tui::pictures::{HALF_BLOCK, PictureKey, decode, kitty, sixel};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;

const CELL: CellSize = CellSize {
    width: 10,
    height: 20,
};

fn graphics(protocol: Protocol) -> Graphics {
    Graphics {
        protocol,
        cell: CELL,
    }
}

/// Pixels with a colour each.
fn noise(width: u32, height: u32) -> RgbImage {
    let mut state = 0x2545_f491_u32;
    RgbImage::from_fn(width, height, |_, _| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let [r, g, b, _] = state.to_be_bytes();
        Rgb([r, g, b])
    })
}

/// Quarters in four colours that sixel has exactly.
fn quarters(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        match (x < width / 2, y < height / 2) {
            (true, true) => Rgb([255, 0, 0]),
            (false, true) => Rgb([0, 255, 0]),
            (true, false) => Rgb([0, 0, 255]),
            (false, false) => Rgb([255, 255, 255]),
        }
    })
}

/// Reads a sequence in sixel as a terminal does.
fn read_sixel(text: &str) -> RgbImage {
    let body = text.strip_prefix("\x1bP0;1;0q\"1;1;").expect("the head");
    let body = body.strip_suffix("\x1b\\").expect("the end");
    assert!(
        body.bytes().all(|byte| (0x21..=0x7e).contains(&byte)),
        "{body:?}"
    );
    let (size, body) = body.split_once('#').expect("a colour");
    let (width, height) = size.split_once(';').expect("a size");
    let mut picture = RgbImage::new(width.parse().unwrap(), height.parse().unwrap());
    let mut colors = std::collections::BTreeMap::new();
    let body = format!("#{body}");
    let mut rest = body.as_str();
    let (mut x, mut y, mut color, mut count) = (0, 0, 0, 1);
    fn number(rest: &mut &str) -> u32 {
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (digits, after) = rest.split_at(end);
        *rest = after;
        digits.parse().unwrap()
    }
    while let Some(c) = rest.chars().next() {
        rest = &rest[1..];
        match c {
            '#' => {
                color = number(&mut rest);
                if let Some(after) = rest.strip_prefix(";2;") {
                    rest = after;
                    let mut channels = [0_u8; 3];
                    for channel in &mut channels {
                        *channel = (number(&mut rest) * 255 / 100) as u8;
                        rest = rest.strip_prefix(';').unwrap_or(rest);
                    }
                    colors.insert(color, Rgb(channels));
                }
            }
            '!' => count = number(&mut rest),
            '$' => x = 0,
            '-' => (x, y) = (0, y + 6),
            '?'..='~' => {
                let bits = c as u32 - '?' as u32;
                for x in x..x + count {
                    for row in (0..6).filter(|row| bits >> row & 1 == 1) {
                        picture.put_pixel(x, y + row, colors[&color]);
                    }
                }
                x += count;
                count = 1;
            }
            other => panic!("{other:?}"),
        }
    }
    picture
}

#[test]
fn sixel_has_the_pixels_of_the_picture_and_no_more_than_its_colours() {
    for (width, height) in [(1, 1), (4, 4), (40, 21), (300, 7)] {
        let picture = quarters(width, height);
        let text = sixel::encode(&picture, 16);
        assert_eq!(read_sixel(&text), picture, "{width} {height}");
    }
    // Runs are short, however wide they are.
    assert!(sixel::encode(&quarters(300, 300), 256).len() < 3_000);
    // More colours than the terminal has: near them, and all pixels are there.
    for colors in [16, 256] {
        let gradient = RgbImage::from_fn(90, 60, |x, y| Rgb([x as u8 * 2, y as u8 * 4, 120]));
        let text = sixel::encode(&gradient, colors);
        let used = text.matches(";2;").count();
        assert!(used <= usize::from(colors), "{used}");
        let shown = read_sixel(&text);
        let far: u64 = shown
            .as_raw()
            .iter()
            .zip(gradient.as_raw())
            .map(|(one, other)| u64::from(one.abs_diff(*other)))
            .sum();
        let mean = far / gradient.as_raw().len() as u64;
        assert!(
            mean < if colors == 16 { 60 } else { 16 },
            "{colors}: {mean}"
        );
    }
    for (width, height) in [(1, 500), (500, 1), (2, 2)] {
        read_sixel(&sixel::encode(&noise(width, height), 16));
    }
}

fn made(picture: RgbImage, protocol: Protocol) -> Payload {
    payload::make(&DynamicImage::from(picture), (80, 20), graphics(protocol)).unwrap()
}

#[test]
fn kitty_and_iterm_get_the_pixels_and_the_cells_that_they_take() {
    let picture = quarters(200, 120);
    let sent = made(picture.clone(), Protocol::Kitty);
    assert_eq!(
        (sent.columns, sent.rows, sent.width, sent.height),
        (20, 6, 200, 120)
    );
    let bytes = BASE64.decode(&sent.data).unwrap();
    let mut pixels = Vec::new();
    let mut inflated = flate2::read::ZlibDecoder::new(bytes.as_slice());
    inflated.read_to_end(&mut pixels).unwrap();
    assert_eq!(&pixels, picture.as_raw());

    let sent = made(picture.clone(), Protocol::Iterm2);
    let bytes = BASE64.decode(&sent.data).unwrap();
    let read = image::load_from_memory_with_format(&bytes, ImageFormat::Png).unwrap();
    assert_eq!(read.into_rgb8(), picture);

    // Half of a cell takes a whole one, and a picture keeps its shape in the room that there is.
    let cells = |width, height| {
        let sent = made(quarters(width, height), Protocol::Kitty);
        (sent.columns, sent.rows)
    };
    assert_eq!(cells(15, 5), (2, 1));
    assert_eq!(cells(1600, 800), (80, 20));
    assert_eq!(cells(800, 1600), (20, 20));
    assert_eq!(cells(4000, 2), (80, 1));

    let sequences = kitty::transmit(7, &made(noise(100, 100), Protocol::Kitty), false);
    assert!(sequences.len() > 2);
    for (at, sequence) in sequences.iter().enumerate() {
        let last = at + 1 == sequences.len();
        assert!(sequence.len() < 4200);
        assert!(sequence.contains(if last { "m=0;" } else { "m=1;" }));
        assert!(sequence.contains("q=2"), "it would be answered");
    }
    assert_eq!(
        kitty::placeholder(1, 2).unwrap(),
        "\u{10eeee}\u{30d}\u{30e}"
    );
    assert_eq!(kitty::placeholder(80, 0), None);
}

#[test]
fn what_is_sent_is_bounded_and_holds_nothing_of_the_file_but_pixels() {
    let large = DynamicImage::from(noise(1200, 900));
    let most = (80, 20);
    for protocol in [
        Protocol::Kitty,
        Protocol::Placeholders { tmux: false },
        Protocol::Iterm2,
        Protocol::Sixel { colors: 256 },
    ] {
        let large_cells = Graphics {
            protocol,
            cell: CellSize {
                width: 40,
                height: 80,
            },
        };
        let sent = payload::make(&large, most, large_cells).unwrap();
        assert!(
            sent.data.len() <= 1_000_000,
            "{protocol:?}: {}",
            sent.data.len()
        );
        assert!(sent.columns <= 80 && sent.rows <= 20);
        assert!(u64::from(sent.width) * u64::from(sent.height) <= 240_000);
    }

    // A file with a sequence in a chunk of text, and behind its end.
    let mut file = Cursor::new(Vec::new());
    quarters(40, 40)
        .write_to(&mut file, ImageFormat::Png)
        .unwrap();
    let mut file = file.into_inner();
    let evil = b"\x1b]0;evil\x07\x1b_Ga=d\x1b\\";
    let mut chunk = u32::try_from(evil.len() + 4)
        .unwrap()
        .to_be_bytes()
        .to_vec();
    chunk.extend_from_slice(b"tEXta\0b\0");
    chunk.extend_from_slice(evil);
    let mut crc = flate2::Crc::new();
    crc.update(&chunk[4..]);
    chunk.extend_from_slice(&crc.sum().to_be_bytes());
    file.splice(33..33, chunk);
    file.extend_from_slice(evil);
    for protocol in [
        Protocol::Kitty,
        Protocol::Iterm2,
        Protocol::Sixel { colors: 256 },
    ] {
        let key = key(protocol);
        let picture = decode(&file, key).unwrap();
        let data = &picture.payload.as_ref().unwrap().data;
        let inner = data.trim_start_matches("\x1bP").trim_end_matches("\x1b\\");
        assert!(inner.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
        assert!(!data.contains("evil") && !data.contains(&BASE64.encode("evil")));
    }
}

#[test]
fn what_shines_through_a_picture_is_white() {
    let picture = RgbaImage::from_fn(4, 4, |x, _| Rgba([0, 0, 0, if x < 2 { 0 } else { 255 }]));
    let shown = payload::on_white(&DynamicImage::from(picture), 4, 4);
    assert_eq!(shown.get_pixel(0, 0).0, [255; 3]);
    assert_eq!(shown.get_pixel(3, 0).0, [0; 3]);
}

fn key(protocol: Protocol) -> PictureKey {
    PictureKey {
        hash: ArtifactHash::from_bytes([7; 32]),
        columns: 80,
        rows: 20,
        graphics: graphics(protocol),
    }
}

/// A screen on which a picture of 4 columns and 3 rows stands.
struct Stage {
    protocol: Protocol,
    payload: Arc<Payload>,
    placements: Placements,
    now: u64,
    buffer: Buffer,
}

impl Stage {
    fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            payload: Arc::new(made(quarters(40, 60), protocol)),
            placements: Placements::new(graphics(protocol), 1),
            now: 0,
            buffer: Buffer::default(),
        }
    }

    /// A frame with the rows of the picture from `first` on, from row `y` on; `over` has something over its corner.
    fn frame(&mut self, first: u16, y: u16, over: bool) -> String {
        self.buffer = Buffer::empty(Rect::new(0, 0, 20, 12));
        let rows: Vec<ShownRow> = (first..3)
            .map(|row| ShownRow {
                key: key(self.protocol),
                payload: Arc::clone(&self.payload),
                row,
                x: 2,
                y: y + row - first,
            })
            .collect();
        for row in &rows {
            for x in row.x..row.x + 4 {
                self.buffer[(x, row.y)]
                    .set_symbol(HALF_BLOCK)
                    .set_fg(Color::Red);
            }
        }
        if over {
            self.buffer[(2, y)].set_symbol("│");
        }
        let now = Millis(self.now);
        self.placements.stamp(&mut self.buffer, &rows, now);
        self.placements.take_sequences()
    }

    /// The same after the screen has rested.
    fn rested(&mut self, first: u16, y: u16, over: bool) -> String {
        let at_once = self.frame(first, y, over);
        self.now += 100;
        at_once + &self.frame(first, y, over)
    }

    fn empty(&mut self) -> String {
        self.buffer = Buffer::empty(Rect::new(0, 0, 20, 12));
        self.placements
            .stamp(&mut self.buffer, &[], Millis(self.now));
        self.placements.take_sequences()
    }

    fn pixels(&self) -> usize {
        self.buffer
            .content
            .iter()
            .filter(|cell| has_pixels(cell))
            .count()
    }

    fn half_blocks(&self) -> usize {
        let cells = self.buffer.content.iter();
        cells.filter(|cell| cell.symbol() == HALF_BLOCK).count()
    }
}

#[test]
fn pixels_are_sent_once_when_the_screen_rests_and_again_where_they_move() {
    for protocol in [Protocol::Sixel { colors: 256 }, Protocol::Iterm2] {
        let mut stage = Stage::new(protocol);
        assert_eq!(stage.frame(0, 3, false), "");
        assert_eq!(stage.half_blocks(), 12);
        assert_eq!(stage.placements.due(), Some(Millis(100)));
        stage.now = 99;
        assert_eq!(stage.frame(0, 3, false), "");
        stage.now = 100;
        let sent = stage.frame(0, 3, false);
        assert!(
            sent.starts_with("\x1b7\x1b[4;3H") && sent.ends_with("\x1b8"),
            "{sent:?}"
        );
        assert!(sent.contains(&stage.payload.data));
        assert_eq!((stage.pixels(), stage.half_blocks()), (12, 0));
        assert_eq!(stage.placements.due(), None);
        let before = stage.buffer.clone();
        // It stays: nothing is sent and no cell differs.
        stage.now = 500;
        assert_eq!(stage.frame(0, 3, false), "");
        assert_eq!(before, stage.buffer);
        // It moves by a row: half blocks first, and then every cell is another one.
        assert_eq!(stage.frame(0, 4, false), "");
        assert_eq!(stage.half_blocks(), 12);
        assert!(stage.rested(0, 4, false).contains("\x1b[5;3H"));
        let shared = before.content.iter().zip(&stage.buffer.content);
        let shared = shared.filter(|(one, other)| has_pixels(one) && one == other);
        assert_eq!(shared.count(), 0);
        // Partly above the screen, or below something: half blocks.
        assert_eq!(stage.rested(1, 0, false), "");
        assert_eq!((stage.pixels(), stage.half_blocks()), (0, 8));
        assert_eq!(stage.rested(0, 4, true), "");
        assert_eq!((stage.pixels(), stage.half_blocks()), (0, 11));
        // A picture that ends in the last row makes some terminals scroll.
        assert_eq!(stage.rested(0, 9, false), "");
        assert_ne!(stage.rested(0, 8, false), "");
        // The screen was emptied.
        stage.placements.forget();
        assert_ne!(stage.rested(0, 8, false), "");
        assert_eq!(stage.empty(), "");
    }
}

#[test]
fn kitty_is_sent_a_picture_once_shows_it_at_places_and_deletes_it() {
    let mut stage = Stage::new(Protocol::Kitty);
    let sent = stage.rested(0, 3, false);
    assert_eq!(
        sent.matches("\x1b_Ga=t,f=24,o=z,s=40,v=60,i=257,").count(),
        1,
        "{sent:?}"
    );
    assert!(
        sent.contains("\x1b[4;3H\x1b_Ga=p,q=2,i=257,p=1,c=4,r=3,C=1\x1b\\"),
        "{sent:?}"
    );
    assert_eq!(stage.frame(0, 3, false), "");
    // It moves at once, and is not sent again.
    let moved = stage.frame(0, 4, false);
    assert_eq!(
        moved,
        "\x1b_Ga=d,d=i,q=2,i=257,p=1\x1b\\\x1b7\x1b[5;3H\x1b_Ga=p,q=2,i=257,p=2,c=4,r=3,C=1\x1b\\\x1b8"
    );
    assert_eq!(stage.frame(0, 4, true), "\x1b_Ga=d,d=i,q=2,i=257,p=2\x1b\\");
    assert!(
        stage
            .frame(0, 4, false)
            .starts_with("\x1b7\x1b[5;3H\x1b_Ga=p,")
    );
    assert_eq!(stage.placements.farewell(), "\x1b_Ga=d,d=I,q=2,i=257\x1b\\");
    let gone = stage.empty();
    assert!(gone.ends_with("\x1b_Ga=d,d=I,q=2,i=257\x1b\\"), "{gone:?}");
    assert_eq!(stage.placements.farewell(), "");
}

#[test]
fn characters_of_kitty_show_what_is_on_the_screen_of_a_picture() {
    for tmux in [false, true] {
        let mut stage = Stage::new(Protocol::Placeholders { tmux });
        let sent = stage.rested(0, 3, false);
        assert!(
            sent.contains("_Ga=T,U=1,c=4,r=3,f=24,o=z,s=40,v=60,i=257,"),
            "{sent:?}"
        );
        assert_eq!(sent.starts_with("\x1bPtmux;\x1b\x1b_G"), tmux);
        let at = |stage: &Stage, x, y| stage.buffer[(x, y)].symbol().to_owned();
        assert_eq!(at(&stage, 2, 3), kitty::placeholder(0, 0).unwrap());
        assert_eq!(at(&stage, 5, 5), kitty::placeholder(2, 3).unwrap());
        assert_eq!(stage.buffer[(5, 5)].fg, Color::Rgb(0, 1, 1));
        // Scrolled, and with something over it: nothing is sent.
        assert_eq!(stage.frame(1, 0, true), "");
        assert_eq!(at(&stage, 2, 0), "│");
        assert_eq!(at(&stage, 3, 0), kitty::placeholder(1, 1).unwrap());
        assert_eq!((stage.pixels(), stage.half_blocks()), (0, 0));
        assert!(stage.empty().contains("_Ga=d,d=I,q=2,i=257"));
    }
}
