//! Text from outside that would like to be the terminal's master.

use serde_json::json;

use crate::console_pty::door::{Door, console};
use crate::console_pty::steps::select_pending;
use crate::support::daemon::Home;
use crate::support::pty::find;

/// Written to the terminal as they are, these would do something.
const PAYLOADS: &[&str] = &[
    "\x1b]52;c;ZXZpbA==\x07",
    "]52;c;ZXZpbA==\x07",
    "\x1b[31;5mevil",
    "\x1b]0;evil\x07",
    "\x07bell",
    "\u{9b}31mevil",
    "\u{9d}52;c;ZXZpbA==",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}evil",
    "\u{e0041}",
    "\x7fevil",
];

#[tokio::test]
async fn no_byte_of_it_reaches_the_terminal_raw() {
    let home = Home::new("");
    let mut pty = console(&home);
    pty.see("nothing needs you");
    let door = Door::of(&home);
    let nasty = PAYLOADS.concat();

    // In a message and its answer, in the title, and in the arguments of a call.
    let session = door.post("/v1/sessions", json!({ "title": &nasty })).await;
    let session = session["id"].as_str().unwrap().to_owned();
    let args = json!({ "path": "note.txt", "content": format!("{nasty}\n") });
    let text = format!("{nasty}\nTOOL:write_file{args}\nSAY:{nasty}");
    door.post(
        &format!("/v1/sessions/{session}/messages"),
        json!({ "text": text }),
    )
    .await;

    select_pending(&mut pty);
    // The whole card, then the list of sessions, then the transcript.
    let mut seen = pty.screen();
    pty.send("\r");
    pty.gone("┌ Queue");
    loop {
        let screen = pty.screen();
        seen.push_str(&screen);
        if !screen.contains("more lines below") {
            break;
        }
        pty.send("\x04");
        pty.wait("the card moves", |now| now != screen);
    }
    pty.press_until("a", "allowed once by ");
    for mark in ["<U+202E>", "<U+001B>", "<U+0007>", "<U+009B>", "<U+200B>"] {
        assert!(seen.contains(mark), "{mark} is not shown:\n{seen}");
    }
    pty.send("2");
    pty.see("┌ Live");
    pty.send("j\r");
    pty.see("┌ Session");
    // A long mark may be wrapped.
    let shows = |screen: &str| {
        let text: String = screen.chars().filter(|c| !" │\n".contains(*c)).collect();
        text.contains("<U+202E>")
    };
    pty.wait("the answer", |screen| {
        screen.contains("answer") && shows(screen)
    });
    pty.send("gg");
    pty.wait("the message", |screen| {
        screen.contains("frozen") && shows(screen)
    });

    let raw = pty.raw();
    for payload in PAYLOADS {
        assert!(
            !find(&raw, payload.as_bytes()),
            "written raw: {}",
            payload.escape_debug()
        );
    }
    assert!(!find(&raw, b"\xc2\x9b"), "a C1 control was written");
    assert!(!find(&raw, b"\xc2\x9d"), "a C1 control was written");
    assert!(!find(&raw, b"\x1b]0;"), "the window's icon was set");
    // The console's own title says how many questions wait, and nothing of what is said.
    let text = String::from_utf8_lossy(&raw);
    for title in text.split("\x1b]2;").skip(1) {
        let (title, _) = title.split_once("\x1b\\").unwrap_or((title, ""));
        let own = ["leverframe", "(1) leverframe", "(2) leverframe"];
        assert!(
            own.contains(&title),
            "another title: {}",
            title.escape_debug()
        );
    }
}
