//! The bridge on a Slack of others (`local-slack`): the real binary, the Web API and Socket Mode.
//!
//! Installed by `tests/peers/install.sh local_slack`; where it is not, this says so loudly. It accepts too much, so what
//! Slack refuses is tested on the strict fake.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::slack::stories::{home, start};
use crate::support::daemon::client;
use crate::support::fake_slack::{ADA, APP_TOKEN, BEN, BOT, BOT_TOKEN, DEADLINE};
use crate::support::requirement::peer;

/// A running one. It ends when dropped.
struct LocalSlack {
    child: Child,
    base: String,
    _files: tempfile::TempDir,
}

impl Drop for LocalSlack {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl LocalSlack {
    async fn start(program: &std::path::Path) -> Self {
        let files = tempfile::tempdir().unwrap();
        let config = files.path().join("config.json");
        let written = json!({
            "workspace": { "name": "Test", "domain": "test", "teamId": "T0001" },
            "app": { "appId": "A0001", "botUserId": BOT, "botName": "lever", "botToken": BOT_TOKEN,
                "appToken": APP_TOKEN, "signingSecret": "secret", "mode": "socket" },
            "users": [{ "id": ADA, "name": "ada" }, { "id": BEN, "name": "ben" }],
            "channels": [{ "id": "C0TEAM", "name": "team", "members": [ADA, BEN, BOT] }],
        });
        std::fs::write(&config, written.to_string()).unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port().to_string();
        drop(free);
        let child = Command::new(program)
            .arg("--config")
            .arg(&config)
            .args(["--port", &port, "--base-host", "127.0.0.1"])
            .current_dir(files.path())
            .env("TMPDIR", files.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let local = Self {
            child,
            base: format!("http://127.0.0.1:{port}"),
            _files: files,
        };
        let end = Instant::now() + DEADLINE;
        while client()
            .get(format!("{}/_control/log", local.base))
            .send()
            .await
            .is_err()
        {
            assert!(Instant::now() < end, "it does not answer");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        local
    }

    async fn control(&self, what: &str, body: Value) -> Value {
        let request = client()
            .post(format!("{}/_control/{what}", self.base))
            .json(&body);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(answer["ok"], true, "{what} {body}: {answer}");
        answer
    }

    async fn direct(&self, user: &str) -> String {
        let request = client()
            .post(format!("{}/api/conversations.open", self.base))
            .bearer_auth(BOT_TOKEN)
            .json(&json!({ "users": user }));
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        answer["channel"]["id"].as_str().unwrap().to_owned()
    }

    /// The messages of a channel that say this, once there is one.
    async fn saying(&self, channel: &str, text: &str) -> Vec<Value> {
        let end = Instant::now() + DEADLINE;
        loop {
            let url = format!("{}/_control/messages/{channel}", self.base);
            let answer: Value = client()
                .get(url)
                .send()
                .await
                .unwrap()
                .json()
                .await
                .unwrap();
            let mut found = answer["messages"].as_array().cloned().unwrap_or_default();
            found.retain(|one| one["user"] == BOT && one.to_string().contains(text));
            if !found.is_empty() {
                return found;
            }
            assert!(
                Instant::now() < end,
                "nobody said `{text}` in {channel}: {answer:#}"
            );
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }
}

#[tokio::test]
async fn messages_threads_buttons_and_commands_work_on_a_slack_of_others() {
    let unchecked = "the bridge on a Slack of others";
    let Some(program) = peer(
        "local_slack",
        "node_modules/local-slack-linux-x64/bin/local-slack",
        unchecked,
    ) else {
        return;
    };
    let local = LocalSlack::start(&program).await;
    let home = home(&format!("{}/api", local.base), "");
    let daemon = start(&home, &[]);
    let connected = |body: &Value| {
        let mut all = body["items"].as_array().unwrap().iter();
        all.any(|one| one["name"] == "team" && one["health"]["state"] == "connected")
    };
    daemon.wait("/v1/channels", "connected", connected).await;
    let (ada, ben) = (local.direct(ADA).await, local.direct(BEN).await);

    local
        .control(
            "message",
            json!({ "channel": ben, "user": BEN, "text": "SAY:hello" }),
        )
        .await;
    assert_eq!(local.saying(&ben, "hello").await.len(), 1);

    // A mention in a thread, and an answer there without one.
    let said = local
        .control(
            "message",
            json!({ "channel": "C0TEAM", "user": BEN, "text": "a topic" }),
        )
        .await;
    let root = said["message"]["ts"].as_str().unwrap().to_owned();
    for text in [format!("<@{BOT}> SAY:first"), "SAY:second".to_owned()] {
        let message = json!({ "channel": "C0TEAM", "user": BEN, "text": text, "thread_ts": root });
        local.control("message", message).await;
    }
    for text in ["first", "second"] {
        assert_eq!(
            local.saying("C0TEAM", text).await[0]["thread_ts"],
            root.as_str()
        );
    }

    local
        .control(
            "command",
            json!({ "channel": ben, "user": BEN, "command": "/leverframe", "text": "help" }),
        )
        .await;
    local.saying(&ben, "/approve").await;

    let write = "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"hi\\n\"}\nSAY:all done";
    local
        .control(
            "message",
            json!({ "channel": ben, "user": BEN, "text": write }),
        )
        .await;
    let card = local.saying(&ada, "Allow once").await.remove(0);
    let button = card["blocks"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|block| block["elements"].as_array().cloned().unwrap_or_default())
        .find(|one| one["text"]["text"] == "Allow once")
        .unwrap();
    local
        .control(
            "interact",
            json!({ "channel": ada, "messageTs": card["ts"], "user": ADA, "action": {
                "type": "button", "action_id": button["action_id"], "value": button["value"], "block_id": "b" } }),
        )
        .await;
    assert_eq!(local.saying(&ben, "all done").await.len(), 1);
    let note = std::fs::read_to_string(home.workspace("team").join("note.txt")).unwrap();
    assert_eq!(note, "hi\n");
    let decided = local.saying(&ada, "note.txt").await.remove(0);
    assert!(!decided.to_string().contains("action_id"), "{decided:#}");
}
