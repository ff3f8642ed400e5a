//! A bot in Slack, with the real binary: messages, cards, buttons, files, and a kill -9 at each step.

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::fake_slack::{
    ADA, ADA_DIRECT, APP_TOKEN, BEN, BEN_DIRECT, BOT, BOT_TOKEN, FakeSlack, Fault, TEAM,
};

/// A message whose write must be approved.
const WRITE: &str = "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"hi\\n\"}\nSAY:all done";

pub fn home(api_base: &str, channel: &str) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"slack\"\ntoken_env = \"TEAM_TOKEN\"\napp_token_env = \"TEAM_APP_TOKEN\"\n\
         api_base = \"{api_base}\"\nallowed_users = [\"{BEN}\"]\n{channel}\n\n\
         [people.ada]\nids = [\"slack:{ADA}\"]\nrole = \"owner\"\n"
    ))
}

pub fn start(home: &Home, environment: &[(&str, &str)]) -> Daemon {
    let mut all = vec![("TEAM_TOKEN", BOT_TOKEN), ("TEAM_APP_TOKEN", APP_TOKEN)];
    all.extend(environment);
    home.daemon_with(&all)
}

/// How many messages of the bot in a channel show this text.
fn count(slack: &FakeSlack, channel: &str, text: &str) -> usize {
    let messages = slack.messages(channel);
    messages
        .iter()
        .filter(|message| message.shows(text))
        .count()
}

#[tokio::test]
async fn a_message_is_answered_and_a_write_is_approved_by_a_button() {
    let slack = FakeSlack::start();
    let home = home(&slack.api_base(), "");
    let daemon = start(&home, &[]);
    slack.says(BEN_DIRECT, BEN, "SAY:hello *there*");
    slack.shown(BEN_DIRECT, "hello").await;

    slack.says(TEAM, BEN, &format!("<@{BOT}> {WRITE}"));
    let card = slack.shown(ADA_DIRECT, "write_file").await;
    slack.shown(TEAM, "Waiting for a decision").await;
    assert!(
        card.shows("note.txt") && card.labels().contains(&"Allow once".to_owned()),
        "{card:?}"
    );
    assert!(!home.workspace("team").join("note.txt").exists());
    let approval = daemon.wait_approval().await;

    // Whoever may not decide changes nothing, however the token of the button was had.
    slack.clicks(ADA_DIRECT, &card.ts, "Allow once", "U0MALLORY");
    slack
        .wait_until("the click is answered", |state| !state.ephemeral.is_empty())
        .await;
    assert_eq!(daemon.wait_approval().await["id"], approval["id"]);

    slack.clicks(ADA_DIRECT, &card.ts, "Allow once", ADA);
    slack.shown(TEAM, "all done").await;
    let note = std::fs::read_to_string(home.workspace("team").join("note.txt")).unwrap();
    assert_eq!(note, "hi\n");
    slack
        .wait_until("the card is disarmed", |state| {
            let cards = state.bot_messages(ADA_DIRECT);
            cards
                .iter()
                .any(|one| one.ts == card.ts && one.edits > 0 && one.labels().is_empty())
        })
        .await;
    assert_eq!(count(&slack, TEAM, "all done"), 1);
    let channels = daemon.get("/v1/channels").await;
    let channel = channels["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "team");
    assert_eq!(channel.unwrap()["account"], "@lever");
    assert_eq!(slack.state().violations, Vec::<String>::new());
}

#[tokio::test]
async fn commands_of_slack_and_of_the_chat_work() {
    let slack = FakeSlack::start();
    let home = home(&slack.api_base(), "");
    let daemon = start(&home, &[]);
    slack.says(BEN_DIRECT, BEN, WRITE);
    let approval = daemon.wait_approval().await;
    let code = approval["short_code"].as_str().unwrap().to_owned();
    for (command, text, expected) in [
        ("/leverframe", "", "/approve"),
        ("/leverframe", "pending", code.as_str()),
        ("/leverframe", "SAY:from a command", "from a command"),
    ] {
        slack.commands(BEN_DIRECT, BEN, command, text);
        if text.starts_with("SAY") {
            // It waits behind the write.
            slack.commands(ADA_DIRECT, ADA, command, &format!("approve {code}"));
        }
        slack.shown(BEN_DIRECT, expected).await;
    }
    slack.shown(BEN_DIRECT, "all done").await;
    assert_eq!(slack.state().violations, Vec::<String>::new());
}

#[tokio::test]
async fn a_kill_at_any_step_loses_nothing_and_doubles_nothing() {
    // A turn that is killed half-way is the operator's to continue; a command has none.
    for (crash, asks, answer) in [
        (
            "ingest.pre_commit",
            "SAY:once and only once",
            "once and only once",
        ),
        (
            "ingest.post_commit",
            "SAY:once and only once",
            "once and only once",
        ),
        ("ack.post", "/help", "/approve"),
        ("final.post", "SAY:once and only once", "once and only once"),
        (
            "send.effect_done",
            "SAY:once and only once",
            "once and only once",
        ),
        ("send.post", "SAY:once and only once", "once and only once"),
    ] {
        let slack = FakeSlack::start();
        let home = home(&slack.api_base(), "");
        let mut daemon = start(&home, &[("LEVERFRAME_CRASH", &format!("{crash}:1"))]);
        slack.says(BEN_DIRECT, BEN, asks);
        assert!(daemon.wait_exit().is_some(), "{crash} was not reached");
        slack.settle();
        let daemon = start(&home, &[]);
        slack.shown(BEN_DIRECT, answer).await;
        let settled = |body: &Value| {
            let items = body["items"].as_array().unwrap();
            !items.is_empty() && items.iter().all(|one| one["state"] == "sent")
        };
        daemon
            .wait("/v1/outbox", "everything is settled", settled)
            .await;
        slack.says(BEN_DIRECT, BEN, "SAY:and the next");
        slack.shown(BEN_DIRECT, "and the next").await;
        assert_eq!(
            count(&slack, BEN_DIRECT, answer),
            1,
            "{crash}: {}",
            slack.story()
        );
        assert!(
            daemon
                .approvals_of("resend")
                .await
                .iter()
                .all(|one| one["state"] != "pending"),
            "{crash}"
        );
        slack
            .wait_until("all is acknowledged", |state| state.waiting().is_empty())
            .await;
    }
}

#[tokio::test]
async fn a_send_that_died_before_it_left_goes_out_once_the_platform_says_that_it_is_not_there() {
    let slack = FakeSlack::start();
    let home = home(&slack.api_base(), "");
    let mut daemon = start(&home, &[("LEVERFRAME_CRASH", "send.started:1")]);
    slack.says(BEN_DIRECT, BEN, "SAY:once and only once");
    assert!(daemon.wait_exit().is_some(), "it was not killed");
    slack.settle();
    assert!(slack.messages(BEN_DIRECT).is_empty());
    let daemon = start(&home, &[]);
    slack.shown(BEN_DIRECT, "once and only once").await;
    assert_eq!(count(&slack, BEN_DIRECT, "once and only once"), 1);
    let asked = daemon.approvals_of("resend").await;
    assert!(
        asked.iter().all(|one| one["state"] != "pending"),
        "{asked:?}"
    );
}

#[tokio::test]
async fn files_come_with_a_message_and_go_with_an_answer() {
    let slack = FakeSlack::start();
    let lists = "auto_approve = [\"write_file\", \"send_file\"]\n";
    let home = home(&slack.api_base(), lists);
    let daemon = start(&home, &[]);
    let file = slack.change(|state| state.person_has_file("../a b.txt", "text/plain", b"hello"));
    slack.sends(
        BEN_DIRECT,
        BEN,
        json!({ "subtype": "file_share", "text": "SAY:read", "files": [file] }),
    );
    slack.shown(BEN_DIRECT, "read").await;
    let turns = daemon.get("/v1/continuations").await;
    let path = turns["items"][0]["attachments"][0]["path"]
        .as_str()
        .unwrap()
        .to_owned();
    let content = std::fs::read(home.workspace("team").join(&path)).unwrap();
    assert_eq!(content, b"hello", "{path}");

    slack.fault("files.completeUploadExternal", Fault::ResetAfter);
    // Elsewhere: here everything that follows from a file of somebody asks.
    slack.says(
        TEAM,
        BEN,
        "<@U0BOT> TOOL:write_file{\"path\":\"r.txt\",\"content\":\"the report\"}\n\
         THEN TOOL:send_file{\"path\":\"r.txt\"}\nSAY:here you are",
    );
    slack
        .wait_until("the file", |state| {
            state
                .bot_messages(TEAM)
                .iter()
                .any(|one| !one.files.is_empty())
        })
        .await;
    // Whether it arrived was not told; its block tells.
    let settled = |body: &Value| {
        let items = body["items"].as_array().unwrap();
        items.len() >= 3 && items.iter().all(|one| one["state"] == "sent")
    };
    daemon
        .wait("/v1/outbox", "everything is settled", settled)
        .await;
    let messages = slack.messages(TEAM);
    let files: Vec<_> = messages
        .iter()
        .filter(|one| !one.files.is_empty())
        .collect();
    assert_eq!(files.len(), 1, "{}", slack.story());
    let id = files[0].files[0]["id"].as_str().unwrap();
    assert_eq!(slack.state().files[id].content, b"the report");
    assert_eq!(slack.state().violations, Vec::<String>::new());
}

#[tokio::test]
async fn no_log_and_no_answer_of_the_daemon_holds_a_token() {
    let slack = FakeSlack::start();
    let home = home(&slack.api_base(), "");
    let daemon = start(&home, &[("LEVERFRAME_LOG", "trace")]);
    slack.says(BEN_DIRECT, BEN, "SAY:hello");
    slack.shown(BEN_DIRECT, "hello").await;
    slack.fault("chat.postMessage", Fault::Word("token_revoked".to_owned()));
    slack.says(BEN_DIRECT, BEN, "SAY:again");
    let failed = |body: &Value| {
        body["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["health"]["state"] == "failed")
    };
    let channels = daemon
        .wait("/v1/channels", "the channel fails", failed)
        .await;
    let detail = channels["items"]
        .as_array()
        .unwrap()
        .iter()
        .find_map(|one| one["health"]["detail"].as_str())
        .unwrap();
    assert!(
        detail.contains("token_revoked") && detail.contains("api.slack.com/apps"),
        "{detail}"
    );
    for text in [home.log(), channels.to_string()] {
        assert!(
            !text.contains("MustNeverShow") && !text.contains("ticket-"),
            "{text}"
        );
    }
}
