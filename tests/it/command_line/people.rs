//! `leverframe people` and `/v1/people` say who stands in the configuration.

use serde_json::{Value, json};

use crate::stories::bot;
use crate::support::fake_telegram::FakeTelegram;
use crate::take_overs::daemon::cli;

#[tokio::test(flavor = "multi_thread")]
async fn people_are_listed_with_role_channels_and_who_is_on_call() {
    let telegram = FakeTelegram::start();
    let people = "[people.anna]\nids = [\"telegram:200\", \"discord:42\"]\nrole = \"owner\"\n\
                  [people.ben]\nids = [\"discord:7\"]\nrole = \"user\"\n\
                  quiet_hours = \"00:00-23:59\"\ntime_zone = \"UTC\"\n";
    let home = bot::home(&telegram, "", people);
    let daemon = bot::start(&home, &telegram, &[], &[]);
    let (status, text) = cli(&home, &["on-call", "anna"]).await;
    assert_eq!(status, Some(0), "{text}");
    let listed = daemon.get("/v1/people").await["items"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    let anna = json!({
        "name": "anna", "role": "owner", "ids": ["telegram:200", "discord:42"],
        "channels": ["team"], "on_call": true,
        "scopes": ["read", "operate", "approve", "admin"],
    });
    assert_eq!(listed[0], anna);
    assert_eq!(listed[1]["channels"], Value::Array(Vec::new()));
    // For one minute of the day Ben has no quiet hours.
    assert!(!listed[1]["on_call"].as_bool().unwrap());

    let (status, text) = cli(&home, &["people"]).await;
    assert_eq!(status, Some(0), "{text}");
    let row = text.lines().find(|line| line.contains("anna")).unwrap();
    for word in ["owner", "telegram:200, discord:42", "team", "on call"] {
        assert!(row.contains(word), "{word}: {text}");
    }
    for words in [&["people"][..], &["people", "--json"]] {
        let listing = [&["get"][..], words].concat();
        assert_eq!(cli(&home, words).await, cli(&home, &listing).await);
    }
}
