//! What systemd hears: the daemon's word that it is well.

use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::daemon::{DEADLINE, Home};

const PERFORMANCE: &str = include_str!("../../../docs/src/develop/performance.md");

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
