//! A program that writes megabytes full of escapes: the model reads its ends, a file holds what is kept, and the
//! console shows marks in place of what would steer the terminal.

use serde_json::json;

use crate::console_pty::door::{Door, console};
use crate::console_pty::steps::approve;
use crate::model_calls::server::{ModelServer, calls, says};
use crate::support::daemon::Home;
use crate::support::pty::find;

/// Coloured, a title, the clipboard: what programs write, and what hostile ones do.
const LINE: &[u8] =
    b"\x1b[31mred\x1b[0m \x1b]0;evil title\x07 \x1b]52;c;ZXZpbA==\x07 \x1b[2J\x9b5m line\n";
const TOTAL: usize = 5 * 1024 * 1024;

#[tokio::test]
async fn five_megabytes_of_escapes_are_capped_kept_and_shown_as_marks() {
    let arguments = json!({"argv": ["cat", "big.txt"]}).to_string();
    let one = ModelServer::chat(vec![
        calls("execute_command", &arguments),
        says("It is long."),
    ]);
    let home = Home::new(&format!(
        "[model]\ndefault = \"one/m\"\n{}",
        one.table("one", "")
    ));
    let mut pty = console(&home);
    pty.see("nothing needs you");
    let output: Vec<u8> = LINE.iter().copied().cycle().take(TOTAL).collect();
    std::fs::write(home.workspace("api").join("big.txt"), output).unwrap();
    let door = Door::of(&home);
    let asked = door.ask("print it").await;
    pty.press_until("j", "left, then it expires");
    approve(&mut pty);
    let turn = asked["continuation_id"].as_str().unwrap();
    let done = door.wait_state(turn, "completed").await;
    let call = &done["tool_calls"][0];
    assert_eq!(call["state"], "succeeded", "{call:#}");

    // The model: a few kilobytes, with the name of the rest.
    let requests = one.seen();
    let last = requests[1]["messages"].as_array().unwrap().last().unwrap();
    let read = last["content"].as_str().unwrap();
    assert_eq!(last["role"], "tool");
    assert!(read.len() < 10 * 1024, "{} bytes are sent", read.len());
    let hash = call["artifact"]["hash"].as_str().expect("an artifact");
    assert!(read.contains(&format!("artifact:{hash}")), "{read}");
    assert!(read.contains("red"), "{read}");

    // The file: the beginning and the end up to 1 MiB, and how much is missing.
    let kept = std::fs::read(home.data().join("artifacts").join(&hash[..2]).join(hash)).unwrap();
    assert_eq!(call["artifact"]["size"], kept.len());
    assert!(
        (900 * 1024..=1024 * 1024).contains(&kept.len()),
        "{} bytes are kept",
        kept.len()
    );
    assert!(find(
        &kept,
        format!("of {TOTAL} bytes left out: only the beginning and the end are kept").as_bytes()
    ));

    // The console: the whole of what the step says is unfolded, and no escape of the program is written.
    // Escape and a digit in one read would be alt with that digit.
    pty.press_until("\x1b", "┌ Queue");
    pty.press_until("2", "┌ Live");
    pty.send("j\r");
    pty.see("┌ Session");
    pty.wait("the call with its result", |screen| {
        screen.contains("execute_command") || screen.contains("<U+001B>")
    });
    pty.send("gg");
    pty.wait("marks in place of escapes", |screen| {
        screen.contains("<U+001B>[31mred")
    });
    let raw = pty.raw();
    for payload in [
        &b"\x1b]0;evil"[..],
        b"\x1b]52;c",
        b"\x1b[31mred",
        b"\x07 \x1b",
        b"\x9b5m",
    ] {
        assert!(
            !find(&raw, payload),
            "written raw: {}",
            payload.escape_ascii()
        );
    }
}
