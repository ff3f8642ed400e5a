//! A bot in Telegram: messages, cards, buttons, commands, and a kill -9 in between.

use leverframe::engine::turn::finish::SCRIPTED_LABEL;

use crate::stories::bot::{self, WRITE, anna, ben, shown};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::{BotMessage, User};

fn home(telegram: &FakeTelegram) -> Home {
    let people = "[people.anna]\nids = [\"telegram:200\"]\nrole = \"owner\"";
    bot::home(telegram, "allowed_users = [\"100\"]", people)
}

fn start(home: &Home, telegram: &FakeTelegram) -> Daemon {
    bot::start(home, telegram, &[200], &[])
}

fn last_with<'a>(messages: &'a [BotMessage], text: &str) -> Option<&'a BotMessage> {
    messages
        .iter()
        .rev()
        .find(|message| message.text.contains(text))
}

/// Anna's card with its buttons, once she has one.
async fn wait_card(telegram: &FakeTelegram) -> BotMessage {
    let is_card = |m: &&BotMessage| m.chat == 200 && !m.keyboard.is_empty();
    telegram
        .wait_until("a card for Anna", |state| {
            state.messages.iter().any(|m| is_card(&m))
        })
        .await;
    let messages = telegram.messages(200);
    messages.iter().find(is_card).expect("it was there").clone()
}

fn people() -> (User, User) {
    (ben(), anna())
}

#[tokio::test]
async fn a_message_is_answered_and_a_write_is_approved_by_a_button() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let _daemon = start(&home, &telegram);
    let (ben, anna) = people();

    telegram.user_says(100, &ben, "hello there");
    telegram
        .wait_until("an answer", |state| {
            state.messages.iter().any(|m| m.chat == 100)
        })
        .await;

    telegram.user_says(100, &ben, WRITE);
    wait_card(&telegram).await;
    // The requester's chat learns only that something waits.
    shown(&telegram, 100, "Waiting for a decision").await;
    let card = wait_card(&telegram).await;
    assert!(
        card.text.contains("write_file") && card.text.contains("note.txt"),
        "{}",
        card.text
    );
    assert!(!home.workspace("team").join("note.txt").exists());

    telegram.user_clicks(200, card.message_id, "Allow once", &anna);
    shown(&telegram, 100, "all done").await;
    assert_eq!(
        std::fs::read_to_string(home.workspace("team").join("note.txt")).unwrap(),
        "hi\n"
    );
    // The card shows the outcome and has no buttons any more.
    telegram
        .wait_until("the card is disarmed", |state| {
            state.messages.iter().any(|m| {
                m.chat == 200
                    && m.message_id == card.message_id
                    && m.keyboard.is_empty()
                    && m.edits > 0
            })
        })
        .await;
    let answers = telegram
        .messages(100)
        .iter()
        .filter(|m| m.text.contains("all done"))
        .count();
    assert_eq!(answers, 1);
    assert_eq!(telegram.state().violations, Vec::<String>::new());
}

#[tokio::test]
async fn somebody_who_may_not_decide_cannot_and_the_approval_stays_pending() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let daemon = start(&home, &telegram);
    let (ben, anna) = people();
    telegram.user_says(100, &ben, WRITE);
    let approval = daemon.wait_approval().await;
    let code = approval["short_code"].as_str().unwrap().to_owned();

    // The requester, by command; a stranger, by button; both leave it pending (A5).
    telegram.user_says(100, &ben, &format!("/approve {code}"));
    shown(&telegram, 100, "Not decided").await;
    wait_card(&telegram).await;
    let card = wait_card(&telegram).await;
    telegram.user_clicks(
        200,
        card.message_id,
        "Allow once",
        &User::new(999, "Mallory"),
    );
    telegram
        .wait_until("the click is answered", |state| {
            state
                .ledger
                .iter()
                .any(|entry| entry.method == "answerCallbackQuery")
        })
        .await;
    assert_eq!(daemon.wait_approval().await["id"], approval["id"]);

    // Anna may, by command in her own chat.
    telegram.user_says(200, &anna, &format!("/deny {code} not today"));
    let continuation = approval["continuation_id"].as_str().unwrap();
    let done = daemon.wait_state(continuation, "completed").await;
    assert_eq!(done["tool_calls"][0]["state"], "denied");
    assert!(
        done["tool_calls"][0]["result"]
            .as_str()
            .unwrap()
            .contains("not today")
    );
}

#[tokio::test]
async fn a_stranger_is_told_once_and_gets_no_turn() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let daemon = start(&home, &telegram);
    let mallory = User::new(999, "Mallory");
    telegram.user_says(999, &mallory, "hello");
    telegram
        .wait_until("the notice", |state| {
            state.messages.iter().any(|m| m.chat == 999)
        })
        .await;
    telegram.user_says(999, &mallory, "hello again");
    let (ben, _) = people();
    telegram.user_says(100, &ben, "hello");
    telegram
        .wait_until("Ben's answer", |state| {
            state.messages.iter().any(|m| m.chat == 100)
        })
        .await;
    assert_eq!(telegram.messages(999).len(), 1, "told more than once");
    assert!(telegram.messages(999)[0].text.contains("telegram:999"));
    let turns = daemon.get("/v1/continuations").await;
    assert_eq!(turns["items"].as_array().unwrap().len(), 1, "{turns:#}");
}

#[tokio::test]
async fn commands_of_the_chat_work() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let daemon = start(&home, &telegram);
    let (ben, _) = people();
    telegram.user_says(100, &ben, WRITE);
    let approval = daemon.wait_approval().await;
    let code = approval["short_code"].as_str().unwrap().to_owned();
    let continuation = approval["continuation_id"].as_str().unwrap().to_owned();
    daemon.wait_state(&continuation, "awaiting_approval").await;
    for (command, expected) in [
        ("/help", "/approve"),
        ("/nonsense", "/approve"),
        ("/status", "awaiting_approval"),
        ("/pending", code.as_str()),
        ("/sessions", "active"),
        ("/cancel changed my mind", "Cancelled"),
        ("/new", "new session"),
    ] {
        let before = telegram.messages(100).len();
        telegram.user_says(100, &ben, command);
        telegram
            .wait_until(command, |state| {
                let mine: Vec<_> = state.messages.iter().filter(|m| m.chat == 100).collect();
                mine.len() > before && mine.iter().any(|m| m.text.contains(expected))
            })
            .await;
    }
    daemon.wait_state(&continuation, "cancelled").await;
    let ended = daemon.get("/v1/sessions?state=ended").await;
    assert_eq!(ended["items"].as_array().unwrap().len(), 1, "{ended:#}");
}

#[tokio::test]
async fn a_long_answer_arrives_whole_in_parts_in_order() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let daemon = start(&home, &telegram);
    let (ben, _) = people();
    let words: Vec<String> = (0..1500).map(|n| format!("word{n}")).collect();
    telegram.user_says(100, &ben, &format!("SAY:{}", words.join(" ")));
    shown(&telegram, 100, "word1499").await;
    let messages = telegram.messages(100);
    assert!(messages.len() > 1);
    let said: Vec<String> = messages
        .iter()
        .flat_map(|m| {
            m.text
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    // Below the line that says what answers.
    let label = SCRIPTED_LABEL.split_whitespace().count();
    assert_eq!(said[label..], words);
    assert!(last_with(&messages, "word1499").is_some());
    drop(daemon);
}

#[tokio::test]
async fn kill_nine_while_a_card_waits_and_the_reply_is_sent_once() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let mut daemon = start(&home, &telegram);
    let (ben, anna) = people();
    telegram.user_says(100, &ben, WRITE);
    wait_card(&telegram).await;
    let approval = daemon.wait_approval().await;
    // A send in flight at the kill would rightly become a question; this story is about the approval.
    for state in ["pending", "sending"] {
        let path = format!("/v1/outbox?state={state}");
        daemon
            .wait(&path, "nothing is being sent", |body| {
                body["items"].as_array().is_some_and(Vec::is_empty)
            })
            .await;
    }
    daemon.kill();

    let daemon = start(&home, &telegram);
    let again = daemon.wait_approval().await;
    assert_eq!(again["id"], approval["id"]);
    let card = wait_card(&telegram).await;
    telegram.user_clicks(200, card.message_id, "Allow once", &anna);
    daemon
        .wait_state(approval["continuation_id"].as_str().unwrap(), "completed")
        .await;
    shown(&telegram, 100, "all done").await;
    let replies = telegram
        .messages(100)
        .iter()
        .filter(|m| m.text.contains("all done"))
        .count();
    assert_eq!(replies, 1);
    let cards = telegram.messages(200).len();
    assert_eq!(cards, 1, "the card was sent again");
}
