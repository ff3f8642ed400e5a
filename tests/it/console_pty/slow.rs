//! A terminal that takes nothing for a while, as over a line that hangs: the engine goes on, and the console is
//! right again when it is read.

use crate::console_pty::door::{Door, WRITE, command};
use crate::console_pty::steps::quit;
use crate::support::daemon::Home;
use crate::support::pty::{Manners, Pty};

#[tokio::test]
async fn a_terminal_that_hangs_holds_up_nobody_and_catches_up() {
    let home = Home::new("");
    let mut pty = Pty::start(&command(&home), 200, 60);
    pty.see("nothing needs you");
    pty.send("2");
    pty.see("┌ Live");
    let door = Door::of(&home);
    pty.hold(true);
    // Far more than a line keeps: whole frames, again and again.
    for at in 0..40 {
        pty.send("\x0c");
        let turn = door.say(&format!("SAY:answer {at}.")).await;
        door.wait_state(&turn, "completed").await;
    }
    let held = pty.raw().len();
    let asked = door.ask(WRITE).await;
    assert_eq!(pty.raw().len(), held, "nobody read meanwhile");
    assert!(pty.runs());
    pty.hold(false);
    pty.see("1 need you");
    pty.see("answer 39.");
    pty.send("1");
    pty.press_until("j", "left, then it expires");
    let code = asked["short_code"].as_str().unwrap();
    pty.see(code);
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
    assert_eq!(pty.manners(), Manners::SHELL);
}

#[test]
fn a_panic_gives_the_terminal_back_and_the_next_frame_takes_it_again() {
    let home = Home::new("");
    let signal = home.path().join("panic-now");
    let mut program = command(&home);
    program.env("LEVERFRAME_TEST_PANIC_FILE", &signal);
    let mut pty = Pty::start(&program, 80, 24);
    pty.see("nothing needs you");
    pty.wait_manners(&Manners::CONSOLE);
    std::fs::write(&signal, "").unwrap();
    pty.wait_manners(&Manners::SHELL);
    pty.see("panicked because a test asked for it");
    pty.send("2\r");
    pty.see("┌ Live");
    pty.wait_manners(&Manners::CONSOLE);
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
    assert_eq!(pty.manners(), Manners::SHELL);
}
