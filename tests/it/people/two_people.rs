//! `two_people` of a channel: one person is not enough, and nobody counts twice.

use serde_json::{Value, json};

use crate::people::{audit, decides, people, run, token, with};
use crate::stories::bot::{self, WRITE, anna, shown};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::{BotMessage, User};

const SO_FAR: &str = "1 of 2 people allow it: anna";

fn home(telegram: &FakeTelegram) -> Home {
    bot::home(
        telegram,
        "allowed_users = [\"100\"]\ntwo_people = [\"write_file\", \"risk:critical\"]",
        &people(),
    )
}

/// A token of this person that reads and approves.
fn approver(home: &Home, person: &str) -> String {
    let scopes = ["--scope", "read,approve", "--person", person];
    token(home, person, &scopes)
}

async fn asked(daemon: &Daemon, telegram: &FakeTelegram) -> Value {
    telegram.user_says(100, &User::new(100, "Cleo"), WRITE);
    daemon.wait_approval().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_runs_when_two_people_have_allowed_it_also_across_a_kill() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let mut daemon = bot::start(&home, &telegram, &[100, 200, 300], &[]);
    let annas = token(
        &home,
        "annas",
        &["--scope", "read,approve,admin", "--person", "anna"],
    );
    let bens = token(
        &home,
        "bens",
        &["--scope", "read,approve", "--person", "ben"],
    );
    let approval = asked(&daemon, &telegram).await;
    let code = approval["short_code"].as_str().unwrap();
    shown(&telegram, 200, code).await;
    shown(&telegram, 300, code).await;
    let note = home.workspace("team").join("note.txt");

    // Nobody whom nobody knows, and nothing that lasts.
    let (status, problem) = decides(&daemon, &daemon.token, &approval, "approve").await;
    assert_eq!(status, 403, "{problem}");
    assert!(
        problem.to_string().contains("two people must allow"),
        "{problem}"
    );
    let path = format!(
        "/v1/approvals/{}/decision",
        approval["id"].as_str().unwrap()
    );
    let digest = &approval["digest"];
    let rule = json!({ "tool": "write_file", "matcher": "exact", "value": "note.txt", "field": "path", "verdict": "allow" });
    for body in [
        json!({ "decision": "approve", "digest": digest, "scope": "session" }),
        json!({ "decision": "approve", "digest": digest, "rule": rule }),
    ] {
        let (status, problem) = with(&daemon, &annas, "POST", &path, Some(body)).await;
        assert_eq!(status, 422, "{problem}");
    }

    let (status, first) = decides(&daemon, &annas, &approval, "approve").await;
    assert_eq!(
        (status, &first["state"]),
        (200, &json!("pending")),
        "{first}"
    );
    assert_eq!(first["allowed_by"]["person"], "anna", "{first}");
    // The same person is not a second one: by token, by the socket, in the chat.
    let (status, again) = decides(&daemon, &annas, &approval, "approve").await;
    assert_eq!(
        (status, &again["state"]),
        (200, &json!("pending")),
        "{again}"
    );
    let id = approval["id"].as_str().unwrap();
    let output = run(
        &home,
        &[
            "approvals",
            "approve",
            id,
            "--digest",
            digest.as_str().unwrap(),
        ],
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains(SO_FAR), "{text}");
    telegram.user_says(200, &anna(), &format!("/approve {code}"));
    shown(&telegram, 200, SO_FAR).await;
    assert!(!note.exists());
    // Her card says how far it is, without buttons; the other one's keeps them.
    telegram
        .wait_until("the card of anna", |state| {
            let is_hers = |m: &&BotMessage| m.chat == 200 && m.text.contains("It needs one more");
            state
                .messages
                .iter()
                .any(|m| is_hers(&m) && m.labels().is_empty())
        })
        .await;
    // The other one hears of it where they have the card, and the card says it.
    shown(&telegram, 300, &format!("{SO_FAR}. It needs one more.")).await;
    let output = run(&home, &["approvals", "show", id]);
    assert!(
        String::from_utf8_lossy(&output.stdout).contains(SO_FAR),
        "{output:?}"
    );
    assert_eq!(audit(&daemon, "approval.first_allowed").await.len(), 1);

    daemon.kill();
    let daemon = bot::start(&home, &telegram, &[], &[]);
    let kept = daemon.get(&format!("/v1/approvals/{id}")).await;
    assert_eq!(kept["allowed_by"], first["allowed_by"], "{kept}");
    assert_eq!(kept["state"], "pending");
    let (status, done) = decides(&daemon, &bens, &approval, "approve").await;
    assert_eq!(status, 200, "{done}");
    assert_eq!(done["decision"]["by"], "ben", "{done}");
    shown(&telegram, 100, "all done").await;
    assert!(note.exists());
    let row = audit(&daemon, "approval.decided").await.remove(0);
    assert_eq!(row["actor"], "ben", "{row}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_ends_it_and_a_change_starts_over() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let daemon = bot::start(&home, &telegram, &[100, 200, 300], &[]);
    let (annas, bens) = (approver(&home, "anna"), approver(&home, "ben"));
    let approval = asked(&daemon, &telegram).await;
    let path = format!(
        "/v1/approvals/{}/decision",
        approval["id"].as_str().unwrap()
    );
    assert_eq!(decides(&daemon, &annas, &approval, "approve").await.0, 200);
    let edit = json!({
        "decision": "edit", "digest": approval["digest"],
        "args": { "path": "note.txt", "content": "other\n" },
    });
    let (status, edited) = with(&daemon, &bens, "POST", &path, Some(edit)).await;
    assert_eq!(status, 200, "{edited}");
    assert!(edited["allowed_by"].is_null(), "{edited}");
    // What Anna allowed was something else: Ben is the first one now.
    let (status, first) = decides(&daemon, &bens, &edited, "approve").await;
    assert_eq!(
        (status, &first["state"]),
        (200, &json!("pending")),
        "{first}"
    );
    assert_eq!(first["allowed_by"]["person"], "ben", "{first}");
    let (status, denied) = decides(&daemon, &annas, &edited, "deny").await;
    assert_eq!(
        (status, &denied["state"]),
        (200, &json!("denied")),
        "{denied}"
    );
    assert_eq!(decides(&daemon, &annas, &edited, "approve").await.0, 409);
    shown(&telegram, 100, "I did not do it").await;
    assert!(!home.workspace("team").join("note.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_allowed_it_first_takes_it_back_by_a_denial() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let daemon = bot::start(&home, &telegram, &[100, 200, 300], &[]);
    let (annas, bens) = (approver(&home, "anna"), approver(&home, "ben"));
    let approval = asked(&daemon, &telegram).await;
    assert_eq!(decides(&daemon, &annas, &approval, "approve").await.0, 200);
    // Nothing was decided, so there is nothing to revoke.
    let (status, problem) = decides(&daemon, &annas, &approval, "revoke").await;
    assert_eq!(status, 409, "{problem}");
    let (status, denied) = decides(&daemon, &annas, &approval, "deny").await;
    assert_eq!(
        (status, &denied["state"]),
        (200, &json!("denied")),
        "{denied}"
    );
    assert_eq!(decides(&daemon, &bens, &approval, "approve").await.0, 409);
    shown(&telegram, 100, "I did not do it").await;
    assert!(!home.workspace("team").join("note.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_of_two_expires_with_the_question() {
    let telegram = FakeTelegram::start();
    let home = bot::home(
        &telegram,
        "allowed_users = [\"100\"]\ntwo_people = [\"write_file\"]",
        &format!(
            "{}[approvals]\nlife_seconds = 5\nhigh_risk_life_seconds = 5\n",
            people()
        ),
    );
    let daemon = bot::start(&home, &telegram, &[100, 200, 300], &[]);
    let (annas, bens) = (approver(&home, "anna"), approver(&home, "ben"));
    let approval = asked(&daemon, &telegram).await;
    let (status, first) = decides(&daemon, &annas, &approval, "approve").await;
    assert_eq!(
        (status, &first["state"]),
        (200, &json!("pending")),
        "{first}"
    );
    let path = format!("/v1/approvals/{}", approval["id"].as_str().unwrap());
    let over = daemon
        .wait(&path, "it expires", |one| one["state"] == "expired")
        .await;
    assert_eq!(over["allowed_by"]["person"], "anna", "{over}");
    assert_eq!(decides(&daemon, &bens, &approval, "approve").await.0, 410);
    assert!(!home.workspace("team").join("note.txt").exists());
    // Neither card says any more that somebody is needed.
    telegram
        .wait_until("cards that are over", |state| {
            let cards = state.messages.iter();
            let mut cards = cards.filter(|m| [200, 300].contains(&m.chat) && !m.text.is_empty());
            cards.all(|m| m.labels().is_empty())
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_of_two_is_kept_over_an_emergency_stop_that_lets_nothing_run() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let daemon = bot::start(&home, &telegram, &[100, 200, 300], &[]);
    let (annas, bens) = (approver(&home, "anna"), approver(&home, "ben"));
    let approval = asked(&daemon, &telegram).await;
    assert_eq!(decides(&daemon, &annas, &approval, "approve").await.0, 200);
    daemon.post("/v1/emergency-stop", json!({})).await;
    let note = home.workspace("team").join("note.txt");
    let path = format!("/v1/approvals/{}", approval["id"].as_str().unwrap());
    let kept = daemon.get(&path).await;
    assert_eq!(
        (&kept["state"], &kept["allowed_by"]["person"]),
        (&json!("pending"), &json!("anna")),
        "{kept}"
    );
    let (status, done) = decides(&daemon, &bens, &approval, "approve").await;
    assert_eq!(status, 200, "{done}");
    assert!(!note.exists());
    daemon.post("/v1/emergency-stop/release", json!({})).await;
    shown(&telegram, 100, "all done").await;
    assert!(note.exists());
}

#[test]
fn the_card_of_the_console_and_its_plain_text_say_how_far_it_is() {
    use crate::console_frames::driver::Driver;
    use crate::console_frames::fixture;
    use leverframe::protocol::approval::FirstApproval;
    use leverframe::protocol::enums::{Risk, Surface};
    use leverframe::tui::view::plain;

    let card = |first: bool| {
        let mut approval = fixture::approval(1, Risk::Low);
        let by = FirstApproval {
            person: "anna".to_owned(),
            surface: Surface::Chat,
            at: fixture::ago(60),
            revision: approval.revision,
        };
        approval.allowed_by = first.then(|| Box::new(by));
        let mut snapshot = fixture::snapshot();
        for channel in &mut snapshot.channels {
            channel.two_people = vec!["risk:low".to_owned()];
        }
        snapshot.approvals = vec![approval];
        let mut driver = Driver::with(120, 60, snapshot);
        driver.press("j");
        driver.draw();
        let model = &driver.state.model;
        let key = model.queue.order.first().expect("it waits");
        let plain = plain::card(model, key, 100).expect("a card").join("\n");
        (driver.text(), plain)
    };
    for (first, says) in [(false, "two people must allow it"), (true, SO_FAR)] {
        let (screen, plain) = card(first);
        assert!(screen.contains(says), "{screen}");
        assert!(plain.contains(says), "{plain}");
    }
}

#[test]
fn what_takes_two_people_is_checked_where_it_stands() {
    use crate::config_files::Case;
    use leverframe::protocol::approval::takes_two;
    use leverframe::protocol::enums::Risk;

    let two =
        "[people.anna]\nids = []\nrole = \"owner\"\n[people.ben]\nids = []\nrole = \"approver\"\n";
    let one = "[people.anna]\nids = []\nrole = \"owner\"\n";
    let channel = |list: &str| format!("[channels.api]\n{list}\n");
    for (text, says) in [
        (
            format!("{two}{}", channel("two_people = [\"risk:hihg\"]")),
            "risk:hihg",
        ),
        (
            format!("{two}{}", channel("two_people = [\"write_fil\"]")),
            "there is no tool `write_fil`",
        ),
        (
            format!("{one}{}", channel("two_people = [\"write_file\"]")),
            "fewer can decide here",
        ),
        (
            format!(
                "{two}{}",
                channel("two_people = [\"write_file\"]\napprovers = [\"ben\"]")
            ),
            "fewer can decide here",
        ),
    ] {
        let error = Case::new(&text).error().to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
    let settings = Case::new(&format!(
        "{two}{}",
        channel("two_people = [\"risk:high\", \"write_*\"]")
    ));
    let list = settings.settings().channels["api"].two_people.clone();
    assert!(takes_two(&list, "write_file", Risk::Low));
    assert!(takes_two(&list, "read_file", Risk::Critical));
    assert!(!takes_two(&list, "read_file", Risk::Medium));
}
