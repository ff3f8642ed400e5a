//! Decisions in lines: what counts, and what does not.

use serde_json::json;

use crate::console_plain::typist::{PROMPT, Typist};
use crate::console_pty::door::{Door, WRITE, command};
use crate::support::daemon::Home;

fn written(home: &Home, name: &str) -> Option<String> {
    std::fs::read_to_string(home.workspace("api").join(name)).ok()
}

#[tokio::test]
async fn what_waits_is_announced_printed_whole_and_allowed() {
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    let door = Door::of(&home);
    let approval = door.ask(WRITE).await;
    let news = typist.news("new: 1");
    assert!(news.contains("new: 1  medium"), "{news}");
    assert!(news.contains("write_file"), "{news}");
    let card = typist.enter("1");
    for needed in [
        "write_file · MEDIUM",
        approval["id"].as_str().unwrap(),
        approval["digest"].as_str().unwrap(),
        "revision 1",
        "+hello",
        "1 1  allow once",
        "1 2  deny",
    ] {
        assert!(card.contains(needed), "{needed}:\n{card}");
    }
    typist.look();
    let said = typist.enter("1 1");
    assert!(said.contains("allowed once: write_file"), "{said}");
    let continuation = approval["continuation_id"].as_str().unwrap();
    door.wait_state(continuation, "completed").await;
    assert_eq!(written(&home, "note.txt").as_deref(), Some("hello\n"));
    let decided = door
        .get(&format!(
            "/v1/approvals/{}",
            approval["id"].as_str().unwrap()
        ))
        .await;
    assert_eq!(decided["decision"]["surface"], "console");
    let all = typist.quit();
    // Append-only: nothing moves the cursor, nothing is coloured. The bell is no line.
    assert!(!all.contains('\x1b'), "{all:?}");
}

#[tokio::test]
async fn nothing_is_decided_that_was_not_read_as_it_is() {
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    let door = Door::of(&home);
    let approval = door.ask(WRITE).await;
    typist.news("new: 1");

    // Never printed.
    let said = typist.enter("1 1");
    assert!(
        said.contains("not armed: it has not been printed in full"),
        "{said}"
    );
    let said = typist.enter("allow 1");
    assert!(said.contains("not armed"), "{said}");

    // Typed ahead of the card, in one piece.
    typist.pty.send("1\r1 1\r");
    let said = typist.hear("not armed: ");
    assert!(said.contains("1 1  allow once"), "{said}");
    typist.hear("need you] > ");

    // It changes after it was read.
    typist.look();
    let path = format!(
        "/v1/approvals/{}/decision",
        approval["id"].as_str().unwrap()
    );
    let args = json!({ "path": "other.txt", "content": "edited\n" });
    let edited = json!({ "decision": "edit", "digest": approval["digest"], "args": args });
    assert_eq!(door.post(&path, edited).await["revision"], 2);
    typist.look();
    let said = typist.enter("1 1");
    assert!(said.contains("not armed: it has changed"), "{said}");

    // Read as it is now, it counts; another number does not exist.
    let card = typist.enter("1");
    assert!(
        card.contains("revision 2") && card.contains("other.txt"),
        "{card}"
    );
    let said = typist.enter("2 1");
    assert!(said.contains("there is no number 2"), "{said}");
    let said = typist.enter("1 9");
    assert!(
        said.contains("not armed") || said.contains("no choice 9"),
        "{said}"
    );
    typist.look();
    let said = typist.enter("allow 1");
    assert!(said.contains("allowed once"), "{said}");
    let continuation = approval["continuation_id"].as_str().unwrap();
    door.wait_state(continuation, "completed").await;
    assert_eq!(written(&home, "note.txt"), None);
    assert_eq!(written(&home, "other.txt").as_deref(), Some("edited\n"));
    typist.quit();
}

#[tokio::test]
async fn what_somebody_else_decided_is_said_and_stays_decided() {
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    let door = Door::of(&home);
    let approval = door.ask(WRITE).await;
    typist.news("new: 1");
    typist.enter("1");
    typist.look();
    let path = format!(
        "/v1/approvals/{}/decision",
        approval["id"].as_str().unwrap()
    );
    door.post(
        &path,
        json!({ "decision": "deny", "digest": approval["digest"] }),
    )
    .await;
    let said = typist.hear("0 need you] > ");
    assert!(said.contains("settled: 1  denied by "), "{said}");
    let said = typist.enter("1 1");
    assert!(said.contains("not armed: it is settled already"), "{said}");
    assert_eq!(written(&home, "note.txt"), None);
    typist.quit();
}

#[tokio::test]
async fn high_risk_is_asked_twice() {
    let home = Home::new("[tools.write_file]\nrisk = \"high\"\n");
    let mut typist = Typist::at(&home);
    let door = Door::of(&home);
    let approval = door.ask(WRITE).await;
    assert_eq!(approval["risk"], "high", "{approval:#}");
    typist.news("new: 1  high");
    typist.enter("1");

    typist.look();
    typist.say("1 1");
    typist.hear("HIGH RISK: approve 1, write_file, revision 1. Type yes to decide:");
    typist.look();
    let said = typist.enter("no");
    assert!(said.contains("nothing was decided"), "{said}");

    // Both at once is no second thought.
    typist.look();
    typist.pty.send("1 1\ryes\r");
    let said = typist.hear("not armed: ");
    assert!(said.contains("Type yes"), "{said}");
    typist.hear("need you] > ");

    typist.look();
    typist.say("1 1");
    typist.hear("Type yes to decide:");
    typist.look();
    let said = typist.enter("yes");
    assert!(said.contains("allowed once: write_file"), "{said}");
    let continuation = approval["continuation_id"].as_str().unwrap();
    door.wait_state(continuation, "completed").await;
    assert_eq!(written(&home, "note.txt").as_deref(), Some("hello\n"));
    typist.quit();
}

#[tokio::test]
async fn a_critical_call_takes_the_code_of_its_card() {
    let home = Home::new("[tools.write_file]\nrisk = \"critical\"\n");
    let mut typist = Typist::at(&home);
    let door = Door::of(&home);
    let approval = door.ask(WRITE).await;
    assert_eq!(approval["risk"], "critical", "{approval:#}");
    let code = approval["short_code"].as_str().unwrap();
    typist.news("new: 1  critical");
    let card = typist.enter("1");
    assert!(card.contains(&format!("code {code}")), "{card}");
    for (typed, expected) in [("yes", "nothing was decided"), (code, "allowed once")] {
        typist.look();
        typist.say("1 1");
        typist.hear("Type the code on the card:");
        typist.look();
        let said = typist.enter(typed);
        assert!(said.contains(expected), "{said}");
    }
    let continuation = approval["continuation_id"].as_str().unwrap();
    door.wait_state(continuation, "completed").await;
    typist.quit();
}

#[tokio::test]
async fn deny_answer_edit_snooze_and_stop() {
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    let door = Door::of(&home);

    let first = door.ask(WRITE).await;
    typist.news("new: 1");
    typist.enter("1");
    typist.look();
    let said = typist.enter("deny 1 not on a Friday");
    assert!(said.contains("denied: write_file"), "{said}");
    let done = door
        .wait_state(first["continuation_id"].as_str().unwrap(), "completed")
        .await;
    let result = done["tool_calls"][0]["result"].as_str().unwrap();
    assert!(result.contains("not on a Friday"), "{result}");

    let second = door.ask(WRITE).await;
    typist.news("new: 2");
    let card = typist.enter("2");
    let number = |label: &str| {
        let line = card.lines().find(|line| line.contains(label)).expect(label);
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    typist.look();
    typist.say(&format!("2 {}", number("edit the arguments")));
    typist.hear("New arguments as JSON");
    typist.say("{ \"path\": \"edited.txt\",");
    typist.say("  \"content\": \"by hand\" }");
    let said = typist.enter(".");
    assert!(said.contains("arguments changed, still pending"), "{said}");
    let card = typist.enter("2");
    assert!(
        card.contains("edited.txt") && card.contains("revision 2"),
        "{card}"
    );
    typist.look();
    typist.say("edit 2");
    typist.hear("New arguments as JSON");
    typist.say("{ no json");
    let said = typist.enter(".");
    assert!(said.contains("not sent: no JSON"), "{said}");
    typist.look();
    typist.say(&format!("2 {}", number("answer in its place")));
    typist.hear("What the model reads in its place");
    typist.say("It is written already.");
    typist.look();
    let said = typist.enter(".");
    assert!(said.contains("answered: write_file"), "{said}");
    let done = door
        .wait_state(second["continuation_id"].as_str().unwrap(), "completed")
        .await;
    let result = done["tool_calls"][0]["result"].as_str().unwrap();
    assert!(result.contains("It is written already."), "{result}");
    assert_eq!(written(&home, "edited.txt"), None);

    let third = door.ask(WRITE).await;
    typist.news("new: 3");
    typist.enter("3");
    typist.look();
    let said = typist.enter("snooze 3 5");
    assert!(said.contains("snoozed"), "{said}");
    assert!(said.ends_with("[0 need you] > "), "{said}");
    let path = format!("/v1/approvals/{}", third["id"].as_str().unwrap());
    assert_eq!(door.get(&path).await["state"], "pending");

    let fourth = door.ask(&WRITE.replace("note", "fourth")).await;
    typist.news("new: 4");
    typist.enter("4");
    typist.look();
    let said = typist.enter("stop 4");
    assert!(said.contains("denied and stopped"), "{said}");
    door.wait_state(fourth["continuation_id"].as_str().unwrap(), "cancelled")
        .await;
    assert_eq!(written(&home, "fourth.txt"), None);
    typist.quit();
}

#[tokio::test]
async fn a_shape_is_allowed_for_the_session_and_a_rule_is_made() {
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    let door = Door::of(&home);
    let approval = door.ask(WRITE).await;
    typist.news("new: 1");
    let card = typist.enter("1");
    assert!(card.contains("how to make a rule of it"), "{card}");
    typist.look();
    typist.say("session 1");
    let lives = typist.hear("For how long?");
    assert!(lives.contains("until this turn ends"), "{lives}");
    typist.say("");
    typist.look();
    typist.say("session 1 30m");
    let shown = typist.hear("Type session to allow that:");
    assert!(
        shown.contains("(in 30m), while this session lasts"),
        "{shown}"
    );
    typist.look();
    let said = typist.enter("session");
    assert!(said.contains("allowed for this session"), "{said}");
    door.wait_state(approval["continuation_id"].as_str().unwrap(), "completed")
        .await;
    let grants = typist.enter("rules grants");
    assert!(grants.contains("write_file"), "{grants}");

    let second = door.ask(&WRITE.replace("note", "second")).await;
    typist.news("new: 2");
    let card = typist.enter("2");
    let rule = card
        .lines()
        .find(|line| line.contains("how to make a rule"))
        .unwrap();
    let choice = rule.split_whitespace().nth(1).unwrap().to_owned();
    typist.look();
    let said = typist.enter(&format!("2 {choice}"));
    let example = said
        .lines()
        .find(|line| line.trim_start().starts_with("rules add"))
        .unwrap_or_else(|| panic!("{said}"))
        .trim()
        .to_owned();
    let said = typist.enter(&example);
    assert!(said.contains(": matches "), "{said}");
    let made = typist.enter(&example.replace(" --preview", ""));
    assert!(made.contains("rul_"), "{made}");
    let listed = typist.enter("rules");
    assert!(listed.contains("write_file"), "{listed}");
    // A rule decides nothing that waits already.
    let path = format!("/v1/approvals/{}", second["id"].as_str().unwrap());
    assert_eq!(door.get(&path).await["state"], "pending");
    typist.quit();
}

#[tokio::test]
async fn a_large_call_is_printed_whole_before_it_can_be_allowed() {
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    let door = Door::of(&home);
    let content = "0123456789\n".repeat(400);
    let args = json!({ "path": "large.txt", "content": format!("{content}THE END\n") });
    let approval = door
        .ask(&format!("TOOL:write_file{args}\nSAY:all done"))
        .await;
    typist.news("new: 1");
    let said = typist.enter("1 1");
    assert!(said.contains("not armed"), "{said}");
    let card = typist.enter("1");
    assert!(card.contains("+THE END"), "{card}");
    assert!(!card.contains("loading"), "{card}");
    typist.look();
    let said = typist.enter("allow 1");
    assert!(said.contains("allowed once"), "{said}");
    let continuation = approval["continuation_id"].as_str().unwrap();
    door.wait_state(continuation, "completed").await;
    let file = written(&home, "large.txt").unwrap_or_default();
    assert_eq!(file.len(), content.len() + "THE END\n".len());
    typist.quit();
}

#[tokio::test]
async fn a_command_is_rehearsed_and_still_waits() {
    if crate::tools::harness::sandbox().is_none() {
        return;
    }
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    let door = Door::of(&home);
    let args = json!({"script": "echo spoken; echo x > made.txt"});
    door.ask(&format!("TOOL:execute_command{args}\nSAY:done"))
        .await;
    typist.news("new: 1");
    let card = typist.enter("1");
    assert!(card.contains("rehearse it in a throw-away copy"), "{card}");
    typist.look();
    let said = typist.enter("rehearse 1");
    for words in [
        "REHEARSAL, not a run",
        "exit status 0",
        "created made.txt",
        "spoken",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(written(&home, "made.txt"), None);
    let queue = typist.enter("queue");
    assert!(queue.contains("execute_command"), "{queue}");
    typist.quit();
}

#[tokio::test]
async fn a_rehearsal_that_takes_long_is_ended_from_the_keyboard() {
    if crate::tools::harness::sandbox().is_none() {
        return;
    }
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    let door = Door::of(&home);
    let args = json!({"script": "sleep 300", "timeout_seconds": 400});
    door.ask(&format!("TOOL:execute_command{args}\nSAY:done"))
        .await;
    typist.news("new: 1");
    typist.enter("1");
    typist.look();
    typist.say("rehearse 1");
    typist.hear("ctrl-c ends it");
    typist.pty.send("\x03");
    let said = typist.hear(PROMPT);
    assert!(said.contains("the rehearsal was ended"), "{said}");
    let queue = typist.enter("queue");
    assert!(queue.contains("execute_command"), "{queue}");
    typist.quit();
}

#[tokio::test]
async fn what_was_put_off_comes_back_and_its_end_is_said() {
    let home = Home::new("");
    let offset = home.path().join("offset");
    let mut program = command(&home);
    program
        .arg("--plain")
        .env("LEVERFRAME_CLOCK_OFFSET_FILE", &offset);
    let mut typist = Typist::of(&program);
    typist.hear(PROMPT);
    let door = Door::of(&home);
    let approval = door.ask(WRITE).await;
    typist.news("new: 1");
    typist.enter("1");
    typist.look();
    let said = typist.enter("snooze 1 5");
    assert!(said.contains("snoozed"), "{said}");
    // Whole at once, for a reader must not see half of it.
    std::fs::write(offset.with_extension("new"), "301").unwrap();
    std::fs::rename(offset.with_extension("new"), &offset).unwrap();
    // Something else happens, and the console looks at its clock.
    door.ask(&WRITE.replace("note", "second")).await;
    let news = typist.news("new: 2");
    assert!(news.contains("new: 1  medium"), "{news}");
    // What is put off again, and decided elsewhere, is not said to be settled by this person.
    typist.enter("1");
    typist.look();
    typist.enter("snooze 1 5");
    let path = format!(
        "/v1/approvals/{}/decision",
        approval["id"].as_str().unwrap()
    );
    let denial = json!({"decision": "deny", "digest": approval["digest"]});
    door.post(&path, denial).await;
    let news = typist.news("settled: 1");
    assert!(news.contains("write_file"), "{news}");
    typist.quit();
}
