//! Forgetting a person: not a byte of what they said is left, what others said is, and a crash half-way changes nothing
//! about that.

use std::path::Path;
use std::time::{Duration, Instant};

use leverframe::clock::Clock;
use leverframe::store::check::check;
use leverframe::store::check::check_artifacts;
use leverframe::store::{OpenOptions, Store};
use serde_json::{Value, json};

use crate::support::daemon::{DEADLINE, Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;

/// What Ben says; and what Carl says.
const CANARY: &str = "xylophoneKestrel";
const OTHER: &str = "marmaladeOtter";
const BEN: &str = "telegram:100";

fn home(telegram: &FakeTelegram) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         allowed_users = [\"100\", \"1003\"]\nauto_approve = [\"search_files\"]\nresponse_cache = \"user\"\npause_after_turns = 0\n\n\
         [people.anna]\nids = [\"telegram:200\"]\nrole = \"owner\"\n",
        telegram.url()
    ))
}

fn start(home: &Home, telegram: &FakeTelegram, more: &[(&str, &str)]) -> Option<Daemon> {
    telegram.change(|state| state.know_chat(200));
    let token = telegram.state().token.clone();
    let mut environment = vec![("TEAM_TOKEN", token.as_str())];
    environment.extend_from_slice(more);
    home.try_daemon_with(&environment)
}

async fn said(telegram: &FakeTelegram, chat: i64, text: &str) {
    telegram
        .wait_until(text, |state| {
            state
                .messages
                .iter()
                .any(|m| m.chat == chat && m.text.contains(text))
        })
        .await;
}

/// Names of files below a directory that hold these bytes.
fn holding(dir: &Path, what: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap_or_default();
            // Also as the index folds it.
            let folded = what.to_lowercase();
            let held = bytes
                .windows(what.len())
                .any(|part| part.eq_ignore_ascii_case(folded.as_bytes()));
            if held {
                found.push(path.file_name().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

/// Everything that is wrong in the data directory of a daemon that is gone.
async fn wrong(home: &Home) -> Vec<String> {
    let options = OpenOptions {
        dir: home.data(),
        clock: Clock::System,
        readers: 1,
        instance: "the suite".to_owned(),
    };
    let opened = tokio::task::spawn_blocking(move || Store::open(options))
        .await
        .unwrap()
        .unwrap();
    let dir = home.data();
    let mut wrong: Vec<String> = opened
        .store
        .read(move |reader| {
            let mut found = check(reader)?;
            found.extend(check_artifacts(reader, &dir)?);
            Ok(found)
        })
        .await
        .unwrap()
        .iter()
        .map(|violation| format!("{}: {}", violation.invariant, violation.detail))
        .collect();
    let keys: u64 = opened
        .store
        .with_writer(|conn| {
            conn.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| {
                row.get(0)
            })
            .unwrap()
        })
        .await
        .unwrap();
    opened.store.close().await;
    if keys > 0 {
        wrong.push(format!("{keys} references into nothing"));
    }
    wrong
}

/// Ben and Carl have talked: plain answers, a call that was approved, a result that became an artifact, memories.
async fn talked(telegram: &FakeTelegram, home: &Home, daemon: &Daemon, rounds: usize) {
    let (ben, anna, carl) = (
        User::new(100, "Ben"),
        User::new(200, "Anna"),
        User::new(1003, "Carl"),
    );
    telegram.user_says(100, &ben, &format!("SAY:first {CANARY} answer"));
    said(telegram, 100, "first").await;
    telegram.user_says(1003, &carl, &format!("SAY:first {OTHER} answer"));
    said(telegram, 1003, "first").await;
    telegram.user_says(1003, &carl, "SAY:tell telegram:100, please");
    said(telegram, 1003, "tell telegram:100,").await;
    for n in 0..rounds {
        telegram.user_says(100, &ben, &format!("SAY:number {n}. of {CANARY}"));
        said(telegram, 100, &format!("number {n}.")).await;
        telegram.user_says(1003, &carl, &format!("SAY:number {n}. of {OTHER}"));
        said(telegram, 1003, &format!("number {n}.")).await;
    }
    telegram.user_says(
        100,
        &ben,
        &format!(
            "TOOL:write_file{{\"path\":\"a.txt\",\"content\":\"{CANARY}\"}}\nSAY:written {CANARY}"
        ),
    );
    telegram
        .wait_until("a card for Anna", |state| {
            state
                .messages
                .iter()
                .any(|m| m.chat == 200 && !m.keyboard.is_empty())
        })
        .await;
    let card = telegram
        .messages(200)
        .into_iter()
        .find(|m| !m.keyboard.is_empty())
        .unwrap();
    // While a turn of theirs waits, nobody is forgotten.
    let before = daemon.get("/v1/memory/people/telegram:100").await;
    assert_eq!(before["open"], 1, "{before}");
    let (status, refused) = daemon
        .request("DELETE", "/v1/memory/people/telegram:100", None)
        .await;
    assert_eq!(status, 409, "{refused}");
    let open = daemon
        .wait(
            "/v1/continuations?state=awaiting_approval",
            "the turn waits",
            |open| open["items"][0]["id"].is_string(),
        )
        .await;
    let id = open["items"][0]["id"].as_str().unwrap();
    assert!(
        refused["detail"].as_str().unwrap().contains(id),
        "{refused}"
    );
    assert!(
        refused["hint"]
            .as_str()
            .unwrap()
            .contains("continuations cancel"),
        "{refused}"
    );
    telegram.user_clicks(200, card.message_id, "Allow once", &anna);
    said(telegram, 100, "written").await;

    for (chat, user, word) in [(100, &ben, CANARY), (1003, &carl, OTHER)] {
        let big = format!("{word} in a long file\n").repeat(1000);
        let file = format!("{chat}.txt");
        std::fs::write(home.workspace("team").join(&file), big).unwrap();
        telegram.user_says(
            chat,
            user,
            &format!("TOOL:search_files{{\"pattern\":\"{word}\",\"limit\":1000}}\nSAY:read it"),
        );
        said(telegram, chat, "read it").await;
    }
    let items: Vec<Value> = [(BEN, CANARY), ("telegram:1003", OTHER)]
        .iter()
        .flat_map(|(person, word)| {
            (0..20).map(move |n| {
                json!({"place": {"scope": "global"}, "text": format!("likes {word} number {n}"), "author": "model",
                    "author_id": "scripted/demo", "person_id": person})
            })
        })
        .collect();
    daemon
        .post("/v1/memory/import", json!({ "items": items }))
        .await;
    // What somebody else wrote about them names them.
    daemon
        .post(
            "/v1/memory",
            json!({"place": {"scope": "global"}, "text": "telegram:100 and telegram:1003 share an office"}),
        )
        .await;
    daemon
        .wait("/v1/outbox?state=pending", "everything is sent", |body| {
            body["items"].as_array().is_some_and(Vec::is_empty)
        })
        .await;
    daemon
        .wait("/v1/outbox?state=sending", "everything is sent", |body| {
            body["items"].as_array().is_some_and(Vec::is_empty)
        })
        .await;
}

fn artifacts(home: &Home) -> usize {
    let folders = std::fs::read_dir(home.data().join("artifacts")).unwrap();
    folders
        .map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap().count())
        .sum()
}

#[tokio::test]
async fn not_a_byte_of_what_a_person_said_is_left_and_what_others_said_is() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let mut daemon = start(&home, &telegram, &[]).unwrap();
    talked(&telegram, &home, &daemon, 30).await;
    let held = holding(&home.data(), CANARY);
    assert!(
        held.iter().any(|name| name.starts_with("leverframe.db"))
            && held
                .iter()
                .any(|name| name.starts_with("response_cache.db"))
            && held.iter().any(|name| name.len() == 64),
        "{held:?}"
    );

    let before = daemon.get("/v1/memory/people/telegram:100").await;
    assert_eq!(
        (&before["memories"], &before["open"], &before["artifacts"]),
        (&json!(20), &json!(0), &json!(1)),
        "{before}"
    );
    assert_eq!(before["continuations"], 33, "{before}");
    assert!(before["cached"].as_u64().unwrap() >= 1, "{before}");
    assert_eq!(artifacts(&home), 2);
    let (status, gone) = daemon
        .request("DELETE", "/v1/memory/people/telegram:100", None)
        .await;
    assert_eq!(status, 200, "{gone}");
    for name in ["memories", "continuations", "artifacts", "cached"] {
        assert_eq!(gone[name], before[name], "{name}: {gone}");
    }
    assert_eq!(gone["left"], 0, "{gone}");
    // While the daemon still runs.
    assert_eq!(holding(&home.data(), CANARY), [""; 0]);
    assert_eq!(artifacts(&home), 1);

    // Nobody else lost anything.
    let other = daemon.get("/v1/memory/people/telegram:1003").await;
    assert_eq!(
        (
            &other["memories"],
            &other["continuations"],
            &other["artifacts"]
        ),
        (&json!(20), &json!(33), &json!(1)),
        "{other}"
    );
    let found = daemon.get("/v1/memory/search?q=office").await;
    let text = found["items"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("erased:") && text.contains("telegram:1003 share"),
        "{text}"
    );
    let sessions = daemon.get("/v1/sessions").await;
    assert_eq!(sessions["items"].as_array().unwrap().len(), 1, "{sessions}");
    // Again: there is nothing left to forget.
    let (status, again) = daemon
        .request("DELETE", "/v1/memory/people/telegram:100", None)
        .await;
    assert_eq!((status, &again["memories"]), (200, &json!(0)), "{again}");
    // They may come back as anybody else.
    telegram.user_says(100, &User::new(100, "Ben"), "SAY:hello again");
    said(&telegram, 100, "hello again").await;
    assert!(daemon.terminate().success());
    assert_eq!(holding(&home.data(), CANARY), [""; 0]);
    assert!(!holding(&home.data(), OTHER).is_empty());
    assert_eq!(wrong(&home).await, Vec::<String>::new());
    let rows: i64 = rusqlite::Connection::open(home.data().join("leverframe.db"))
        .unwrap()
        .query_row(
            "SELECT count(*) FROM audit WHERE action = 'user.erased' AND subject LIKE 'sha256:%'
                AND detail NOT LIKE '%telegram%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(rows, 2);
}

#[tokio::test]
async fn an_id_that_is_none_is_refused_and_a_longer_one_is_another_person() {
    let home = Home::new("");
    let daemon = home.daemon();
    for nonsense in ["ben", ":1", "telegram:", "a%20b:c", "a:%22"] {
        let path = format!("/v1/memory/people/{nonsense}");
        let (status, problem) = daemon.request("DELETE", &path, None).await;
        assert_eq!(status, 400, "{nonsense}: {problem}");
    }
}

#[tokio::test]
async fn kill_nine_while_a_person_is_forgotten_and_the_next_start_goes_on() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let mut daemon = start(&home, &telegram, &[]).unwrap();
    talked(&telegram, &home, &daemon, 3).await;
    assert!(daemon.terminate().success());
    // At the note that it is under way, inside, again and again one piece further, and before it is noted as done; each
    // start goes on by itself. The last one dies when all is noted and the note is not off the disk yet.
    let under_way = || {
        let conn = rusqlite::Connection::open(home.data().join("leverframe.db")).unwrap();
        conn.query_row(
            "SELECT count(*) FROM meta WHERE key = 'forgetting'",
            [],
            |row| row.get::<_, i64>(0),
        )
        .unwrap()
            == 1
    };
    let mut schedule = vec!["erase.mid:1", "erase.mid:3"];
    schedule.extend(["erase.mid:2"; 5]);
    schedule.extend(["erase.pre_end:1"]);
    for crash in schedule {
        let environment = [("LEVERFRAME_CRASH", crash)];
        // A start that goes on with it may die before it listens.
        if let Some(mut daemon) = start(&home, &telegram, &environment) {
            // The first one is asked; the others found the note.
            while let Ok((409, _)) = daemon
                .try_request("DELETE", "/v1/memory/people/telegram:100", None)
                .await
            {
                // The daemon's own sweep, or its own going on.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            assert!(
                daemon.wait_exit().is_some(),
                "it was not killed at {crash}: {}",
                home.log()
            );
        }
        assert_eq!(wrong(&home).await, Vec::<String>::new(), "after {crash}");
        assert!(under_way(), "after {crash}");
    }
    let mut daemon = start(&home, &telegram, &[]).unwrap();
    let deadline = Instant::now() + DEADLINE;
    while !home.log().contains("finished the erasure of a user") {
        assert!(Instant::now() < deadline, "{}", home.log());
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
    assert!(!under_way());
    assert_eq!(holding(&home.data(), CANARY), [""; 0]);
    // Also where others named them, before and behind the table of the note.
    assert_eq!(holding(&home.data(), "telegram:100,"), [""; 0]);
    let left = daemon.get("/v1/memory/people/telegram:100").await;
    assert_eq!(
        (&left["memories"], &left["continuations"], &left["cached"]),
        (&json!(0), &json!(0), &json!(0)),
        "{left}"
    );
    assert!(daemon.terminate().success());
    assert_eq!(holding(&home.data(), CANARY), [""; 0]);
    assert_eq!(wrong(&home).await, Vec::<String>::new());
}
