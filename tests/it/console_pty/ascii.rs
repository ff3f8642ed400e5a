//! A terminal whose locale is not one of UTF-8.

use crate::console_pty::door::{Door, WRITE, command};
use crate::console_pty::steps::{quit, select_pending};
use crate::support::daemon::Home;
use crate::support::pty::Pty;

#[tokio::test]
async fn a_terminal_of_ascii_gets_ascii_frames() {
    let home = Home::new("");
    let mut program = command(&home);
    program.env("LC_ALL", "C");
    let mut pty = Pty::start(&program, 80, 24);
    pty.see("+ Queue");
    Door::of(&home)
        .ask(&WRITE.replace("hello", "h\u{e9}llo \u{6db}"))
        .await;
    select_pending(&mut pty);
    pty.send("\r");
    pty.gone("+ Queue");
    while pty.screen().contains("more lines below") {
        let before = pty.screen();
        pty.send("\x04");
        pty.wait("the card moves", |screen| screen != before);
    }
    let all = String::from_utf8_lossy(&pty.raw()).into_owned();
    assert!(
        all.contains("<U+00E9>") && all.contains("<U+06DB>"),
        "{all}"
    );
    for (key, panel) in [
        ("2", "+ Live"),
        ("4", "+ Channels"),
        ("6", "+ Rules"),
        ("8", "+ Memory"),
        ("0", "+ Doctor"),
        ("?", "+ Help"),
    ] {
        pty.send(key);
        pty.see(panel);
    }
    pty.send("\x1b");
    pty.gone("+ Help");
    pty.press_until("q", "+ Quit");
    pty.press_until("j", "> stop");
    pty.send("\r");
    assert_eq!(pty.wait_exit(), Some(0));
    let raw = pty.raw();
    assert!(raw.is_ascii(), "{}", String::from_utf8_lossy(&raw));
}

#[test]
fn the_first_name_of_the_locale_counts() {
    let home = Home::new("");
    let mut program = command(&home);
    program.env("LC_ALL", "de_DE.utf8").env("LANG", "C");
    let mut pty = Pty::start(&program, 80, 24);
    pty.see("┌ Queue");
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
}
