//! Signals: the terminal goes back to the shell whatever happens, and is taken again when it may be.

use std::process::Command;

use rustix::process::Signal;

use crate::console_pty::door::{Door, WRITE, command, console, demo};
use crate::console_pty::steps::{code_on_card, select_pending};
use crate::support::daemon::Home;
use crate::support::pty::{Manners, Pty};

#[test]
fn sigterm_and_sighup_end_it_in_order() {
    for signal in [Signal::TERM, Signal::HUP] {
        let (dir, command) = demo();
        let mut pty = Pty::start(&command, 80, 24);
        pty.see("demo: scripted, no model");
        pty.signal(signal);
        assert_eq!(pty.wait_exit(), Some(0), "{signal:?}");
        assert_eq!(pty.manners(), Manners::SHELL, "{signal:?}");
        let left = std::fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 0, "{signal:?}: the demo's directory stays behind");
    }
}

#[tokio::test]
async fn sigterm_while_an_approval_waits_loses_nothing() {
    let home = Home::new("");
    let mut pty = console(&home);
    pty.see("nothing needs you");
    let approval = Door::of(&home).ask(WRITE).await;
    pty.see("1 need you");
    pty.signal(Signal::TERM);
    assert_eq!(pty.wait_exit(), Some(0));
    let mut pty = console(&home);
    select_pending(&mut pty);
    assert_eq!(code_on_card(&pty), approval["short_code"].as_str().unwrap());
}

/// The console started by hand from an interactive shell, which gives it job control.
fn in_a_shell(program: &Command) -> Pty {
    let line: Vec<String> = std::iter::once(program.get_program())
        .chain(program.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let mut shell = Command::new("bash");
    shell.args(["--norc", "--noprofile", "--noediting", "-i"]);
    for (name, value) in program.get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    shell.env("PS1", "shell: ");
    let mut pty = Pty::start(&shell, 80, 24);
    pty.see("shell:");
    pty.send(&line.join(" "));
    pty.send("\r");
    pty
}

#[test]
fn ctrl_z_gives_the_shell_its_terminal_and_fg_takes_it_again() {
    let home = Home::new("");
    let mut pty = in_a_shell(&command(&home));
    pty.see("nothing needs you");
    pty.wait_manners(&Manners::CONSOLE);
    pty.send("\x1a");
    pty.wait("the shell's prompt", |screen| screen.contains("Stopped"));
    pty.wait_manners(&Manners::SHELL);
    pty.send("echo still-$((6*7))\r");
    pty.see("still-42");
    pty.send("fg\r");
    pty.see("nothing needs you");
    pty.wait_manners(&Manners::CONSOLE);
    pty.send("?");
    pty.see("┌ Help");
    pty.send("\x1b");
    pty.gone("┌ Help");
    crate::console_pty::steps::quit(&mut pty, "stop");
    pty.wait_manners(&Manners::SHELL);
    pty.send("echo status-$?\r");
    pty.see("status-0");
    pty.send("exit\r");
    assert_eq!(pty.wait_exit(), Some(0));
}

#[test]
fn a_program_around_it_is_suspended_with_it() {
    // `cargo run` and the like share the console's process group; a shell waits for all of it.
    let home = Home::new("");
    let program = command(&home);
    let mut wrapped = Command::new("sh");
    wrapped
        .args(["-c", "\"$@\"; true", "sh"])
        .arg(program.get_program())
        .args(program.get_args());
    for (name, value) in program.get_envs() {
        if let Some(value) = value {
            wrapped.env(name, value);
        }
    }
    let mut pty = in_a_shell(&wrapped);
    pty.see("nothing needs you");
    pty.send("\x1a");
    pty.see("Stopped");
    pty.wait_manners(&Manners::SHELL);
    pty.send("fg\r");
    pty.see("nothing needs you");
    crate::console_pty::steps::quit(&mut pty, "stop");
    pty.wait_manners(&Manners::SHELL);
    pty.send("exit\r");
    assert_eq!(pty.wait_exit(), Some(0));
}
