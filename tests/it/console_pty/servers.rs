//! A tool server on a real terminal: what it offers is read, trusted, changed and trusted again.

use crate::console_pty::door::{Door, command};
use crate::console_pty::steps::quit;
use crate::mcp_servers::scripted::{Scripted, table, tool};
use crate::support::daemon::Home;
use crate::support::pty::Pty;

#[tokio::test]
async fn what_a_server_offers_is_trusted_from_the_screen_and_again_after_a_change() {
    let home = Home::new(&table("notes", ""));
    let scripted = Scripted::new(&home, "notes", &[tool("note", "Writes a note.")]);
    let mut pty = Pty::start(&command(&home), 120, 40);
    // Nobody asked for it, and its question is there.
    pty.see("notes");
    let door = Door::of(&home);
    pty.send(":mcp\r");
    pty.see("┌ Servers");
    pty.press_until("j", "note: new: agents do not get it yet");
    pty.send("\r");
    pty.send("G");
    pty.wait("its end is shown", |screen| {
        !screen.contains("more lines below")
    });
    pty.send("a");
    pty.see("Let agents call the tools of notes as shown?");
    pty.send("\x1b[C\r");
    pty.see("note: trusted");
    pty.see("agents get 1 tool");
    let tools = door.get("/v1/tools").await.to_string();
    assert!(tools.contains("mcp__notes__note"), "{tools}");
    pty.press_until("\x1b", "> notes");
    // A change is seen on the screen when the server is connected anew.
    scripted.offers(&[tool("note", "Writes a note, and sends it.")]);
    pty.send("t");
    pty.see("note: changed: agents do not get it");
    pty.see("and sends it");
    let tools = door.get("/v1/tools").await.to_string();
    assert!(!tools.contains("mcp__notes__note"), "{tools}");
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
}
