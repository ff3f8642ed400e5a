//! A program that a tool starts tries to type into the console's terminal and to write to it.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::console_pty::door::{Door, command};
use crate::console_pty::steps::approve;
use crate::model_calls::server::{ModelServer, calls, says};
use crate::support::daemon::Home;
use crate::support::pty::{Pty, find};

/// Tries the terminal by its name and every open file: first a key, then a new title. Prints what worked.
const ATTEMPT: &str = r#"
import errno, fcntl, os, termios
worked = []
files = {str(fd): fd for fd in range(0, 20)}
try:
    files["/dev/tty"] = os.open("/dev/tty", os.O_RDWR)
except OSError as error:
    print("/dev/tty", errno.errorcode[error.errno])
for name, fd in files.items():
    try:
        fcntl.ioctl(fd, termios.TIOCSTI, b"Z")
        worked.append("key " + name)
    except OSError:
        pass
    if os.isatty(fd) if name.isdigit() else True:
        try:
            os.write(fd, b"\x1b]0;evil title\x07")
            worked.append("title " + name)
        except OSError:
            pass
print("worked:", worked)
"#;

fn refused(output: &str) {
    assert!(output.contains("worked: []"), "{output}");
    assert!(output.contains("/dev/tty"), "{output}");
}

/// Runs the attempt as a tool of a console whose `PATH` is this.
async fn attempt_of_a_tool(path: Option<&Path>) {
    let arguments = json!({"argv": ["python3", "attempt.py"]}).to_string();
    let one = ModelServer::chat(vec![calls("execute_command", &arguments), says("Done.")]);
    let home = Home::new(&format!(
        "[model]\ndefault = \"one/m\"\n{}",
        one.table("one", "")
    ));
    let mut command = command(&home);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let mut pty = Pty::start(&command, 80, 24);
    pty.see("nothing needs you");
    std::fs::write(home.workspace("api").join("attempt.py"), ATTEMPT).unwrap();
    let door = Door::of(&home);
    let asked = door.ask("try it").await;
    pty.press_until("j", "left, then it expires");
    approve(&mut pty);
    let turn = asked["continuation_id"].as_str().unwrap();
    let done = door.wait_state(turn, "completed").await;
    refused(done["tool_calls"][0]["result"].as_str().unwrap());
    assert!(!find(&pty.raw(), b"evil title"), "it wrote to the terminal");
}

#[tokio::test]
async fn a_confined_program_neither_types_nor_writes_into_the_terminal() {
    attempt_of_a_tool(None).await;
}

#[tokio::test]
async fn without_bubblewrap_it_neither_types_nor_writes_into_the_terminal() {
    let programs = tempfile::tempdir().unwrap();
    let python = std::fs::canonicalize("/usr/bin/python3").unwrap();
    symlink(python, programs.path().join("python3")).unwrap();
    attempt_of_a_tool(Some(programs.path())).await;
}

/// The level where nothing is confined: all that stands between the program and the terminal is the supervisor.
#[test]
fn a_supervised_program_neither_types_nor_writes_into_the_terminal() {
    let home = Home::new("");
    let (script, output) = (home.path().join("attempt.py"), home.path().join("output"));
    std::fs::write(&script, ATTEMPT).unwrap();
    let mut shell = std::process::Command::new("/bin/sh");
    shell
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .arg("-c")
        .arg("\"$0\" __supervise $$ python3 \"$1\" </dev/null >\"$2\" 2>&1; echo ended")
        .arg(env!("CARGO_BIN_EXE_leverframe"))
        .args([&script, &output]);
    let mut pty = Pty::start(&shell, 80, 24);
    let screen = pty.see("ended");
    refused(&std::fs::read_to_string(output).unwrap());
    assert!(!screen.contains('Z'), "{screen}");
    assert!(!find(&pty.raw(), b"evil title"));
    pty.wait_exit();
}
