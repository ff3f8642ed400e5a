//! What systemd reads and hears: the unit in the documentation, and the daemon's word that it is well.

use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::daemon::{DEADLINE, Home};

/// Keys of the unit that systemd.unit(5), systemd.service(5) and systemd.exec(5) know.
const KEYS: &[(&str, &[&str])] = &[
    ("Unit", &["Description", "After"]),
    (
        "Service",
        &[
            "Type",
            "WatchdogSec",
            "ExecStart",
            "ExecReload",
            "EnvironmentFile",
            "Restart",
            "TimeoutStopSec",
        ],
    ),
    ("Install", &["WantedBy"]),
];

const SERVICE: &str = include_str!("../../../docs/src/operate/service.md");
const PERFORMANCE: &str = include_str!("../../../docs/src/develop/performance.md");

/// The unit as sections, keys and values. A comment stands on a line of its own; behind a value it is a part of it.
fn unit() -> Vec<(String, String, String)> {
    let (_, rest) = SERVICE.split_once("```ini\n").expect("the unit");
    let (text, _) = rest.split_once("```").expect("its end");
    let mut section = String::new();
    let mut lines = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            name.clone_into(&mut section);
            continue;
        }
        let (key, value) = line.split_once('=').expect("key and value");
        lines.push((section.clone(), key.to_owned(), value.to_owned()));
    }
    lines
}

#[test]
fn every_line_of_the_unit_is_one_that_systemd_takes() {
    let unit = unit();
    for (section, keys) in KEYS {
        for key in *keys {
            let found = unit.iter().filter(|(s, k, _)| s == section && k == key);
            assert_eq!(found.count(), 1, "[{section}] {key}");
        }
    }
    for (section, key, value) in &unit {
        let known = KEYS.iter().find(|(name, _)| name == section);
        assert!(
            known.is_some_and(|(_, keys)| keys.contains(&key.as_str())),
            "[{section}] {key}"
        );
        assert!(
            !value.contains(['#', ';']),
            "a comment behind a value: {key}={value}"
        );
        assert_eq!(value.trim(), value, "{key}");
        if key.ends_with("Sec") {
            assert!(value.parse::<u32>().is_ok(), "{key}={value}");
        }
    }
    for installed in [".local/bin/leverframe", ".config/leverframe/secrets.env"] {
        assert!(unit.iter().any(|(_, _, value)| value.contains(installed)));
        assert!(
            SERVICE.contains(&format!("~/{installed}")),
            "how {installed} comes there"
        );
    }
}

#[test]
fn the_scripts_that_measure_say_how_they_are_called() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let named: Vec<&str> = PERFORMANCE
        .split_whitespace()
        .filter(|word| word.starts_with("benches/tools/"))
        .collect();
    assert!(named.len() >= 7, "{named:?}");
    for script in named {
        let text = std::fs::read_to_string(root.join(script)).expect(script);
        let name = script.trim_start_matches("benches/tools/");
        let usage = text.lines().take(20).any(|line| {
            line.trim_start_matches(['/', ' '])
                .starts_with(&format!("{name} "))
                && line.contains(['[', '-'])
        });
        assert!(usage, "{script} begins with how it is called");
    }
    assert!(!PERFORMANCE.contains("../shared"));
}

/// The next datagram that has this word; none when the deadline is over.
fn hear(told: &UnixDatagram, word: &str, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    let mut bytes = [0; 1024];
    while let Some(left) = deadline
        .checked_duration_since(Instant::now())
        .filter(|left| !left.is_zero())
    {
        told.set_read_timeout(Some(left)).expect("a time limit");
        match told.recv(&mut bytes) {
            Ok(count) if String::from_utf8_lossy(&bytes[..count]).contains(word) => return true,
            Ok(_) => {}
            // A child of another test ended: with a time limit the kernel does not go on by itself.
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    false
}

#[tokio::test]
async fn the_daemon_says_how_it_started_and_that_it_is_well() {
    let home = Home::new("");
    let manager = home.path().join("notify");
    let told = UnixDatagram::bind(&manager).expect("a socket");
    let manager = manager.to_str().expect("UTF-8");
    let mut daemon = home.daemon_with(&[("NOTIFY_SOCKET", manager), ("WATCHDOG_USEC", "400000")]);
    assert!(hear(&told, "READY=1", DEADLINE));
    for _ in 0..3 {
        assert!(hear(&told, "WATCHDOG=1", Duration::from_secs(5)));
    }
    let log = home.log();
    let started = log
        .lines()
        .find(|line| line.contains("started"))
        .expect("a line");
    let data = home.data();
    for part in [
        env!("CARGO_PKG_VERSION"),
        data.to_str().expect("UTF-8"),
        &daemon.base,
        "unix:",
        "channels",
    ] {
        assert!(started.contains(part), "{part}: {started}");
    }
    // A process that stands still says nothing.
    daemon.signal(Signal::STOP);
    while hear(&told, "WATCHDOG=1", Duration::from_millis(50)) {}
    assert!(!hear(&told, "WATCHDOG=1", Duration::from_secs(1)));
    daemon.signal(Signal::CONT);
    assert!(hear(&told, "WATCHDOG=1", Duration::from_secs(5)));
    assert!(daemon.terminate().success());
}

#[tokio::test]
async fn a_watchdog_of_another_process_is_not_answered() {
    let home = Home::new("");
    let manager = home.path().join("notify");
    let told = UnixDatagram::bind(&manager).expect("a socket");
    let manager = manager.to_str().expect("UTF-8");
    let given = [
        ("NOTIFY_SOCKET", manager),
        ("WATCHDOG_USEC", "200000"),
        ("WATCHDOG_PID", "1"),
    ];
    let mut daemon = home.daemon_with(&given);
    assert!(hear(&told, "READY=1", DEADLINE));
    assert!(!hear(&told, "WATCHDOG=1", Duration::from_secs(1)));
    assert!(daemon.terminate().success());
}
