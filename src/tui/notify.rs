//! Terminal notifications, for an operator who looks elsewhere. They say how many questions wait. Nothing here says
//! what a question is about: systems keep notifications and show them on locked screens.

use crate::config::settings::Notify;

/// The sequence that shows it; none = this setting has none.
pub fn sequence(how: Notify, tmux: bool, waiting: usize) -> Option<String> {
    let verb = if waiting == 1 { "needs" } else { "need" };
    let text = format!("{waiting} {verb} you");
    let sequence = match how {
        Notify::Off => return None,
        // Begins with letters: a digit would be read as another command of this number (progress is 9;4).
        Notify::Osc9 => format!("\x1b]9;leverframe: {text}\x07"),
        // The same name each time: the terminal replaces the one before.
        Notify::Osc99 => format!("\x1b]99;i=leverframe:o=unfocused;leverframe: {text}\x1b\\"),
        Notify::Osc777 => format!("\x1b]777;notify;leverframe;{text}\x1b\\"),
    };
    Some(if tmux {
        through_tmux(&sequence)
    } else {
        sequence
    })
}

/// For the terminal around tmux, which lets it through where `allow-passthrough` is on.
pub fn through_tmux(sequence: &str) -> String {
    format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b"))
}
