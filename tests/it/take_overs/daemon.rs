//! The real binary: a person writes as the bot in a chat, channels drain and are tested, over HTTP and the command line.

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;

pub(crate) fn home(telegram: &FakeTelegram) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         allowed_users = [\"100\"]\n",
        telegram.url()
    ))
}

pub(crate) fn start(home: &Home, telegram: &FakeTelegram) -> Daemon {
    let token = telegram.state().token.clone();
    home.daemon_with(&[("TEAM_TOKEN", &token)])
}

pub(crate) async fn cli(home: &Home, words: &[&str]) -> (Option<i32>, String) {
    let mut command = home.command();
    command.args(words);
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .unwrap()
        .expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (
        output.status.code(),
        text + &String::from_utf8_lossy(&output.stderr),
    )
}

pub(crate) async fn wait_said(telegram: &FakeTelegram, text: &str) {
    telegram
        .wait_until(text, |state| {
            state
                .messages
                .iter()
                .any(|m| m.chat == 100 && m.text.contains(text))
        })
        .await;
}

async fn queued(daemon: &Daemon, count: usize) {
    daemon
        .wait("/v1/continuations?state=pending", "they wait", |list| {
            list["items"].as_array().map(Vec::len) == Some(count)
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_writes_as_the_bot_and_the_agent_answers_what_comes_later() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let mut daemon = start(&home, &telegram);
    let ben = User::new(100, "Ben");
    telegram.user_says(100, &ben, "SAY:one");
    wait_said(&telegram, "one").await;
    let sessions = daemon.get("/v1/sessions?channel=team").await;
    let session = sessions["items"][0]["id"].as_str().unwrap().to_owned();
    let conversation = sessions["items"][0]["conversation"].clone();
    let path = format!("/v1/sessions/{session}");

    let held = daemon
        .post(
            "/v1/channels/team/take-over",
            json!({ "conversation": conversation }),
        )
        .await;
    assert_eq!(held["id"], session.as_str());
    let hold = held["taken_over"]["id"].clone();
    assert_eq!(daemon.get("/v1/channels/team").await["taken_over"], 1);
    telegram.user_says(100, &ben, "SAY:two");
    telegram.user_says(100, &ben, "SAY:three");
    queued(&daemon, 2).await;
    let said = json!({ "take_over_id": hold, "text": "I am **on** it." });
    daemon.post(&format!("{path}/say"), said).await;
    wait_said(&telegram, "on it.").await;
    queued(&daemon, 0).await;

    telegram.user_says(100, &ben, "SAY:four");
    queued(&daemon, 1).await;
    daemon.terminate();
    let mut daemon = start(&home, &telegram);
    queued(&daemon, 1).await;
    assert_eq!(daemon.get(&path).await["taken_over"]["id"], hold);
    // At the command line sits somebody else than the holder of the token, who took it over.
    for words in [
        &["say", &session, "x"][..],
        &["release", &session],
        &["take-over", &session],
    ] {
        let (status, text) = cli(&home, &[&["sessions"], words].concat()).await;
        assert_eq!(status, Some(5), "{text}");
        assert!(text.contains("token admin"), "{text}");
    }
    let (status, text) = cli(&home, &["sessions", "release", &session, "--force"]).await;
    assert_eq!(status, Some(0), "{text}");
    wait_said(&telegram, "four").await;
    let (status, text) = cli(&home, &["sessions", "say", &session, "too late"]).await;
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("take-over"), "{text}");

    let texts: Vec<String> = telegram
        .messages(100)
        .iter()
        .filter_map(|message| message.text.lines().last().map(str::to_owned))
        .collect();
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert!(texts[1].contains("on it."), "{texts:?}");
    let transcript = daemon.get(&format!("{path}/transcript")).await;
    let notes: Vec<&Value> = transcript["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["body"]["step"]["body"]["type"] == "operator_note")
        .collect();
    assert_eq!(notes.len(), 2, "{transcript:#}");
    for action in ["session.taken_over", "session.spoken", "session.given_back"] {
        let rows = daemon.get(&format!("/v1/audit?action={action}")).await;
        assert_eq!(rows["items"].as_array().map(Vec::len), Some(1), "{action}");
    }
    assert_eq!(telegram.state().violations, Vec::<String>::new());
    daemon.terminate();
    // The bot's token is not in the environment of this command, which it names; every rule holds.
    let (_, text) = cli(&home, &["doctor", "--check"]).await;
    assert!(text.contains(" 0 violations"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_turn_lets_go_and_goes_on_when_it_is_given_back() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let asked = "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"x\"}\nSAY:done";
    let turn = daemon.send(&session, asked).await;
    let approval = daemon.wait_approval().await;
    let path = format!("/v1/sessions/{session}");
    let take = format!("{path}/take-over");
    daemon.post(&take, json!({})).await;
    // A decision is taken; what it allows waits with its turn.
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    daemon.wait_state(&turn, "pending").await;
    assert!(!home.workspace("api").join("a.txt").exists());
    let (status, other) = daemon
        .request(
            "POST",
            &format!("{path}/say"),
            Some(json!({
                "take_over_id": "tko_00000000000000000000000000", "text": "x"
            })),
        )
        .await;
    assert_eq!(status, 409, "{other}");
    daemon.post(&format!("{path}/release"), json!({})).await;
    let done = daemon
        .wait(&format!("/v1/continuations/{turn}"), "it goes on", |turn| {
            turn["state"] == "completed" || turn["state"] == "awaiting_approval"
        })
        .await;
    assert_eq!(done["state"], "completed", "{done}");
    let (status, again) = daemon
        .request("POST", &format!("{path}/release"), Some(json!({})))
        .await;
    assert_eq!(status, 409, "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drained_channel_takes_up_nothing_until_it_is_undrained() {
    let home = Home::new("");
    let daemon = home.daemon();
    let (status, text) = cli(&home, &["channels", "drain", "api", "--wait"]).await;
    assert_eq!(status, Some(0), "{text}");
    let session = daemon.session().await;
    let turn = daemon.send(&session, "SAY:later").await;
    let channel = daemon.get("/v1/channels/api").await;
    assert_eq!(channel["draining"]["held_back"], 1, "{channel}");
    let (status, text) = cli(&home, &["channels", "list"]).await;
    assert_eq!(status, Some(0));
    assert!(text.contains("1 queued"), "{text}");
    let (status, text) = cli(&home, &["channels", "undrain", "api"]).await;
    assert_eq!(status, Some(0), "{text}");
    let done = daemon.wait_state(&turn, "completed").await;
    assert_eq!(done["response"]["text"], "later");
    assert!(daemon.get("/v1/channels/api").await["draining"].is_null());
    let (status, text) = cli(&home, &["channels", "what-if", "api", "full"]).await;
    assert_eq!(status, Some(0));
    assert!(text.contains("would have run without you"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_goes_the_way_of_every_message() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let _daemon = start(&home, &telegram);
    let (status, text) = cli(&home, &["channels", "test", "team"]).await;
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("nobody has written on `team`"), "{text}");
    let ben = User::new(100, "Ben");
    telegram.user_says(100, &ben, "SAY:one");
    wait_said(&telegram, "one").await;
    let (status, text) = cli(&home, &["channels", "test", "team"]).await;
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("sent"), "{text}");
    wait_said(&telegram, "This is a test by").await;
    let (status, text) = cli(&home, &["channels", "test", "team", "--to", "nowhere"]).await;
    assert_eq!(status, Some(1), "{text}");
    let (status, text) = cli(&home, &["channels", "test", "api"]).await;
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("no connection"), "{text}");
}
