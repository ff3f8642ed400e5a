//! Keys typed while something arrives decide nothing.

use std::time::{Duration, Instant};

use crate::console_pty::door::{Door, WRITE, console};
use crate::console_pty::steps::{code_on_card, select_pending};
use crate::support::daemon::Home;
use crate::support::pty::Pty;

/// Goes on typing for a while, at the pace of somebody who writes a text elsewhere.
async fn type_for(pty: &mut Pty, keys: &str, how_long: Duration) {
    let end = Instant::now() + how_long;
    for key in keys.chars().cycle() {
        if Instant::now() >= end {
            return;
        }
        pty.send(&key.to_string());
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
}

#[tokio::test]
async fn blind_keys_at_an_arrival_select_and_decide_nothing() {
    let home = Home::new("");
    let mut pty = console(&home);
    pty.see("nothing needs you");
    let door = Door::of(&home);

    let (approval, ()) = tokio::join!(
        door.ask(WRITE),
        type_for(&mut pty, "a\ray\rA", Duration::from_millis(2500))
    );
    let screen = pty.see("1 need you");
    assert!(screen.contains("write_file note.txt"), "{screen}");
    assert!(!screen.contains("> "), "it was selected:\n{screen}");
    assert!(!screen.contains("· code "), "its card opened:\n{screen}");
    let now = door
        .get(&format!(
            "/v1/approvals/{}",
            approval["id"].as_str().unwrap()
        ))
        .await;
    assert_eq!(now["state"], "pending", "{now:#}");
    assert_eq!(now["revision"], 1);
    assert!(!home.workspace("api").join("note.txt").exists());
}

#[tokio::test]
async fn a_held_key_never_arms_a_card_and_the_next_arrival_leaves_the_selection_alone() {
    let home = Home::new("");
    let mut pty = console(&home);
    pty.see("nothing needs you");
    let door = Door::of(&home);
    let first = door.ask(WRITE).await;
    select_pending(&mut pty);
    let code = code_on_card(&pty);
    assert_eq!(first["short_code"], code.as_str());

    // A card that just appeared under somebody's fingers.
    type_for(&mut pty, "aad", Duration::from_secs(2)).await;
    pty.see("not armed");
    let path = format!("/v1/approvals/{}", first["id"].as_str().unwrap());
    assert_eq!(door.get(&path).await["state"], "pending");

    // Another one arrives: it stands below, the first stays selected.
    let second = door.ask(&WRITE.replace("note", "other")).await;
    pty.see("2 need you");
    assert_eq!(code_on_card(&pty), code);
    let list = pty.screen();
    let row = |name: &str| list.lines().position(|row| row.contains(name)).unwrap();
    assert!(
        row("write_file note.txt") < row("write_file other.txt"),
        "{list}"
    );
    assert!(
        list.lines()
            .nth(row("write_file note.txt"))
            .unwrap()
            .contains("> ")
    );
    let path = format!("/v1/approvals/{}", second["id"].as_str().unwrap());
    assert_eq!(door.get(&path).await["state"], "pending");
}

#[tokio::test]
async fn a_paste_never_decides() {
    let home = Home::new("");
    let mut pty = console(&home);
    pty.see("nothing needs you");
    let door = Door::of(&home);
    let approval = door.ask(WRITE).await;
    select_pending(&mut pty);
    crate::console_pty::steps::read_to_end(&mut pty);
    // Armed: a decision key opens its dialog.
    pty.press_until("D", "┌ Deny");
    pty.send("\x1b");
    pty.gone("┌ Deny");
    pty.gone("not armed");
    pty.send("\x1b[200~aaad\r\x18\x18\x1b[201~");
    pty.see("pasted text never decides");
    let path = format!("/v1/approvals/{}", approval["id"].as_str().unwrap());
    assert_eq!(door.get(&path).await["state"], "pending");
    assert!(!pty.screen().contains("EMERGENCY"));
}
