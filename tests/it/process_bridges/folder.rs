//! The example bridge in Python through the real daemon, in the sandbox: messages, files, buttons, and kills in between.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::process_bridges::{example, program};
use crate::stories::bot::WRITE;
use crate::support::daemon::{DEADLINE, Daemon, Home};

/// A home with the example on the channel `folder`.
fn home(channel: &str, rest: &str) -> Option<Home> {
    let python = program("python3", "the example bridge in Python")?;
    program("bwrap", "a bridge in the sandbox")?;
    let script = example("python/folder.py");
    let home = Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.folder]\nkind = \"process\"\ncommand = [\"{}\", \"{}\"]\n\
         read = [\"{}\"]\nwrite = [\"{{home}}/chat\"]\nnetwork = false\n\
         environment = {{ CHAT_FOLDER = \"{{home}}/chat\" }}\n{channel}\n\n{rest}\n",
        python.display(),
        script.display(),
        script.parent().unwrap().display()
    ));
    std::fs::create_dir(home.path().join("chat")).unwrap();
    Some(home)
}

fn file(home: &Home, name: &str) -> PathBuf {
    home.path().join("chat").join(name)
}

fn write(home: &Home, line: &Value) {
    let mut options = std::fs::OpenOptions::new();
    let mut inbox = options
        .create(true)
        .append(true)
        .open(file(home, "inbox.jsonl"))
        .unwrap();
    writeln!(inbox, "{line}").unwrap();
}

fn says(home: &Home, user: &str, text: &str) {
    write(
        home,
        &json!({"user": user, "text": text, "conversation": user}),
    );
}

fn outbox(home: &Home) -> Vec<Value> {
    let text = std::fs::read_to_string(file(home, "outbox.jsonl")).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// How often the bot said something with these words.
fn count(home: &Home, words: &str) -> usize {
    let said = |line: &&Value| {
        line["text"]
            .as_str()
            .is_some_and(|text| text.contains(words))
    };
    outbox(home).iter().filter(said).count()
}

/// The first thing that the bot said and that is so, once it is there.
async fn said(home: &Home, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(line) = outbox(home).into_iter().find(&is_so) {
            return line;
        }
        assert!(
            Instant::now() < deadline,
            "the bot never said {what}: {:#?}\n{}",
            outbox(home),
            home.log()
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn answer(home: &Home, words: &str) -> Value {
    said(home, words, |line| {
        line["text"]
            .as_str()
            .is_some_and(|text| text.contains(words))
    })
    .await
}

async fn connected(daemon: &Daemon) -> Value {
    daemon
        .wait(
            "/v1/channels/folder",
            "the channel is connected",
            |channel| channel["health"]["state"] == "connected",
        )
        .await
}

/// The processes that run the script for this home.
fn scripts(home: &Home) -> Vec<Pid> {
    let folder = format!("CHAT_FOLDER={}\0", home.path().join("chat").display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(id) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
        let (environment, command) = (read("environ"), read("cmdline"));
        let is_script = command
            .split(|byte| *byte == 0)
            .nth(1)
            .is_some_and(|word| word.ends_with(b"folder.py"));
        if is_script
            && environment
                .windows(folder.len())
                .any(|part| part == folder.as_bytes())
        {
            found.extend(Pid::from_raw(id));
        }
    }
    found
}

#[tokio::test]
async fn a_message_is_answered_from_the_sandbox_and_the_channel_shows_who_it_is() {
    let Some(home) = home("allowed_users = [\"ada\"]", "") else {
        return;
    };
    let mut daemon = home.daemon();
    let channel = connected(&daemon).await;
    assert_eq!(channel["kind"], "process");
    assert!(
        channel["account"].as_str().unwrap().ends_with("/chat"),
        "{channel}"
    );
    says(&home, "ada", "SAY:good morning");
    let answer = answer(&home, "good morning").await;
    assert_eq!(answer["conversation"], "ada");
    assert_eq!(scripts(&home).len(), 1);
    daemon.terminate();
    assert_eq!(scripts(&home).len(), 0, "nothing of it lives on");
}

#[tokio::test]
async fn a_file_comes_in_and_a_text_becomes_its_answer() {
    let Some(home) = home("allowed_users = [\"ada\"]", "") else {
        return;
    };
    let daemon = home.daemon();
    connected(&daemon).await;
    std::fs::create_dir_all(file(&home, "files")).unwrap();
    std::fs::write(file(&home, "files/note.txt"), "the files are read").unwrap();
    write(
        &home,
        &json!({"user": "ada", "text": "SAY:thank you", "conversation": "ada", "file": "note.txt"}),
    );
    answer(&home, "thank you").await;
    let list = daemon.get("/v1/continuations").await;
    let id = list["items"][0]["id"].as_str().unwrap().to_owned();
    let done = daemon.wait_state(&id, "completed").await;
    assert!(done.to_string().contains("note.txt"), "{done:#}");
}

#[tokio::test]
async fn a_button_decides_only_where_the_configuration_vouches_for_senders() {
    let people = "[people.anna]\nids = [\"process/folder:anna\"]\nrole = \"owner\"";
    let channel = "senders = \"authenticated\"\nallowed_users = [\"ben\", \"anna\"]";
    let Some(home) = home(channel, people) else {
        return;
    };
    let daemon = home.daemon();
    connected(&daemon).await;
    says(&home, "ben", WRITE);
    let card = said(&home, "a card for Anna", |line| {
        line["conversation"] == "anna" && line["buttons"].is_array()
    })
    .await;
    let buttons = card["buttons"].as_array().unwrap();
    let allow = buttons
        .iter()
        .find(|button| button["label"].as_str().unwrap().contains("Allow"));
    let token = allow.unwrap()["token"].clone();
    let pressed = |user: &str| json!({"user": user, "conversation": user, "click": token});
    // Somebody else who knows the token.
    write(&home, &pressed("ben"));
    says(&home, "ben", "/status");
    answer(&home, "awaiting_approval").await;
    assert_eq!(daemon.pending_approvals().await.len(), 1);
    write(&home, &pressed("anna"));
    said(&home, "all done", |line| {
        let text = line["text"].as_str().unwrap_or_default();
        line["conversation"] == "ben" && text.contains("all done")
    })
    .await;
    let written = std::fs::read_to_string(home.workspace("folder").join("note.txt"));
    assert_eq!(written.unwrap(), "hi\n");
}

#[tokio::test]
async fn no_decision_counts_from_a_sender_that_is_only_claimed() {
    let Some(home) = home("allowed_users = [\"ada\"]", "") else {
        return;
    };
    let daemon = home.daemon();
    connected(&daemon).await;
    says(&home, "ada", WRITE);
    let approval = daemon.wait_approval().await;
    let code = approval["short_code"].as_str().unwrap();
    says(&home, "ada", &format!("/approve {code}"));
    answer(&home, "Not decided").await;
    assert_eq!(daemon.wait_approval().await["id"], approval["id"]);
    // Nobody can be given a role by such an id.
    let file = home.path().join("config/config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let people = "[people.ada]\nids = [\"process/folder:ada\"]\nrole = \"owner\"\n";
    std::fs::write(&file, format!("{text}\n{people}")).unwrap();
    let (status, answer) = daemon.request("POST", "/v1/reload", Some(json!({}))).await;
    assert!(
        status >= 400 || answer.to_string().contains("senders"),
        "{status} {answer}"
    );
}

async fn killed_at(point: &str) {
    let Some(home) = home("allowed_users = [\"ada\"]", "") else {
        return;
    };
    let crash = format!("{point}:1");
    let mut daemon = home.daemon_with(&[("LEVERFRAME_CRASH", &crash)]);
    connected(&daemon).await;
    says(&home, "ada", "SAY:only once");
    assert!(daemon.wait_exit().is_some(), "it is killed at {point}");
    let daemon = home.daemon();
    answer(&home, "only once").await;
    says(&home, "ada", "SAY:and then");
    answer(&home, "and then").await;
    // The second answer is behind everything that the first could still bring.
    assert_eq!(count(&home, "only once"), 1, "{:#?}", outbox(&home));
    let turns = daemon.get("/v1/continuations").await;
    assert_eq!(turns["items"].as_array().unwrap().len(), 2, "{turns:#}");
    let pending = daemon.pending_approvals().await;
    assert!(
        pending.is_empty(),
        "nobody is asked where keys are kept: {pending:#?}"
    );
}

#[tokio::test]
async fn killed_between_receipt_and_commit_the_message_comes_again() {
    killed_at("ingest.pre_commit").await;
}

#[tokio::test]
async fn killed_between_commit_and_acknowledgement_the_message_counts_once() {
    killed_at("ingest.post_commit").await;
}

#[tokio::test]
async fn killed_before_the_send_it_is_sent_once() {
    killed_at("send.started").await;
}

#[tokio::test]
async fn killed_between_send_and_record_it_is_sent_once() {
    killed_at("send.effect_done").await;
}

#[tokio::test]
async fn a_program_that_is_killed_comes_back_and_says_nothing_twice() {
    let Some(home) = home("allowed_users = [\"ada\"]", "") else {
        return;
    };
    let daemon = home.daemon();
    connected(&daemon).await;
    for round in 0..3 {
        let before = scripts(&home);
        assert_eq!(before.len(), 1);
        says(&home, "ada", &format!("SAY:round {round}"));
        kill_process(before[0], Signal::KILL).unwrap();
        says(&home, "ada", &format!("SAY:later {round}"));
        answer(&home, &format!("later {round}")).await;
        assert_ne!(scripts(&home), before);
    }
    for round in 0..3 {
        for words in ["round", "later"] {
            assert_eq!(
                count(&home, &format!("{words} {round}")),
                1,
                "{:#?}",
                outbox(&home)
            );
        }
    }
    let channel = daemon.get("/v1/channels/folder").await;
    assert!(
        channel["health"]["reconnects"].as_u64().unwrap() >= 3,
        "{channel}"
    );
}

#[tokio::test]
async fn a_program_that_is_not_there_shows_as_failed_with_the_fix() {
    let home = Home::new(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.folder]\nkind = \"process\"\ncommand = [\"no-such-bridge\"]\n",
    );
    let daemon = home.daemon();
    let channel = daemon
        .wait("/v1/channels/folder", "the channel failed", |channel| {
            channel["health"]["state"] == "failed"
        })
        .await;
    let detail = channel["health"]["detail"].as_str().unwrap();
    assert!(
        detail.contains("there is no program `no-such-bridge`"),
        "{detail}"
    );
}

#[tokio::test]
async fn what_a_program_writes_for_people_is_in_the_log_without_its_secrets() {
    let Some(python) = program("python3", "the log of a bridge") else {
        return;
    };
    let script = "import os, sys, time; print('the password is ' + os.environ['CHAT_PASSWORD'], file=sys.stderr); \
                  sys.stderr.flush(); time.sleep(0.2); sys.exit(3)";
    let home = Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\
         [channels.folder]\nkind = \"process\"\ncommand = [\"{}\", \"-c\", {script:?}]\nsandbox = false\n\
         environment_env = [\"CHAT_PASSWORD\"]\n",
        python.display()
    ));
    let daemon = home.daemon_with(&[("CHAT_PASSWORD", "correct-horse-battery")]);
    let channel = daemon
        .wait("/v1/channels/folder", "the channel says why", |channel| {
            let detail = channel["health"]["detail"].as_str().unwrap_or_default();
            detail.contains("its last line: the password is")
        })
        .await;
    let detail = channel["health"]["detail"].as_str().unwrap();
    assert!(detail.contains("exit status: 3"), "{detail}");
    assert!(!channel.to_string().contains("correct-horse"), "{channel}");
    let log = home.log();
    assert!(log.contains("the password is"), "{log}");
    assert!(!log.contains("correct-horse"), "{log}");
}
