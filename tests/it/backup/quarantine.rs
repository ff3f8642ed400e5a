//! The whole story: a backup under load, restored elsewhere, held until a person has looked, and nothing said twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::backup::tools::{bot_home, members, plain_home, run, run_json, said, sound};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::state::{Fault, User};
use crate::support::fake_telegram::{FakeTelegram, TOKEN};
use crate::support::pty::Pty;
use crate::support::record::{fact, fault};

/// What the platform refuses to take until after the backup.
const LATE: &str = "the late reply";
const WRITE: &str = "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"hi\\n\"}\nSAY:all done";

/// Messages that flow over HTTP until it is told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU32>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    async fn start(daemon: &Arc<Daemon>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let acknowledged = Arc::new(AtomicU32::new(0));
        let mut tasks = Vec::new();
        for _ in 0..3 {
            let session = daemon.session().await;
            let (daemon, stop, acknowledged) = (
                Arc::clone(daemon),
                Arc::clone(&stop),
                Arc::clone(&acknowledged),
            );
            tasks.push(tokio::spawn(async move {
                let path = format!("/v1/sessions/{session}/messages?wait=5");
                while !stop.load(Ordering::Acquire) {
                    let answer = daemon
                        .try_request("POST", &path, Some(json!({"text": "SAY:flowing"})))
                        .await;
                    if answer.is_ok_and(|(status, _)| status == 200) {
                        acknowledged.fetch_add(1, Ordering::AcqRel);
                    }
                }
            }));
        }
        Self {
            stop,
            acknowledged,
            tasks,
        }
    }

    async fn wait(&self, count: u32) {
        let deadline = std::time::Instant::now() + crate::support::daemon::DEADLINE;
        while self.acknowledged.load(Ordering::Acquire) < count {
            assert!(
                std::time::Instant::now() < deadline,
                "the load stands still"
            );
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    async fn end(self) -> u32 {
        self.stop.store(true, Ordering::Release);
        for task in self.tasks {
            task.await.unwrap();
        }
        self.acknowledged.load(Ordering::Acquire)
    }
}

async fn pending_of_kind(daemon: &Daemon, kind: &str) -> Vec<Value> {
    let list = daemon.get("/v1/approvals?state=pending").await;
    let items = list["items"].as_array().unwrap().clone();
    items
        .into_iter()
        .filter(|item| item["kind"] == kind)
        .collect()
}

/// I19, I20, I17: the copy of a working daemon, put back elsewhere after the original went on.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_working_daemon_does_nothing_until_a_person_has_looked() {
    let telegram = FakeTelegram::start();
    let original = bot_home(&telegram);
    telegram.change(|state| state.know_chat(200));
    let environment = [("TEAM_TOKEN", TOKEN)];
    let mut daemon = Arc::new(original.daemon_with(&environment));
    let ben = User::new(100, "Ben");

    // A write waits for a person, a reply waits for the platform, and messages flow.
    telegram.user_says(100, &ben, WRITE);
    let write = daemon.wait_approval().await;
    telegram
        .wait_until("the chat is told to wait", |state| {
            state
                .messages
                .iter()
                .any(|m| m.chat == 100 && m.text.contains("Waiting for a decision"))
        })
        .await;
    telegram.fault("sendMessage", Fault::TooMany(6));
    telegram.user_says(101, &User::new(101, "Cleo"), &format!("SAY:{LATE}"));
    daemon
        .wait("/v1/outbox?state=pending", "a part that waits", |body| {
            body["items"]
                .as_array()
                .is_some_and(|items| items.iter().any(|item| item["attempts"] == 1))
        })
        .await;
    let load = Load::start(&daemon).await;
    load.wait(5).await;
    let file = original.path().join("backup.tar");
    let report = run_json(&original, &["--json", "backup", file.to_str().unwrap()]);
    let during = load.acknowledged.load(Ordering::Acquire);
    load.wait(during + 5).await;
    let acknowledged = load.end().await;
    assert!(report["size"].as_u64().unwrap() > 10_000, "{report}");
    assert_eq!(report["pending_approvals"], 1, "{report}");
    assert_eq!(
        report["config_files"], 1,
        "config.toml and nothing else: {report}"
    );

    // The original goes on: the reply is sent, the write is approved and done.
    telegram
        .wait_until("the reply after the pause", |state| {
            state
                .messages
                .iter()
                .any(|m| m.chat == 101 && m.text.contains(LATE))
        })
        .await;
    let (status, body) = daemon.decide(&write, "approve").await;
    assert_eq!(status, 200, "{body}");
    telegram
        .wait_until("the original finishes", |state| {
            state
                .messages
                .iter()
                .any(|m| m.chat == 100 && m.text.contains("all done"))
        })
        .await;
    Arc::get_mut(&mut daemon).unwrap().terminate();
    drop(daemon);
    sound(&original).await;

    // No secret in any member (I22).
    for (name, content) in members(&file) {
        let text = String::from_utf8_lossy(&content).into_owned();
        assert!(!text.contains(TOKEN), "the token is in {name}");
        assert!(!text.contains("canary"), "a canary is in {name}");
    }

    // Elsewhere: nothing connects, nothing is said.
    let elsewhere = bot_home(&telegram);
    let restored = run(&elsewhere, &["restore", file.to_str().unwrap()]);
    assert_eq!(restored.status.code(), Some(0), "{}", said(&restored));
    assert!(
        said(&restored).contains("quarantine"),
        "{}",
        said(&restored)
    );
    let calls_before = telegram.ledger().len();
    let mut daemon = elsewhere.daemon_with(&environment);
    let ready = daemon.get("/readyz").await;
    assert_eq!(
        (&ready["status"], &ready["quarantine"]),
        (&json!("ready"), &json!(true))
    );
    let found = daemon.get("/v1/emergency-stop").await;
    assert_eq!(found["quarantine"], true);
    let unknown = found["deliveries"].as_array().unwrap();
    assert!(
        unknown
            .iter()
            .any(|item| item["preview"].as_str().unwrap().contains(LATE)),
        "{found:#}"
    );
    // What only a release may set free is refused, with the way on.
    for question in pending_of_kind(&daemon, "execute").await {
        let (status, problem) = daemon.decide(&question, "approve").await;
        assert_eq!(status, 503, "{problem}");
        assert!(problem["hint"].as_str().unwrap().contains("release"));
    }
    // A message is taken and waits.
    let session = daemon.session().await;
    let patient = daemon.send(&session, "SAY:after all").await;
    // The operator looks into the chat: it did arrive.
    let asked = pending_of_kind(&daemon, "resend").await;
    assert_eq!(asked.len(), unknown.len(), "{asked:#?}");
    for question in asked {
        let (status, body) = daemon.decide(&question, "sent").await;
        assert_eq!(status, 200, "{body}");
    }
    let channels = daemon.get("/v1/channels/team").await;
    assert_eq!(channels["health"]["state"], "starting", "{channels}");
    assert_eq!(
        telegram.ledger().len(),
        calls_before,
        "the platform heard of the copy"
    );
    assert_eq!(
        daemon.get(&format!("/v1/continuations/{patient}")).await["state"],
        "pending"
    );

    // A script has to say what happens to what waited.
    let refused = run(&elsewhere, &["release"]);
    assert_eq!(refused.status.code(), Some(6), "{}", said(&refused));
    assert!(said(&refused).contains("--waiting"), "{}", said(&refused));
    let choice = format!("{session}=all");
    let released = run(
        &elsewhere,
        &["release", "--waiting", "drop", "--conversation", &choice],
    );
    assert_eq!(released.status.code(), Some(0), "{}", said(&released));
    daemon.wait_state(&patient, "completed").await;
    telegram
        .wait_until("the bot connects, without a restart", |state| {
            state.ledger.len() > calls_before
                && state.ledger[calls_before..]
                    .iter()
                    .any(|entry| entry.method == "setMyCommands")
        })
        .await;
    assert_eq!(daemon.get("/readyz").await["quarantine"], false);
    // The write that waits in the copy can be answered now.
    for question in pending_of_kind(&daemon, "execute").await {
        let (status, body) = daemon.decide(&question, "deny").await;
        assert_eq!(status, 200, "{body}");
    }
    telegram.user_says(101, &User::new(101, "Cleo"), "SAY:back at work");
    telegram
        .wait_until("an answer of the restored bot", |state| {
            state
                .messages
                .iter()
                .any(|m| m.chat == 101 && m.text.contains("back at work"))
        })
        .await;
    let late = telegram
        .messages(101)
        .iter()
        .filter(|message| message.text.contains(LATE))
        .count();
    assert_eq!(late, 1, "a reply was doubled");
    daemon.terminate();
    assert!(!sound(&elsewhere).await, "released stays released");
    fact(
        "backup",
        "under-load",
        &json!({"messages_acknowledged_around_it": acknowledged, "size": report["size"], "unknown_after_restore": unknown.len()}),
    );
    fault(
        "backup-during-load-then-restore",
        "a backup while messages flowed, a reply waited and an approval was open; restored into a fresh directory",
        "quarantine: no connection, no send, no run; waiting messages become questions; release connects; no reply doubled",
    );
}

async fn with_history() -> Home {
    let home = plain_home();
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let id = daemon.send(&session, "SAY:one").await;
    daemon.wait_state(&id, "completed").await;
    daemon.terminate();
    home
}

/// I20: only the database was put back, the side-car knows better.
#[tokio::test]
async fn an_older_database_under_a_newer_side_car_is_quarantined() {
    let home = with_history().await;
    let old = std::fs::read(home.data().join("leverframe.db")).unwrap();
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let id = daemon.send(&session, "SAY:two").await;
    daemon.wait_state(&id, "completed").await;
    daemon.terminate();
    std::fs::write(home.data().join("leverframe.db"), old).unwrap();
    let mut daemon = home.daemon();
    assert_eq!(daemon.get("/readyz").await["quarantine"], true);
    daemon.terminate();
    // A restart is no release.
    let mut daemon = home.daemon();
    assert_eq!(daemon.get("/readyz").await["quarantine"], true);
    daemon.terminate();
    sound(&home).await;
    fault(
        "restore-of-an-older-copy",
        "an older leverframe.db copied over the current one, side-car left",
        "quarantine from the first start on, also after a restart",
    );
}

/// I20: nothing proves that the database is the newest.
#[tokio::test]
async fn a_database_without_its_side_car_is_quarantined_and_seen_on_the_screen() {
    let home = with_history().await;
    std::fs::remove_file(home.data().join("epoch")).unwrap();
    let mut daemon = home.daemon();
    assert_eq!(daemon.get("/readyz").await["quarantine"], true);
    let session = daemon.session().await;
    let waits = daemon.send(&session, "SAY:patience").await;
    let mut pty = Pty::start(&home.command(), 80, 24);
    pty.see("QUARANTINE");
    pty.press_until("\x18r", "Release the quarantine?");
    pty.see("1 waiting");
    drop(pty);
    assert_eq!(
        daemon.get(&format!("/v1/continuations/{waits}")).await["state"],
        "pending"
    );
    daemon
        .post("/v1/emergency-stop/release", json!({"waiting": "all"}))
        .await;
    daemon.wait_state(&waits, "completed").await;
    daemon.terminate();
    sound(&home).await;
    fault(
        "database-without-its-side-car",
        "the side-car `epoch` removed",
        "quarantine, shown on the screen, over HTTP and by the command line; released by a person",
    );
}
