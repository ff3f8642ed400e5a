//! The check of an account: one finding for each thing asked, each with its fix.

use leverframe::channels::channel::Bridge as _;
use leverframe::protocol::doctor::{Finding, Standing};

use crate::discord::world::{bridge_at, start};
use crate::support::fake_discord::{FakeDiscord, Fault, TOKEN};

async fn found(fake: &FakeDiscord, token: &str) -> Vec<Finding> {
    bridge_at(fake, token).check().await
}

fn about<'a>(findings: &'a [Finding], about: &str) -> &'a Finding {
    let found = findings.iter().find(|one| one.about == about);
    found.unwrap_or_else(|| panic!("nothing about {about}: {findings:?}"))
}

#[tokio::test]
async fn an_account_that_is_set_up_has_nothing_to_mend() {
    let fake = start();
    let findings = found(&fake, TOKEN).await;
    assert!(
        findings
            .iter()
            .all(|one| one.verdict == Standing::Ok && one.fix.is_none()),
        "{findings:?}"
    );
    assert!(about(&findings, "token").detail.contains("@lever"));
    assert!(about(&findings, "servers").detail.contains("Test server"));
    let changes = fake
        .state()
        .ledger
        .iter()
        .filter(|call| call.route == "send")
        .count();
    assert_eq!(changes, 0);
    assert!(fake.state().commands.is_empty(), "it only reads");
    assert!(fake.state().connections.is_empty());
}

#[tokio::test]
async fn each_thing_that_is_wrong_says_what_to_do() {
    let fake = start();
    let wrong = found(&fake, "wrong.token").await;
    assert_eq!((wrong.len(), wrong[0].verdict), (1, Standing::Fail));
    assert!(wrong[0].fix.as_deref().unwrap().contains("Reset Token"));

    fake.change(|state| {
        state.message_content = false;
        state.starts_left = 3;
    });
    let denied = Fault::Refuse(403, 50_001, "Missing Access".to_owned());
    fake.fault("commands", denied);
    let findings = found(&fake, TOKEN).await;
    let intent = about(&findings, "message content");
    assert_eq!(intent.verdict, Standing::Fail);
    assert!(
        intent
            .fix
            .as_deref()
            .unwrap()
            .contains("Message Content intent")
    );
    let sessions = about(&findings, "gateway sessions");
    assert_eq!(sessions.verdict, Standing::Warn);
    assert!(sessions.fix.as_deref().unwrap().contains("another program"));
    let menu = about(&findings, "command menu");
    assert!(
        menu.fix
            .as_deref()
            .unwrap()
            .contains("applications.commands")
    );

    fake.fault("me", Fault::Server(502));
    let down = found(&fake, TOKEN).await;
    assert_eq!(down[0].verdict, Standing::Fail);
    assert!(!format!("{down:?}").contains("MustNeverShow"));
}

#[tokio::test]
async fn a_bot_for_which_discord_recommends_shards_is_told_how_far_one_reaches() {
    let fake = start();
    for starts_left in [1_000, 3] {
        fake.change(|state| {
            state.shards = 2;
            state.starts_left = starts_left;
        });
        let findings = found(&fake, TOKEN).await;
        let shards = about(&findings, "shards");
        assert_eq!(shards.verdict, Standing::Warn);
        for words in [
            "recommends 2 shards",
            "uses one",
            "up to 2500 servers",
            "4011",
        ] {
            assert!(shards.detail.contains(words), "{}", shards.detail);
        }
        let fix = shards.fix.as_deref().unwrap();
        assert!(fix.contains("remove the bot from some servers"), "{fix}");
        let sessions = about(&findings, "gateway sessions");
        let expected = if starts_left == 3 {
            Standing::Warn
        } else {
            Standing::Ok
        };
        assert_eq!(sessions.verdict, expected);
    }
    fake.change(|state| state.shards = 1);
    let findings = found(&fake, TOKEN).await;
    assert!(findings.iter().all(|one| one.about != "shards"));
}
