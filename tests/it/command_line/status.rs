//! `leverframe status`: one line for people and for status bars, and the title of the terminal.

use serde_json::Value;

use crate::console_pty::door::{Door, WRITE, command};
use crate::console_pty::steps::quit;
use crate::stories::bot;
use crate::support::daemon::Home;
use crate::support::pty::Pty;
use crate::take_overs::daemon::cli;

#[tokio::test(flavor = "multi_thread")]
async fn a_bar_shows_what_waits_what_holds_work_and_when_nothing_answers() {
    let home = Home::new("instance = \"a<b>#1\"\n");
    let (status, text) = cli(&home, &["status", "--tmux"]).await;
    assert_eq!(
        (status, text.trim()),
        (Some(0), "#[dim]leverframe off#[default]")
    );
    let (status, _) = cli(&home, &["status"]).await;
    assert_ne!(status, Some(0), "a person is told that nothing runs");

    let daemon = home.daemon();
    let (_, text) = cli(&home, &["status"]).await;
    assert_eq!(text.trim(), "nothing needs you");
    let (_, text) = cli(&home, &["status", "--tmux"]).await;
    assert_eq!(text.trim(), "", "a quiet bar is empty");

    let session = daemon.session().await;
    daemon.send(&session, bot::WRITE).await;
    daemon.wait_approval().await;
    let (_, text) = cli(&home, &["status", "--tmux"]).await;
    assert!(
        text.starts_with("#[fg=yellow]1 needs you (oldest ") && text.trim().ends_with("#[default]"),
        "{text}"
    );
    let (_, text) = cli(&home, &["status", "--waybar"]).await;
    let bar: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&bar["text"], &bar["class"]),
        (&"1".into(), &"waiting".into())
    );
    let tooltip = bar["tooltip"].as_str().unwrap();
    assert!(
        tooltip.starts_with("a&lt;b&gt;#1: 1 needs you"),
        "{tooltip}"
    );

    daemon
        .post("/v1/emergency-stop", serde_json::json!({}))
        .await;
    let (_, text) = cli(&home, &["status", "--json"]).await;
    let object: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(object["level"], "held");
    assert_eq!(object["held_by"], serde_json::json!(["emergency stop"]));
    assert_eq!(object["waiting"], 1);
    let (_, text) = cli(&home, &["status", "--tmux"]).await;
    assert!(
        text.starts_with("#[fg=red,bold]emergency stop, 1 needs you"),
        "{text}"
    );
}

#[tokio::test]
async fn the_title_counts_what_waits_and_the_terminal_gets_its_own_back() {
    let home = Home::new("");
    let mut pty = Pty::start(&command(&home), 80, 24);
    pty.see("nothing needs you");
    let raw = |pty: &Pty| String::from_utf8_lossy(&pty.raw()).into_owned();
    let quiet = "\x1b[22;2t\x1b]2;leverframe\x1b\\";
    pty.wait("a title", |_| raw(&pty).contains(quiet));
    Door::of(&home)
        .ask(&WRITE.replace("hello", "secret-argument"))
        .await;
    let waiting = "\x1b]2;(1) leverframe\x1b\\";
    pty.wait("a count in the title", |_| raw(&pty).contains(waiting));
    assert_eq!(
        raw(&pty).matches("\x1b]2;").count(),
        2,
        "a title for each change"
    );
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
    assert!(raw(&pty).contains("\x1b[23;2t"), "the title of before");
}

#[tokio::test]
async fn no_title_where_the_operator_wants_none_or_the_terminal_has_none() {
    for (config, term) in [
        ("[console]\ntitle = false\n", "xterm-256color"),
        ("", "linux"),
    ] {
        let home = Home::new(config);
        let mut program = command(&home);
        program.env("TERM", term);
        let mut pty = Pty::start(&program, 80, 24);
        pty.see("nothing needs you");
        quit(&mut pty, "stop");
        assert_eq!(pty.wait_exit(), Some(0));
        assert!(
            !pty.raw().windows(4).any(|bytes| bytes == b"\x1b]2;"),
            "{term}"
        );
    }
}
