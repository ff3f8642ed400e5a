//! What a person gets wrong before the first frame: files, terminals, colours.

use std::process::Stdio;

use crate::console_pty::door::{Door, WRITE, command, demo};
use crate::console_pty::steps::{approve, quit, select_pending};
use crate::support::daemon::Home;
use crate::support::pty::Pty;

fn with_file(folder: &str, name: &str, text: &str) -> Home {
    let home = Home::new("");
    let dir = home.path().join("config").join(folder);
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join(name), text).unwrap();
    home
}

#[test]
fn a_broken_theme_is_named_with_its_line_and_the_default_is_kept() {
    let home = with_file(
        "themes",
        "mine.toml",
        "[roles]\n\"text\" = \"default\"\n\"border\" = \"no-such-colour\"\n",
    );
    let mut program = command(&home);
    program.args(["--theme", "mine"]);
    let mut pty = Pty::start(&program, 120, 24);
    let screen = pty.see("mine.toml:3");
    assert!(screen.contains("no-such-colour"), "{screen}");
    pty.see("nothing needs you");
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
}

#[test]
fn a_broken_keymap_is_named_with_its_line_and_the_default_works() {
    let home = with_file(
        "keymaps",
        "default.toml",
        "inherits = \"default\"\n\n[queue]\n\"b\" = \"approove\"\n",
    );
    let mut pty = Pty::start(&command(&home), 120, 24);
    let screen = pty.see("default.toml:4");
    assert!(screen.contains("approve"), "it suggests nothing:\n{screen}");
    pty.send("2");
    pty.see("┌ Live");
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
}

#[test]
fn without_a_terminal_it_says_so_and_ends() {
    let home = Home::new("");
    for program in [command(&home), demo().1] {
        let mut program = program;
        let output = program
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("terminal") && said.contains("--daemon"),
            "{said}"
        );
        assert!(output.stdout.is_empty(), "{:?}", output.stdout);
    }
    assert!(
        !home.data().join("leverframe.db").exists(),
        "it started the engine"
    );
}

/// Numbers in SGR sequences that set a colour.
fn colours(raw: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(raw);
    text.split("\x1b[")
        .skip(1)
        .filter_map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            rest[end..].starts_with('m').then(|| rest[..end].to_owned())
        })
        .filter(|numbers| {
            numbers.split(';').any(|number| {
                matches!(number.parse().unwrap_or(0), 30..=38 | 40..=48 | 90..=97 | 100..=107)
            })
        })
        .collect()
}

#[tokio::test]
async fn no_color_means_none() {
    for (value, wanted) in [(None, true), (Some("1"), false)] {
        let home = Home::new("");
        let mut program = command(&home);
        if let Some(value) = value {
            program.env("NO_COLOR", value);
        }
        let mut pty = Pty::start(&program, 80, 24);
        pty.see("nothing needs you");
        Door::of(&home).ask(WRITE).await;
        select_pending(&mut pty);
        approve(&mut pty);
        pty.send("2");
        pty.see("┌ Live");
        quit(&mut pty, "stop");
        assert_eq!(pty.wait_exit(), Some(0));
        let found = colours(&pty.raw());
        assert_eq!(!found.is_empty(), wanted, "{found:?}");
    }
}
