//! `leverframe doctor`, on live and stopped databases and on what is none.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::doctor::base::{corrupt, sound_database};
use crate::support::daemon::Home;

/// Every file below a directory with its content.
fn content(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                std::fs::read(entry.path()).unwrap(),
            )
        })
        .collect()
}

fn run(home: &Home, arguments: &[&str]) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = home.command().args(arguments).output().unwrap();
    (
        status.code().unwrap(),
        String::from_utf8(stdout).unwrap(),
        String::from_utf8(stderr).unwrap(),
    )
}

fn first_json(text: &str) -> Value {
    serde_json::from_str(text.lines().next().unwrap_or_default())
        .unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[tokio::test]
async fn a_live_and_a_stopped_database_are_verified_the_same_and_left_as_they_are() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let continuation = daemon.send(&session, "SAY:hello").await;
    daemon.wait_state(&continuation, "completed").await;

    let (status, live, errors) = run(&home, &["doctor", "--check", "--json"]);
    assert_eq!(status, 0, "{live}{errors}");
    let live = first_json(&live);
    assert_eq!(live["live"], true);
    assert_eq!(live["check"]["violations"], 0);
    let over_http = daemon.get("/v1/doctor?check=true").await;
    assert_eq!(
        over_http["check"]["rules"].as_array().unwrap().len(),
        live["check"]["rules"].as_array().unwrap().len()
    );
    assert!(over_http["check"]["rows"].as_u64().unwrap() > 20);
    // Without the rules only the facts are looked up.
    assert_eq!(daemon.get("/v1/doctor").await["check"], Value::Null);

    // Killed, so that a log is left beside the database: reading it must leave everything as it was.
    daemon.kill();
    let before = content(&home.data());
    assert!(
        before.contains_key("leverframe.db-wal"),
        "{:?}",
        before.keys()
    );
    std::fs::remove_file(home.data().join("leverframe.db-shm")).unwrap();
    let before_without_index = content(&home.data());
    let (status, text, errors) = run(&home, &["doctor", "--check"]);
    assert_eq!(status, 0, "{text}{errors}");
    assert!(text.contains("nothing runs on this directory"), "{text}");
    assert!(
        text.contains(" rules, ") && text.contains(" 0 violations"),
        "{text}"
    );
    let rules = text
        .lines()
        .filter(|line| line.contains(" rows  no "))
        .count();
    assert_eq!(rules, live["check"]["rules"].as_array().unwrap().len());
    assert_eq!(
        before_without_index.keys().collect::<Vec<_>>(),
        content(&home.data()).keys().collect::<Vec<_>>()
    );
    assert!(
        before_without_index == content(&home.data()),
        "a file was changed"
    );

    // Stopped cleanly: no log before, none afterwards.
    let mut daemon = home.daemon();
    daemon.terminate();
    let before = content(&home.data());
    assert!(!before.contains_key("leverframe.db-wal"));
    let (status, text, _) = run(&home, &["doctor", "--check", "--json"]);
    assert_eq!(status, 0, "{text}");
    assert_eq!(first_json(&text)["live"], false);
    assert!(before == content(&home.data()), "a file was changed");
    // No start was counted: the next epoch follows the last.
    let daemon = home.daemon();
    assert_eq!(daemon.get("/v1/snapshot").await["engine"]["epoch"], 3);
}

#[tokio::test]
async fn a_broken_database_is_status_1_and_names_rule_and_id() {
    let (path, _world) = Box::pin(sound_database()).await;
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("copy of it.db");
    std::fs::copy(&path, &copy).unwrap();
    let home = Home::new("");
    let copy_name = copy.to_str().unwrap();
    let (status, text, errors) = run(&home, &["doctor", "--database", copy_name]);
    assert_eq!(status, 0, "{text}{errors}");
    corrupt(
        &copy,
        "UPDATE continuations SET epoch = 9 WHERE state = 'running'",
    );
    let (status, text, errors) = run(&home, &["doctor", "--check", "--database", copy_name]);
    assert_eq!(status, 1, "{text}{errors}");
    let line = text.lines().find(|line| line.starts_with("fail")).unwrap();
    assert!(
        line.contains("I6") && line.contains("3 × continuation of an epoch"),
        "{line}"
    );
    assert!(text.contains("              con_"), "{text}");
    assert!(text.contains(" 3 violations"), "{text}");
    let (status, text, _) = run(&home, &["doctor", "--json", "--database", copy_name]);
    assert_eq!(status, 1);
    assert_eq!(first_json(&text)["check"]["violations"], json!(3));
}

#[tokio::test]
async fn what_is_no_database_of_ours_is_status_2_and_not_touched() {
    let (path, _world) = Box::pin(sound_database()).await;
    let home = Home::new("");
    let data = home.data();
    std::fs::create_dir(&data).unwrap();
    std::fs::set_permissions(&data, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let file = data.join("leverframe.db");
    let make = |sql: &str| {
        let _ = std::fs::remove_file(&file);
        let conn = rusqlite::Connection::open(&file).unwrap();
        conn.execute_batch(sql).unwrap();
    };
    let refused = |expected: &str| {
        let before = content(&data);
        for arguments in [
            &["doctor", "--check"][..],
            &[
                "doctor",
                "--check",
                "--json",
                "--database",
                file.to_str().unwrap(),
            ],
        ] {
            let (status, text, errors) = run(&home, arguments);
            assert_eq!(status, 2, "{expected}: {text}{errors}");
            assert!(errors.contains(expected), "{expected}: {errors}");
            assert_eq!(text, "", "{expected}");
        }
        assert!(before == content(&data), "{expected}: a file was changed");
    };
    refused("there is no database");
    std::fs::write(&file, "").unwrap();
    refused("there is no database");
    std::fs::write(&file, "this is a text and no database at all, and longer than a header of one has to be to be read, so it is refused").unwrap();
    refused("not a database");
    make("CREATE TABLE other (a); INSERT INTO other VALUES (1);");
    refused("a database of another program");
    make("PRAGMA journal_mode = WAL; CREATE TABLE other (a); INSERT INTO other VALUES (1);");
    refused("a database of another program");
    std::fs::copy(&path, &file).unwrap();
    rusqlite::Connection::open(&file)
        .unwrap()
        .pragma_update(None, "user_version", 99)
        .unwrap();
    refused("schema version 99");
    std::fs::copy(&path, &file).unwrap();
    rusqlite::Connection::open(&file)
        .unwrap()
        .pragma_update(None, "user_version", 1)
        .unwrap();
    refused("schema version 1, this program's is");
}

#[tokio::test]
async fn facts_come_with_a_fix_each_and_never_with_a_key() {
    let secret = "sk-canary-4711-0815";
    let home = Home::new(&format!(
        "[providers.local]\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key_command = \"echo {secret}\"\n"
    ));
    // Before the first start nothing is there, which is no failure.
    let (status, text, errors) = run(&home, &["doctor"]);
    assert_eq!(status, 0, "{text}{errors}");
    assert!(text.contains("the first start makes it"), "{text}");
    assert!(!home.data().exists(), "doctor made the data directory");

    let mut daemon = home.daemon();
    let (status, text, errors) = run(&home, &["doctor"]);
    assert_eq!(status, 0, "{text}{errors}");
    for (about, detail) in [
        ("version", "SQLite 3."),
        ("configuration", "config.toml"),
        ("data directory", "mode 0700"),
        ("process", &format!("process {}", daemon.pid()) as &str),
        (
            "database",
            &format!("schema {}, ", leverframe::store::schema::SCHEMA_VERSION),
        ),
        ("epoch", "1"),
        ("crashes", "no start after a crash"),
        ("audit head", ":"),
        ("provider local", "key present"),
    ] {
        let line = text
            .lines()
            .find(|line| line.get(6..).is_some_and(|rest| rest.starts_with(about)))
            .unwrap_or_else(|| panic!("no line about {about}: {text}"));
        assert!(line.contains(detail), "{line}");
        assert!(line.starts_with("ok"), "{line}");
    }
    daemon.kill();
    let mut daemon = home.daemon();
    let (_, text, _) = run(&home, &["doctor"]);
    assert!(
        text.contains("warn  crashes") && text.contains("  — read in the log file"),
        "{text}"
    );
    let json = daemon.get("/v1/doctor").await;
    assert!(!text.contains(secret) && !json.to_string().contains(secret));
    daemon.terminate();

    // A file that cannot be used is a failure that names it, and everything else is still told.
    std::fs::write(
        home.path().join("config/config.toml"),
        "[model]\ndefault = 7\n",
    )
    .unwrap();
    let (status, text, errors) = run(&home, &["doctor"]);
    assert_eq!(status, 1, "{text}{errors}");
    assert!(
        text.contains("fail  configuration") && text.contains("config.toml"),
        "{text}"
    );
    assert!(text.contains("audit head"), "{text}");
    assert!(errors.contains("failed: configuration"), "{errors}");
    // A copy without its side-car will start in quarantine: told before it is started.
    std::fs::remove_file(home.data().join("epoch")).unwrap();
    let (_, text, _) = run(&home, &["doctor"]);
    assert!(
        text.contains("warn  epoch") && text.contains("it starts in quarantine"),
        "{text}"
    );
}

#[tokio::test]
async fn a_responses_server_of_one_s_own_needs_no_key() {
    let home = Home::new(
        "[model]\ndefault = \"box/x\"\n[providers.box]\nkind = \"openai-responses\"\nbase_url = \"http://127.0.0.1:9/v1\"\n",
    );
    let (status, text, errors) = run(&home, &["doctor"]);
    assert_eq!(status, 0, "{text}{errors}");
    assert!(text.contains("no key (the server wants none)"), "{text}");
}

/// Five faults of different kinds, and a secret in the wrong place.
const FAULTS: &str = "[model]
default = \"nosuch/model\"

[budgets]
max_steps = -4
daily_usd = \"sk-this-is-secret\"

[channels.team]
kind = \"telegram\"
token_env = \"NOSUCH_TOKEN\"
autonomy = \"sure\"

[nosense]
a = 1
";

#[tokio::test]
async fn every_fault_of_the_named_file_is_told_whatever_runs() {
    let home = Home::new("");
    let bad = home.path().join("bad.toml");
    std::fs::write(&bad, FAULTS).unwrap();
    let named = ["--config", bad.to_str().unwrap(), "doctor"];
    let check = |daemon: bool| {
        let mut command = std::process::Command::new(home.command().get_program());
        command.env_clear().env("PATH", "/usr/bin:/bin");
        command.args(named).arg("--data-dir").arg(home.data());
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(!output.status.success(), "{said}");
        let told: Vec<&str> = said
            .lines()
            .filter(|line| line.contains("bad.toml:"))
            .collect();
        let mut expected = vec![
            (2, "model.default"),
            (5, "budgets.max_steps"),
            (6, "budgets.daily_usd"),
            (10, "channels.team.token_env"),
            (11, "channels.team.autonomy"),
            (13, "nosense"),
        ];
        // The daemon has the secrets; the shell of whoever asks need not have them.
        expected.retain(|(line, _)| !daemon || *line != 10);
        // Nothing that only follows from another.
        assert_eq!(told.len(), expected.len(), "{said}");
        for (told, (line, key)) in told.iter().zip(expected) {
            let place = format!("bad.toml:{line}:");
            assert!(
                told.contains(&place) && told.contains(&format!(": {key}: ")),
                "{key}: {told}"
            );
        }
        assert!(!said.contains("sk-this"), "{said}");
    };
    check(false);
    let _daemon = home.daemon();
    check(true);
}
