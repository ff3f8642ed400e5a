//! A person at the shell and the Python of a session on a real terminal: a command runs, and its shell is listed and
//! ended.

use crate::console_pty::door::{Door, command};
use crate::console_pty::steps::quit;
use crate::support::daemon::Home;
use crate::support::pty::Pty;

#[tokio::test]
async fn a_command_is_typed_and_its_shell_is_ended() {
    let home = Home::new("[tools.bash]\n[tools.python]\n");
    let mut pty = Pty::start(&command(&home), 100, 30);
    pty.see("nothing needs you");
    let door = Door::of(&home);
    let turn = door.say("hello").await;
    door.wait_state(&turn, "completed").await;
    pty.send("2");
    pty.see("┌ Live");
    pty.press_until("j", "> idle");
    pty.send("$");
    pty.see("the first command starts one");
    // What it writes is there while it runs.
    pty.send("mkfifo gate; echo part-$((40+2)); cat gate\r");
    pty.see("runs: mkfifo gate");
    pty.see("part-42");
    let gate = home.workspace("api").join("gate");
    assert!(pty.see("runs: mkfifo gate").contains("part-42"));
    std::fs::write(gate, "opened\n").unwrap();
    pty.see("your last command printed:");
    pty.see("opened");
    pty.send("WORD=kept; cd /\r");
    pty.wait("the command ends in its directory", |screen| {
        screen.contains("s, in / ") && !screen.contains("runs: WORD")
    });
    pty.send("echo is-$WORD in $PWD\r");
    pty.see("is-kept in /");
    let screen = pty.see("person $ WORD=kept");
    assert!(screen.contains("Shell of"), "{screen}");
    pty.send("\t");
    pty.see("no Python: the first line starts one");
    pty.send("part = 6 * 7; print(f'is-{part}')\r");
    pty.see("is-42");
    pty.send("part + 1\r");
    pty.see("43");
    let screen = pty.see("person >>> part + 1");
    assert!(screen.contains("Python of"), "{screen}");
    pty.send("\t");
    pty.see("person $ WORD=kept");
    pty.send("\x1b");
    pty.wait("the shell closes", |screen| !screen.contains("Shell of"));
    pty.send(":interpreters\r");
    pty.see("Resources: interpreters");
    pty.press_until("j", "> bash of ses_");
    pty.send("X");
    pty.see("End the shell of this session?");
    pty.send("\x1b[C\r");
    pty.see("python of ses_");
    pty.gone("bash of ses_");
    // The line that opens here is of the Python that is selected.
    pty.press_until("j", "> python of ses_");
    pty.send("$");
    pty.see("Python of");
    pty.send("\x1b");
    pty.gone("Python of");
    pty.send("X");
    pty.see("End Python of this session?");
    pty.send("\x1b[C\r");
    pty.see("no session keeps a shell");
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
}
