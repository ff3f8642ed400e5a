//! Cache & cost and Doctor on a real terminal: what was really spent and kept, an answer forgotten, a full check.

use crate::console_pty::door::{Door, command, items};
use crate::console_pty::steps::quit;
use crate::model_calls::server::ModelServer;
use crate::support::daemon::Home;
use crate::support::pty::Pty;

#[tokio::test]
async fn what_was_spent_and_kept_is_seen_and_removed() {
    let model = ModelServer::chat(Vec::new());
    let price = "prices.\"first\" = { input = 2000.0, output = 2000.0 }";
    let home = Home::new(&format!(
        "[model]\ndefault = \"one/first\"\n[budgets.day]\nmax_cost_usd = 100.0\n\
         [channels.api]\nresponse_cache = \"user\"\n{}",
        model.table("one", price)
    ));
    let mut pty = Pty::start(&command(&home), 120, 40);
    pty.see("nothing needs you");
    let door = Door::of(&home);
    pty.send("7");
    pty.see("No response is cached yet.");
    for _ in 0..2 {
        let turn = door.say("where is the checklist").await;
        door.wait_state(&turn, "completed").await;
    }
    // It shows without a key: the screen follows what happens.
    let screen = pty.wait("both turns", |screen| {
        screen.contains("50 % of 2 answered: 1 cached") && screen.contains("where is the checklist")
    });
    let cost = door.get("/v1/costs").await["total"]["cost_usd"]
        .as_f64()
        .unwrap();
    assert!(screen.contains(&format!("${cost:.2} since")), "{screen}");
    assert!(
        screen.contains(&format!("${cost:.2} of $100.00")),
        "{screen}"
    );
    pty.press_until("j", ">     1");
    pty.send("\r");
    let screen = pty.see("asked by");
    assert!(screen.contains("model     one/first"), "{screen}");
    pty.send("\x1b");
    pty.see("┌ Cached responses");
    pty.send("x");
    pty.see("Remove this cached response?");
    pty.send("\t\r");
    pty.see("cached responses purged");
    pty.see("No response is cached yet.");
    let left = door.get("/v1/cache/entries").await;
    assert_eq!(items(&left).count(), 0, "{left}");

    pty.send("0");
    pty.see("┌ Doctor");
    pty.see("nothing needs you");
    pty.press_until("G", "> off");
    let screen = pty.see("model one/first");
    assert!(screen.contains("MCP servers"), "{screen}");
    pty.send("gg");
    pty.send("C");
    pty.see("reads the whole database");
    pty.send("C");
    pty.see("0 violations of ");
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
}
