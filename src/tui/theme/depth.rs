//! Bringing colours down to what the terminal has. The 6×6×6 cube and the grey ramp are xterm's
//! (indices 16–231 with levels 0, 95, 135, 175, 215, 255; 232–255 = 8 + 10·n).

use ratatui::style::{Color, Modifier, Style};

/// How many colours the terminal has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ColorDepth {
    /// None: `NO_COLOR`. Modifiers stay.
    #[default]
    None,
    /// The 16 of the terminal's own palette.
    Sixteen,
    /// 256.
    Indexed,
    /// 24 bit.
    True,
}

/// Nominal values of the 16, for finding the nearest.
const SIXTEEN: [(Color, [u8; 3]); 16] = [
    (Color::Black, [0, 0, 0]),
    (Color::Red, [205, 0, 0]),
    (Color::Green, [0, 205, 0]),
    (Color::Yellow, [205, 205, 0]),
    (Color::Blue, [0, 0, 238]),
    (Color::Magenta, [205, 0, 205]),
    (Color::Cyan, [0, 205, 205]),
    (Color::Gray, [229, 229, 229]),
    (Color::DarkGray, [127, 127, 127]),
    (Color::LightRed, [255, 0, 0]),
    (Color::LightGreen, [0, 255, 0]),
    (Color::LightYellow, [255, 255, 0]),
    (Color::LightBlue, [92, 92, 255]),
    (Color::LightMagenta, [255, 0, 255]),
    (Color::LightCyan, [0, 255, 255]),
    (Color::White, [255, 255, 255]),
];
const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

fn distance(a: [u8; 3], b: [u8; 3]) -> i32 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (i32::from(*a) - i32::from(b)).pow(2))
        .sum()
}

fn to_indexed(rgb: [u8; 3]) -> u8 {
    let level = |value: u8| {
        (0u8..6)
            .min_by_key(|i| {
                LEVELS
                    .get(usize::from(*i))
                    .map_or(i32::MAX, |l| (i32::from(*l) - i32::from(value)).abs())
            })
            .unwrap_or(0)
    };
    let [r, g, b] = rgb.map(level);
    let cube = rgb
        .map(level)
        .map(|i| LEVELS.get(usize::from(i)).copied().unwrap_or(0));
    let mean = rgb.iter().map(|v| i32::from(*v)).sum::<i32>() / 3;
    let grey_step = u8::try_from(((mean - 8 + 5) / 10).clamp(0, 23)).unwrap_or(0);
    let grey = [8 + 10 * grey_step; 3];
    if distance(grey, rgb) < distance(cube, rgb) {
        232 + grey_step
    } else {
        16 + 36 * r + 6 * g + b
    }
}

fn from_indexed(index: u8) -> [u8; 3] {
    match index {
        0..=15 => SIXTEEN
            .get(usize::from(index))
            .map_or([0; 3], |(_, rgb)| *rgb),
        16..=231 => {
            let n = index - 16;
            [n / 36, n / 6 % 6, n % 6].map(|i| LEVELS.get(usize::from(i)).copied().unwrap_or(0))
        }
        232..=255 => [8 + 10 * (index - 232); 3],
    }
}

fn to_sixteen(rgb: [u8; 3]) -> Color {
    SIXTEEN
        .iter()
        .min_by_key(|(_, candidate)| distance(*candidate, rgb))
        .map_or(Color::Reset, |(color, _)| *color)
}

/// The nearest colour the terminal has.
pub fn reduce(color: Color, depth: ColorDepth) -> Color {
    match (depth, color) {
        (ColorDepth::None, _) => Color::Reset,
        (ColorDepth::True, color) => color,
        (ColorDepth::Indexed, Color::Rgb(r, g, b)) => Color::Indexed(to_indexed([r, g, b])),
        (ColorDepth::Sixteen, Color::Rgb(r, g, b)) => to_sixteen([r, g, b]),
        (ColorDepth::Sixteen, Color::Indexed(index)) => to_sixteen(from_indexed(index)),
        (ColorDepth::Indexed | ColorDepth::Sixteen, color) => color,
    }
}

/// The same for a style. Without colours, a background becomes reverse video so that it stays visible.
pub fn reduce_style(style: Style, depth: ColorDepth) -> Style {
    let had_background = style.bg.is_some_and(|bg| bg != Color::Reset);
    let mut reduced = Style {
        fg: style.fg.map(|c| reduce(c, depth)),
        bg: style.bg.map(|c| reduce(c, depth)),
        ..style
    };
    if depth == ColorDepth::None {
        reduced.fg = None;
        reduced.bg = None;
        if had_background {
            reduced = reduced.add_modifier(Modifier::REVERSED);
        }
    }
    reduced
}
