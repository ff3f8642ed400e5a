//! The tour of the demo, from the first frame to the terminal as it was.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::console_pty::door::{Door, demo, items};
use crate::console_pty::steps::{
    approve, code_on_card, leave_card, quit, read_to_end, select_pending,
};
use crate::support::pty::{Manners, Pty};

/// The demo's own directories.
fn directories(dir: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().contains("leverframe-demo-"))
        .collect()
}

async fn approval(door: &Door, code: &str) -> Value {
    let list = door.get("/v1/approvals").await;
    items(&list)
        .find(|approval| approval["short_code"] == code)
        .cloned()
        .unwrap_or_else(|| panic!("no approval {code}: {list:#}"))
}

fn id(value: &Value) -> &str {
    value.as_str().expect("an id")
}

#[tokio::test]
async fn approvals_are_decided_and_the_turns_go_on() {
    let (dir, command) = demo();
    let mut pty = Pty::start(&command, 80, 24);
    pty.see("demo: scripted, no model");
    let door = Door::at(&directories(dir.path())[0].join("data/leverframe.sock"));

    select_pending(&mut pty);
    let first = approval(&door, &code_on_card(&pty)).await;
    approve(&mut pty);
    let done = door
        .wait_state(id(&first["continuation_id"]), "completed")
        .await;
    let calls = done["tool_calls"].as_array().unwrap();
    assert!(
        calls
            .iter()
            .any(|call| call["id"] == first["tool_call_id"] && call["state"] == "succeeded"),
        "{done:#}"
    );
    leave_card(&mut pty);

    select_pending(&mut pty);
    let second = approval(&door, &code_on_card(&pty)).await;
    assert_ne!(second["id"], first["id"]);
    read_to_end(&mut pty);
    pty.press_until("D", "┌ Deny");
    pty.send("not before the weekend\r");
    pty.see("denied by ");
    let done = door
        .wait_state(id(&second["continuation_id"]), "completed")
        .await;
    let denied = done["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .find(|call| call["id"] == second["tool_call_id"])
        .unwrap();
    assert_eq!(denied["state"], "denied");
    assert!(
        denied["result"]
            .as_str()
            .unwrap()
            .contains("not before the weekend"),
        "{denied:#}"
    );
}

#[test]
fn sessions_channels_and_the_emergency_stop_are_within_reach() {
    let (_dir, command) = demo();
    let mut pty = Pty::start(&command, 80, 24);
    pty.see("demo: scripted, no model");

    pty.send("2");
    pty.see("┌ Live");
    // Somebody has been answered.
    pty.see(" idle ");
    pty.send("j\r");
    pty.see("┌ Session");
    pty.see("· risk ");
    pty.send("/");
    pty.see("enter done");
    pty.send("no such words anywhere");
    pty.see(" 0 of ");
    pty.send("\x15a");
    pty.wait("a match", |screen| {
        screen.contains(" loaded entries match") && !screen.contains(" 0 of ")
    });
    pty.send("\r");
    pty.see(", n N · entry ");
    pty.send("\x1b");
    pty.see("frozen, F follows");
    pty.send("?");
    pty.see("┌ Help: Session");
    pty.send("\x1b");
    pty.gone("┌ Help");

    pty.send("4");
    pty.see("┌ Channels");
    pty.press_until("j", "> community");
    pty.send("A");
    pty.see("Autonomy of community");
    pty.see("(now)");
    pty.press_until("j", "> full");
    pty.wait("the what-if", |screen| {
        screen.contains("would have run without you") || screen.contains("no call on this channel")
    });
    pty.send("\r");
    pty.see("Raise community from semi_auto to full for an hour?");
    pty.send("\t\r");
    pty.see("FULL community");
    // Lowering asks nothing.
    pty.press_until("A", "> full");
    pty.press_until("k", "> supervised");
    pty.send("\r");
    pty.gone("FULL community");
    pty.press_until("T", "Tools of community");
    pty.press_until("-", "-> never runs");
    pty.send("\r");
    pty.wait("the list", |screen| {
        screen.contains("never runs") && !screen.contains("-> never runs")
    });
    pty.send("\x1b");
    pty.gone("Tools of community");

    pty.send("\x18");
    pty.see("again within 1.5 s");
    pty.send("\x18");
    pty.see(" EMERGENCY STOP ");
    pty.see("EMERGENCY STOP since");
    pty.press_until("\x18r", "Release the emergency stop?");
    pty.press_until("j", "[ Release ]");
    pty.send("\r");
    pty.gone("EMERGENCY STOP since");
    pty.gone(" EMERGENCY STOP ");
}

#[test]
fn leaving_gives_the_terminal_back_and_removes_the_demo() {
    let (dir, command) = demo();
    let mut pty = Pty::start(&command, 80, 24);
    assert_eq!(pty.manners(), Manners::SHELL, "before anything was drawn");
    pty.see("demo: scripted, no model");
    pty.wait_manners(&Manners::CONSOLE);
    assert_eq!(directories(dir.path()).len(), 1);
    pty.press_until("q", "stop the engine and quit");
    assert!(
        !pty.screen().contains("detach"),
        "the demo has nobody to go on for"
    );
    // The choice that changes nothing stands first.
    pty.send("\r");
    pty.gone("┌ Quit");
    assert!(pty.runs());
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
    assert_eq!(pty.manners(), Manners::SHELL);
    assert_eq!(directories(dir.path()), Vec::<PathBuf>::new());
}
