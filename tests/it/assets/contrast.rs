//! What the shipped themes can be read by: contrast as WCAG 2 defines it.

use leverframe::tui::assets::THEMES;
use leverframe::tui::theme::depth::ColorDepth;
use leverframe::tui::theme::file::load;
use leverframe::tui::theme::roles::{Role, Theme};
use ratatui::style::{Color, Modifier, Style};

fn luminance(color: Color) -> Option<f64> {
    let Color::Rgb(r, g, b) = color else {
        return None;
    };
    let linear = |value: u8| {
        let value = f64::from(value) / 255.0;
        if value <= 0.04045 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    };
    Some(0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b))
}

/// The ratio of a role's text to what it stands on; none where the terminal's own colours are used.
fn ratio(theme: &Theme, role: Role) -> Option<f64> {
    let text = theme.style(Role::Text);
    let style = text.patch(theme.style(role));
    let (a, b) = (luminance(style.fg?)?, luminance(style.bg?)?);
    Some((a.max(b) + 0.05) / (a.min(b) + 0.05))
}

/// The least ratio of a theme's words and the role that has it. Borders are no words.
fn least(name: &str) -> Option<(f64, Role)> {
    let theme = load(name, None, ColorDepth::True).unwrap_or_else(|error| panic!("{error}"));
    Role::ALL
        .iter()
        .filter(|role| **role != Role::Border)
        .filter_map(|role| Some((ratio(&theme, *role)?, *role)))
        .min_by(|a, b| a.0.total_cmp(&b.0))
}

#[test]
fn the_measure_is_the_standards() {
    let mut theme = Theme::blank("measure");
    let mut measured = |fg, bg| {
        theme.set(Role::Text, Style::new().fg(fg).bg(bg));
        ratio(&theme, Role::Text).unwrap()
    };
    let white = Color::Rgb(255, 255, 255);
    assert!((measured(white, Color::Rgb(0, 0, 0)) - 21.0).abs() < 0.01);
    assert!((measured(white, white) - 1.0).abs() < 0.01);
    // The grey that the standard's own examples give as just enough for 4.5 on white.
    assert!((measured(Color::Rgb(0x76, 0x76, 0x76), white) - 4.54).abs() < 0.01);
}

#[test]
fn high_contrast_is_seven_to_one_everywhere() {
    let (ratio, role) = least("high-contrast").expect("it names its colours");
    assert!(ratio >= 7.0, "{}: {ratio:.2}", role.name());
}

#[test]
fn every_theme_of_its_own_colours_can_be_read() {
    for (name, _) in THEMES {
        let Some((lowest, role)) = least(name) else {
            continue;
        };
        assert!(lowest >= 2.9, "{name} {}: {lowest:.2}", role.name());
        let theme = load(name, None, ColorDepth::True).unwrap();
        let text = ratio(&theme, Role::Text).unwrap();
        assert!(text >= 4.5, "{name} text: {text:.2}");
    }
}

#[test]
fn monochrome_has_no_colour_and_tells_the_risks_apart() {
    let theme = load("monochrome", None, ColorDepth::True).unwrap();
    for role in Role::ALL {
        let style = theme.style(*role);
        for color in [style.fg, style.bg].into_iter().flatten() {
            assert_eq!(color, Color::Reset, "{}", role.name());
        }
    }
    let reversed = |role| theme.style(role).add_modifier.contains(Modifier::REVERSED);
    assert!(reversed(Role::RiskCritical) && !reversed(Role::RiskHigh));
    assert_ne!(theme.style(Role::RiskHigh), theme.style(Role::RiskLow));
}
