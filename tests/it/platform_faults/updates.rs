//! Updates that come twice, in another order, and long after they were made.

use leverframe::engine::turn::finish::SCRIPTED_LABEL;
use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;
use crate::support::record::fault;

const BEN: i64 = 100;

fn home(telegram: &FakeTelegram) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         allowed_users = [\"{BEN}\"]\n",
        telegram.url()
    ))
}

fn start(home: &Home, telegram: &FakeTelegram) -> Daemon {
    let token = telegram.state().token.clone();
    home.daemon_with(&[("TEAM_TOKEN", &token)])
}

/// What people wrote and nobody fetched yet.
fn take_pending(telegram: &FakeTelegram) -> Vec<Value> {
    telegram.change(|state| state.pending.drain(..).map(|(_, update)| update).collect())
}

fn answers(telegram: &FakeTelegram) -> Vec<String> {
    telegram
        .messages(BEN)
        .into_iter()
        .map(|message| message.text)
        .collect()
}

/// Waits until everything was fetched and nothing is left to do; the number of turns there have been.
async fn turns_at_rest(daemon: &Daemon, telegram: &FakeTelegram) -> usize {
    telegram
        .wait_until("every update is confirmed", |state| {
            state.pending.is_empty()
        })
        .await;
    let done = |body: &Value| {
        body["items"].as_array().is_some_and(|items| {
            items
                .iter()
                .all(|item| matches!(item["state"].as_str(), Some("completed" | "cancelled")))
        })
    };
    let list = daemon
        .wait("/v1/continuations?limit=100", "all turns are over", done)
        .await;
    let sent = |body: &Value| {
        body["items"].as_array().is_some_and(|items| {
            items
                .iter()
                .all(|item| matches!(item["state"].as_str(), Some("sent" | "superseded")))
        })
    };
    daemon
        .wait("/v1/outbox?limit=100", "all replies are sent", sent)
        .await;
    list["items"].as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn updates_twice_in_another_order_and_late_are_each_one_turn() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let ben = User::new(BEN, "Ben");
    for text in [
        "SAY:the first answer",
        "SAY:the second answer",
        "SAY:the third answer",
    ] {
        telegram.user_says(BEN, &ben, text);
    }
    let written = take_pending(&telegram);
    assert_eq!(written.len(), 3);
    // The third first, then the first twice, then the second, then the third once more.
    for which in [2, 0, 0, 1, 2] {
        telegram.raw_update(written[which].clone());
    }
    let mut daemon = start(&home, &telegram);
    assert_eq!(turns_at_rest(&daemon, &telegram).await, 3);
    assert_eq!(
        answers(&telegram),
        ["the third answer", "the first answer", "the second answer"]
            .map(|text| format!("{SCRIPTED_LABEL}\n\n{text}")),
        "answered in the order in which they came"
    );

    // Told again by the platform, to this process and to the next one.
    for update in &written {
        telegram.raw_update(update.clone());
    }
    assert_eq!(turns_at_rest(&daemon, &telegram).await, 3);
    daemon.kill();
    for update in &written {
        telegram.raw_update(update.clone());
    }
    let daemon = start(&home, &telegram);
    assert_eq!(turns_at_rest(&daemon, &telegram).await, 3);
    assert_eq!(answers(&telegram).len(), 3, "{:?}", answers(&telegram));

    // A message from long ago that nobody had heard of, under a number below all others, is taken in like any other.
    telegram.user_says(BEN, &ben, "SAY:better late");
    let mut late = take_pending(&telegram);
    late[0]["message"]["date"] = json!(1_500_000_000);
    telegram.raw_update(late[0].clone());
    assert_eq!(turns_at_rest(&daemon, &telegram).await, 4);
    let late = format!("{SCRIPTED_LABEL}\n\nbetter late");
    assert_eq!(answers(&telegram).last(), Some(&late));
    assert!(
        telegram.state().violations.is_empty(),
        "{:?}",
        telegram.state().violations
    );
    fault(
        "updates-duplicate-reordered-late",
        "the same updates under new numbers five times over, across a kill -9, out of order, and one years old",
        "one turn and one answer for each, in the order of arrival",
    );
}
