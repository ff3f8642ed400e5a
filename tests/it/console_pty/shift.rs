//! A whole shift at the demo's fleet, key by key at 80 by 24: how many keys forty decisions take, and how long.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::console_pty::door::{Door, demo, items};
use crate::console_pty::steps::quit;
use crate::support::pty::Pty;

/// Decisions of the shift.
const DECISIONS: usize = 40;
/// Each so many cards one is denied.
const DENIED: usize = 8;
/// How long a card must be on screen before a key about it counts, and a frame more.
const GLANCE: Duration = Duration::from_millis(520);
/// How long a decision may take to reach the daemon.
const DECISION: Duration = Duration::from_secs(30);
/// What the footer says while a card was on screen for too short a time.
const JUST_APPEARED: &str = "the card has just appeared or changed";

/// Counts the keys that are pressed.
struct Operator {
    pty: Pty,
    keys: usize,
}

impl Operator {
    fn press(&mut self, key: &str) {
        self.pty.send(key);
        self.keys += 1;
    }

    /// Reads the card to its end, until its keys count.
    fn read(&mut self) {
        let seen = Instant::now();
        loop {
            let screen = self.pty.wait("a card that was looked at", |screen| {
                seen.elapsed() > GLANCE && !screen.contains(JUST_APPEARED)
            });
            if screen.contains("more lines below") {
                self.press("\x04");
            } else if !screen.contains("not armed") {
                return;
            }
            self.pty.wait("the next frame", |now| now != screen);
        }
    }
}

/// The code of the card on screen.
fn code(screen: &str) -> Option<String> {
    let (_, behind) = screen.split_once("· code ")?;
    behind.split_whitespace().next().map(str::to_owned)
}

/// The socket of the demo that has its temporary files here.
fn socket(dir: &Path) -> PathBuf {
    let mut inside = std::fs::read_dir(dir).unwrap();
    let demo = inside.find_map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name()?.to_str()?;
        name.starts_with("leverframe-demo-").then_some(path)
    });
    demo.expect("the demo's directory")
        .join("data/leverframe.sock")
}

/// Waits until the daemon has the decision: the screen can still show that of an earlier card.
async fn wait_for_decision(door: &Door, code: &str) {
    let deadline = Instant::now() + DECISION;
    loop {
        let pending = door.get("/v1/approvals?state=pending&limit=200").await;
        if items(&pending).all(|one| one["short_code"] != code) {
            return;
        }
        assert!(Instant::now() < deadline, "{code} still waits: {pending:#}");
        tokio::task::yield_now().await;
    }
}

async fn risk_of(door: &Door, code: &str) -> String {
    let pending = door.get("/v1/approvals?state=pending&limit=200").await;
    let card = items(&pending).find(|one| one["short_code"] == code);
    let card = card.unwrap_or_else(|| panic!("{code} does not wait: {pending:#}"));
    card["risk"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn forty_cards_of_twelve_channels_are_decided_by_keys() {
    let (dir, mut command) = demo();
    command.arg("--fleet");
    let mut operator = Operator {
        pty: Pty::start(&command, 80, 24),
        keys: 0,
    };
    operator.pty.see("demo: scripted, no model");
    operator.pty.see("need you");
    let door = Door::at(&socket(dir.path()));

    // The overview first: what waits the longest is at the top, and leads to its part of the Queue.
    operator.pty.send(":fleet\r");
    operator.pty.see("┌ Fleet  18 channels");
    operator.pty.send("j");
    operator.pty.see("of the Queue");
    operator.pty.send("o");
    operator.pty.see("┌ Queue");
    operator.pty.see("hidden by `channel:");
    operator.pty.send("\x1b");
    operator.pty.gone("hidden by");

    let begun = Instant::now();
    let mut decided: BTreeMap<String, String> = BTreeMap::new();
    while decided.len() < DECISIONS {
        operator.press("\t");
        let screen = operator.pty.wait("another card", |screen| {
            code(screen).is_some_and(|code| !decided.contains_key(&code))
        });
        let code = code(&screen).unwrap();
        let risk = risk_of(&door, &code).await;
        operator.read();
        if decided.len() % DENIED == DENIED - 1 || risk == "critical" {
            operator.press("d");
            operator.pty.see("denied");
        } else {
            operator.press("a");
            if risk == "high" {
                operator.pty.see("press the same key once more");
                operator.press("a");
            }
            operator.pty.see("allowed once by ");
        }
        wait_for_decision(&door, &code).await;
        decided.insert(code, risk);
    }
    let seconds = begun.elapsed().as_secs_f64();

    let all = door.get("/v1/approvals?limit=500").await;
    let mine: Vec<&Value> = items(&all)
        .filter(|one| decided.contains_key(one["short_code"].as_str().unwrap()))
        .collect();
    assert_eq!(mine.len(), DECISIONS);
    for one in &mine {
        assert_ne!(one["state"], "pending", "{one:#}");
        assert_eq!(one["decision"]["surface"], "console", "{one:#}");
    }
    let channels: BTreeSet<&str> = mine
        .iter()
        .map(|one| one["channel"].as_str().unwrap())
        .collect();
    let risks: BTreeSet<&String> = decided.values().collect();
    println!(
        "a shift: {DECISIONS} cards of {} channels, risks {risks:?}: {} keys, {seconds:.1} s",
        channels.len(),
        operator.keys
    );
    assert_eq!(channels.len(), 12, "{channels:?}");
    assert!(risks.len() >= 3, "{risks:?}");
    // Who takes over reads what was done.
    operator.pty.send("\x14");
    operator.pty.see("Shift");
    operator.pty.send("\x1b");
    operator.pty.gone("Shift");
    quit(&mut operator.pty, "stop");
    assert_eq!(operator.pty.wait_exit(), Some(0));
}
