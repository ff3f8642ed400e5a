//! SIGTERM idle, in the middle of a stream, of a tool and of a send, once and twice (I28).

use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::console_pty::door::{Door, command};
use crate::console_pty::steps::quit;
use crate::process_faults::world::{
    FULL, alive, count, ended_in_order, engine, eventually, lines, script, slow, sound, stubborn,
    tag, telegram_home, wait_stream,
};
use crate::support::daemon::Home;
use crate::support::fake_telegram::state::User;
use crate::support::fake_telegram::{FakeTelegram, Fault};
use crate::support::pty::Pty;
use crate::support::record;

/// Long before the grace period of 20 s.
const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn an_idle_daemon_ends_at_once() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let began = Instant::now();
    assert!(daemon.terminate().success());
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    ended_in_order(&home);
    assert!(
        !home.log().contains("draining:"),
        "there was nothing to wait for"
    );
    sound(&home).await;
    record::fault(
        "sigterm-idle",
        "SIGTERM to a daemon without work",
        "ends at once; nothing runs, the log is empty, the lock free, the end recorded",
    );
}

#[tokio::test]
async fn a_stream_is_heard_to_its_end_and_new_messages_wait_for_the_next_start() {
    let home = Home::new("");
    let manager = home.path().join("notify");
    let told = UnixDatagram::bind(&manager).expect("a socket");
    told.set_nonblocking(true).expect("a socket");
    let manager = manager.to_str().expect("UTF-8");
    let mut daemon = home.daemon_with(&[("NOTIFY_SOCKET", manager)]);
    let (session, other) = (daemon.session().await, daemon.session().await);
    let first = daemon.send(&session, &slow("the whole answer", 60)).await;
    wait_stream(&daemon).await;
    daemon.signal(Signal::TERM);
    let status = daemon
        .wait("/v1/snapshot", "draining", |body| {
            body["engine"]["draining"]["turns"] == 1
        })
        .await;
    assert!(
        status["engine"]["draining"]["deadline"].is_string(),
        "{status:#}"
    );
    let (ready, problem) = daemon.request("GET", "/readyz", None).await;
    assert_eq!((ready, &problem["title"]), (503, &json!("draining")));
    // Taken, durable, not begun.
    let late = daemon.send(&other, "SAY:said at the next start").await;
    let seen = daemon.get(&format!("/v1/continuations/{late}")).await;
    assert_eq!(seen["state"], "pending");
    let status = daemon.wait_exit().expect("it ends");
    assert!(status.success(), "{status}: {}", home.log());
    ended_in_order(&home);
    assert!(home.log().contains("draining: 1 turn, 0 deliveries;"));
    // The service manager knows too, and gives the time.
    let mut buffer = [0_u8; 4096];
    let mut heard = Vec::new();
    while let Ok(length) = told.recv(&mut buffer) {
        heard.push(String::from_utf8_lossy(&buffer[..length]).into_owned());
    }
    assert_eq!(heard.first().map(String::as_str), Some("READY=1"));
    assert_eq!(heard.get(1).map(String::as_str), Some("STOPPING=1"));
    assert!(
        heard.iter().any(|text| text.starts_with(
            "STATUS=draining: 1 turn, 0 deliveries; 20 s left\nEXTEND_TIMEOUT_USEC=35000000"
        )),
        "{heard:?}"
    );

    let mut daemon = home.daemon();
    let seen = daemon.get(&format!("/v1/continuations/{first}")).await;
    assert_eq!(seen["state"], "completed");
    assert!(
        seen["response"]["text"]
            .as_str()
            .is_some_and(|text| text.ends_with("the whole answer")),
        "{seen:#}"
    );
    assert_eq!(seen["attempt"], 1);
    daemon.wait_state(&late, "completed").await;
    assert!(daemon.terminate().success());
    sound(&home).await;
    record::fault(
        "sigterm-mid-stream",
        "SIGTERM while a model streams; another message during the drain",
        "the answer is complete; the later message is stored and runs at the next start; /readyz 503",
    );
}

#[tokio::test]
async fn a_tool_ends_by_itself_within_the_grace_period() {
    let home = Home::new(FULL);
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let ledger = home.workspace("api").join("ledger");
    let text = script("echo begun >> ledger; sleep 1; echo ended >> ledger");
    let continuation = daemon.send(&session, &text).await;
    eventually("the tool runs", || !lines(&ledger).is_empty()).await;
    assert!(daemon.terminate().success());
    ended_in_order(&home);
    assert_eq!(lines(&ledger), ["begun", "ended"]);
    let mut daemon = home.daemon();
    let done = daemon
        .get(&format!("/v1/continuations/{continuation}"))
        .await;
    assert_eq!(done["state"], "completed", "{done:#}");
    assert_eq!(done["tool_calls"][0]["state"], "succeeded");
    assert!(daemon.terminate().success());
    sound(&home).await;
    record::fault(
        "sigterm-mid-tool",
        "SIGTERM while a program runs that ends within the grace period",
        "the program ran once and to its end; the turn completed",
    );
}

#[tokio::test]
async fn at_the_deadline_a_tool_is_killed_and_a_person_is_asked() {
    let home = Home::new(&format!("[engine]\nshutdown_grace_seconds = 1\n\n{FULL}"));
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let tag = tag(&home);
    let continuation = daemon.send(&session, &script(&stubborn(&tag))).await;
    let up = home.workspace("api").join("up");
    eventually("the tool runs", || up.exists()).await;
    let began = Instant::now();
    assert!(daemon.terminate().success());
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert!(!alive(&tag), "the program outlived the daemon");
    ended_in_order(&home);
    let mut daemon = home.daemon();
    let waits = daemon
        .get(&format!("/v1/continuations/{continuation}"))
        .await;
    assert_eq!(waits["state"], "awaiting_approval", "{waits:#}");
    assert_eq!(waits["tool_calls"][0]["state"], "indeterminate");
    let approval = daemon.wait_approval().await;
    assert_eq!(approval["kind"], "resolve_unknown");
    assert!(daemon.terminate().success());
    sound(&home).await;
    record::fault(
        "sigterm-deadline",
        "SIGTERM while a program runs that ignores signals, has a grandchild in another session and never ends",
        "killed with all its processes at the deadline; its outcome is a question; nothing repeated",
    );
}

#[tokio::test]
async fn a_second_sigterm_does_not_wait() {
    let home = Home::new(FULL);
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let tag = tag(&home);
    let continuation = daemon.send(&session, &script(&stubborn(&tag))).await;
    let up = home.workspace("api").join("up");
    eventually("the tool runs", || up.exists()).await;
    daemon.signal(Signal::TERM);
    eventually("it drains", || home.log().contains("draining: 1 turn")).await;
    daemon.signal(Signal::TERM);
    let began = Instant::now();
    daemon.wait_exit().expect("it ends");
    let took = began.elapsed();
    // Within a second by itself; the rest is for a machine that is busy with other tests.
    assert!(took < Duration::from_secs(3), "{took:?}");
    eventually("the program is gone", || !alive(&tag)).await;
    // Ended in order or cut short: either way the next start knows what it was doing.
    let mut daemon = home.daemon();
    let waits = daemon
        .get(&format!("/v1/continuations/{continuation}"))
        .await;
    assert_eq!(
        waits["tool_calls"][0]["state"], "indeterminate",
        "{waits:#}"
    );
    assert_eq!(waits["tool_calls"][0]["attempts"], 1);
    assert!(daemon.terminate().success());
    sound(&home).await;
    record::fault(
        "sigterm-twice",
        "two SIGTERM while a program runs that ignores signals",
        &format!(
            "ended {} ms after the second, no process left, the outcome is a question",
            took.as_millis()
        ),
    );
}

#[tokio::test]
async fn without_a_grace_period_a_turn_lets_go_and_goes_on_at_the_next_start() {
    let home = Home::new("[engine]\nshutdown_grace_seconds = 0\n");
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let continuation = daemon.send(&session, &slow("at last", 100)).await;
    wait_stream(&daemon).await;
    assert!(daemon.terminate().success());
    ended_in_order(&home);
    assert_eq!(
        count(
            &home,
            "SELECT count(*) FROM continuations WHERE state = 'pending'"
        ),
        1
    );
    let mut daemon = home.daemon();
    daemon.wait_state(&continuation, "completed").await;
    assert!(daemon.terminate().success());
    sound(&home).await;
}

#[tokio::test]
async fn replies_go_out_before_the_end_and_what_people_write_meanwhile_is_kept() {
    let telegram = FakeTelegram::start();
    let home = telegram_home(&telegram);
    let token = telegram.state().token.clone();
    let environment = [("TEAM_TOKEN", token.as_str())];
    let mut daemon = home.daemon_with(&environment);
    let ben = User::new(100, "Ben");
    // Of two parts: the second must wait for its turn after the turn itself is over.
    let long = "many words ".repeat(500) + "the first answer";
    telegram.user_says(100, &ben, &slow(&long, 40));
    wait_stream(&daemon).await;
    // Its delivery takes a while too.
    telegram.fault("sendMessage", Fault::Slow(Duration::from_millis(800)));
    daemon.signal(Signal::TERM);
    daemon
        .wait("/v1/snapshot", "draining", |body| {
            body["engine"]["draining"]["turns"] == 1
        })
        .await;
    telegram.user_says(100, &ben, "SAY:the second answer");
    let status = daemon.wait_exit().expect("it ends");
    assert!(status.success(), "{status}: {}", home.log());
    ended_in_order(&home);
    let said = |text: &str| {
        telegram
            .messages(100)
            .iter()
            .filter(|message| message.text.ends_with(text))
            .count()
    };
    assert_eq!(
        said("the first answer"),
        1,
        "the answer went out before the end"
    );
    assert_eq!(said("the second answer"), 0, "nothing was begun");
    let mut daemon = home.daemon_with(&environment);
    telegram
        .wait_until("the second answer", |state| {
            state
                .messages
                .iter()
                .any(|message| message.text.ends_with("the second answer"))
        })
        .await;
    assert!(daemon.terminate().success());
    assert_eq!(
        (said("the first answer"), said("the second answer")),
        (1, 1)
    );
    assert_eq!(telegram.state().violations, Vec::<String>::new());
    sound(&home).await;
    record::fault(
        "sigterm-mid-send",
        "SIGTERM while a turn runs whose reply then takes 0.8 s to send; a message arrives meanwhile",
        "the reply was shown once before the end, the message answered once after the next start",
    );
}

#[tokio::test]
async fn leaving_the_console_waits_too_and_ctrl_c_ends_the_waiting() {
    let home = Home::new(FULL);
    let mut pty = Pty::start(&command(&home), 100, 30);
    pty.see("nothing needs you");
    let door = Door::of(&home);
    let tag = tag(&home);
    door.say(&script(&stubborn(&tag))).await;
    let up = home.workspace("api").join("up");
    eventually("the tool runs", || up.exists()).await;
    quit(&mut pty, "stop");
    pty.see("draining: 1 turn, 0 deliveries;");
    pty.see("ctrl-c ends at once");
    pty.send("\x03");
    pty.wait_exit().expect("it ends");
    eventually("the program is gone", || !alive(&tag)).await;
    sound(&home).await;
}

/// Attached consoles hear of it by the event `engine.state`.
#[tokio::test]
async fn an_attached_console_shows_what_is_waited_for() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let mut pty = Pty::start(&command(&home), 100, 30);
    pty.see("nothing needs you");
    let session = daemon.session().await;
    daemon.send(&session, &slow("bye", 80)).await;
    wait_stream(&daemon).await;
    assert_eq!(engine(&daemon).await["draining"], json!(null));
    daemon.signal(Signal::TERM);
    pty.see("DRAINING 1 running, 0 to send");
    assert!(daemon.wait_exit().expect("it ends").success());
    pty.kill();
    ended_in_order(&home);
}
