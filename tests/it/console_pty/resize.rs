//! Every size while things are drawn.

use crate::console_pty::door::demo;
use crate::console_pty::steps::quit;
use crate::support::pty::{Manners, Pty};

#[test]
fn a_storm_of_sizes_breaks_nothing() {
    let (_dir, command) = demo();
    let mut pty = Pty::start(&command, 80, 24);
    pty.see("demo: scripted, no model");
    pty.see("need you");
    let sizes = [
        (1, 1),
        (300, 100),
        (2, 40),
        (200, 1),
        (1, 60),
        (59, 15),
        (60, 16),
        (3, 3),
        (140, 50),
        (10, 2),
        (1, 1),
        (79, 23),
    ];
    // Each screen and overlay, with keys in between. A whole frame afterwards has its four corners.
    for (keys, overlay) in [
        ("2", None),
        ("j\r", None),
        ("4", None),
        ("jA", Some("┌ Autonomy")),
        ("?", Some("┌ Help")),
        (":", Some("enter done")),
        ("q", Some("┌ Quit")),
        ("1j", None),
    ] {
        match overlay {
            Some(overlay) => pty.press_until(keys, overlay),
            None => {
                pty.send(keys);
                String::new()
            }
        };
        for (columns, rows) in sizes {
            pty.resize(columns, rows);
            if overlay.is_none() {
                pty.send(if columns % 2 == 0 { "j" } else { "k" });
            }
        }
        pty.resize(80, 24);
        if let Some(overlay) = overlay {
            pty.see(overlay);
            pty.send("\x1b");
            pty.gone(overlay);
        }
        pty.wait("a whole frame", |screen| {
            let rows: Vec<&str> = screen.lines().collect();
            rows[0].contains("demo")
                && rows[1].starts_with('┌')
                && rows[1].ends_with('┐')
                && rows[21].starts_with('└')
                && rows[21].ends_with('┘')
        });
        assert!(pty.runs(), "{}", pty.screen());
    }
    pty.see("demo: scripted, no model");
    assert!(!pty.wrote(b"panicked"));
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
    assert_eq!(pty.manners(), Manners::SHELL);
}
