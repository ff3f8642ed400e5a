//! What the console shows of people: their rows, their doings, and cards that somebody else decides.

use crate::console_pty::door::{Door, WRITE, command};
use crate::console_pty::steps::{quit, read_to_end, select_pending};
use crate::people::{people, token};
use crate::support::daemon::Home;
use crate::support::pty::Pty;

#[tokio::test(flavor = "multi_thread")]
async fn people_and_tokens_are_listed_and_enter_opens_what_somebody_did() {
    let home = Home::new(&people());
    let _daemon = home.daemon();
    token(
        &home,
        "bens",
        &["--scope", "read,approve", "--person", "ben"],
    );
    let mut pty = Pty::start(&command(&home), 140, 40);
    pty.see("nothing needs you");
    pty.send(":tokens\r");
    pty.see("Resources: tokens");
    pty.see("read,approve");
    pty.send(":people\r");
    pty.see("Resources: people");
    let screen = pty.see("bens");
    assert!(
        screen.contains("unix:") && screen.contains("token.created"),
        "{screen}"
    );
    // Anna made the token, and the first row is hers.
    pty.send("j");
    pty.send("\r");
    pty.see("anna made the token bens");
    pty.see("actor anna");
    quit(&mut pty, "quit");
    assert_eq!(pty.wait_exit(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_of_other_approvers_is_read_only_and_says_who_decides() {
    let home = Home::new(&format!(
        "{}[channels.api]\napprovers = [\"ben\"]\n",
        people()
    ));
    let daemon = home.daemon();
    let mut pty = Pty::start(&command(&home), 120, 40);
    pty.see("nothing needs you");
    let asked = Door::of(&home).ask(WRITE).await;
    select_pending(&mut pty);
    read_to_end(&mut pty);
    pty.see("decided by ben");
    pty.press_until("a", "only ben decides here");
    let still = daemon.wait_approval().await;
    assert_eq!(still["id"], asked["id"]);
    quit(&mut pty, "quit");
    assert_eq!(pty.wait_exit(), Some(0));
}
