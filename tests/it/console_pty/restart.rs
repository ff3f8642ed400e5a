//! A `kill -9` of the console while an approval waits (story 4).

use crate::console_pty::door::{Door, WRITE, console};
use crate::console_pty::steps::{approve, code_on_card, select_pending};
use crate::support::daemon::Home;

#[tokio::test]
async fn the_approval_is_there_again_with_its_code_and_the_turn_completes_once() {
    let home = Home::new("");
    let mut pty = console(&home);
    pty.see("nothing needs you");
    let approval = Door::of(&home).ask(WRITE).await;
    select_pending(&mut pty);
    let code = code_on_card(&pty);
    pty.kill();

    let mut pty = console(&home);
    pty.see("1 need you");
    select_pending(&mut pty);
    assert_eq!(code_on_card(&pty), code);
    let door = Door::of(&home);
    let again = door.get("/v1/approvals?state=pending").await;
    assert_eq!(again["items"][0]["id"], approval["id"]);
    assert!(!home.workspace("api").join("note.txt").exists());

    approve(&mut pty);
    let continuation = approval["continuation_id"].as_str().unwrap();
    let done = door.wait_state(continuation, "completed").await;
    assert_eq!(done["response"]["text"], "all done");
    assert_eq!(done["tool_calls"][0]["attempts"], 1);
    let file = home.workspace("api").join("note.txt");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "hello\n");
}
