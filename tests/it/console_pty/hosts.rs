//! One console on several daemons, as a person meets them.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use crate::console_pty::door::{Door, WRITE, command};
use crate::console_pty::steps::{approve, leave_card, quit};
use crate::support::daemon::Home;
use crate::support::pty::{Manners, Pty};

fn named(name: &str, home: &Home) -> String {
    format!(
        "{name}=unix:{}",
        home.data().join("leverframe.sock").display()
    )
}

#[tokio::test]
async fn two_daemons_have_one_queue_that_outlives_the_loss_of_one() {
    let (one, two) = (Home::new(""), Home::new(""));
    let first = one.daemon();
    let mut second = two.daemon();
    let mut attach = command(&one);
    attach
        .arg("attach")
        .args([named("atlas", &one), named("lab", &two)]);
    let mut pty = Pty::start(&attach, 120, 40);
    pty.see(">atlas: connected");
    pty.see("lab: connected");
    let here = Door::of(&one).ask(WRITE).await;
    pty.see("1 need you");
    let there = Door::of(&two).ask(WRITE).await;
    pty.see("2 need you");
    let code = |asked: &serde_json::Value| asked["short_code"].as_str().unwrap().to_owned();
    let continuation =
        |asked: &serde_json::Value| asked["continuation_id"].as_str().unwrap().to_owned();

    // Decided where it was asked.
    pty.press_until("gg", &code(&here));
    pty.see(" on atlas");
    approve(&mut pty);
    first.wait_state(&continuation(&here), "completed").await;
    leave_card(&mut pty);

    // One dies: nothing can be decided there, the other goes on.
    second.kill();
    pty.see("lab NOT CONNECTED");
    pty.press_until("G", &code(&there));
    pty.see(" on lab");
    pty.press_until("d", "not connected; nothing is decided");
    let more = Door::of(&one).ask(&WRITE.replace("note", "more")).await;
    pty.press_until("G", &code(&more));
    approve(&mut pty);
    first.wait_state(&continuation(&more), "completed").await;
    leave_card(&mut pty);

    // It comes back by itself, with its question.
    let second = two.daemon();
    pty.gone("NOT CONNECTED");
    pty.send("2");
    pty.see("┌ Live");
    pty.send("1");
    pty.press_until("G", &code(&there));
    approve(&mut pty);
    second.wait_state(&continuation(&there), "completed").await;
    leave_card(&mut pty);

    // The stop reaches both and says so.
    pty.send("\x18\x18");
    pty.see("EMERGENCY STOP is in force on atlas, lab");
    for daemon in [&first, &second] {
        let snapshot = daemon.get("/v1/snapshot").await;
        assert!(snapshot["engine"]["held_since"].is_string(), "{snapshot}");
    }
    quit(&mut pty, "quit");
    assert_eq!(pty.wait_exit(), Some(0));
    assert_eq!(pty.manners(), Manners::SHELL);
}

/// A daemon of a protocol to come, on loopback.
fn newer_daemon() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(1_000) {
            let Ok(mut stream) = stream else { return };
            let mut request: Vec<u8> = Vec::new();
            let mut piece = [0; 512];
            while !request.windows(4).any(|end: &[u8]| end == b"\r\n\r\n") {
                match stream.read(&mut piece) {
                    Ok(0) | Err(_) => break,
                    Ok(n) => request.extend(&piece[..n]),
                }
            }
            let answer = "HTTP/1.1 200 OK\r\nleverframe-protocol: 99\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

#[test]
fn a_daemon_of_another_protocol_is_named_and_the_other_goes_on() {
    let home = Home::new("");
    let _daemon = home.daemon();
    let newer = newer_daemon();
    let mut attach = command(&home);
    attach
        .args(["attach", &format!("newer={newer}"), &named("atlas", &home)])
        .arg("--token-file")
        .arg(home.data().join("token"));
    let mut pty = Pty::start(&attach, 80, 24);
    pty.see("newer NOT CONNECTED");
    let flat = |screen: &str| screen.split_whitespace().collect::<Vec<_>>().join(" ");
    pty.wait("what to update", |screen| {
        let text = flat(screen);
        text.contains("speaks protocol 99, this program 2; update this program")
    });
    pty.send(":host atlas\r");
    pty.see(">atlas");
    pty.send("4");
    pty.see("desk");
    quit(&mut pty, "quit");
    assert_eq!(pty.wait_exit(), Some(0));
}

#[test]
fn what_attach_is_given_is_checked_before_the_screen_is_taken() {
    let home = Home::new("");
    let token = home.path().join("token");
    std::fs::write(&token, "lf_something").unwrap();
    let token = token.to_str().unwrap();
    let (a, b) = ("http://127.0.0.1:1", "http://127.0.0.1:2");
    let cases: &[(&[&str], &str)] = &[
        (&[a, b, "--token-file", token], "its own --token-file"),
        (
            &[
                a,
                "unix:/nowhere",
                "--token-file",
                token,
                "--token-file",
                token,
            ],
            "1 --token-file too many",
        ),
        (&["unix:/x", "unix:/x"], "unix:/x is named twice"),
        (&["lab=unix:/x", "lab=unix:/y"], "both be called `lab`"),
        (&["la b=unix:/x", "unix:/y"], "`la b` is no name"),
        (
            &["unix:/x", "unix:/y", "--token-file", token],
            "leave --token-file out",
        ),
        (&["unix:/x", "ftp://y"], "`ftp://y` is not an address"),
    ];
    for (arguments, expected) in cases {
        let output = command(&home)
            .arg("attach")
            .args(*arguments)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    // None of them there: each is named.
    let output = command(&home)
        .args(["attach", "unix:/nowhere/x", "unix:/nowhere/y"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("unix:/nowhere/x") && said.contains("unix:/nowhere/y"),
        "{said}"
    );
}
