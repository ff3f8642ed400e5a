//! A buffer as plain text: the glyphs, then the styles by letter with a legend.

use std::fmt::Write as _;

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};

pub fn glyphs(buffer: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += u16::try_from(unicode_width::UnicodeWidthStr::width(symbol).max(1)).unwrap();
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn describe(fg: Color, bg: Color, modifier: Modifier) -> String {
    let mut out = format!("{fg}");
    if bg != Color::Reset {
        let _ = write!(out, " on {bg}");
    }
    for name in modifier.iter_names().map(|(name, _)| name) {
        let _ = write!(out, " {}", name.to_lowercase());
    }
    out
}

pub fn styled(buffer: &Buffer) -> String {
    let mut legend: Vec<String> = Vec::new();
    let mut grid = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let style = describe(cell.fg, cell.bg, cell.modifier);
            let index = legend
                .iter()
                .position(|known| *known == style)
                .unwrap_or_else(|| {
                    legend.push(style.clone());
                    legend.len() - 1
                });
            // The plain style is a dot, so that what is styled stands out.
            let letter = if style == "Reset" {
                '.'
            } else {
                char::from(b'a' + u8::try_from(index).unwrap() % 26)
            };
            line.push(letter);
        }
        grid.push_str(&line);
        grid.push('\n');
    }
    let mut out = glyphs(buffer);
    out.push_str("--- styles\n");
    out.push_str(&grid);
    out.push_str("--- legend\n");
    for (index, style) in legend.iter().enumerate() {
        if style != "Reset" {
            let _ = writeln!(
                out,
                "{} {style}",
                char::from(b'a' + u8::try_from(index).unwrap() % 26)
            );
        }
    }
    out
}
