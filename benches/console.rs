//! What the console costs in a terminal: bytes, frames, CPU, memory, and how long a key takes. One process, the engine
//! inside, on a pseudo terminal of 120 by 40, over a session of 10 000 messages and one of 100 MB.
//!
//! Run it alone on a quiet machine. `LEVERFRAME_BENCH_BINARY` names another binary (the shipped one),
//! `LEVERFRAME_BENCH_DATA` a directory that is kept (filling it takes longest).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    dead_code
)] // a bench is a test, and uses a part of the harness

#[path = "harness/daemon.rs"]
mod daemon;
mod harness;
#[path = "harness/pane.rs"]
mod pane;

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::daemon::{Connection, Events, load};
use crate::pane::{Pane, Window};

const CONFIG: &str = "[model]\ndefault = \"scripted/demo\"\n[budgets]\nmax_duration_seconds = 3600\n\
    max_tokens = 100000000\n[engine]\nmax_running = 64\nhistory_exchanges = 1\nhistory_share = 0\n[memory]\ncompaction = false\n";
/// Messages and answers of the long session.
const MESSAGES: usize = 10_000;
/// Exchanges of the large session, and bytes of each message and each answer.
const LARGE: (usize, usize) = (5_000, 10_000);
const SESSIONS: usize = 200;
/// Pieces of an answer that streams, 25 ms apart.
const PIECES: usize = 600;
const BACKGROUND: usize = 20;

fn main() {
    let temporary = tempfile::tempdir().unwrap();
    let data = std::env::var_os("LEVERFRAME_BENCH_DATA")
        .map_or_else(|| temporary.path().join("data"), PathBuf::from);
    let binary = daemon::binary();
    let config = temporary.path().join("config.toml");
    std::fs::write(&config, CONFIG).unwrap();
    let arguments = [
        "--config",
        config.to_str().unwrap(),
        "--data-dir",
        data.to_str().unwrap(),
    ];
    let socket = data.join("leverframe.sock");
    println!("load {}", load());

    let mut pane = Pane::start(&binary, &arguments);
    let first = pane.wait_for("need", 0);
    println!("start to first whole frame                   {first:?}");
    let mut engine = Connection::at(&socket);
    // What a run before left behind.
    let list = engine.get("/v1/approvals?state=pending");
    for approval in list["items"].as_array().unwrap() {
        deny(&mut engine, approval);
    }
    let (long, large) = fill(&mut engine);
    println!("with everything stored: {}, load {}", pane.memory(), load());
    pane.stop();

    let mut pane = Pane::start(&binary, &arguments);
    let attached = pane.wait_for("need", 0);
    println!("start to first whole frame, {SESSIONS} sessions      {attached:?}");
    sleep(Duration::from_secs(2));
    let mut engine = Connection::at(&socket);
    println!(
        "memory at rest                               {}",
        pane.memory()
    );

    idle(&mut pane, &mut engine);
    approvals(&mut pane, &mut engine, &socket);
    open(&mut pane, &mut engine, &large, "a session of 100 MB");
    open(
        &mut pane,
        &mut engine,
        &long,
        "a session of 10 000 messages",
    );
    streaming(&mut pane, &mut engine, &long);
    background(&mut pane, &mut engine, &long);
    println!("load {}", load());
    pane.stop();
}

/// Sends a message, and waits until its turn is over.
fn turn(engine: &mut Connection, session: &str, text: &str) {
    let accepted = say(engine, session, text);
    wait(engine, &accepted);
}

fn say(engine: &mut Connection, session: &str, text: &str) -> String {
    let path = format!("/v1/sessions/{session}/messages");
    let accepted = engine.post(&path, &json!({ "text": text }).to_string());
    accepted["continuation_id"].as_str().unwrap().to_owned()
}

fn wait(engine: &mut Connection, continuation: &str) {
    let path = format!("/v1/continuations/{continuation}");
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let state = engine.get(&path)["state"].clone();
        if state == "completed" {
            return;
        }
        assert!(
            Instant::now() < deadline && state != "failed",
            "{path}: {state}"
        );
        sleep(Duration::from_micros(300));
    }
}

fn session(engine: &mut Connection, title: &str) -> String {
    let made = engine.post("/v1/sessions", &json!({ "title": title }).to_string());
    made["id"].as_str().unwrap().to_owned()
}

/// The sessions of these titles; made and filled where they are not there yet.
fn fill(engine: &mut Connection) -> (String, String) {
    let known = engine.get("/v1/sessions?limit=500");
    let find = |title: &str| {
        let items = known["items"].as_array().unwrap();
        let found = items.iter().find(|session| session["title"] == title);
        found.map(|session| session["id"].as_str().unwrap().to_owned())
    };
    if let (Some(long), Some(large)) = (find("long"), find("large")) {
        return (long, large);
    }
    for n in 0..SESSIONS {
        let id = session(engine, &format!("session {n}"));
        turn(engine, &id, "SAY:short");
    }
    let large = session(engine, "large");
    let text = "what was said then, at some length ".repeat(LARGE.1 / 35);
    for _ in 0..LARGE.0 {
        turn(engine, &large, &format!("SAY:{text}"));
    }
    let long = session(engine, "long");
    for n in 0..MESSAGES / 2 {
        turn(
            engine,
            &long,
            &format!("SAY:answer {n} of the long session"),
        );
    }
    (long, large)
}

fn idle(pane: &mut Pane, engine: &mut Connection) {
    let id = session(engine, "asks");
    let asked = say(engine, &id, &write("idle.txt"));
    pane.see("1 need");
    pane.press("1");
    pane.press("j");
    sleep(Duration::from_secs(3));
    let window = pane.watch(Duration::from_secs(30));
    println!(
        "idle, an approval on screen                  {window}; {}",
        pane.memory()
    );
    let approval = pending(engine, &asked);
    deny(engine, &approval);
    sleep(Duration::from_secs(6));
}

fn write(path: &str) -> String {
    format!("TOOL:write_file{{\"path\":\"{path}\",\"content\":\"x\"}}\nSAY:done")
}

fn pending(engine: &mut Connection, continuation: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let list = engine.get("/v1/approvals?state=pending");
        let found = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|approval| approval["continuation_id"] == continuation)
            .cloned();
        if let Some(found) = found {
            return found;
        }
        assert!(Instant::now() < deadline, "nothing waits");
        sleep(Duration::from_millis(5));
    }
}

fn deny(engine: &mut Connection, approval: &Value) {
    let path = format!(
        "/v1/approvals/{}/decision",
        approval["id"].as_str().unwrap()
    );
    let body = json!({ "decision": "deny", "digest": approval["digest"] });
    engine.post(&path, &body.to_string());
}

/// From the key that allows a call to the first sign of its run.
fn approvals(pane: &mut Pane, engine: &mut Connection, socket: &Path) {
    let id = session(engine, "asks often");
    let mut samples = Vec::new();
    for n in 0..12 {
        // A new file each time: writing over one is of high risk, and asks twice.
        let file = format!("approved-{}-{n}.txt", std::process::id());
        let asked = say(engine, &id, &write(&file));
        pane.see("1 need");
        // A screen that was just opened has nothing selected.
        for key in ["2", "1", "j", "\r"] {
            pane.press(key);
            sleep(Duration::from_millis(100));
        }
        // Longer than a card takes to arm.
        sleep(Duration::from_millis(1_500));
        let mut events = Events::at(socket);
        let began = Instant::now();
        pane.press("a");
        events.wait_for("tool.started");
        samples.push(began.elapsed());
        wait(engine, &asked);
        pane.press("\x1b");
        // Until the row of what was decided is gone, and the next one is the first.
        sleep(Duration::from_secs(6));
    }
    let _ = harness::report("approve key to the event of the start", samples);
}

/// Opens a session from the list of sessions, where what changed last is on top.
fn open(pane: &mut Pane, engine: &mut Connection, id: &str, name: &str) {
    turn(engine, id, "SAY:thenewestanswer");
    pane.press("2");
    pane.press("j");
    sleep(Duration::from_millis(500));
    let before = pane.resident();
    let at = pane.position();
    let began = Instant::now();
    pane.press("\r");
    pane.wait_for("thenewestanswer", at);
    let took = began.elapsed();
    sleep(Duration::from_millis(500));
    println!(
        "open {name:<39} {took:?}, +{} KiB",
        pane.resident().saturating_sub(before)
    );
}

/// An answer that streams into the session on screen.
fn streaming(pane: &mut Pane, engine: &mut Connection, id: &str) {
    let asked = say(engine, id, &format!("SLOW:{PIECES}\nSAY:over"));
    sleep(Duration::from_secs(1));
    let window = pane.watch(Duration::from_secs(6));
    println!("streaming 40 pieces a second                 {window}");
    // The overlay of help is drawn over half of the screen while the answer goes on.
    let mut samples = Vec::new();
    for _ in 0..40 {
        let began = Instant::now();
        pane.press("?");
        pane.see("Help: Session");
        samples.push(began.elapsed());
        let at = pane.position();
        pane.press("q");
        pane.wait_for("\x1b[?2026l", at);
        sleep(Duration::from_millis(60));
    }
    let _ = harness::report("key to output while it streams", samples);
    wait(engine, &asked);
    sleep(Duration::from_millis(500));
    let mut samples = Vec::new();
    for n in 0..100 {
        let at = pane.position();
        let began = Instant::now();
        pane.press(if n % 20 < 10 { "k" } else { "j" });
        pane.wait_for("\x1b[?2026l", at);
        samples.push(began.elapsed());
        sleep(Duration::from_millis(20));
    }
    let _ = harness::report("key to output, nothing streams", samples);
}

/// One answer streams on screen, then twenty more beside it.
fn background(pane: &mut Pane, engine: &mut Connection, shown: &str) {
    let text = format!("SLOW:{PIECES}\nSAY:over");
    let mut cpu = Vec::new();
    for beside in [0, BACKGROUND] {
        let mut asked = vec![say(engine, shown, &text)];
        for n in 0..beside {
            let id = session(engine, &format!("beside {n}"));
            asked.push(say(engine, &id, &text));
        }
        sleep(Duration::from_secs(1));
        let window: Window = pane.watch(Duration::from_secs(8));
        println!("one answer on screen, {beside:>2} beside it           {window}");
        cpu.push(window.cpu);
        for id in &asked {
            wait(engine, id);
        }
    }
    println!(
        "CPU of the console and the engine            x{:.2}",
        cpu[1] / cpu[0]
    );
}
