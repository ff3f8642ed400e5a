//! When a channel last talked to its platform is known over a restart, also while the platform is away.

use serde_json::Value;

use crate::stories::bot::{self, ben, shown};
use crate::support::daemon::Daemon;
use crate::support::fake_telegram::FakeTelegram;

const TIMES: [&str; 3] = ["last_exchange_at", "last_inbound_at", "last_outbound_at"];

async fn health(daemon: &Daemon) -> Value {
    daemon.get("/v1/channels/team").await["health"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_knows_after_a_restart_when_it_last_talked() {
    let telegram = FakeTelegram::start();
    let home = bot::home(&telegram, "allowed_users = [\"100\"]", "");
    let mut daemon = bot::start(&home, &telegram, &[], &[]);
    telegram.user_says(100, &ben(), "SAY:hello");
    shown(&telegram, 100, "hello").await;
    daemon
        .wait("/v1/channels/team", "the send is reported", |channel| {
            channel["health"]["last_outbound_at"].is_string()
        })
        .await;
    daemon.terminate();
    let token = telegram.state().token.clone();
    drop(telegram);

    let mut daemon = home.daemon_with(&[("TEAM_TOKEN", token.as_str())]);
    let first = health(&daemon).await;
    assert_ne!(first["state"], "connected", "{first}");
    for name in TIMES {
        assert!(first[name].is_string(), "{name}: {first}");
    }
    // What is known does not go back, and a killed process has kept it too.
    daemon.kill();
    let daemon = home.daemon_with(&[("TEAM_TOKEN", token.as_str())]);
    let second = health(&daemon).await;
    for name in TIMES {
        assert_eq!(second[name], first[name], "{name}");
    }
}
