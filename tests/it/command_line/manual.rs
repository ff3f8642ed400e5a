//! The manual pages: one of every command, and nothing that the formatter complains about.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use clap::CommandFactory as _;
use leverframe::cli::arguments::Arguments;

use crate::support::daemon::Home;

/// The names of the pages of a command and of those below it.
fn pages(command: &clap::Command, name: &str, into: &mut BTreeSet<String>) {
    into.insert(format!("{name}.1"));
    for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        pages(below, &format!("{name}-{}", below.get_name()), into);
    }
}

#[test]
fn every_command_has_its_page() {
    let home = Home::new("");
    let directory = home.path().join("man/man1");
    let ran = home.command().arg("man").arg(&directory).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(said.contains("the manual pages are in"), "{said}");
    let written: BTreeSet<String> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut wanted = BTreeSet::new();
    pages(&Arguments::command(), "leverframe", &mut wanted);
    let missing: Vec<&String> = wanted.difference(&written).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let page = std::fs::read_to_string(directory.join("leverframe-gate-test.1")).unwrap();
    for part in [".SH NAME", ".SH SYNOPSIS", "claude, codex or gemini"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // Where there is a formatter, it reads the largest page without a word.
    let page = directory.join("leverframe.1");
    let formatter = Command::new("groff")
        .args(["-man", "-Tascii", "-ww"])
        .arg(&page)
        .stdin(Stdio::null())
        .output();
    if let Ok(formatted) = formatter {
        let warnings = String::from_utf8_lossy(&formatted.stderr);
        assert!(
            formatted.status.success() && warnings.is_empty(),
            "{warnings}"
        );
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let home = Home::new("");
    let file = home.path().join("taken");
    std::fs::write(&file, "").unwrap();
    let ran = home.command().arg("man").arg(&file).output().unwrap();
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    let said = String::from_utf8_lossy(&ran.stderr);
    let name = file.display().to_string();
    assert!(said.contains(&name), "{said}");
}
