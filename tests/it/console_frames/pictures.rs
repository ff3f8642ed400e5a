//! Pictures in a transcript: decoded within bounds, drawn as half blocks, and only for what is selected.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use image::{ImageFormat, Rgb, RgbImage};
use leverframe::protocol::artifact::{Artifact, ArtifactHash, ArtifactRef, Attachment};
use leverframe::protocol::enums::ContinuationState;
use leverframe::protocol::request::{Answer, Query};
use leverframe::tui::links::LinkScope;
use leverframe::tui::message::Effect;
use leverframe::tui::pictures::graphics::{Graphics, Protocol};
use leverframe::tui::pictures::{PictureKey, decode, lines};
use leverframe::tui::theme::depth::ColorDepth;
use leverframe::tui::view::cache::ViewCache;
use ratatui::style::Color;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn key(columns: u16, rows: u16) -> PictureKey {
    PictureKey {
        hash: ArtifactHash::from_bytes([7; 32]),
        columns,
        rows,
        graphics: Graphics::default(),
    }
}

/// Red above, blue below.
fn png(width: u32, height: u32) -> Vec<u8> {
    let picture = RgbImage::from_fn(width, height, |_, y| {
        if y < height / 2 {
            Rgb([255, 0, 0])
        } else {
            Rgb([0, 0, 255])
        }
    });
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

#[test]
fn a_cell_shows_two_pixels_and_the_picture_keeps_its_shape() {
    let small = decode(&png(2, 2), key(80, 20)).unwrap();
    let shown = lines(&small, ColorDepth::True);
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0].to_string(), "▀▀");
    let style = shown[0].spans[0].style;
    assert_eq!(
        (style.fg, style.bg),
        (Some(Color::Rgb(255, 0, 0)), Some(Color::Rgb(0, 0, 255)))
    );
    // 16 colours have their own red.
    let style = lines(&small, ColorDepth::Sixteen)[0].spans[0].style;
    assert_eq!(style.fg, Some(Color::LightRed));
    for (size, cells, expected) in [
        ((400, 200), (40, 20), (40, 10)),
        ((200, 400), (40, 20), (20, 20)),
        ((4000, 1), (40, 20), (40, 1)),
        ((1, 4000), (40, 20), (1, 20)),
    ] {
        let picture = decode(&png(size.0, size.1), key(cells.0, cells.1)).unwrap();
        let shown = lines(&picture, ColorDepth::True);
        assert_eq!((shown[0].width(), shown.len()), expected, "{size:?}");
        assert_eq!(picture.size, size);
    }
}

/// A PNG that says it has this size, and has nothing.
fn bomb(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = png(1, 1);
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    // The checksum of the header, so that the size is believed.
    let mut crc = 0xffff_ffff_u32;
    for byte in &bytes[12..29] {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xedb8_8320
            } else {
                crc >> 1
            };
        }
    }
    bytes[29..33].copy_from_slice(&(!crc).to_be_bytes());
    bytes
}

#[test]
fn broken_and_hostile_files_give_a_reason() {
    let whole = png(64, 64);
    for (what, content) in [
        ("nothing", Vec::new()),
        ("text", b"<svg onload=alert(1)>".to_vec()),
        ("a GIF", b"GIF89a\x01\x00\x01\x00".to_vec()),
        ("the beginning of a file", whole[..whole.len() / 2].to_vec()),
        ("a wide bomb", bomb(60_000, 10)),
        ("a bomb", bomb(9_999, 9_999)),
        (
            "the head of a JPEG",
            b"\xff\xd8\xff\xe0\x00\x10JFIF".to_vec(),
        ),
    ] {
        let why = decode(&content, key(40, 20)).expect_err(what);
        assert!(!why.is_empty() && why.len() < 300, "{what}: {why}");
    }
}

fn photo() -> ArtifactRef {
    ArtifactRef {
        hash: ArtifactHash::from_bytes([7; 32]),
        size: 1_234,
        media_type: "image/png".into(),
    }
}

/// A console on a session whose first message brought a photo, with the answers that it asked for.
fn with_photo(depth: ColorDepth, content: Vec<u8>) -> (Driver, Vec<Query>) {
    let mut driver = Driver::with(100, 40, fixture::busy());
    driver.cache = ViewCache::new(depth, LinkScope::None);
    driver.press("2 j j enter");
    driver.answer_transcript(fixture::transcript());
    let mut asked = Vec::new();
    let first = driver.state.screens.session.entries.keys().next().copied();
    driver.state.screens.session.selected = first;
    driver.effects.clear();
    driver.wait(1);
    let mut effects = driver.effects.clone();
    for _ in 0..3 {
        let queries: Vec<Query> = effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Query(query @ (Query::GetContinuation(_) | Query::GetArtifact(_))) => {
                    Some(query.clone())
                }
                _ => None,
            })
            .collect();
        asked.extend(queries.clone());
        driver.effects.clear();
        for query in queries {
            let answer = match &query {
                Query::GetContinuation(get) => {
                    Answer::GetContinuation(leverframe::protocol::session::Continuation {
                        id: get.id,
                        attachments: vec![Attachment {
                            path: "attachments/1/photo\u{202e}.png".into(),
                            artifact: photo(),
                        }],
                        ..fixture::continuation(2, ContinuationState::Completed)
                    })
                }
                _ => Answer::GetArtifact(Artifact {
                    hash: photo().hash,
                    size: photo().size,
                    media_type: photo().media_type,
                    created_at: fixture::NOW,
                    text: String::new(),
                    data: Some(BASE64.encode(&content)),
                }),
            };
            driver.answer(query, answer);
        }
        driver.draw();
        effects.clone_from(&driver.effects);
    }
    (driver, asked)
}

#[test]
fn the_selected_message_shows_its_picture_once_it_is_decoded() {
    let (mut driver, asked) = with_photo(ColorDepth::True, png(40, 20));
    assert_eq!(asked.len(), 2, "{asked:?}");
    let text = driver.text();
    assert!(text.contains("photo<U+202E>.png (image/png, "), "{text}");
    assert!(text.contains("loading …") && !text.contains('▀'), "{text}");
    for (key, content) in driver.cache.pictures_mut().take_wanted() {
        driver.cache.pictures_mut().put(key, decode(&content, key));
    }
    let buffer = driver.draw();
    let half = buffer.content.iter().filter(|cell| cell.symbol() == "▀");
    assert_eq!(half.count(), 40 * 10);
    // Only what is selected shows it, and it is not asked for again.
    driver.press("j");
    assert!(!driver.text().contains('▀'));
    driver.effects.clear();
    driver.press("k");
    assert!(driver.text().contains('▀'));
    let again = driver
        .effects
        .iter()
        .any(|effect| matches!(effect, Effect::Query(Query::GetArtifact(_))));
    assert!(!again);
}

#[test]
fn a_broken_picture_is_a_line_and_without_colours_there_is_only_its_name() {
    let (mut driver, _) = with_photo(ColorDepth::True, b"GIF89a".to_vec());
    let _ = driver.text();
    for (key, content) in driver.cache.pictures_mut().take_wanted() {
        driver.cache.pictures_mut().put(key, decode(&content, key));
    }
    let text = driver.text();
    assert!(
        text.contains("not shown: only PNG and JPEG files are shown"),
        "{text}"
    );
    let (mut driver, _) = with_photo(ColorDepth::None, png(40, 20));
    let text = driver.text();
    assert!(
        text.contains("photo<U+202E>.png") && !text.contains("loading"),
        "{text}"
    );
    assert!(driver.cache.pictures_mut().take_wanted().is_empty());
}

#[test]
fn half_blocks_keep_the_place_of_pixels_and_off_shows_a_name() {
    let (mut driver, _) = with_photo(ColorDepth::True, png(200, 100));
    let graphics = Graphics {
        protocol: Protocol::Iterm2,
        ..Graphics::default()
    };
    driver.cache.pictures_mut().set_graphics(graphics);
    let _ = driver.text();
    for (key, content) in driver.cache.pictures_mut().take_wanted() {
        driver.cache.pictures_mut().put(key, decode(&content, key));
    }
    let buffer = driver.draw();
    let half = buffer.content.iter().filter(|cell| cell.symbol() == "▀");
    assert_eq!(half.count(), 20 * 5);
    let rows = driver.cache.take_shown_pictures();
    assert_eq!(rows.len(), 5);
    for row in rows {
        assert_eq!(buffer[(row.x, row.y)].symbol(), "▀");
        assert_ne!(buffer[(row.x - 1, row.y)].symbol(), "▀");
        assert_eq!(buffer[(row.x + 19, row.y)].symbol(), "▀");
    }
    let graphics = Graphics {
        protocol: Protocol::Off,
        ..Graphics::default()
    };
    driver.cache.pictures_mut().set_graphics(graphics);
    let text = driver.text();
    assert!(
        text.contains("photo<U+202E>.png") && !text.contains('▀'),
        "{text}"
    );
    assert!(!text.contains("loading"), "{text}");
}
