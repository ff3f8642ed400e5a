//! Everything else an operator does, in lines.

use serde_json::json;

use crate::console_plain::typist::Typist;
use crate::console_pty::door::{Door, WRITE, items};
use crate::on_call::daemon::PEOPLE;
use crate::support::daemon::Home;

#[tokio::test]
async fn a_session_is_opened_written_into_and_read() {
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    let said = typist.enter("sessions");
    assert!(said.contains("No session yet"), "{said}");
    let said = typist.enter("write hello");
    assert!(said.contains("no session is open"), "{said}");
    let said = typist.enter("new");
    assert!(said.contains("session 1  ses_"), "{said}");
    let accepted = typist.enter("write SAY:the tide is high");
    assert!(accepted.contains("message accepted"), "{accepted}");
    // The answer comes by itself, whole; what was asked may be printed before or behind the word that it was taken.
    let said = accepted + &typist.hear("answer  ") + &typist.hear("  the tide is high");
    assert!(said.contains("SAY:the tide is high"), "{said}");
    typist.say("write");
    typist.hear("a single dot ends");
    typist.say("SAY:two");
    typist.say("lines");
    let said = typist.enter(".") + &typist.hear("answer  ") + &typist.hear("  two");
    assert!(said.contains("  SAY:two\n  lines\n"), "{said}");

    let door = Door::of(&home);
    for at in 0..25 {
        let session = items(&door.get("/v1/sessions").await).next().unwrap()["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let path = format!("/v1/sessions/{session}/messages");
        let accepted = door
            .post(&path, json!({ "text": format!("SAY:number {at}.") }))
            .await;
        door.wait_state(accepted["continuation_id"].as_str().unwrap(), "completed")
            .await;
    }
    typist.skip();
    let said = typist.enter("sessions");
    assert!(said.contains("  1  idle  desk"), "{said}");
    let said = typist.enter("open 1");
    assert!(
        said.contains("number 24.") && !said.contains("the tide is high"),
        "{said}"
    );
    let mut older = String::new();
    while !older.contains("this is the beginning") {
        older = typist.enter("older");
        assert!(!older.contains("number 24."), "{older}");
    }
    assert!(typist.all().contains("  number 3.\n"), "{}", typist.all());
    let said = typist.enter("pause");
    assert!(said.contains("session paused"), "{said}");
    let said = typist.enter("unpause");
    assert!(said.contains("session goes on"), "{said}");
    let said = typist.enter("open 7");
    assert!(said.contains("no session has the number 7"), "{said}");
    let said = typist.enter("open nothing");
    assert!(said.contains("no session starts with `nothing`"), "{said}");
    typist.quit();
}

#[tokio::test]
async fn autonomy_is_set_with_what_it_would_have_meant() {
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    let door = Door::of(&home);
    let waiting = door.ask(WRITE).await;
    typist.news("new: 1");
    let path = format!("/v1/approvals/{}/decision", waiting["id"].as_str().unwrap());
    door.post(
        &path,
        json!({ "decision": "deny", "digest": waiting["digest"] }),
    )
    .await;
    typist.news("settled: 1");

    let said = typist.enter("channels");
    assert!(said.contains("api  ") && said.contains("desk  "), "{said}");
    typist.say("autonomy api");
    let said = typist.hear("Which level? (1 to 3, enter leaves)");
    assert!(said.contains("would have run without you"), "{said}");
    assert!(
        said.contains("ask -> allow  medium risk  write_file"),
        "{said}"
    );
    let said = typist.enter("");
    assert!(!said.contains("changed"), "{said}");

    typist.say("autonomy api");
    typist.hear("enter leaves)");
    typist.say("3");
    // `full` always ends by itself.
    let said = typist.hear("How long? (1 to 4, enter leaves)");
    assert!(said.contains("  2  for an hour"), "{said}");
    typist.say("2");
    typist.hear("Raise api from supervised to full for an hour.");
    typist.look();
    let said = typist.enter("no");
    assert!(said.contains("nothing was decided"), "{said}");
    assert_ne!(
        door.get("/v1/channels/api").await["policy"]["autonomy"],
        "full"
    );

    typist.say("autonomy api");
    typist.hear("enter leaves)");
    typist.say("3");
    typist.hear("How long?");
    typist.say("1");
    typist.hear("Type yes to do so:");
    typist.look();
    let said = typist.enter("yes");
    assert!(said.contains("policy of api changed"), "{said}");
    let policy = door.get("/v1/channels/api").await["policy"].clone();
    assert_eq!(policy["autonomy"], "full");
    assert!(policy["expires_at"].is_string(), "{policy:#}");

    // Lowering needs no second word.
    typist.say("autonomy api");
    typist.hear("enter leaves)");
    let said = typist.enter("1");
    assert!(said.contains("policy of api changed"), "{said}");
    assert_eq!(
        door.get("/v1/channels/api").await["policy"]["autonomy"],
        "supervised"
    );

    typist.say("pause api");
    typist.hear("Type pause to do so:");
    typist.look();
    let said = typist.enter("pause");
    // Only a channel with a platform behind it can be paused; the engine says what can be done instead.
    assert!(said.contains("no connection to pause"), "{said}");
    let said = typist.enter("pause apu");
    assert!(said.contains("no channel apu; there are "), "{said}");
    typist.quit();
}

#[tokio::test]
async fn turns_are_listed_killed_and_started_again() {
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    let door = Door::of(&home);
    let approval = door.ask(WRITE).await;
    typist.news("new: 1");
    let said = typist.enter("turns");
    assert!(said.contains("  1  awaiting_approval  api"), "{said}");
    let said = typist.enter("turn 1");
    assert!(
        said.contains(approval["continuation_id"].as_str().unwrap()),
        "{said}"
    );
    let said = typist.enter("resume 1");
    assert!(
        said.contains("awaiting_approval") || said.contains("interrupted"),
        "{said}"
    );
    typist.say("kill 1");
    typist.hear("Type kill to do so:");
    typist.look();
    let said = typist.enter("kill");
    assert!(said.contains("turn cancelled"), "{said}");
    door.wait_state(approval["continuation_id"].as_str().unwrap(), "cancelled")
        .await;
    typist.say("retry 1");
    typist.hear("Type retry to do so:");
    typist.look();
    let said = typist.enter("retry");
    assert!(said.contains("started again as a new turn"), "{said}");
    typist.news("new: 2");
    typist.quit();
}

#[tokio::test]
async fn the_command_line_is_there_too() {
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    let door = Door::of(&home);
    let approval = door.ask(WRITE).await;
    typist.news("new: 1");
    let code = approval["short_code"].as_str().unwrap();
    for (line, printed) in [
        ("rules", "no rules"),
        ("costs", "local days"),
        ("costs --by channel", "CHANNEL"),
        ("cache", "looked up"),
        ("memory", ""),
        ("memory search \"high tide\"", ""),
        ("audit", "policy.changed"),
        ("audit verify", "chain    whole"),
        ("doctor", "ok"),
        ("models", "PROVIDER"),
        ("hooks", ""),
        ("routine", ""),
        ("outbox", ""),
        ("approvals list", code),
        ("ask SAY:forty-two", "forty-two"),
        ("help", "emergency stop"),
        ("frobnicate", "unrecognized subcommand"),
        ("audit lst", "unrecognized subcommand"),
        ("rules add \"never closed", "is never closed"),
        ("init", "not from here"),
        ("backup x.backup", "not from here"),
        ("--demo", "`help` lists what can be typed"),
    ] {
        let said = typist.enter(line);
        assert!(said.contains(printed), "{line}: {said}");
        assert!(!said.contains("internal"), "{line}: {said}");
    }
    // A decision is about what was printed here.
    for line in [
        format!("approvals approve {code}"),
        format!(
            "approvals approve {code} --digest {}",
            approval["digest"].as_str().unwrap()
        ),
        format!("approvals deny {code}"),
    ] {
        let said = typist.enter(&line);
        assert!(said.contains("decide it here"), "{said}");
    }
    let path = format!("/v1/approvals/{}", approval["id"].as_str().unwrap());
    assert_eq!(door.get(&path).await["state"], "pending");
    typist.quit();
}

#[tokio::test]
async fn the_emergency_stop_holds_until_it_is_released() {
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    let door = Door::of(&home);
    typist.say("stop");
    typist.hear("Type stop once more:");
    let said = typist.enter("no");
    assert!(said.contains("not stopped"), "{said}");
    // The lock is against accidents; stopping is none.
    typist.enter("lock");
    let said = typist.enter("new");
    assert!(said.contains("locked"), "{said}");
    typist.say("stop");
    typist.hear("Type stop once more:");
    typist.look();
    let said = typist.enter("stop");
    assert!(said.contains("EMERGENCY STOP is in force"), "{said}");
    let engine = door
        .wait("/v1/snapshot", "held", |body| {
            body["engine"]["held_since"].is_string()
        })
        .await;
    assert!(engine["engine"]["held_since"].is_string());
    typist.enter("unlock");
    let said = typist.enter("");
    assert!(said.contains("[STOPPED, "), "{said}");
    let said = typist.enter("release");
    assert!(said.contains("released: work goes on"), "{said}");
    typist.quit();
}

#[tokio::test]
async fn what_is_written_in_a_taken_over_session_does_not_wait_for_its_agent() {
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    typist.enter("new");
    let door = Door::of(&home);
    let session = items(&door.get("/v1/sessions").await).next().unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/v1/sessions/{session}");
    door.post(&format!("{path}/take-over"), json!({})).await;
    // The event may be a moment behind the answer; a try before it waits for the agent, and is told apart here.
    let deadline = std::time::Instant::now() + crate::support::daemon::DEADLINE;
    let mut accepted = 0;
    let said = loop {
        let said = typist.enter("write SAY:from the agent");
        if said.contains("taken this conversation over") {
            break said;
        }
        // News may be printed before the answer: only what was accepted counts.
        accepted += said.matches("message accepted").count();
        assert!(std::time::Instant::now() < deadline, "{said}");
    };
    let named = format!("sessions say {session} TEXT");
    assert!(said.contains(&named), "{said}");
    assert!(
        said.contains(&format!("sessions release {session}")),
        "{said}"
    );
    let waiting = door.get("/v1/continuations?state=pending").await;
    assert_eq!(items(&waiting).count(), accepted, "{waiting}");
    typist.quit();
}

#[tokio::test]
async fn a_question_is_handed_over_and_somebody_is_on_call() {
    let home = Home::new(PEOPLE);
    let mut typist = Typist::at(&home);
    let door = Door::of(&home);
    let waiting = door.ask(WRITE).await;
    typist.news("new: 1");
    let code = waiting["short_code"].as_str().unwrap();
    let over = format!("approvals assign {code} anna --note \"it is hers\"");
    let said = typist.enter(&over);
    assert!(said.contains("waiting for anna"), "{said}");
    // The event may be a moment behind the answer.
    let deadline = std::time::Instant::now() + crate::support::daemon::DEADLINE;
    loop {
        let said = typist.enter("queue");
        if said.contains("for anna: write_file") {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{said}");
    }
    let said = typist.enter("1");
    assert!(
        said.contains("waiting for") && said.contains("it is hers"),
        "{said}"
    );

    // Whoever sits here is told of what is for them.
    let audit = door.get("/v1/audit?action=approval.assigned").await;
    let own = audit["items"][0]["actor"].clone();
    let path = format!("/v1/approvals/{}/assign", waiting["id"].as_str().unwrap());
    door.post(&path, json!({ "to": own, "digest": waiting["digest"] }))
        .await;
    typist.news("is assigned to you by");

    let said = typist.enter("on-call anna --for 8h");
    assert!(said.contains("anna is on call since"), "{said}");
    let said = typist.enter("summary");
    assert!(
        said.contains("anna is on call") && said.contains(&format!("{code} to anna")),
        "{said}"
    );
    typist.quit();
}
