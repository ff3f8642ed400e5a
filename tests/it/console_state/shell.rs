//! The shell of a session: a line runs a command and shows what it said, and ending one asks first.

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::enums::InterpreterKind;
use leverframe::protocol::request::{
    Answer, Command, EndInterpreter, ListInterpreters, Outcome, Query, RunInShell,
};
use leverframe::protocol::snapshot::Page;
use leverframe::protocol::tool::{Interpreter, ShellRun};
use leverframe::tui::message::Effect;

use crate::api_http::{samples, samples_traffic};
use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn sent(driver: &Driver) -> Vec<Command> {
    let submitted = driver.effects.iter().filter_map(|effect| match effect {
        Effect::Submit(command) => Some(command.clone()),
        _ => None,
    });
    submitted.collect()
}

fn query() -> Query {
    Query::ListInterpreters(ListInterpreters {})
}

/// The shell of the first session of Live, open.
pub fn shell(width: u16, height: u16) -> Driver {
    let mut driver = Driver::with(width, height, fixture::busy());
    driver.press("2 j $");
    assert!(driver.effects.contains(&Effect::Query(query())));
    driver
}

/// What the daemon says of it.
pub fn row(driver: &Driver) -> Interpreter {
    let mut row = samples_traffic::interpreter();
    row.session_id = driver.state.screens.shell.session.unwrap();
    row.recent[0].command = String::from("make test");
    row.recent[0].by_person = false;
    row.recent[0].outcome = Some("exit status 2 after 1.4 s".to_owned());
    row
}

#[test]
fn a_line_runs_a_command_and_shows_what_it_said() {
    let mut driver = shell(100, 30);
    assert!(
        driver
            .text()
            .contains("no shell: the first command starts one")
    );
    let row = row(&driver);
    driver.answer(
        query(),
        Answer::ListInterpreters(Page::from(vec![row.clone()])),
    );
    let text = driver.text();
    for words in [
        "agent $ make test",
        "exit status 2 after 1.4 s",
        "a process runs on",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    driver.press("enter");
    assert!(sent(&driver).is_empty() && driver.text().contains("type a command"));
    driver.type_text("git status");
    driver.press("enter");
    let commands = sent(&driver);
    let [
        Command::RunInShell(RunInShell {
            session_id,
            request,
        }),
    ] = commands.as_slice()
    else {
        panic!("{commands:?}")
    };
    assert_eq!(
        (*session_id, request.command.as_str()),
        (row.session_id, "git status")
    );
    assert!(
        driver.text().contains("runs: git status"),
        "{}",
        driver.text()
    );
    // One at a time.
    driver.type_text("ls");
    driver.press("enter");
    assert_eq!(sent(&driver).len(), 1);
    assert!(driver.text().contains("still runs"));
    driver.hear(DaemonMessage::Submitted {
        command: Box::new(commands[0].clone()),
        result: Ok(Box::new(Outcome::RunInShell(ShellRun {
            session_id: row.session_id,
            by: "anna".to_owned(),
            at: samples::at(),
            content: "exit status 0 after 0.1 s, in /w\nOn branch \u{1b}[31mmain\n".to_owned(),
            is_error: false,
            duration_ms: 100,
        }))),
    });
    let text = driver.text();
    assert!(text.contains("exit status 0 after 0.1 s, in /w"), "{text}");
    assert!(
        text.contains("On branch") && !text.contains('\u{1b}'),
        "{text}"
    );
    driver.press("enter");
    assert_eq!(
        sent(&driver).len(),
        2,
        "the line that was refused is still there"
    );
    driver.press("esc");
    assert!(driver.state.modals.is_empty());
}

#[test]
fn an_interpreter_is_ended_after_a_yes() {
    let mut driver = shell(120, 35);
    let row = row(&driver);
    driver.press("esc :");
    driver.type_text("interpreters");
    driver.press("enter");
    driver.answer(
        query(),
        Answer::ListInterpreters(Page::from(vec![row.clone()])),
    );
    driver.press("j X");
    assert!(
        driver.text().contains("End the shell of this session?"),
        "{}",
        driver.text()
    );
    driver.press("enter");
    assert!(sent(&driver).is_empty(), "cancel is focused");
    driver.press("X right enter");
    let ended = Command::EndInterpreter(EndInterpreter {
        session_id: row.session_id,
        kind: InterpreterKind::Bash,
    });
    assert_eq!(sent(&driver), [ended]);
    // What is listed opens, too.
    driver.press("$");
    assert_eq!(driver.state.screens.shell.session, Some(row.session_id));
}
