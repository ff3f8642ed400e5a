//! `leverframe get` lists resources; the figures of tools are those of their calls.

use serde_json::Value;

use crate::stories::bot;
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;
use crate::take_overs::daemon::cli;

#[tokio::test(flavor = "multi_thread")]
async fn resources_are_listed_and_tools_count_their_calls() {
    let telegram = FakeTelegram::start();
    let home = bot::home(&telegram, "allowed_users = [\"100\"]", "");
    let daemon = bot::start(&home, &telegram, &[], &[]);

    let (status, text) = cli(&home, &["get"]).await;
    assert_eq!(status, Some(0), "{text}");
    for name in ["fleet", "pairings", "people", "routines", "tools"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    let (status, text) = cli(&home, &["get", "people"]).await;
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("nobody stands under [people]"), "{text}");
    let (status, text) = cli(&home, &["get", "tool"]).await;
    assert_eq!(status, Some(2), "{text}");
    assert!(
        text.contains("`tool` is not a resource") && text.contains("tools"),
        "{text}"
    );

    telegram.user_says(
        100,
        &User::new(100, "Ben"),
        "TOOL:read_file{\"path\":\"nowhere.txt\"}\nSAY:looked",
    );
    telegram
        .wait_until("looked", |state| {
            let mut sent = state.messages.iter();
            sent.any(|message| message.chat == 100 && message.text.contains("looked"))
        })
        .await;
    let tools = daemon.get("/v1/tools").await["items"].clone();
    let read: &Value = tools
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "read_file")
        .unwrap();
    assert_eq!(
        (&read["calls"], &read["errors"], &read["source"]),
        (&1.into(), &1.into(), &"built-in".into()),
        "{read}"
    );
    let (_, text) = cli(&home, &["get", "tools"]).await;
    let row = text
        .lines()
        .find(|line| line.contains("read_file"))
        .unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells.get(4..6), Some(["1", "1"].as_slice()), "{text}");
}
