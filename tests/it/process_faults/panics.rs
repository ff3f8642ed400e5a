//! A panic ends one bridge or one turn, never the daemon. The crate compiles only where a panic unwinds.

use serde_json::json;

use crate::process_faults::world::telegram_home;
use crate::support::daemon::Home;
use crate::support::fake_telegram::state::User;
use crate::support::fake_telegram::{FakeTelegram, TOKEN};
use crate::support::record;

const ADA: i64 = 100;

#[tokio::test]
async fn a_bridge_that_panics_starts_again_and_the_daemon_goes_on() {
    let telegram = FakeTelegram::start();
    let home = telegram_home(&telegram);
    let mut daemon = home.daemon_with(&[
        ("TEAM_TOKEN", TOKEN),
        ("LEVERFRAME_CRASH", "ack.post:1:panic"),
    ]);
    let user = User::new(ADA, "Ada");
    telegram.user_says(ADA, &user, "SAY:after the panic");
    let answered = |text: &'static str| {
        move |state: &crate::support::fake_telegram::State| {
            state
                .messages
                .iter()
                .any(|message| message.text.contains(text))
        }
    };
    telegram.wait_blocking("the answer", answered("after the panic"));
    telegram.user_says(ADA, &user, "SAY:and once more");
    telegram.wait_blocking("the next answer", answered("and once more"));
    let replies = telegram
        .messages(ADA)
        .iter()
        .filter(|message| message.text.contains("after the panic"))
        .count();
    assert_eq!(replies, 1, "{}", telegram.story());
    assert!(
        home.log().contains("ack.post"),
        "the panic is in the log: {}",
        home.log()
    );
    let session = daemon.session().await;
    let other = daemon.send(&session, "SAY:still here").await;
    daemon.wait_state(&other, "completed").await;
    assert!(daemon.terminate().success());
    record::fault(
        "bridge-panics",
        "a bridge panicked after it received an update",
        "the bridge restarts and answers the message once; other channels continue",
    );
}
#[tokio::test]
async fn a_turn_that_panics_is_interrupted_and_its_session_goes_on() {
    let home = Home::new("");
    let mut daemon = home.daemon_with(&[("LEVERFRAME_CRASH", "llm.pre:1:panic")]);
    let session = daemon.session().await;
    let broken = daemon.send(&session, "SAY:never said").await;
    let seen = daemon.wait_state(&broken, "interrupted").await;
    assert!(
        seen["error"]["message"]
            .as_str()
            .is_some_and(|error| error.contains("defect")),
        "it says why: {seen:#}"
    );
    let next = daemon.send(&session, "SAY:the next one").await;
    let done = daemon.wait_state(&next, "completed").await;
    assert_eq!(done["response"]["text"], json!("the next one"));
    let resumed = daemon
        .post(&format!("/v1/continuations/{broken}/resume"), json!({}))
        .await;
    assert_eq!(resumed["id"], json!(broken));
    daemon.wait_state(&broken, "completed").await;
    assert!(daemon.terminate().success());
    record::fault(
        "turn-panics",
        "a turn panicked before its model call",
        "the turn is interrupted and can be resumed; its session and all others continue",
    );
}
