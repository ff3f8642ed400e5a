//! Old events go by the day into files before their rows go: whole, once, and for as long as they are kept.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use leverframe::protocol::request::{Command as Asked, EraseUser, Outcome};
use leverframe::store::EventsAfter;
use rusqlite::Connection;
use serde_json::Value;

use crate::retention::daemon::{age, swept_by_itself, with_turns};
use crate::retention::pieces::{settle, with_call};
use crate::retention::world::{DAY_MS, sound, sweep};
use crate::support::daemon::Home;
use crate::support::pty::Pty;
use crate::support::record::fault;
use crate::support::world::{World, submit, turn};
use crate::take_overs::daemon::cli;

/// The names of the files of the archive.
fn names(data_dir: &Path) -> Vec<String> {
    let Ok(folder) = std::fs::read_dir(data_dir.join("events")) else {
        return Vec::new();
    };
    let mut names: Vec<String> = folder
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The lines of a file, as the program that every system has reads them.
fn lines(data_dir: &Path, name: &str) -> Vec<Value> {
    let output = Command::new("gzip")
        .arg("-dc")
        .arg(data_dir.join("events").join(name))
        .output()
        .unwrap();
    assert!(output.status.success(), "{name}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn all_lines(data_dir: &Path) -> Vec<Value> {
    let names = names(data_dir);
    names
        .iter()
        .flat_map(|name| lines(data_dir, name))
        .collect()
}

/// What is stored, as it is printed.
async fn stored(world: &World) -> Vec<Value> {
    let first: u64 = world.count("SELECT min(seq) FROM events").await;
    match world.store.events_after(first - 1, 100_000).await.unwrap() {
        EventsAfter::Events(events) => events
            .iter()
            .map(|event| serde_json::to_value(event).unwrap())
            .collect(),
        EventsAfter::Reset => panic!("the oldest event is not kept"),
    }
}

fn numbers(events: &[Value]) -> Vec<u64> {
    events
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect()
}

#[tokio::test]
async fn every_event_is_in_the_file_of_its_day_before_its_row_goes() {
    let world = World::new().await;
    with_call(&world, "one").await;
    world.clock.advance_millis(DAY_MS);
    with_call(&world, "two").await;
    let before = stored(&world).await;
    world.clock.advance_millis(40 * DAY_MS);
    with_call(&world, "today").await;
    let report = sweep(&world).await;
    assert_eq!(report.events, before.len() as u64);
    assert_eq!(
        names(&world.dir),
        ["2027-01-15.jsonl.gz", "2027-01-16.jsonl.gz"]
    );
    // The same as was printed of them, also of approvals, whose rows have gone with their turns.
    assert_eq!(all_lines(&world.dir), before);
    let decided = before
        .iter()
        .find(|event| event["kind"] == "approval.decided")
        .unwrap();
    assert_eq!(decided["approval"]["tool"], "write_file");
    for day in ["2027-01-15", "2027-01-16"] {
        for line in lines(&world.dir, &format!("{day}.jsonl.gz")) {
            assert!(line["at"].as_str().unwrap().starts_with(day), "{line}");
        }
    }
    let mode = |path: &str| {
        let about = std::fs::metadata(world.dir.join(path)).unwrap();
        about.permissions().mode() & 0o777
    };
    assert_eq!(mode("events"), 0o700);
    assert_eq!(mode("events/2027-01-15.jsonl.gz"), 0o600);

    // Again: nothing is filed twice.
    sweep(&world).await;
    assert_eq!(all_lines(&world.dir), before);
    sound(&world).await;
}

#[tokio::test]
async fn a_day_that_becomes_old_in_parts_is_one_file() {
    let world = World::new().await;
    with_call(&world, "morning").await;
    let morning = stored(&world).await.len();
    world.clock.advance_millis(DAY_MS / 3);
    with_call(&world, "evening").await;
    let before = numbers(&stored(&world).await);
    world.clock.advance_millis(30 * DAY_MS - DAY_MS / 6);
    with_call(&world, "a month later").await;
    sweep(&world).await;
    assert_eq!(numbers(&all_lines(&world.dir)), before[..morning]);
    world.clock.advance_millis(DAY_MS / 3);
    with_call(&world, "the next day").await;
    sweep(&world).await;
    assert_eq!(names(&world.dir), ["2027-01-15.jsonl.gz"]);
    assert_eq!(numbers(&all_lines(&world.dir)), before);
}

#[tokio::test]
async fn the_archive_is_kept_for_as_long_as_is_configured() {
    let world = World::new().await;
    with_call(&world, "old").await;
    let conf = "[retention]\nevent_archive_days = 10\n";
    let swept = async |config: &str| {
        with_call(&world, "today").await;
        let asked = Asked::Sweep(leverframe::protocol::request::Sweep { preview: false });
        let done = submit(&world.engine(config), asked).await.unwrap();
        let Outcome::Sweep(report) = done else {
            panic!("{done:?}")
        };
        report
    };
    world.clock.advance_millis(31 * DAY_MS);
    swept(conf).await;
    assert_eq!(names(&world.dir), ["2027-01-15.jsonl.gz"]);
    world.clock.advance_millis(9 * DAY_MS);
    swept(conf).await;
    assert_eq!(names(&world.dir), ["2027-01-15.jsonl.gz"]);
    world.clock.advance_millis(DAY_MS);
    swept(conf).await;
    assert_eq!(names(&world.dir), [""; 0]);
    world.clock.advance_millis(40 * DAY_MS);
    assert!(swept("[retention]\nevent_archive_days = 0\n").await.events > 0);
    assert_eq!(names(&world.dir), [""; 0], "no archive is wanted");
    sound(&world).await;
}

#[tokio::test]
async fn what_cannot_be_filed_stays_and_the_rest_of_the_sweep_goes_on() {
    let world = World::new().await;
    with_call(&world, "old").await;
    std::fs::write(world.dir.join("events"), "in the way").unwrap();
    world.clock.advance_millis(40 * DAY_MS);
    with_call(&world, "today").await;
    let report = sweep(&world).await;
    assert_eq!((report.events, report.continuations), (0, 1));
    std::fs::remove_file(world.dir.join("events")).unwrap();
    let before = stored(&world).await;
    let report = sweep(&world).await;
    assert_eq!(all_lines(&world.dir), before[..report.events as usize]);
    assert!(report.events > 0);
}

#[tokio::test]
async fn no_file_changes_while_a_backup_reads_them() {
    let world = World::new().await;
    with_call(&world, "old").await;
    world.clock.advance_millis(40 * DAY_MS);
    with_call(&world, "today").await;
    let backup = world.store.artifact_guard().await;
    assert_eq!(sweep(&world).await.events, 0);
    assert_eq!(names(&world.dir), ["2027-01-15.jsonl.gz.new"]);
    drop(backup);
    assert!(sweep(&world).await.events > 0);
    assert_eq!(names(&world.dir), ["2027-01-15.jsonl.gz"]);
}

#[tokio::test]
async fn a_forgotten_person_is_not_in_the_archive_and_others_are() {
    let world = World::new().await;
    // In one conversation, so that only the sender tells whose a turn is.
    let mut said = Vec::new();
    for (sender, text) in [
        ("telegram:1", "the canary of Anna"),
        ("telegram:12", "what Ben said about telegram:1, who left"),
        ("telegram:1", "another canary"),
    ] {
        let mut message = turn("group", None);
        message.origin.requester.id = sender.to_owned();
        message.text = text.to_owned();
        let session = world.ok(message).await.session_id.unwrap();
        let id = world.claim(session).await.unwrap();
        said.push((sender, id.to_string()));
        world.finish(id, 1).await;
    }
    settle(&world).await;
    world.clock.advance_millis(40 * DAY_MS);
    let mut today = turn("elsewhere", None);
    today.origin.requester.id = "telegram:9".to_owned();
    world.ok(today).await;
    sweep(&world).await;
    let before = all_lines(&world.dir);
    let text = |lines: &[Value]| serde_json::to_string(lines).unwrap();
    assert!(text(&before).contains("the canary of Anna"));
    std::fs::write(world.dir.join("events/2027-01-15.jsonl.gz.new"), "canary").unwrap();

    let forget = Asked::EraseUser(EraseUser {
        person: "telegram:1".to_owned(),
    });
    let Outcome::EraseUser(gone) = submit(&world.engine(""), forget).await.unwrap() else {
        panic!("another outcome")
    };
    assert_eq!(gone.left, 0, "{gone:?}");
    let after = all_lines(&world.dir);
    assert_eq!(names(&world.dir), ["2027-01-15.jsonl.gz"]);
    assert!(!text(&after).contains("canary"), "{}", text(&after));
    assert!(!text(&after).contains("telegram:1\""), "{}", text(&after));
    for (sender, id) in &said {
        let kept = |lines: &[Value]| {
            let of = lines.iter().filter(|line| line["continuation_id"] == *id);
            of.count()
        };
        let expected = if *sender == "telegram:1" {
            0
        } else {
            kept(&before)
        };
        assert_eq!(kept(&after), expected, "{sender}");
    }
    let ben = text(&after);
    assert!(ben.contains("what Ben said about erased:"), "{ben}");
    assert!(ben.contains("telegram:12"), "{ben}");
    sound(&world).await;
}

/// Numbers of the events of a stopped daemon's database.
fn rows(home: &Home) -> Vec<u64> {
    let conn = Connection::open(home.data().join("leverframe.db")).unwrap();
    let mut query = conn.prepare("SELECT seq FROM events ORDER BY seq").unwrap();
    let rows = query.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[tokio::test]
async fn kill_nine_while_events_are_filed_loses_none_and_files_none_twice() {
    let home = with_turns("", 8).await;
    age(&home, 40);
    let before = rows(&home);
    for (crash, dies) in [
        ("archive.pre_rename:1", true),
        ("archive.placed:1", true),
        // Between two pieces that remove rows.
        ("sweep.mid:1", true),
        // What is filed is not filed again.
        ("archive.pre_rename:1", false),
    ] {
        // A start may die before it listens.
        let started = home.try_daemon_with(&[("LEVERFRAME_CRASH", crash)]);
        assert!(dies || started.is_some(), "{crash}: {}", home.log());
        if let Some(mut daemon) = started {
            if dies {
                assert!(daemon.wait_exit().is_some(), "{crash}: {}", home.log());
            } else {
                swept_by_itself(&home).await;
                daemon.kill();
            }
        }
        let filed = numbers(&all_filed(&home));
        let kept = rows(&home);
        let lost: Vec<&u64> = before
            .iter()
            .filter(|seq| !filed.contains(seq) && !kept.contains(seq))
            .collect();
        assert!(lost.is_empty(), "after {crash}: {lost:?}");
        let once: BTreeSet<&u64> = filed.iter().collect();
        assert_eq!(once.len(), filed.len(), "after {crash}: {filed:?}");
        // The crashes of the starts before would hold the engine.
        let conn = Connection::open(home.data().join("leverframe.db")).unwrap();
        conn.execute("DELETE FROM meta WHERE key IN ('starts', 'last_sweep')", [])
            .unwrap();
        std::fs::write(home.path().join("stderr.log"), "").unwrap();
    }
    let mut daemon = home.daemon();
    swept_by_itself(&home).await;
    assert!(daemon.terminate().success());
    let filed = all_filed(&home);
    assert_eq!(numbers(&filed), before);
    assert!(!names(&home.data()).iter().any(|n| n.contains(".new")));
    fault(
        "kill-while-events-are-filed",
        "SIGKILL before and after the rename of a day's file, and during the removal of its rows",
        "every event is in a file or in the database, and none is in a file twice",
    );
}

/// Lines of the files that have their names.
fn all_filed(home: &Home) -> Vec<Value> {
    let names = names(&home.data());
    names
        .iter()
        .filter(|name| !name.contains(".new"))
        .flat_map(|name| lines(&home.data(), name))
        .collect()
}

/// A home whose events are in the archive; the ids of the turns, and the numbers of all events.
async fn archived() -> (Home, Vec<String>, Vec<u64>) {
    let home = Home::new("[channels.api]\nautonomy = \"supervised\"\n");
    let mut daemon = home.daemon();
    let mut ids = Vec::new();
    let session = daemon.session().await;
    std::fs::write(home.workspace("api").join("log.txt"), "it was the relay\n").unwrap();
    let text = "TOOL:execute_command{\"argv\":[\"cat\",\"log.txt\"]}\nSAY:looked it up";
    let id = daemon.send(&session, text).await;
    let approval = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    daemon.wait_state(&id, "completed").await;
    ids.push(id);
    for n in 1..3 {
        let session = daemon.session().await;
        let id = daemon.send(&session, &format!("SAY:answer {n}")).await;
        daemon.wait_state(&id, "completed").await;
        ids.push(id);
    }
    assert!(daemon.terminate().success());
    std::fs::write(home.path().join("stderr.log"), "").unwrap();
    age(&home, 40);
    let before = rows(&home);
    let mut daemon = home.daemon();
    swept_by_itself(&home).await;
    // What comes after it is in the database.
    let id = daemon.send(&daemon.session().await, "SAY:today").await;
    daemon.wait_state(&id, "completed").await;
    assert!(daemon.terminate().success());
    assert!(rows(&home).len() < before.len(), "nothing went");
    (home, ids, before)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_prints_archived_events_with_and_without_a_daemon() {
    let (home, _, before) = archived().await;
    let printed = async |words: &[&str]| {
        let (status, text) = cli(&home, words).await;
        assert_eq!(status, Some(0), "{text}");
        let lines = text.lines();
        let events: Vec<Value> = lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        numbers(&events)
    };
    let first = before[0].to_string();
    let all = ["events", "--json", "--since", "2020-01-01"];
    let after = ["events", "--json", "--after", &first];
    let offline = printed(&all).await;
    assert_eq!(offline[..before.len()], before, "each once, in order");
    assert!(offline.len() > before.len(), "and what is stored");
    assert_eq!(printed(&after).await, offline[1..]);
    let today = printed(&["events", "--json", "--since", "2d"]).await;
    assert_eq!(today, offline[before.len()..]);
    let kind = ["events", "--json", "--since", "60d", "--kind", "approval."];
    assert!(printed(&kind).await.len() >= 2);

    let daemon = home.daemon();
    let mut live = printed(&all).await;
    live.truncate(offline.len());
    assert_eq!(live, offline);
    assert_eq!(printed(&after).await[..offline.len() - 1], offline[1..]);
    // A time at which nothing has happened yet ends all the same.
    let future = ["events", "--json", "--since", "2999-01-01"];
    assert_eq!(printed(&future).await, [0_u64; 0]);
    drop(daemon);
    let (status, text) = cli(&home, &["events", "--since", "yesterday"]).await;
    assert_eq!(status, Some(2), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_plays_from_the_archive_what_the_database_does_not_hold_any_more() {
    let (home, ids, _) = archived().await;
    let play = |words: &[&str]| {
        let mut command = home.command();
        command.arg("replay").args(words);
        Pty::start(&command, 100, 40)
    };
    let mut daemon = home.daemon();
    let (status, _) = daemon
        .request("GET", &format!("/v1/continuations/{}", ids[0]), None)
        .await;
    assert_eq!(status, 404, "its rows have gone");
    for attached in [true, false] {
        let mut pty = play(&[&ids[0]]);
        pty.see(" REPLAY ");
        pty.press_until(")", "at the end");
        let screen = pty.see("looked it up");
        for words in ["event archive", "execute_command", "it was the relay"] {
            assert!(screen.contains(words), "{words} is missing in {screen}");
        }
        pty.send("q");
        assert_eq!(pty.wait_exit(), Some(0), "{screen}");
        if attached {
            assert!(daemon.terminate().success());
        }
    }
    // By a beginning of its id, and where nothing fits.
    let mut pty = play(&["--archive", &ids[1][..24]]);
    pty.see(" REPLAY ");
    pty.press_until(")", "at the end");
    pty.see("answer 1");
    pty.send("q");
    assert_eq!(pty.wait_exit(), Some(0));
    let mut pty = play(&["--archive", "con_zzz"]);
    assert_eq!(pty.wait_exit(), Some(2), "{}", pty.screen());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_holds_the_archive_and_doctor_says_how_large_it_is() {
    let (home, _, _) = archived().await;
    let filed = all_filed(&home);
    let file = home.path().join("backup.tar");
    let (status, text) = cli(&home, &["backup", file.to_str().unwrap()]).await;
    assert_eq!(status, Some(0), "{text}");
    let other = Home::new("");
    let (status, text) = cli(&other, &["restore", file.to_str().unwrap()]).await;
    assert_eq!(status, Some(0), "{text}");
    assert_eq!(all_filed(&other), filed);
    let (_, text) = cli(&home, &["doctor"]).await;
    assert!(
        text.contains("event archive") && text.contains("files: "),
        "{text}"
    );
}
