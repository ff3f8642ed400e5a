//! What the tests of this suite do with files and the command line.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use leverframe::clock::Clock;
use leverframe::store::check::check;
use leverframe::store::{OpenOptions, Store};
use serde_json::Value;

use crate::support::daemon::Home;
use crate::support::fake_telegram::FakeTelegram;

/// A home with a bot in Telegram.
pub fn bot_home(telegram: &FakeTelegram) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         # the bot's token was once {}\n\
         [channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         allowed_users = [\"100\", \"101\"]\n\n\
         [people.anna]\nids = [\"telegram:200\"]\nrole = \"owner\"\n",
        telegram.state().token,
        telegram.url()
    ))
}

/// A home without channels.
pub fn plain_home() -> Home {
    Home::new("[model]\ndefault = \"scripted/demo\"\n")
}

/// Runs the program with this home to its end; without a terminal.
pub fn run(home: &Home, arguments: &[&str]) -> Output {
    run_command(home.command(), arguments)
}

/// Runs a prepared command to its end.
pub fn run_command(mut command: Command, arguments: &[&str]) -> Output {
    command
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

/// What a run said, both streams.
pub fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Runs the program and expects success; its standard output as JSON.
pub fn run_json(home: &Home, arguments: &[&str]) -> Value {
    let output = run(home, arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The members of a backup: path and content.
pub fn members(file: &Path) -> Vec<(String, Vec<u8>)> {
    let mut archive = tar::Archive::new(std::fs::File::open(file).expect("the backup"));
    archive
        .entries()
        .expect("a tar")
        .map(|entry| {
            let mut entry = entry.expect("a member");
            let name = String::from_utf8(entry.path_bytes().into_owned()).expect("a name");
            let mut content = Vec::new();
            entry.read_to_end(&mut content).expect("its content");
            (name, content)
        })
        .collect()
}

/// Packs members into a file.
pub fn pack(file: &Path, members: &[(String, Vec<u8>)]) {
    let mut tar = tar::Builder::new(std::fs::File::create(file).expect("a file"));
    for (name, content) in members {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        // Written into the header as it is: a path that leads elsewhere must get that far.
        let raw = name.as_bytes();
        header.as_mut_bytes()[..raw.len()].copy_from_slice(raw);
        header.set_cksum();
        tar.append(&header, content.as_slice()).expect("a member");
    }
    tar.finish().expect("the end");
}

/// Opens the database of a home that nobody serves and checks every invariant; whether it is quarantined.
pub async fn sound(home: &Home) -> bool {
    let options = OpenOptions {
        dir: home.data(),
        clock: Clock::System,
        readers: 1,
        instance: "the backup suite".to_owned(),
    };
    let opened = tokio::task::spawn_blocking(move || Store::open(options))
        .await
        .expect("opening does not panic")
        .expect("it opens");
    let broken = opened.store.read(check).await.unwrap();
    assert_eq!(broken, []);
    opened.store.close().await;
    opened.recovery.quarantine
}

/// Every file below a directory with its content, sorted; without the lock.
pub fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(next) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if path
                .file_name()
                .is_some_and(|name| name == "leverframe.lock")
            {
                // Names its last holder, whoever that was.
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else if let Ok(content) = std::fs::read(&path) {
                found.push((
                    path.strip_prefix(dir).unwrap().display().to_string(),
                    content,
                ));
            }
        }
    }
    found.sort();
    found
}
