//! What a chat shows of a turn's options and sources.

use serde_json::{Value, json};

use crate::stories::bot::{self, ben, shown};
use crate::support::daemon::Daemon;
use crate::support::fake_telegram::FakeTelegram;

async fn turns(daemon: &Daemon) -> Vec<Value> {
    let page = daemon.get("/v1/continuations").await;
    page["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_retry_in_the_chat_keeps_the_options_of_the_message() {
    let telegram = FakeTelegram::start();
    let home = bot::home(&telegram, "allowed_users = [\"100\"]", "");
    let daemon = bot::start(&home, &telegram, &[], &[]);
    telegram.user_says(100, &ben(), "SAY:the first answer");
    shown(&telegram, 100, "the first answer").await;
    let session = turns(&daemon).await[0]["session_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let body =
        json!({"text": "SAY:the second answer", "allow_tools": ["read_file"], "temperature": 0.5});
    let sent = daemon
        .post(&format!("/v1/sessions/{session}/messages"), body)
        .await;
    let second = sent["continuation_id"].as_str().unwrap();
    let second = daemon.wait_state(second, "completed").await;
    assert_eq!(second["options"]["allow_tools"], json!(["read_file"]));

    telegram.user_says(100, &ben(), "/retry");
    let again = daemon
        .wait("/v1/continuations", "the message is tried again", |page| {
            page["items"][0]["retry_of"] == second["id"]
        })
        .await;
    assert_eq!(again["items"][0]["options"], second["options"]);
}

#[tokio::test]
async fn a_reply_ends_with_its_sources_where_the_channel_says_so() {
    for (setting, told) in [("citations = true", true), ("", false)] {
        let telegram = FakeTelegram::start();
        let channel =
            format!("allowed_users = [\"100\"]\nauto_approve = [\"read_file\"]\n{setting}");
        let home = bot::home(&telegram, &channel, "");
        let daemon = bot::start(&home, &telegram, &[], &[]);
        let workspace = home.workspace("team");
        std::fs::create_dir_all(&workspace).unwrap();
        std::fs::write(workspace.join("a*b_c.md"), "hello").unwrap();
        let text = "TOOL:read_file{\"path\":\"a*b_c.md\"}\nSAY:all read";
        telegram.user_says(100, &ben(), text);
        let reply = shown(&telegram, 100, "all read").await.text;
        assert_eq!(reply.contains("Sources:"), told, "{reply}");
        assert_eq!(reply.contains("a*b_c.md"), told, "{reply}");
        // What models read of it later has no list of sources.
        let turn = turns(&daemon).await.remove(0);
        let answer = turn["response"]["text"].as_str().unwrap();
        assert!(!answer.contains("Sources:"), "{answer}");
        assert_eq!(turn["citations"]["items"][0]["source"], "a*b_c.md");
    }
}
