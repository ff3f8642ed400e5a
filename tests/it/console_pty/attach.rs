//! Consoles attached to a daemon: over its socket, over TCP, and while it is gone.

use crate::console_pty::door::{Door, WRITE, command, console};
use crate::console_pty::steps::{
    approve, code_on_card, leave_card, quit, read_to_end, select_pending,
};
use crate::support::daemon::Home;
use crate::support::pty::{Manners, Pty};

#[tokio::test]
async fn a_daemon_is_attached_to_outlived_and_found_again() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let mut pty = console(&home);
    pty.see("attached");
    pty.see("nothing needs you");
    let door = Door::of(&home);

    let first = door.ask(WRITE).await;
    select_pending(&mut pty);
    approve(&mut pty);
    let continuation = first["continuation_id"].as_str().unwrap();
    door.wait_state(continuation, "completed").await;
    leave_card(&mut pty);

    let second = door.ask(&WRITE.replace("note", "other")).await;
    select_pending(&mut pty);
    let code = code_on_card(&pty);
    assert_eq!(second["short_code"], code.as_str());
    read_to_end(&mut pty);
    pty.gone("not armed");

    daemon.kill();
    pty.see("NOT CONNECTED");
    pty.see("lost ");
    pty.press_until("a", "not connected");
    // Keys are alive.
    pty.send("2");
    pty.see("┌ Live");
    pty.send("?");
    pty.see("┌ Help: Live");
    pty.send("\x1b");
    pty.gone("┌ Help");
    pty.send("1");

    let daemon = home.daemon();
    pty.gone("NOT CONNECTED");
    // Nothing is selected when a screen opens.
    select_pending(&mut pty);
    assert_eq!(code_on_card(&pty), code);
    let again = daemon.wait_approval().await;
    assert_eq!(again["id"], second["id"]);
    approve(&mut pty);
    let continuation = second["continuation_id"].as_str().unwrap();
    daemon.wait_state(continuation, "completed").await;

    quit(&mut pty, "quit");
    assert_eq!(pty.wait_exit(), Some(0));
    assert_eq!(pty.manners(), Manners::SHELL);
    daemon.get("/v1/snapshot").await;
}

#[tokio::test]
async fn attaching_over_tcp_takes_the_token_and_decides_too() {
    let home = Home::new("");
    let daemon = home.daemon();
    let mut attach = command(&home);
    attach
        .args(["attach", &daemon.base, "--token-file"])
        .arg(home.data().join("token"));
    let mut pty = Pty::start(&attach, 120, 40);
    pty.see(&format!("attached to {}", daemon.base));
    let session = daemon.session().await;
    let continuation = daemon.send(&session, WRITE).await;
    daemon.wait_approval().await;
    select_pending(&mut pty);
    approve(&mut pty);
    daemon.wait_state(&continuation, "completed").await;
    quit(&mut pty, "quit");
    assert_eq!(pty.wait_exit(), Some(0));
    daemon.get("/v1/snapshot").await;
}

#[test]
fn a_wrong_token_is_an_error_before_the_screen_is_taken() {
    let home = Home::new("");
    let daemon = home.daemon();
    let wrong = home.path().join("wrong");
    std::fs::write(&wrong, "lf_not_the_token").unwrap();
    let mut attach = command(&home);
    attach
        .args(["attach", &daemon.base, "--token-file"])
        .arg(&wrong);
    let mut pty = Pty::start(&attach, 100, 24);
    assert_eq!(pty.wait_exit(), Some(4));
    assert!(pty.screen().contains("token"), "{}", pty.screen());
    assert!(!pty.wrote(b"\x1b[?1049h"), "the screen was taken");
    assert_eq!(pty.manners(), Manners::SHELL);
}
