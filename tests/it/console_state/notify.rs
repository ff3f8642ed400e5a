//! Notifications of each terminal.

use leverframe::config::settings::Notify;
use leverframe::tui::notify::sequence;

#[test]
fn each_terminal_gets_its_own_words() {
    assert_eq!(sequence(Notify::Off, true, 3), None);
    assert_eq!(
        sequence(Notify::Osc9, false, 1).as_deref(),
        Some("\x1b]9;leverframe: 1 needs you\x07")
    );
    assert_eq!(
        sequence(Notify::Osc99, false, 2).as_deref(),
        Some("\x1b]99;i=leverframe:o=unfocused;leverframe: 2 need you\x1b\\")
    );
    assert_eq!(
        sequence(Notify::Osc777, true, 2).as_deref(),
        Some("\x1bPtmux;\x1b\x1b]777;notify;leverframe;2 need you\x1b\x1b\\\x1b\\")
    );
}
