//! A card in every theme, the palette, the command line and the box of a begun sequence.

use leverframe::tui::assets::THEMES;
use leverframe::tui::theme::depth::ColorDepth;
use leverframe::tui::theme::file::load;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture::busy;
use crate::console_frames::screens::{check, check_at};

#[test]
fn a_card_in_every_theme() {
    for (name, _) in THEMES {
        check_at(&format!("theme_{name}"), &[(80, 24)], |w, h| {
            let mut driver = Driver::with(w, h, busy());
            driver.theme = load(name, None, ColorDepth::True).unwrap();
            driver.press("j");
            driver.wait(600);
            driver
        });
    }
}

#[test]
fn palette() {
    check("palette", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.press("2 ctrl-k");
        driver.type_text("pau");
        driver
    });
}

#[test]
fn command_line() {
    check("command_line", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.state.theme_names = THEMES.iter().map(|(name, _)| (*name).to_owned()).collect();
        driver.press(":");
        driver.type_text("theme ");
        driver
    });
}

#[test]
fn which_key() {
    check("which_key", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.press("ctrl-x");
        driver.wait(400);
        driver
    });
}
