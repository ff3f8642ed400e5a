//! A daemon is killed while a tool runs or a message is sent; a person says what became of it, on every surface.

use serde_json::{Value, json};

use crate::console_pty::door::command;
use crate::console_pty::steps::read_to_end;
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::{Fault, User};
use crate::support::pty::Pty;
use crate::unknown_outcomes::{LONG, killed_mid_tool, run};

fn times_run(home: &Home) -> usize {
    std::fs::read_to_string(home.workspace("api").join("ran"))
        .unwrap_or_default()
        .lines()
        .count()
}

/// The turn went on, the answer is in the audit, and every invariant holds.
async fn went_on(daemon: &Daemon, continuation: &str, question: &Value, word: &str, call: &str) {
    let done = daemon.wait_state(continuation, "completed").await;
    assert_eq!(done["response"]["text"], "went on");
    assert_eq!(done["tool_calls"][0]["state"], call, "{done:#}");
    let id = question["id"].as_str().unwrap();
    let audit = daemon.get("/v1/audit?action=approval.decided").await;
    let row = audit["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["subject"] == id)
        .unwrap_or_else(|| panic!("no audit row for {id}: {audit:#}"));
    let detail: Value = serde_json::from_str(row["detail"].as_str().unwrap()).unwrap();
    assert_eq!(detail["decision"], word);
    let check = daemon.get("/v1/doctor?check=true").await["check"].clone();
    assert_eq!(check["violations"], 0, "{check:#}");
}

#[tokio::test]
async fn over_http_the_question_says_all_that_is_known_and_it_happened_goes_on() {
    let (home, daemon, continuation, question) = killed_mid_tool(LONG).await;
    assert_eq!(question["kind"], "resolve_unknown");
    assert_eq!(question["continuation_id"], continuation.as_str());
    assert_eq!(question["tool"], "execute_command");
    assert!(
        question["args"]["script"]
            .as_str()
            .unwrap()
            .contains("sleep 30")
    );
    assert_eq!(
        question["offered"],
        json!(["happened", "run_again", "give_up"])
    );
    let unknown = &question["unknown"];
    assert_eq!(unknown["attempt"], 1, "{question:#}");
    assert_eq!(unknown["attempts"], 1);
    assert_eq!(unknown["epoch"], 1);
    assert_eq!(unknown["key"].as_str().unwrap().len(), 24);
    assert_eq!(unknown["known"], "the process ended while it ran");
    let started: jiff::Timestamp = unknown["started_at"].as_str().unwrap().parse().unwrap();
    assert!(started <= question["requested_at"].as_str().unwrap().parse().unwrap());

    let path = format!(
        "/v1/approvals/{}/decision",
        question["id"].as_str().unwrap()
    );
    let body = json!({ "decision": "happened", "digest": question["digest"], "reason": "seen in the log" });
    let decided = daemon.post(&path, body).await;
    assert_eq!(decided["unknown"]["attempt"], 1);
    went_on(
        &daemon,
        &continuation,
        &question,
        "happened",
        "succeeded_by_note",
    )
    .await;
    assert_eq!(times_run(&home), 1, "it was run again");
    let call = daemon
        .get(&format!("/v1/continuations/{continuation}"))
        .await["tool_calls"][0]
        .clone();
    assert!(
        call["result"].as_str().unwrap().contains("seen in the log"),
        "{call:#}"
    );
}

#[tokio::test]
async fn the_command_line_shows_the_card_binds_the_answer_and_runs_it_again() {
    let (home, daemon, continuation, question) = killed_mid_tool(LONG).await;
    let id = question["id"].as_str().unwrap();
    let (status, card, errors) = run(&home, &["approvals", "show", id]);
    assert_eq!(status, 0, "{errors}");
    for part in [
        "sleep 30",
        "started   20",
        "attempt   1 of 1, by the process of epoch 1",
        "known     the process ended while it ran",
        "answer    happened: it happened",
        "answer    run-again: run again",
        "answer    give-up: give up",
        &format!("then      {continuation} goes on"),
        question["unknown"]["key"].as_str().unwrap(),
    ] {
        assert!(card.contains(part), "{part} is not in {card}");
    }
    // Nobody is asked where nobody sits: without a digest nothing is decided.
    let resolve = ["continuations", "resolve", &continuation, "run-again"];
    let (status, _, errors) = run(&home, &resolve);
    assert_eq!(status, 2, "{errors}");
    assert!(errors.contains("--digest"), "{errors}");
    let (status, _, errors) = run(
        &home,
        &[&resolve[..], &["--digest", &"0".repeat(64)]].concat(),
    );
    assert_eq!(status, 5, "{errors}");
    assert!(errors.contains("changed since it was shown"), "{errors}");
    let digest = question["digest"].as_str().unwrap();
    let answer = [
        &resolve[..],
        &["--digest", digest, "--note", "no trace of it", "--json"],
    ]
    .concat();
    let (status, text, errors) = run(&home, &answer);
    assert_eq!(status, 0, "{text}{errors}");
    let decided: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(decided["decision"]["decision"], "run_again");
    assert_eq!(decided["decision"]["surface"], "cli");
    went_on(&daemon, &continuation, &question, "run_again", "succeeded").await;
    assert_eq!(times_run(&home), 2);
    // Which start was asked about does not change when there are more.
    let shown = daemon.get(&format!("/v1/approvals/{id}")).await;
    assert_eq!(shown["unknown"]["attempt"], 1);
    assert_eq!(shown["unknown"]["attempts"], 2);

    // Once more the same is no conflict; the other word meets who was first.
    let (status, _, errors) = run(&home, &answer);
    assert_eq!(status, 0, "{errors}");
    let call = question["tool_call_id"].as_str().unwrap();
    let (status, _, errors) = run(
        &home,
        &[
            "continuations",
            "resolve",
            call,
            "give-up",
            "--digest",
            digest,
        ],
    );
    assert_eq!(status, 5, "{errors}");
    assert!(
        errors.contains("decided first: run_again by ") && errors.contains(" on cli at 20"),
        "{errors}"
    );
}

#[tokio::test]
async fn at_the_console_it_is_given_up_with_one_key() {
    let (home, daemon, continuation, question) = killed_mid_tool(LONG).await;
    let mut pty = Pty::start(&command(&home), 110, 40);
    pty.see("need you");
    pty.press_until("j", "What is known");
    let screen = pty.see("epoch 1, gone (now 2)");
    assert!(
        screen.contains("resolve_unknown execute_command"),
        "{screen}"
    );
    read_to_end(&mut pty);
    let screen = pty.see("give up: the model reads that nobody knows");
    assert!(
        screen.contains(&format!("{continuation} goes on")),
        "{screen}"
    );
    pty.press_until("u", "given up by ");
    went_on(&daemon, &continuation, &question, "give_up", "abandoned").await;
    assert_eq!(times_run(&home), 1, "it was run again");
}

#[tokio::test]
async fn what_is_not_there_or_no_answer_is_refused_by_name() {
    let text = "TOOL:execute_command{\"script\":\"touch ran; sleep 30\"}\nSAY:went on";
    let (home, _daemon, continuation, question) = killed_mid_tool(text).await;
    let digest = question["digest"].as_str().unwrap();
    for (id, expected, status) in [
        ("call_00000000000000000000000000", "no such tool call", 1),
        ("con_00000000000000000000000000", "no such continuation", 1),
        ("nonsense", "no continuation starts with `nonsense`", 2),
    ] {
        let arguments = [
            "continuations",
            "resolve",
            id,
            "happened",
            "--digest",
            digest,
        ];
        let (found, _, errors) = run(&home, &arguments);
        assert_eq!(found, status, "{errors}");
        assert!(errors.contains(expected), "{errors}");
    }
    let (status, _, errors) = run(&home, &["continuations", "resolve", &continuation, "maybe"]);
    assert_eq!(status, 2);
    assert!(errors.contains("happened, run-again, give-up"), "{errors}");
}

const BEN: i64 = 100;

fn with_telegram(telegram: &FakeTelegram) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         allowed_users = [\"{BEN}\"]\n",
        telegram.url()
    ))
}

/// A reply whose delivery is unknown, and the question about it.
async fn unknown_delivery(telegram: &FakeTelegram, home: &Home) -> (Daemon, Value, Value) {
    let token = telegram.state().token.clone();
    let daemon = home.daemon_with(&[("TEAM_TOKEN", &token)]);
    telegram.fault("sendMessage", Fault::ResetAfter);
    telegram.user_says(BEN, &User::new(BEN, "Ben"), "SAY:the whole answer");
    let list = daemon
        .wait("/v1/outbox?state=unknown", "an unknown delivery", |body| {
            body["items"]
                .as_array()
                .is_some_and(|items| !items.is_empty())
        })
        .await;
    let question = daemon.wait_approval().await;
    (daemon, list["items"][0].clone(), question)
}

#[tokio::test]
async fn a_reply_of_unknown_delivery_is_shown_whole_and_settled_from_the_command_line() {
    let telegram = FakeTelegram::start();
    let home = with_telegram(&telegram);
    let (daemon, delivery, question) = unknown_delivery(&telegram, &home).await;
    let id = delivery["id"].as_str().unwrap();
    assert_eq!(delivery["question"], question["id"]);
    assert_eq!(question["kind"], "resend");
    let unknown = &question["unknown"];
    assert_eq!(unknown["delivery"]["id"], id, "{question:#}");
    let text = unknown["delivery"]["text"].as_str().unwrap();
    assert!(text.ends_with("the whole answer"), "{text}");
    assert_eq!(unknown["delivery"]["part"], 1);
    assert_eq!(unknown["attempt"], 1);
    assert!(unknown["started_at"].is_string());
    assert!(!unknown["known"].as_str().unwrap().is_empty());

    let (status, text, _) = run(&home, &["outbox", "list", "--state", "unknown"]);
    assert_eq!(status, 0);
    assert!(
        text.contains(id) && text.contains("the whole answer"),
        "{text}"
    );
    let (status, text, _) = run(&home, &["outbox", "show", id]);
    assert_eq!(status, 0);
    assert!(
        text.contains("unknown") && text.contains(question["id"].as_str().unwrap()),
        "{text}"
    );
    let (status, card, _) = run(
        &home,
        &["approvals", "show", question["id"].as_str().unwrap()],
    );
    assert_eq!(status, 0);
    for part in [
        "the whole answer",
        "answer    send-again: send again",
        "answer    sent: it arrived",
        "answer    drop: drop",
    ] {
        assert!(card.contains(part), "{part} is not in {card}");
    }
    let (status, _, errors) = run(&home, &["outbox", "resolve", id, "sent"]);
    assert_eq!(status, 2, "{errors}");
    assert!(errors.contains("--digest"), "{errors}");
    let digest = question["digest"].as_str().unwrap();
    let sent = [
        "--json",
        "outbox",
        "resolve",
        id,
        "sent",
        "--digest",
        digest,
        "--reason",
        "Ben has it",
    ];
    let (status, text, errors) = run(&home, &sent);
    assert_eq!(status, 0, "{errors}");
    let settled: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(settled["state"], "sent");
    let decided = daemon
        .get(&format!(
            "/v1/approvals/{}",
            question["id"].as_str().unwrap()
        ))
        .await;
    assert_eq!(decided["decision"]["reason"], "Ben has it");
    let (status, _, errors) = run(
        &home,
        &["outbox", "resolve", id, "send-again", "--digest", digest],
    );
    assert_eq!(status, 5, "{errors}");
    assert!(errors.contains("decided first: sent by "), "{errors}");
    // Over HTTP the same: the same word is a success, another one names the winner.
    let path = format!("/v1/outbox/{id}/resolution");
    let (status, _) = daemon
        .request("POST", &path, Some(json!({ "resolution": "sent" })))
        .await;
    assert_eq!(status, 200);
    let (status, conflict) = daemon
        .request("POST", &path, Some(json!({ "resolution": "drop" })))
        .await;
    assert_eq!(status, 409, "{conflict}");
    assert_eq!(conflict["winner"]["decision"], "sent");
    assert_eq!(conflict["winner"]["reason"], "Ben has it");
    assert_eq!(telegram.messages(BEN).len(), 1, "it was sent again");
    let check = daemon.get("/v1/doctor?check=true").await["check"].clone();
    assert_eq!(check["violations"], 0, "{check:#}");
}

#[tokio::test]
async fn a_reply_is_sent_again_only_on_a_persons_word_over_http() {
    let telegram = FakeTelegram::start();
    let home = with_telegram(&telegram);
    let (daemon, delivery, question) = unknown_delivery(&telegram, &home).await;
    let path = format!("/v1/outbox/{}/resolution", delivery["id"].as_str().unwrap());
    let body = json!({ "resolution": "send_again", "reason": "not seen" });
    daemon.post(&path, body).await;
    telegram
        .wait_until("the reply once more", |state| {
            state.messages.iter().filter(|m| m.chat == BEN).count() == 2
        })
        .await;
    let answered = daemon
        .get(&format!(
            "/v1/approvals/{}",
            question["id"].as_str().unwrap()
        ))
        .await;
    assert_eq!(answered["decision"]["decision"], "send_again");
    assert_eq!(answered["decision"]["reason"], "not seen");
    let audit = daemon.get("/v1/audit?action=delivery.resolved").await;
    assert_eq!(audit["items"][0]["subject"], delivery["id"]);
}
