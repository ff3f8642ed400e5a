//! Files between the console's machine and a session: `:attach` sends one with a message, `:save` writes one here.

use crate::console_pty::door::{Door, command};
use crate::console_pty::steps::quit;
use crate::support::daemon::Home;
use crate::support::pty::Pty;

#[tokio::test]
async fn a_file_goes_with_a_message_and_comes_back() {
    let home = Home::new("");
    let here = home.path().join("here");
    std::fs::create_dir_all(&here).unwrap();
    std::fs::write(here.join("note.txt"), "hello\n").unwrap();
    let mut program = command(&home);
    program.current_dir(&here);
    let mut pty = Pty::start(&program, 120, 30);
    pty.see("nothing needs you");
    let door = Door::of(&home);
    let first = door.say("SAY:first").await;
    door.wait_state(&first, "completed").await;
    pty.send("2");
    pty.see("first");
    pty.send("j");
    pty.press_until("\r", "┌ Session");
    pty.send(":attach missing.txt\r");
    pty.see("not attached: missing.txt");
    pty.send(":attach note.txt\r");
    pty.see("the next message goes with note.txt (6 B)");
    pty.send("i");
    pty.see("with note.txt (6 B)");
    pty.send("SAY:thanks for it\r");
    pty.see("thanks for it");
    pty.see("[attached file: attachments/");

    // Over no file that is there.
    pty.send(":save note.txt\r");
    pty.see("not saved:");
    std::fs::remove_file(here.join("note.txt")).unwrap();
    pty.send(":save note.txt\r");
    pty.see("saved as");
    let saved = std::fs::read_to_string(here.join("note.txt")).unwrap();
    assert_eq!(saved, "hello\n");
    pty.send(":save other.txt\r");
    pty.see("there are: note.txt");
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
}
