//! News, questions and lost connections: nothing breaks into what is being answered.

use crate::console_plain::typist::{PROMPT, Typist};
use crate::console_pty::door::{Door, WRITE, command};
use crate::support::daemon::Home;

#[tokio::test]
async fn news_waits_for_the_answer_of_a_question() {
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    let door = Door::of(&home);
    typist.say("autonomy desk");
    typist.hear("enter leaves)");
    door.ask(WRITE).await;
    typist.look();
    assert_eq!(typist.unread().trim(), "", "something broke in");
    let said = typist.enter("");
    assert!(said.contains("new: 1"), "{said}");

    // Four at once are one line.
    typist.say("autonomy desk");
    typist.hear("enter leaves)");
    for name in ["one", "two", "three", "four"] {
        door.ask(&WRITE.replace("note", name)).await;
    }
    typist.look();
    let said = typist.enter("");
    assert!(
        said.contains("new: 4 more need you; `queue` lists them"),
        "{said}"
    );
    let said = typist.enter("queue");
    for number in 1..=5 {
        assert!(said.contains(&format!("  {number}  medium")), "{said}");
    }
    // Quiet: news waits for enter.
    typist.enter("quiet");
    door.ask(&WRITE.replace("note", "five")).await;
    typist.look();
    assert_eq!(typist.unread().trim(), "");
    let said = typist.enter("");
    assert!(said.contains("new: 6"), "{said}");
    typist.quit();
}

#[tokio::test]
async fn a_daemon_that_dies_decides_nothing_and_is_found_again() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let mut typist = Typist::at(&home);
    let said = typist.all();
    assert!(said.contains("attached to unix:"), "{said}");
    let approval = Door::of(&home).ask(WRITE).await;
    typist.news("new: 1");
    typist.enter("1");
    typist.look();
    daemon.kill();
    let said = typist.hear(PROMPT);
    assert!(
        said.contains("connection lost") && said.contains("nothing is decided meanwhile"),
        "{said}"
    );
    let said = typist.enter("1 1");
    assert!(said.contains("not connected"), "{said}");
    let daemon = home.daemon();
    let said = typist.hear("connected again");
    assert!(!said.contains("allowed"), "{said}");
    typist.hear(PROMPT);
    let again = daemon.wait_approval().await;
    assert_eq!(again["id"], approval["id"]);
    typist.enter("1");
    typist.look();
    let said = typist.enter("1 1");
    assert!(said.contains("allowed once"), "{said}");
    daemon
        .wait_state(approval["continuation_id"].as_str().unwrap(), "completed")
        .await;
    typist.quit();
    daemon.get("/v1/snapshot").await;
}

#[tokio::test]
async fn a_console_that_may_not_act_says_so() {
    let home = Home::new("");
    let _daemon = home.daemon();
    let mut program = command(&home);
    program.args(["--plain", "--read-only"]);
    let mut typist = Typist::of(&program);
    typist.hear(PROMPT);
    let approval = Door::of(&home).ask(WRITE).await;
    typist.news("new: 1");
    typist.enter("1");
    typist.look();
    for line in ["1 1", "new", "rules add write_file --exact x", "ask SAY:x"] {
        let said = typist.enter(line);
        assert!(said.contains("read-only"), "{line}: {said}");
    }
    typist.say("stop");
    typist.hear("once more:");
    typist.look();
    let said = typist.enter("stop");
    assert!(said.contains("read-only"), "{said}");
    let path = format!("/v1/approvals/{}", approval["id"].as_str().unwrap());
    assert_eq!(Door::of(&home).get(&path).await["state"], "pending");
    typist.quit();
}
