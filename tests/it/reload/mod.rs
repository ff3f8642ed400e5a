//! A daemon reads its configuration again: by signal, by command and over HTTP.

// Helpers of a suite fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod models;

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::stories::bot::{self, ben, shown};
use crate::support::daemon::{DEADLINE, Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::take_overs::daemon::cli;

fn write(home: &Home, text: &str) {
    std::fs::write(home.path().join("config/config.toml"), text).unwrap();
}

async fn people(daemon: &Daemon) -> Vec<String> {
    let items = daemon.get("/v1/people").await["items"].clone();
    let items = items.as_array().unwrap().clone();
    items
        .iter()
        .map(|person| person["name"].as_str().unwrap().to_owned())
        .collect()
}

async fn reload(daemon: &Daemon, preview: bool) -> (u16, Value) {
    daemon
        .request("POST", "/v1/reload", Some(json!({ "preview": preview })))
        .await
}

async fn audit(daemon: &Daemon) -> Vec<Value> {
    let items = daemon.get("/v1/audit").await["items"].clone();
    let items = items.as_array().unwrap().clone();
    items
        .into_iter()
        .filter(|row| row["action"] == "configuration.reloaded")
        .collect()
}

const ANNA: &str = "[people.anna]\nids = [\"telegram:200\"]\nrole = \"owner\"\n";

#[tokio::test]
async fn sighup_brings_a_setting_into_use_and_ends_nothing() {
    let home = Home::new("");
    let daemon = home.daemon();
    assert_eq!(people(&daemon).await, [""; 0]);
    write(&home, ANNA);
    daemon.signal(Signal::HUP);
    daemon
        .wait("/v1/people", "Anna is known", |body| {
            body["items"][0]["name"] == "anna"
        })
        .await;
    let rows = audit(&daemon).await;
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert!(rows[0]["actor"].to_string().contains("signal"), "{rows:#?}");
    let session = daemon.session().await;
    let turn = daemon.send(&session, "SAY:hello").await;
    daemon.wait_state(&turn, "completed").await;
}

#[tokio::test]
async fn a_configuration_with_faults_changes_nothing_and_every_fault_is_told() {
    let home = Home::new(ANNA);
    let mut daemon = home.daemon();
    write(
        &home,
        "[approvals]\nlife_seconds = 0\n[engine]\nmax_runing = 3\n",
    );
    let (status, text) = cli(&home, &["reload"]).await;
    assert_ne!(status, Some(0), "{text}");
    for word in [
        "config.toml:2",
        "life_seconds",
        "config.toml:4",
        "max_runing",
        "stays in use",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert_eq!(people(&daemon).await, ["anna"]);
    daemon.signal(Signal::HUP);
    let deadline = Instant::now() + DEADLINE;
    while !home
        .log()
        .contains("the previous configuration stays in use")
    {
        assert!(Instant::now() < deadline, "{}", home.log());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(people(&daemon).await, ["anna"]);
    assert_eq!(audit(&daemon).await, Vec::<Value>::new());
    assert!(daemon.terminate().success());
}

#[tokio::test]
async fn a_file_that_is_gone_is_no_reason_to_forget_everybody() {
    // No flag and no variable names the file, so a start without it would take the defaults.
    let home = Home::new(ANNA);
    let place = home.path().join(".config/leverframe");
    std::fs::create_dir_all(&place).unwrap();
    let file = place.join("config.toml");
    std::fs::rename(home.path().join("config/config.toml"), &file).unwrap();
    let daemon = home.daemon_without_config();
    assert_eq!(people(&daemon).await, ["anna"]);
    std::fs::remove_file(&file).unwrap();
    let (status, problem) = reload(&daemon, false).await;
    assert_eq!(status, 400, "{problem}");
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("no longer exists")
    );
    assert_eq!(people(&daemon).await, ["anna"]);
}

#[tokio::test]
async fn a_preview_shows_the_difference_and_a_reload_says_what_waits_for_a_restart() {
    let home = Home::new("instance = \"one\"\n");
    let daemon = home.daemon();
    write(&home, &format!("instance = \"two\"\n{ANNA}"));
    let (_, text) = cli(&home, &["doctor"]).await;
    assert!(
        text.contains("in use: instance, people.anna.ids, people.anna.role"),
        "{text}"
    );
    let (status, text) = cli(&home, &["reload", "--preview"]).await;
    assert_eq!(status, Some(0), "{text}");
    for line in [
        "would come into use at once:",
        "people.anna.role = \"owner\" (not set before)",
        "needs a restart:",
        "instance: \"one\" -> \"two\"",
        "nothing was changed",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert_eq!(people(&daemon).await, [""; 0]);
    for _ in 0..2 {
        let (status, text) = cli(&home, &["reload"]).await;
        assert_eq!(status, Some(0), "{text}");
        assert!(text.contains("needs a restart:\n  instance"), "{text}");
        assert_eq!(people(&daemon).await, ["anna"]);
    }
    assert_eq!(
        daemon.get("/v1/snapshot").await["engine"]["instance"],
        "one"
    );
    // The second reload changed nothing.
    let rows = audit(&daemon).await;
    assert_eq!(rows.len(), 1, "{rows:#?}");
    let first = &rows[0];
    assert!(
        !first.to_string().contains("owner"),
        "a value in the audit: {first}"
    );
}

#[tokio::test]
async fn a_stricter_policy_applies_at_once_and_a_looser_one_waits_for_a_person() {
    let home = Home::new("[channels.api]\nautonomy = \"semi_auto\"\n");
    let daemon = home.daemon();
    let autonomy = async || daemon.get("/v1/channels/api").await["policy"]["autonomy"].clone();
    assert_eq!(autonomy().await, "semi_auto");
    write(&home, "[channels.api]\nautonomy = \"supervised\"\n");
    assert_eq!(reload(&daemon, false).await.0, 200);
    assert_eq!(autonomy().await, "supervised");
    write(&home, "[channels.api]\nautonomy = \"full\"\n");
    let (status, report) = reload(&daemon, false).await;
    assert_eq!(status, 200, "{report}");
    assert_eq!(report["changes"][0]["effect"], "policy");
    assert_eq!(autonomy().await, "supervised");
    let approval = daemon.wait_approval().await;
    assert_eq!(approval["kind"], "policy_raise");
}

#[tokio::test]
async fn the_next_turn_goes_by_the_new_risk_of_a_tool() {
    let home = Home::new("");
    let daemon = home.daemon();
    let ask = async || {
        let session = daemon.session().await;
        let text = "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"x\"}";
        daemon.send(&session, text).await;
        let approval = daemon.wait_approval().await;
        assert_eq!(daemon.decide(&approval, "deny").await.0, 200);
        approval["risk"].clone()
    };
    assert_ne!(ask().await, "critical");
    write(&home, "[tools.write_file]\nrisk = \"critical\"\n");
    assert_eq!(reload(&daemon, false).await.0, 200);
    assert_eq!(ask().await, "critical");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_is_let_in_or_shut_out_is_so_with_the_reload() {
    let telegram = FakeTelegram::start();
    let home = bot::home(&telegram, "allowed_users = [\"200\"]", "");
    let daemon = bot::start(&home, &telegram, &[], &[]);
    let file = home.path().join("config/config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    write(&home, &text.replace("[\"200\"]", "[\"100\"]"));
    assert_eq!(reload(&daemon, false).await.0, 200);
    telegram.user_says(100, &ben(), "SAY:let in");
    shown(&telegram, 100, "let in").await;
    write(&home, &text);
    assert_eq!(reload(&daemon, false).await.0, 200);
    telegram.user_says(100, &ben(), "SAY:too late");
    telegram.user_says(200, &bot::anna(), "SAY:the other one");
    shown(&telegram, 200, "the other one").await;
    let said = telegram.messages(100);
    assert!(
        said.iter()
            .all(|message| !message.text.contains("too late")),
        "{said:#?}"
    );
}
