//! The tour of the demo, from the first frame to the terminal as it was.

use crate::console_pty::door::demo;
use crate::support::pty::{Manners, Pty};

#[test]
fn the_demo_opens_and_leaves_the_terminal_as_it_was() {
    let (dir, command) = demo();
    let mut pty = Pty::start(&command, 80, 24);
    pty.see("demo: scripted, no model");
    pty.wait_manners(&Manners::CONSOLE);
    pty.see("need you");
    let leftover = || {
        std::fs::read_dir(dir.path())
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
            .filter(|name| name.starts_with("leverframe-demo-"))
            .count()
    };
    assert_eq!(leftover(), 1);
    pty.send("q");
    pty.see("stop");
    pty.press_until("j", "> stop");
    pty.send("\r");
    assert_eq!(pty.wait_exit(), Some(0));
    assert_eq!(pty.manners(), Manners::SHELL);
    assert_eq!(leftover(), 0, "the demo's directory stays behind");
}
