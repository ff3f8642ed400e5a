//! Continuations and Audit with a real engine behind them.

use crate::console_pty::door::demo;
use crate::console_pty::steps::quit;
use crate::support::pty::Pty;

#[test]
fn a_waiting_turn_is_explained_and_the_audit_is_walked() {
    let (_dir, command) = demo();
    let mut pty = Pty::start(&command, 120, 40);
    pty.see("demo: scripted, no model");
    pty.see("need you");
    pty.send("5");
    pty.see("┌ Continuations");
    pty.see("waiting on you");
    pty.press_until("j", "> waiting on you");
    pty.see("checkpoint");
    pty.see("no effect is uncertain");
    pty.send("W");
    pty.see("What happened");
    pty.press_until("\x04", "a person is asked");
    pty.send("\x1b");
    pty.gone("┌ Why");
    pty.send("\r");
    pty.see("┌ Session");
    pty.send("-");
    pty.see("┌ Continuations");
    pty.press_until("j", "> waiting on you");
    pty.send("o");
    pty.see("left, then it expires");

    pty.send("9");
    pty.see("┌ Audit");
    pty.see("people only; p shows all");
    pty.send("l");
    pty.see("┌ Log");
    pty.see("info and above  following");
    pty.see("leverframe::activity");
    pty.send("lp");
    pty.see("┌ Audit");
    pty.see("tool.started");
    pty.send("v");
    pty.see("whole: ");
    pty.press_until("j", "follows row ");
    pty.send("\x1b");
    // An escape and a key together would be another key.
    pty.gone("follows row ");
    pty.send("/");
    pty.see("enter done");
    pty.send("action engine.started\r");
    pty.gone("tool.started");
    pty.see("engine.started");
    pty.send("\x1b");
    pty.see("tool.started");
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
}

#[test]
fn a_list_shrinks_while_its_filter_is_typed() {
    let (_dir, command) = demo();
    let mut pty = Pty::start(&command, 120, 40);
    pty.see("demo: scripted, no model");
    pty.send("0");
    pty.see("┌ Doctor");
    pty.see("MCP servers");
    pty.send("/");
    pty.see("Filter Doctor");
    pty.send("mcp servers");
    pty.see("Doctor  1 of ");
    pty.gone("database");
    pty.send("\r");
    pty.gone("Filter Doctor");
    pty.see("Doctor  1 of ");
    pty.send("\x1b");
    pty.see("database");
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
}
