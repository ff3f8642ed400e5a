//! Threats while it runs: stops, spending, the record, what is told outside, and files of others.

use std::os::unix::fs::PermissionsExt as _;

use leverframe::config::settings::Notify;
use leverframe::tui::message::Effect;
use leverframe::tui::notify::sequence;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::end_to_end_models::patient_peer::{Manner, PatientPeer};
use crate::hooks::scripts::{configure, says, table};
use crate::people::run;
use crate::stories::bot::{self, WRITE, cli};
use crate::support::daemon::Home;
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;

#[tokio::test(flavor = "multi_thread")]
async fn t22_a_stop_kills_and_stays() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let call =
        json!({ "argv": ["sh", "-c", "echo $$ > pid; exec sleep 300"], "timeout_seconds": 600 });
    let turn = daemon
        .send(&session, &format!("TOOL:execute_command{call}\nSAY:slept"))
        .await;
    let approval = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let path = format!("/v1/continuations/{turn}");
    let started = |body: &Value| body["tool_calls"][0]["state"] == "started";
    daemon.wait(&path, "the tool runs", started).await;
    daemon
        .post("/v1/emergency-stop", json!({ "reason": "test" }))
        .await;
    // It is answered once everything has let go.
    let sleeps = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let place = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        line.starts_with(b"sleep\x00300") && place.starts_with(home.path())
    });
    assert!(!sleeps, "the program runs");
    for _ in 0..2 {
        let engine = daemon.get("/v1/snapshot").await["engine"].clone();
        assert!(engine["held_since"].is_string(), "{engine}");
        let other = daemon.session().await;
        let waits = daemon.send(&other, "SAY:no").await;
        let state = daemon.get(&format!("/v1/continuations/{waits}")).await["state"].clone();
        assert_eq!(state, "pending");
        // It holds over a crash.
        daemon.kill();
        daemon = home.daemon();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t23_fifty_at_once_spend_no_more_than_one_may() {
    const LIMIT: f64 = 60_000.0;
    // It answers nobody before all have asked.
    let peer = PatientPeer::start(Manner::OnWord);
    let home = Home::new(&format!(
        "[model]\ndefault = \"peer/test-model\"\n\n\
         [providers.peer]\nkind = \"openai-chat\"\nbase_url = \"{}\"\nmax_concurrent = 50\n\n\
         [budgets.day]\nmax_tokens = {LIMIT}\n\n[engine]\nmax_running = 50\n",
        peer.base_url
    ));
    let daemon = home.daemon();
    for n in 0..50 {
        let session = daemon.session().await;
        daemon.send(&session, &format!("number {n}")).await;
    }
    let rest = |list: &Value| {
        let items = list["items"].as_array().unwrap();
        let open = ["pending", "running", "streaming"];
        let rests = |one: &&Value| !open.iter().any(|state| one["state"] == *state);
        items.iter().filter(rests).count()
    };
    let path = "/v1/continuations?limit=100";
    let settled = |list: &Value| rest(list) + peer.asked() == 50;
    daemon.wait(path, "each asks or is stopped", settled).await;
    let asked = peer.asked();
    assert!(
        asked > 0 && asked < 50,
        "{asked} of 50 ran: the limit does not divide them"
    );
    peer.allow(asked);
    daemon.wait(path, "all rest", |list| rest(list) == 50).await;
    let costs = daemon.get("/v1/costs").await;
    let day = costs["budgets"].as_array().unwrap();
    let day = day
        .iter()
        .find(|budget| budget["budget"] == "day_tokens")
        .unwrap();
    assert!(day["used"].as_f64().unwrap() <= LIMIT, "{day}");
}

#[tokio::test(flavor = "multi_thread")]
async fn t24_the_record_shows_what_was_changed_and_no_name_writes_a_line() {
    let telegram = FakeTelegram::start();
    let home = bot::home(&telegram, "allowed_users = [\"100\"]", "");
    let mut daemon = bot::start(&home, &telegram, &[100], &[]);
    let forged = "Cleo\n2026-01-01 00:00:00  anna  approval.decided approve";
    telegram.user_says(100, &User::new(100, forged), WRITE);
    let approval = daemon.wait_approval().await;
    daemon.decide(&approval, "deny").await;
    let rows = daemon.get("/v1/audit?limit=200").await["items"]
        .as_array()
        .unwrap()
        .len();
    let (ok, text) = cli(&home, &["audit", "list", "--limit", "200"]).await;
    assert!(ok, "{text}");
    // The head, and a line for each row.
    assert_eq!(text.lines().count(), rows + 1, "{text}");
    assert!(daemon.terminate().success());
    let verified = || tokio::task::block_in_place(|| run(&home, &["audit", "verify"]));
    assert!(verified().status.success(), "{:?}", verified());
    let conn = Connection::open(home.data().join("leverframe.db")).unwrap();
    // Whoever can write the file takes the guards of the table out first.
    let guards: Vec<String> = conn
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'audit'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for guard in guards {
        conn.execute(&format!("DROP TRIGGER {guard}"), []).unwrap();
    }
    let changed = conn
        .execute(
            "UPDATE audit SET detail = replace(detail, 'deny', 'dent') WHERE seq =
                (SELECT max(seq) FROM audit WHERE detail LIKE '%deny%')",
            [],
        )
        .unwrap();
    assert_eq!(changed, 1);
    drop(conn);
    assert!(!verified().status.success(), "a changed byte goes unseen");
}

#[test]
fn t25_a_notification_says_how_many_and_nothing_of_what() {
    let mut driver = Driver::with(100, 30, fixture::snapshot());
    driver.send(leverframe::tui::message::Message::FocusLost);
    driver.effects.clear();
    let mut approval = fixture::approval(9, leverframe::protocol::enums::Risk::High);
    approval.args = json!({ "path": "secret-plan.txt" });
    let body = leverframe::protocol::event::EventBody::ApprovalRequested {
        approval: Box::new(approval),
    };
    let event = leverframe::protocol::event::Event {
        seq: Some(5_000),
        at: fixture::ago(0),
        session_id: None,
        continuation_id: None,
        body,
    };
    driver.hear(leverframe::console::message::DaemonMessage::Event(
        std::sync::Arc::new(event),
    ));
    let told = driver.effects.iter().find_map(|effect| match effect {
        Effect::Notify(waiting) => Some(*waiting),
        _ => None,
    });
    let waiting = told.expect("somebody who looks elsewhere is told");
    for how in [Notify::Osc9, Notify::Osc99, Notify::Osc777] {
        let text = sequence(how, false, waiting).unwrap();
        assert!(text.contains("1 needs you"), "{text:?}");
        for part in ["secret", "plan", "txt", "path"] {
            assert!(!text.contains(part), "{text:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t26_a_hook_that_others_can_write_is_not_run() {
    let home =
        Home::new("[channels.api]\nauto_approve = [\"write_file\"]\nautonomy = \"semi_auto\"\n");
    let hook = says(home.path(), "check", r#"{"verdict":"pass"}"#);
    configure(&home, &table("check", &hook, "\"before_tool_call\"", ""));
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o777)).unwrap();
    let refused = home.try_daemon_with(&[]);
    if let Some(daemon) = refused {
        // It runs without the hook's word: then nothing that the hook guards does.
        let session = daemon.session().await;
        daemon.send(&session, WRITE).await;
        let hooks = daemon.get("/v1/hooks").await;
        let text = hooks.to_string();
        assert!(text.contains("can be written by others"), "{hooks:#}");
        let found = hooks["items"].as_array().unwrap().iter();
        let check = found.clone().find(|hook| hook["name"] == "check").unwrap();
        let runs = check["counts"]["runs"].as_u64().unwrap();
        assert_eq!(runs, 0, "{hooks:#}");
    } else {
        let log = home.log();
        assert!(log.contains("can be written by others"), "{log}");
    }
}
