//! Whether an app is set up as it must be, and the manifest that sets it up.

use leverframe::channels::channel::Bridge as _;
use leverframe::channels::slack::manifest;
use leverframe::protocol::doctor::{Finding, Standing};

use crate::slack::port::{bridge, bridge_with, no_token_in, options, run_shared};
use crate::support::fake_slack::{APP_TOKEN, BOT_TOKEN, FakeSlack};
use crate::telegram::port::TestPort;

async fn check(fake: &FakeSlack, tokens: (&str, &str)) -> Vec<Finding> {
    let findings = bridge_with(fake, tokens, options()).check().await;
    for finding in &findings {
        no_token_in(&format!("{finding:?}"));
        assert_eq!(
            finding.fix.is_none(),
            finding.verdict == Standing::Ok,
            "{finding:?}"
        );
    }
    findings
}

fn worst(findings: &[Finding]) -> Vec<(&str, Standing, String)> {
    findings
        .iter()
        .filter(|one| one.verdict != Standing::Ok)
        .map(|one| {
            let fix = one.fix.clone().unwrap_or_default();
            (
                one.about.as_str(),
                one.verdict,
                format!("{}: {fix}", one.detail),
            )
        })
        .collect()
}

#[tokio::test]
async fn an_app_that_is_right_is_said_to_be_and_the_socket_is_closed_again() {
    let fake = FakeSlack::start();
    let findings = check(&fake, (BOT_TOKEN, APP_TOKEN)).await;
    assert!(worst(&findings).is_empty(), "{findings:?}");
    assert!(
        findings[0]
            .detail
            .contains("@lever (U0BOT) in the workspace Test (T0001)")
    );
    fake.wait_until("the socket is closed", |state| state.closed == [1000])
        .await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn each_missing_scope_is_named_with_what_fails_without_it() {
    let fake = FakeSlack::start();
    fake.change(|state| {
        state
            .scopes
            .retain(|scope| !["chat:write", "files:read"].contains(&scope.as_str()));
    });
    let findings = check(&fake, (BOT_TOKEN, APP_TOKEN)).await;
    let worst = worst(&findings);
    assert_eq!(worst.len(), 2, "{worst:?}");
    assert_eq!(
        (worst[0].0, worst[0].1),
        ("scope chat:write", Standing::Fail)
    );
    assert!(worst[0].2.contains("cannot write") && worst[0].2.contains("Bot Token Scopes"));
    assert_eq!(
        (worst[1].0, worst[1].1),
        ("scope files:read", Standing::Warn)
    );
}

#[tokio::test]
async fn a_wrong_token_does_not_hide_what_the_other_says() {
    let fake = FakeSlack::start();
    let findings = check(&fake, ("xoxb-wrong-MustNeverShow", APP_TOKEN)).await;
    let bad = worst(&findings);
    assert!(
        bad.len() == 1 && bad[0].0 == "bot token" && bad[0].2.contains("invalid_auth"),
        "{bad:?}"
    );
    fake.change(|state| state.app_scopes.clear());
    let findings = check(&fake, (BOT_TOKEN, APP_TOKEN)).await;
    let bad = worst(&findings);
    assert!(
        bad.len() == 1 && bad[0].0 == "app token" && bad[0].2.contains("connections:write"),
        "{bad:?}"
    );
    let findings = check(&fake, (BOT_TOKEN, "")).await;
    assert!(worst(&findings)[0].2.contains("app_token"), "{findings:?}");
}

#[tokio::test]
async fn others_who_listen_are_counted_without_our_own() {
    let fake = FakeSlack::start();
    let bridge = std::sync::Arc::new(bridge(&fake));
    let port = TestPort::new();
    let running = run_shared(&bridge, &port);
    fake.wait_until("a ping", |state| state.pings > 0).await;
    let findings = bridge.check().await;
    assert!(worst(&findings).is_empty(), "{findings:?}");
    fake.change(|state| state.ghosts = 9);
    let findings = bridge.check().await;
    let bad = worst(&findings);
    assert!(
        bad.len() == 1 && bad[0].0 == "connections" && bad[0].2.contains("9 other"),
        "{bad:?}"
    );
    running.stop().await;
}

#[test]
fn the_guide_prints_the_manifest_that_the_bridge_needs() {
    let guide = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/guide/channels/slack.md"),
    )
    .unwrap();
    let printed = guide
        .split("```json\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("a manifest");
    let printed: serde_json::Value = serde_json::from_str(printed).unwrap();
    assert_eq!(printed, manifest::manifest("Leverframe"));
}
