//! `approvers` of a channel: who is not on the list decides nothing of it, on no surface.

use crate::people::{decides, people, run, token};
use crate::stories::bot::{self, WRITE, anna, shown};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;

#[tokio::test(flavor = "multi_thread")]
async fn only_who_is_on_the_list_decides_what_a_channel_asks() {
    let telegram = FakeTelegram::start();
    let home = bot::home(
        &telegram,
        "allowed_users = [\"100\"]\napprovers = [\"ben\"]",
        &people(),
    );
    let daemon = bot::start(&home, &telegram, &[100, 200, 300], &[]);
    let annas = token(
        &home,
        "annas",
        &["--scope", "read,approve,admin", "--person", "anna"],
    );
    let programs = token(&home, "program", &["--scope", "read,approve"]);
    let listed = daemon.get("/v1/channels/team").await;
    assert_eq!(listed["approvers"], serde_json::json!(["ben"]), "{listed}");

    telegram.user_says(100, &User::new(100, "Cleo"), WRITE);
    let approval = daemon.wait_approval().await;
    let code = approval["short_code"].as_str().unwrap();
    shown(&telegram, 300, code).await;
    let only = "lets only ben decide";
    for (who, says) in [
        (&annas, "you are anna"),
        (&programs, "--person"),
        (&daemon.token, "--person"),
    ] {
        for decision in ["approve", "deny"] {
            let (status, problem) = decides(&daemon, who, &approval, decision).await;
            assert_eq!(status, 403, "{problem}");
            let text = problem.to_string();
            assert!(text.contains(only) && text.contains(says), "{text}");
        }
    }
    let (id, digest) = (
        approval["id"].as_str().unwrap(),
        approval["digest"].as_str().unwrap(),
    );
    let output = run(&home, &["approvals", "deny", id, "--digest", digest]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        text.contains(only) && text.contains("you are anna"),
        "{text}"
    );
    // No card went to who does not decide, and the code is of no use to them.
    telegram.user_says(200, &anna(), &format!("/approve {code}"));
    shown(&telegram, 200, only).await;
    let cards = telegram.messages(200);
    assert!(
        !cards.iter().any(|card| card.text.contains("note.txt")),
        "{cards:?}"
    );

    telegram.user_says(300, &User::new(300, "Ben"), &format!("/approve {code}"));
    shown(&telegram, 100, "all done").await;
}
