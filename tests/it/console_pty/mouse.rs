//! The mouse on a real terminal: taken when asked for, given back whatever happens.

use crate::console_pty::door::{Door, WRITE, command};
use crate::console_pty::steps::quit;
use crate::support::daemon::Home;
use crate::support::pty::{Manners, Pty};

const ON: &[u8] = b"\x1b[?1000h\x1b[?1006h";
const OFF: &[u8] = b"\x1b[?1006l\x1b[?1000l";

#[tokio::test]
async fn a_click_selects_and_the_mouse_goes_with_the_terminal() {
    let home = Home::new("");
    let mut pty = Pty::start(&command(&home), 80, 24);
    pty.see("nothing needs you");
    Door::of(&home).ask(WRITE).await;
    pty.see("1 need you");
    assert!(!pty.wrote(b"\x1b[?1000h"), "it takes the mouse unasked");
    pty.send("m");
    pty.see("mouse: a click selects");
    assert!(pty.wrote(ON));
    let row = |pty: &Pty, text: &str| {
        let screen = pty.screen();
        let at = screen.lines().position(|line| line.contains(text));
        at.unwrap_or_else(|| panic!("no {text}:\n{screen}")) + 1
    };
    let at = row(&pty, "write_file");
    pty.send(&format!("\x1b[<0;20;{at}M\x1b[<0;20;{at}m"));
    pty.see("left, then it expires");
    // Gone: nothing is left behind in the terminal.
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
    assert!(pty.wrote(OFF), "the mouse stays taken");
    assert_eq!(pty.manners(), Manners::SHELL);
}
