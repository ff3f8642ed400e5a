//! Notifications of the terminal: what the bytes say, and what they never say.

use crate::console_pty::door::{Door, WRITE, command};
use crate::console_pty::steps::quit;
use crate::support::daemon::Home;
use crate::support::pty::Pty;

#[tokio::test]
async fn who_looks_elsewhere_is_told_in_the_words_of_the_terminal() {
    for (how, tmux, wanted) in [
        ("osc9", false, "\x1b]9;leverframe: 1 needs you\x07"),
        (
            "osc99",
            true,
            "\x1bPtmux;\x1b\x1b]99;i=leverframe:o=unfocused;leverframe: 1 needs you\x1b\x1b\\\x1b\\",
        ),
        ("off", false, "\x07"),
    ] {
        let home = Home::new(&format!("[console]\nnotify = \"{how}\"\n"));
        let mut program = command(&home);
        if tmux {
            program.env("TMUX", "/tmp/somewhere,1,0");
        }
        let mut pty = Pty::start(&program, 80, 24);
        pty.see("nothing needs you");
        pty.send("\x1b[O");
        // A key behind it: what was told of the focus was read, too.
        pty.send("2");
        pty.see("┌ Live");
        assert!(!pty.wrote(b"\x07"));
        pty.send("1");
        Door::of(&home)
            .ask(&WRITE.replace("hello", "secret-argument"))
            .await;
        pty.see("1 need you");
        let raw = || String::from_utf8_lossy(&pty.raw()).into_owned();
        pty.wait(wanted, |_| raw().contains(wanted));
        // Sequences for the terminal hold nothing of what is asked.
        for sequence in raw().split("\x1b]").skip(1) {
            let text = sequence.split(['\x07', '\x1b']).next().unwrap_or_default();
            assert!(
                !text.contains("secret") && !text.contains("write"),
                "{text:?}"
            );
            assert!(how != "off" || text.starts_with("2;"), "{text:?}");
        }
        quit(&mut pty, "stop");
        assert_eq!(pty.wait_exit(), Some(0));
    }
}
