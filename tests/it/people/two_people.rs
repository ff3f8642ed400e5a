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
    let annas = token(
        &home,
        "annas",
        &["--scope", "read,approve", "--person", "anna"],
    );
    let bens = token(
        &home,
        "bens",
        &["--scope", "read,approve", "--person", "ben"],
    );
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
