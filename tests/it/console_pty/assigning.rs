//! Two consoles on one daemon: one assigns a question, the other sees it, is told and can decide it.

use crate::console_pty::door::{Door, WRITE, command};
use crate::console_pty::steps::{approve, quit, select_pending};
use crate::on_call::daemon::PEOPLE;
use crate::support::daemon::Home;
use crate::support::pty::Pty;

#[tokio::test]
async fn one_hands_over_and_the_other_is_told_also_after_a_restart() {
    let home = Home::new(PEOPLE);
    let mut daemon = home.daemon();
    let mut giver = Pty::start(&command(&home), 120, 40);
    giver.see("nothing needs you");
    let mut attach = command(&home);
    attach
        .args(["attach", &daemon.base, "--token-file"])
        .arg(home.data().join("token"));
    // The holder of the token is `token admin`, whoever sits at the other one is its own user.
    let mut taker = Pty::start(&attach, 120, 40);
    taker.see("nothing needs you");
    let asked = Door::of(&home).ask(WRITE).await;
    select_pending(&mut giver);
    taker.see("1 need you");
    // Looks elsewhere: a key behind it says that this was read, too.
    taker.send("\x1b[O");
    taker.send("2");
    taker.see("┌ Live");
    let bells = |pty: &Pty| pty.raw().split(|byte| *byte == 7).count() - 1;
    let before = (bells(&giver), bells(&taker));

    // The holder of the token does something only now: names are asked for when the field opens.
    let body = serde_json::json!({ "name": "anna", "seconds": 7200 });
    let (status, set) = daemon.request("PUT", "/v1/on-call", Some(body)).await;
    assert_eq!(status, 200, "{set}");
    giver.send(">");
    giver.see("│ anna ");
    giver.send("\x15token ad");
    giver.see("token admin");
    giver.send("\tlook at this one\r");
    giver.see("waits for token admin");
    giver.see("for token admin:");
    taker.see("is assigned to you by");
    taker.see("look at this one");
    taker.wait("one bell", |_| bells(&taker) == before.1 + 1);
    assert_eq!(bells(&giver), before.0, "it does not ring here");
    taker.send("1");
    taker.see("for you:");

    // Who is on call is seen in the other one, too.
    giver.send(":oncall anna 8h\r");
    giver.see("anna is on call");
    taker.see("on call: anna");

    daemon.kill();
    giver.see("NOT CONNECTED");
    let daemon = home.daemon();
    giver.gone("NOT CONNECTED");
    giver.see("for token admin:");
    giver.see("on call: anna");

    // Whoever could decide it still can.
    giver.send("1");
    select_pending(&mut giver);
    giver.see("waiting for");
    approve(&mut giver);
    let continuation = asked["continuation_id"].as_str().unwrap();
    daemon.wait_state(continuation, "completed").await;
    quit(&mut giver, "quit");
    assert_eq!(giver.wait_exit(), Some(0));
}
