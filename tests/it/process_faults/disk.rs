//! A disk that is full or fails under a live daemon (I27).

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::console_pty::door::command;
use crate::process_faults::world::{
    FULL, engine, eventually, lines, script, slow, sound, telegram_home, tool, wait_stream,
};
use crate::support::daemon::{DEADLINE, Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;
use crate::support::pty::Pty;
use crate::support::record;
use crate::support::requirement::missing;

/// What lets a fault be injected.
const TRACING: &str = "install strace and let it trace here";

/// A write behind a limit must fail and not kill, as it does on a full disk.
const NO_SIGNAL: [&str; 4] = ["/bin/sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"];

fn wal(home: &Home) -> PathBuf {
    home.data().join("leverframe.db-wal")
}

/// From here on no file of the daemon grows beyond what its log has now.
fn fill(daemon: &Daemon, home: &Home) {
    let size = std::fs::metadata(wal(home)).expect("the log").len();
    limit(daemon, &size.to_string());
}

fn limit(daemon: &Daemon, size: &str) {
    let pid = daemon.pid().to_string();
    tool(
        "prlimit",
        &["--pid", &pid, &format!("--fsize={size}:unlimited")],
    );
}

fn lift(daemon: &Daemon) {
    limit(daemon, "unlimited");
}

/// Waits until the daemon has noticed that it cannot write, or can again.
async fn wait_writable(daemon: &Daemon, writable: bool) {
    daemon
        .wait("/v1/snapshot", "whether it can write", |body| {
            body["engine"]["writable"] == writable
        })
        .await;
}

#[tokio::test]
async fn nothing_is_acknowledged_or_begun_on_a_full_disk_and_all_goes_on_by_itself() {
    let telegram = FakeTelegram::start();
    let home = telegram_home(&telegram);
    let token = telegram.state().token.clone();
    let mut daemon = home.daemon_through(&NO_SIGNAL, &[("TEAM_TOKEN", &token)]);
    let ben = User::new(100, "Ben");
    telegram.user_says(100, &ben, "SAY:before");
    let said = |text: &str| {
        telegram
            .messages(100)
            .iter()
            .filter(|message| message.text.lines().last() == Some(text))
            .count()
    };
    telegram
        .wait_until("the first answer", |state| {
            state
                .messages
                .iter()
                .any(|message| message.text.ends_with("before"))
        })
        .await;
    // A turn whose model is about to ask for an effect.
    let session = daemon.session().await;
    let ledger = home.workspace("api").join("ledger");
    let text = format!("SLOW:40\n{}", script("echo ran >> ledger"));
    let continuation = daemon.send(&session, &text).await;
    wait_stream(&daemon).await;
    let sent = telegram.calls("sendMessage").len();
    fill(&daemon, &home);
    telegram.user_says(100, &ben, "SAY:meanwhile");
    wait_writable(&daemon, false).await;

    let (ready, problem) = daemon.request("GET", "/readyz", None).await;
    assert_eq!((ready, &problem["title"]), (503, &json!("not writable")));
    let status = engine(&daemon).await;
    let shown = status["problems"][0].as_str().expect("a problem");
    assert!(shown.contains("cannot be written"), "{shown}");
    let (status, _) = daemon
        .request("POST", "/v1/sessions", Some(json!({})))
        .await;
    assert_eq!(status, 503, "a command was acknowledged");
    // Until its answer could be stored the turn keeps it: the effect it asks for does not begin. The platform
    // offers the message again and again, which proves that it was not acknowledged.
    let polls = telegram.calls("getUpdates").len();
    telegram
        .wait_until("the same update is asked for again", |state| {
            state
                .ledger
                .iter()
                .filter(|call| call.method == "getUpdates")
                .count()
                > polls + 2
        })
        .await;
    daemon
        .wait("/v1/snapshot", "the stream is over", |body| {
            body["streams"].as_array().is_some_and(Vec::is_empty)
        })
        .await;
    assert_eq!(telegram.state().pending.len(), 1, "it was acknowledged");
    assert_eq!(lines(&ledger), Vec::<String>::new(), "the tool was started");
    assert_eq!(
        telegram.calls("sendMessage").len(),
        sent,
        "something was sent"
    );
    assert_eq!(engine(&daemon).await["writable"], false);

    lift(&daemon);
    wait_writable(&daemon, true).await;
    telegram
        .wait_until("the second answer", |state| {
            state
                .messages
                .iter()
                .any(|message| message.text.ends_with("meanwhile"))
        })
        .await;
    let done = daemon.wait_state(&continuation, "completed").await;
    assert_eq!(done["tool_calls"][0]["attempts"], 1);
    assert_eq!(lines(&ledger), ["ran"]);
    assert_eq!(daemon.request("GET", "/readyz", None).await.0, 200);
    assert!(daemon.terminate().success());
    assert_eq!((said("before"), said("meanwhile")), (1, 1));
    assert_eq!(telegram.state().violations, Vec::<String>::new());
    let log = home.log();
    assert_eq!(
        (
            log.matches("the database cannot be written").count() >= 1,
            log.matches("the database can be written again").count() >= 1
        ),
        (true, true)
    );
    sound(&home).await;
    record::fault(
        "disk-full",
        "RLIMIT_FSIZE lowered under a live daemon while a model streams and a message arrives, then lifted",
        "503 with the reason, no acknowledgement, no tool start, no send; afterwards everything once, by itself",
    );
}

#[tokio::test]
async fn the_outcome_of_a_tool_that_ends_on_a_full_disk_is_kept() {
    let home = Home::new(FULL);
    let mut daemon = home.daemon_through(&NO_SIGNAL, &[]);
    let session = daemon.session().await;
    let ledger = home.workspace("api").join("ledger");
    let go = home.workspace("api").join("go");
    let text = script("echo ran >> ledger; until [ -e go ]; do sleep 0.05; done; echo the outcome");
    let continuation = daemon.send(&session, &text).await;
    eventually("the tool runs", || !lines(&ledger).is_empty()).await;
    fill(&daemon, &home);
    std::fs::write(&go, "").expect("the sign");
    wait_writable(&daemon, false).await;
    let seen = daemon
        .get(&format!("/v1/continuations/{continuation}"))
        .await;
    assert_eq!(seen["tool_calls"][0]["state"], "started", "{seen:#}");
    lift(&daemon);
    let done = daemon.wait_state(&continuation, "completed").await;
    assert_eq!(done["tool_calls"][0]["state"], "succeeded");
    assert!(
        done["tool_calls"][0]["result"]
            .as_str()
            .is_some_and(|result| result.contains("the outcome"))
    );
    assert_eq!(lines(&ledger), ["ran"]);
    assert!(daemon.terminate().success());
    sound(&home).await;
    record::fault(
        "disk-full-outcome",
        "the disk is full when a program ends, then has space again",
        "the engine stores its outcome later, it ran once, the turn continues by itself",
    );
}

#[tokio::test]
async fn an_emergency_stop_on_a_full_disk_holds_and_is_recorded_later() {
    let home = Home::new("");
    let mut daemon = home.daemon_through(&NO_SIGNAL, &[]);
    let mut pty = Pty::start(&command(&home), 120, 30);
    pty.see("nothing needs you");
    fill(&daemon, &home);
    let (status, problem) = daemon
        .request(
            "POST",
            "/v1/emergency-stop",
            Some(json!({"reason": "full"})),
        )
        .await;
    assert_eq!(status, 503, "{problem}");
    assert!(
        problem["hint"]
            .as_str()
            .is_some_and(|hint| hint.contains("in force"))
    );
    assert!(engine(&daemon).await["held_since"].is_string());
    pty.see("CANNOT SAVE");
    pty.see("the database cannot be written");
    lift(&daemon);
    wait_writable(&daemon, true).await;
    pty.gone("CANNOT SAVE");
    pty.kill();
    let session = daemon.session().await;
    eventually("it is recorded", || {
        crate::process_faults::world::count(
            &home,
            "SELECT count(*) FROM meta WHERE key = 'held_at'",
        ) == 1
    })
    .await;
    daemon.kill();
    let mut daemon = home.daemon();
    assert!(engine(&daemon).await["held_since"].is_string());
    let waiting = daemon.send(&session, "SAY:held").await;
    daemon.post("/v1/emergency-stop/release", json!({})).await;
    daemon.wait_state(&waiting, "completed").await;
    assert!(daemon.terminate().success());
    sound(&home).await;
}

/// A strace on a running daemon; it lets go when dropped.
struct Tracer(Child);

impl Tracer {
    /// Makes a call of the daemon fail from now on. None where processes may not be traced.
    fn inject(daemon: &Daemon, call: &str, error: &str) -> Option<Self> {
        let mut child = Command::new("strace")
            .args(["-f", "-p", &daemon.pid().to_string()])
            .arg("-e")
            .arg(format!("trace={call}"))
            .arg("-e")
            .arg(format!("inject={call}:error={error}"))
            .args(["-o", "/dev/null"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let status = format!("/proc/{}/status", daemon.pid());
        let deadline = Instant::now() + DEADLINE;
        loop {
            let traced = std::fs::read_to_string(&status).is_ok_and(|text| {
                text.lines()
                    .any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"))
            });
            // Its threads are attached to one after the other; the writer's is among them when all are.
            if traced && all_traced(daemon.pid()) {
                return Some(Self(child));
            }
            if child.try_wait().ok().flatten().is_some() || Instant::now() > deadline {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn all_traced(pid: u32) -> bool {
    std::fs::read_dir(format!("/proc/{pid}/task")).is_ok_and(|tasks| {
        tasks.flatten().all(|task| {
            std::fs::read_to_string(task.path().join("status")).is_ok_and(|text| {
                text.lines()
                    .any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"))
            })
        })
    })
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // Asked, not killed: it takes its breakpoints out before it goes.
        let pid = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_failed_fsync_ends_the_process_and_the_next_start_recovers() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let before = daemon.send(&session, "SAY:before").await;
    daemon.wait_state(&before, "completed").await;
    let Some(tracer) = Tracer::inject(&daemon, "fdatasync,fsync", "EIO") else {
        missing("strace", "a failed fsync", TRACING);
        return;
    };
    let lost = daemon
        .try_request(
            "POST",
            &format!("/v1/sessions/{session}/messages"),
            Some(json!({"text": "SAY:never promised"})),
        )
        .await;
    assert!(
        !matches!(lost, Ok((status, _)) if status < 500),
        "it was acknowledged without its fsync: {lost:?}"
    );
    let status = daemon.wait_exit().expect("it ends");
    assert!(!status.success());
    drop(tracer);
    assert!(home.log().contains("fsync failed"), "{}", home.log());
    let mut daemon = home.daemon();
    let seen = daemon.get(&format!("/v1/continuations/{before}")).await;
    assert_eq!(seen["state"], "completed");
    let after = daemon.send(&session, "SAY:after").await;
    daemon.wait_state(&after, "completed").await;
    assert!(daemon.terminate().success());
    sound(&home).await;
    record::fault(
        "fsync-failure",
        "fdatasync answers EIO under a live daemon (strace)",
        "nothing acknowledged; the process ended with a log line; the next start recovered",
    );
}

#[tokio::test]
async fn no_space_at_a_write_is_waited_out() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let continuation = daemon.send(&session, &slow("kept in memory", 40)).await;
    wait_stream(&daemon).await;
    let Some(tracer) = Tracer::inject(&daemon, "pwrite64", "ENOSPC") else {
        missing("strace", "a full disk at a write", TRACING);
        return;
    };
    wait_writable(&daemon, false).await;
    let (status, _) = daemon.request("GET", "/readyz", None).await;
    assert_eq!(status, 503);
    drop(tracer);
    wait_writable(&daemon, true).await;
    let done = daemon.wait_state(&continuation, "completed").await;
    assert!(
        done["response"]["text"]
            .as_str()
            .is_some_and(|text| text.ends_with("kept in memory"))
    );
    assert_eq!(done["attempt"], 1, "it was not begun anew: {done:#}");
    assert!(daemon.terminate().success());
    sound(&home).await;
    record::fault(
        "no-space",
        "pwrite64 answers ENOSPC under a live daemon while a model streams (strace)",
        "503 while it lasts; the streamed answer is stored afterwards, without another model call",
    );
}
