//! Which scripts are rows of simple commands. What is taken apart is what a real shell runs, word for word.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use leverframe::text::quote::quote;
use leverframe::tools::script::simple_commands;
use proptest::prelude::*;

fn commands(script: &str) -> Option<Vec<Vec<String>>> {
    simple_commands(script)
}

fn row(words: &[&[&str]]) -> Vec<Vec<String>> {
    let owned = |argv: &&[&str]| argv.iter().map(|&word| word.to_owned()).collect();
    words.iter().map(owned).collect()
}

#[test]
fn a_row_of_simple_commands_is_taken_apart() {
    for (script, expected) in [
        ("ls", row(&[&["ls"]])),
        (
            "git status && git log -3",
            row(&[&["git", "status"], &["git", "log", "-3"]]),
        ),
        ("ls\nrm x", row(&[&["ls"], &["rm", "x"]])),
        (
            "ls | wc -l; echo 'a b' \"c  d\"",
            row(&[&["ls"], &["wc", "-l"], &["echo", "a b", "c  d"]]),
        ),
        (
            "cat a 2>/dev/null || true",
            row(&[&["cat", "a"], &["true"]]),
        ),
        (
            "make test 2>&1 | tail -n 5",
            row(&[&["make", "test"], &["tail", "-n", "5"]]),
        ),
        ("echo a'b'\"c\"", row(&[&["echo", "abc"]])),
        ("grep -c = a", row(&[&["grep", "-c", "=", "a"]])),
    ] {
        assert_eq!(commands(script), Some(expected), "{script:?}");
    }
}

#[test]
fn what_a_shell_makes_more_of_is_not_taken_apart() {
    for script in [
        "",
        "# nothing",
        "ls $HOME",
        "ls \"$HOME\"",
        "echo `id`",
        "echo $(id)",
        "ls *.rs",
        "ls a?",
        "ls [ab]",
        "ls ~",
        "ls {a,b}",
        "echo a\\ b",
        "echo $'a\\x00'",
        "ls > out",
        "ls >> out",
        "cat < in",
        "ls >&3",
        "ls >/dev/null x",
        "2>/dev/null ls",
        "ls &> /dev/null",
        "ls & rm x",
        "ls |& cat",
        "cat <<END\nhi\nEND",
        "cat <<< hi",
        "cat <(ls)",
        "(ls)",
        "{ ls; }",
        "! ls",
        "if true; then ls; fi",
        "for x in a; do ls; done",
        "f() { ls; }; f",
        "A=1 ls",
        "A=1",
        "export A=1",
        "cd .. && ls",
        "eval ls",
        ". ./x",
        "alias ls=rm; ls",
        "coproc rm x",
        "[ -f a ]",
        "[[ a == b ]]",
        "ls 'unclosed",
        "ls &&",
        "ls\0x",
        "ls\rrm",
        "''",
    ] {
        assert_eq!(commands(script), None, "{script:?}");
    }
    let long = format!("echo {}", "x ".repeat(10_000));
    assert_eq!(commands(&long), None, "longer than anybody reads");
}

/// What a real shell runs of a script whose only programs are `show`: the words of each run.
fn really_runs(shell: &str, script: &str) -> Vec<Vec<String>> {
    let dir = tempfile::tempdir().unwrap();
    let (log, show) = (dir.path().join("log"), dir.path().join("show"));
    // One write a run: the programs of a pipe run at the same time.
    let body = format!(
        "#!/bin/sh\nran=show; for w in \"$@\"; do ran=\"$ran\u{1f}$w\"; done; printf '%s\\036' \"$ran\" >> '{}'\n",
        log.display()
    );
    std::fs::write(&show, body).unwrap();
    std::fs::set_permissions(&show, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(shell);
    command.args(["-c", script]).current_dir(dir.path());
    command.env_clear().env("PATH", dir.path());
    let ended = command.output().unwrap();
    assert!(ended.status.code().is_some());
    let log = std::fs::read_to_string(&log).unwrap_or_default();
    log.split_terminator('\u{1e}')
        .map(|run| run.split('\u{1f}').map(str::to_owned).collect())
        .collect()
}

/// Whether all that ran was read, each as often. The programs of a pipe end in any order.
fn is_part(ran: &[Vec<String>], read: &[Vec<String>]) -> bool {
    let mut left = read.to_vec();
    ran.iter().all(|one| {
        let place = left.iter().position(|other| other == one);
        place.map(|place| left.swap_remove(place)).is_some()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Whatever is taken apart, no shell runs anything else.
    #[test]
    fn a_shell_runs_nothing_else(pieces in prop::collection::vec(prop_oneof![
        5 => Just("show".to_owned()),
        3 => Just(" ".to_owned()),
        2 => "[a-z./=:,@%+-]{1,4}",
        1 => "[;&|()<>{}$`*?~#!'\"\\[\\]\n^ ]{1,2}",
        1 => Just(" && ".to_owned()),
        1 => Just("; ".to_owned()),
        1 => Just(" 2>/dev/null".to_owned()),
        1 => Just("'a b'".to_owned()),
        1 => Just("\"c d\"".to_owned()),
    ], 1..14)) {
        let script = format!("show {}", pieces.concat());
        if let Some(read) = simple_commands(&script) {
            for shell in ["/bin/sh", "/bin/bash"] {
                let ran = really_runs(shell, &script);
                prop_assert!(is_part(&ran, &read), "{script:?} in {shell}: {ran:?} is not of {read:?}");
            }
        }
    }

    /// Quoted words come back as they are, unless they hide something.
    #[test]
    fn quoted_words_are_read_back(rows in prop::collection::vec(prop::collection::vec("[ -~äß]{0,8}", 0..4), 1..4)) {
        let mut script = String::new();
        let mut expected = Vec::new();
        for words in &rows {
            // The grammar takes these for operators of a test: such a command is not taken apart.
            let plain = |word: &String| word.replace(['\\', '\''], "x").replace("==", "x").replace("=~", "x");
            let words: Vec<String> = words.iter().map(plain).collect();
            script.push_str("show");
            for word in &words {
                let _ = write!(script, " {}", quote(word));
            }
            script.push('\n');
            expected.push(std::iter::once("show".to_owned()).chain(words).collect::<Vec<_>>());
        }
        prop_assert_eq!(simple_commands(&script), Some(expected));
    }
}
