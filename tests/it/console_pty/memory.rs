//! The Memory screen on a real terminal: something is written, pinned, found and deleted; hygiene runs and is taken
//! back; a routine runs.

use serde_json::json;

use crate::console_pty::door::{Door, command, console, items};
use crate::console_pty::steps::quit;
use crate::hygiene::daemon::remembering;
use crate::support::daemon::Home;
use crate::support::pty::Pty;

#[tokio::test]
async fn a_fact_is_written_pinned_found_and_deleted() {
    let home = Home::new("");
    let mut pty = console(&home);
    pty.see("nothing needs you");
    let door = Door::of(&home);
    pty.send("8");
    pty.see("Nothing is remembered here yet.");
    pty.send("n");
    pty.see("Remember in every session of every channel");
    pty.send("The report is due on Friday.");
    pty.see("due on Friday.");
    pty.send("\x1b\r");
    pty.gone("Remember in every session");
    pty.see("The report is due");
    let listed = door.get("/v1/memory").await;
    assert_eq!(items(&listed).count(), 1);
    pty.press_until("j", "> ");
    pty.send("p");
    pty.see("pinned");
    // Another one from elsewhere shows by itself, and the selection stays.
    let more = json!({"text": "Tea at four.", "place": {"scope": "global"}});
    door.post("/v1/memory", more).await;
    pty.see("Tea at four.");
    pty.send("f");
    pty.see("Search memory");
    pty.send("tea\r");
    let screen = pty.see("Results for “tea”");
    assert!(!screen.contains("The report is due"), "{screen}");
    pty.press_until("j", "written by");
    pty.send("x");
    pty.see("Delete it for good?");
    pty.send("\t\r");
    pty.see("Nothing was found.");
    let listed = door.get("/v1/memory").await;
    let left: Vec<_> = items(&listed).collect();
    assert_eq!(left.len(), 1, "{listed}");
    assert_eq!(left[0]["pinned"], true);

    let routine = json!({"name": "hourly", "schedule": "5 * * * *", "prompt": "SAY:done"});
    door.post("/v1/routines", routine).await;
    pty.send("R");
    pty.see("every hour at :05");
    pty.press_until("j", "> hourly");
    pty.send("r");
    pty.see("Run hourly now?");
    pty.send("\t\r");
    pty.see("completed, begun");
    pty.send("\r");
    pty.see("┌ Session");
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
}

#[tokio::test]
async fn hygiene_runs_and_is_taken_back() {
    let home = remembering("[memory.hygiene]\nretention_days = 20\n", 30, |n| n * 2);
    // The daemon that left this runs no more; the engine is in the console now.
    std::fs::remove_file(home.data().join("served-by-daemon")).unwrap();
    let mut pty = Pty::start(&command(&home), 120, 40);
    pty.see("nothing needs you");
    let door = Door::of(&home);
    pty.send("8");
    pty.see("channel team");
    pty.send("H");
    pty.see("20 would be archived");
    pty.send("r");
    pty.see("Run hygiene now?");
    pty.send("\t\r");
    pty.see("ran: 20 archived");
    assert_eq!(
        door.get("/v1/memory/hygiene").await["sizes"]["archived"],
        20
    );
    pty.see("Nothing to archive or remove.");
    pty.send("u");
    pty.see("Undo this run?");
    pty.send("\t\r");
    pty.see("20 would be archived");
    let status = door.get("/v1/memory/hygiene").await;
    assert_eq!(status["sizes"]["memories"], 30, "{status}");
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
}
