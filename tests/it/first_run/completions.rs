//! `leverframe completions`: a shell completes commands with what it prints.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::support::daemon::Home;

fn script(shell: &str) -> String {
    let home = Home::new("");
    let output = home
        .command()
        .args(["completions", shell])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What bash offers for the last of these words.
fn offered(script: &str, words: &[&str]) -> Vec<String> {
    let last = words.len() - 1;
    let before = words[last - 1];
    let question = format!(
        "{script}\nCOMP_WORDS=({})\nCOMP_CWORD={last}\n_leverframe leverframe '{}' '{before}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        words.join(" "),
        words[last],
    );
    let mut bash = Command::new("bash")
        .args(["--norc", "--noprofile", "-s"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    bash.stdin
        .take()
        .unwrap()
        .write_all(question.as_bytes())
        .unwrap();
    let output = bash.wait_with_output().unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn bash_completes_commands_options_and_words() {
    let script = script("bash");
    assert_eq!(offered(&script, &["leverframe", "appro"]), ["approvals"]);
    assert_eq!(
        offered(&script, &["leverframe", "approvals", "sh"]),
        ["show"]
    );
    assert_eq!(
        offered(&script, &["leverframe", "doctor", "--ch"]),
        ["--check"]
    );
    assert_eq!(
        offered(&script, &["leverframe", "completions", "po"]),
        ["powershell"]
    );
}

#[test]
fn every_shell_has_a_script_that_knows_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = script(shell);
        for command in ["approvals", "emergency-stop", "take-over"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
}
