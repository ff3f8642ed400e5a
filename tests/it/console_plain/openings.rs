//! When the console opens in lines, how it is left, and what it is fed.

use std::io::Write as _;
use std::process::Stdio;

use rustix::process::Signal;

use crate::console_plain::typist::{PROMPT, Typist};
use crate::console_pty::door::{Door, WRITE, command, demo};
use crate::support::daemon::Home;
use crate::support::pty::{Manners, Pty};

#[test]
fn the_place_chooses_lines_and_says_why() {
    for (name, value, why) in [
        ("TERM", "dumb", "plain mode, because TERM=dumb says"),
        ("ACCESSIBLE", "1", "plain mode, because ACCESSIBLE is set"),
    ] {
        let (_dir, mut program) = demo();
        program.env(name, value);
        let mut typist = Typist::of(&program);
        let said = typist.hear(PROMPT);
        assert!(said.contains(why), "{said}");
        assert_eq!(typist.pty.manners(), Manners::SHELL);
        let all = typist.quit();
        assert!(!all.contains('\x1b'), "{all:?}");
    }
}

#[test]
fn the_demo_is_decided_in_lines() {
    let (dir, mut program) = demo();
    program.arg("--plain");
    let mut typist = Typist::of(&program);
    let said = typist.hear(PROMPT);
    assert!(said.contains("local"), "{said}");
    typist.news("new: 1");
    // More may be announced at any time.
    typist.say("1");
    typist.hear("1 1  allow once");
    typist.look();
    typist.say("deny 1");
    typist.hear("denied: ");
    typist.quit();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn signals_and_ctrl_c_end_it_in_order() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let (dir, mut program) = demo();
        program.arg("--plain");
        let mut typist = Typist::of(&program);
        typist.hear(PROMPT);
        typist.pty.signal(signal);
        assert_eq!(typist.pty.wait_exit(), Some(0), "{signal:?}");
        assert_eq!(typist.pty.manners(), Manners::SHELL, "{signal:?}");
        let left = std::fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 0, "{signal:?}");
    }
}

#[test]
fn ctrl_c_leaves_a_question_and_a_command_that_takes_long() {
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    typist.say("stop");
    typist.hear("once more:");
    typist.pty.send("\x03");
    typist.hear(PROMPT);
    // It waits for an approval that nobody gives.
    typist.say(&format!("ask --wait '{}'", WRITE.lines().next().unwrap()));
    typist.hear("appr");
    typist.look();
    typist.pty.send("\x03");
    typist.hear(PROMPT);
    // The end of the input is the end.
    typist.pty.send("\x04");
    assert_eq!(typist.pty.wait_exit(), Some(0), "{}", typist.all());
}

#[tokio::test]
async fn any_input_feeds_it_and_none_of_it_decides_unread() {
    let home = Home::new("");
    let daemon = home.daemon();
    let approval = Door::of(&home).ask(WRITE).await;
    let mut program = command(&home);
    let mut child = program
        .arg("--plain")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(b"queue\n1\n1 1\nallow 1\nrules list\n")
        .unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("1 1  allow once") && said.contains("no rules"),
        "{said}"
    );
    assert_eq!(
        said.matches("not armed: pasted text never decides").count(),
        2,
        "{said}"
    );
    let path = format!("/v1/approvals/{}", approval["id"].as_str().unwrap());
    assert_eq!(daemon.get(&path).await["state"], "pending");
}

#[test]
fn without_a_terminal_behind_it_lines_are_written() {
    // The keyboard is a terminal, the output goes into a pipe.
    let home = Home::new("");
    let program = command(&home);
    let words: Vec<String> = std::iter::once(program.get_program())
        .chain(program.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let mut piped = std::process::Command::new("sh");
    piped.args(["-c", &format!("{} | cat", words.join(" "))]);
    for (name, value) in program.get_envs() {
        piped.env(name, value.unwrap());
    }
    let mut pty = Pty::start(&piped, 120, 40);
    pty.see("plain mode, because standard output is no terminal");
    pty.see(PROMPT.trim_end());
    pty.send("quit\r");
    assert_eq!(pty.wait_exit(), Some(0));
}

#[tokio::test]
async fn leaving_says_what_is_under_way() {
    let home = Home::new("");
    let mut typist = Typist::at(&home);
    Door::of(&home).ask(WRITE).await;
    typist.news("new: 1");
    let all = typist.quit();
    assert!(
        all.contains("Under way: 1 question waits for a person."),
        "{all}"
    );
}

#[tokio::test]
async fn a_terminal_of_ascii_gets_ascii() {
    let home = Home::new("");
    let mut program = command(&home);
    program.arg("--plain").env("LC_ALL", "C");
    let mut typist = Typist::of(&program);
    typist.hear(PROMPT);
    Door::of(&home)
        .ask(&WRITE.replace("hello", "h\u{e9}llo \u{6db}"))
        .await;
    typist.news("new: 1");
    let card = typist.enter("1");
    assert!(card.contains("h<U+00E9>llo <U+06DB>"), "{card}");
    typist.say("quit");
    assert_eq!(typist.pty.wait_exit(), Some(0));
    // What the line itself echoes is typed by us and ASCII too.
    let raw = typist.pty.raw();
    assert!(raw.is_ascii(), "{}", String::from_utf8_lossy(&raw));
}
