//! What a person does more than once.

use crate::support::pty::Pty;

/// Waits until something needs a person, and selects the first row that is still pending.
pub fn select_pending(pty: &mut Pty) {
    pty.see("need you");
    pty.press_until("j", "left, then it expires");
}

/// The short code on the card.
pub fn code_on_card(pty: &Pty) -> String {
    let screen = pty.see("· code ");
    let (_, behind) = screen.split_once("· code ").expect("a code");
    behind.split_whitespace().next().expect("a code").to_owned()
}

/// Opens the selected card and scrolls until all of it was on screen.
pub fn read_to_end(pty: &mut Pty) {
    pty.send("\r");
    pty.gone("┌ Queue");
    while pty.screen().contains("more lines below") {
        let before = pty.screen();
        pty.send("\x04");
        pty.wait("the card moves", |screen| screen != before);
    }
}

/// Back from the opened card to the list.
pub fn leave_card(pty: &mut Pty) {
    pty.send("\x1b");
    pty.see("┌ Queue");
}

/// Reads the selected card and allows it.
pub fn approve(pty: &mut Pty) {
    read_to_end(pty);
    pty.press_until("a", "allowed once by ");
}

/// Opens the quit menu and takes the line that begins with `choice`.
pub fn quit(pty: &mut Pty, choice: &str) {
    pty.press_until("q", "┌ Quit");
    let marked = format!("> {choice}");
    while !pty.screen().contains(&marked) {
        let before = pty.screen();
        pty.send("j");
        pty.wait("the choice moves", |screen| screen != before);
    }
    pty.send("\r");
}
